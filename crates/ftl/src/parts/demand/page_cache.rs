//! Whole translation pages in RAM, and no single entries.
//!
//! A miss brings a translation page, a write of it leaves it there. Which page leaves, and when, is said by whoever owns the RAM that such
//! pages share with others: before a miss, room has been made ([`PageCache::let_go`]).

use std::num::NonZeroU32;

use flash::{Lpn, Ppn, long_array};

use crate::parts::demand::newer_entries::NewerEntries;
use crate::parts::demand::policy::MapCache;
use crate::parts::demand::table::TranslationTable;
use crate::parts::memory::prefetch::prefetch;

/// Where an entry is cached: its page's place in RAM, and its offset there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    place: u32,
    offset: u32,
}

/// Cached translation pages (CTP).
#[derive(Clone, Debug)]
pub struct PageCache {
    /// What the pages say; the memory of one that has left is used again.
    contents: Vec<Vec<Option<Ppn>>>,
    /// The number of each place's page.
    numbers: Vec<u32>,
    free: Vec<u32>,
    place_of: Vec<Option<NonZeroU32>>,
    newer: NewerEntries,
    entries_per_page: u32,
}

impl PageCache {
    /// Nothing is cached. There are so many entries, a multiple of 64, in a translation page.
    pub fn new(logical_pages: u32, entries_per_page: u32) -> Self {
        Self {
            contents: Vec::new(),
            numbers: Vec::new(),
            free: Vec::new(),
            place_of: long_array(None, logical_pages.div_ceil(entries_per_page) as usize),
            newer: NewerEntries::none(logical_pages, entries_per_page),
            entries_per_page,
        }
    }

    /// Translation pages that are cached.
    pub fn pages(&self) -> usize {
        self.contents.len() - self.free.len()
    }

    /// Entries of a translation page.
    pub fn entries_per_page(&self) -> u32 {
        self.entries_per_page
    }

    /// The translation page of an entry.
    #[inline]
    pub fn page_of(&self, lpn: Lpn) -> u32 {
        lpn.get() / self.entries_per_page
    }

    /// A translation page leaves, of which flash says the same.
    pub fn let_go(&mut self, page: u32) {
        debug_assert!(
            self.newer.of_page(page).next().is_none(),
            "newer entries of translation page {page} would be lost"
        );
        if let Some(place) = self.place_of[page as usize].take() {
            self.free.push(place.get() - 1);
        }
    }

    fn place(&self, page: u32) -> Option<u32> {
        self.place_of[page as usize].map(|place| place.get() - 1)
    }
}

impl MapCache for PageCache {
    type Slot = Slot;

    #[inline]
    fn find(&self, lpn: Lpn) -> Option<Slot> {
        let place = self.place(self.page_of(lpn))?;
        Some(Slot { place, offset: lpn.get() % self.entries_per_page })
    }

    fn touch(&mut self, slot: Slot) -> Slot {
        slot
    }

    fn is_full(&self) -> bool {
        false
    }

    fn must_write(&mut self) -> Option<u32> {
        None
    }

    fn insert(&mut self, lpn: Lpn, table: &TranslationTable) -> Slot {
        let page = self.page_of(lpn);
        let place = self.free.pop().unwrap_or_else(|| {
            self.contents.push(Vec::new());
            self.numbers.push(page);
            self.contents.len() as u32 - 1
        });
        let content = &mut self.contents[place as usize];
        content.clear();
        content.extend_from_slice(table.entries_of(page));
        self.numbers[place as usize] = page;
        self.place_of[page as usize] = NonZeroU32::new(place + 1);
        Slot { place, offset: lpn.get() % self.entries_per_page }
    }

    #[inline]
    fn ppn(&self, Slot { place, offset }: Slot) -> Option<Ppn> {
        self.contents[place as usize][offset as usize]
    }

    #[inline]
    fn set(&mut self, Slot { place, offset }: Slot, ppn: Option<Ppn>) {
        self.contents[place as usize][offset as usize] = ppn;
        self.newer.insert(Lpn::new(self.numbers[place as usize] * self.entries_per_page + offset));
    }

    fn is_newer(&self, lpn: Lpn) -> bool {
        self.newer.contains(lpn)
    }

    fn newer_of(&self, translation_page: u32) -> impl Iterator<Item = Lpn> {
        self.newer.of_page(translation_page)
    }

    #[inline]
    fn holds_page(&self, translation_page: u32) -> bool {
        self.place_of[translation_page as usize].is_some()
    }

    fn clean(&mut self, translation_page: u32, mut write: impl FnMut(Lpn, Option<Ppn>)) {
        if let Some(place) = self.place(translation_page) {
            let content = &self.contents[place as usize];
            for lpn in self.newer.of_page(translation_page) {
                write(lpn, content[(lpn.get() % self.entries_per_page) as usize]);
            }
        }
        self.newer.remove_page(translation_page);
    }

    #[inline]
    fn prefetch_slot(&self, lpn: Lpn) {
        prefetch(&self.place_of, self.page_of(lpn) as usize);
    }

    #[inline]
    fn prefetch_change(&self, lpn: Lpn, slot: Slot) {
        self.prefetch_use(slot);
        self.newer.prefetch(lpn);
    }

    #[inline]
    fn prefetch_use(&self, Slot { place, offset }: Slot) {
        prefetch(&self.contents[place as usize], offset as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cached_whole_and_is_let_go_when_flash_says_the_same() {
        let mut table = TranslationTable::new(300, 128, 1);
        table.write_entry(Lpn::new(130), Some(Ppn::new(9)));
        let mut cache = PageCache::new(300, 128);
        assert_eq!(cache.find(Lpn::new(130)), None);
        cache.insert(Lpn::new(128), &table);
        let slot = cache.find(Lpn::new(130)).expect("its page is cached");
        assert_eq!(cache.ppn(slot), Some(Ppn::new(9)));
        cache.set(slot, Some(Ppn::new(10)));
        assert!(cache.is_newer(Lpn::new(130)) && !cache.is_newer(Lpn::new(128)));
        let mut written = Vec::new();
        cache.clean(1, |lpn, ppn| written.push((lpn.get(), ppn.map(Ppn::get))));
        assert_eq!((written, cache.ppn(slot)), (vec![(130, Some(10))], Some(Ppn::new(10))));
        cache.let_go(1);
        assert_eq!((cache.find(Lpn::new(130)), cache.pages()), (None, 0));
        // The place of a page that has left is used for another.
        cache.insert(Lpn::new(299), &table);
        assert_eq!(
            (cache.pages(), cache.contents.len(), cache.holds_page(1), cache.holds_page(2)),
            (1, 1, false, true)
        );
        let slot = cache.find(Lpn::new(256)).expect("its page is cached");
        cache.set(slot, Some(Ppn::new(3)));
        assert_eq!(cache.newer_of(2).collect::<Vec<_>>(), [Lpn::new(256)]);
    }
}
