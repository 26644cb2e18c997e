//! # s-ftl: demand-paged mapping that caches whole translation pages, packed by runs
//!
//! ## Idea
//! Pages that the host writes in order lie in order on flash, and so do their entries. So
//! translation pages are cached whole, and each is packed: a bit per entry says whether a run of
//! neighbours begins there, and only the first page of each run is kept. A page of few runs takes a
//! thirtieth of its size, so that many fit. A page with a few entries newer than flash is not
//! written when it leaves: those entries wait in a small buffer until they are many.
//!
//! ```text
//!   translation page  40 41 42 43  9 10 11 77      leaves with few newer entries
//!   packed            1  0  0  0   1 0  0  1       └──▶ dirty buffer ──many──▶ flash
//!                     40          9       77
//! ```
//!
//! ## Source
//! Jiang 2011.
//!
//! ## Departures
//! - Built from the paper's abstract and from what others say of it: its text was not at hand.
//!   Sizes, thresholds and the order in which pages leave are choices made here.
//! - A run needs neighbours on flash. So `placement` is `single` by default: one block is filled
//!   after the other, which leaves the other dies idle. Striped pages have hardly a run.
//! - A run ends with its translation page. Unmapped neighbours are a run, too. The rest of a run
//!   behind an overwritten page is one of its own; an account of the paper spares that head by a
//!   second bit per entry.
//! - The page that was used last is kept unpacked, so that a change has room. A page of many runs
//!   takes no more than an unpacked one.
//! - Pages leave in plain LRU order. Of a page that leaves, up to `sparse_entries` newer entries go
//!   to the dirty buffer. When that is full, the page with the most newer entries is written: the
//!   one that leaves, or one with entries in the buffer.
//! - A translation page that is read again takes its entries out of the dirty buffer.
//! - A collection changes cached entries while RAM has room for more runs. Beyond that it writes
//!   their translation page at once, which leaves if it has outgrown RAM so.
//! - Otherwise as dftl: victims among data and translation blocks alike, one block set aside for
//!   translation pages.
//!
//! ## State
//! RAM: 8 B for each cached translation page, a bit for each of its entries and 4 B for each run,
//! at most 4 B an entry; 8 B for each entry in the dirty buffer; GTD, 4 B × translation pages.
//! Flash: as dftl.
//!
//! ## Read
//! 1. `lookup`: a hit in a cached page or in the buffer is free. A miss makes room for an unpacked
//!    page, then reads the translation page.
//! 2. A hit unpacks its page, for which others may have to leave.
//! 3. The data page.
//!
//! ## Write
//! 1. `lookup`, as for a read.
//! 2. Program the page, then change the cached entry; the old page is released.
//!
//! ## Reclaim
//! 1. As in dftl: dies collect data and translation blocks alike, by one policy.
//! 2. Moved data pages change their entries in RAM if there is room; others change their
//!    translation pages, each once.
//! 3. Moved translation pages change the GTD.
//!
//! ## Recover
//! 1. Of each LPN the highest version among all tags of data and trim pages wins. Translation pages
//!    are not needed for that, and may be older than the data: their blocks are erased.
//! 2. `rewrite_table` writes them anew; RAM starts empty.
//!
//! ## Invariants
//! - I1: an LPN that is mapped (by its entry in RAM, else by its translation page) points to a
//!   valid page that carries it.
//! - I2: there are as many valid pages as mapped LPNs, written translation pages and needed trim
//!   pages together.
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//! - I4: each written translation page lies where the GTD says; unwritten ones map nothing, unless
//!   the device is read-only and so they cannot be written.
//! - I5: an entry that is newer than its translation page is in RAM.
//! - I6: runs, newer entries and bytes are counted rightly, and RAM is no more than `cmt`, unless
//!   the device is read-only.
//!
//! ## Costs
//! A miss costs a mapping read, and each page that leaves with many newer entries costs one write.
//! A full buffer costs a read and a write for all entries of one page.
//!
//! Measured on 600 MiB of 4 KiB pages on one die with 17 % spare, blocks of 256 pages: filled in
//! order, then 400,000 requests of a page, half of them writes, or reads alone. 64 KiB of RAM, an
//! eighth of a map of 4 B per entry; mapping hit ratio and pages of the map written.
//!
//! | work | s-ftl | dftl | cdftl | tpftl |
//! |---|---|---|---|---|
//! | in order | 99.9 %, 476 | 0.0 %, 394 | 99.9 %, 391 | 0.0 %, 385 |
//! | in order, once overwritten at random | 99.9 %, 350 | 3.2 %, 512 | 99.9 %, 390 | 96.5 %, 259 |
//! | runs of up to 256 pages | 99.4 %, 1,768 | 7.5 %, 1,320 | 99.2 %, 2,385 | 46.5 %, 804 |
//! | nine of ten to a tenth | 90.5 %, 2,200 | 53.0 %, 1,015 | 60.3 %, 6,178 | 66.8 %, 425 |
//! | random | 20.6 %, 2,100 | 6.4 %, 1,526 | 9.4 %, 6,075 | 8.4 %, 382 |
//! | random, reads alone | 100 %, 0 | 6.4 %, 8 | 9.4 %, 8 | 8.5 %, 10 |
//!
//! A page of the map that was written in order takes 172 B of RAM in the mean, and all 125 are
//! there. Under random writes it takes 2.2 KB, and 25 are there. With `sparse_entries = 4` those
//! write 22,815 pages of the map, and without a dirty buffer 175,044.
//!
//! Gauges: `map_bytes`, RAM of the cached pages; `cached_translation_pages`; `buffered_entries`.

