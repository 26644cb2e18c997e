//! # rejuvenator: hot data on young blocks, cold data on worn ones, within a window of erase counts
//!
//! ## Idea
//! Blocks with the same erase count form a list. From the lowest list `min` on, the lists below
//! `min` + `tau`/2 are the *lower* ones, the others up to `min` + `tau` the *higher* ones. Hot data
//! goes to a block of the lowest list that has a free one, cold data to one of the highest. When
//! the lower lists run out of free blocks, or the window is full, the content of a block of list
//! `min` moves to the most worn free block: when that list is empty, the window moves up.
//!
//! ```text
//!   erases  min ─────── min + tau/2 ─────── min + tau
//!           hot data ▶│ lower lists │ higher lists │◀ cold data
//!            └───────────── content of list min ──────▶
//! ```
//!
//! What is hot: a logical block that was written more often than those of the last `window`
//! requests on the average. Where a block is asked for pages of many logical blocks, what the host
//! writes, the log and the map count as hot, and what is collected as cold.
//!
//! **Backing off.** A logical block that was written less often than others need not be cold: it is
//! merged because it was written. If it is written again soon, the most worn free block is soon
//! free again, is the most worn again, and gets the next such data. Blocks part until the window is
//! full. So a worn block that rested for less than a mean block's time between two erases is a
//! failure: the next time cold data go to a young block, after another failure the next 3 times,
//! then 7. A rest that lasts takes one failure back. σ against no levelling over fast, on the
//! default device, after 100 000 requests within 64 MiB
//! (`crates/sim/tests/sim/studies/levellers.rs`):
//!
//! | | backing off | not backing off | cold data on young blocks always |
//! |---|---|---|---|
//! | prxy_0-cold | −70 % | +120 % | −70 % |
//! | `ts_0` | −70 % | +50 % | −70 % |
//! | fin1 | −66 % | +47 % | −66 % |
//!
//! **Where it is less even than no levelling.** Over a page map what is collected counts as cold.
//! If the host rewrites it next, worn blocks are soon free again. Moves do not back off. iozone-80
//! over page, σ and the most erases of a block:
//!
//! | requests | dies | rejuvenator | none |
//! |---|---|---|---|
//! | 20 000 | 1 | 5.5, 135 | 0.9, 7 |
//! | 20 000 | 4 | 4.9, 62 | 2.2, 23 |
//! | 100 000 | 1 | 5.3, 157 | 1.7, 14 |
//! | 100 000 | 4 | 5.6, 88 | 4.0, 53 |
//!
//! Under fin1 within 64 MiB, 100 000 requests in the steady state, σ is 53 % below none on four
//! dies and 54 % on one.
//!
//! ## Source
//! Murugan 2011; Wang 2013 3.2.1, 4.6.2. The thesis could not find `t_low` and `t_high` either, nor
//! how the lists part at first. Chosen here: all lists are lower ones until some block is `tau`/2
//! above `min`; `t_low` asks for a move only while a higher block is free to move to; and cold data
//! leaves `t_high` of the higher free blocks to such moves, and all of them while the window is
//! full, as of the last look. Departures: the mapping decides how pages are mapped, where the
//! original maps hot pages by page and cold ones by a log; temperatures are those of logical
//! blocks; `tau` is constant; too few free blocks in the higher lists ask for no move, where the
//! thesis has data moved if either part falls below its threshold; and backing off, which
//! `back_off = false` leaves out, as the study of owl does.
//!
//! ## State
//! RAM: the erase counts of all blocks, 4 B each; the logical blocks of the window's requests, 4 B
//! each, and how often each logical block is among them, 4 B; since when a worn block rests, 4 B
//! per block. Lists are compared within a die under a page map, else over the device. There, moved
//! pages have an open block of their own on each die, paid out of the spare.
//!
//! ## After a cut
//! Erase counts lie in the tags. What was written lately is forgotten: nothing is hot until it is
//! written again. Rests and failures are forgotten as well.
//!
//! ## Costs
//! A move copies what is valid in a block and erases it; at most one for each request that writes.
//! Hot data take the lowest list's block though its erase may be under way, and wait for it.
//! Erase counts differ by no more than `tau` + 2, and under a log by as much more as a block has
//! pages: a request may merge so many logical blocks before the next look
//! (`crates/ftl/tests/ftl/evenness.rs`). Log blocks are never emptied for it.

use std::collections::VecDeque;

use flash::{Geometry, Lbn, Pbn};

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::{Layout, WearScheme};
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::request::Request;
use crate::api::wear::{AllocRequest, BlockFacts, BlockUse, Order, Purpose, RelocateOutcome, WearPolicy};
use crate::wear::pace::Pace;
use crate::wear::rests::{BackOff, RestTimes};

