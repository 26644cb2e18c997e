//! Whole translation pages in RAM, and no single entries.
//!
//! A miss brings a translation page, a write of it leaves it there. Which page leaves, and when, is
//! set by the owner of the RAM that such pages share with others: before a miss, room has been
//! made ([`PageCache::evict`]).
//!
//! What the entries say is in the table.

use flash::Lpn;

use crate::engines::demand::policy::MapCache;
use crate::engines::demand::translation::{NewerEntries, Paging};

/// Cached translation pages (CTP).
#[derive(Clone, Debug)]
pub struct PageCache {
    /// Whether each translation page is cached.
    is_cached: Vec<bool>,
    pages: usize,
    newer: NewerEntries,
    paging: Paging,
}

impl PageCache {
    /// Nothing is cached. There are this many entries, a multiple of 64, in a translation page.
    pub fn new(logical_pages: u32, entries_per_page: u32) -> Self {
        Self {
            is_cached: vec![false; logical_pages.div_ceil(entries_per_page) as usize],
            pages: 0,
            newer: NewerEntries::none(logical_pages, entries_per_page),
            paging: Paging::new(entries_per_page),
        }
    }

    /// Translation pages that are cached.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// The translation page of an entry.
    #[inline]
    pub fn page_of(&self, lpn: Lpn) -> u32 {
        self.paging.page_of(lpn)
    }

    /// A translation page leaves, of which flash says the same.
    pub fn evict(&mut self, page: u32) {
        debug_assert!(
            self.newer.of_page(page).next().is_none(),
            "newer entries of translation page {page} would be lost"
        );
        if std::mem::take(&mut self.is_cached[page as usize]) {
            self.pages -= 1;
        }
    }
}

impl MapCache for PageCache {
    /// The entry itself, of which the page is cached.
    type Slot = Lpn;

    #[inline]
    fn find(&self, lpn: Lpn) -> Option<Lpn> {
        self.holds_page(self.page_of(lpn)).then_some(lpn)
    }

    fn touch(&mut self, slot: Lpn) -> Lpn {
        slot
    }

    fn is_full(&self) -> bool {
        false
    }

    fn must_write(&mut self) -> Option<u32> {
        None
    }

    fn insert(&mut self, lpn: Lpn) -> Lpn {
        let page = self.page_of(lpn);
        if !std::mem::replace(&mut self.is_cached[page as usize], true) {
            self.pages += 1;
        }
        lpn
    }

    #[inline]
    fn mark_newer(&mut self, slot: Lpn) {
        self.newer.insert(slot);
    }

    fn is_newer(&self, lpn: Lpn) -> bool {
        self.newer.contains(lpn)
    }

    fn newer_of(&self, translation_page: u32) -> impl Iterator<Item = Lpn> {
        self.newer.of_page(translation_page)
    }

    #[inline]
    fn holds_page(&self, translation_page: u32) -> bool {
        self.is_cached[translation_page as usize]
    }

    fn clean(&mut self, translation_page: u32) {
        self.newer.remove_page(translation_page);
    }

    #[inline]
    fn prefetch_slot(&self, lpn: Lpn) {
        self.newer.prefetch(lpn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cached_whole_and_is_evicted_when_flash_says_the_same() {
        let mut cache = PageCache::new(300, 128);
        assert_eq!((cache.find(Lpn::new(130)), cache.pages()), (None, 0));
        cache.insert(Lpn::new(128));
        let slot = cache.find(Lpn::new(130)).expect("its page is cached");
        cache.mark_newer(slot);
        assert!(cache.is_newer(Lpn::new(130)) && !cache.is_newer(Lpn::new(128)));
        cache.clean(1);
        assert!(!cache.is_newer(slot));
        cache.insert(Lpn::new(299));
        assert_eq!((cache.pages(), cache.holds_page(1), cache.holds_page(2)), (2, true, true));
        cache.evict(1);
        assert_eq!((cache.find(Lpn::new(130)), cache.pages()), (None, 1));
        let slot = cache.find(Lpn::new(256)).expect("its page is cached");
        cache.mark_newer(slot);
        assert_eq!(cache.newer_of(2).collect::<Vec<_>>(), [Lpn::new(256)]);
    }
}