mod packed_pages;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values, joined};
use crate::engines::demand::machine::{self, TRANSLATION};
use crate::engines::demand::mapping_cache;
use crate::engines::demand::policy::{DemandScheme, Ram};
use crate::engines::demand::translation::TranslationTable;
use crate::engines::page_map::mapped::HOST;
use crate::engines::page_map::placement::{self, Placement};
use crate::port::error::ConfigError;
use crate::schemes::s_ftl::packed_pages::{PackedPages, Sizes};

const SOURCE: &str = "Jiang 2011";

const CMT: Parameter = Parameter {
    // Two pages of 512 bytes: a slice of a drive has two of its own, for one unpacked page.
    kind: Kind::Bytes { min: 1024, max: 1 << 40, scales: true },
    meaning: "RAM of the cached translation pages, packed, and of the dirty buffer.",
    source: SOURCE,
    ..mapping_cache::CMT
};

const PARAMETERS: [Parameter; 4] = [
    Parameter { default: "single", ..placement::PARAMETER },
    CMT,
    Parameter {
        name: "dirty_buffer",
        kind: Kind::Ratio { min: 0.0, max: 0.9 },
        default: "0.1",
        meaning: "Share of that RAM for newer entries of translation pages that have left; 0 writes each changed page \
                  that leaves.",
        source: SOURCE,
    },
    Parameter {
        name: "sparse_entries",
        kind: Kind::Integer { min: 1, max: 1 << 16 },
        default: "64",
        meaning: "Most newer entries of a leaving translation page that wait in the dirty buffer.",
        source: SOURCE,
    },
];

/// Demand-paged mapping with packed translation pages.
pub struct SFtl;

impl DemandScheme for SFtl {
    const ENTRY: Entry = Entry {
        name: "s-ftl",
        family: "demand-paged",
        capabilities: Capabilities::FILLS_BLOCKS_UP,
        memory: Memory { page_bytes: 0.5, ..Memory::PAGE_MAP },
        source: SOURCE,
        parameters: &joined::<12>(&[&PARAMETERS, &machine::PARAMETERS]),
        header: include_str!("mod.rs"),
    };

    type Cache = PackedPages;

    type ForeignPages = ();

    fn placement(values: &Values) -> Placement {
        Placement::from_values(values, &[HOST, TRANSLATION])
    }

    fn cache(layout: &Layout, values: &Values) -> Result<(PackedPages, Ram), ConfigError> {
        let cmt = values.integer(CMT.name);
        let buffer = (cmt as f64 * values.ratio("dirty_buffer")) as u64;
        let per_page = TranslationTable::entries_per_page(layout, values);
        let (pages, least) = (cmt - buffer, PackedPages::least_bytes(per_page));
        if pages < least {
            return Err(ConfigError(format!(
                "s-ftl.cmt = {cmt}: {pages} bytes beside the dirty buffer do not hold one translation page of {least} \
                 bytes; give more"
            )));
        }
        let sizes = Sizes { pages, buffer, sparse: values.integer("sparse_entries") as u32 };
        let cache = PackedPages::new(sizes, layout.logical_pages, per_page);
        Ok((cache, vec![("cached translation pages", pages), ("dirty buffer", buffer)]))
    }
}
