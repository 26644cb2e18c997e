//! # a-sast: groups that adapt
//!
//! ## Idea
//! As in sast, neighbouring data blocks form groups with log blocks of their own, but how many
//! share is decided while running. A group whose last written log block has pages of many data
//! blocks is split, since its writes are random and its merges dear; neighbours that hardly use
//! their log blocks are joined, since each would waste space. Any number of log blocks may serve a
//! group (no K); which one leaves is decided block by block, the cheapest to merge of those that
//! were not written for long.
//!
//! ```text
//!   log blocks, least recently written first:   [A=4][A=2][A=1][A=3] | [A=1] …
//!                                                └─ region of M ──┘
//!                                                          └ leaves, unless passed over M times
//! ```
//!
//! ## Source
//! A-SAST III, figs. 2-3. `victim = block` alone is SAST-V, `regroup` alone is SAST-G; neither is
//! sast with `group_log_blocks` as K.
//!
//! ## Departures
//! - A first write goes in place into the data block when the program order still allows it (Wang
//!   2013 3.2.2).
//! - M and "too long" are not given in A-SAST III.A: M is a quarter of the log blocks
//!   (`region = 0`), and a block that was passed over M times for younger ones leaves. A sweep over
//!   M is in `studies/a-sast.toml`.
//! - The first condition of A-SAST III.C divides the used pages of the log blocks by the pages of
//!   the group's data blocks, which alone joins groups 0 and 1 of fig. 3 at alpha = 0.4 (6 of 16
//!   and 2 of 16; of the log's own pages it would be 6 of 8). `utilisation = log` divides by the
//!   log's, as the words "log block utilization" of A-SAST III.B would. A group without log blocks
//!   uses none.
//! - alpha, beta and gamma are not said for figs. 4 to 7: 0.4 is that of fig. 8 (a), 4 and 8 are
//!   those of fig. 8 (b). Where beta exceeds gamma, a joined group may be split at once.
//! - Of the two neighbours of a victim's group, the right one is looked at first; at most one is
//!   joined.
//! - A split leaves each log block with the half that has more of its newest pages, and the other
//!   half's pages in it stay readable there until they are merged.
//!
//! ## State
//! RAM: block map, 4 B × logical blocks; log map, 4 B × log pages; order of use, group and owners
//! of the log blocks, 16 B × log blocks. Flash: as sast.
//!
//! ## Read
//! 1. The log page that holds the newest copy, else the page in the data block if it is current.
//!
//! ## Write
//! 1. In place if possible;
//! 2. else to the youngest log block of the group; if that is full,
//!    `RegroupingRules::split_if_random` looks at it, and a new one is opened.
//!
//! ## Reclaim
//! 1. `cheapest_of_region`: when the log space is used up, the block with the lowest A(L), hence
//!    the cheapest by A-SAST eq. 1, of the M least recently written ones; ties go to the older.
//! 2. `RegroupingRules::join_if_idle`: its group and a neighbour become one if both use less than
//!    `alpha` of their pages and no log block of them has A(L) ≥ `beta`.
//!
//! ## Recover
//! 1. As sast; the groups have their first size again. A log block with pages of several groups
//!    goes to that of its first.
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
//! A full merge of a log block: b A(L) copies, A(L) + 1 erases (A-SAST eq. 1). Choosing a victim
//! looks at M log blocks.

use flash::Lbn;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::report::Gauge;
use crate::engines::log_buffer::groups::LogGroups;
use crate::engines::log_buffer::policy::{
    GROUP_BLOCKS, LOG_BLOCKS, LOG_SPACE, LogNeeds, LogPage, LogPolicy, LogScheme, LogTarget, log_blocks,
};
use crate::engines::log_buffer::regrouping::RegroupingRules;
use crate::engines::log_buffer::sets::LogSets;
use crate::engines::log_buffer::space::{LogCounting, LogSpace, Slot};
use crate::linked_lists::LinkedLists;
use crate::port::error::ConfigError;

/// Adaptive set-associative sector translation.
pub struct AdaptiveSast;

const fn ratio(name: &'static str, max: f64, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Ratio { min: 0.0, max }, default, meaning, source: "A-SAST III.C, fig. 8" }
}

const fn integer(name: &'static str, min: u64, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Integer { min, max: u32::MAX as u64 }, default, meaning, source: "A-SAST III, IV" }
}

