//! Bringing a log-buffer scheme back from the tags alone; the reasons are in `docs/correctness.md`.
//!
//! Data and log blocks are told apart by role and logical block. A log block in place counts as one
//! that claims its logical block, as a data block does. Shared log blocks keep their order and are
//! not filled further.

use std::collections::{BTreeMap, BTreeSet};

use flash::{Lbn, Lpn, Pbn, Ppn, Role, Tag};

use crate::api::layout::Layout;
use crate::api::wear::{AllocRequest, Purpose};
use crate::engines::log_buffer::machine::LogBuffer;
use crate::engines::log_buffer::merge;
use crate::engines::log_buffer::policy::{LogPolicy, LogScheme};
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::recovery::block_recovery::{BlockClaim, BlockClaims, needed, separate};
use crate::recovery::scan::{DeviceScan, NewestCopy};

impl<S: LogScheme> LogBuffer<S> {
    /// Takes over what the flash of a device holds. Only for one that is empty so far.
    pub(super) fn bring_back<D: Device>(&mut self, layout: &Layout, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        debug_assert!(self.log.is_empty(), "a device is brought back with {} log blocks in RAM", self.log.len());
        let scanned = DeviceScan::of(flash, layout)?;
        let newest = scanned.newest(layout.logical_pages);
        let BlockClaims { by_block, log } = BlockClaims::of(&scanned, layout);
        let log = scanned.without_copies(layout, &newest, log);
        self.blocks.nothing_free(flash, layout);
        let in_log = self.adopt_log(&scanned, layout, &newest, &log);
        let needed = needed(&newest, &in_log);
        let mut free: BTreeSet<Pbn> = layout.good_blocks.iter().copied().collect();
        for pbn in &log {
            free.remove(pbn);
        }
        let mut homes = Vec::new();
        for (lbn, claims) in by_block {
            let (kept, _) = separate(claims, &needed);
            for claim in &kept {
                free.remove(&claim.block);
            }
            homes.push((lbn, kept));
        }
        flash.in_parallel(free, |flash, pbn| self.retire(flash, pbn))?;
        for (lbn, claims) in homes {
            FtlError::unless_read_only(self.settle(flash, lbn, &claims, &newest))?;
        }
        Ok(())
    }

    /// The log blocks, first to last; tells for each logical page whether its newest copy is in one
    /// of them.
    fn adopt_log(
        &mut self,
        scanned: &DeviceScan,
        layout: &Layout,
        newest: &[Option<NewestCopy>],
        log: &[Pbn],
    ) -> Vec<bool> {
        let blocks: BTreeMap<Pbn, &[(Ppn, Tag)]> = scanned.blocks(layout).collect();
        let mut in_log = vec![false; layout.logical_pages as usize];
        for pbn in log {
            let pages = blocks.get(pbn).copied().unwrap_or_default();
            let data = || pages.iter().filter(|(_, tag)| tag.role != Role::Trimmed);
            let owner = data().map(|(_, tag)| layout.geometry.split_logical(Lpn::new(tag.logical)).0).next();
            self.blocks.adopt(*pbn, AllocRequest::new(Purpose::Log));
            let slot = self.log.adopt(*pbn, self.policy.recovered_group(owner));
            for (ppn, tag) in data().filter(|(_, tag)| DeviceScan::holds_newest(tag, newest)) {
                self.log.set_newest(Lpn::new(tag.logical), Some(*ppn));
                in_log[tag.logical as usize] = true;
            }
            for (_, tag) in pages.iter().filter(|(_, tag)| tag.role == Role::Trimmed) {
                self.log.holds_trim(slot, tag.logical, tag.extent);
            }
            self.policy.on_opened(&self.log, slot);
        }
        in_log
    }

    /// Makes one home of the blocks that claim a logical block, of which each holds something that
    /// the others do not. A home must not hold copies from before a flushed trim, as a log block in
    /// place may: they would come back when the trim page has left the log.
    fn settle<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lbn: Lbn,
        claims: &[BlockClaim],
        newest: &[Option<NewestCopy>],
    ) -> Result<(), FtlError> {
        let newest_at = |lpn: u32, version: u64| newest[lpn as usize].is_some_and(|found| found.version == version);
        let Some((home, others)) = claims.split_first() else { return Ok(()) };
        debug_assert!(self.data.block(lbn).is_none(), "{lbn} lies in {:?}, and is claimed", self.data.block(lbn));
        let current =
            home.pages.iter().filter(|&(&lpn, &(_, version))| newest_at(lpn, version)).map(|(&lpn, _)| Lpn::new(lpn));
        let current: Vec<_> = current.filter(|&lpn| self.log.newest(lpn).is_none()).collect();
        self.data.adopt(&mut self.blocks, lbn, home.block, current);
        let is_trimmed = |lpn: &u32| newest[*lpn as usize].is_some_and(|found| found.page.is_none());
        if others.is_empty() && !home.pages.keys().any(is_trimmed) {
            return Ok(());
        }
        for (&lpn, &(ppn, version)) in others.iter().flat_map(|claim| &claim.pages) {
            let lpn_ = Lpn::new(lpn);
            if newest_at(lpn, version) && merge::newest(&self.data, &self.log, lpn_).is_none() {
                self.log.set_newest(lpn_, Some(ppn));
            }
        }
        merge::full(flash, &mut self.blocks, &mut self.data, &mut self.log, lbn)?;
        others.iter().try_for_each(|claim| self.retire(flash, claim.block))
    }
}
