//! # fast: fully associative log blocks
//!
//! ## Idea
//! Data blocks are block-mapped; updates go to a small page-mapped log. One log block takes sequential streams, so that it
//! can become a data block as it is (switch merge) or after copying the rest (partial merge). The other log blocks are
//! shared by all data blocks and leave in the order they came; every logical block with a newest page in the leaving one
//! is fully merged, which is what random writes pay for.
//!
//! ```text
//!   data blocks   [0][1][2][3]   [4][5][6][7]   [8] …             block-mapped
//!   sequential    [0'][1'][ ][ ]                                  one, in place
//!   random log    [6'][2'][9'][6"] ─▶ [1"][ ][ ][ ]               first in, first merged
//! ```
//!
//! ## Source
//! T 3.2.2 and fig. 3.1, A II; Lee 2007.
//!
//! ## Departures
//! - A first write goes in place into the data block when the program order still allows it (T 3.2.2: "checks whether the
//!   page in the mapped data block is clean").
//! - When a full merge has moved away everything that the sequential block held, that block is erased at once: as a data
//!   block it would bring old copies back.
//! - Merges are waited for by the request that needs the space, erases included (A eq. 1).
//!
//! ## State
//! RAM: block map, 4 B × logical blocks; log map, 4 B × log pages. Flash: `log_space` of the data blocks' number as log
//! blocks; tags carry LPN, role and logical block.
//!
//! ## Read
//! 1. The log page that holds the newest copy, else the page in the data block if it is current.
//!
//! ## Write
//! 1. `write_page`: in place if possible;
//! 2. to the sequential block at offset 0 (`begin_sequential`, after merging what it held) or if it continues it exactly;
//! 3. else to the end of the random log (`make_room` first).
//!
//! ## Reclaim
//! 1. `make_room`: when all log blocks are full, the first one in leaves: a full merge for each logical block that has a
//!    newest page in it, then its erase.
//! 2. `merge_sequential`: switch or partial merge.
//!
//! ## Recover
//! 1. Data and log blocks are told apart by role and logical block in the tags; of several copies of a page the one with the
//!    highest version is the newest.
//! 2. Of the blocks that claim a logical block, those are erased whose needed pages are all in others (an interrupted merge).
//!    If several remain (a data block and a sequential log block), `settle` merges them.
//! 3. Log blocks keep their order and are not filled further. Of a failing one and the one that was to take its place, one is
//!    erased.
//! 4. A flush makes trims last: `write_trims_down`.
//!
//! ## Invariants
//! - I1: a current data page carries its LPN in its place, and then no log page is the newest copy of it.
//! - I2: no block is mapped twice, or mapped and free; free blocks are erased.
//! - I3: a log page that is the newest copy carries its LPN.
//! - I4: every good block is a data block, a log block or free, until the device is read-only.
//!
//! ## Costs
//! Uniform one-page updates of D full data blocks with L random log blocks of b pages:
//! A = 1 + bD / (D + R), R = (L − ½) b + D (1 − e^(−(L − ½)/D)).

use std::collections::BTreeSet;

use flash::{Lbn, Lpn, Pbn, Role};

use crate::parts::block_recovery::{Claim, Claims, needed, separate};
use crate::parts::data_blocks::{DataBlocks, data_label};
use crate::parts::log_space::LogSpace;
use crate::parts::merge;
use crate::parts::scan::{Newest, Scanned};
use crate::parts::trims::Trims;
use crate::{
    BrokenInvariant, Cause, ConfigError, Content, Device, Entry, Footprint, Ftl, FtlError, Gauge, Kind, Label, Layout,
    Media, Parameter, RecoverError, Request, Scheme, Spares, Values,
};

/// The sequential log block: pages `0..filled` of a logical block, in place.
#[derive(Clone, Copy, Debug)]
struct Sequential {
    block: Pbn,
    lbn: Lbn,
    filled: u32,
}

/// Fully associative sector translation.
pub struct Fast {
    data: DataBlocks,
    log: LogSpace,
    trims: Trims,
    sequential: Option<Sequential>,
    takes_sequential: bool,
    good_blocks: usize,
    footprint: Footprint,
}

