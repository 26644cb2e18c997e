//! # waftl: page-mapped and block-mapped data side by side, behind a buffer zone
//!
//! ## Idea
//! Everything is appended to a buffer zone first. When the zone is full it is migrated as a whole:
//! a logical block of which many pages have gathered is mapped as a whole (block mapping block,
//! BMB), the others page by page (page mapping block, PMB), and what a logical block has become
//! once it stays. So sequential data cost no page map, random data no merges. The zone's blocks,
//! and blocks that were replaced, hold nothing then: they are erased in idle time.
//!
//! ```text
//!   writes, read misses ─▶ zone [3.0][7.2][3.1][1.5~] …     BZMT: 3 → 2 pages, popularity 1 …
//!                            │ full
//!                        threshold ─┬─▶ BMB  [3.0][3.1][3.2][3.3]   GMT: 3 ─▶ block
//!                                   └─▶ PMB  [7.2][1.5][9.0][7.1]   GMT: 7 ─▶ −1, PMT: 7.2 ─▶ page
//! ```
//!
//! ## Source
//! WAFTL III.
//!
//! ## Departures
//! - The printed comment of algorithm 1 calls a new logical block one without an entry; here it has
//!   one again when all its pages have been trimmed at once.
//! - There is no `checkpoint`: a BMB fills its block to the last page, so what moves out of one
//!   would not fit a block that ends with a summary.
//! - Trimming some pages of a block-mapped logical block maps it page by page where it lies: no
//!   page is copied. The paper has no trims.
//! - "The most popular" is the logical block of highest popularity in the zone (`popular_top` of
//!   them). Popularity counts from when the zone was begun, with the request that began it.
//! - Eq. 2 is asked of the page counts with which logical blocks were placed, since the table shows
//!   no saving before the first step. It holds if the lowest threshold that is allowed saves
//!   enough, or, with `smaller_value = "next"`, if the next step does.
//! - PMBs are collected when free blocks fall below 20 % of the device, as printed, or below half
//!   of the blocks that data, zone and map leave if that is less: a device that is nearly full
//!   could never reach the former. Pages collected have blocks of their own, one open on each die.
//! - Without wear levelling in the stack, free blocks are taken by erase count, the youngest for
//!   the zone.
//!
//! ## State
//! RAM: GMT, 4 B × logical blocks; CPMT, 8 B an entry; BZMT, 4 B × zone pages + 12 B × logical
//! blocks that can be in the zone; the directory of translation pages, 4 B each; erase counts, 4
//! B × blocks. Flash: the page mapping table, at most 4 B × logical pages; the zone; tags carry LPN
//! and role, in BMBs the logical block too.
//!
//! ## Read
//! 1. The zone's copy, else that in the BMB, else what the PMT says, through the CPMT.
//! 2. `cache` appends what was not in the zone to it, clean; the host does not wait for that.
//!
//! ## Write
//! 1. `migrate` if the zone is full; by default the host does not wait for it, but its die may be
//!    busy;
//! 2. append to the zone, dies in turn.
//!
//! ## Reclaim
//! 1. `migrate`, for each logical block in the zone: of a BMB, if any page is dirty, all pages go
//!    to a fresh block; of page-mapped ones the dirty pages go to PMBs; a new one becomes a BMB if
//!    it is not the most popular and has as many pages as the threshold says. The map is updated
//!    once a logical block: its translation page is read once, if the CPMT lacks any entry, and
//!    with `batch_update = false` written once; with batches entries are written as they leave.
//! 2. `idle` erases dirty zones and replaced BMBs, as many as eqs. 3 and 4 say, each only if the
//!    period has not ended: a request waits for one erase at most.
//! 3. `collect_online` does so when less than `gc_free` is free, and collects PMBs, on the die with
//!    the fewest free blocks the one with the most invalid pages, if that was not enough.
//!
//! ## Recover
//! 1. Of each logical page the copy with the highest version counts. What lies in pages of the zone
//!    is in the zone and dirty; popularity begins anew.
//! 2. A logical block all of whose other pages lie in one block that claims it is a BMB, any other
//!    is page-mapped. A block that a migration was filling is not needed, since all it holds is
//!    elsewhere too; all blocks that are not needed are erased.
//! 3. Translation pages are written anew. Trims survive as in dftl.
//!
//! ## Invariants
//! - I1: an LPN that the PMT maps (by its cached entry, else by its translation page) points to a
//!   valid page that carries it.
//! - I2: there are as many valid pages as mapped LPNs, pages of the zone and of BMBs, written
//!   translation pages and needed trim pages together; on a device that became read-only meanwhile,
//!   pages of a BMB may be mapped both ways.
//! - I3: free blocks are erased and hold nothing valid.
//! - I4: each written translation page lies where the directory says; unwritten ones map nothing,
//!   unless the device is read-only.
//! - I5: an entry that is newer than its translation page is in RAM.
//! - I6: a page in the zone is valid and carries its LPN; I7: so does one of a BMB, at its own
//!   offset, and no collection takes the block.
//! - I8: no trim is pending or written for a page of a block-mapped logical block.
//!
//! ## Costs
//! A page written costs one program, and at its migration a read and a program in a PMB; b programs
//! and up to b reads for each BMB of b pages, b / k for each of the k pages that gathered. A page
//! that is read and not in the zone costs a program too, and its share of an erase, unless
//! `cache_reads = false`; the host does not wait for it, but later requests find its die busy.
//!
//! Gauges: `pmb_share`, the share of mapped logical blocks that are mapped by page;
//! `threshold_pages`, the threshold in force; `zone_fill`, the written share of the zone;
//! `spent_blocks`, dirty zones' blocks and replaced BMBs that wait for their erase;
//! `mapping_table_bytes`, the GMT and 4 B × pages of logical blocks that are mapped by page.

