//! The machine that all log-buffer schemes share: data blocks under a block map, a log for what
//! does not fit there, merges.
//!
//! A page goes into its data block if the program order still allows it, otherwise to the log block
//! that the policy names (`policy.rs`). When the policy wants a block to leave, it is merged:
//! switched or completed if it is in place, else each logical block with a newest page in it is
//! merged into a fresh block (`merge.rs`), and it is erased.
//!
//! Merges are waited for by the request that needs the space, erases included (A-SAST eq. 1).
//!
//! Invariants, under the numbers that the schemes' headers repeat:
//! - I1: a current data page carries its LPN in its place, and then no log page is the newest copy
//!   of it.
//! - I2: no block is mapped twice, or mapped and free; free blocks are erased.
//! - I3: a log page that is the newest copy carries its LPN.
//! - I4: every good block is a data block, a log block or free, until the device is read-only.
//!
//! **Eviction.** A log block that leaves becomes a data block, or its newest pages are moved or
//! merged, and it is erased.
//!
//! **Trims** survive a power cut as docs/correctness.md says.
//!
//! **Relocation.** A data block is emptied by a full merge of its logical block. A log block leaves
//! the log before its turn: each logical block with a newest page in it is merged. A page in it
//! that says what was trimmed speaks for older copies in older log blocks, which would come back
//! without it; so those leave before it, oldest first.

use std::collections::BTreeMap;

use flash::{Flash, Lbn, Lpn, Pbn, Role};
use host::Hint;

use crate::api::entry::Entry;
use crate::api::layout::Layout;
use crate::api::mapping::{Mapping, Scheme, WearQuery};
use crate::api::parameter::Values;
use crate::api::report::{Footprint, Gauge, Spares};
use crate::api::request::Request;
use crate::api::wear::{AllocRequest, BlockUse, Purpose, RelocateOutcome};
use crate::blocks::data_blocks::{DataBlocks, data_label};
use crate::blocks::manager::BlockManager;
use crate::engines::log_buffer::merge;
use crate::engines::log_buffer::merge::MergeCounts;
use crate::engines::log_buffer::policy::{LogBlockMerge, LogNeeds, LogPage, LogPolicy, LogScheme, LogTarget};
use crate::engines::log_buffer::space::{LogBlock, LogSpace, Slot};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::port::label::Content;
use crate::port::tally::Note;
use crate::recovery::trims::Trims;

/// A log-buffer scheme: the shared machine with a policy.
pub struct LogBuffer<S: LogScheme> {
    pub(super) data: DataBlocks,
    pub(super) blocks: BlockManager,
    pub(super) log: LogSpace,
    pub(super) policy: S::Policy,
    pub(super) trims: Trims,
    good_blocks: usize,
    footprint: Footprint,
    pub(super) counts: MergeCounts,
}

impl<S: LogScheme> Scheme for LogBuffer<S> {
    const ENTRY: Entry = S::ENTRY;

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let LogNeeds { log_blocks, ahead, tables } = S::needs(layout, values)?;
        let needs = match ahead {
            0 => format!("{log_blocks} log blocks and one to merge into"),
            _ => format!("{log_blocks} log blocks, {ahead} to move pages into and one to merge into"),
        };
        debug_assert!(log_blocks > 0, "{} asks for a log of no block", S::ENTRY.name);
        let extra = log_blocks.saturating_add(ahead).saturating_add(1);
        let spares = DataBlocks::require(layout, S::ENTRY.name, extra, &needs)?;
        let log_pages = u64::from(log_blocks) * u64::from(layout.geometry.pages_per_block());
        let maps = Footprint::default().with("block map", 4 * u64::from(layout.logical_blocks()), 0).with(
            "log map",
            4 * log_pages,
            0,
        );
        Ok(Self {
            data: DataBlocks::new(layout),
            blocks: BlockManager::new(layout, spares),
            log: LogSpace::new(layout, S::Policy::TRACKS),
            policy: S::policy(layout, values, log_blocks),
            trims: Trims::default(),
            good_blocks: layout.good_blocks.len(),
            counts: MergeCounts::new(layout.logical_blocks()),
            footprint: tables.into_iter().fold(maps, |maps, (name, bytes)| maps.with(name, bytes, 0)),
        })
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        let mut fresh = Self::format(&layout.in_use(), values)?;
        fresh.bring_back(layout, flash)?;
        Ok(fresh)
    }
}

