//! Log blocks: page-mapped blocks that take the updates of data blocks.
//!
//! The log map says, for each logical page, which log page holds its newest copy, if a log page
//! does. A log block stays in its *slot* from the time it is opened until it leaves, even if a
//! failing block is replaced by another on the way. Whose pages may share a block, where the next
//! page goes and who leaves is the policy's decision (`policy.rs`), not known here.
//!
//! As long as a log block holds the first pages of one logical block in their places and nothing
//! else, it is *in place*, and its tags say so: it may become a data block, and recovery takes it
//! for one.
//!
//! **Associativity.** A(L) is how many logical blocks have a newest page in a log block. It is what
//! a full merge of the block costs (A-SAST eq. 1). Each physical block has the list of its owners
//! with their pages; a log block has few owners, at most as many as pages, so the list is searched
//! from end to end.

use std::collections::BTreeMap;

use flash::{Flash, Geometry, Lbn, Lpn, Pbn, Ppn, Role};

use crate::api::layout::Layout;
use crate::blocks::data_blocks::DataBlocks;
use crate::blocks::manager::BlockManager;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, FtlError};
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::prefetch::prefetch;

/// Number of a log block, from opening it until it leaves; below the number of physical blocks.
pub type Slot = u32;

/// What the log counts for a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogCounting {
    /// Only the totals that cost nothing to keep.
    Nothing,
    /// The newest pages of each log block.
    NewestPages,
    /// The logical blocks with newest pages in each log block.
    Associativity,
}

/// A log block in use: where it lies, whom it serves, and how far it is filled.
#[derive(Clone, Copy, Debug)]
pub struct LogBlock {
    /// The erase block; another one takes its place if a program fails in it.
    pub pbn: Pbn,
    /// Whom it serves, in the policy's numbering.
    pub group: u32,
    /// Programmed pages; recovered blocks count as full.
    pub filled: u32,
    /// The logical block whose first `filled` pages it holds in their places, if it holds nothing
    /// else.
    pub in_place: Option<Lbn>,
    /// Its number among all log blocks that were opened, or found by recovery.
    pub opened: u64,
}

/// Where the log has the newest copy of each logical page, and its blocks, found by slot.
#[derive(Clone, Debug)]
pub struct LogSpace {
    geometry: Geometry,
    map: Vec<Option<Ppn>>,
    newest_pages: u64,
    programmed_pages: u64,
    slots: Vec<Option<LogBlock>>,
    vacant: Vec<Slot>,
    opened: u64,
    /// For each slot with pages that say what was trimmed, those runs: first logical page and
    /// extent.
    trims: BTreeMap<Slot, Vec<(u32, u32)>>,
    associativity: Option<Associativity>,
    /// For each physical block, the newest pages in it.
    newest_in_block: Option<Vec<u32>>,
}

impl LogSpace {
    /// An empty log that counts what somebody wants to know.
    pub fn new(layout: &Layout, tracked: LogCounting) -> Self {
        let blocks = layout.geometry.blocks() as usize;
        Self {
            geometry: layout.geometry,
            map: vec![None; layout.logical_pages as usize],
            newest_pages: 0,
            programmed_pages: 0,
            slots: Vec::new(),
            vacant: Vec::new(),
            opened: 0,
            trims: BTreeMap::new(),
            associativity: (tracked == LogCounting::Associativity).then(|| Associativity::new(layout.geometry)),
            newest_in_block: (tracked == LogCounting::NewestPages).then(|| vec![0; blocks]),
        }
    }

    /// The log page that holds the newest copy of a logical page.
    #[inline]
    pub fn newest(&self, lpn: Lpn) -> Option<Ppn> {
        debug_assert!(lpn.index() < self.map.len(), "there is no {lpn} of {} logical pages", self.map.len());
        self.map[lpn.index()]
    }

    /// The same for each page of a logical block.
    #[inline]
    pub fn newest_of(&self, lbn: Lbn) -> &[Option<Ppn>] {
        let pages = self.geometry.pages_per_block() as usize;
        let map = self.map.get(lbn.index() * pages..).unwrap_or_default();
        &map[..pages.min(map.len())]
    }

