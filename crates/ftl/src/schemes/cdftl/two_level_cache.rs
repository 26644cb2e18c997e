//! Mapping entries in RAM on two levels: single entries, and whole translation pages behind them.
//!
//! A miss brings the whole translation page into the second level (CTP) and its entry into the
//! first (CMT). An entry that leaves the CMT falls into its translation page if that is cached. So
//! what an entry says stands, in this order, in the CMT, in its cached translation page, on flash.
//! Both levels are plain LRU.
//!
//! Which entries are newer than flash is known for both levels together.

use std::collections::BTreeMap;

use flash::{Lpn, Ppn, long_array};

use crate::engines::demand::policy::MapCache;
use crate::engines::demand::recency::Recency;
use crate::engines::demand::translation::NewerEntries;
use crate::engines::demand::translation::Paging;
use crate::engines::demand::translation::TranslationTable;

#[derive(Clone, Copy, Debug)]
struct Entry {
    lpn: Lpn,
    ppn: Option<Ppn>,
}

/// Where an entry is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// In the first level.
    Entry(u32),
    /// In a cached translation page, at an offset.
    Page(u32, u32),
}

/// A translation page in RAM.
#[derive(Clone, Debug)]
struct CachedPage {
    number: u32,
    content: Vec<Option<Ppn>>,
}

/// Map entries in the first level, whole translation pages in the second.
#[derive(Clone, Debug)]
pub struct TwoLevelCache {
    entries: Vec<Entry>,
    entry_capacity: usize,
    entry_recency: Recency,
    entry_of: Vec<Option<std::num::NonZeroU32>>,
    pages: Vec<CachedPage>,
    page_capacity: usize,
    page_recency: Recency,
    page_of: BTreeMap<u32, u32>,
    newer: NewerEntries,
    paging: Paging,
}

impl TwoLevelCache {
    /// Empty levels of so many entries and translation pages, each at least one, over so many
    /// logical pages with so many entries, a multiple of 64, in a translation page.
    pub fn new(entries: usize, pages: usize, logical_pages: u32, entries_per_page: u32) -> Self {
        let translation_pages = logical_pages.div_ceil(entries_per_page);
        let entry_capacity = entries.min(logical_pages as usize);
        let page_capacity = pages.min(translation_pages as usize);
        Self {
            entries: Vec::with_capacity(entry_capacity),
            entry_capacity,
            entry_recency: Recency::segmented(entry_capacity, 0),
            entry_of: long_array(None, logical_pages as usize),
            pages: Vec::with_capacity(page_capacity),
            page_capacity,
            page_recency: Recency::segmented(page_capacity, 0),
            page_of: BTreeMap::new(),
            newer: NewerEntries::none(logical_pages, entries_per_page),
            paging: Paging::new(entries_per_page),
        }
    }

    fn entry_slot(&self, lpn: Lpn) -> Option<u32> {
        self.entry_of[lpn.index()].map(|slot| slot.get() - 1)
    }

    fn at(&self, slot: Slot) -> Option<Ppn> {
        match slot {
            Slot::Entry(entry) => self.entries[entry as usize].ppn,
            Slot::Page(cached, offset) => self.pages[cached as usize].content[offset as usize],
        }
    }

    fn place(&self, lpn: Lpn) -> (u32, u32) {
        self.paging.split(lpn)
    }

    /// The cached translation page that leaves when another one comes, if one has to.
    fn leaving_page(&mut self) -> Option<u32> {
        let is_full = self.pages.len() == self.page_capacity;
        if is_full { self.page_recency.victim().map(|slot| self.pages[slot as usize].number) } else { None }
    }

    /// The entry that leaves the first level when another one comes, if one has to.
    fn leaving_entry(&mut self) -> Option<u32> {
        if self.entries.len() == self.entry_capacity { self.entry_recency.victim() } else { None }
    }

    /// Whether an entry may leave the first level without a word: flash knows it, or its cached
    /// translation page takes it.
    fn may_fall(&self, lpn: Lpn) -> bool {
        !self.is_newer(lpn) || self.page_of.contains_key(&self.place(lpn).0)
    }

