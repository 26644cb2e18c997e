//! Translation pages in RAM, packed by runs, and a buffer of newer entries of pages that have left.
//! What entries say is in the table (`translation.rs`).
//!
//! ```text
//!   entry     0   1   2   3   4   5   6   7
//!   PPN      40  41  42   9  10  77   –   –     – is unmapped
//!   bitmap    1   0   0   1   0   1   1   0     1 begins a run
//!   heads    40           9      77   –         4 B each
//! ```
//!
//! The page used last is unpacked, so that it takes a change without taking more room. Others grow
//! where a collection moves what they map, as long as there is room.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use flash::{Lpn, Ppn};

use crate::api::report::Gauge;
use crate::engines::demand::policy::MapCache;
use crate::engines::demand::recency::Recency;
use crate::engines::demand::translation::{NewerEntries, Paging, TranslationTable};

/// Bytes of a PPN.
const PPN_BYTES: u64 = 4;
/// Bytes of an entry in the dirty buffer: LPN and PPN.
const BUFFERED_BYTES: u64 = 8;
/// Bytes of a cached translation page beside its entries: its number and its list.
const NODE_BYTES: u64 = 8;
/// The most that a change adds to a packed page: a run is cut in three.
const GROWTH_BYTES: u64 = 2 * PPN_BYTES;

/// Bytes of RAM, and when newer entries stay there without their translation page.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Bytes of cached translation pages.
    pub pages: u64,
    /// Bytes of the dirty buffer.
    pub buffer: u64,
    /// Most newer entries of a leaving page that go to the buffer.
    pub sparse: u32,
}

/// Cached translation pages and the dirty buffer.
#[derive(Clone, Debug)]
pub struct PackedPages {
    sizes: Sizes,
    paging: Paging,
    logical_pages: u32,
    /// The cached translation pages, in plain LRU order.
    recency: Recency,
    cached: u32,
    /// The cached page that is unpacked.
    unpacked: Option<u32>,
    used_bytes: u64,
    /// Runs in each translation page, cached or not.
    runs: Vec<u32>,
    newer: NewerEntries,
    /// Newer entries of each translation page: of one that is not cached, they are in the buffer.
    dirty: Vec<u32>,
    /// Entries in the buffer.
    buffered: u32,
    /// Translation pages with entries in the buffer, the most entries first.
    by_count: BTreeSet<(Reverse<u32>, u32)>,
    /// The entry of the buffer that was found last: it stays there when it has been written.
    in_use: Option<Lpn>,
}

impl PackedPages {
    /// Bytes of the smallest RAM for pages of this many entries: one, unpacked.
    pub fn least_bytes(entries_per_page: u32) -> u64 {
        NODE_BYTES + PPN_BYTES * u64::from(entries_per_page)
    }

    /// Empty, for this many logical pages that nothing maps yet, with room for a translation page
    /// of this many entries, a multiple of 64.
    pub fn new(sizes: Sizes, logical_pages: u32, entries_per_page: u32) -> Self {
        debug_assert!(sizes.pages >= Self::least_bytes(entries_per_page), "{} B hold no page", sizes.pages);
        let pages = logical_pages.div_ceil(entries_per_page) as usize;
        Self {
            sizes,
            paging: Paging::new(entries_per_page),
            logical_pages,
            recency: Recency::segmented(pages, pages, 0),
            cached: 0,
            unpacked: None,
            used_bytes: 0,
            runs: vec![1; pages],
            newer: NewerEntries::none(logical_pages, entries_per_page),
            dirty: vec![0; pages],
            buffered: 0,
            by_count: BTreeSet::new(),
            in_use: None,
        }
    }

    fn unpacked_bytes(&self) -> u64 {
        Self::least_bytes(self.paging.entries_per_page())
    }

    /// What a page takes in RAM that is not the one used last.
    fn packed_bytes(&self, page: u32) -> u64 {
        let bitmap = u64::from(self.paging.entries_per_page()).div_ceil(8);
        (NODE_BYTES + bitmap + PPN_BYTES * u64::from(self.runs[page as usize])).min(self.unpacked_bytes())
    }

    /// What a cached page takes.
    fn bytes(&self, page: u32) -> u64 {
        if self.unpacked == Some(page) { self.unpacked_bytes() } else { self.packed_bytes(page) }
    }

    /// Packs the page that is not packed, if there is one.
    fn pack(&mut self) {
        if let Some(page) = self.unpacked.take() {
            self.used_bytes -= self.unpacked_bytes() - self.packed_bytes(page);
        }
    }