impl Scheme for Fast {
    const ENTRY: Entry = Entry {
        name: "fast",
        family: "log-buffer",
        source: "T 3.2.2, fig. 3.1; A II; Lee 2007",
        parameters: &[
            Parameter {
                name: "log_space",
                kind: Kind::Ratio { min: 0.0001, max: 1.0 },
                default: "0.03",
                meaning: "Log blocks as a share of data blocks, rounded up, at least 2; more delays merges and needs more spare blocks.",
                source: "T 3.2.2 (3 %)",
            },
            Parameter {
                name: "log_blocks",
                kind: Kind::Integer { min: 0, max: u32::MAX as u64 },
                default: "0",
                meaning: "Log blocks as a number, at least 2 with a sequential block; 0 leaves it to log_space.",
                source: "ftlkit",
            },
            Parameter {
                name: "sequential",
                kind: Kind::Switch,
                default: "true",
                meaning: "Whether one of the log blocks takes sequential streams; without it offset-0 writes go to the random log.",
                source: "T 3.2.2",
            },
        ],
        header: include_str!("fast.rs"),
    };

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let sequential = values.switch("sequential");
        let least = 1 + u32::from(sequential);
        let blocks = match values.integer("log_blocks") as u32 {
            0 => ((f64::from(layout.logical_blocks()) * values.ratio("log_space")).ceil() as u32).max(least),
            given if given < least => {
                return Err(ConfigError(format!(
                    "fast.log_blocks = {given}: at least {least} are needed; give {least} or more, or 0"
                )));
            }
            given => given,
        };
        let needs = format!("{blocks} log blocks and one to merge into");
        let spares = DataBlocks::require(layout, "fast", blocks.saturating_add(1), &needs)?;
        let log_pages = u64::from(blocks) * u64::from(layout.geometry.pages_per_block());
        Ok(Self {
            data: DataBlocks::new(layout, spares),
            log: LogSpace::new(layout, blocks - u32::from(sequential)),
            trims: Trims::default(),
            sequential: None,
            takes_sequential: sequential,
            good_blocks: layout.good_blocks.len(),
            footprint: Footprint::default().with("block map", 4 * u64::from(layout.logical_blocks()), 0).with(
                "log map",
                4 * log_pages,
                0,
            ),
        })
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, media: &mut Media<D>) -> Result<Self, RecoverError> {
        let mut fast = Self::format(&layout.in_use(), values)?;
        let scanned = Scanned::of(media, layout)?;
        let newest = scanned.newest(layout.logical_pages);
        let Claims { by_block, log } = Claims::of(&scanned, layout);
        let log = scanned.without_copies(layout, &newest, log);
        fast.data.nothing_free();
        fast.log.adopt(&log);
        let mut in_log = vec![false; layout.logical_pages as usize];
        for (lpn, ppn) in scanned.newest_in_log(&newest) {
            fast.log.set_newest(lpn, Some(ppn));
            in_log[lpn.index()] = true;
        }
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
        media.together(free, |media, pbn| fast.data.retire(media, pbn))?;
        for (lbn, claims) in homes {
            FtlError::unless_read_only(fast.settle(media, lbn, &claims, &newest))?;
        }
        Ok(fast)
    }
}

impl<D: Device> Ftl<D> for Fast {
    fn read(&mut self, media: &mut Media<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        media.together(request.lpns(), |media, (i, lpn)| {
            out[i] = match merge::newest(&self.data, &self.log, lpn) {
                Some(ppn) => media.read(ppn)?.data,
                None => D::Data::default(),
            };
            Ok(())
        })
    }

    fn write(&mut self, media: &mut Media<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.data.spares().admit()?;
        for (i, lpn) in request.lpns() {
            self.write_page(media, lpn, data[i].clone())?;
        }
        Ok(())
    }

    fn trim(&mut self, media: &mut Media<D>, request: &Request) -> Result<(), FtlError> {
        for run in request.block_runs(self.data.geometry()) {
            for offset in run.first..run.first + run.pages {
                let lpn = self.data.geometry().logical_page(run.lbn, offset);
                if merge::newest(&self.data, &self.log, lpn).is_some() {
                    self.log.set_newest(lpn, None);
                    self.data.set_current(lpn, false);
                    self.trims.trimmed(lpn);
                }
            }
            media.because(Cause::Collection, |media| self.retire_if_empty(media, run.lbn))?;
        }
        Ok(())
    }

