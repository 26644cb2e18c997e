//! # kast: log blocks tied to at most K data blocks
//!
//! ## Idea
//! As in fast, log blocks are shared, but each by no more than K data blocks. An update goes to the
//! log block that serves its data block already; otherwise to the one that serves the fewest, if
//! that is fewer than K; otherwise to a new one. So the worst merge that a request can meet is
//! bounded by K full merges, which fast cannot promise. With K as large as the number of data
//! blocks, only the youngest log block has room, and this is fast.
//!
//! ```text
//!   K = 2      [0'][5'][1'][ ]      [9'][9"][ ][ ]      two log blocks with room
//!               serves 0 and 1       serves 2           an update of data block 3 goes here
//! ```
//!
//! ## Source
//! A-SAST II; Cho 2009.
//!
//! Of Cho 2009 only the abstract could be had. It agrees in what K is for: the user sets the
//! largest associativity of a log block, and the longest time that a request is held up stays below
//! a bound. How pages are spread over log blocks could not be checked.
//!
//! ## Departures
//! - A first write goes in place into the data block when the program order still allows it (Wang
//!   2013 3.2.2).
//! - A log block stays tied to a data block until it leaves, even if the pages in it have become
//!   old.
//! - The sequential block and the order of leaving are those of fast.
//!
//! ## State
//! RAM: block map, 4 B × logical blocks; log map, 4 B × log pages; the ties, 4 B × K × log blocks,
//! at most one for each log page. Flash: as fast.
//!
//! ## Read
//! 1. The log page that holds the newest copy, else the page in the data block if it is current.
//!
//! ## Write
//! 1. In place if possible; to the sequential block as in fast;
//! 2. else `place`: to the block with room that serves the logical block, or to the one with the
//!    fewest ties below K, or to a new one.
//!
//! ## Reclaim
//! 1. `LogAreas::victim`: when all log blocks are in use, the first one in leaves, full or not; at
//!    most K full merges.
//! 2. The sequential block: switch or partial merge.
//!
//! ## Recover
//! 1. As fast. Recovered log blocks are not filled further, so their ties need not be known.
//! 2. A page that says what was trimmed goes to the youngest log block, so it leaves after every
//!    older copy.
//!
//! ## Invariants
//! - I1: a current data page carries its LPN in its place, and then no log page is the newest copy
//!   of it.
//! - I2: no block is mapped twice, or mapped and free; free blocks are erased.
//! - I3: a log page that is the newest copy carries its LPN.
//! - I4: every good block is a data block, a log block or free, until the device is read-only.
//!
//! ## Costs
//! A log block leaves with at most K full merges: K b copies and K + 1 erases (A-SAST eq. 1).

use std::collections::BTreeSet;

use flash::Lbn;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::report::Gauge;
use crate::engines::log_buffer::areas::{LogAreas, LogSharing, SEQUENTIAL};
use crate::engines::log_buffer::policy::{LOG_BLOCKS, LOG_SPACE, LogNeeds, LogPage, LogScheme};
use crate::engines::log_buffer::sequential::SequentialArea;
use crate::engines::log_buffer::space::{LogSpace, Slot};
use crate::port::error::ConfigError;

const K: Parameter = Parameter {
    name: "k",
    kind: Kind::Integer { min: 1, max: u32::MAX as u64 },
    default: "4",
    meaning: "Data blocks that a log block may serve; more fills log blocks better, fewer bounds the merge that a request may meet.",
    source: "Cho 2009",
};

/// K-associative sector translation.
pub struct Kast;

impl LogScheme for Kast {
    const ENTRY: Entry = Entry {
        name: "kast",
        family: "log-buffer",
        capabilities: Capabilities::LOGICAL_BLOCKS,
        memory: Memory::LOG_MAP,
        source: "A-SAST II; Cho 2009",
        parameters: &[LOG_SPACE, LOG_BLOCKS, SEQUENTIAL, K],
        header: include_str!("kast.rs"),
    };

    type Policy = LogAreas<LogAssociation>;

    fn needs(layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError> {
        let needs = Self::Policy::needs("kast", layout, values)?;
        let most = values.integer("k").min(u64::from(layout.geometry.pages_per_block()));
        Ok(LogNeeds { tables: vec![("ties", 4 * u64::from(needs.log_blocks) * most)], ..needs })
    }

    fn policy(layout: &Layout, values: &Values, log_blocks: u32) -> Self::Policy {
        LogAreas::with_one_stream(layout, values, log_blocks, LogAssociation::new(layout, values.integer("k") as u32))
    }
}

/// Which log block serves which data blocks.
pub struct LogAssociation {
    k: u32,
    /// For each logical block, the log block that took a page of it last.
    serving: Vec<Option<Slot>>,
    /// For each slot, when it was opened and whom it serves.
    slots: Vec<(u64, Vec<Lbn>)>,
    /// Shared blocks that may be tied to more: number of ties, order of opening, slot.
    open: BTreeSet<(u32, u64, Slot)>,
    opened: u64,
}

impl LogAssociation {
    fn new(layout: &Layout, k: u32) -> Self {
        let serving = vec![None; layout.logical_blocks() as usize];
        Self { k, serving, slots: Vec::new(), open: BTreeSet::new(), opened: 0 }
    }

    fn key(&self, slot: Slot) -> (u32, u64, Slot) {
        self.slots.get(slot as usize).map_or((0, 0, slot), |(order, ties)| (ties.len() as u32, *order, slot))
    }
}

impl LogSharing for LogAssociation {
    fn place(&mut self, log: &LogSpace, _youngest: Option<Slot>, page: LogPage) -> Option<Slot> {
        let serving = self.serving[page.lbn.index()].filter(|&slot| log.has_room(slot));
        serving.or_else(|| self.open.iter().map(|&(_, _, slot)| slot).find(|&slot| log.has_room(slot)))
    }

    fn on_opened(&mut self, log: &LogSpace, slot: Slot) {
        let at = slot as usize;
        if self.slots.len() <= at {
            self.slots.resize(at + 1, (0, Vec::new()));
        }
        self.opened += 1;
        self.slots[at] = (self.opened, Vec::new());
        if log.has_room(slot) {
            self.open.insert((0, self.opened, slot));
        }
    }

    fn on_appended(&mut self, log: &LogSpace, slot: Slot, page: LogPage) {
        let before = self.key(slot);
        if before.1 == 0 {
            // The sequential block.
            return;
        }
        let (_, ties) = &mut self.slots[slot as usize];
        if self.serving[page.lbn.index()].replace(slot) != Some(slot) {
            ties.push(page.lbn);
        }
        let after = ties.len() as u32;
        if after != before.0 || !log.has_room(slot) {
            self.open.remove(&before);
            if after < self.k && log.has_room(slot) {
                self.open.insert((after, before.1, slot));
            }
        }
    }

    fn on_left(&mut self, slot: Slot) {
        self.open.remove(&self.key(slot));
        let (_, ties) = std::mem::take(&mut self.slots[slot as usize]);
        for lbn in ties {
            if self.serving[lbn.index()] == Some(slot) {
                self.serving[lbn.index()] = None;
            }
        }
    }

    fn gauges(&self, _sequential: &SequentialArea, _shared: usize) -> Vec<Gauge> {
        let (blocks, ties) = self.slots.iter().fold((0_u32, 0), |(blocks, sum), (order, ties)| {
            if *order == 0 { (blocks, sum) } else { (blocks + 1, sum + ties.len()) }
        });
        vec![Gauge { name: "ties", value: if blocks == 0 { 0.0 } else { ties as f64 / f64::from(blocks) } }]
    }
}