    /// Brings an entry into the first level, from which another one falls.
    fn promote(&mut self, lpn: Lpn, ppn: Option<Ppn>) -> Slot {
        let slot = if let Some(slot) = self.leaving_entry() {
            let left = std::mem::replace(&mut self.entries[slot as usize], Entry { lpn, ppn });
            debug_assert!(self.may_fall(left.lpn), "a newer entry would be lost");
            self.entry_of[left.lpn.index()] = None;
            self.entry_recency.leave(slot);
            let (page, offset) = self.place(left.lpn);
            if let Some(&cached) = self.page_of.get(&page) {
                self.pages[cached as usize].content[offset as usize] = left.ppn;
            }
            slot
        } else {
            self.entries.push(Entry { lpn, ppn });
            self.entries.len() as u32 - 1
        };
        self.entry_of[lpn.index()] = std::num::NonZeroU32::new(slot + 1);
        self.entry_recency.enter(slot);
        Slot::Entry(slot)
    }

    /// Brings a translation page into the second level, fresh from flash.
    fn bring_in(&mut self, number: u32, table: &TranslationTable) -> u32 {
        let page = CachedPage { number, content: table.entries_of(number).collect() };
        let slot = if let Some(left) = self.leaving_page() {
            debug_assert!(self.newer_of(left).all(|lpn| self.entry_slot(lpn).is_some()), "a newer entry would be lost");
            let slot = self.page_of.remove(&left).unwrap_or(0);
            self.page_recency.leave(slot);
            self.pages[slot as usize] = page;
            slot
        } else {
            self.pages.push(page);
            self.pages.len() as u32 - 1
        };
        self.page_of.insert(number, slot);
        self.page_recency.enter(slot);
        slot
    }
}

impl MapCache for TwoLevelCache {
    type Slot = Slot;

    fn find(&self, lpn: Lpn) -> Option<Slot> {
        if let Some(slot) = self.entry_slot(lpn) {
            return Some(Slot::Entry(slot));
        }
        let (page, offset) = self.place(lpn);
        self.page_of.get(&page).map(|&slot| Slot::Page(slot, offset))
    }

    fn touch(&mut self, slot: Slot) -> Slot {
        let (cached, offset) = match slot {
            Slot::Entry(entry) => {
                self.entry_recency.touch(entry);
                return slot;
            }
            Slot::Page(cached, offset) => (cached, offset),
        };
        self.page_recency.touch(cached);
        let CachedPage { number, content } = &self.pages[cached as usize];
        let (lpn, ppn) = (self.paging.entry_at(*number, offset), content[offset as usize]);
        let leaving = self.leaving_entry().map(|entry| self.entries[entry as usize].lpn);
        // A hit writes nothing: the entry stays where it is if none can make way without that.
        if leaving.is_none_or(|leaving| self.may_fall(leaving)) { self.promote(lpn, ppn) } else { slot }
    }

    fn is_full(&self) -> bool {
        self.entries.len() == self.entry_capacity || self.pages.len() == self.page_capacity
    }

    fn must_write(&mut self) -> Option<u32> {
        let page = self.leaving_page();
        if let Some(page) = page
            && self.newer_of(page).any(|lpn| self.entry_slot(lpn).is_none())
        {
            return Some(page);
        }
        let entry = self.leaving_entry()?;
        let lpn = self.entries[entry as usize].lpn;
        let of = self.place(lpn).0;
        let falls = self.page_of.contains_key(&of) && page != Some(of);
        (self.is_newer(lpn) && !falls).then_some(of)
    }

    fn insert(&mut self, lpn: Lpn, table: &TranslationTable) -> Slot {
        let (page, offset) = self.place(lpn);
        let cached = self.bring_in(page, table);
        let ppn = self.pages[cached as usize].content[offset as usize];
        self.promote(lpn, ppn)
    }

    fn ppn(&self, slot: Slot, _table: &TranslationTable) -> Option<Ppn> {
        self.at(slot)
    }