const fn choice(name: &'static str, of: &'static [&'static str], meaning: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Choice { of }, default: of[0], meaning, source: "A-SAST III" }
}

impl LogScheme for AdaptiveSast {
    const ENTRY: Entry = Entry {
        name: "a-sast",
        family: "log-buffer",
        capabilities: Capabilities::LOGICAL_BLOCKS,
        memory: Memory { block_bytes: 150.0, ..Memory::LOG_MAP },
        source: "A-SAST III",
        parameters: &[
            LOG_SPACE,
            LOG_BLOCKS,
            GROUP_BLOCKS,
            integer("group_log_blocks", 0, "0", "K: log blocks that a group may have; 0 for any number."),
            choice(
                "victim",
                &["block", "group"],
                "Which log block leaves: block, the cheapest of the least recently written; group, the oldest of the least recently written group, as in sast.",
            ),
            integer(
                "region",
                0,
                "0",
                "M: log blocks among which the cheapest leaves; 0 for a quarter of them; 1 is plain LRU, more finds cheaper ones that may still be written.",
            ),
            Parameter {
                name: "regroup",
                kind: Kind::Switch,
                default: "true",
                meaning: "Whether groups are joined and split.",
                source: "A-SAST III.C",
            },
            ratio(
                "alpha",
                64.0,
                "0.4",
                "Neighbours are joined if both use less than this share of their pages; 0 never joins.",
            ),
            choice(
                "utilisation",
                &["data", "log"],
                "What the used log pages of a group are divided by for alpha: the pages of its data blocks, or of its log blocks.",
            ),
            integer("beta", 0, "4", "Neighbours are joined only if every log block has an A(L) below this."),
            integer("gamma", 0, "8", "A group is split if its last written log block has an A(L) above this."),
        ],
        header: include_str!("a_sast.rs"),
    };

    type Policy = AdaptiveSets;

    fn needs(layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError> {
        let log_blocks = log_blocks("a-sast", layout, values, 1)?;
        Ok(LogNeeds { log_blocks, ahead: 0, tables: vec![("log block table", 16 * u64::from(log_blocks))] })
    }

    fn policy(layout: &Layout, values: &Values, log_blocks: u32) -> AdaptiveSets {
        let number = |name| values.integer(name) as u32;
        let group_limit = if number("group_log_blocks") == 0 { u32::MAX } else { number("group_log_blocks") };
        AdaptiveSets {
            sets: LogSets::new(LogGroups::new(layout, number("group_blocks")), group_limit, log_blocks),
            recency: LinkedLists::new(layout.geometry.blocks() as usize, 1),
            passed_over: vec![0; layout.geometry.blocks() as usize],
            by_block: values.word("victim") == "block",
            region: if number("region") == 0 { (log_blocks / 4).max(1) } else { number("region") },
            rules: values.switch("regroup").then(|| RegroupingRules {
                alpha: values.ratio("alpha"),
                by_data_pages: values.word("utilisation") == "data",
                beta: number("beta"),
                gamma: number("gamma"),
            }),
            asking: false,
            joins: 0,
            splits: 0,
        }
    }
}

/// Groups that are joined and split, and victims block by block.
pub struct AdaptiveSets {
    sets: LogSets,
    /// Log blocks, the least recently written first.
    recency: LinkedLists,
    /// For each slot, how often a younger block was taken since it was written last.
    passed_over: Vec<u32>,
    by_block: bool,
    region: u32,
    /// When groups are joined and split, if they are.
    rules: Option<RegroupingRules>,
    /// Whether a group has asked for a log block that has not been opened yet.
    asking: bool,
    joins: u64,
    splits: u64,
}

impl LogPolicy for AdaptiveSets {
    const TRACKS: LogCounting = LogCounting::Associativity;

    fn place(&mut self, log: &mut LogSpace, page: LogPage) -> LogTarget {
        let place = self.sets.place(log, page);
        let LogTarget::New(group) = place else {
            // What a group asked for may have come by a join instead of a new block.
            self.asking = false;
            return place;
        };
        if let Some(rules) = self.rules.filter(|_| !self.asking) {
            self.asking = true;
            self.splits += u64::from(rules.split_if_random(&mut self.sets.groups, log, group));
        }
        self.sets.place(log, page)
    }

    fn victim(&mut self, log: &mut LogSpace, group: u32) -> Option<Slot> {
        let victim = match self.sets.over_group_limit(group) {
            None if self.by_block && self.sets.is_full() => self.cheapest_of_region(log),
            _ => self.sets.victim(log, group),
        };
        if let Some((rules, block)) = self.rules.zip(victim.and_then(|slot| log.block(slot))) {
            self.joins += u64::from(rules.join_if_idle(&mut self.sets.groups, log, block.group));
        }
        victim
    }

    fn on_opened(&mut self, log: &LogSpace, slot: Slot) {
        self.sets.on_opened(log, slot);
        self.recency.push_back(0, slot);
        self.passed_over[slot as usize] = 0;
        self.asking = false;
    }

    fn on_appended(&mut self, log: &LogSpace, slot: Slot, page: LogPage) {
        self.sets.on_appended(log, slot, page);
        if self.recency.back(0) != Some(slot) {
            self.recency.move_back(0, slot);
            self.passed_over[slot as usize] = 0;
        }
    }

    fn on_left(&mut self, log: &LogSpace, slot: Slot) {
        self.sets.on_left(log, slot);
        self.recency.remove(slot);
    }

    fn dedicated(&self, lbn: Lbn, except: Option<Slot>) -> Option<Slot> {
        // After a split, a log block may hold pages of the other half.
        if self.rules.is_some() { None } else { self.sets.dedicated(lbn, except) }
    }

    fn recovered_group(&self, lbn: Option<Lbn>) -> u32 {
        self.sets.recovered_group(lbn)
    }

    fn place_of_trims(&self, log: &LogSpace) -> Option<LogTarget> {
        if self.rules.is_some() || self.by_block { None } else { self.sets.place_of_trims(log) }
    }

    fn gauges(&self, log: &LogSpace) -> Vec<Gauge> {
        let mut gauges = self.sets.gauges(log);
        gauges.push(Gauge { name: "group_joins", value: self.joins as f64 });
        gauges.push(Gauge { name: "group_splits", value: self.splits as f64 });
        gauges
    }
}

impl AdaptiveSets {
    /// The oldest of the least recently written blocks that was passed over too often, else the one
    /// with the lowest A(L).
    fn cheapest_of_region(&mut self, log: &LogSpace) -> Option<Slot> {
        let region: Vec<Slot> = self.recency.iter(0).take(self.region as usize).collect();
        let too_long = |&slot: &Slot| self.passed_over[slot as usize] >= self.region;
        // The first of several minima is the older one.
        let cheapest = || region.iter().copied().min_by_key(|&slot| log.associativity(slot));
        let victim = region.iter().copied().find(too_long).or_else(cheapest)?;
        for slot in region.into_iter().take_while(|&slot| slot != victim) {
            self.passed_over[slot as usize] += 1;
        }
        Some(victim)
    }
}