impl<S: LogScheme, D: Device> Mapping<D> for LogBuffer<S> {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            out[i] = match merge::newest(&self.data, &self.log, lpn) {
                Some(ppn) => flash.read(ppn)?.data,
                None => D::Data::default(),
            };
            Ok(())
        })
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.blocks.spares().admit()?;
        self.policy.request(request);
        while let Some(slot) = self.policy.leaves_now(&self.log) {
            debug_assert!(self.log.block(slot).is_some(), "slot {slot} is free, and leaves before {}", request.lpn);
            flash.with_cause(Cause::Merge, |flash| self.evict(flash, slot))?;
        }
        for (i, lpn) in request.lpns() {
            self.write_page(flash, (lpn, request.hint), data[i].clone())?;
        }
        Ok(())
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        for run in request.block_runs(self.data.geometry()) {
            for offset in run.first..run.first + run.pages {
                let lpn = self.data.geometry().logical_page(run.lbn, offset);
                if merge::newest(&self.data, &self.log, lpn).is_some() {
                    self.log.set_newest(lpn, None);
                    self.data.set_current(lpn, false);
                    self.trims.on_trimmed(lpn);
                }
            }
            flash.with_cause(Cause::Collection, |flash| self.retire_if_empty(flash, run.lbn))?;
        }
        Ok(())
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        if self.trims.pending_runs().is_empty() {
            return Ok(());
        }
        self.blocks.spares().admit()?;
        flash.with_cause(Cause::Merge, |flash| self.write_trims_down(flash))
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        self.empty(flash, pbn)
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        let homes = merge::LogBufferBlocks { data: &self.data, log: &self.log };
        self.blocks.with_wear_policy(Some(&homes), query);
    }

    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        self.data.check(flash, &self.blocks, "I1", "I2")?;
        self.log.check(flash, "I3")?;
        for lpn in (0..self.data.logical_pages()).map(Lpn::new) {
            let both = self.data.is_current(lpn) && self.log.newest(lpn).is_some();
            BrokenInvariant::unless(!both, "I1", || {
                format!("{lpn} is current in its data block and newest in the log")
            })?;
        }
        let known = self.data.mapped_blocks() + self.blocks.free() + self.log.len();
        let good = self.blocks.accounted_for(self.good_blocks);
        BrokenInvariant::unless(good.is_none_or(|good| known == good), "I4", || {
            format!("{known} blocks are in use or free, but the device has {good:?} good ones")
        })
    }

    fn spares(&self) -> Spares {
        self.blocks.spares()
    }

    fn footprint(&self) -> Footprint {
        self.footprint.clone()
    }

    fn gauges(&self) -> Vec<Gauge> {
        let mut gauges = vec![
            Gauge { name: "log_utilisation", value: self.log.utilisation() },
            Gauge { name: "log_blocks", value: self.log.len() as f64 },
        ];
        gauges.extend(self.counts.gauges());
        gauges.extend(self.policy.gauges(&self.log));
        gauges
    }
}

impl<S: LogScheme> LogBuffer<S> {
    pub(super) fn retire<D: Device>(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<(), FtlError> {
        let in_use = self.blocks.use_of(pbn);
        debug_assert!(in_use != BlockUse::Free, "{pbn} is free, and retires");
        self.data.retire(flash, &mut self.blocks, pbn)
    }

    fn write_page<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (lpn, hint): (Lpn, Hint),
        data: D::Data,
    ) -> Result<(), FtlError> {
        let (lbn, offset) = self.data.geometry().split_logical(lpn);
        let content = self.blocks.content(hint, data);
        if let Some(home) = self.home(flash, (lbn, hint), offset)? {
            self.write_home(flash, home, (lpn, lbn, offset), &content)?;
        } else {
            let page = LogPage { lpn, lbn, offset, moved: false, hint };
            let slot = self.slot_for(flash, page)?;
            debug_assert!(self.log.has_room(slot), "{lpn} goes to slot {slot}, which is full or free");
            self.append(flash, slot, page, (Role::RandomLog, &content))?;
        }
        self.trims.on_overwritten(lpn);
        Ok(())
    }

