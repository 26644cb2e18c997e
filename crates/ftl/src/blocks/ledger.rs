//! Which physical pages hold the newest copy of something: one bit a page and one count a block.
//!
//! The reverse map proper needs no memory here: it is the logical number in each page's tag, which
//! a collection reads anyway. The bit tells whether that tag is still true.

use flash::{Geometry, Pbn, Ppn, long_array};

use crate::prefetch::prefetch;

/// Valid pages of the device.
#[derive(Clone, Debug)]
pub struct Ledger {
    geometry: Geometry,
    bits: Vec<u64>,
    counts: Vec<u32>,
}

impl Ledger {
    /// No page is valid.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            bits: long_array(0, (geometry.pages() as usize).div_ceil(64)),
            counts: long_array(0, geometry.blocks() as usize),
        }
    }

    /// Whether a page is valid.
    #[inline]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        debug_assert!(ppn.get() < self.geometry.pages(), "there is no {ppn} of {} pages", self.geometry.pages());
        self.bits[ppn.index() / 64] >> (ppn.index() % 64) & 1 == 1
    }

    /// Asks for the memory that invalidating a page of a known block touches.
    #[inline]
    pub fn prefetch(&self, ppn: Ppn, pbn: Pbn) {
        prefetch(&self.bits, ppn.index() / 64);
        prefetch(&self.counts, pbn.index());
    }

    /// Valid pages of a block.
    #[inline]
    pub fn valid_pages(&self, pbn: Pbn) -> u32 {
        debug_assert!(pbn.index() < self.counts.len(), "there is no {pbn} of {} blocks", self.counts.len());
        self.counts[pbn.index()]
    }

    /// Marks a page of a known block valid.
    #[inline]
    pub fn validate(&mut self, ppn: Ppn, pbn: Pbn) {
        debug_assert!(!self.is_valid(ppn), "{ppn} is valid already");
        debug_assert_eq!(self.geometry.block_of(ppn), pbn, "{ppn} is counted for another block than its own");
        self.bits[ppn.index() / 64] |= 1 << (ppn.index() % 64);
        self.counts[pbn.index()] += 1;
        let (valid, pages) = (self.counts[pbn.index()], self.geometry.pages_per_block());
        debug_assert!(valid <= pages, "{pbn} counts {valid} valid pages of {pages}");
    }

    /// Marks neighbouring pages of a known block valid.
    pub fn validate_run(&mut self, first: Ppn, pages: u32, pbn: Pbn) {
        let (mut page, end) = (first.index(), first.index() + pages as usize);
        while page < end {
            let here = (64 - page % 64).min(end - page);
            let mask = (u64::MAX >> (64 - here)) << (page % 64);
            let word = &mut self.bits[page / 64];
            debug_assert_eq!(*word & mask, 0, "a page of {here} from {page} on is valid already");
            *word |= mask;
            page += here;
        }
        let last = || self.geometry.block_of(Ppn::at(end - 1));
        debug_assert!(pages == 0 || last() == pbn, "{pages} pages from {first} on are not all of {pbn}");
        self.counts[pbn.index()] += pages;
    }

    /// Marks a valid page invalid and returns its block.
    #[inline]
    pub fn invalidate(&mut self, ppn: Ppn) -> Pbn {
        debug_assert!(self.is_valid(ppn), "{ppn} is invalid already");
        let pbn = self.geometry.block_of(ppn);
        debug_assert!(self.counts[pbn.index()] > 0, "{ppn} is valid, but {pbn} counts no valid page");
        self.bits[ppn.index() / 64] &= !(1 << (ppn.index() % 64));
        self.counts[pbn.index()] -= 1;
        pbn
    }

    /// Marks valid pages of a known block invalid.
    pub fn invalidate_all<'a>(&mut self, pbn: Pbn, pages: impl Iterator<Item = &'a Ppn>) {
        let mut left = self.counts[pbn.index()];
        for &ppn in pages {
            debug_assert!(self.is_valid(ppn), "{ppn} is invalid already");
            debug_assert_eq!(self.geometry.block_of(ppn), pbn, "{ppn} is counted for another block than its own");
            self.bits[ppn.index() / 64] &= !(1 << (ppn.index() % 64));
            left -= 1;
        }
        self.counts[pbn.index()] = left;
    }

    /// Appends the valid pages of a block, in order.
    pub fn list_valid(&self, pbn: Pbn, into: &mut Vec<Ppn>) {
        let before = into.len();
        self.append_valid(pbn, usize::MAX, into);
        let (listed, counted) = ((into.len() - before) as u32, self.counts[pbn.index()]);
        debug_assert!(listed == counted, "{pbn} counts {counted} valid pages, but {listed} are marked");
    }

    /// Appends the first valid pages of a block, this many at most, in order.
    pub fn list_first(&self, pbn: Pbn, pages: usize, into: &mut Vec<Ppn>) {
        self.append_valid(pbn, into.len() + pages, into);
    }

    /// Appends the valid pages of a block until so many are listed.
    fn append_valid(&self, pbn: Pbn, most: usize, into: &mut Vec<Ppn>) {
        let range = self.geometry.page_indices(pbn);
        for word in range.start / 64..range.end.div_ceil(64) {
            let (first, mut bits) = (word * 64, self.bits[word]);
            if first < range.start {
                bits &= u64::MAX << (range.start % 64);
            }
            if range.end - first < 64 {
                bits &= !(u64::MAX << (range.end % 64));
            }
            let pages = (bits.count_ones() as usize).min(most - into.len());
            into.extend((0..pages).map(|_| {
                let page = first + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                Ppn::at(page)
            }));
        }
    }

    /// Forgets that any page of a block is valid, when all have been dealt with or the block is
    /// about to be erased.
    pub fn clear_block(&mut self, pbn: Pbn) {
        let range = self.geometry.page_indices(pbn);
        let (first, last) = (range.start / 64, (range.end - 1) / 64);
        for word in first..=last {
            let mut keep = 0;
            if word == first {
                keep |= !(u64::MAX << (range.start % 64));
            }
            if word == last && !range.end.is_multiple_of(64) {
                keep |= u64::MAX << (range.end % 64);
            }
            self.bits[word] &= keep;
        }
        self.counts[pbn.index()] = 0;
        debug_assert!(
            !range.clone().any(|page| self.is_valid(Ppn::at(page))),
            "{pbn} is cleared, but has a valid page"
        );
    }
}