    /// Asks for the memory that tells where a logical page is newest.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.map, lpn.index());
    }

    /// Says which log page holds the newest copy of a logical page.
    #[inline]
    pub fn set_newest(&mut self, lpn: Lpn, at: Option<Ppn>) {
        let before = std::mem::replace(&mut self.map[lpn.index()], at);
        debug_assert!(before.is_none() || before != at, "{lpn} is newest at {at:?} twice");
        debug_assert!(self.newest_pages > 0 || before.is_none(), "{lpn} leaves {before:?}, and no page is newest");
        self.newest_pages += u64::from(at.is_some());
        self.newest_pages -= u64::from(before.is_some());
        if let Some(associativity) = &mut self.associativity {
            associativity.on_moved(lpn, before, at);
        }
        if let Some(counts) = &mut self.newest_in_block {
            if let Some(ppn) = before {
                let pbn = self.geometry.block_of(ppn);
                debug_assert!(counts[pbn.index()] > 0, "{lpn} leaves {ppn}, and {pbn} counts no newest page");
                counts[pbn.index()] -= 1;
            }
            if let Some(ppn) = at {
                let (pbn, pages) = (self.geometry.block_of(ppn), self.geometry.pages_per_block());
                counts[pbn.index()] += 1;
                debug_assert!(counts[pbn.index()] <= pages, "{pbn} counts more newest pages than its {pages}");
            }
        }
    }

    /// Dies, blocks and pages of the device, as policies need them for addresses.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The log block in a slot, unless the slot is free.
    #[inline]
    pub fn block(&self, slot: Slot) -> Option<&LogBlock> {
        self.slots.get(slot as usize)?.as_ref()
    }

    /// The slot of a physical block, if it is in the log.
    pub fn slot_of(&self, pbn: Pbn) -> Option<Slot> {
        let is_it = |block: &Option<LogBlock>| block.is_some_and(|block| block.pbn == pbn);
        debug_assert!(pbn.get() < self.geometry.blocks(), "there is no {pbn} of {} blocks", self.geometry.blocks());
        self.slots.iter().position(is_it).map(|slot| slot as Slot)
    }

    /// A page of a log block says that this run was trimmed.
    pub fn holds_trim(&mut self, slot: Slot, first: u32, extent: u32) {
        debug_assert!(self.block(slot).is_some(), "slot {slot} is free, and holds a trim");
        debug_assert!(extent > 0, "slot {slot} holds a trim of no page at logical page {first}");
        self.trims.entry(slot).or_default().push((first, extent));
    }

    /// The runs that pages of a log block say were trimmed, as first logical page and extent.
    pub fn trims_in(&self, slot: Slot) -> &[(u32, u32)] {
        debug_assert!(self.block(slot).is_some() || !self.trims.contains_key(&slot), "slot {slot} is free, with trims");
        self.trims.get(&slot).map_or(&[], Vec::as_slice)
    }

    /// Whether any page of the log says that something was trimmed.
    pub fn holds_trims(&self) -> bool {
        !self.trims.is_empty()
    }

    /// Whether a log block has an erased page left.
    #[inline]
    pub fn has_room(&self, slot: Slot) -> bool {
        let pages = self.geometry.pages_per_block();
        let filled = self.block(slot).map_or(pages, |block| block.filled);
        debug_assert!(filled <= pages, "slot {slot} has {filled} of {pages} pages filled");
        filled < pages
    }

    /// Newest pages in a log block. Zero unless the log counts them.
    pub fn newest_pages(&self, slot: Slot) -> u32 {
        debug_assert!(self.block(slot).is_some(), "slot {slot} is free, and its newest pages are counted");
        let known = self.newest_in_block.as_ref().zip(self.block(slot));
        known.map_or(0, |(counts, block)| counts[block.pbn.index()])
    }

    /// A(L): logical blocks with a newest page in a log block. Zero unless the log keeps track.
    pub fn associativity(&self, slot: Slot) -> u32 {
        debug_assert!(self.block(slot).is_some(), "slot {slot} is free, and its owners are counted");
        let known = self.associativity.as_ref().zip(self.block(slot));
        known.map_or(0, |(associativity, block)| associativity.of(block.pbn))
    }

    /// For each logical block with a newest page in a log block, how many. Empty unless the log
    /// keeps track.
    pub fn owners(&self, slot: Slot) -> &[(Lbn, u32)] {
        debug_assert!(self.block(slot).is_some(), "slot {slot} is free, and its owners are named");
        let known = self.associativity.as_ref().zip(self.block(slot));
        known.map_or(&[], |(associativity, block)| associativity.owners(block.pbn))
    }

    /// An erased block becomes a log block of a group.
    pub fn open(&mut self, pbn: Pbn, group: u32) -> Slot {
        self.occupy(pbn, group, 0)
    }

    /// For recovery: a block is in the log, and is not filled further.
    pub fn adopt(&mut self, pbn: Pbn, group: u32) -> Slot {
        let filled = self.geometry.pages_per_block();
        self.programmed_pages += u64::from(filled);
        self.occupy(pbn, group, filled)
    }

    fn occupy(&mut self, pbn: Pbn, group: u32, filled: u32) -> Slot {
        debug_assert!(self.slot_of(pbn).is_none(), "{pbn} is in the log already");
        self.opened += 1;
        let block = LogBlock { pbn, group, filled, in_place: None, opened: self.opened };
        if let Some(slot) = self.vacant.pop() {
            debug_assert!(self.block(slot).is_none(), "slot {slot} is vacant, and holds {:?}", self.block(slot));
            self.slots[slot as usize] = Some(block);
            return slot;
        }
        self.slots.push(Some(block));
        self.slots.len() as Slot - 1
    }

    /// A log block leaves the log: its slot is vacant, and what it said of trims is forgotten.
    pub fn remove(&mut self, slot: Slot) -> Option<LogBlock> {
        let block = self.slots.get_mut(slot as usize)?.take()?;
        debug_assert!(!self.vacant.contains(&slot), "slot {slot} with {} is vacant already", block.pbn);
        debug_assert!(
            self.programmed_pages >= u64::from(block.filled),
            "{} has pages that were not counted",
            block.pbn
        );
        self.vacant.push(slot);
        self.trims.remove(&slot);
        self.programmed_pages -= u64::from(block.filled);
        Some(block)
    }

    /// A log block serves another group.
    pub fn assign(&mut self, slot: Slot, group: u32) {
        debug_assert!(self.block(slot).is_some(), "slot {slot} is free, and serves group {group}");
        if let Some(Some(block)) = self.slots.get_mut(slot as usize) {
            block.group = group;
        }
    }

    /// No log block that holds pages of this logical block in their places becomes a data block any
    /// more.
    pub fn never_switch(&mut self, lbn: Lbn) {
        for block in self.slots.iter_mut().flatten().filter(|block| block.in_place == Some(lbn)) {
            block.in_place = None;
        }
    }

    /// Appends a page of a logical block to a log block that has room.
    pub fn append<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (data, blocks): (&mut DataBlocks, &mut BlockManager),
        (slot, lpn): (Slot, Lpn),
        (role, content): (Role, &Content<D::Data>),
    ) -> Result<Ppn, FtlError> {
        let (lbn, offset) = self.geometry.split_logical(lpn);
        let starts = |block: &LogBlock| block.filled == 0 || block.in_place == Some(lbn);
        debug_assert!(self.has_room(slot), "{lpn} is appended to slot {slot}, which is full or free");
        let in_place = self.block(slot).is_some_and(|block| block.filled == offset && starts(block));
        let label = match (role, in_place) {
            (Role::Lost, true) => Label::of(lpn.get(), role, lbn),
            // Nobody owns a lost page of a shared block.
            (Role::Lost, false) => Label::new(lpn.get(), role),
            (_, true) => Label::of(lpn.get(), Role::SequentialLog, lbn),
            (_, false) => Label::of(lpn.get(), Role::RandomLog, lbn),
        };
        self.program(flash, (data, blocks), slot, label, content, in_place.then_some(lbn))
    }

    /// Appends a page to a log block that has room. If that fails, a free block takes the log
    /// block's place.
    pub fn program<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (data, blocks): (&mut DataBlocks, &mut BlockManager),
        slot: Slot,
        label: Label,
        content: &Content<D::Data>,
        in_place: Option<Lbn>,
    ) -> Result<Ppn, FtlError> {
        let Some(&LogBlock { pbn, filled: offset, .. }) = self.block(slot) else {
            return Err(FtlError::OutOfSpace { wanted: "a log page" });
        };
        debug_assert!(self.has_room(slot), "{pbn} is full, and another page is appended");
        let at = self.geometry.page(pbn, offset);
        debug_assert!(flash.chip().peek(at).is_none(), "{at} is next in {pbn}, and holds {:?}", flash.chip().peek(at));
        let held = |_: &DataBlocks, offset: u32| self.lpn_at(self.geometry.page(pbn, offset));
        let to = data.program(flash, blocks, (pbn, offset), label, content, &held)?;
        if to != pbn {
            self.move_block(pbn, to);
        }
        if let Some(block) = &mut self.slots[slot as usize] {
            *block = LogBlock { pbn: to, filled: offset + 1, in_place, ..*block };
        }
        self.programmed_pages += 1;
        Ok(self.geometry.page(to, offset))
    }

    /// The logical page whose newest copy lies at a place, found by searching the map.
    fn lpn_at(&self, ppn: Ppn) -> Option<Lpn> {
        self.map.iter().position(|&at| at == Some(ppn)).map(Lpn::at)
    }

    /// What one block held, another one holds now, at the same offsets.
    fn move_block(&mut self, from: Pbn, to: Pbn) {
        debug_assert!(self.slot_of(to).is_none(), "{to} is in the log, and takes the place of {from}");
        for lpn in (0..self.map.len()).map(Lpn::at) {
            if let Some((block, offset)) = self.newest(lpn).map(|at| self.geometry.split(at))
                && block == from
            {
                self.set_newest(lpn, Some(self.geometry.page(to, offset)));
            }
        }
    }

    /// The logical pages whose newest copy lies in a log block, in page order. Read from the page
    /// table of the log in RAM.
    pub fn newest_in<D: Device>(&self, flash: &FlashPort<D>, slot: Slot) -> Vec<Lpn> {
        debug_assert!(self.block(slot).is_some(), "slot {slot} is free, and its newest pages are listed");
        let mut newest = Vec::with_capacity(self.geometry.pages_per_block() as usize);
        let tags = self.tags(flash, slot);
        newest.extend(tags.filter(|&(ppn, lpn)| self.map.get(lpn.index()) == Some(&Some(ppn))).map(|(_, lpn)| lpn));
        newest
    }

    /// The log blocks in which there is any copy of certain logical pages, however old.
    pub fn holding<D: Device>(&self, flash: &FlashPort<D>, wanted: impl Fn(Lpn) -> bool) -> Vec<Slot> {
        let holds = |&slot: &Slot| self.tags(flash, slot).any(|(_, lpn)| wanted(lpn));
        (0..self.slots.len() as Slot).filter(holds).collect()
    }

    fn tags<'a, D: Device>(
        &self,
        flash: &'a FlashPort<D>,
        slot: Slot,
    ) -> impl Iterator<Item = (Ppn, Lpn)> + use<'a, D> {
        let pages = self.block(slot).map_or(0..0, |block| self.geometry.page_indices(block.pbn));
        pages.map(Ppn::at).filter_map(|ppn| flash.chip().peek(ppn).map(|lpn| (ppn, Lpn::new(lpn))))
    }

    /// How many log blocks are in use.
    pub fn len(&self) -> usize {
        debug_assert!(
            self.vacant.len() <= self.slots.len(),
            "{} of {} are vacant",
            self.vacant.len(),
            self.slots.len()
        );
        self.slots.len() - self.vacant.len()
    }

    /// Whether the log has no block: after a format, or when all were merged.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Share of the programmed log pages that hold a newest copy, 0 to 1; 1 for an empty log.
    pub fn utilisation(&self) -> f64 {
        let (newest, programmed) = (self.newest_pages, self.programmed_pages);
        debug_assert!(newest <= programmed, "{newest} pages are newest of {programmed} in the log");
        if self.programmed_pages == 0 { 1.0 } else { self.newest_pages as f64 / self.programmed_pages as f64 }
    }

    /// Checks that every mapped log page carries its LPN.
    pub fn check<D: Device>(&self, flash: &FlashPort<D>, name: &'static str) -> Result<(), BrokenInvariant> {
        for (lpn, ppn) in self.map.iter().enumerate().filter_map(|(lpn, ppn)| ppn.map(|ppn| (Lpn::at(lpn), ppn))) {
            let tag = flash.chip().peek(ppn);
            BrokenInvariant::unless(tag == Some(lpn.get()), name, || {
                format!("{lpn} is newest at {ppn}, which carries {tag:?}")
            })?;
        }
        Ok(())
    }
}

