//! Single map entries in RAM, of which somebody else says who leaves.
//!
//! As in a cache of whole pages, room has been made before an entry is brought in
//! ([`EntryCache::evict`]). An entry has a place, a number below the most entries that were ever
//! cached at once, by which lists beside this cache can name it.

use std::num::NonZeroU32;

use flash::{Lpn, Ppn, long_array};

use crate::engines::demand::policy::MapCache;
use crate::engines::demand::translation::{NewerEntries, Paging, TranslationTable};
use crate::prefetch::prefetch;

/// The place of a cached entry, good until it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntrySlot(pub u32);

/// Cached entries.
#[derive(Clone, Debug)]
pub struct EntryCache {
    entries: Vec<(Lpn, Option<Ppn>)>,
    free: Vec<u32>,
    place_of: Vec<Option<NonZeroU32>>,
    newer: NewerEntries,
    paging: Paging,
}

impl EntryCache {
    /// Nothing is cached. There are so many entries, a multiple of 64, in a translation page.
    pub fn new(logical_pages: u32, entries_per_page: u32) -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            place_of: long_array(None, logical_pages as usize),
            newer: NewerEntries::none(logical_pages, entries_per_page),
            paging: Paging::new(entries_per_page),
        }
    }

    /// Entries that are cached.
    pub fn entries(&self) -> usize {
        debug_assert!(self.free.len() <= self.entries.len(), "{} of {} are free", self.free.len(), self.entries.len());
        self.entries.len() - self.free.len()
    }

    /// The logical page of the entry at a place.
    pub fn lpn(&self, EntrySlot(place): EntrySlot) -> Lpn {
        let lpn = self.entries[place as usize].0;
        debug_assert_eq!(self.find(lpn), Some(EntrySlot(place)), "place {place} is asked for, and {lpn} has left it");
        lpn
    }

    /// Whether there is an entry at a place.
    fn is_cached(&self, place: EntrySlot) -> bool {
        self.entries.get(place.0 as usize).is_some_and(|&(lpn, _)| self.find(lpn) == Some(place))
    }

    /// Asks for the memory of the entry at a place.
    #[inline]
    pub fn prefetch_entry(&self, EntrySlot(place): EntrySlot) {
        prefetch(&self.entries, place as usize);
    }

    /// The translation page of an entry.
    pub fn page_of(&self, lpn: Lpn) -> u32 {
        self.paging.page_of(lpn)
    }

    /// An entry leaves, of which flash says the same.
    pub fn evict(&mut self, lpn: Lpn) {
        debug_assert!(!self.newer.contains(lpn), "the newer entry of {lpn} would be lost");
        debug_assert!(self.find(lpn).is_some(), "the entry of {lpn} is evicted, and is not cached");
        if let Some(place) = self.place_of[lpn.index()].take() {
            self.free.push(place.get() - 1);
        }
    }
}

impl MapCache for EntryCache {
    type Slot = EntrySlot;

    #[inline]
    fn find(&self, lpn: Lpn) -> Option<EntrySlot> {
        self.place_of[lpn.index()].map(|place| EntrySlot(place.get() - 1))
    }

    fn touch(&mut self, place: EntrySlot) -> EntrySlot {
        debug_assert!(self.is_cached(place), "the entry at place {} is used, and has left", place.0);
        place
    }

    fn is_full(&self) -> bool {
        false
    }

    fn must_write(&mut self) -> Option<u32> {
        None
    }

    fn insert(&mut self, lpn: Lpn, table: &TranslationTable) -> EntrySlot {
        debug_assert!(self.find(lpn).is_none(), "{lpn} is cached already");
        debug_assert!(!self.newer.contains(lpn), "{lpn} was not cached, and is newer than flash");
        let entry = (lpn, table.entry(lpn));
        let place = if let Some(place) = self.free.pop() {
            self.entries[place as usize] = entry;
            place
        } else {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        };
        self.place_of[lpn.index()] = NonZeroU32::new(place + 1);
        EntrySlot(place)
    }

    #[inline]
    fn ppn(&self, EntrySlot(place): EntrySlot, _table: &TranslationTable) -> Option<Ppn> {
        debug_assert!(self.is_cached(EntrySlot(place)), "the entry at place {place} is read, and has left");
        self.entries[place as usize].1
    }

    #[inline]
    fn set(&mut self, EntrySlot(place): EntrySlot, ppn: Option<Ppn>) {
        debug_assert!(self.find(self.entries[place as usize].0).is_some(), "an entry is changed that has left");
        let entry = &mut self.entries[place as usize];
        entry.1 = ppn;
        self.newer.insert(entry.0);
    }

    fn is_newer(&self, lpn: Lpn) -> bool {
        self.newer.contains(lpn)
    }

    fn newer_of(&self, translation_page: u32) -> impl Iterator<Item = Lpn> {
        self.newer.of_page(translation_page)
    }

    fn clean(&mut self, translation_page: u32, mut write: impl FnMut(Lpn, Option<Ppn>)) {
        for lpn in self.newer.of_page(translation_page) {
            if let Some(place) = self.find(lpn) {
                write(lpn, self.entries[place.0 as usize].1);
            }
        }
        let is_cached = |lpn: Lpn| self.find(lpn).is_some();
        debug_assert!(
            self.newer_of(translation_page).all(is_cached),
            "page {translation_page} has newer entries that left"
        );
        self.newer.remove_page(translation_page);
    }

    #[inline]
    fn prefetch_slot(&self, lpn: Lpn) {
        prefetch(&self.place_of, lpn.index());
    }

    #[inline]
    fn prefetch_change(&self, lpn: Lpn, place: EntrySlot) {
        prefetch(&self.entries, place.0 as usize);
        self.newer.prefetch(lpn);
    }

    #[inline]
    fn prefetch_use(&self, place: EntrySlot, _table: &TranslationTable) {
        self.prefetch_entry(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_cached_one_by_one_and_written_with_all_newer_ones_of_their_page() {
        let table = TranslationTable::new([300, 400], 128, 1);
        let mut cache = EntryCache::new(300, 128);
        let places = [5, 7, 200].map(|lpn| cache.insert(Lpn::new(lpn), &table));
        assert_eq!((cache.entries(), cache.find(Lpn::new(6)), cache.find(Lpn::new(7))), (3, None, Some(places[1])));
        for (place, ppn) in places.into_iter().zip([50, 70, 90]) {
            cache.set(place, Some(Ppn::new(ppn)));
        }
        let mut written = Vec::new();
        cache.clean(0, |lpn, ppn| written.push((lpn.get(), ppn.map(Ppn::get))));
        assert_eq!(written, [(5, Some(50)), (7, Some(70))]);
        assert!(cache.is_newer(Lpn::new(200)) && !cache.is_newer(Lpn::new(5)));
        cache.evict(Lpn::new(7));
        // The place of an entry that has left is taken again.
        assert_eq!((cache.find(Lpn::new(7)), cache.insert(Lpn::new(9), &table)), (None, places[1]));
        assert_eq!((cache.entries(), cache.lpn(places[1]), cache.entries[1].1), (3, Lpn::new(9), None));
    }
}