mod buffer_zone;
mod hybrid_map;
mod idle_erase;
mod migration;
mod parameters;
mod threshold;

use flash::{Pbn, ProgramOrder};

use self::idle_erase::{EraseQueue, IdleErasePolicy};
use self::threshold::Threshold;
use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::mapping::{Mapping, Scheme, WearQuery};
use crate::api::parameter::Values;
use crate::api::report::{Footprint, Gauge, Spares};
use crate::api::request::Request;
use crate::api::wear::{Purpose, RelocateOutcome};
use crate::engines::demand::machine::DemandPaged;
use crate::engines::demand::mapping_cache::MappingCache;
use crate::engines::demand::policy::{DemandScheme, Ram};
use crate::engines::page_map::mapped::PageMapped;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::port::timing::{FlashOp, Nanos};
use crate::recovery::summary::Summaries;
use crate::schemes::waftl::hybrid_map::{BlockMapping, HybridMap};

/// The page-mapped data and their map.
struct Map;

impl DemandScheme for Map {
    const ENTRY: Entry = Entry {
        name: "waftl",
        family: "demand-paged",
        capabilities: Capabilities::NONE,
        memory: Memory { page_bytes: 10.0, block_bytes: 155.0, ..Memory::PAGE_MAP },
        source: "WAFTL III",
        parameters: &parameters::ALL,
        header: include_str!("mod.rs"),
    };

    const STREAMS: &'static [Purpose] = &[Purpose::Data, Purpose::Collected, Purpose::Translation, Purpose::Log];

    type Cache = MappingCache;

    type ForeignPages = HybridMap;

    fn cache(layout: &Layout, values: &Values) -> Result<(MappingCache, Ram), ConfigError> {
        MappingCache::from_values(layout, values)
    }

    fn summaries(layout: &Layout, _values: &Values) -> Result<Summaries, ConfigError> {
        Ok(Summaries::none(layout.geometry))
    }
}

/// The workload adaptive scheme.
pub struct Waftl {
    pages: DemandPaged<Map>,
    threshold: Threshold,
    offline: IdleErasePolicy,
    spent: EraseQueue,
    /// Free blocks below which spent blocks, and PMBs, are collected.
    online: [usize; 2],
    caches_reads: bool,
    waits: bool,
    /// Whether a migration reads and writes the map for each page, not for each logical block.
    updates_by_page: bool,
    popular_top: usize,
    erase_counts_bytes: u64,
    bzmt_bytes: u64,
    gmt_bytes: u64,
}

impl Waftl {
    fn around(pages: DemandPaged<Map>, layout: &Layout, values: &Values) -> Self {
        let below = (values.ratio("gc_free") * layout.good_blocks.len() as f64).ceil() as usize;
        let zone_pages = pages.foreign_pages.zone.capacity();
        Self {
            threshold: Threshold::from_values(values, layout.geometry.pages_per_block()),
            offline: IdleErasePolicy::new(values.ratio("idle_weight")),
            spent: EraseQueue::default(),
            online: [below, below.min(pages.blocks.spares().total as usize / 2)],
            caches_reads: values.switch("cache_reads"),
            waits: values.word("migration") == "wait",
            updates_by_page: values.word("pmt_update") == "page",
            popular_top: values.integer("popular_top") as usize,
            erase_counts_bytes: 4 * u64::from(layout.geometry.blocks()),
            bzmt_bytes: 4 * zone_pages + 12 * zone_pages.min(layout.logical_blocks().into()),
            gmt_bytes: 4 * u64::from(layout.logical_blocks()),
            pages,
        }
    }
}

impl Scheme for Waftl {
    const ENTRY: Entry = Map::ENTRY;

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        if layout.program_order == ProgramOrder::Strict {
            return Err(ConfigError(
                "waftl leaves gaps in blocks that are mapped as a whole, which program_order = strict forbids; use ascending or any, or a page-mapped scheme".into(),
            ));
        }
        let layout = &idle_erase::ordered(layout, values);
        Ok(Self::around(DemandPaged::format(layout, values)?, layout, values))
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        let layout = &idle_erase::ordered(layout, values);
        Ok(Self::around(DemandPaged::recover(layout, values, flash)?, layout, values))
    }
}

