//! # superblock: page mapping inside groups of blocks
//!
//! ## Idea
//! N neighbouring logical blocks form a superblock, which has up to N + K physical blocks. Inside
//! it any page may lie anywhere, and the pages that the host writes are kept apart from those that
//! a collection moves. What is reclaimed is reclaimed inside the superblock, so sequential and
//! random writes need not be told apart and no merge ever gathers a logical block. The page map of
//! a logical block travels in the spare areas of its pages; a few are cached, and a miss reads it
//! back.
//!
//! ```text
//!   superblock   [0'][5][2][7']  [1][3][4][6]  [0"][7"][ ][ ]      N = 2, K = 1
//!   map cache    [0: …][1: …]                                      one part for each logical block
//! ```
//!
//! ## Source
//! Wang 2013 3.2.2, A-SAST, reference 9; Kang 2006.
//!
//! Of Kang 2006, and of its longer form (Jung 2010), only abstracts could be had. They agree in
//! this: adjacent logical blocks are mapped together, pages lie anywhere inside, and their map is
//! in the spare area. What leaves first could not be checked.
//!
//! ## Departures
//! - Blocks for updates come from a log space shared by all superblocks. When it is used up, a
//!   superblock that has none of it takes one from the superblock that was not written for the
//!   longest time, by collecting there.
//! - Where a superblock may not open a block, the host's pages fill up the block that a collection
//!   has left open.
//! - Kang 2006 finds a page's entry in three steps through spare areas. Here a miss reads two: that
//!   of the superblock's last page, for where the map is, and that of the logical block's last
//!   page, for the map.
//!
//! ## State
//! RAM: the cached parts of the map, 2 B × pages of a block each; where each superblock's last page
//! lies, 4 B × superblocks. Flash: tags carry LPN and role, and stand for the map in the spare
//! area; `log_space` of the data blocks' number as blocks for updates.
//!
//! ## Read
//! 1. `look_up` reads the logical block's part of the map unless it is cached;
//! 2. then the page.
//!
//! ## Write
//! 1. `look_up`, then `place`: the next page of the superblock's open block, after collections if
//!    there is no room.
//!
//! ## Reclaim
//! 1. `collect`: of the superblock's blocks the one with the fewest valid pages; they move to its
//!    block for collected pages.
//! 2. Blocks with a failed page are emptied before the next write and marked bad.
//!
//! ## Recover
//! 1. Of each logical page the copy with the highest version counts; of several blocks with the
//!    same copies one is given up. Blocks without a needed page are erased, all others belong to
//!    the superblock of their pages and are not filled further.
//! 2. Trims survive as in page: a flush writes a page for each run of trimmed pages of a
//!    superblock.
//!
//! ## Invariants
//! - I1: every mapped LPN maps to a valid page that carries that LPN, in a block of its superblock.
//! - I2: valid pages = mapped LPNs + needed trim pages.
//! - I3: no block is used twice; free blocks are erased.
//! - I4: no superblock has more blocks than N + K, but for one that a collection is filling, those
//!   that fail, and those that had failed before a power cut and were not yet empty: it never gets
//!   more than recovery found, and loses them by collections.
//!
//! ## Costs
//! Inside a superblock as page mapping: at a utilisation of N / (N + K), without cache misses.

mod groups;
mod page_table;
mod spare_map;

use flash::{Flash, Geometry, Lpn, Pbn, Ppn, Role, Tag};
use host::Hint;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::mapping::{Mapping, Scheme, WearQuery};
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::report::{Footprint, Gauge, Spares};
use crate::api::request::Request;
use crate::api::wear::{BlockUse, RelocateOutcome};
use crate::blocks::manager::BlockManager;
use crate::engines::log_buffer::policy::{LOG_BLOCKS, LOG_SPACE, log_blocks};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;
use crate::recovery::scan::DeviceScan;
use crate::recovery::trims::Trims;
use crate::schemes::superblock::groups::{Step, Stream, Superblocks};
use crate::schemes::superblock::page_table::PageTable;
use crate::schemes::superblock::spare_map::SpareMap;

/// Superblock-based translation.
pub struct Superblock {
    table: PageTable,
    superblocks: Superblocks,
    blocks: BlockManager,
    map: SpareMap,
    geometry: Geometry,
}

const fn integer(name: &'static str, min: u64, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Integer { min, max: u32::MAX as u64 }, default, meaning, source: "Kang 2006" }
}