    /// The data block, if the page can be programmed there in its place; a logical block's first
    /// page gets it one.
    fn home<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (lbn, hint): (Lbn, Hint),
        offset: u32,
    ) -> Result<Option<Pbn>, FtlError> {
        if let Some(pbn) = self.data.block(lbn) {
            debug_assert!(self.log.slot_of(pbn).is_none(), "{pbn} is the data block of {lbn}, and in the log");
            return Ok(self.data.fits_in_place(flash, pbn, offset).then_some(pbn));
        }
        let home = self.data.begin(&mut self.blocks, lbn, hint)?;
        flash.note(Note::NewDataBlock);
        Ok(Some(home))
    }

    fn write_home<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        home: Pbn,
        (lpn, lbn, offset): (Lpn, Lbn, u32),
        content: &Content<D::Data>,
    ) -> Result<(), FtlError> {
        debug_assert_eq!(self.data.block(lbn), Some(home), "{lpn} is written to another block than its own");
        let log = &self.log;
        let current = |data: &DataBlocks, offset| {
            data.page_at(lbn, offset).filter(|&lpn| data.is_current(lpn) && log.newest(lpn).is_none())
        };
        let (at, label) = ((home, offset), data_label(lpn, lbn));
        let block = self.data.program(flash, &mut self.blocks, at, label, content, &current)?;
        if block != home {
            self.data.remap(lbn, Some(block));
        }
        let at = self.data.geometry().page(block, offset);
        debug_assert_eq!(flash.chip().peek(at), Some(lpn.get()), "{lpn} was programmed at {at}");
        self.data.set_current(lpn, true);
        self.log.set_newest(lpn, None);
        Ok(())
    }

    /// A log block with room for a page, where the policy wants it.
    fn slot_for<D: Device>(&mut self, flash: &mut FlashPort<D>, page: LogPage) -> Result<Slot, FtlError> {
        loop {
            match self.policy.place(&mut self.log, page) {
                LogTarget::In(slot) => return Ok(slot),
                LogTarget::New(group) => {
                    debug_assert!(!page.moved, "{} comes from a block that leaves, and has others leave", page.lpn);
                    self.make_room(flash, group, page.hint)?;
                }
            }
        }
    }

    pub(super) fn append<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        slot: Slot,
        page: LogPage,
        content: (Role, &Content<D::Data>),
    ) -> Result<(), FtlError> {
        let spaces = (&mut self.data, &mut self.blocks);
        let at = self.log.append(flash, spaces, (slot, page.lpn), content)?;
        debug_assert_eq!(flash.chip().peek(at), Some(page.lpn.get()), "{} was appended at {at}", page.lpn);
        self.log.set_newest(page.lpn, Some(at));
        self.data.set_current(page.lpn, false);
        self.policy.on_appended(&self.log, slot, page);
        Ok(())
    }

    /// Lets a log block leave, if one must, before one is opened for a group; otherwise opens it.
    pub(super) fn make_room<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        group: u32,
        hint: Hint,
    ) -> Result<(), FtlError> {
        match self.policy.victim(&mut self.log, group) {
            Some(victim) => flash.with_cause(Cause::Merge, |flash| self.evict(flash, victim)),
            None => self.open(group, hint),
        }
    }

    pub(super) fn open(&mut self, group: u32, hint: Hint) -> Result<(), FtlError> {
        let pbn = self.blocks.take_or_stop(AllocRequest::new(Purpose::Log).hinted(hint), "a log block")?;
        debug_assert!(self.data.owner_of(pbn).is_none(), "{pbn} is opened in the log, and is a data block");
        let slot = self.log.open(pbn, group);
        self.policy.on_opened(&self.log, slot);
        Ok(())
    }
}

impl<S: LogScheme> LogBuffer<S> {
    pub(super) fn evict<D: Device>(&mut self, flash: &mut FlashPort<D>, victim: Slot) -> Result<(), FtlError> {
        flash.note(Note::LogVictim);
        debug_assert!(self.log.block(victim).is_some(), "slot {victim} is free, and leaves");
        let Some(&LogBlock { pbn, filled, in_place, .. }) = self.log.block(victim) else { return Ok(()) };
        debug_assert!(self.data.owner_of(pbn).is_none(), "{pbn} leaves the log, and is a data block");
        if let Some(lbn) = in_place.filter(|&lbn| self.may_become_data(pbn, lbn, filled)) {
            merge::in_place(flash, &mut self.blocks, &mut self.data, &mut self.log, (pbn, filled), lbn)?;
            self.tell_of_merge(lbn);
            self.policy.on_merged(&self.log, victim, LogBlockMerge::InPlace);
        } else {
            let pages = if self.policy.goes_page_by_page() {
                self.move_or_merge(flash, victim)?
            } else {
                self.move_some(flash, victim)?;
                self.merge_owners(flash, victim)?
            };
            self.policy.on_merged(&self.log, victim, LogBlockMerge::Fully(pages));
            self.counts.on_left();
            debug_assert!(self.log.newest_in(flash, victim).is_empty(), "{pbn} is erased with newest pages in it");
            self.retire(flash, pbn)?;
        }
        self.forget_slot(victim);
        Ok(())
    }