impl<D: Device> Mapping<D> for Waftl {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        let mut missed = Vec::new();
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            let Some((page, in_zone)) = self.pages.read_newest(flash, lpn)? else {
                out[i] = D::Data::default();
                return Ok::<_, FtlError>(());
            };
            out[i] = page.data.clone();
            if !in_zone && self.caches_reads {
                missed.push((lpn, page));
            }
            Ok(())
        })?;
        if !missed.is_empty() && self.pages.blocks.spares().admit().is_ok() {
            FtlError::unless_read_only(flash.in_background(|flash| self.cache(flash, missed)))?;
        }
        self.on_accessed(request);
        Ok(())
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.pages.blocks.spares().admit()?;
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            self.make_room(flash)?;
            let content = self.pages.blocks.content(request.hint, data[i].clone());
            self.pages.append_to_zone(flash, (lpn, request.hint), &content, true)?;
            self.pages.trims.on_overwritten(lpn).into_iter().for_each(|ppn| self.pages.space.release(ppn));
            Ok::<_, FtlError>(())
        })?;
        self.on_accessed(request);
        self.pages.repair_after_write(flash)?;
        FtlError::unless_read_only(self.collect_online(flash))
    }

    fn observes_responses(&self) -> bool {
        self.threshold.is_dynamic()
    }

    fn on_response(&mut self, request: &Request, response: Nanos) {
        self.threshold.answered(request, response);
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        // What could not enter the table any more would be in it in part, and nothing may be taken
        // from either side then.
        self.pages.blocks.spares().admit()?;
        let geometry = *self.pages.foreign_pages.geometry();
        for run in request.block_runs(&geometry) {
            let whole = self.pages.foreign_pages.pages_of(run.lbn).count() == run.pages as usize;
            if !whole {
                self.pages.map_by_page(flash, run.lbn)?;
            }
            for offset in run.first..run.first + run.pages {
                self.trim_page(flash, geometry.logical_page(run.lbn, offset))?;
            }
            if whole {
                self.spent.add(self.pages.void_block(run.lbn));
                self.pages.foreign_pages.set_home(run.lbn, BlockMapping::Absent);
            }
        }
        Ok(())
    }

    fn uses_idle_time(&self) -> bool {
        true
    }

    fn idle(&mut self, flash: &mut FlashPort<D>, budget: Nanos) -> Result<(), FtlError> {
        let (end, mut done) = (flash.earliest() + budget, 0);
        while let Some(pbn) = self.spent.next()
            && self.pages.is_whole()
        {
            let (erase, left) = (flash.estimate(FlashOp::Erase, pbn), end.since(flash.earliest()));
            if done >= self.offline.blocks(erase) || !self.offline.would_begin(erase, left) {
                break;
            }
            self.spent.take();
            if self.is_clear(pbn) {
                FtlError::unless_read_only(self.erase(flash, pbn))?;
                done += 1;
            }
        }
        self.offline.ended(budget);
        Ok(())
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        self.pages.flush(flash)
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        if self.pages.blocks.needs_no_emptying(pbn).is_none()
            && let Some(lbn) = self.pages.foreign_pages.block_of(pbn)
        {
            let die = self.pages.space.die_of(pbn);
            let rewrite = |flash: &mut FlashPort<D>| self.pages.place_block(flash, lbn, Some(die));
            flash.in_background(|flash| flash.with_cause(Cause::WearLevelling, rewrite))?;
        }
        self.pages.relocate_block(flash, pbn)
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.pages.blocks.with_wear_policy(None, query);
    }

    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        self.pages.check(flash)?;
        let trimmed = self.pages.foreign_pages.block_mapped().map(|(lbn, _)| lbn).find(|&lbn| self.is_trimmed(lbn));
        BrokenInvariant::unless(trimmed.is_none(), "I8", || {
            format!("{trimmed:?} is block-mapped and has trimmed pages")
        })
    }

    fn footprint(&self) -> Footprint {
        let footprint = Mapping::<D>::footprint(&self.pages).with("global mapping table", self.gmt_bytes, 0);
        footprint.with("buffer zone mapping tree", self.bzmt_bytes, 0).with("erase counts", self.erase_counts_bytes, 0)
    }

    fn spares(&self) -> Spares {
        Mapping::<D>::spares(&self.pages)
    }

    fn gauges(&self) -> Vec<Gauge> {
        let [page_mapped, block_mapped] = self.pages.foreign_pages.counts().map(f64::from);
        let pages_per_block = f64::from(self.pages.foreign_pages.geometry().pages_per_block());
        let dirty = self.spent.iter().filter(|&pbn| self.pages.space.is_spent(pbn)).count();
        let mut gauges = vec![
            Gauge { name: "pmb_share", value: page_mapped / (page_mapped + block_mapped).max(1.0) },
            Gauge { name: "threshold_pages", value: f64::from(self.threshold.pages()) },
            Gauge { name: "zone_fill", value: self.pages.foreign_pages.zone.fill_ratio() },
            Gauge { name: "spent_blocks", value: dirty as f64 },
            Gauge { name: "mapping_table_bytes", value: self.gmt_bytes as f64 + 4.0 * pages_per_block * page_mapped },
        ];
        gauges.extend(self.threshold.loss().map(|value| Gauge { name: "response_loss", value }));
        gauges
    }
}

#[cfg(test)]
mod tests;
