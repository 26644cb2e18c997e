//! Mapping entries in RAM: which are cached, which of them are newer than flash, and which leaves
//! next. What they say is in the table (`translation.rs`).

use flash::Lpn;

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values, joined};
use crate::engines::demand::policy::{MapCache, Ram};
use crate::engines::demand::recency::{self, Recency};
use crate::engines::demand::stamped_lists::StampedLists;
use crate::engines::demand::translation::{NewerEntries, Paging, TranslationTable};
use crate::port::error::ConfigError;

/// An entry of the CMT as a controller stores it: LPN and PPN.
const CMT_ENTRY_BYTES: u64 = 8;

/// The size of the cached mapping table.
pub const CMT: Parameter = Parameter {
    name: "cmt",
    kind: Kind::Bytes { min: 64, max: 1 << 40, scales: true },
    default: "64KiB",
    meaning: "RAM of the cached mapping table, 8 B an entry; with 8 B for each logical page none leaves again, so that only the first access to each misses.",
    source: "RFTL tab. 6 (32 KB to 512 KB for 4 GB)",
};

/// Whether a changed entry that leaves takes others along.
pub const BATCH_UPDATE: Parameter = Parameter {
    name: "batch_update",
    kind: Kind::Choice { of: &["true", "false"] },
    default: "true",
    meaning: "Whether writing a translation page writes all its changed entries in the CMT, not only the one that leaves.",
    source: "Gupta 2009",
};

/// The parameters of the CMT: its size, whether it writes in batches, and which entry leaves.
pub const PARAMETERS: [Parameter; 4] = joined(&[&[CMT, BATCH_UPDATE], &recency::PARAMETERS]);

/// Entries of the cached mapping table that [`CMT`] asks for. More than can be put in order are
/// refused, if there are this many pages.
pub fn entries(layout: &Layout, values: &Values) -> Result<usize, ConfigError> {
    let (entries, most) = (values.integer("cmt") / CMT_ENTRY_BYTES, u64::from(StampedLists::MOST));
    if entries.min(layout.logical_pages.into()) > most {
        let most_gib = (most * CMT_ENTRY_BYTES) >> 30;
        return Err(ConfigError(format!(
            "cmt = {}: is more than {most_gib} GiB, {most} entries; give less, or use larger pages",
            values.integer("cmt")
        )));
    }
    Ok(entries as usize)
}

/// What a cached mapping table of this many entries takes in RAM.
pub fn ram(entries: usize) -> (&'static str, u64) {
    ("cached mapping table", CMT_ENTRY_BYTES * entries as u64)
}

/// The cached mapping table (CMT).
#[derive(Clone, Debug)]
pub struct MappingCache {
    cached: usize,
    capacity: usize,
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
            cached: 0,
            capacity,
            recency: recency(capacity),
            newer: NewerEntries::none(logical_pages, entries_per_page),
            paging: Paging::new(entries_per_page),
            batches,
        }
    }

    /// The cache that [`PARAMETERS`] ask for, and what it takes in RAM.
    pub fn from_values(layout: &Layout, values: &Values) -> Result<(Self, Ram), ConfigError> {
        let (entries, pages) = (entries(layout, values)?, layout.logical_pages);
        let per_page = TranslationTable::entries_per_page(layout, values);
        let recency = |capacity| Recency::from_values(values, pages as usize, capacity);
        let batches = values.word("batch_update") == "true";
        Ok((Self::new(entries, recency, pages, per_page, batches), vec![ram(entries)]))
    }

    /// The entry that leaves next.
    #[inline]
    fn victim(&mut self) -> Option<Lpn> {
        self.recency.victim().map(Lpn::new)
    }

    /// Asks for the memory that is touched when the entry that leaves next is dismissed, and for
    /// the one after it.
    #[inline]
    fn prefetch_victim(&mut self) {
        if let Some(lpn) = self.victim() {
            self.newer.prefetch(lpn);
            if let Some(follower) = self.recency.follower() {
                self.newer.prefetch(Lpn::new(follower));
            }
        }
    }

    /// Flash says the same as this entry from now on, if it was newer.
    pub fn mark_clean(&mut self, lpn: Lpn) {
        if self.newer.contains(lpn) {
            self.newer.remove(lpn);
        }
    }

    /// Whether all changed entries of a translation page are written together.
    pub fn batches(&self) -> bool {
        self.batches
    }

    /// The translation page of an entry.
    fn page_of(&self, lpn: Lpn) -> u32 {
        self.paging.page_of(lpn)
    }
}

impl MapCache for MappingCache {
    /// The entry itself, which is cached.
    type Slot = Lpn;

    #[inline]
    fn find(&self, lpn: Lpn) -> Option<Lpn> {
        self.recency.contains(lpn.get()).then_some(lpn)
    }

    #[inline]
    fn touch(&mut self, lpn: Lpn) -> Lpn {
        self.recency.touch(lpn.get());
        lpn
    }

    #[inline]
    fn is_full(&self) -> bool {
        debug_assert!(self.cached <= self.capacity, "{} of {} are cached", self.cached, self.capacity);
        self.cached == self.capacity
    }