    fn forget_slot(&mut self, slot: Slot) {
        debug_assert!(self.log.block(slot).is_some(), "slot {slot} is free, and is forgotten");
        self.policy.on_left(&self.log, slot);
        self.log.remove(slot);
    }

    /// Whether no page of a log block in place is older than what the data block holds.
    fn may_become_data(&self, pbn: Pbn, lbn: Lbn, filled: u32) -> bool {
        let geometry = self.data.geometry();
        debug_assert!(filled <= geometry.pages_per_block(), "{pbn} holds the first {filled} pages of {lbn}");
        (0..filled).all(|offset| {
            let lpn = geometry.logical_page(lbn, offset);
            !self.data.is_current(lpn) || self.log.newest(lpn) == Some(geometry.page(pbn, offset))
        })
    }

    /// Moves those newest pages of a victim that the policy does not want merged.
    fn move_some<D: Device>(&mut self, flash: &mut FlashPort<D>, victim: Slot) -> Result<(), FtlError> {
        for lpn in self.log.newest_in(flash, victim) {
            if self.policy.moves(&self.log, victim, lpn) {
                debug_assert!(self.log.block(victim).is_some(), "slot {victim} left before {lpn} was moved out of it");
                self.move_page(flash, lpn)?;
            }
        }
        Ok(())
    }

    /// Moves or merges each newest page of a victim, one after the other; tells how many were not
    /// moved.
    fn move_or_merge<D: Device>(&mut self, flash: &mut FlashPort<D>, victim: Slot) -> Result<u32, FtlError> {
        let Some(pbn) = self.log.block(victim).map(|block| block.pbn) else { return Ok(0) };
        let mut merged = 0;
        for lpn in self.log.newest_in(flash, victim) {
            // An earlier merge of the same logical block may have taken this page along.
            if !self.is_newest_in(lpn, pbn) {
                merged += 1;
            } else if self.policy.moves(&self.log, victim, lpn) {
                self.move_page(flash, lpn)?;
            } else {
                merged += 1;
                let (lbn, _) = self.data.geometry().split_logical(lpn);
                self.merge_block(flash, lbn, Some(victim))?;
                debug_assert!(!self.is_newest_in(lpn, pbn), "{lbn} was merged, and {lpn} is newest in {pbn}");
            }
        }
        Ok(merged)
    }

    /// Whether the newest copy of a page lies in this block of the log.
    fn is_newest_in(&self, lpn: Lpn, pbn: Pbn) -> bool {
        debug_assert!(pbn.get() < self.data.geometry().blocks(), "{lpn} is looked for in {pbn}, which there is not");
        self.log.newest(lpn).is_some_and(|ppn| self.data.geometry().block_of(ppn) == pbn)
    }

    /// Copies the newest page of the log to where the next pages of its group go.
    fn move_page<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<(), FtlError> {
        let Some(from) = self.log.newest(lpn) else { return Ok(()) };
        let (lbn, offset) = self.data.geometry().split_logical(lpn);
        let (role, content) = flash.read_for_copy(from, Role::RandomLog)?;
        let page = LogPage { lpn, lbn, offset, moved: true, hint: self.blocks.hint_of(content.stored_hint()) };
        let slot = loop {
            match self.policy.place(&mut self.log, page) {
                LogTarget::In(slot) => break slot,
                LogTarget::New(group) => self.open(group, page.hint)?,
            }
        };
        self.append(flash, slot, page, (role, &content))?;
        debug_assert_ne!(self.log.newest(lpn), Some(from), "{lpn} was moved from {from}, and is newest there");
        flash.note(Note::MovedLogPage);
        Ok(())
    }

