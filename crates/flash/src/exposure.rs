//! Pages that a power cut takes although their programs have ended.
//!
//! There are two ways to lose such a page, and a capacitor guards against both:
//!
//! - **Gathered pages.** Flash that programs several pages of a block at once gets them one by one.
//!   Until the last one has come, the others wait in RAM. A cut leaves nothing of them.
//! - **Paired pages.** The cells of a word line hold a page for each of their bits, and these are
//!   programmed one after the other. While a later one is, the cells hold neither what they held
//!   nor what they will. A cut then destroys the earlier ones, too.
//!
//! ```text
//! 4 pages at once    | 0 1 2 3 | 4 5 . . |      a cut takes 4 and 5, as if they had never come
//! MLC word lines     0+6  1+9  2+12 …           a cut at the program of 6 destroys 0
//! ```
//!
//! Either way a page is *exposed* until a certain number of pages of its block are programmed, and
//! safe from then on.
//!
//! Limits: both are about native blocks that are programmed in strict order. Of pages that are
//! programmed at once, the word lines are complete by themselves. A program that fails takes its
//! own page alone.

use std::ops::Range;
use std::sync::Arc;

use crate::CellType;

/// Which pages of a block are exposed, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// Pages that are programmed at once.
    at_once: u32,
    /// The word line of each page of a block; empty where pages are not paired.
    word_lines: Arc<[u32]>,
    /// For each page of a block, how many pages must be programmed until it is safe.
    safe_at: Arc<[u32]>,
}

impl Exposure {
    /// Of blocks of this many pages that are programmed `at_once` at a time, from 1 on. None where
    /// each page is safe when its program has ended.
    pub fn gathered(at_once: u32, pages_per_block: u32) -> Option<Self> {
        Self::new(at_once, Arc::default(), pages_per_block)
    }

    /// The same of cells of a type under shadow programming, where what is programmed at once is a
    /// flash page.
    pub fn paired(cell: CellType, at_once: u32, pages_per_block: u32) -> Option<Self> {
        let mut programmed = [0; CellType::MOST_BITS];
        let mut word_line = |page: u32| {
            let programmed = &mut programmed[cell.page_type(page).index()];
            *programmed += 1;
            *programmed - 1
        };
        let flash_pages: Vec<u32> = (0..pages_per_block.div_ceil(at_once.max(1))).map(&mut word_line).collect();
        let word_lines = (0..pages_per_block).map(|page| flash_pages[(page / at_once.max(1)) as usize]);
        let is_paired = cell.bits() > 1;
        Self::new(at_once, if is_paired { word_lines.collect() } else { Arc::default() }, pages_per_block)
    }

    fn new(at_once: u32, word_lines: Arc<[u32]>, pages_per_block: u32) -> Option<Self> {
        let at_once = at_once.max(1);
        let gathered = |page: u32| (page / at_once + 1) * at_once;
        let mut last_of = vec![0; word_lines.len()];
        (0..).zip(word_lines.iter()).for_each(|(page, &line)| last_of[line as usize] = page);
        let safe_at = |page: u32| {
            let last = word_lines.get(page as usize).map_or(page, |&line| last_of[line as usize]);
            gathered(last).min(pages_per_block)
        };
        let safe_at: Arc<[u32]> = (0..pages_per_block).map(safe_at).collect();
        let is_ever = (1..).zip(safe_at.iter()).any(|(programmed, &safe_at)| safe_at > programmed);
        is_ever.then_some(Self { at_once, word_lines, safe_at })
    }

    /// Pages that are programmed at once.
    pub fn at_once(&self) -> u32 {
        self.at_once
    }

    /// How many pages of a block must be programmed until the page at an offset is safe.
    #[inline]
    pub fn safe_at(&self, offset: u32) -> u32 {
        self.safe_at[offset as usize]
    }

    /// The most pages that have to be programmed behind a page until all are safe.
    pub fn most_padding(&self) -> u32 {
        let mut end = 0;
        let padding = (1..).zip(self.safe_at.iter()).map(|(programmed, &safe_at)| {
            end = safe_at.max(end);
            end - programmed
        });
        padding.max().unwrap_or(0)
    }

