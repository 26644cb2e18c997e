//! The owner of blocks: which are free, what the others are used for, how worn they are, which have
//! failed, and how many more may.
//!
//! A scheme has one owner and lends it to whatever space is in hand, so blocks can be data blocks
//! today and log blocks, translation blocks or free tomorrow, whatever they held last. A space asks
//! for a free block and says what for; when it needs a block no more, it gives it back, and the
//! owner erases it, or marks it bad if that fails or if a page of it failed before. When a block is
//! asked for and none is left, the owner knows whether that is the end of the device or a bug.
//!
//! Which of several free blocks is taken, and which block is emptied though nobody needs the space,
//! is the wear policy's decision (`api/wear.rs`). How many free blocks someone must leave for
//! others is its callers' business.

use std::collections::BTreeSet;

use flash::{Flash, Geometry, Lbn, Pbn};
use host::Hint;

use crate::api::layout::Layout;
use crate::api::mapping::WearQuery;
use crate::api::report::Spares;
use crate::api::wear::{
    AllocRequest, BlockFacts, BlockUse, DataBlockLocations, Deferred, Purpose, RelocateOutcome, WearPolicy,
};
use crate::blocks::pool::FreePool;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, FtlError};
use crate::port::flash_port::FlashPort;
use crate::port::label::Content;

/// What each block is used for, which are free, and which free one is taken next.
#[derive(Debug)]
pub struct BlockManager {
    geometry: Geometry,
    pool: FreePool,
    uses: Vec<BlockUse>,
    erases: Vec<u32>,
    /// The highest erase count of a block seen on each channel.
    most_erases: Vec<u32>,
    policy: Box<dyn WearPolicy>,
    /// Whether tags keep file types for the policy.
    keeps_file_types: bool,
    /// Whether content that is moved stays on its die.
    stays_on_die: bool,
    spares: Spares,
    /// Whether the power was cut before: then blocks may have failed of which nothing is known any
    /// more.
    was_recovered: bool,
    /// Blocks of which a page could not be programmed, or which could not be erased.
    failed: BTreeSet<Pbn>,
    /// Blocks marked bad since the device was built.
    retired: usize,
}

impl BlockManager {
    /// The owner of an erased device of which this many blocks may fail.
    pub fn new(layout: &Layout, spares: Spares) -> Self {
        let Layout { geometry, good_blocks, .. } = layout;
        let blocks = geometry.blocks() as usize;
        debug_assert!(good_blocks.len() <= blocks, "{} of {blocks} blocks are good", good_blocks.len());
        let policy = layout.wear_policy();
        let mut uses = vec![BlockUse::Bad; geometry.blocks() as usize];
        for pbn in good_blocks {
            uses[pbn.index()] = BlockUse::Free;
        }
        Self {
            geometry: *geometry,
            pool: FreePool::new(*geometry, good_blocks, policy.order()),
            uses,
            erases: vec![0; geometry.blocks() as usize],
            most_erases: vec![0; geometry.channels() as usize],
            keeps_file_types: policy.keeps_file_types(),
            policy,
            stays_on_die: false,
            spares,
            was_recovered: false,
            failed: BTreeSet::new(),
            retired: 0,
        }
    }

    /// For a scheme that moves what a block holds to blocks of the same die alone.
    #[must_use]
    pub fn staying_on_die(self) -> Self {
        Self { stays_on_die: true, ..self }
    }

    /// What of a page's hint its tag keeps for the wear policy, 0 for nothing.
    #[inline]
    pub fn stored_hint(&self, hint: Hint) -> u8 {
        if self.keeps_file_types { hint.file_type() } else { 0 }
    }

    /// What the host said of a page, as far as its tag [keeps](Self::stored_hint) it.
    #[inline]
    pub fn hint_of(&self, stored: u8) -> Hint {
        if self.keeps_file_types { Hint::new(0, 0, stored) } else { Hint::NONE }
    }

    /// What to program for data of the host, which says this of them.
    #[inline]
    pub fn content<D>(&self, hint: Hint, data: D) -> Content<D> {
        Content::Hinted(data, self.stored_hint(hint))
    }

    /// For recovery: no block is free until it is given back, and each is as worn as the flash
    /// says.
    pub fn nothing_free<D: Device>(&mut self, flash: &FlashPort<D>, layout: &Layout) {
        debug_assert!(self.failed.is_empty(), "{:?} failed before recovery knew of any block", self.failed);
        self.pool = FreePool::empty(self.geometry, &layout.good_blocks, self.policy.order());
        self.was_recovered = true;
        for &pbn in &layout.good_blocks {
            self.uses[pbn.index()] = BlockUse::InUse(Purpose::Data);
            self.erases[pbn.index()] = flash.chip().erase_count(pbn);
        }
    }