    /// Merges what is newest in a log block, and erases it. One that has left already is passed
    /// over.
    pub(super) fn merge_away<D: Device>(&mut self, flash: &mut FlashPort<D>, slot: Slot) -> Result<(), FtlError> {
        let Some(pbn) = self.log.block(slot).map(|block| block.pbn) else { return Ok(()) };
        self.merge_owners(flash, slot)?;
        debug_assert!(self.log.newest_in(flash, slot).is_empty(), "{pbn} is erased with newest pages in it");
        self.retire(flash, pbn)?;
        self.forget_slot(slot);
        Ok(())
    }

    /// Merges each logical block with a newest page in a log block, and tells how many such pages
    /// there were.
    fn merge_owners<D: Device>(&mut self, flash: &mut FlashPort<D>, slot: Slot) -> Result<u32, FtlError> {
        let Some(pbn) = self.log.block(slot).map(|block| block.pbn) else { return Ok(0) };
        let newest = self.log.newest_in(flash, slot);
        for &lpn in &newest {
            // An earlier merge of the same logical block may have taken this page along.
            if self.is_newest_in(lpn, pbn) {
                let (lbn, _) = self.data.geometry().split_logical(lpn);
                self.merge_block(flash, lbn, Some(slot))?;
                debug_assert!(!self.is_newest_in(lpn, pbn), "{lbn} was merged, and {lpn} is newest in {pbn}");
            }
        }
        Ok(newest.len() as u32)
    }

    /// A full merge of a logical block, after which log blocks that serve it alone hold nothing
    /// newest.
    pub(super) fn merge_block<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lbn: Lbn,
        except: Option<Slot>,
    ) -> Result<(), FtlError> {
        merge::full(flash, &mut self.blocks, &mut self.data, &mut self.log, lbn)?;
        let is_merged = |lpn: Lpn| self.log.newest(lpn).is_none();
        debug_assert!(self.data.pages_of(lbn).all(|(_, lpn)| is_merged(lpn)), "{lbn} was merged, and is in the log");
        self.tell_of_merge(lbn);
        self.counts.on_merged(lbn, except.is_some());
        self.drop_dedicated(flash, lbn, except)
    }

    fn tell_of_merge(&mut self, lbn: Lbn) {
        for ((_, lpn), in_log) in self.data.pages_of(lbn).zip(self.log.newest_of(lbn)) {
            if in_log.is_none() {
                self.policy.on_settled(lpn);
            }
        }
    }

    /// Erases the log blocks that serve a logical block alone, whose pages have all moved
    /// elsewhere: as data blocks they would bring old copies back.
    fn drop_dedicated<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lbn: Lbn,
        except: Option<Slot>,
    ) -> Result<(), FtlError> {
        while let Some(slot) = self.policy.dedicated(lbn, except) {
            debug_assert!(self.log.newest_in(flash, slot).is_empty(), "slot {slot} leaves with newest pages in it");
            debug_assert_ne!(Some(slot), except, "slot {slot} serves {lbn} alone, and was to be left");
            let pbn = self.log.block(slot).map(|block| block.pbn);
            self.forget_slot(slot);
            pbn.map_or(Ok(()), |pbn| self.retire(flash, pbn))?;
        }
        Ok(())
    }

    pub(super) fn retire_if_empty<D: Device>(&mut self, flash: &mut FlashPort<D>, lbn: Lbn) -> Result<(), FtlError> {
        if self.data.pages_of(lbn).any(|(_, lpn)| merge::newest(&self.data, &self.log, lpn).is_some()) {
            return Ok(());
        }
        self.drop_dedicated(flash, lbn, None)?;
        match self.data.remap(lbn, None) {
            Some(pbn) => self.retire(flash, pbn),
            None => Ok(()),
        }
    }
}

