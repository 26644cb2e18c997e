//! # tpftl: demand-paged mapping that caches entries by translation page
//!
//! ## Idea
//! What a dirty eviction costs is a translation page, and a miss reads one whole. So the cached
//! entries are kept by translation page: one read brings in all that a request needs of its page,
//! and the entries after those that went before; one write cleans all of a page that is left. Pages
//! leave by their entries' mean recency, coldest first, and clean entries before changed ones. An
//! entry needs no page number beside it, so that more of them fit.
//!
//! ```text
//!   cold                                   hot
//!   page 7 ──── page 2 ──── page 9 ──── page 0      by mean recency of their entries
//!    │ old       │           │           │
//!    ▼           ▼           ▼           ▼
//!   entries by recency, clean ones leave first
//! ```
//!
//! ## Source
//! Zhou 2015.
//!
//! ## Departures
//! - Built from what others say of Zhou 2015, whose text was not at hand: how recency is counted,
//!   what comes along with a miss, and sizes in RAM are choices made here.
//! - Recency counts accesses; an entry that was brought in ahead has the time of the miss.
//! - Entries brought in ahead take the places of clean entries of one translation page, and of none
//!   that came with the same miss. Fewer places make fewer entries.
//! - Of a request that reads or writes several pages, what lies in the translation page of a miss
//!   comes with it; with selective prefetching at least as many as entries cached before it.
//! - Selective prefetching is off at first. After a fill in order there is one node or two, so
//!   reads of single pages in order never turn it on.
//! - A node takes 8 B, for the number of its page and its list.
//! - Otherwise as dftl: victims among data and translation blocks alike, one block set aside for
//!   translation pages.
//!
//! ## State
//! RAM: cached entries, 6 B each, and 8 B for each translation page that has any; GTD, 4 B ×
//! translation pages. Flash: as dftl.
//!
//! ## Read
//! 1. `lookup`: a hit is free; a miss makes room for an entry and a node, then reads the
//!    translation page, and brings in what comes along.
//! 2. The data page.
//!
//! ## Write
//! 1. `lookup`, as for a read.
//! 2. Program the page, then change the cached entry; the old page is released.
//!
//! ## Reclaim
//! 1. As in dftl: dies collect data and translation blocks alike, by one policy.
//! 2. Moved data pages change their cached entries, without a use; others change their translation
//!    pages, each once.
//! 3. Moved translation pages change the GTD.
//!
//! ## Recover
//! 1. Of each LPN the highest version among all tags of data and trim pages wins. Translation pages
//!    are not needed for that, and may be older than the data: their blocks are erased.
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
//! A miss costs a mapping read, for all that it brings in; a read and a write of a translation page
//! more where the coldest page has too few clean entries.

mod two_level_lru;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values, joined};
use crate::engines::demand::machine::{self, TRANSLATION};
use crate::engines::demand::mapping_cache::{BATCH_UPDATE, CMT};
use crate::engines::demand::policy::{DemandScheme, Ram};
use crate::engines::demand::translation::TranslationTable;
use crate::engines::page_map::mapped::HOST;
use crate::engines::page_map::placement::{self, Placement};
use crate::port::error::ConfigError;
use crate::schemes::tpftl::two_level_lru::{Ahead, Options, TwoLevelLru};

const SOURCE: &str = "Zhou 2015";

const PARAMETERS: [Parameter; 6] = [
    Parameter {
        meaning: "RAM of the cached mapping table, 6 B an entry and 8 B a translation page that has any.",
        source: SOURCE,
        ..CMT
    },
    BATCH_UPDATE,
    Parameter {
        name: "request_prefetch",
        kind: Kind::Choice { of: &["true", "false"] },
        default: "true",
        meaning: "Whether a miss brings in the entries of the rest of its request.",
        source: SOURCE,
    },
    Parameter {
        name: "selective_prefetch",
        kind: Kind::Choice { of: &["true", "false"] },
        default: "true",
        meaning: "Whether a miss brings in as many entries as are cached right before it, while the cached pages \
                  become fewer.",
        source: SOURCE,
    },
    Parameter {
        name: "prefetch_after",
        kind: Kind::Integer { min: 1, max: 1000 },
        default: "3",
        meaning: "Translation pages more or fewer in RAM that turn selective prefetching off or on.",
        source: SOURCE,
    },
    Parameter {
        name: "clean_first",
        kind: Kind::Choice { of: &["true", "false"] },
        default: "true",
        meaning: "Whether clean entries of the coldest page leave before changed ones.",
        source: SOURCE,
    },
];

/// Demand-paged mapping with entries cached by translation page.
pub struct Tpftl;

impl DemandScheme for Tpftl {
    const ENTRY: Entry = Entry {
        name: "tpftl",
        family: "demand-paged",
        capabilities: Capabilities::FILLS_BLOCKS_UP,
        memory: Memory { ram: &[CMT.name], entry_bytes: 60.0, ..Memory::PAGE_MAP },
        source: SOURCE,
        parameters: &joined::<15>(&[&[placement::PARAMETER], &PARAMETERS, &machine::PARAMETERS]),
        header: include_str!("mod.rs"),
    };

    type Cache = TwoLevelLru;

    type ForeignPages = ();

    fn placement(values: &Values) -> Placement {
        Placement::from_values(values, &[HOST, TRANSLATION])
    }

    fn cache(layout: &Layout, values: &Values) -> Result<(TwoLevelLru, Ram), ConfigError> {
        let bytes = values.integer(CMT.name);
        let options = Options {
            batches: values.word(BATCH_UPDATE.name) == "true",
            ahead: Ahead {
                by_request: values.word("request_prefetch") == "true",
                is_selective: values.word("selective_prefetch") == "true",
            },
            after: values.integer("prefetch_after") as i32,
            clean_first: values.word("clean_first") == "true",
        };
        let per_page = TranslationTable::entries_per_page(layout, values);
        let cache = TwoLevelLru::new(bytes, options, layout.logical_pages, per_page);
        Ok((cache, vec![("cached mapping table", bytes)]))
    }
}