    /// How often a block was erased.
    #[inline]
    pub fn erases_of(&self, pbn: Pbn) -> u32 {
        self.erases[pbn.index()]
    }

    /// For recovery: a block holds something that is needed, as if it had been asked for so.
    pub fn adopt(&mut self, pbn: Pbn, alloc: AllocRequest) {
        debug_assert_ne!(
            self.use_of(pbn),
            BlockUse::Free,
            "{pbn} is free, and recovery finds {:?} in it",
            alloc.purpose
        );
        self.is_for(pbn, alloc);
        self.saw(pbn);
    }

    /// A block is used for something else than it was taken for.
    pub fn is_for(&mut self, pbn: Pbn, alloc: AllocRequest) {
        debug_assert_ne!(self.use_of(pbn), BlockUse::Bad, "{pbn} is bad, and used for {:?}", alloc.purpose);
        debug_assert!(!self.is_failed(pbn), "{pbn} has failed, and is used for {:?}", alloc.purpose);
        self.uses[pbn.index()] = BlockUse::InUse(alloc.purpose);
        self.policy.on_used(pbn, alloc);
    }

    /// Takes a free block of any die.
    #[inline]
    pub fn take(&mut self, alloc: AllocRequest) -> Option<Pbn> {
        let wanted = self.policy.wants(alloc).and_then(|pbn| self.pool.take_this(pbn));
        let pbn = wanted.or_else(|| self.pool.take(|free| self.policy.place(alloc, free)))?;
        debug_assert_eq!(self.use_of(pbn), BlockUse::Free, "{pbn} can be taken but is in use");
        self.is_for(pbn, alloc);
        Some(pbn)
    }

    /// Takes a free block of one die.
    #[inline]
    pub fn take_on(&mut self, die: u32, alloc: AllocRequest) -> Option<Pbn> {
        let here = self.policy.wants(alloc).filter(|&pbn| self.geometry.die_of(pbn) == die);
        let wanted = here.and_then(|pbn| self.pool.take_this(pbn));
        let pbn = wanted.or_else(|| self.pool.take_on(die, |free| self.policy.place(alloc, free)))?;
        debug_assert_eq!(self.use_of(pbn), BlockUse::Free, "{pbn} can be taken but is in use");
        debug_assert_eq!(self.geometry.die_of(pbn), die, "{pbn} lies on another die");
        self.is_for(pbn, alloc);
        Some(pbn)
    }

    /// Takes a certain block if it is free; tells whether it was.
    pub fn take_this(&mut self, pbn: Pbn, alloc: AllocRequest) -> bool {
        let is_taken = self.pool.take_this(pbn).is_some();
        if is_taken {
            self.is_for(pbn, alloc);
        }
        is_taken
    }

    /// Takes a free block of any die, or says why there is none.
    pub fn take_or_stop(&mut self, alloc: AllocRequest, wanted: &'static str) -> Result<Pbn, FtlError> {
        self.take(alloc).ok_or_else(|| self.out_of_space(wanted))
    }

    /// The block in which a logical block is put together: the one that was begun, or a free one,
    /// of which the first page that it gets says how old it should be.
    pub fn merge_into<D>(
        &mut self,
        begun: Option<Pbn>,
        lbn: Lbn,
        first: &Content<D>,
        wanted: &'static str,
    ) -> Result<Pbn, FtlError> {
        debug_assert!(
            begun.is_none_or(|pbn| matches!(self.use_of(pbn), BlockUse::InUse(_))),
            "{lbn} is merged into {begun:?}, which is not in use"
        );
        let alloc = AllocRequest::of(Purpose::Merge, lbn).hinted(self.hint_of(first.stored_hint()));
        begun.map_or_else(|| self.take_or_stop(alloc, wanted), Ok)
    }

    /// There is no free block for something: because too many blocks have failed, and then the
    /// device is read-only from now on, whatever spares are left, since what needed the block is
    /// left half done; or because of a bug.
    pub fn out_of_space(&mut self, wanted: &'static str) -> FtlError {
        if !self.may_have_failed() {
            return FtlError::OutOfSpace { wanted };
        }
        self.spares.used = self.spares.used.max(self.spares.total + 1);
        FtlError::ReadOnly { spares: self.spares.total }
    }

