//! Single map entries in RAM, of which somebody else says who leaves.
//!
//! As in a cache of whole pages, room has been made before an entry is brought in
//! ([`EntryCache::evict`]). An entry has a place, a number below the most entries that were ever
//! cached at once, by which lists beside this cache can name it.

use flash::{Lpn, PackedNumbers};

use crate::engines::demand::policy::MapCache;
use crate::engines::demand::translation::{NewerEntries, Paging};
use crate::prefetch::prefetch;

/// The place of a cached entry, good until it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntrySlot(pub u32);

/// Cached entries.
#[derive(Clone, Debug)]
pub struct EntryCache {
    entries: Vec<Lpn>,
    free: Vec<u32>,
    place_of: PackedNumbers,
    newer: NewerEntries,
    paging: Paging,
}

impl EntryCache {
    /// Nothing is cached. There are this many entries, a multiple of 64, in a translation page.
    pub fn new(logical_pages: u32, entries_per_page: u32) -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            place_of: PackedNumbers::none(logical_pages as usize, logical_pages),
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
        let lpn = self.entries[place as usize];
        debug_assert_eq!(self.find(lpn), Some(EntrySlot(place)), "place {place} is asked for, and {lpn} has left it");
        lpn
    }

    /// Whether there is an entry at a place.
    fn is_cached(&self, place: EntrySlot) -> bool {
        self.entries.get(place.0 as usize).is_some_and(|&lpn| self.find(lpn) == Some(place))
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
        self.free.extend(self.place_of.replace(lpn.index(), None));
    }
}

impl MapCache for EntryCache {
    type Slot = EntrySlot;

    #[inline]
    fn find(&self, lpn: Lpn) -> Option<EntrySlot> {
        self.place_of.get(lpn.index()).map(EntrySlot)
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

    fn insert(&mut self, lpn: Lpn) -> EntrySlot {
        debug_assert!(self.find(lpn).is_none(), "{lpn} is cached already");
        debug_assert!(!self.newer.contains(lpn), "{lpn} was not cached, and is newer than flash");
        let place = if let Some(place) = self.free.pop() {
            self.entries[place as usize] = lpn;
            place
        } else {
            self.entries.push(lpn);
            self.entries.len() as u32 - 1
        };
        self.place_of.set(lpn.index(), Some(place));
        EntrySlot(place)
    }

    #[inline]
    fn mark_newer(&mut self, place: EntrySlot) {
        debug_assert!(self.is_cached(place), "the entry at place {} is changed, and has left", place.0);
        self.newer.insert(self.entries[place.0 as usize]);
    }

    fn is_newer(&self, lpn: Lpn) -> bool {
        self.newer.contains(lpn)
    }

    fn newer_of(&self, translation_page: u32) -> impl Iterator<Item = Lpn> {
        self.newer.of_page(translation_page)
    }

    fn clean(&mut self, translation_page: u32) {
        let is_cached = |lpn: Lpn| self.find(lpn).is_some();
        debug_assert!(
            self.newer_of(translation_page).all(is_cached),
            "page {translation_page} has newer entries that left"
        );
        self.newer.remove_page(translation_page);
    }

    #[inline]
    fn prefetch_slot(&self, lpn: Lpn) {
        self.place_of.prefetch(lpn.index());
    }

    #[inline]
    fn prefetch_change(&self, lpn: Lpn, place: EntrySlot) {
        prefetch(&self.entries, place.0 as usize);
        self.newer.prefetch(lpn);
    }

    #[inline]
    fn prefetch_use(&self, place: EntrySlot) {
        self.prefetch_entry(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_cached_one_by_one_and_written_with_all_newer_ones_of_their_page() {
        let mut cache = EntryCache::new(300, 128);
        let places = [5, 7, 200].map(|lpn| cache.insert(Lpn::new(lpn)));
        assert_eq!((cache.entries(), cache.find(Lpn::new(6)), cache.find(Lpn::new(7))), (3, None, Some(places[1])));
        for place in places {
            cache.mark_newer(place);
        }
        assert_eq!(cache.newer_of(0).map(Lpn::get).collect::<Vec<_>>(), [5, 7]);
        cache.clean(0);
        assert!(cache.is_newer(Lpn::new(200)) && !cache.is_newer(Lpn::new(5)));
        cache.evict(Lpn::new(7));
        // The place of an entry that has left is taken again.
        assert_eq!((cache.find(Lpn::new(7)), cache.insert(Lpn::new(9))), (None, places[1]));
        assert_eq!((cache.entries(), cache.lpn(places[1])), (3, Lpn::new(9)));
    }
}
