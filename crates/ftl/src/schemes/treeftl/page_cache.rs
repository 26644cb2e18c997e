//! Whole translation pages in RAM, and no single entries.
//!
//! A miss brings a translation page, a write of it leaves it there. Which page leaves, and when, is
//! said by whoever owns the RAM that such pages share with others: before a miss, room has been
//! made ([`PageCache::evict`]).
//!
//! What a clean entry says is read from the mirror of the translation page on flash, which changes
//! only when the page is written. Only what is newer is kept here: whole pages were copied once,
//! which took time (docs/history/speed.md).

use flash::{Lpn, Ppn, long_array};

use crate::engines::demand::policy::MapCache;
use crate::engines::demand::translation::{NewerEntries, Paging, TranslationTable};
use crate::prefetch::prefetch;

/// Cached translation pages (CTP).
#[derive(Clone, Debug)]
pub struct PageCache {
    /// Whether each translation page is cached.
    is_cached: Vec<bool>,
    pages: usize,
    /// What newer entries say.
    changed: Vec<Option<Ppn>>,
    newer: NewerEntries,
    paging: Paging,
}

impl PageCache {
    /// Nothing is cached. There are so many entries, a multiple of 64, in a translation page.
    pub fn new(logical_pages: u32, entries_per_page: u32) -> Self {
        Self {
            is_cached: vec![false; logical_pages.div_ceil(entries_per_page) as usize],
            pages: 0,
            changed: long_array(None, logical_pages as usize),
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

    fn insert(&mut self, lpn: Lpn, _table: &TranslationTable) -> Lpn {
        let page = self.page_of(lpn);
        if !std::mem::replace(&mut self.is_cached[page as usize], true) {
            self.pages += 1;
        }
        lpn
    }

    #[inline]
    fn ppn(&self, slot: Lpn, table: &TranslationTable) -> Option<Ppn> {
        if self.newer.contains(slot) { self.changed[slot.index()] } else { table.entry(slot) }
    }

    #[inline]
    fn set(&mut self, slot: Lpn, ppn: Option<Ppn>) {
        self.changed[slot.index()] = ppn;
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

    fn clean(&mut self, translation_page: u32, mut write: impl FnMut(Lpn, Option<Ppn>)) {
        self.newer.of_page(translation_page).for_each(|lpn| write(lpn, self.changed[lpn.index()]));
        self.newer.remove_page(translation_page);
    }

    #[inline]
    fn prefetch_slot(&self, lpn: Lpn) {
        self.newer.prefetch(lpn);
    }

    #[inline]
    fn prefetch_change(&self, _lpn: Lpn, slot: Lpn) {
        prefetch(&self.changed, slot.index());
    }

    #[inline]
    fn prefetch_use(&self, slot: Lpn, table: &TranslationTable) {
        if self.newer.contains(slot) {
            prefetch(&self.changed, slot.index());
        } else {
            table.prefetch(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cached_whole_and_is_evicted_when_flash_says_the_same() {
        let mut table = TranslationTable::new([300, 400], 128, 1);
        table.write_entry(Lpn::new(130), Some(Ppn::new(9)));
        let mut cache = PageCache::new(300, 128);
        assert_eq!((cache.find(Lpn::new(130)), cache.pages()), (None, 0));
        cache.insert(Lpn::new(128), &table);
        let slot = cache.find(Lpn::new(130)).expect("its page is cached");
        assert_eq!(cache.ppn(slot, &table), Some(Ppn::new(9)));
        cache.set(slot, Some(Ppn::new(10)));
        // Flash is not told before the page is written.
        assert_eq!((cache.ppn(slot, &table), table.entry(slot)), (Some(Ppn::new(10)), Some(Ppn::new(9))));
        assert!(cache.is_newer(Lpn::new(130)) && !cache.is_newer(Lpn::new(128)));
        cache.clean(1, |lpn, ppn| table.write_entry(lpn, ppn));
        assert_eq!((table.entry(slot), cache.ppn(slot, &table)), (Some(Ppn::new(10)), Some(Ppn::new(10))));
        assert!(!cache.is_newer(slot));
        cache.insert(Lpn::new(299), &table);
        assert_eq!((cache.pages(), cache.holds_page(1), cache.holds_page(2)), (2, true, true));
        cache.evict(1);
        assert_eq!((cache.find(Lpn::new(130)), cache.pages()), (None, 1));
        // What was newer once is not remembered.
        cache.insert(Lpn::new(130), &table);
        table.write_entry(Lpn::new(130), Some(Ppn::new(11)));
        assert_eq!(cache.ppn(slot, &table), Some(Ppn::new(11)));
        let slot = cache.find(Lpn::new(256)).expect("its page is cached");
        cache.set(slot, Some(Ppn::new(3)));
        assert_eq!(cache.newer_of(2).collect::<Vec<_>>(), [Lpn::new(256)]);
    }
}
