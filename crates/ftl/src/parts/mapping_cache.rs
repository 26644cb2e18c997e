//! Mapping entries in RAM: which are cached, which of them are newer than flash, and which leaves next.
//!
//! Two recency lists make segmented LRU: an entry enters the *probationary* one, a hit moves it to the *protected* one, and
//! what overflows there falls back to the probationary list's recent end. With no protected part this is plain LRU. Which
//! entries are dirty is a bitmap over logical pages, so that all of one translation page are neighbours there and can be
//! written back at once, without following links from one to the next.

use flash::{Lpn, Ppn, long_array, long_array_of};

use crate::parts::bits::ones;
use crate::parts::chains::Chains;
use crate::parts::prefetch::prefetch;

const PROBATIONARY: u32 = 0;
const PROTECTED: u32 = 1;

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
    recency: Chains,
    protected: usize,
    protected_limit: usize,
    /// A bit for each logical page whose cached entry is newer than flash.
    dirty: Vec<u64>,
    /// Words of `dirty` for a translation page.
    dirty_words: usize,
}

impl MappingCache {
    /// An empty cache of `capacity` entries, of which up to `protected_limit` are protected, for so many logical pages with
    /// so many entries, a multiple of 64, in a translation page.
    pub fn new(capacity: usize, protected_limit: usize, logical_pages: u32, entries_per_page: u32) -> Self {
        let capacity = capacity.min(logical_pages as usize);
        Self {
            entries: long_array_of(capacity),
            capacity,
            slot_of: long_array(None, logical_pages as usize),
            recency: Chains::new(capacity, 2),
            protected: 0,
            protected_limit: protected_limit.min(capacity.saturating_sub(1)),
            dirty: long_array(0, (logical_pages.div_ceil(entries_per_page) * entries_per_page / 64) as usize),
            dirty_words: entries_per_page as usize / 64,
        }
    }