/// The owners of the newest pages in each block.
#[derive(Clone, Debug)]
pub struct Associativity {
    geometry: Geometry,
    owners: Vec<Vec<(Lbn, u32)>>,
}

impl Associativity {
    /// No block holds a newest page.
    pub fn new(geometry: Geometry) -> Self {
        Self { geometry, owners: vec![Vec::new(); geometry.blocks() as usize] }
    }

    /// The newest log page of a logical page was one and is another.
    #[inline]
    pub fn on_moved(&mut self, lpn: Lpn, from: Option<Ppn>, to: Option<Ppn>) {
        debug_assert!(from.is_none() || from != to, "{lpn} is moved from {from:?} to {to:?}");
        let (lbn, _) = self.geometry.split_logical(lpn);
        if let Some(ppn) = from {
            self.removed(self.geometry.block_of(ppn), lbn);
        }
        if let Some(ppn) = to {
            self.added(self.geometry.block_of(ppn), lbn);
        }
    }

    fn added(&mut self, pbn: Pbn, lbn: Lbn) {
        let owners = &mut self.owners[pbn.index()];
        match owners.iter_mut().rfind(|(owner, _)| *owner == lbn) {
            Some((_, pages)) => {
                debug_assert!(*pages < self.geometry.pages_per_block(), "{pbn} has {pages} pages of {lbn} already");
                *pages += 1;
            }
            None => owners.push((lbn, 1)),
        }
    }

