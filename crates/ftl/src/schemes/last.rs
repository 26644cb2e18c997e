//! # last: sequential, hot and cold log areas
//!
//! ## Idea
//! The log is divided by what is written. Large requests go to a sequential area, where each data
//! block has a log block of its own, so that several streams at a time can end in switch or partial
//! merges. Small ones go to a random area shared by all: pages that were written a short while ago
//! are hot and share blocks with each other, the others are cold. Blocks of hot pages tend to
//! become all old and are erased without a merge; of the others, the one with the fewest data
//! blocks is merged.
//!
//! ```text
//!   sequential   [0'][1'][ ][ ]   [8'][9'][10'][ ]      one for each data block, as in bast
//!   hot          [5'][6'][5"][6"]                       dies without a merge
//!   cold         [2'][9'][13'][ ]                       lowest A(L) first
//! ```
//!
//! ## Source
//! Wang 2013 3.2.2, 5.2; Lee 2008.
//!
//! Of Lee 2008 only the abstract could be had, which says nothing of the mechanism: all here is as
//! Wang 2013 tells it.
//!
//! ## Departures
//! - A first write goes in place into the data block when the program order still allows it (Wang
//!   2013 3.2.2).
//! - Wang 2013 does not say what is hot: here a page written again within the last `hot_window`
//!   writes to the random area.
//! - Hot and cold blocks share the random area as they need it. If no block is free of newest pages
//!   and none is cold, the hot one with the lowest A(L) leaves.
//!
//! ## State
//! RAM: block map, 4 B × logical blocks; log map, 4 B × log pages; owners of the log blocks, 8
//! B × log blocks; when pages were written last, 8 B × `hot_window`. Flash: as fast.
//!
//! ## Read
//! 1. The log page that holds the newest copy, else the page in the data block if it is current.
//!
//! ## Write
//! 1. In place if possible;
//! 2. a request above `threshold`: to the log block of its logical block in the sequential area
//!    (`SequentialArea::place`);
//! 3. else to the open hot or the open cold block.
//!
//! ## Reclaim
//! 1. Sequential area: as bast, the least recently written block, or a full one of the same logical
//!    block.
//! 2. Random area, `random_victim`: a block without a newest page; else the cold one with the
//!    lowest A(L), the older of two; a block with room only if all have.
//!
//! ## Recover
//! 1. Data and log blocks are told apart by the roles in their tags. Log blocks in place claim
//!    their logical block, and are merged with its data block if neither covers the other. All
//!    others are cold and not filled further.
//! 2. A flush merges logical blocks with trimmed pages and every log block that holds a copy of
//!    one.
//!
//! ## Invariants
//! - I1: a current data page carries its LPN in its place, and then no log page is the newest copy
//!   of it.
//! - I2: no block is mapped twice, or mapped and free; free blocks are erased.
//! - I3: a log page that is the newest copy carries its LPN.
//! - I4: every good block is a data block, a log block or free, until the device is read-only.
//!
//! ## Costs
//! A block without newest pages: one erase. Another one: b A(L) copies, A(L) + 1 erases (A-SAST eq.
//! 1). Choosing a victim looks at the random area once for each block that is filled, so at L / b
//! blocks per page.

use flash::Lbn;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::engines::log_buffer::policy::log_blocks;
use crate::engines::log_buffer::policy::{LOG_BLOCKS, LOG_SPACE, LogNeeds, LogPage, LogPolicy, LogScheme, LogTarget};
use crate::engines::log_buffer::sequential::{AdmissionRule, SequentialArea};
use crate::engines::log_buffer::space::{LogCounting, LogSpace, Slot};
use crate::port::error::ConfigError;

/// Locality-aware sector translation.
pub struct Last;

impl LogScheme for Last {
    const ENTRY: Entry = Entry {
        name: "last",
        family: "log-buffer",
        capabilities: Capabilities::LOGICAL_BLOCKS,
        memory: Memory { page_bytes: 6.0, block_bytes: 140.0, ..Memory::LOG_MAP },
        source: "Wang 2013 3.2.2, 5.2; Lee 2008",
        parameters: &[
            LOG_SPACE,
            LOG_BLOCKS,
            Parameter {
                name: "threshold",
                kind: Kind::Bytes { min: 0, max: 1 << 30, scales: false },
                default: "4KiB",
                meaning: "Larger requests go to the sequential area; 0 sends all there, a large value none.",
                source: "Wang 2013 5.2",
            },
            Parameter {
                name: "sequential_share",
                kind: Kind::Ratio { min: 0.0, max: 1.0 },
                default: "0.0625",
                meaning: "Share of the log blocks that the sequential area has, at least one; the random area keeps at least two.",
                source: "Wang 2013 5.2 (1/16)",
            },
            Parameter {
                name: "hot_window",
                kind: Kind::Integer { min: 0, max: u32::MAX as u64 },
                default: "0",
                meaning: "Writes to the random area within which a page must be written again to be hot; 0 for as many as the area has pages.",
                source: "ftlkit",
            },
        ],
        header: include_str!("last.rs"),
    };

    type Policy = ThreeAreas;

