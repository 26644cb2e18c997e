//! Mapping entries in RAM: which are cached, which of them are newer than flash, and which leaves
//! next.

use flash::{Lpn, Ppn, long_array, long_array_of};

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values, joined};
use crate::engines::demand::policy::{MapCache, Ram};
use crate::engines::demand::recency::{self, Recency};
use crate::engines::demand::translation::{NewerEntries, Paging, TranslationTable};
use crate::prefetch::prefetch;

/// An entry of the CMT as a controller stores it: LPN and PPN.
const CMT_ENTRY_BYTES: u64 = 8;

/// The size of the cached mapping table.
pub const CMT: Parameter = Parameter {
    name: "cmt",
    kind: Kind::Bytes { min: 64, max: 1 << 40 },
    default: "64KiB",
    meaning: "RAM of the cached mapping table, 8 B an entry; with 8 B for each logical page none leaves again, so that only the first access to each misses.",
    source: "RFTL tab. 6 (32 KB to 512 KB for 4 GB)",
};

/// Whether a changed entry that leaves takes others along.
const BATCH_UPDATE: Parameter = Parameter {
    name: "batch_update",
    kind: Kind::Choice { of: &["true", "false"] },
    default: "true",
    meaning: "Whether writing a translation page writes all its changed entries in the CMT, not only the one that leaves.",
    source: "Gupta 2009",
};

/// The parameters of the CMT: its size, whether it writes in batches, and which entry leaves.
pub const PARAMETERS: [Parameter; 4] = joined(&[&[CMT, BATCH_UPDATE], &recency::PARAMETERS]);

/// Entries of the cached mapping table that [`CMT`] asks for.
pub fn entries(values: &Values) -> usize {
    (values.integer("cmt") / CMT_ENTRY_BYTES) as usize
}

/// What a cached mapping table of so many entries takes in RAM.
pub fn ram(entries: usize) -> (&'static str, u64) {
    ("cached mapping table", CMT_ENTRY_BYTES * entries as u64)
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    lpn: Lpn,
    ppn: Option<Ppn>,
}

/// A cached entry: its place in the cache, good until the entry leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

/// The cached mapping table (CMT).
#[derive(Clone, Debug)]
pub struct MappingCache {
    entries: Vec<Entry>,
    capacity: usize,
    slot_of: Vec<Option<std::num::NonZeroU32>>,
    recency: Recency,
    newer: NewerEntries,
    paging: Paging,
    /// Whether all changed entries of a translation page are written together.
    batches: bool,
}

impl MappingCache {
    /// An empty cache of `capacity` entries (no more than there are logical pages), which leave in
    /// the order that `recency`, asked for that capacity, gives, alone or in batches. There are so
    /// many entries, a multiple of 64, in a translation page.
    pub fn new(
        capacity: usize,
        recency: impl FnOnce(usize) -> Recency,
        logical_pages: u32,
        entries_per_page: u32,
        batches: bool,
    ) -> Self {
        let capacity = capacity.min(logical_pages as usize);
        debug_assert!(capacity > 0, "a cache without entries, for {logical_pages} logical pages");
        Self {
            entries: long_array_of(capacity),
            capacity,
            slot_of: long_array(None, logical_pages as usize),
            recency: recency(capacity),
            newer: NewerEntries::none(logical_pages, entries_per_page),
            paging: Paging::new(entries_per_page),
            batches,
        }
    }

    /// The cache that [`PARAMETERS`] ask for, and what it takes in RAM.
    pub fn from_values(layout: &Layout, values: &Values) -> (Self, Ram) {
        let entries = entries(values);
        let per_page = TranslationTable::entries_per_page(layout, values);
        let recency = |capacity| Recency::from_values(values, capacity);
        let batches = values.word("batch_update") == "true";
        let cache = Self::new(entries, recency, layout.logical_pages, per_page, batches);
        (cache, vec![ram(entries)])
    }

    /// Asks for the memory that reading or changing a cached entry touches.
    #[inline]
    fn prefetch_entry(&self, slot: Slot) {
        prefetch(&self.entries, slot.0 as usize);
    }