const PARAMETERS: [Parameter; 5] = [
    Parameter {
        name: "tau",
        kind: Kind::Integer { min: 2, max: 1 << 20 },
        default: "16",
        meaning: "By how many erases blocks may differ; less levels better and moves more.",
        source: "ftlkit (Murugan 2011: tau)",
    },
    Parameter {
        name: "t_low",
        kind: Kind::Integer { min: 0, max: 1 << 20 },
        default: "1",
        meaning: "T_L: free blocks in the lower lists below which a block of the lowest list is emptied; 0 waits until the window is full.",
        source: "ftlkit",
    },
    Parameter {
        name: "t_high",
        kind: Kind::Integer { min: 0, max: 1 << 20 },
        default: "1",
        meaning: "T_H: free blocks in the higher lists at or below which cold data goes to the lower lists, as hot data does.",
        source: "ftlkit",
    },
    Parameter {
        name: "window",
        kind: Kind::Blocks { min: 1, max: 1 << 20 },
        default: "1000",
        meaning: "Logical blocks written last that tell what is hot; more remember longer and need more RAM.",
        source: "ftlkit",
    },
    Parameter {
        name: "back_off",
        kind: Kind::Switch,
        default: "true",
        meaning: "Whether cold data go to young blocks for a while after short rests of worn ones.",
        source: "ftlkit",
    },
];

/// How often each logical block is among those that were written last.
#[derive(Clone, Debug)]
struct Recent {
    last: VecDeque<Lbn>,
    room: usize,
    times: Vec<u32>,
    distinct: usize,
}

impl Recent {
    fn on_write(&mut self, lbn: Lbn) {
        if self.last.len() == self.room
            && let Some(oldest) = self.last.pop_front()
        {
            self.times[oldest.index()] -= 1;
            self.distinct -= usize::from(self.times[oldest.index()] == 0);
        }
        self.last.push_back(lbn);
        self.distinct += usize::from(self.times[lbn.index()] == 0);
        self.times[lbn.index()] += 1;
    }

    fn is_hot(&self, lbn: Lbn) -> bool {
        self.times[lbn.index()] as usize * self.distinct > self.last.len()
    }
}

/// Levelling within a window of erase counts.
#[derive(Clone, Debug)]
pub struct Rejuvenator {
    geometry: Geometry,
    tau: u32,
    t_low: usize,
    t_high: usize,
    recent: Recent,
    pace: Pace,
    /// Free blocks in the higher lists that cold data may take, at the last look.
    for_cold: usize,
    /// Which blocks rest under cold data, and how often such data go to young blocks instead. None
    /// if it never backs off.
    resting: Option<(RestTimes, BackOff)>,
    /// Whether the block that is being taken is a worn one, for cold data.
    takes_worn: bool,
    is_moving: bool,
}

impl WearScheme for Rejuvenator {
    const ENTRY: Entry = Entry {
        name: "rejuvenator",
        family: "wear",
        capabilities: Capabilities::NONE,
        memory: Memory::per_block(size_of::<u32>() + RestTimes::BYTES),
        source: "Murugan 2011",
        parameters: &PARAMETERS,
        header: include_str!("rejuvenator.rs"),
    };

    fn new(layout: &Layout, values: &Values) -> Self {
        let [tau, t_low, t_high, window] = ["tau", "t_low", "t_high", "window"].map(|name| values.integer(name));
        let blocks = layout.geometry.blocks();
        let times = vec![0; layout.logical_blocks() as usize];
        Self {
            geometry: layout.geometry,
            tau: tau as u32,
            t_low: t_low as usize,
            t_high: t_high as usize,
            recent: Recent { last: VecDeque::new(), room: window as usize, times, distinct: 0 },
            pace: Pace::new(blocks),
            for_cold: 0,
            resting: values.switch("back_off").then(|| (RestTimes::none(blocks), BackOff::default())),
            takes_worn: false,
            is_moving: false,
        }
    }
}

/// State of a domain's lists.
#[derive(Clone, Copy, Debug)]
struct Lists {
    min: u32,
    /// A block of list `min` whose content can move.
    of_min: Option<Pbn>,
    lower_free: usize,
    higher_free: usize,
    most_worn_free: Option<u32>,
}

impl Lists {
    const NONE: Self = Self { min: u32::MAX, of_min: None, lower_free: 0, higher_free: 0, most_worn_free: None };
}