    fn removed(&mut self, pbn: Pbn, lbn: Lbn) {
        let owners = &mut self.owners[pbn.index()];
        let at = owners.iter().position(|&(owner, _)| owner == lbn);
        debug_assert!(at.is_some(), "{pbn} loses a page of {lbn}, of which it has none");
        let Some(at) = at else { return };
        debug_assert!(owners[at].1 > 0, "{pbn} is listed with no page of {lbn}");
        owners[at].1 -= 1;
        if owners[at].1 == 0 {
            owners.remove(at);
        }
    }

    /// How many logical blocks have a newest page in a block.
    #[inline]
    pub fn of(&self, pbn: Pbn) -> u32 {
        let (owners, pages) = (self.owners[pbn.index()].len() as u32, self.geometry.pages_per_block());
        debug_assert!(owners <= pages, "{pbn} has {pages} pages, of {owners} logical blocks");
        owners
    }

    /// Which ones, each with its pages.
    pub fn owners(&self, pbn: Pbn) -> &[(Lbn, u32)] {
        &self.owners[pbn.index()]
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod associativity_tests {
    use random::SeededRng;
    use testkit::TestFlash;

    use super::*;

    /// Against the definition, recounted from a map of all pages.
    #[test]
    fn it_counts_the_logical_blocks_of_the_newest_pages() {
        let geometry = TestFlash::new(4, 4).geometry();
        let mut associativity = Associativity::new(geometry);
        let mut map: Vec<Option<Ppn>> = vec![None; 16];
        let mut rng = SeededRng::new(1);
        for _ in 0..500 {
            let (lpn, place) = (rng.below_u32(16), rng.below_u32(20));
            let to = (place < 16).then(|| Ppn::new(place)).filter(|to| !map.contains(&Some(*to)));
            associativity.on_moved(Lpn::new(lpn), map[lpn as usize], to);
            map[lpn as usize] = to;
            for pbn in (0..4).map(Pbn::new) {
                let here = |at: &Option<Ppn>| at.is_some_and(|at| geometry.block_of(at) == pbn);
                let mut owners: Vec<usize> = (0..16).filter(|&lpn| here(&map[lpn])).map(|lpn| lpn / 4).collect();
                assert_eq!(
                    associativity.owners(pbn).iter().map(|(_, pages)| *pages as usize).sum::<usize>(),
                    owners.len()
                );
                owners.dedup();
                assert_eq!(associativity.of(pbn) as usize, owners.len());
            }
        }
    }
}