    /// Entries for which the dirty buffer has room.
    fn buffer_room(&self) -> u32 {
        let stays = self.in_use.is_some_and(|lpn| !self.newer.contains(lpn));
        let all = (self.sizes.buffer / BUFFERED_BYTES).min(u32::MAX.into()) as u32;
        all - self.buffered - u32::from(stays)
    }

    /// The newer entries of a page enter the buffer or leave it.
    fn count_buffered(&mut self, page: u32, before: u32, now: u32) {
        self.by_count.remove(&(Reverse(before), page));
        if now > 0 {
            self.by_count.insert((Reverse(now), page));
        }
        self.buffered = self.buffered - before + now;
    }

    /// A page leaves, and its newer entries go to the buffer.
    fn evict(&mut self, page: u32) {
        self.used_bytes -= self.bytes(page);
        self.unpacked = self.unpacked.filter(|&unpacked| unpacked != page);
        self.recency.leave(page);
        self.cached -= 1;
        let newer = self.dirty[page as usize];
        debug_assert!(newer <= self.buffer_room(), "{newer} newer entries of page {page} would be lost");
        self.count_buffered(page, 0, newer);
    }

    /// Has the least recently used pages leave until there is this much room. If one must be
    /// written for that, it is returned: of what leaves and of the pages in the buffer the one with
    /// the most newer entries.
    fn make_room(&mut self, bytes: u64) -> Option<u32> {
        while self.used_bytes + bytes > self.sizes.pages {
            let page = self.recency.victim()?;
            if self.unpacked == Some(page) {
                self.recency.touch(page);
                continue;
            }
            let newer = self.dirty[page as usize];
            if newer > 0 && (newer > self.sizes.sparse || newer > self.buffer_room()) {
                // Of a page in the buffer no more than `sparse` are newer.
                let most = self.by_count.first().filter(|(Reverse(most), _)| *most > newer);
                return Some(most.map_or(page, |&(_, most)| most));
            }
            self.evict(page);
        }
        None
    }

    /// Whether an entry goes on with the run of the entry before it.
    fn follows(before: Option<Ppn>, entry: Option<Ppn>) -> bool {
        before.map(|ppn| ppn.get() + 1) == entry.map(Ppn::get)
    }
}

impl MapCache for PackedPages {
    /// The entry itself, which is in a cached page or in the buffer.
    type Slot = Lpn;

    fn find(&self, lpn: Lpn) -> Option<Lpn> {
        let is_here = self.holds_page(self.paging.page_of(lpn)) || self.newer.contains(lpn) || self.in_use == Some(lpn);
        is_here.then_some(lpn)
    }

    fn touch(&mut self, lpn: Lpn) -> Lpn {
        let page = self.paging.page_of(lpn);
        if !self.holds_page(page) {
            self.in_use = Some(lpn);
            return lpn;
        }
        self.in_use = None;
        self.recency.touch(page);
        if self.unpacked != Some(page) {
            self.pack();
            self.used_bytes += self.unpacked_bytes() - self.packed_bytes(page);
            self.unpacked = Some(page);
        }
        lpn
    }

    fn overflow(&mut self) -> Option<u32> {
        self.make_room(0)
    }

    fn is_full(&self) -> bool {
        let saved = self.unpacked.map_or(0, |page| self.unpacked_bytes() - self.packed_bytes(page));
        self.used_bytes - saved + self.unpacked_bytes() > self.sizes.pages
    }

    fn must_write(&mut self) -> Option<u32> {
        self.in_use = None;
        self.pack();
        self.make_room(self.unpacked_bytes())
    }

    fn insert(&mut self, lpn: Lpn) -> Lpn {
        debug_assert!(self.find(lpn).is_none(), "{lpn} is in RAM already");
        let page = self.paging.page_of(lpn);
        self.in_use = None;
        self.pack();
        self.used_bytes += self.unpacked_bytes();
        debug_assert!(self.used_bytes <= self.sizes.pages, "{} B are used", self.used_bytes);
        self.unpacked = Some(page);
        self.recency.enter(page);
        self.cached += 1;
        self.count_buffered(page, self.dirty[page as usize], 0);
        lpn
    }

    fn mark_newer(&mut self, lpn: Lpn) {
        debug_assert_eq!(self.find(lpn), Some(lpn), "an entry is changed that has left");
        if self.newer.contains(lpn) {
            return;
        }
        let page = self.paging.page_of(lpn);
        self.newer.insert(lpn);
        self.dirty[page as usize] += 1;
        if !self.holds_page(page) {
            let newer = self.dirty[page as usize];
            self.count_buffered(page, newer - 1, newer);
        }
    }