impl Rejuvenator {
    fn lists(&self, blocks: &dyn BlockFacts) -> Vec<Lists> {
        let good = || (0..blocks.blocks()).map(Pbn::new).filter(|&pbn| blocks.use_of(pbn) != BlockUse::Bad);
        let mut domains = Vec::new();
        for pbn in good() {
            let (domain, erases) = (blocks.domain_of(pbn), blocks.erases(pbn));
            domains.resize(domains.len().max(domain + 1), Lists::NONE);
            domains[domain].min = domains[domain].min.min(erases);
        }
        for pbn in good() {
            let (used, erases) = (blocks.use_of(pbn), blocks.erases(pbn));
            let lists = &mut domains[blocks.domain_of(pbn)];
            if used == BlockUse::Free {
                let is_lower = erases - lists.min < self.tau / 2;
                lists.lower_free += usize::from(is_lower);
                lists.higher_free += usize::from(!is_lower);
                lists.most_worn_free = lists.most_worn_free.max(Some(erases));
            } else if erases == lists.min && used != BlockUse::InUse(Purpose::Log) && lists.of_min.is_none() {
                lists.of_min = Some(pbn);
            }
        }
        domains
    }

    /// Whether a free block stands at the upper end of the window: the next erase would leave it.
    fn is_full(&self, lists: &Lists) -> bool {
        lists.most_worn_free.is_some_and(|most| most - lists.min >= self.tau)
    }

    /// The block to be emptied in a domain, if any.
    fn named(&self, lists: &Lists) -> Option<Pbn> {
        let runs_out = lists.lower_free < self.t_low && lists.higher_free > 0;
        lists.of_min.filter(|_| runs_out || self.is_full(lists))
    }

    /// Whether data that are taken for cold are treated like hot ones this time.
    fn backs_off(&mut self) -> bool {
        self.resting.as_mut().is_some_and(|(_, back_off)| back_off.passes())
    }

    fn is_hot(&self, alloc: AllocRequest) -> bool {
        match (alloc.purpose, alloc.lbn) {
            (Purpose::Collected | Purpose::Levelled | Purpose::Reserve, _) => false,
            (_, Some(lbn)) => self.recent.is_hot(lbn),
            (_, None) => true,
        }
    }
}

impl WearPolicy for Rejuvenator {
    fn order(&self) -> Order {
        Order::LeastWorn
    }

    fn place(&mut self, alloc: AllocRequest, free: usize) -> usize {
        let is_cold = !self.is_moving && self.for_cold > 0 && !self.is_hot(alloc);
        self.takes_worn = is_cold && !self.backs_off();
        if self.is_moving || self.takes_worn { free - 1 } else { 0 }
    }

    fn on_used(&mut self, pbn: Pbn, _alloc: AllocRequest) {
        if std::mem::take(&mut self.takes_worn)
            && let Some((rests, back_off)) = &mut self.resting
        {
            rests.begin(pbn);
            back_off.pass_again();
        }
    }

    fn on_erased(&mut self, pbn: Pbn, _erases: u32) {
        if let Some((rests, back_off)) = &mut self.resting {
            match rests.on_erased(pbn) {
                Some(true) => back_off.on_short_rest(),
                Some(false) => back_off.on_long_rest(),
                None => {}
            }
        }
        self.pace.on_erased();
    }

    fn moves_blocks(&self) -> bool {
        true
    }

    fn on_write(&mut self, request: &Request) {
        for run in request.block_runs(&self.geometry) {
            self.recent.on_write(run.lbn);
        }
    }

    fn next_move(&mut self, blocks: &dyn BlockFacts) -> Option<Pbn> {
        if !self.pace.is_due() {
            return None;
        }
        let domains = self.lists(blocks);
        let is_full = domains.iter().any(|lists| self.is_full(lists));
        let higher_free: usize = domains.iter().map(|lists| lists.higher_free).sum();
        self.for_cold = if is_full { 0 } else { higher_free.saturating_sub(self.t_high) };
        let named = domains.iter().find_map(|lists| self.named(lists));
        self.pace.on_looked(named.is_some());
        self.is_moving = named.is_some();
        named
    }

    fn on_moved(&mut self, _pbn: Pbn, _how: RelocateOutcome) {
        self.is_moving = false;
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        let (blocks, window) = (u64::from(self.geometry.blocks()), self.recent.room as u64);
        let logical_blocks = self.recent.times.len() as u64;
        let rests = self.resting.is_some().then_some(("rests of worn blocks", 4 * blocks));
        let tables = [("erase counts", 4 * blocks), ("recent writes", 4 * window)];
        tables.into_iter().chain([("write frequencies", 4 * logical_blocks)]).chain(rests).collect()
    }
}

#[cfg(test)]
mod tests;