    /// Finds an entry without touching its recency.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<Slot> {
        self.slot_of[lpn.index()].map(|slot| Slot(slot.get() - 1))
    }

    /// Asks for the memory that finding an entry touches.
    #[inline]
    pub fn prefetch_slot(&self, lpn: Lpn) {
        prefetch(&self.slot_of, lpn.index());
    }

    /// Asks for the memory that reading or changing a cached entry touches.
    #[inline]
    pub fn prefetch_entry(&self, slot: Slot) {
        prefetch(&self.entries, slot.0 as usize);
    }

    /// Asks for an entry's place in its recency list.
    #[inline]
    pub fn prefetch_links(&self, slot: Slot) {
        self.recency.prefetch(slot.0);
    }

    /// Asks for the places of the entries before and after one whose own place has arrived.
    #[inline]
    pub fn prefetch_neighbours(&self, slot: Slot) {
        self.recency.prefetch_neighbours(slot.0);
    }

    /// Asks for the memory that dismissing the entry which leaves next touches, and for the entry that follows.
    #[inline]
    pub fn prefetch_victim(&self) {
        if let Some(slot) = self.victim() {
            self.prefetch_slot(self.lpn(slot));
            if let Some(follower) = self.recency.after(slot.0) {
                self.prefetch_entry(Slot(follower));
                self.recency.prefetch_neighbours(follower);
            }
        }
    }

    /// An entry has been used.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        if self.protected_limit == 0 {
            self.recency.move_back(PROBATIONARY, slot.0);
            return;
        }
        if self.recency.chain_of(slot.0) == Some(PROBATIONARY) {
            if self.protected == self.protected_limit {
                if let Some(demoted) = self.recency.front(PROTECTED) {
                    self.recency.move_back(PROBATIONARY, demoted);
                }
            } else {
                self.protected += 1;
            }
        }
        self.recency.move_back(PROTECTED, slot.0);
    }

    /// Whether an entry must leave before another can enter.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.entries.len() == self.capacity
    }

    /// The entry that leaves next.
    pub fn victim(&self) -> Option<Slot> {
        self.recency.front(PROBATIONARY).or_else(|| self.recency.front(PROTECTED)).map(Slot)
    }

    /// Replaces the next victim, which is clean, by an entry fresh from flash; or uses free space.
    pub fn insert(&mut self, lpn: Lpn, ppn: Option<Ppn>) -> Slot {
        let slot = if self.entries.len() < self.capacity {
            self.entries.push(Entry { lpn, ppn });
            self.entries.len() as u32 - 1
        } else {
            let slot = self.victim().map_or(0, |slot| slot.0);
            debug_assert!(!self.is_dirty(Slot(slot)), "a dirty entry would be lost");
            self.slot_of[self.entries[slot as usize].lpn.index()] = None;
            self.protected -= usize::from(self.recency.chain_of(slot) == Some(PROTECTED));
            self.recency.remove(slot);
            self.entries[slot as usize] = Entry { lpn, ppn };
            slot
        };
        self.slot_of[lpn.index()] = std::num::NonZeroU32::new(slot + 1);
        self.recency.push_back(PROBATIONARY, slot);
        Slot(slot)
    }

    /// Where an entry's page lies.
    #[inline]
    pub fn ppn(&self, slot: Slot) -> Option<Ppn> {
        self.entries[slot.0 as usize].ppn
    }

    /// Changes an entry, which is then newer than flash.
    #[inline]
    pub fn set(&mut self, slot: Slot, ppn: Option<Ppn>) {
        let entry = &mut self.entries[slot.0 as usize];
        entry.ppn = ppn;
        self.dirty[entry.lpn.index() / 64] |= 1 << (entry.lpn.index() % 64);
    }

    /// Whether an entry is newer than flash.
    #[inline]
    pub fn is_dirty(&self, slot: Slot) -> bool {
        let lpn = self.lpn(slot).index();
        self.dirty[lpn / 64] >> (lpn % 64) & 1 == 1
    }

    /// The logical page of an entry.
    #[inline]
    pub fn lpn(&self, slot: Slot) -> Lpn {
        self.entries[slot.0 as usize].lpn
    }

    /// Hands out the dirty entries of a translation page, in order, which thereby become clean.
    pub fn clean(&mut self, translation_page: u32, mut write: impl FnMut(Lpn, Option<Ppn>)) {
        let first = translation_page as usize * self.dirty_words;
        let lpns = || ones(&self.dirty[first..first + self.dirty_words]).map(|bit| Lpn::at(first * 64 + bit));
        lpns().filter_map(|lpn| self.find(lpn)).for_each(|slot| self.prefetch_entry(slot));
        for lpn in lpns() {
            if let Some(slot) = self.find(lpn) {
                write(lpn, self.ppn(slot));
            }
        }
        self.dirty[first..first + self.dirty_words].fill(0);
    }

    /// Entries cached.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is cached.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// The obvious model of segmented LRU, oldest first.
    #[derive(Default)]
    struct Model {
        probationary: VecDeque<u32>,
        protected: VecDeque<u32>,
    }

    impl Model {
        fn access(&mut self, lpn: u32, capacity: usize, limit: usize) -> bool {
            let hit = self.probationary.contains(&lpn) || self.protected.contains(&lpn);
            self.probationary.retain(|&x| x != lpn);
            self.protected.retain(|&x| x != lpn);
            if hit && limit > 0 {
                self.protected.push_back(lpn);
                if self.protected.len() > limit {
                    let demoted = self.protected.pop_front().expect("not empty");
                    self.probationary.push_back(demoted);
                }
            } else {
                if !hit && self.probationary.len() + self.protected.len() == capacity {
                    let _ = self.probationary.pop_front().or_else(|| self.protected.pop_front());
                }
                self.probationary.push_back(lpn);
            }
            hit
        }
    }

    #[test]
    fn segmented_and_plain_lru_agree_with_the_obvious_model() {
        for (capacity, limit) in [(4, 2), (5, 0), (8, 7), (1, 0), (8, 3)] {
            let mut cache = MappingCache::new(capacity, limit, 40, 64);
            let mut model = Model::default();
            let mut state = 12345_u64;
            for _ in 0..20_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let lpn = ((state >> 33) % 40).min((state >> 50) % 40) as u32;
                let expected = model.access(lpn, capacity, limit);
                let found = cache.find(Lpn::new(lpn));
                assert_eq!(found.is_some(), expected, "capacity {capacity}, limit {limit}");
                match found {
                    Some(slot) => cache.touch(slot),
                    None => {
                        cache.insert(Lpn::new(lpn), None);
                    }
                }
            }
        }
    }

    #[test]
    fn dirty_entries_are_cleaned_page_by_page() {
        let mut cache = MappingCache::new(4, 2, 130, 64);
        for lpn in [2, 65, 1] {
            let slot = cache.insert(Lpn::new(lpn), None);
            cache.set(slot, Some(Ppn::new(lpn + 100)));
        }
        let slot = cache.find(Lpn::new(1)).expect("cached");
        cache.set(slot, Some(Ppn::new(7)));
        let mut cleaned = Vec::new();
        cache.clean(0, |lpn, ppn| cleaned.push((lpn.get(), ppn.map(Ppn::get))));
        assert_eq!(cleaned, [(1, Some(7)), (2, Some(102))]);
        cache.clean(0, |lpn, _| panic!("{lpn} is clean"));
        assert!(!cache.is_dirty(slot) && cache.is_dirty(cache.find(Lpn::new(65)).expect("cached")));
        cache.clean(2, |lpn, _| panic!("{lpn} is not cached"));
    }
}