    fn flush(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        if self.trims.pending_runs().is_empty() {
            return Ok(());
        }
        self.data.spares().admit()?;
        media.because(Cause::Merge, |media| self.write_trims_down(media))
    }

    fn check(&self, media: &Media<D>) -> Result<(), BrokenInvariant> {
        self.data.check(media, "I1", "I2")?;
        self.log.check(media, "I3")?;
        for lpn in (0..self.data.logical_pages()).map(Lpn::new) {
            let both = self.data.is_current(lpn) && self.log.newest(lpn).is_some();
            BrokenInvariant::unless(!both, "I1", || {
                format!("{lpn} is current in its data block and newest in the log")
            })?;
        }
        let known = self.data.mapped_blocks()
            + self.data.free_blocks()
            + self.log.len()
            + usize::from(self.sequential.is_some());
        let good = self.data.accounted_for(self.good_blocks);
        BrokenInvariant::unless(good.is_none_or(|good| known == good), "I4", || {
            format!("{known} blocks are in use or free, but the device has {good:?} good ones")
        })
    }

    fn spares(&self) -> Spares {
        self.data.spares()
    }

    fn footprint(&self) -> Footprint {
        self.footprint.clone()
    }

    fn gauges(&self) -> Vec<Gauge> {
        let sequential = self.sequential.map_or(0, |sequential| sequential.filled);
        vec![Gauge { name: "log_utilisation", value: self.log.utilisation(sequential) }]
    }
}

impl Fast {
    fn write_page<D: Device>(&mut self, media: &mut Media<D>, lpn: Lpn, data: D::Data) -> Result<(), FtlError> {
        let (lbn, offset) = self.data.geometry().split_logical(lpn);
        if let Some(home) = self.home(media, lbn, offset)? {
            let log = &self.log;
            let current = |data: &DataBlocks, offset| {
                let lpn = data.geometry().logical_page(lbn, offset);
                (data.is_current(lpn) && log.newest(lpn).is_none()).then_some(lpn)
            };
            let block = self.data.program(media, home, offset, data_label(lpn, lbn), &Content::New(data), &current)?;
            if block != home {
                self.data.remap(lbn, Some(block));
            }
            self.data.set_current(lpn, true);
            self.log.set_newest(lpn, None);
            self.trims.overwritten(lpn);
            return Ok(());
        }
        if self.takes_sequential && offset == 0 {
            self.begin_sequential(media, lbn)?;
        }
        match self.sequential {
            Some(sequential) if sequential.lbn == lbn && sequential.filled == offset => {
                self.append_sequential(media, lpn, data)?;
            }
            _ => {
                self.make_room(media)?;
                let label = Label::of(lpn.get(), Role::RandomLog, lbn);
                let at = self.log.append(media, &mut self.data, label, data)?;
                self.log.set_newest(lpn, Some(at));
            }
        }
        self.data.set_current(lpn, false);
        self.trims.overwritten(lpn);
        Ok(())
    }

    /// The data block, if the page can be programmed there in its place; a logical block's first page gets it one.
    fn home<D: Device>(&mut self, media: &Media<D>, lbn: Lbn, offset: u32) -> Result<Option<Pbn>, FtlError> {
        if let Some(pbn) = self.data.block(lbn) {
            return Ok(self.data.fits_in_place(media, pbn, offset).then_some(pbn));
        }
        let pbn = self.data.take_free("a new logical block")?;
        self.data.remap(lbn, Some(pbn));
        Ok(Some(pbn))
    }

    fn begin_sequential<D: Device>(&mut self, media: &mut Media<D>, lbn: Lbn) -> Result<(), FtlError> {
        self.merge_sequential(media)?;
        let block = self.data.take_free("the sequential log block")?;
        self.sequential = Some(Sequential { block, lbn, filled: 0 });
        Ok(())
    }