    fn is_newer(&self, lpn: Lpn) -> bool {
        self.newer.contains(lpn)
    }

    fn newer_of(&self, translation_page: u32) -> impl Iterator<Item = Lpn> {
        self.newer.of_page(translation_page)
    }

    fn holds_page(&self, translation_page: u32) -> bool {
        self.recency.contains(translation_page)
    }

    fn has_room_to_change(&self, lpn: Lpn) -> bool {
        let page = self.paging.page_of(lpn);
        let is_packed = self.holds_page(page) && self.unpacked != Some(page);
        !is_packed || self.used_bytes + GROWTH_BYTES <= self.sizes.pages
    }

    fn on_entry_changed(&mut self, lpn: Lpn, before: Option<Ppn>, table: &TranslationTable) {
        let (page, offset) = self.paging.split(lpn);
        let old_bytes = self.packed_bytes(page);
        let (first, end) = (offset == 0, lpn.get() + 1 == self.logical_pages);
        let previous = (!first).then(|| table.entry(Lpn::new(lpn.get() - 1)));
        let is_last = end || offset + 1 == self.paging.entries_per_page();
        let next = (!is_last).then(|| table.entry(Lpn::new(lpn.get() + 1)));
        let heads = |entry: Option<Ppn>| {
            let begins = previous.is_some_and(|previous| !Self::follows(previous, entry));
            let ends = next.is_some_and(|next| !Self::follows(entry, next));
            u32::from(begins) + u32::from(ends)
        };
        let runs = &mut self.runs[page as usize];
        *runs = *runs + heads(table.entry(lpn)) - heads(before);
        if self.holds_page(page) && self.unpacked != Some(page) {
            self.used_bytes = self.used_bytes + self.packed_bytes(page) - old_bytes;
        }
    }

    /// A packed page that has grown beyond its room while it was written leaves.
    fn clean(&mut self, translation_page: u32) {
        self.newer.remove_page(translation_page);
        let newer = std::mem::take(&mut self.dirty[translation_page as usize]);
        if !self.holds_page(translation_page) {
            self.count_buffered(translation_page, newer, 0);
        } else if self.used_bytes > self.sizes.pages && self.unpacked != Some(translation_page) {
            self.evict(translation_page);
        }
    }

    fn fault(&self, table: &TranslationTable, is_read_only: bool) -> Option<String> {
        let (mut bytes, mut buffered) = (0, 0);
        for page in 0..self.runs.len() as u32 {
            let first = self.paging.entry_at(page, 0).get();
            let end = (first + self.paging.entries_per_page()).min(self.logical_pages);
            let begins = |lpn: &u32| !Self::follows(table.entry(Lpn::new(lpn - 1)), table.entry(Lpn::new(*lpn)));
            let runs = 1 + (first + 1..end).filter(begins).count() as u32;
            let newer = self.newer.of_page(page).count() as u32;
            let counted = (self.runs[page as usize], self.dirty[page as usize]);
            if counted != (runs, newer) {
                return Some(format!("page {page} has {runs} runs and {newer} newer entries, not {counted:?}"));
            }
            bytes += if self.holds_page(page) { self.bytes(page) } else { 0 };
            buffered += if self.holds_page(page) { 0 } else { newer };
        }
        let counted = (self.used_bytes, self.buffered);
        if counted != (bytes, buffered) {
            return Some(format!("pages take {bytes} B and the buffer has {buffered} entries, not {counted:?}"));
        }
        let has_room = bytes <= self.sizes.pages && u64::from(buffered) * BUFFERED_BYTES <= self.sizes.buffer;
        (!has_room && !is_read_only).then(|| format!("{bytes} B and {buffered} entries are more than {:?}", self.sizes))
    }

    fn gauges(&self) -> Vec<Gauge> {
        vec![
            Gauge { name: "map_bytes", value: self.used_bytes as f64 },
            Gauge { name: "cached_translation_pages", value: self.cached.into() },
            Gauge { name: "buffered_entries", value: self.buffered.into() },
        ]
    }

    fn prefetch_newer_of(&self, translation_page: u32) {
        self.newer.prefetch_page(translation_page);
    }

    fn prefetch_change(&self, lpn: Lpn, _slot: Lpn) {
        self.newer.prefetch(lpn);
    }
}

#[cfg(test)]
mod tests;
