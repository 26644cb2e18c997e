//! `FADaC`, a fading average data classifier: pages by the number of their writes, in levels a
//! factor of ten apart.
//!
//! Source: K. Kremer and A. Brinkmann 2019 as Wang 2022 has it, with six levels. A page counts its
//! writes, and one less per collection that it survives. The lowest level reaches up to a fading
//! average: the pages per request, over as many requests as there are written pages. Counts never
//! fade. Class 0 is the highest level.

use crate::api::classifier::{Classifier, RelocatedPage, WrittenPage};

const LEVELS: usize = 6;

#[derive(Debug)]
pub(super) struct Fadac {
    /// Writes of each logical page, less the collections that it survived.
    counts: Vec<u32>,
    /// Pages that have a count.
    pages: f64,
    average: f64,
}

impl Fadac {
    /// None of this many pages was written.
    pub(super) fn new(pages: usize) -> Self {
        Self { counts: vec![0; pages], pages: 0.0, average: 0.0 }
    }

    fn class_of(&self, count: u32) -> usize {
        let (mut base, mut level) = (self.average, 0);
        while base > 0.0 && f64::from(count) > base && level + 1 < LEVELS {
            (base, level) = (10.0 * base, level + 1);
        }
        LEVELS - 1 - level
    }
}

impl Classifier for Fadac {
    fn classes(&self) -> usize {
        LEVELS
    }

    fn uses_hints(&self) -> bool {
        false
    }

    fn reads_ages(&self) -> bool {
        false
    }

    fn relocates(&self) -> bool {
        true
    }

    fn classify(&mut self, page: &WrittenPage) -> Result<usize, String> {
        let count = &mut self.counts[page.lpn.index()];
        self.pages += f64::from(u8::from(*count == 0));
        let before = if page.age.is_none() { 0 } else { *count };
        *count = before.saturating_add(1);
        let class = self.class_of(before);
        // One request adds its length, less the average, over all pages: here page by page.
        self.average += (1.0 - self.average / f64::from(page.request_pages)) / self.pages.max(1.0);
        Ok(class)
    }

    fn relocate(&mut self, page: &RelocatedPage) -> Result<usize, String> {
        let class = self.class_of(self.counts[page.lpn.index()]);
        let count = &mut self.counts[page.lpn.index()];
        *count = count.saturating_sub(1).max(1);
        Ok(class)
    }

    fn ram_bytes(&self) -> u64 {
        4 * self.counts.len() as u64 + 16
    }
}

#[cfg(test)]
mod tests {
    use flash::Lpn;
    use host::Hint;

    use super::*;

    #[test]
    fn levels_are_a_factor_of_ten_apart() {
        let mut fadac = Fadac::new(2);
        let write = |fadac: &mut Fadac, lpn, age| {
            let page = WrittenPage { lpn: Lpn::new(lpn), request_pages: 1, hint: Hint::NONE, age, dies_in: None };
            fadac.classify(&page).expect("a class")
        };
        assert_eq!([0, 1].map(|lpn| write(&mut fadac, lpn, None)), [5, 5]);
        let classes: Vec<_> = (0..1100).map(|_| write(&mut fadac, 0, Some(1))).collect();
        // The average is one by then: levels begin above 1, 10, 100 and 1000 writes.
        assert_eq!([20, 200, 1050].map(|at| classes[at]), [3, 2, 1]);
        let page = RelocatedPage { lpn: Lpn::new(0), age: Some(1), from: 0, dies_in: None };
        let relocated: Vec<_> = (0..1101).map(|_| fadac.relocate(&page).expect("a class")).collect();
        assert_eq!([0, 100, 500, 1050, 1100].map(|at| relocated[at]), [1, 1, 2, 3, 5]);
    }
}