    fn must_write(&mut self) -> Option<u32> {
        let lpn = self.victim()?;
        debug_assert_eq!(self.find(lpn), Some(lpn), "the entry of {lpn} is to leave, and has left");
        self.newer.contains(lpn).then(|| self.page_of(lpn))
    }

    fn insert(&mut self, lpn: Lpn) -> Lpn {
        debug_assert!(self.find(lpn).is_none(), "{lpn} is cached already");
        debug_assert!(!self.newer.contains(lpn), "{lpn} was not cached, and is newer than flash");
        if self.is_full()
            && let Some(left) = self.victim()
        {
            debug_assert!(!self.newer.contains(left), "a dirty entry would be lost");
            self.recency.leave(left.get());
        } else {
            self.cached += 1;
        }
        self.recency.enter(lpn.get());
        self.prefetch_victim();
        lpn
    }

    #[inline]
    fn mark_newer(&mut self, lpn: Lpn) {
        debug_assert_eq!(self.find(lpn), Some(lpn), "an entry is changed that has left");
        self.newer.insert(lpn);
    }

    fn is_newer(&self, lpn: Lpn) -> bool {
        self.newer.contains(lpn)
    }

    fn newer_of(&self, translation_page: u32) -> impl Iterator<Item = Lpn> {
        self.newer.of_page(translation_page)
    }

    fn clean(&mut self, translation_page: u32) {
        if self.batches {
            let is_cached = |lpn: Lpn| self.find(lpn).is_some();
            debug_assert!(
                self.newer_of(translation_page).all(is_cached),
                "page {translation_page} has newer entries that left"
            );
            self.newer.remove_page(translation_page);
        } else if let Some(victim) = self.victim()
            && self.page_of(victim) == translation_page
            && self.newer.contains(victim)
        {
            self.newer.remove(victim);
        }
    }

    #[inline]
    fn prefetch_newer_of(&self, translation_page: u32) {
        self.newer.prefetch_page(translation_page);
    }

    #[inline]
    fn prefetch_slot(&self, lpn: Lpn) {
        self.recency.prefetch(lpn.get());
        self.newer.prefetch(lpn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::layout;

    /// A cache of plain or segmented LRU for 300 entries, 128 a translation page.
    fn cache(capacity: usize, protected: usize, batches: bool) -> MappingCache {
        let recency = |capacity| Recency::segmented(300, capacity, protected);
        MappingCache::new(capacity, recency, 300, 128, batches)
    }

    #[test]
    fn more_entries_than_can_be_put_in_order_are_refused() {
        let settings = [("cmt".to_owned(), "1TiB".to_owned())].into();
        let values = Values::check("dftl", &PARAMETERS, &settings).expect("valid");
        let small = layout(64, 16, 400);
        assert_eq!(entries(&small, &values), Ok(1 << 37), "of which no more are used than there are pages");
        let refused = entries(&Layout { logical_pages: u32::MAX - 1, ..small }, &values).expect_err("too many");
        assert!(refused.0.contains("more than 8 GiB, 1073741824 entries"), "{refused:?}");
    }

    fn newer_of(cache: &MappingCache, page: u32) -> Vec<u32> {
        cache.newer_of(page).map(Lpn::get).collect()
    }

    #[test]
    fn dirty_entries_are_cleaned_page_by_page() {
        let mut cache = cache(4, 2, true);
        for lpn in [2, 129, 1].map(Lpn::new) {
            cache.insert(lpn);
            cache.mark_newer(lpn);
        }
        assert!(!cache.is_full());
        assert_eq!([0, 1, 2].map(|page| newer_of(&cache, page)), [vec![1, 2], vec![129], vec![]]);
        cache.clean(0);
        assert_eq!([0, 1, 2].map(|page| newer_of(&cache, page)), [vec![], vec![129], vec![]]);
    }

    #[test]
    fn without_batches_only_what_leaves_becomes_clean() {
        let mut cache = cache(4, 0, false);
        for lpn in [2, 129, 1].map(Lpn::new) {
            cache.insert(lpn);
            cache.mark_newer(lpn);
        }
        cache.clean(1);
        assert_eq!([0, 1].map(|page| newer_of(&cache, page)), [vec![1, 2], vec![129]]);
        cache.clean(0);
        assert_eq!([0, 1].map(|page| newer_of(&cache, page)), [vec![1], vec![129]]);
    }

    #[test]
    fn a_victim_that_is_newer_than_flash_names_its_translation_page() {
        let mut cache = cache(2, 0, true);
        let slots = [5, 200].map(|lpn| cache.insert(Lpn::new(lpn)));
        assert!(cache.is_full());
        assert_eq!(cache.must_write(), None);
        cache.mark_newer(slots[1]);
        cache.touch(slots[0]);
        assert_eq!(cache.must_write(), Some(1));
        cache.clean(1);
        cache.insert(Lpn::new(7));
        assert_eq!((cache.find(Lpn::new(200)), cache.find(Lpn::new(5))), (None, Some(slots[0])));
    }
}
