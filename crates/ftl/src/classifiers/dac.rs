//! DAC, dynamic data clustering: a page becomes hotter when it is written, and colder when it
//! survives a collection.
//!
//! Source: M.-L. Chiang et al. 1999, with six regions as in Wang 2022. Class 0 is the hottest; a
//! page that is written for the first time has the coldest class.

use crate::api::classifier::{Classifier, RelocatedPage, WrittenPage};

const REGIONS: u8 = 6;

#[derive(Debug)]
pub(super) struct Dac {
    /// The region of each logical page.
    regions: Vec<u8>,
}

impl Dac {
    /// All of this many pages are cold.
    pub(super) fn new(pages: usize) -> Self {
        Self { regions: vec![REGIONS - 1; pages] }
    }
}

impl Classifier for Dac {
    fn classes(&self) -> usize {
        REGIONS.into()
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
        let region = &mut self.regions[page.lpn.index()];
        *region = if page.age.is_some() { region.saturating_sub(1) } else { REGIONS - 1 };
        Ok((*region).into())
    }

    fn relocate(&mut self, page: &RelocatedPage) -> Result<usize, String> {
        let region = &mut self.regions[page.lpn.index()];
        *region = (*region + 1).min(REGIONS - 1);
        Ok((*region).into())
    }

    fn ram_bytes(&self) -> u64 {
        self.regions.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use flash::Lpn;
    use host::Hint;

    use super::*;

    #[test]
    fn a_page_climbs_when_written_and_falls_when_collected() {
        let mut dac = Dac::new(4);
        let write = |dac: &mut Dac, age| {
            dac.classify(&WrittenPage { lpn: Lpn::new(2), request_pages: 1, hint: Hint::NONE, age, dies_in: None })
        };
        assert_eq!(write(&mut dac, None), Ok(5));
        let climbs: Vec<_> = (0..6).map(|_| write(&mut dac, Some(1)).expect("a class")).collect();
        assert_eq!(climbs, [4, 3, 2, 1, 0, 0]);
        let page = RelocatedPage { lpn: Lpn::new(2), age: Some(1), from: 0, dies_in: None };
        let falls: Vec<_> = (0..6).map(|_| dac.relocate(&page).expect("a class")).collect();
        assert_eq!(falls, [1, 2, 3, 4, 5, 5]);
    }
}