#[cfg(test)]
mod tests {
    use testkit::TestFlash;

    use super::*;

    #[test]
    fn pages_are_validated_and_invalidated_as_each_of_them_is() {
        let geometry = TestFlash::new(3, 100).geometry();
        for (first, pages) in [(0, 1), (0, 64), (63, 2), (64, 64), (100, 100), (101, 0), (130, 62), (299, 1)] {
            let (mut run, mut single) = (Ledger::new(geometry), Ledger::new(geometry));
            let pbn = geometry.block_of(Ppn::new(first));
            let pages = pages.min(100 * (pbn.get() + 1) - first);
            run.validate_run(Ppn::new(first), pages, pbn);
            (first..first + pages).for_each(|page| single.validate(Ppn::new(page), pbn));
            assert_eq!((&run.bits, &run.counts), (&single.bits, &single.counts), "{pages} from {first} on");
            let some: Vec<_> = (first..first + pages).step_by(3).map(Ppn::new).collect();
            run.invalidate_all(pbn, some.iter());
            for &page in &some {
                assert_eq!(single.invalidate(page), pbn);
            }
            assert_eq!((&run.bits, &run.counts), (&single.bits, &single.counts), "{pages} from {first} on, some");
        }
    }

    #[test]
    fn bits_of_blocks_that_share_a_word_stay_apart() {
        for pages_per_block in [1, 3, 7, 64, 100] {
            let geometry = TestFlash::new(5, pages_per_block).geometry();
            let mut ledger = Ledger::new(geometry);
            for page in 0..geometry.pages() {
                let ppn = Ppn::new(page);
                ledger.validate(ppn, geometry.block_of(ppn));
            }
            let middle = Pbn::new(2);
            let mut pages = Vec::new();
            ledger.list_valid(middle, &mut pages);
            assert_eq!(
                pages.iter().map(|p| p.index()).collect::<Vec<_>>(),
                geometry.page_indices(middle).collect::<Vec<_>>()
            );
            ledger.clear_block(middle);
            assert_eq!(ledger.invalidate(Ppn::new(0)), Pbn::new(0));
            let counts: Vec<_> = (0..5).map(|b| ledger.valid_pages(Pbn::new(b))).collect();
            let full = pages_per_block;
            assert_eq!(counts, [full - 1, full, 0, full, full]);
            let valid = (0..geometry.pages()).filter(|&p| ledger.is_valid(Ppn::new(p))).count() as u32;
            assert_eq!(valid, counts.iter().sum());
        }
    }
}