    /// The most pages of a block that are exposed at the same time.
    pub fn most_pages(&self) -> u32 {
        let mut becoming_safe = vec![0; self.safe_at.len() + 1];
        let exposed = (1..).zip(self.safe_at.iter()).scan(0_u32, |exposed, (programmed, &safe_at): (usize, _)| {
            becoming_safe[safe_at as usize] += 1;
            *exposed = *exposed + 1 - becoming_safe[programmed];
            Some(*exposed)
        });
        exposed.max().unwrap_or(0)
    }

    /// The pages that wait in RAM where this many of a block have been programmed.
    pub(crate) fn waiting(&self, programmed: u32) -> Range<u32> {
        programmed / self.at_once * self.at_once..programmed
    }

    /// The pages that are programmed by the time the program of one ends: itself and those that
    /// have waited for it, or none if it waits for others.
    pub(crate) fn programmed_with(&self, offset: u32) -> Range<u32> {
        if (offset + 1).is_multiple_of(self.at_once) { offset + 1 - self.at_once..offset + 1 } else { 0..0 }
    }

    /// The earlier pages on the word line of a page.
    pub(crate) fn paired_with(&self, offset: u32) -> impl Iterator<Item = u32> + '_ {
        let own = self.word_lines.get(offset as usize).copied();
        let first = offset / self.at_once * self.at_once;
        (0..first).filter(move |&page| self.word_lines.get(page as usize).copied() == own && own.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposed(exposure: &Exposure, programmed: u32) -> Vec<u32> {
        (0..programmed).filter(|&page| exposure.safe_at(page) > programmed).collect()
    }

    #[test]
    fn gathered_pages_are_safe_with_the_last_of_them() {
        let exposure = Exposure::gathered(3, 12).expect("pages wait");
        assert_eq!(exposed(&exposure, 5), [3, 4]);
        assert!(exposed(&exposure, 6).is_empty());
        assert_eq!((exposure.waiting(5), exposure.waiting(6)), (3..5, 6..6));
        assert_eq!((exposure.programmed_with(4), exposure.programmed_with(5)), (0..0, 3..6));
        assert_eq!((exposure.most_padding(), exposure.most_pages()), (2, 2));
        assert_eq!(Exposure::gathered(1, 12), None);
        assert_eq!(Exposure::paired(CellType::Slc, 1, 12), None);
    }

    #[test]
    fn a_page_is_safe_when_its_word_line_is_complete_or_the_block_ends() {
        let exposure = Exposure::paired(CellType::Mlc, 1, 16).expect("pairs");
        // Types of the pages: L L L L L L U L L U L L U U L L.
        let safe_at = [7, 10, 13, 14, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
        assert_eq!((0..16).map(|page| exposure.safe_at(page)).collect::<Vec<_>>(), safe_at);
        assert_eq!(exposed(&exposure, 8), [1, 2, 3]);
        assert_eq!(exposure.paired_with(9).collect::<Vec<_>>(), [1]);
        assert_eq!(exposure.paired_with(8).count(), 0);
        assert_eq!((exposure.most_padding(), exposure.most_pages()), (10, 4));
        assert!(exposed(&exposure, 16).is_empty());
    }

    #[test]
    fn a_page_alone_takes_four_programs_a_bit_until_it_is_safe() {
        for (cell, most, programs) in [(CellType::Mlc, 14, 8), (CellType::Tlc, 22, 12), (CellType::Qlc, 30, 16)] {
            let exposure = Exposure::paired(cell, 1, 1536).expect("pairs");
            assert_eq!(exposure.most_padding(), most, "{cell:?}");
            // A page is written where the last one has become safe.
            let ends =
                std::iter::successors(Some(0), |&page| Some(exposure.safe_at(page))).take_while(|&end| end < 1400);
            // The turns of page types begin behind the first pages of a block.
            let ends: Vec<_> = ends.skip(2).collect();
            let mean = f64::from(ends[ends.len() - 1] - ends[0]) / (ends.len() - 1) as f64;
            assert!((mean - f64::from(programs)).abs() < 0.1, "{cell:?}: {mean}");
        }
    }

    #[test]
    fn units_of_paired_pages_are_safe_with_the_last_unit_of_the_word_line() {
        let exposure = Exposure::paired(CellType::Mlc, 2, 32).expect("pairs");
        assert_eq!([0, 1, 2, 13].map(|unit| exposure.safe_at(unit)), [14, 14, 20, 14]);
        assert_eq!(exposure.paired_with(13).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(exposure.programmed_with(13), 12..14);
    }
}