impl Scheme for Superblock {
    const ENTRY: Entry = Entry {
        name: "superblock",
        family: "log-buffer",
        capabilities: Capabilities::NONE,
        memory: Memory::LOG_MAP,
        source: "Wang 2013 3.2.2; Kang 2006",
        parameters: &[
            LOG_SPACE,
            LOG_BLOCKS,
            integer("n", 1, "8", "Logical blocks of a superblock; more share free pages better and need larger maps."),
            integer(
                "k",
                1,
                "2",
                "Blocks that a superblock may have beyond n; more makes collections cheaper and leaves less to others.",
            ),
            integer("map_cache", 1, "64", "Map parts in RAM, each of a logical block; a miss reads two spare areas."),
        ],
        header: include_str!("mod.rs"),
    };

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let extra = log_blocks("superblock", layout, values, 1)?;
        let spares = Superblocks::require(layout, "superblock", extra)?;
        let number = |name| values.integer(name) as u32;
        let superblocks = Superblocks::new(layout, number("n"), number("k"), extra);
        let map = SpareMap::new(layout.logical_blocks(), superblocks.count(), number("map_cache"));
        let (table, blocks) = (PageTable::new(layout.logical_pages), BlockManager::new(layout, spares));
        Ok(Self { table, superblocks, blocks, map, geometry: layout.geometry })
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        let mut superblock = Self::format(&layout.in_use(), values)?;
        let scanned = DeviceScan::of(flash, layout)?;
        let newest = scanned.newest(layout.logical_pages);
        let kept = scanned.keep_one_copy(layout, &newest);
        let owned = |&(ppn, tag): &(Ppn, Tag)| (ppn, superblock.superblocks.of_page(Lpn::new(tag.logical)).0);
        let pages: Vec<_> = kept.pages.iter().map(owned).collect();
        superblock.superblocks.adopt(flash, &mut superblock.blocks, layout, pages)?;
        superblock.table.adopt(&kept, &newest);
        let mut in_order = kept.pages;
        in_order.sort_by_key(|(_, tag)| tag.seq);
        for (ppn, tag) in in_order {
            superblock.programmed(Lpn::new(tag.logical), ppn);
        }
        Ok(superblock)
    }
}

impl<D: Device> Mapping<D> for Superblock {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            self.look_up(flash, lpn)?;
            let page = self.table.get(lpn).map(|ppn| flash.read(ppn)).transpose()?;
            out[i] = page.map_or_else(D::Data::default, |page| page.data);
            Ok(())
        })
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        for (i, lpn) in request.lpns() {
            self.look_up(flash, lpn)?;
            let page = (Label::new(lpn.get(), Role::Data), &self.blocks.content(request.hint, data[i].clone()));
            let to = self.place(flash, request.hint, page)?;
            self.table.set(lpn, Some(to)).into_iter().for_each(|old| self.superblocks.release(old));
        }
        Ok(())
    }

    fn trim(&mut self, _flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        for (_, lpn) in request.lpns() {
            self.table.set(lpn, None).into_iter().for_each(|old| self.superblocks.release(old));
        }
        Ok(())
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        flash.with_cause(Cause::Mapping, |flash| self.write_trims_down(flash))
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        if let Some(known) = self.blocks.needs_no_emptying(pbn) {
            return Ok(known);
        }
        self.empty_failing(flash)?;
        if self.blocks.use_of(pbn) != BlockUse::Bad {
            flash.note(Note::RelocatedBlock);
            flash.with_cause(Cause::WearLevelling, |flash| self.collect(flash, pbn))?;
        }
        Ok(self.blocks.fate_of(pbn))
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.blocks.with_wear_policy(None, query);
    }

    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        let mapped = self.table.iter().count() as u64;
        for (lpn, ppn) in self.table.iter() {
            let is_ours = self.superblocks.owner(self.geometry.block_of(ppn)) == self.superblocks.of_page(lpn).0;
            let holds = is_ours && self.superblocks.is_valid(ppn) && flash.chip().peek(ppn) == Some(lpn.get());
            BrokenInvariant::unless(holds, "I1", || format!("{lpn} maps to {ppn}, which is invalid or not its own"))?;
        }
        let (valid, trims) = (self.superblocks.valid_pages(), self.table.trims.pages().count() as u64);
        BrokenInvariant::unless(mapped + trims == valid, "I2", || {
            format!("{mapped} mapped LPNs and {trims} trim pages, but {valid} valid pages")
        })?;
        self.superblocks.check(flash, &self.blocks, "I3", "I4")
    }

    fn spares(&self) -> Spares {
        self.blocks.spares()
    }

    fn footprint(&self) -> Footprint {
        let [cache, superblocks] = self.map.ram_bytes(&self.geometry);
        Footprint::default().with("map cache", cache, 0).with("superblocks", superblocks, 0)
    }

    fn gauges(&self) -> Vec<Gauge> {
        vec![Gauge { name: "log_blocks", value: f64::from(self.superblocks.extra()) }]
    }
}

