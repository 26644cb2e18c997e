//! # cdftl: demand-paged mapping with translation pages cached behind single entries
//!
//! ## Idea
//! Neighbouring pages are often asked for together, and a miss reads their whole translation page
//! anyway. So besides the single entries of dftl (CMT) some translation pages are kept whole (CTP):
//! a first level for pages that are asked for again, a second one for their neighbours. Changed
//! entries that leave the first level fall into the second, and a translation page that is written
//! from there need not be read before.
//!
//! ```text
//!   LPN ─▶ CMT ──miss──▶ CTP ──miss──▶ GTD ─▶ translation page on flash
//!           └─ leaves ───▲ └─ leaves, if newer ──────▲
//! ```
//!
//! ## Source
//! Wang 2013 3.2.3 and fig. 3.2; Qin 2011.
//!
//! ## Departures
//! - A changed entry whose translation page has left the CTP can no longer fall there. When it
//!   leaves the CMT, its translation page is written as in dftl, with all changed entries.
//! - A hit in the CTP moves the entry to the CMT unless another one would have to be written for
//!   that.
//! - Wang 2013 gives no sizes: by default both levels take the same RAM.
//! - Otherwise as dftl: victims among data and translation blocks alike, one block set aside for
//!   translation pages.
//!
//! ## State
//! RAM: CMT, 8 B an entry; CTP, a page each; GTD, 4 B × translation pages. Flash: as dftl.
//!
//! ## Read
//! 1. `lookup`: a hit on either level is free; a miss makes room on both, then reads the
//!    translation page.
//! 2. The data page.
//!
//! ## Write
//! 1. `lookup`, as for a read.
//! 2. Program the page, then change the cached entry; the old page is released.
//!
//! ## Reclaim
//! 1. As in dftl: dies collect data and translation blocks alike, by one policy.
//! 2. Moved data pages change their entries in either level; those that are in neither change their
//!    translation pages, each once.
//! 3. Moved translation pages change the GTD.
//!
//! ## Recover
//! 1. Of each LPN the highest version among all tags of data and trim pages wins. Translation pages
//!    are not needed for that, and may be older than the data: their blocks are erased.
//! 2. `rewrite_table` writes them anew; both levels start empty.
//!
//! ## Invariants
//! - I1: an LPN that is mapped (by the CMT, else by the CTP, else by its translation page) points
//!   to a valid page that carries it.
//! - I2: there are as many valid pages as mapped LPNs, written translation pages and needed trim
//!   pages together.
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//! - I4: each written translation page lies where the GTD says; unwritten ones map nothing, unless
//!   the device is read-only and so they cannot be written.
//! - I5: an entry that is newer than its translation page is in RAM.
//!
//! ## Costs
//! An access costs a mapping read for a miss on both levels, and a write for each changed
//! translation page that leaves the CTP.

mod two_level_cache;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::joined;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::demand::machine::{self, TRANSLATION};
use crate::engines::demand::mapping_cache;
use crate::engines::demand::policy::{DemandScheme, Ram};
use crate::engines::demand::translation::TranslationTable;
use crate::engines::page_map::mapped::HOST;
use crate::engines::page_map::placement::{self, Placement};
use crate::port::error::ConfigError;
use crate::schemes::cdftl::two_level_cache::TwoLevelCache;

const CMT: Parameter = Parameter { default: "32KiB", ..mapping_cache::CMT };
const CTP: Parameter = Parameter {
    name: "ctp",
    kind: Kind::Bytes { min: 512, max: 1 << 40, scales: true },
    default: "32KiB",
    meaning: "RAM of the cached translation pages, a flash page each; more serves more neighbours.",
    source: "ftlkit",
};

/// Demand-paged mapping with a two-level cache.
pub struct Cdftl;

impl DemandScheme for Cdftl {
    const ENTRY: Entry = Entry {
        name: "cdftl",
        family: "demand-paged",
        capabilities: Capabilities::FILLS_BLOCKS_UP,
        memory: Memory { page_bytes: 2.0, ram: &[CMT.name, CTP.name], entry_bytes: 8.0, ..Memory::PAGE_MAP },
        source: "Wang 2013 3.2.3; Qin 2011",
        parameters: &joined::<11>(&[&[placement::PARAMETER, CMT, CTP], &machine::PARAMETERS]),
        header: include_str!("mod.rs"),
    };

    type Cache = TwoLevelCache;

    type ForeignPages = ();

    fn placement(values: &Values) -> Placement {
        Placement::from_values(values, &[HOST, TRANSLATION])
    }

    fn cache(layout: &Layout, values: &Values) -> Result<(TwoLevelCache, Ram), ConfigError> {
        let page_bytes = u64::from(layout.geometry.page_size_bytes());
        let (entries, pages) = (mapping_cache::entries(layout, values)?, values.integer("ctp") / page_bytes);
        if pages == 0 {
            return Err(ConfigError(format!(
                "cdftl.ctp = {}: does not hold one translation page of {page_bytes} bytes; give at least that",
                values.integer("ctp")
            )));
        }
        let per_page = TranslationTable::entries_per_page(layout, values);
        let cache = TwoLevelCache::new(entries, pages as usize, layout.logical_pages, per_page);
        Ok((cache, vec![mapping_cache::ram(entries), ("cached translation pages", pages * page_bytes)]))
    }
}
