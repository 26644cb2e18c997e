//! An oracle: pages that will die at the same time share blocks, as no controller can know.
//!
//! Source: ftlkit; beside it one sees what a classifier leaves, though no proof says that none can
//! write less. Classes go by the time that is left until the host overwrites or trims a page. The
//! bounds of the first seven grow by a constant factor, from the pages of an open block on each die
//! to four times all logical pages; the last class has all else. Without a future every page is in
//! it.

use crate::api::classifier::{Classifier, RelocatedPage, WrittenPage};
use crate::api::layout::Layout;

const CLASSES: usize = 8;

#[derive(Debug)]
pub(super) struct Oracle {
    bounds: [u64; CLASSES - 1],
}

impl Oracle {
    pub(super) fn new(layout: &Layout) -> Self {
        let geometry = &layout.geometry;
        let least = f64::from(geometry.dies() * geometry.pages_per_block());
        let factor = (4.0 * f64::from(layout.logical_pages) / least).max(1.0).powf(1.0 / (CLASSES - 2) as f64);
        let bound = |class: usize| (least * factor.powf(class as f64)).round() as u64;
        Self { bounds: std::array::from_fn(bound) }
    }

    fn class(&self, dies_in: Option<u64>) -> usize {
        dies_in.map_or(CLASSES - 1, |left| self.bounds.partition_point(|&bound| bound <= left))
    }
}

impl Classifier for Oracle {
    fn classes(&self) -> usize {
        CLASSES
    }

    fn uses_hints(&self) -> bool {
        false
    }

    fn reads_ages(&self) -> bool {
        false
    }

    fn needs_future(&self) -> bool {
        true
    }

    fn relocates(&self) -> bool {
        true
    }

    fn classify(&mut self, page: &WrittenPage) -> Result<usize, String> {
        Ok(self.class(page.dies_in))
    }

    fn relocate(&mut self, page: &RelocatedPage) -> Result<usize, String> {
        Ok(self.class(page.dies_in))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::layout;

    #[test]
    fn classes_go_from_an_open_block_to_four_times_all_pages() {
        let layout = layout(64, 16, 400);
        let oracle = Oracle::new(&layout);
        let least = u64::from(layout.geometry.dies() * 16);
        assert_eq!([oracle.bounds[0], oracle.bounds[6]], [least, 1600]);
        assert!(oracle.bounds.is_sorted());
        let classes =
            [Some(0), Some(least - 1), Some(least), Some(1599), Some(1600), None].map(|left| oracle.class(left));
        assert_eq!(classes, [0, 0, 1, 6, 7, 7]);
    }
}