impl Superblock {
    /// Has the part of the map with a page's entry in RAM.
    fn look_up<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<(), FtlError> {
        self.map.look_up(flash, lpn, self.superblocks.of_page(lpn))
    }

    fn programmed(&mut self, lpn: Lpn, ppn: Ppn) {
        let (superblock, lbn) = self.superblocks.of_page(lpn);
        self.map.programmed(superblock, lbn, ppn);
    }

    /// Programs a page of the host, which says this of it, after whatever makes room for it.
    fn place<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        hint: Hint,
        page: (Label, &Content<D::Data>),
    ) -> Result<Ppn, FtlError> {
        self.blocks.spares().admit()?;
        let lpn = Lpn::new(page.0.logical);
        let (superblock, _) = self.superblocks.of_page(lpn);
        let to = loop {
            self.empty_failing(flash)?;
            if let Step::Collect(victim) = self.superblocks.prepare(&mut self.blocks, superblock, hint)? {
                flash.note(Note::Collection);
                flash.with_cause(Cause::Collection, |flash| self.collect(flash, victim))?;
            } else if let Some(to) = self.superblocks.program(flash, &mut self.blocks, superblock, Stream::Hot, page)? {
                break to;
            }
        };
        self.superblocks.on_written(superblock);
        self.programmed(lpn, to);
        Ok(to)
    }

    /// Empties blocks of which a page could not be programmed.
    fn empty_failing<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        while let Some(pbn) = self.superblocks.failing() {
            flash.note(Note::Collection);
            flash.with_cause(Cause::Relocation, |flash| self.collect(flash, pbn))?;
        }
        Ok(())
    }

    /// Moves the valid pages of a block to another one of its superblock, and erases it.
    fn collect<D: Device>(&mut self, flash: &mut FlashPort<D>, victim: Pbn) -> Result<(), FtlError> {
        for from in self.superblocks.begin_emptying(victim) {
            let (label, content) = self.table.read_for_copy(flash, from)?;
            let to = self.place_moved(flash, victim, label, &content)?;
            self.table.on_moved(label, from, to);
            self.superblocks.release(from);
        }
        for (lpn, version) in self.table.replacements(flash, self.geometry.page_indices(victim))? {
            let content =
                version.map_or_else(|| Content::New(D::Data::default()), |old| Content::empty(lpn.get(), old));
            let to = self.place_moved(flash, victim, Trims::label(lpn.get(), 1), &content)?;
            self.table.trims.on_replaced(lpn, to, version.unwrap_or(flash.last_version()));
        }
        let superblock = self.superblocks.owner(victim);
        self.map.on_erased(&self.geometry, superblock, self.superblocks.members(superblock), victim);
        self.superblocks.reclaim(flash, &mut self.blocks, victim)
    }

    fn place_moved<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        victim: Pbn,
        label: Label,
        content: &Content<D::Data>,
    ) -> Result<Ppn, FtlError> {
        let superblock = self.superblocks.owner(victim);
        loop {
            if let Some(to) =
                self.superblocks.program(flash, &mut self.blocks, superblock, Stream::Cold, (label, content))?
            {
                self.programmed(Lpn::new(label.logical), to);
                return Ok(to);
            }
        }
    }

    /// Makes pending trims survive a power cut: a page for each run of trimmed pages of one
    /// superblock, all at the same time.
    fn write_trims_down<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        let runs = self.table.pending_runs_within(|lpn| self.superblocks.of_page(lpn).0);
        flash.in_parallel(runs, |flash, (first, extent)| {
            let to = self.place(flash, Hint::NONE, (Trims::label(first, extent), &Content::New(D::Data::default())))?;
            for page in self.table.trims.on_write(first, extent, to, flash.last_version()) {
                self.superblocks.release(page);
            }
            Ok(())
        })
    }
}
