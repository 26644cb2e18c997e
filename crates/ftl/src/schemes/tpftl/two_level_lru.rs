//! Mapping entries in RAM by translation page: pages in the order of their entries' mean recency,
//! entries in the order of their own. What they say is in the table (`translation.rs`).

use std::collections::{BTreeMap, BTreeSet};

use flash::Lpn;

use crate::api::request::Request;
use crate::engines::demand::policy::MapCache;
use crate::engines::demand::translation::{NewerEntries, Paging};

/// Bytes of an entry: two for its offset in the translation page, four for a PPN.
const ENTRY_BYTES: u64 = 6;
/// Bytes of a translation page that has entries in RAM.
const NODE_BYTES: u64 = 8;

/// What of Zhou 2015 is on.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A translation page that is written takes all its changed entries along.
    pub batches: bool,
    /// What a miss brings in beside its entry.
    pub ahead: Ahead,
    /// Nodes more or fewer that turn selective prefetching off or on.
    pub after: i32,
    /// Clean entries leave before changed ones.
    pub clean_first: bool,
}

/// Entries that come with a miss.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    /// The rest of its request.
    pub by_request: bool,
    /// As many as are cached right before it.
    pub is_selective: bool,
}

/// The cached entries of a translation page.
#[derive(Clone, Debug, Default)]
struct Node {
    /// When each was used, by its offset.
    times: BTreeMap<u32, u64>,
    /// Those that flash knows, from the least recently used.
    clean: BTreeMap<u64, u32>,
    /// Those that are newer than flash, in the same order.
    newer: BTreeMap<u64, u32>,
    /// The sum of all times.
    sum: u64,
}

impl Node {
    /// The mean time of the entries.
    fn heat(&self) -> u64 {
        self.sum / self.times.len() as u64
    }

    /// The time and offset of the entry that leaves first.
    fn leaving(&self, clean_first: bool) -> Option<(u64, u32)> {
        let [clean, newer] = [&self.clean, &self.newer].map(|list| list.first_key_value().map(|(&at, &of)| (at, of)));
        if clean_first { clean.or(newer) } else { clean.into_iter().chain(newer).min() }
    }

    /// How many entries leave, up to `most`, before one that is newer than flash.
    fn clean_before_newer(&self, clean_first: bool, most: u64) -> u64 {
        let end = self.newer.first_key_value().map_or(u64::MAX, |(&at, _)| at);
        let is_before = |at: &&u64| clean_first || **at < end;
        self.clean.keys().take(most as usize).take_while(is_before).count() as u64
    }
}

/// Map entries by translation page, in a number of bytes.
#[derive(Clone, Debug)]
pub struct TwoLevelLru {
    nodes: BTreeMap<u32, Node>,
    /// The nodes' mean times and translation pages, coldest first.
    by_heat: BTreeSet<(u64, u32)>,
    newer: NewerEntries,
    paging: Paging,
    logical_pages: u32,
    capacity_bytes: u64,
    used_bytes: u64,
    options: Options,
    /// Accesses so far.
    now: u64,
    /// The first logical page behind the request in hand.
    request_end: u32,
    /// Nodes more than when selective prefetching was last turned on or off.
    change: i32,
    prefetches: bool,
}

impl TwoLevelLru {
    /// An empty cache of a number of bytes, for an entry at least, over logical pages with
    /// `entries_per_page`, a multiple of 64, in a translation page.
    pub fn new(capacity_bytes: u64, options: Options, logical_pages: u32, entries_per_page: u32) -> Self {
        debug_assert!(capacity_bytes >= ENTRY_BYTES + NODE_BYTES, "{capacity_bytes} B hold no entry");
        Self {
            nodes: BTreeMap::new(),
            by_heat: BTreeSet::new(),
            newer: NewerEntries::none(logical_pages, entries_per_page),
            paging: Paging::new(entries_per_page),
            logical_pages,
            capacity_bytes,
            used_bytes: 0,
            options,
            now: 0,
            request_end: 0,
            change: 0,
            prefetches: false,
        }
    }

    /// The coldest translation page in RAM.
    fn coldest(&self) -> Option<u32> {
        self.by_heat.first().map(|&(_, page)| page)
    }

    /// Changes a node of RAM and puts it where its heat belongs; a node without entries goes.
    fn change(&mut self, page: u32, change: impl FnOnce(&mut Node)) {
        let is_new = !self.nodes.contains_key(&page);
        let node = self.nodes.entry(page).or_default();
        if !is_new {
            self.by_heat.remove(&(node.heat(), page));
        }
        change(node);
        if node.times.is_empty() {
            self.nodes.remove(&page);
            self.count_node(-1);
        } else {
            self.by_heat.insert((node.heat(), page));
            if is_new {
                self.count_node(1);
            }
        }
    }

    /// A node came or went.
    fn count_node(&mut self, by: i32) {
        self.used_bytes = if by > 0 { self.used_bytes + NODE_BYTES } else { self.used_bytes - NODE_BYTES };
        self.change += by;
        if self.change.abs() == self.options.after {
            self.prefetches = self.change < 0;
            self.change = 0;
        }
    }

    /// Brings an entry in that is as on flash, used now.
    fn enter(&mut self, page: u32, offset: u32) {
        self.now += 1;
        let now = self.now;
        self.change(page, |node| {
            let before = node.times.insert(offset, now);
            debug_assert!(before.is_none(), "entry {offset} of page {page} is in RAM already");
            node.clean.insert(now, offset);
            node.sum += now;
        });
        self.used_bytes += ENTRY_BYTES;
        debug_assert!(self.used_bytes <= self.capacity_bytes, "{} B are used", self.used_bytes);
    }

