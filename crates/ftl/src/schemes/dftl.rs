//! # dftl: page mapping with the map on flash
//!
//! ## Idea
//! The page map is too large for RAM, so it lives in translation pages on flash, found by a small
//! directory in RAM (GTD). The entries in use are cached (CMT). A miss costs one read; an entry
//! that leaves the cache changed costs a read and a write of its translation page, and takes all
//! changed entries of that page with it. Workloads with locality thus run almost as with a full map
//! in RAM.
//!
//! ```text
//!   LPN ─▶ CMT ──hit──▶ PPN
//!           │miss                      flash: [data]…  [data]…  [translation]…
//!           └─▶ GTD ─▶ translation page ───────────────────────────┘
//! ```
//!
//! ## Source
//! RFTL 2-3, Wang 2013 3.2.3; Gupta 2009.
//!
//! ## Departures
//! - Pages go to all dies in turn, since devices of today have several. Gupta 2009 speaks of one
//!   current data block and one current translation block; `placement = "single"` fills one of
//!   each. Collected pages have blocks of their own, on the die that is collected.
//! - Whenever a translation page is written, for whatever reason, all changed cached entries of it
//!   are written with it.
//! - Victims of garbage collection are chosen among data and translation blocks alike, by the same
//!   policy.
//! - A translation page that cannot be read is rebuilt from what it said, without the scan that a
//!   controller would need.
//! - One block is set aside for translation pages that a collection has to write when no die can
//!   lend one; it is replaced by collecting translation blocks, which never needs mapping updates
//!   itself.
//!
//! ## State
//! RAM: CMT, 8 B an entry (LPN and PPN); GTD, 4 B × translation pages. Flash: translation pages of
//! `page_size / mapping_bytes` entries; data pages. Tags carry the LPN or the translation page
//! number. (What the entries say, the simulation keeps beside the flash.) Under a wear policy that
//! moves blocks, what it moves of data blocks has open blocks of its own, one per die, paid out of
//! the spare; and a block that is set aside is exchanged for another free one of its die when the
//! policy names it.
//!
//! ## Read
//! 1. `lookup`: a hit is free; a miss first makes room in the CMT, then reads the translation page.
//! 2. The data page.
//!
//! ## Write
//! 1. `lookup`, as for a read.
//! 2. Program the page, then change the cached entry; the old page is released.
//!
//! ## Reclaim
//! 1. `reclaim` collects on one die until more than `gc_threshold` blocks are free there.
//! 2. `collect_data`: moved pages whose entries are cached change only there; the others are sorted
//!    by translation page, and each translation page concerned is rewritten once.
//! 3. `collect_translation`: translation pages are moved, the GTD is changed.
//! 4. With `gc = paced` victims are emptied step by step as the host writes (`pacing.rs`). A step
//!    of data pages takes along those of the block that the same translation page maps.
//! 5. With `gc_idle`, `collect_in_idle` collects in idle time what fits into it.
//! 6. With a classifier (`streams`) data pages are separated as under `page`.
//!
//! ## Recover
//! 1. Of each LPN the highest version among all tags of data and trim pages wins. Translation pages
//!    are not needed for that, and may be older than the data: their blocks are erased. With
//!    `checkpoint` a filled block's summary tells its tags (`recovery/summary.rs`).
//! 2. `rewrite_table` writes them anew; the cache starts empty.
//!
//! ## Invariants
//! - I1: an LPN that is mapped (by its cached entry, else by its translation page) points to a
//!   valid page that carries it.
//! - I2: there are as many valid pages as mapped LPNs, written translation pages and needed trim
//!   pages together.
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//! - I4: each written translation page lies where the GTD says; unwritten ones map nothing, unless
//!   the device is read-only and so they cannot be written.
//! - I5: an entry that is newer than its translation page is in RAM.
//!
//! ## Costs
//! An access costs 1 − h mapping reads for the miss, plus a read and a write of a translation page
//! for each dirty eviction; h follows Che's approximation for plain LRU.

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{AccessDelays, Values, joined};
use crate::classifiers;
use crate::engines::demand::machine::{self, TRANSLATION};
use crate::engines::demand::mapping_cache::{self, MappingCache};
use crate::engines::demand::policy::{DemandScheme, RAM_DELAYS, Ram};
use crate::engines::page_map::classes::Classes;
use crate::engines::page_map::idle::GC_IDLE;
use crate::engines::page_map::mapped::HOST;
use crate::engines::page_map::placement::{self, Placement};
use crate::port::error::ConfigError;

/// Demand-paged page-level mapping.
pub struct Dftl;

impl DemandScheme for Dftl {
    const ENTRY: Entry = Entry {
        name: "dftl",
        family: "demand-paged",
        capabilities: Capabilities::FILLS_BLOCKS_UP,
        memory: Memory::CACHED_MAP,
        source: "RFTL 2-3, Wang 2013 3.2.3; Gupta 2009",
        parameters: &joined::<17>(&[
            &[placement::PARAMETER],
            &mapping_cache::PARAMETERS,
            &machine::PARAMETERS,
            &RAM_DELAYS,
            &[GC_IDLE, classifiers::STREAMS],
        ]),
        header: include_str!("dftl.rs"),
    };

    type Cache = MappingCache;

    type ForeignPages = ();

    fn placement(values: &Values) -> Placement {
        Placement::from_values(values, &[HOST, TRANSLATION])
    }

    fn classes(layout: &Layout, values: &Values) -> Result<Option<Classes>, ConfigError> {
        classifiers::from_values(values, layout, &["separate"], Self::STREAMS.len())
    }

    fn gc_idle(values: &Values) -> usize {
        values.integer(GC_IDLE.name) as usize
    }

    fn delays(values: &Values) -> AccessDelays {
        AccessDelays::from_values(values, RAM_DELAYS.map(|parameter| parameter.name))
    }

    fn cache(layout: &Layout, values: &Values) -> Result<(MappingCache, Ram), ConfigError> {
        MappingCache::from_values(layout, values)
    }
}
