//! The machine that all log-buffer schemes share: data blocks under a block map, a log for what does not fit there, merges.
//!
//! A page goes into its data block if the program order still allows it, otherwise to the log block that the policy names
//! (`policy.rs`). When the policy wants a block to leave, it is merged: switched or completed if it is in place, else
//! each logical block with a newest page in it is merged into a fresh block (`merge.rs`), and it is erased.
//!
//! Merges are waited for by the request that needs the space, erases included (A-SAST eq. 1).
//!
//! Invariants, under the numbers that the schemes' headers repeat:
//! - I1: a current data page carries its LPN in its place, and then no log page is the newest copy of it.
//! - I2: no block is mapped twice, or mapped and free; free blocks are erased.
//! - I3: a log page that is the newest copy carries its LPN.
//! - I4: every good block is a data block, a log block or free, until the device is read-only.

use flash::{Lbn, Lpn, Pbn, Role};

use crate::api::entry::Entry;
use crate::api::hint::Hint;
use crate::api::layout::Layout;
use crate::api::mapping::{Mapping, Scheme, WearQuery};
use crate::api::parameter::Values;
use crate::api::relocate::RelocateOutcome;
use crate::api::report::{Footprint, Gauge, Spares};
use crate::api::request::Request;
use crate::api::wear::{AllocRequest, Purpose};
use crate::blocks::data_blocks::{DataBlocks, data_label};
use crate::blocks::manager::BlockManager;
use crate::engines::log_buffer::merge;
use crate::engines::log_buffer::merge_counts::MergeCounts;
use crate::engines::log_buffer::policy::{LogNeeds, LogPage, LogPolicy, LogScheme, Place};
use crate::engines::log_buffer::space::{LogSpace, Slot};
use crate::port::cause::Cause;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::port::label::Content;
use crate::port::tally::Note;
use crate::port::timing::Device;
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
                    self.trims.trimmed(lpn);
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
        let homes = merge::Known { data: &self.data, log: &self.log };
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
            self.append(flash, slot, page, (Role::RandomLog, &content))?;
        }
        self.trims.overwritten(lpn);
        Ok(())
    }

    /// The data block, if the page can be programmed there in its place; a logical block's first page gets it one.
    fn home<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (lbn, hint): (Lbn, Hint),
        offset: u32,
    ) -> Result<Option<Pbn>, FtlError> {
        if let Some(pbn) = self.data.block(lbn) {
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
        let log = &self.log;
        let current = |data: &DataBlocks, offset| {
            data.page_at(lbn, offset).filter(|&lpn| data.is_current(lpn) && log.newest(lpn).is_none())
        };
        let (at, label) = ((home, offset), data_label(lpn, lbn));
        let block = self.data.program(flash, &mut self.blocks, at, label, content, &current)?;
        if block != home {
            self.data.remap(lbn, Some(block));
        }
        self.data.set_current(lpn, true);
        self.log.set_newest(lpn, None);
        Ok(())
    }

    /// A log block with room for a page, where the policy wants it.
    fn slot_for<D: Device>(&mut self, flash: &mut FlashPort<D>, page: LogPage) -> Result<Slot, FtlError> {
        loop {
            match self.policy.place(&mut self.log, page) {
                Place::In(slot) => return Ok(slot),
                Place::New(group) => self.make_room(flash, group, page.hint)?,
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
        self.log.set_newest(page.lpn, Some(at));
        self.data.set_current(page.lpn, false);
        self.policy.appended(&self.log, slot, page);
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
        let slot = self.log.open(pbn, group);
        self.policy.opened(&self.log, slot);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