    /// Nobody needs what a block holds: erases it and returns it to the free ones; marks it bad if
    /// that fails, or if a page of it failed. A block that is bad already stays as it is.
    pub fn give_back<D: Device>(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<(), FtlError> {
        debug_assert_ne!(self.use_of(pbn), BlockUse::Free, "{pbn} is free, and given back");
        if flash.chip().is_bad(pbn) {
            // It was replaced in the middle of something that then could not be finished.
            return Ok(());
        }
        if !self.failed.contains(&pbn) {
            match flash.erase(pbn) {
                Ok(()) => {
                    self.on_erased(flash, pbn);
                    return Ok(());
                }
                Err(error) if error.is_erase_failure() => self.has_failed(pbn),
                Err(error) => return Err(error),
            }
        }
        self.mark_bad(flash, pbn);
        Ok(())
    }

    fn on_erased<D: Device>(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) {
        let erases = flash.chip().erase_count(pbn);
        let before = self.erases[pbn.index()];
        debug_assert!(erases > before, "{pbn} was erased, and its count went from {before} to {erases}");
        self.erases[pbn.index()] = erases;
        self.saw(pbn);
        debug_assert_eq!(flash.chip().next_page(pbn), 0, "{pbn} is not erased");
        flash.on_collected(self.channel_of(pbn));
        self.policy.on_erased(pbn, erases);
        self.put(pbn);
    }

    /// A block that was taken and never programmed is free again.
    pub fn put(&mut self, pbn: Pbn) {
        debug_assert!(
            matches!(self.use_of(pbn), BlockUse::InUse(_)),
            "{pbn} is {:?}, and put to the free",
            self.use_of(pbn)
        );
        debug_assert!(!self.is_failed(pbn), "{pbn} has failed, and is put to the free");
        self.uses[pbn.index()] = BlockUse::Free;
        self.pool.put(pbn, self.erases[pbn.index()]);
    }

    /// A page of a block could not be programmed, or the block not be erased. That costs a spare,
    /// but each block only once.
    pub fn has_failed(&mut self, pbn: Pbn) {
        debug_assert_ne!(self.use_of(pbn), BlockUse::Bad, "{pbn} is bad, and fails again");
        if self.failed.insert(pbn) {
            self.spares.use_one();
        }
    }

    /// Whether a program or an erase of a block has failed: it is marked bad when it is given back.
    pub fn is_failed(&self, pbn: Pbn) -> bool {
        debug_assert!(pbn.get() < self.geometry.blocks(), "there is no {pbn} of {} blocks", self.geometry.blocks());
        self.failed.contains(&pbn)
    }

    /// Marks a block bad, which holds nothing that is not elsewhere too.
    pub fn mark_bad<D: Device>(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) {
        debug_assert!(self.is_failed(pbn), "{pbn} is marked bad but has not failed");
        debug_assert!(
            matches!(self.use_of(pbn), BlockUse::InUse(_)),
            "{pbn} is {:?}, and marked bad",
            self.use_of(pbn)
        );
        debug_assert!(!flash.chip().is_bad(pbn), "{pbn} is marked bad twice");
        flash.retire(pbn);
        self.retired += 1;
        self.uses[pbn.index()] = BlockUse::Bad;
    }

    fn saw(&mut self, pbn: Pbn) {
        let erases = self.erases[pbn.index()];
        debug_assert_ne!(self.use_of(pbn), BlockUse::Bad, "{pbn} is bad, and its {erases} erases are noted");
        let most = &mut self.most_erases[self.geometry.channel_of(self.geometry.die_of(pbn)) as usize];
        *most = erases.max(*most);
    }

    fn channel_of(&self, pbn: Pbn) -> u32 {
        self.geometry.channel_of(self.geometry.die_of(pbn))
    }

    /// The highest erase count of a block that was seen on each channel, channel by channel.
    pub fn most_erases(&self) -> &[u32] {
        &self.most_erases
    }

    /// How far the device is from being read-only.
    #[inline]
    pub fn spares(&self) -> Spares {
        let (used, failed) = (self.spares.used as usize, self.failed.len());
        debug_assert!(used >= failed, "{failed} blocks have failed, but {used} spares are used");
        self.spares
    }

    /// Blocks that should be in use or free, of so many that were good when the device was built;
    /// none when the device is read-only, since what was begun then and could not be finished is
    /// left as it is.
    pub fn accounted_for(&self, good_blocks: usize) -> Option<usize> {
        debug_assert!(self.retired <= good_blocks, "{} of {good_blocks} blocks are marked bad", self.retired);
        self.spares.admit().ok().map(|()| good_blocks - self.retired)
    }

    /// Whether blocks that failed have cost a die its last free block: pages that had to be moved
    /// off another die took it, or it could not be erased.
    #[inline]
    pub fn has_lost_reserve(&self) -> bool {
        self.pool.has_emptied_die() && self.may_have_failed()
    }

    /// Whether blocks have failed, or may have in an earlier life.
    #[inline]
    pub fn may_have_failed(&self) -> bool {
        self.spares.used > 0 || self.was_recovered
    }

    /// Whether a block is free, bad, or in use, and for what.
    pub fn use_of(&self, pbn: Pbn) -> BlockUse {
        debug_assert!(pbn.index() < self.uses.len(), "there is no {pbn} of {} blocks", self.uses.len());
        self.uses[pbn.index()]
    }

    /// What can be said of a block that is to be emptied without looking at what it holds; none if
    /// it holds something, which can be moved.
    pub fn needs_no_emptying(&self, pbn: Pbn) -> Option<RelocateOutcome> {
        match self.use_of(pbn) {
            BlockUse::Free | BlockUse::InUse(Purpose::Reserve) => Some(RelocateOutcome::Done),
            BlockUse::Bad => Some(RelocateOutcome::Deferred(Deferred::IsBad)),
            BlockUse::InUse(_) if self.spares.admit().is_err() => Some(RelocateOutcome::Deferred(Deferred::ReadOnly)),
            BlockUse::InUse(_) if self.pool.is_empty() => Some(RelocateOutcome::Deferred(Deferred::NoRoom)),
            BlockUse::InUse(_) => None,
        }
    }

    /// What became of a block that was emptied.
    pub fn fate_of(&self, pbn: Pbn) -> RelocateOutcome {
        debug_assert!(pbn.index() < self.uses.len(), "there is no {pbn} of {} blocks", self.uses.len());
        if self.use_of(pbn) == BlockUse::Bad { RelocateOutcome::Retired } else { RelocateOutcome::Done }
    }

    /// How many blocks can be taken before something has to be collected or merged.
    #[inline]
    pub fn free(&self) -> usize {
        self.pool.len()
    }

    /// Free blocks of one die.
    #[inline]
    pub fn free_on(&self, die: u32) -> usize {
        debug_assert!(die < self.geometry.dies(), "there is no die {die} of {}", self.geometry.dies());
        self.pool.len_on(die)
    }

    /// All dies, those with the fewest free blocks first. Compiled once, not for each device.
    #[inline(never)]
    pub fn dies_by_free(&self) -> Vec<u32> {
        let mut dies: Vec<u32> = (0..self.geometry.dies()).collect();
        dies.sort_by_key(|&die| self.free_on(die));
        dies
    }

    /// All free blocks, for checks.
    pub fn iter_free(&self) -> impl Iterator<Item = Pbn> + '_ {
        self.pool.iter()
    }