    fn set(&mut self, slot: Slot, ppn: Option<Ppn>) {
        let lpn = match slot {
            Slot::Entry(entry) => {
                let entry = &mut self.entries[entry as usize];
                entry.ppn = ppn;
                entry.lpn
            }
            Slot::Page(cached, offset) => {
                let page = &mut self.pages[cached as usize];
                page.content[offset as usize] = ppn;
                self.paging.entry_at(page.number, offset)
            }
        };
        self.newer.insert(lpn);
    }

    fn is_newer(&self, lpn: Lpn) -> bool {
        self.newer.contains(lpn)
    }

    fn newer_of(&self, translation_page: u32) -> impl Iterator<Item = Lpn> {
        self.newer.of_page(translation_page)
    }

    fn holds_page(&self, translation_page: u32) -> bool {
        self.page_of.contains_key(&translation_page)
    }

    fn clean(&mut self, translation_page: u32, mut write: impl FnMut(Lpn, Option<Ppn>)) {
        for lpn in self.newer.of_page(translation_page) {
            if let Some(slot) = self.find(lpn) {
                let ppn = self.at(slot);
                write(lpn, ppn);
                // What flash now says, the cached translation page says too.
                if let (page, offset) = self.place(lpn)
                    && let Some(&cached) = self.page_of.get(&page)
                {
                    self.pages[cached as usize].content[offset as usize] = ppn;
                }
            }
        }
        self.newer.remove_page(translation_page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of two entries and one page over three translation pages of 128 entries.
    fn small() -> (TwoLevelCache, TranslationTable) {
        (TwoLevelCache::new(2, 1, 300, 128), TranslationTable::new([300, 400], 128, 1))
    }

    #[test]
    fn a_miss_brings_the_page_and_its_neighbours_are_hits() {
        let (mut cache, table) = small();
        cache.insert(Lpn::new(5), &table);
        assert!(matches!(cache.find(Lpn::new(5)), Some(Slot::Entry(_))));
        assert!(matches!(cache.find(Lpn::new(6)), Some(Slot::Page(_, 6))));
        assert_eq!(cache.find(Lpn::new(128)), None);
        assert!(cache.holds_page(0) && !cache.holds_page(1));
    }

    #[test]
    fn an_entry_that_leaves_the_first_level_falls_into_its_page() {
        let (mut cache, table) = small();
        let slot = cache.insert(Lpn::new(5), &table);
        cache.set(slot, Some(Ppn::new(50)));
        for lpn in [6, 7] {
            let slot = cache.find(Lpn::new(lpn)).expect("in the page");
            assert!(matches!(cache.touch(slot), Slot::Entry(_)));
        }
        let fallen = cache.find(Lpn::new(5)).expect("still in the page");
        assert!(matches!(fallen, Slot::Page(_, 5)));
        assert_eq!(cache.at(fallen), Some(Ppn::new(50)));
        assert_eq!(cache.must_write(), Some(0), "the page is newer than flash and leaves next");
        let mut written = Vec::new();
        cache.clean(0, |lpn, ppn| written.push((lpn.get(), ppn.map(Ppn::get))));
        assert_eq!(written, [(5, Some(50))]);
        assert_eq!(cache.must_write(), None);
    }

    #[test]
    fn a_newer_entry_whose_page_has_left_names_that_page() {
        let (mut cache, table) = small();
        let first = cache.insert(Lpn::new(5), &table);
        cache.insert(Lpn::new(130), &table);
        cache.set(first, Some(Ppn::new(50)));
        assert_eq!(cache.must_write(), Some(0));
        // A hit in the cached page does not drive it out.
        let beside = cache.find(Lpn::new(131)).expect("in the page");
        assert_eq!(cache.touch(beside), beside);
        cache.clean(0, |lpn, ppn| assert_eq!((lpn.get(), ppn), (5, Some(Ppn::new(50)))));
        assert!(matches!(cache.touch(beside), Slot::Entry(_)));
    }
}