    fn needs(layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError> {
        let log_blocks = log_blocks("last", layout, values, LEAST)?;
        let window = hot_window(layout, values, log_blocks);
        let tables = vec![("owners", 8 * u64::from(log_blocks)), ("last writes", 8 * window)];
        Ok(LogNeeds { log_blocks, ahead: 0, tables })
    }

    fn policy(layout: &Layout, values: &Values, log_blocks: u32) -> ThreeAreas {
        let sequential = sequential_blocks(values, log_blocks);
        let threshold_pages = values.integer("threshold") / u64::from(layout.geometry.page_size_bytes());
        ThreeAreas {
            sequential: SequentialArea::new(layout, AdmissionRule::AnyPage, sequential, threshold_pages as u32),
            random: Vec::new(),
            limit: (log_blocks - sequential) as usize,
            open: [None; 2],
            cold: layout.logical_blocks(),
            written: vec![0; layout.logical_pages as usize],
            writes: 0,
            hot_window: hot_window(layout, values, log_blocks),
        }
    }
}

/// One sequential block, one hot, one cold.
const LEAST: u32 = 3;

fn sequential_blocks(values: &Values, log_blocks: u32) -> u32 {
    ((f64::from(log_blocks) * values.ratio("sequential_share")) as u32).clamp(1, log_blocks - 2)
}

fn hot_window(layout: &Layout, values: &Values, log_blocks: u32) -> u64 {
    let random_pages =
        u64::from(log_blocks - sequential_blocks(values, log_blocks)) * u64::from(layout.geometry.pages_per_block());
    match values.integer("hot_window") {
        0 => random_pages,
        given => given,
    }
}

/// A sequential area, and a random one of hot and cold blocks.
pub struct ThreeAreas {
    sequential: SequentialArea,
    /// The blocks of the random area, oldest first.
    random: Vec<Slot>,
    limit: usize,
    /// The cold and the hot block that take pages.
    open: [Option<Slot>; 2],
    /// The group of cold blocks, above those of the sequential area; the next one is hot.
    cold: u32,
    /// For each logical page, the number of its last write to the random area, counted from 1.
    written: Vec<u64>,
    writes: u64,
    hot_window: u64,
}

impl LogPolicy for ThreeAreas {
    const TRACKS: LogCounting = LogCounting::Associativity;

    fn request(&mut self, request: &Request) {
        self.sequential.request(request.pages);
    }

    fn place(&mut self, log: &mut LogSpace, page: LogPage) -> LogTarget {
        if let Some(place) = self.sequential.place(log, page) {
            return place;
        }
        let last = self.written[page.lpn.index()];
        let is_hot = last > 0 && self.writes - last < self.hot_window;
        let open = self.open[usize::from(is_hot)].filter(|&slot| log.has_room(slot));
        open.map_or(LogTarget::New(self.cold + u32::from(is_hot)), LogTarget::In)
    }

    fn victim(&mut self, log: &mut LogSpace, group: u32) -> Option<Slot> {
        // After a power cut the random area may have blocks of the sequential one.
        let may_stay = if group < self.cold { self.limit } else { self.limit - 1 };
        let sequential = if group < self.cold { self.sequential.victim(log, group) } else { None };
        sequential.or_else(|| if self.random.len() > may_stay { self.random_victim(log) } else { None })
    }

    fn on_opened(&mut self, log: &LogSpace, slot: Slot) {
        match log.block(slot).map_or(self.cold, |block| block.group).checked_sub(self.cold) {
            None => self.sequential.on_opened(log, slot),
            Some(heat) => {
                self.random.push(slot);
                self.open[heat as usize] = Some(slot);
            }
        }
    }

    fn on_appended(&mut self, log: &LogSpace, slot: Slot, page: LogPage) {
        if log.block(slot).is_some_and(|block| block.group < self.cold) {
            self.sequential.on_appended(log, slot, page);
        } else {
            self.writes += 1;
            self.written[page.lpn.index()] = self.writes;
        }
    }

    fn on_left(&mut self, log: &LogSpace, slot: Slot) {
        if log.block(slot).is_some_and(|block| block.group < self.cold) {
            return self.sequential.on_left(log, slot);
        }
        self.random.retain(|&other| other != slot);
        for open in self.open.iter_mut().filter(|open| **open == Some(slot)) {
            *open = None;
        }
    }

    fn dedicated(&self, lbn: Lbn, except: Option<Slot>) -> Option<Slot> {
        self.sequential.dedicated(lbn, except)
    }

    fn recovered_group(&self, _lbn: Option<Lbn>) -> u32 {
        self.cold
    }

    fn place_of_trims(&self, _log: &LogSpace) -> Option<LogTarget> {
        None
    }

    fn gauges(&self, log: &LogSpace) -> Vec<Gauge> {
        let hot = self.random.iter().filter(|&&slot| self.is_hot(log, slot)).count();
        vec![
            Gauge { name: "sequential_log_blocks", value: f64::from(self.sequential.len()) },
            Gauge { name: "hot_log_blocks", value: hot as f64 },
            Gauge { name: "cold_log_blocks", value: (self.random.len() - hot) as f64 },
        ]
    }
}

impl ThreeAreas {
    fn is_hot(&self, log: &LogSpace, slot: Slot) -> bool {
        log.block(slot).is_some_and(|block| block.group > self.cold)
    }

    /// The first of several equal ones is the oldest.
    fn random_victim(&self, log: &LogSpace) -> Option<Slot> {
        let price = |&slot: &Slot| {
            let associativity = log.associativity(slot);
            let is_needed = associativity > 0;
            (is_needed && log.has_room(slot), is_needed && self.is_hot(log, slot), associativity)
        };
        self.random.iter().copied().min_by_key(price)
    }
}