    /// Asks the wear policy something, with the facts about all blocks; under a mapping that keeps
    /// each logical block in a block of its own, `homes` says where.
    pub fn with_wear_policy(&mut self, homes: Option<&dyn DataBlockLocations>, query: WearQuery<'_>) {
        let geometry = self.of_dies();
        query(&mut *self.policy, &Facts { uses: &self.uses, erases: &self.erases, geometry, homes });
    }

    /// The geometry by which the wear policy tells dies apart; none where content may change dies.
    fn of_dies(&self) -> Option<Geometry> {
        self.stays_on_die.then_some(self.geometry)
    }

    /// Checks that free blocks are erased, good, and known to be free, each of them once.
    pub fn check<D: Device>(&self, flash: &FlashPort<D>, name: &'static str) -> Result<(), BrokenInvariant> {
        let mut seen = BTreeSet::new();
        for pbn in self.pool.iter() {
            let is_free = self.uses[pbn.index()] == BlockUse::Free && seen.insert(pbn);
            let is_clean = flash.chip().next_page(pbn) == 0 && !flash.chip().is_bad(pbn);
            BrokenInvariant::unless(is_free && is_clean, name, || format!("{pbn} is free but not erased, or twice"))?;
        }
        let free = self.uses.iter().filter(|&&used| used == BlockUse::Free).count();
        BrokenInvariant::unless(free == seen.len(), name, || {
            format!("{free} blocks are known to be free, but {} can be taken", seen.len())
        })
    }
}

struct Facts<'a> {
    uses: &'a [BlockUse],
    erases: &'a [u32],
    /// To tell dies apart; none where content may change dies.
    geometry: Option<Geometry>,
    homes: Option<&'a dyn DataBlockLocations>,
}

impl BlockFacts for Facts<'_> {
    fn blocks(&self) -> u32 {
        self.uses.len() as u32
    }

    fn use_of(&self, pbn: Pbn) -> BlockUse {
        self.uses[pbn.index()]
    }

    fn erases(&self, pbn: Pbn) -> u32 {
        self.erases[pbn.index()]
    }

    fn domain_of(&self, pbn: Pbn) -> usize {
        self.geometry.map_or(0, |geometry| geometry.die_of(pbn) as usize)
    }

    fn logical_blocks(&self) -> u32 {
        self.homes.map_or(0, DataBlockLocations::logical_blocks)
    }

    fn home_of(&self, lbn: Lbn) -> Option<Pbn> {
        self.homes?.home_of(lbn)
    }

    fn is_in_log(&self, lbn: Lbn) -> bool {
        self.homes.is_some_and(|homes| homes.is_in_log(lbn))
    }
}

#[cfg(test)]
mod tests;