    /// Asks for the memory that dismissing the entry which leaves next touches, and for the entry
    /// that follows.
    #[inline]
    fn prefetch_victim(&mut self) {
        if let Some(slot) = self.recency.victim() {
            self.prefetch_slot(self.entries[slot as usize].lpn);
            if let Some(follower) = self.recency.after(slot) {
                self.prefetch_entry(Slot(follower));
                self.recency.prefetch_neighbours(follower);
            }
        }
    }

    /// Whose entry a slot holds.
    #[inline]
    fn lpn(&self, slot: Slot) -> Lpn {
        debug_assert!((slot.0 as usize) < self.entries.len(), "there is no entry {} of {}", slot.0, self.entries.len());
        self.entries[slot.0 as usize].lpn
    }

    /// The translation page of an entry.
    fn page_of(&self, lpn: Lpn) -> u32 {
        self.paging.page_of(lpn)
    }
}

impl MapCache for MappingCache {
    type Slot = Slot;

    #[inline]
    fn find(&self, lpn: Lpn) -> Option<Slot> {
        self.slot_of[lpn.index()].map(|slot| Slot(slot.get() - 1))
    }

    #[inline]
    fn touch(&mut self, slot: Slot) -> Slot {
        debug_assert_eq!(self.find(self.lpn(slot)), Some(slot), "an entry is used that has left");
        self.recency.touch(slot.0);
        slot
    }

    #[inline]
    fn is_full(&self) -> bool {
        debug_assert!(self.entries.len() <= self.capacity, "{} of {} are cached", self.entries.len(), self.capacity);
        self.entries.len() == self.capacity
    }

    fn must_write(&mut self) -> Option<u32> {
        let victim = self.recency.victim()?;
        let lpn = self.lpn(Slot(victim));
        debug_assert_eq!(self.find(lpn), Some(Slot(victim)), "the entry of {lpn} is to leave, and has left");
        self.newer.contains(lpn).then(|| self.page_of(lpn))
    }

    fn insert(&mut self, lpn: Lpn, table: &TranslationTable) -> Slot {
        debug_assert!(self.find(lpn).is_none(), "{lpn} is cached already");
        debug_assert!(!self.newer.contains(lpn), "{lpn} was not cached, and is newer than flash");
        let ppn = table.entry(lpn);
        let slot = if self.entries.len() < self.capacity {
            self.entries.push(Entry { lpn, ppn });
            self.entries.len() as u32 - 1
        } else {
            let slot = self.recency.victim().unwrap_or(0);
            let left = std::mem::replace(&mut self.entries[slot as usize], Entry { lpn, ppn });
            debug_assert!(!self.newer.contains(left.lpn), "a dirty entry would be lost");
            self.slot_of[left.lpn.index()] = None;
            self.recency.leave(slot);
            slot
        };
        self.slot_of[lpn.index()] = std::num::NonZeroU32::new(slot + 1);
        self.recency.enter(slot);
        self.prefetch_victim();
        Slot(slot)
    }

    #[inline]
    fn ppn(&self, slot: Slot, _table: &TranslationTable) -> Option<Ppn> {
        debug_assert_eq!(self.find(self.lpn(slot)), Some(slot), "an entry is read that has left");
        self.entries[slot.0 as usize].ppn
    }

    #[inline]
    fn set(&mut self, slot: Slot, ppn: Option<Ppn>) {
        debug_assert_eq!(self.find(self.lpn(slot)), Some(slot), "an entry is changed that has left");
        let entry = &mut self.entries[slot.0 as usize];
        entry.ppn = ppn;
        self.newer.insert(entry.lpn);
    }

    fn is_newer(&self, lpn: Lpn) -> bool {
        self.newer.contains(lpn)
    }

    fn newer_of(&self, translation_page: u32) -> impl Iterator<Item = Lpn> {
        self.newer.of_page(translation_page)
    }

