//! Mapping entries in RAM on two levels: single entries, and whole translation pages behind them.
//!
//! A miss brings the whole translation page into the second level (CTP) and its entry into the
//! first (CMT). An entry that leaves the CMT falls into its translation page if that is cached.
//! What entries say is in the table (`translation.rs`). Both levels are plain LRU.
//!
//! Which entries are newer than flash is known for both levels together.

use std::collections::BTreeMap;

use flash::{Lpn, PackedNumbers};

use crate::engines::demand::policy::MapCache;
use crate::engines::demand::recency::Recency;
use crate::engines::demand::translation::NewerEntries;
use crate::engines::demand::translation::Paging;

/// Where an entry is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// In the first level.
    Entry(u32),
    /// In a cached translation page, at an offset.
    Page(u32, u32),
}

/// Map entries in the first level, whole translation pages in the second.
#[derive(Clone, Debug)]
pub struct TwoLevelCache {
    entries: Vec<Lpn>,
    entry_capacity: usize,
    entry_recency: Recency,
    entry_of: PackedNumbers,
    /// The translation pages of the second level.
    pages: Vec<u32>,
    page_capacity: usize,
    page_recency: Recency,
    page_of: BTreeMap<u32, u32>,
    newer: NewerEntries,
    paging: Paging,
}

impl TwoLevelCache {
    /// Empty levels of this many entries and translation pages, each at least one, over this many
    /// logical pages with so many entries, a multiple of 64, in a translation page.
    pub fn new(entries: usize, pages: usize, logical_pages: u32, entries_per_page: u32) -> Self {
        let translation_pages = logical_pages.div_ceil(entries_per_page);
        let entry_capacity = entries.min(logical_pages as usize);
        let page_capacity = pages.min(translation_pages as usize);
        Self {
            entries: Vec::with_capacity(entry_capacity),
            entry_capacity,
            entry_recency: Recency::segmented(entry_capacity, entry_capacity, 0),
            entry_of: PackedNumbers::none(logical_pages as usize, entry_capacity as u32),
            pages: Vec::with_capacity(page_capacity),
            page_capacity,
            page_recency: Recency::segmented(page_capacity, page_capacity, 0),
            page_of: BTreeMap::new(),
            newer: NewerEntries::none(logical_pages, entries_per_page),
            paging: Paging::new(entries_per_page),
        }
    }

    fn entry_slot(&self, lpn: Lpn) -> Option<u32> {
        self.entry_of.get(lpn.index())
    }

    fn place(&self, lpn: Lpn) -> (u32, u32) {
        self.paging.split(lpn)
    }

    /// The cached translation page that leaves when another one comes, if one has to.
    fn leaving_page(&mut self) -> Option<u32> {
        let is_full = self.pages.len() == self.page_capacity;
        if is_full { self.page_recency.victim().map(|slot| self.pages[slot as usize]) } else { None }
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
    fn promote(&mut self, lpn: Lpn) -> Slot {
        let slot = if let Some(slot) = self.leaving_entry() {
            let left = std::mem::replace(&mut self.entries[slot as usize], lpn);
            debug_assert!(self.may_fall(left), "a newer entry would be lost");
            self.entry_of.set(left.index(), None);
            self.entry_recency.leave(slot);
            slot
        } else {
            self.entries.push(lpn);
            self.entries.len() as u32 - 1
        };
        self.entry_of.set(lpn.index(), Some(slot));
        self.entry_recency.enter(slot);
        Slot::Entry(slot)
    }

    /// Brings a translation page into the second level, fresh from flash.
    fn bring_in(&mut self, page: u32) {
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
        self.page_of.insert(page, slot);
        self.page_recency.enter(slot);
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
        let lpn = self.paging.entry_at(self.pages[cached as usize], offset);
        let leaving = self.leaving_entry().map(|entry| self.entries[entry as usize]);
        // A hit writes nothing: the entry stays where it is if none can make way without that.
        if leaving.is_none_or(|leaving| self.may_fall(leaving)) { self.promote(lpn) } else { slot }
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
        let lpn = self.entries[entry as usize];
        let of = self.place(lpn).0;
        let falls = self.page_of.contains_key(&of) && page != Some(of);
        (self.is_newer(lpn) && !falls).then_some(of)
    }

    fn insert(&mut self, lpn: Lpn) -> Slot {
        self.bring_in(self.place(lpn).0);
        self.promote(lpn)
    }

    fn mark_newer(&mut self, slot: Slot) {
        self.newer.insert(match slot {
            Slot::Entry(entry) => self.entries[entry as usize],
            Slot::Page(cached, offset) => self.paging.entry_at(self.pages[cached as usize], offset),
        });
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

    fn clean(&mut self, translation_page: u32) {
        self.newer.remove_page(translation_page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of two entries and one page over three translation pages of 128 entries.
    fn small() -> TwoLevelCache {
        TwoLevelCache::new(2, 1, 300, 128)
    }

    #[test]
    fn a_miss_brings_the_page_and_its_neighbours_are_hits() {
        let mut cache = small();
        cache.insert(Lpn::new(5));
        assert!(matches!(cache.find(Lpn::new(5)), Some(Slot::Entry(_))));
        assert!(matches!(cache.find(Lpn::new(6)), Some(Slot::Page(_, 6))));
        assert_eq!(cache.find(Lpn::new(128)), None);
        assert!(cache.holds_page(0) && !cache.holds_page(1));
    }

    #[test]
    fn an_entry_that_leaves_the_first_level_falls_into_its_page() {
        let mut cache = small();
        let slot = cache.insert(Lpn::new(5));
        cache.mark_newer(slot);
        for lpn in [6, 7] {
            let slot = cache.find(Lpn::new(lpn)).expect("in the page");
            assert!(matches!(cache.touch(slot), Slot::Entry(_)));
        }
        let fallen = cache.find(Lpn::new(5)).expect("still in the page");
        assert!(matches!(fallen, Slot::Page(_, 5)));
        assert_eq!(cache.must_write(), Some(0), "the page is newer than flash and leaves next");
        assert_eq!(cache.newer_of(0).collect::<Vec<_>>(), [Lpn::new(5)]);
        cache.clean(0);
        assert_eq!(cache.must_write(), None);
    }

    #[test]
    fn a_newer_entry_whose_page_has_left_names_that_page() {
        let mut cache = small();
        let first = cache.insert(Lpn::new(5));
        cache.insert(Lpn::new(130));
        cache.mark_newer(first);
        assert_eq!(cache.must_write(), Some(0));
        // A hit in the cached page does not drive it out.
        let beside = cache.find(Lpn::new(131)).expect("in the page");
        assert_eq!(cache.touch(beside), beside);
        cache.clean(0);
        assert!(matches!(cache.touch(beside), Slot::Entry(_)));
    }
}