    /// The entry that leaves a node first leaves.
    fn evict(&mut self, page: u32) {
        debug_assert!(self.nodes.contains_key(&page), "page {page} has no entry that could leave");
        let clean_first = self.options.clean_first;
        self.change(page, |node| {
            let Some((time, offset)) = node.leaving(clean_first) else { return };
            let clean = node.clean.remove(&time);
            debug_assert!(clean.is_some(), "a changed entry of page {page} would be lost");
            node.times.remove(&offset);
            node.sum -= time;
        });
        self.used_bytes -= ENTRY_BYTES;
    }

    /// Entries behind one that is brought in that come along: the request's, and, while nodes
    /// become fewer, as many as are cached before it.
    fn length_ahead(&self, lpn: Lpn, (page, offset): (u32, u32)) -> u32 {
        let of_request = if self.options.ahead.by_request { self.request_end.saturating_sub(lpn.get() + 1) } else { 0 };
        let node = self.nodes.get(&page).filter(|_| self.options.ahead.is_selective && self.prefetches);
        let before = node.map_or(0, |node| (0..offset).rev().take_while(|at| node.times.contains_key(at)).count());
        let rest = self.paging.entries_per_page().min(self.logical_pages - page * self.paging.entries_per_page());
        of_request.max(before as u32).min(rest - 1 - offset)
    }

    /// Brings in the entries behind a miss that began at this time, in places of clean ones of one
    /// node that did not come with it.
    fn bring_ahead(&mut self, lpn: Lpn, (page, offset): (u32, u32), from: Option<u32>, begun: u64) {
        for offset in offset + 1..=offset + self.length_ahead(lpn, (page, offset)) {
            if self.nodes.get(&page).is_some_and(|node| node.times.contains_key(&offset)) {
                continue;
            }
            if self.used_bytes + ENTRY_BYTES > self.capacity_bytes {
                let may_leave = |node: &Node| {
                    let leaving = node.leaving(self.options.clean_first);
                    leaving.is_some_and(|(time, _)| time < begun && node.clean.contains_key(&time))
                };
                match from.filter(|page| self.nodes.get(page).is_some_and(may_leave)) {
                    Some(from) => self.evict(from),
                    None => return,
                }
            }
            self.enter(page, offset);
        }
    }
}

impl MapCache for TwoLevelLru {
    /// The entry itself, which is cached.
    type Slot = Lpn;

    fn announce(&mut self, request: &Request) {
        self.request_end = request.lpn.get() + request.pages;
    }

    fn find(&self, lpn: Lpn) -> Option<Lpn> {
        let (page, offset) = self.paging.split(lpn);
        self.nodes.get(&page).filter(|node| node.times.contains_key(&offset)).map(|_| lpn)
    }

    fn touch(&mut self, lpn: Lpn) -> Lpn {
        let (page, offset) = self.paging.split(lpn);
        self.now += 1;
        let now = self.now;
        self.change(page, |node| {
            let Some(before) = node.times.insert(offset, now) else { return };
            for list in [&mut node.clean, &mut node.newer] {
                if list.remove(&before).is_some() {
                    list.insert(now, offset);
                }
            }
            node.sum += now - before;
        });
        lpn
    }

    fn is_full(&self) -> bool {
        self.used_bytes + ENTRY_BYTES + NODE_BYTES > self.capacity_bytes
    }

    fn must_write(&mut self) -> Option<u32> {
        let needed = (self.used_bytes + ENTRY_BYTES + NODE_BYTES).saturating_sub(self.capacity_bytes);
        let entries = needed.div_ceil(ENTRY_BYTES);
        let page = self.coldest().filter(|_| needed > 0)?;
        let node = &self.nodes[&page];
        let is_dirty = !node.newer.is_empty() && node.clean_before_newer(self.options.clean_first, entries) < entries;
        is_dirty.then_some(page)
    }

    fn insert(&mut self, lpn: Lpn) -> Lpn {
        let (page, offset) = self.paging.split(lpn);
        let (begun, from) = (self.now + 1, self.coldest());
        let node = |nodes: &BTreeMap<u32, Node>| if nodes.contains_key(&page) { 0 } else { NODE_BYTES };
        while self.used_bytes + ENTRY_BYTES + node(&self.nodes) > self.capacity_bytes
            && let Some(from) = from
        {
            self.evict(from);
        }
        self.enter(page, offset);
        self.bring_ahead(lpn, (page, offset), from, begun);
        lpn
    }

    fn mark_newer(&mut self, lpn: Lpn) {
        let (page, offset) = self.paging.split(lpn);
        debug_assert_eq!(self.find(lpn), Some(lpn), "an entry is changed that has left");
        self.newer.insert(lpn);
        if let Some(node) = self.nodes.get_mut(&page)
            && let Some(&time) = node.times.get(&offset)
            && node.clean.remove(&time).is_some()
        {
            node.newer.insert(time, offset);
        }
    }

    fn is_newer(&self, lpn: Lpn) -> bool {
        self.newer.contains(lpn)
    }

    fn newer_of(&self, translation_page: u32) -> impl Iterator<Item = Lpn> {
        self.newer.of_page(translation_page)
    }

    fn clean(&mut self, translation_page: u32) {
        let Some(node) = self.nodes.get_mut(&translation_page) else { return };
        if self.options.batches {
            self.newer.remove_page(translation_page);
            node.clean.append(&mut node.newer);
        } else if self.by_heat.first().is_some_and(|&(_, page)| page == translation_page)
            && let Some((time, offset)) = node.newer.pop_first()
        {
            self.newer.remove(self.paging.entry_at(translation_page, offset));
            node.clean.insert(time, offset);
        }
    }
}

#[cfg(test)]
mod tests;