    fn append_sequential<D: Device>(&mut self, media: &mut Media<D>, lpn: Lpn, data: D::Data) -> Result<(), FtlError> {
        let Some(Sequential { block, lbn, filled }) = self.sequential else { return Ok(()) };
        let log = &self.log;
        let newest = |data: &DataBlocks, offset| {
            let lpn = data.geometry().logical_page(lbn, offset);
            (log.newest(lpn) == Some(data.geometry().page(block, offset))).then_some(lpn)
        };
        let label = Label::of(lpn.get(), Role::SequentialLog, lbn);
        let to = self.data.program(media, block, filled, label, &Content::New(data), &newest)?;
        if to != block {
            self.log.move_block(block, to);
        }
        self.sequential = Some(Sequential { block: to, lbn, filled: filled + 1 });
        self.log.set_newest(lpn, Some(self.data.geometry().page(to, filled)));
        Ok(())
    }

    fn merge_sequential<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        let Some(Sequential { block, lbn, filled }) = self.sequential else { return Ok(()) };
        media
            .because(Cause::Merge, |media| merge::in_place(media, &mut self.data, &mut self.log, block, lbn, filled))?;
        self.sequential = None;
        Ok(())
    }

    fn make_room<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        if self.log.has_room() {
            return Ok(());
        }
        if self.log.is_full()
            && let Some(victim) = self.log.pop()
        {
            media
                .because(Cause::Merge, |media| self.merge_victim(media, victim))
                .inspect_err(|_| self.log.push_front(victim))?;
        }
        let block = self.data.take_free("a log block")?;
        self.log.push(block);
        Ok(())
    }

    fn merge_victim<D: Device>(&mut self, media: &mut Media<D>, victim: Pbn) -> Result<(), FtlError> {
        let pages: Vec<Lpn> = self.log.newest_in(media, victim).collect();
        for lpn in pages {
            // An earlier merge of the same logical block may have taken this page along.
            if self.log.newest(lpn).is_some_and(|ppn| self.data.geometry().block_of(ppn) == victim) {
                let (lbn, _) = self.data.geometry().split_logical(lpn);
                merge::full(media, &mut self.data, &mut self.log, lbn)?;
                self.drop_sequential(media, lbn)?;
            }
        }
        self.data.retire(media, victim)
    }

    /// Erases the sequential block if it serves a logical block whose pages have all moved elsewhere.
    fn drop_sequential<D: Device>(&mut self, media: &mut Media<D>, lbn: Lbn) -> Result<(), FtlError> {
        match self.sequential {
            Some(sequential) if sequential.lbn == lbn => {
                self.sequential = None;
                self.data.retire(media, sequential.block)
            }
            _ => Ok(()),
        }
    }

    /// Makes pending trims survive a power cut: full merges leave the trimmed pages behind, and a page of the log says which
    /// copies in older log blocks are void.
    fn write_trims_down<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        for (first, extent) in self.trims.pending_runs() {
            for run in Request::new(Lpn::new(first), extent).block_runs(self.data.geometry()) {
                if self.data.block(run.lbn).is_some() {
                    merge::full(media, &mut self.data, &mut self.log, run.lbn)?;
                    self.drop_sequential(media, run.lbn)?;
                }
            }
            self.make_room(media)?;
            self.log.append(media, &mut self.data, Trims::label(first, extent), D::Data::default())?;
            self.trims.settled(first, extent);
        }
        Ok(())
    }

    /// Makes one home of the blocks that claim a logical block, of which each holds something that the others do not.
    fn settle<D: Device>(
        &mut self,
        media: &mut Media<D>,
        lbn: Lbn,
        claims: &[Claim],
        newest: &[Option<Newest>],
    ) -> Result<(), FtlError> {
        let newest_at = |lpn: u32, version: u64| newest[lpn as usize].is_some_and(|found| found.version == version);
        let Some((home, others)) = claims.split_first() else { return Ok(()) };
        let current =
            home.pages.iter().filter(|&(&lpn, &(_, version))| newest_at(lpn, version)).map(|(&lpn, _)| Lpn::new(lpn));
        self.data.adopt(lbn, home.block, current.filter(|&lpn| self.log.newest(lpn).is_none()).collect::<Vec<_>>());
        if others.is_empty() {
            return Ok(());
        }
        for (&lpn, &(ppn, version)) in others.iter().flat_map(|claim| &claim.pages) {
            let lpn_ = Lpn::new(lpn);
            if newest_at(lpn, version) && merge::newest(&self.data, &self.log, lpn_).is_none() {
                self.log.set_newest(lpn_, Some(ppn));
            }
        }
        merge::full(media, &mut self.data, &mut self.log, lbn)?;
        others.iter().try_for_each(|claim| self.data.retire(media, claim.block))
    }

    fn retire_if_empty<D: Device>(&mut self, media: &mut Media<D>, lbn: Lbn) -> Result<(), FtlError> {
        if self.data.pages_of(lbn).any(|(_, lpn)| merge::newest(&self.data, &self.log, lpn).is_some()) {
            return Ok(());
        }
        self.drop_sequential(media, lbn)?;
        match self.data.remap(lbn, None) {
            Some(pbn) => self.data.retire(media, pbn),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Note;
    use crate::mapping::testing::{TestDevice, device, layout};
    use std::collections::BTreeMap;

    /// Two logical blocks of four pages, filled; one sequential and `random` random log blocks.
    fn filled(random: u32) -> (Media<TestDevice>, Fast) {
        let (mut media, layout) = (device(12, 4), layout(12, 4, 8));
        let settings = BTreeMap::from([("log_blocks".to_owned(), (random + 1).to_string())]);
        let values = Values::check("fast", Fast::ENTRY.parameters, &settings).expect("valid");
        let mut fast = Fast::format(&layout, &values).expect("fits");
        write(&mut fast, &mut media, &[0, 1, 2, 3, 4, 5, 6, 7]);
        (media, fast)
    }

    fn write(fast: &mut Fast, media: &mut Media<TestDevice>, pages: &[u32]) {
        for &page in pages {
            fast.write(media, &Request::new(Lpn::new(page), 1), &[()]).expect("legal");
            Ftl::check(fast, media).expect("invariants");
        }
    }

    fn merges(media: &Media<TestDevice>) -> [u64; 3] {
        [Note::SwitchMerge, Note::PartialMerge, Note::FullMerge].map(|note| media.tally().note(note))
    }

    /// T fig. 3.1 (a): pages 0 to 3 in order, then another stream: the log block becomes the data block, one erase.
    #[test]
    fn a_complete_sequential_block_is_switched() {
        let (mut media, mut fast) = filled(1);
        write(&mut fast, &mut media, &[0, 1, 2, 3, 4]);
        assert_eq!(merges(&media), [1, 0, 0]);
        assert_eq!(
            (media.tally().count(Cause::Merge, crate::Op::Program), media.tally().total(crate::Op::Erase)),
            (0, 1)
        );
    }

    /// T fig. 3.1 (b): pages 0 and 1, then another stream: pages 2 and 3 are copied, one erase.
    #[test]
    fn an_incomplete_sequential_block_is_completed() {
        let (mut media, mut fast) = filled(1);
        write(&mut fast, &mut media, &[0, 1, 4]);
        assert_eq!(merges(&media), [0, 1, 0]);
        assert_eq!(
            (media.tally().count(Cause::Merge, crate::Op::Program), media.tally().total(crate::Op::Erase)),
            (2, 1)
        );
    }

    /// T fig. 3.1 (c): updates of both logical blocks share a log block; when it leaves, both are merged: 2 b copies and
    /// 2 + 1 erases (A eq. 1 with A(L) = 2).
    #[test]
    fn a_shared_log_block_costs_a_full_merge_for_each_logical_block() {
        let (mut media, mut fast) = filled(1);
        write(&mut fast, &mut media, &[1, 5, 2, 6, 7]);
        assert_eq!(merges(&media), [0, 0, 2]);
        assert_eq!(
            (media.tally().count(Cause::Merge, crate::Op::Program), media.tally().total(crate::Op::Erase)),
            (8, 3)
        );
    }

    /// A page of the sequential block is overwritten in the random log, whose block then leaves: the full merge empties the
    /// sequential block, which must not come back as a data block.
    #[test]
    fn a_sequential_block_emptied_by_a_full_merge_is_erased() {
        let (mut media, mut fast) = filled(1);
        write(&mut fast, &mut media, &[0, 1, 1, 1, 1, 1, 5]);
        assert_eq!(merges(&media), [0, 0, 1]);
        assert!(fast.sequential.is_none());
    }
}