    fn clean(&mut self, translation_page: u32, mut write: impl FnMut(Lpn, Option<Ppn>)) {
        if !self.batches {
            if let Some(victim) = self.recency.victim().map(Slot)
                && self.page_of(self.lpn(victim)) == translation_page
                && self.newer.contains(self.lpn(victim))
            {
                let lpn = self.lpn(victim);
                write(lpn, self.entries[victim.0 as usize].ppn);
                self.newer.remove(lpn);
            }
            return;
        }
        let is_cached = |lpn: Lpn| self.find(lpn).is_some();
        debug_assert!(
            self.newer_of(translation_page).all(is_cached),
            "page {translation_page} has newer entries that left"
        );
        for lpn in self.newer.of_page(translation_page) {
            if let Some(slot) = self.find(lpn) {
                write(lpn, self.entries[slot.0 as usize].ppn);
            }
        }
        self.newer.remove_page(translation_page);
    }

    #[inline]
    fn prefetch_newer_of(&self, translation_page: u32) {
        self.newer.prefetch_page(translation_page);
    }

    #[inline]
    fn prefetch_slot(&self, lpn: Lpn) {
        prefetch(&self.slot_of, lpn.index());
    }

    #[inline]
    fn prefetch_change(&self, lpn: Lpn, slot: Slot) {
        self.prefetch_entry(slot);
        self.newer.prefetch(lpn);
    }

    #[inline]
    fn prefetch_use(&self, slot: Slot, _table: &TranslationTable) {
        self.prefetch_entry(slot);
        self.recency.prefetch(slot.0);
    }

    #[inline]
    fn prefetch_neighbours(&self, slot: Slot) {
        self.recency.prefetch_neighbours(slot.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_entries_are_cleaned_page_by_page() {
        // Pages of 512 bytes hold 128 entries.
        let table = TranslationTable::new([300, 400], 128, 1);
        let mut cache = MappingCache::new(4, |capacity| Recency::segmented(capacity, 2), 300, 128, true);
        for lpn in [2, 129, 1] {
            let slot = cache.insert(Lpn::new(lpn), &table);
            cache.set(slot, Some(Ppn::new(lpn + 100)));
        }
        let slot = cache.find(Lpn::new(1)).expect("cached");
        cache.set(slot, Some(Ppn::new(7)));
        assert!(!cache.is_full());
        let mut cleaned = Vec::new();
        cache.clean(0, |lpn, ppn| cleaned.push((lpn.get(), ppn.map(Ppn::get))));
        assert_eq!(cleaned, [(1, Some(7)), (2, Some(102))]);
        cache.clean(0, |lpn, _| panic!("{lpn} is clean"));
        assert!(!cache.is_newer(Lpn::new(1)) && cache.is_newer(Lpn::new(129)));
        cache.clean(2, |lpn, _| panic!("{lpn} is not cached"));
    }

    #[test]
    fn without_batches_only_what_leaves_becomes_clean() {
        let table = TranslationTable::new([300, 400], 128, 1);
        let mut cache = MappingCache::new(4, |capacity| Recency::segmented(capacity, 0), 300, 128, false);
        for lpn in [2, 129, 1] {
            let slot = cache.insert(Lpn::new(lpn), &table);
            cache.set(slot, Some(Ppn::new(lpn + 100)));
        }
        let mut cleaned = Vec::new();
        cache.clean(1, |lpn, _| panic!("{lpn} does not leave"));
        cache.clean(0, |lpn, ppn| cleaned.push((lpn.get(), ppn.map(Ppn::get))));
        assert_eq!(cleaned, [(2, Some(102))]);
        assert!(!cache.is_newer(Lpn::new(2)) && cache.is_newer(Lpn::new(1)) && cache.is_newer(Lpn::new(129)));
    }

    #[test]
    fn a_victim_that_is_newer_than_flash_names_its_translation_page() {
        let table = TranslationTable::new([300, 400], 128, 1);
        let mut cache = MappingCache::new(2, |capacity| Recency::segmented(capacity, 0), 300, 128, true);
        let slots = [5, 200].map(|lpn| cache.insert(Lpn::new(lpn), &table));
        assert!(cache.is_full());
        assert_eq!(cache.must_write(), None);
        cache.set(slots[1], Some(Ppn::new(9)));
        cache.touch(slots[0]);
        assert_eq!(cache.must_write(), Some(1));
        cache.clean(1, |_, _| ());
        cache.insert(Lpn::new(7), &table);
        assert_eq!((cache.find(Lpn::new(200)), cache.find(Lpn::new(5))), (None, Some(slots[0])));
    }
}