impl<S: LogScheme> LogBuffer<S> {
    /// Makes pending trims survive a power cut: full merges leave the trimmed pages behind, and
    /// either a page of the log says which copies in older log blocks are void, or those log blocks
    /// are merged, too.
    pub(super) fn write_trims_down<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        let runs = self.trims.pending_runs();
        let is_trimmed = |lpn: Lpn| merge::newest(&self.data, &self.log, lpn).is_none();
        let lpns = || runs.iter().flat_map(|&(first, extent)| (first..first + extent).map(Lpn::new));
        debug_assert!(lpns().all(is_trimmed), "a trim is pending of pages that are mapped: {runs:?}");
        let in_log = self.policy.place_of_trims(&self.log).is_some();
        for &(first, extent) in &runs {
            for run in Request::new(Lpn::new(first), extent).block_runs(self.data.geometry()) {
                if self.data.block(run.lbn).is_some() {
                    self.merge_block(flash, run.lbn, None)?;
                }
                self.log.never_switch(run.lbn);
            }
            if in_log {
                self.append_trim(flash, first, extent)?;
                self.trims.on_settled(first, extent);
            }
        }
        if in_log {
            return Ok(());
        }
        let trimmed = |lpn: Lpn| {
            let at = runs.partition_point(|&(first, _)| first <= lpn.get());
            at.checked_sub(1).is_some_and(|i| lpn.get() - runs[i].0 < runs[i].1)
        };
        for slot in self.log.holding(flash, trimmed) {
            self.merge_away(flash, slot)?;
        }
        for (first, extent) in runs {
            self.trims.on_settled(first, extent);
        }
        Ok(())
    }

    fn append_trim<D: Device>(&mut self, flash: &mut FlashPort<D>, first: u32, extent: u32) -> Result<(), FtlError> {
        while let Some(place) = self.policy.place_of_trims(&self.log) {
            match place {
                LogTarget::New(group) => self.make_room(flash, group, Hint::NONE)?,
                LogTarget::In(slot) => {
                    let (label, content) = (Trims::label(first, extent), Content::New(D::Data::default()));
                    let spaces = (&mut self.data, &mut self.blocks);
                    let at = self.log.program(flash, spaces, slot, label, &content, None)?;
                    debug_assert!(
                        flash.chip().peek(at) == Some(first),
                        "a trim of {extent} pages was programmed at {at}"
                    );
                    self.log.holds_trim(slot, first, extent);
                    break;
                }
            }
        }
        Ok(())
    }
}

impl<S: LogScheme> LogBuffer<S> {
    /// Empties a block, whatever it holds.
    pub(super) fn empty<D: Device>(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        if let Some(known) = self.blocks.needs_no_emptying(pbn) {
            return Ok(known);
        }
        let (owner, slot) = (self.data.owner_of(pbn), self.log.slot_of(pbn));
        debug_assert!(owner.is_none() || slot.is_none(), "{pbn} is the block of {owner:?}, and in slot {slot:?}");
        flash.note(Note::RelocatedBlock);
        flash.with_cause(Cause::WearLevelling, |flash| match (owner, slot) {
            (Some(lbn), _) => self.merge_block(flash, lbn, None),
            (None, Some(slot)) => self.make_leave(flash, slot),
            (None, None) => unreachable!("I4: {pbn} is in use, so it is a data block or a log block"),
        })?;
        Ok(self.blocks.fate_of(pbn))
    }

    /// Has a log block leave, and before it those that must.
    fn make_leave<D: Device>(&mut self, flash: &mut FlashPort<D>, slot: Slot) -> Result<(), FtlError> {
        debug_assert!(self.log.block(slot).is_some(), "slot {slot} is free, and is made to leave");
        leaving_with(&self.log, flash, slot).into_iter().try_for_each(|slot| self.merge_away(flash, slot))
    }
}

/// The log blocks that leave when one does, oldest first.
fn leaving_with<D: Device>(log: &LogSpace, flash: &FlashPort<D>, slot: Slot) -> Vec<Slot> {
    debug_assert!(log.block(slot).is_some(), "slot {slot} is free, and has none leave before it");
    let age = |slot: Slot| log.block(slot).map_or(0, |block| block.opened);
    let mut leaving = BTreeMap::from([(age(slot), slot)]);
    let mut before = u64::MAX;
    while let Some((&opened, &slot)) = leaving.range(..before).next_back() {
        before = opened;
        let trims = log.trims_in(slot);
        if !trims.is_empty() {
            let is_trimmed = |lpn: Lpn| trims.iter().any(|&(first, extent)| lpn.get().wrapping_sub(first) < extent);
            let older = log.holding(flash, is_trimmed).into_iter().map(|slot| (age(slot), slot));
            leaving.extend(older.filter(|&(age, _)| age < opened));
        }
    }
    leaving.into_values().collect()
}

#[cfg(test)]
mod tests;
