//! Which map entries in RAM are newer than flash.
//!
//! A bitmap over logical pages, so that all entries of one translation page are neighbours there and can be written back
//! together, without following links from one to the next.

use flash::{Lpn, long_array};

use crate::memory::bits::ones;
use crate::memory::prefetch::prefetch;

/// A bit for each logical page whose entry in RAM is newer than flash.
#[derive(Clone, Debug)]
pub struct NewerEntries {
    words: Vec<u64>,
    words_per_page: usize,
}

impl NewerEntries {
    /// None is newer. There are so many entries, a multiple of 64, in a translation page.
    pub fn none(logical_pages: u32, entries_per_page: u32) -> Self {
        let words_per_page = entries_per_page as usize / 64;
        Self {
            words: long_array(0, logical_pages.div_ceil(entries_per_page) as usize * words_per_page),
            words_per_page,
        }
    }

    /// Whether an entry is newer.
    #[inline]
    pub fn contains(&self, lpn: Lpn) -> bool {
        self.words[lpn.index() / 64] >> (lpn.index() % 64) & 1 == 1
    }

    /// An entry has been changed in RAM.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn) {
        self.words[lpn.index() / 64] |= 1 << (lpn.index() % 64);
    }

    /// An entry has been written to flash.
    #[inline]
    pub fn remove(&mut self, lpn: Lpn) {
        self.words[lpn.index() / 64] &= !(1 << (lpn.index() % 64));
    }

    /// The newer entries of a translation page, in order.
    #[inline]
    pub fn of_page(&self, translation_page: u32) -> impl Iterator<Item = Lpn> + '_ {
        let first = translation_page as usize * self.words_per_page;
        ones(&self.words[first..first + self.words_per_page]).map(move |bit| Lpn::at(first * 64 + bit))
    }

    /// All entries of a translation page have been written to flash.
    #[inline]
    pub fn remove_page(&mut self, translation_page: u32) {
        let first = translation_page as usize * self.words_per_page;
        self.words[first..first + self.words_per_page].fill(0);
    }

    /// Asks for the memory that tells of a translation page.
    #[inline]
    pub fn prefetch_page(&self, translation_page: u32) {
        let first = translation_page as usize * self.words_per_page;
        (first..first + self.words_per_page).step_by(8).for_each(|word| prefetch(&self.words, word));
    }

    /// Asks for the memory that tells of a logical page.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.words, lpn.index() / 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_entries_are_known_by_page_until_they_are_written() {
        let mut newer = NewerEntries::none(300, 128);
        for lpn in [127, 128, 130, 255, 256, 299].map(Lpn::new) {
            newer.insert(lpn);
        }
        let of_page = |newer: &NewerEntries, page| newer.of_page(page).map(Lpn::get).collect::<Vec<_>>();
        assert_eq!([0, 1, 2].map(|page| of_page(&newer, page)), [vec![127], vec![128, 130, 255], vec![256, 299]]);
        newer.remove(Lpn::new(130));
        assert!(newer.contains(Lpn::new(128)) && !newer.contains(Lpn::new(130)));
        newer.remove_page(1);
        assert_eq!([0, 1, 2].map(|page| of_page(&newer, page)), [vec![127], vec![], vec![256, 299]]);
    }
}
