//! # lazy: worn blocks get cold data when merges give them back
//!
//! ## Idea
//! A block that wears fast is one that merges give back again and again. When one is given back
//! that has been erased more often than the mean by more than Δ, cold data are moved into it. There
//! it rests, and the young block that they leave takes its place among the free ones. What is cold
//! the log knows without any table: a logical block that has no page there was not updated lately.
//! These are taken in turn.
//!
//! ```text
//!   merge gives back D, erased more than mean + Δ   C: next logical block without log pages
//!   [D: erased]  ◀── content ──  [block of C]  ──▶ erased, free
//! ```
//!
//! Δ is tuned. Levelling costs f(Δ) = moves ÷ erases, which falls as Δ grows, about as K ÷ Δ. After
//! each session K is what was measured in it, and Δ becomes √(K ÷ `slope`): there another unit of Δ
//! would save `slope` of the erases, no more and no less.
//!
//! ## Source
//! Wang 2013 3.2.1 (Chang 2011), Δ = 2 at first as in its 4.6.1.
//!
//! Of the original, and of its later form (Chang, Chou and Huang 2013), only abstracts could be
//! had. They say that it needs no data structures beyond those of the mapping and that the
//! threshold is tuned while running to balance evenness and overhead. The model of the overhead,
//! `slope`, `session` and the limits of a step, half and double, are ours. So is the order of free
//! blocks, first freed first as without levelling: the abstracts do not tell it. owl and the
//! default of bet take the least worn first, which levels for itself (`dynamic`), and so does lazy
//! with `free_blocks = least_worn`. With `temperature` it is lazy-S of Wang 2013 7.5, see saw.
//!
//! ## State
//! RAM: Δ and a few counters; worn blocks that wait for their turn, 4 B each and at most the spare
//! blocks; the erase counts, 4 B a block.
//!
//! One block is filled after each request of the host, so when a merge gives back many worn blocks
//! the others wait. One that is taken in the meantime is passed over until it is given back again.
//! Over block mapping no logical block is ever in a log: all are taken for cold, in turn.
//!
//! ## After a cut
//! Erase counts, and so their mean, lie in the tags. Δ begins anew, and so does the turn of logical
//! blocks.
//!
//! ## Costs
//! A move: the pages of a logical block read and programmed, one erase.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use flash::{Lbn, Pbn};

use crate::api::entry::{Capabilities, Entry};
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::relocate::RelocateOutcome;
use crate::api::request::Request;
use crate::api::wear::{AllocRequest, BlockFacts, Order, Purpose, Use, WearPolicy};
use crate::api::wear_scheme::{WearScheme, keeps_logical_blocks};
use crate::port::event::FileEvent;
use crate::wear::temperatures::{self, DEGREES, FreeBlocks};

const DELTA: Parameter = Parameter {
    name: "delta",
    kind: Kind::Integer { min: 1, max: u32::MAX as u64 },
    default: "2",
    meaning: "Δ at first: erases above the mean from which on a block gets cold data; more moves less and is less even.",
    source: "Wang 2013 4.6.1",
};

const TUNE: Parameter = Parameter {
    name: "tune",
    kind: Kind::Switch,
    default: "true",
    meaning: "Whether Δ is tuned while running.",
    source: "Wang 2013 3.2.1",
};

const SLOPE: Parameter = Parameter {
    name: "slope",
    kind: Kind::Ratio { min: 0.000_001, max: 1.0 },
    default: "0.001",
    meaning: "Share of the erases that another unit of Δ would save where Δ is left; more moves less.",
    source: "ftlkit",
};

const SESSION: Parameter = Parameter {
    name: "session",
    kind: Kind::Integer { min: 1, max: u32::MAX as u64 },
    default: "1000",
    meaning: "Erases after which Δ is tuned.",
    source: "ftlkit",
};

/// Without levelling a block waits for its turn, so that is what the source is taken to mean.
const FREE_BLOCKS: Parameter = Parameter { default: "first_freed", ..temperatures::FREE_BLOCKS };

/// Lazy wear levelling.
#[derive(Clone, Debug)]
pub struct Lazy {
    free: FreeBlocks,
    threshold: Threshold,
    /// Erases of all blocks, once they have been counted.
    total: Option<u64>,
    /// Blocks that are in use as data blocks.
    is_data: Vec<bool>,
    waiting: VecDeque<Pbn>,
    most_waiting: u32,
    /// The logical block that the next search for cold data begins with.
    turn: u32,
    /// Cold data on their way, and where to.
    moving: Option<(Lbn, Pbn)>,
}

impl WearScheme for Lazy {
    const ENTRY: Entry = Entry {
        name: "lazy",
        family: "wear",
        capabilities: Capabilities::NONE,
        source: "Wang 2013 3.2.1; Chang 2011",
        parameters: &[DELTA, TUNE, SLOPE, SESSION, FREE_BLOCKS, DEGREES],
        header: include_str!("lazy.rs"),
    };

    fn suits(mapping: &Entry) -> Result<(), String> {
        keeps_logical_blocks(mapping)
    }

    fn new(layout: &Layout, values: &Values) -> Self {
        Self {
            free: FreeBlocks::from_values(values),
            threshold: Threshold::new(values),
            total: None,
            is_data: vec![false; layout.geometry.blocks() as usize],
            waiting: VecDeque::new(),
            most_waiting: layout.spare_blocks(),
            turn: 0,
            moving: None,
        }
    }
}

impl Lazy {
    /// Whether a block that was erased so often is worn.
    fn is_worn(&self, erases: u32) -> bool {
        let mean = self.total.unwrap_or_default() as f64 / self.is_data.len() as f64;
        f64::from(erases) > mean + self.threshold.delta
    }

    /// The next logical block with a data block and no page in the log.
    fn next_cold(&mut self, facts: &dyn BlockFacts) -> Option<(Lbn, Pbn)> {
        let blocks = facts.logical_blocks();
        let turns = (0..blocks).map(|i| Lbn::new((self.turn + i) % blocks));
        let cold = turns.filter(|&lbn| !facts.is_in_log(lbn)).find_map(|lbn| Some((lbn, facts.home_of(lbn)?)))?;
        self.turn = (cold.0.get() + 1) % blocks;
        Some(cold)
    }
}

impl WearPolicy for Lazy {
    fn order(&self) -> Order {
        self.free.order()
    }

    fn place(&mut self, ask: AllocRequest, free: usize) -> usize {
        self.free.place(ask, free)
    }

    fn keeps_file_types(&self) -> bool {
        self.free.uses_temperatures()
    }

    fn wrote(&mut self, request: &Request) {
        self.free.heard(request.hint);
    }

    fn on_file_event(&mut self, _event: FileEvent, of: &Request) {
        self.free.heard(of.hint);
    }

    fn wants(&mut self, ask: AllocRequest) -> Option<Pbn> {
        let (lbn, worn) = self.moving?;
        (ask.purpose == Purpose::Merge && ask.lbn == Some(lbn)).then_some(worn)
    }

    fn used(&mut self, pbn: Pbn, ask: AllocRequest) {
        self.is_data[pbn.index()] = matches!(ask.purpose, Purpose::Data | Purpose::Merge);
    }

    fn erased(&mut self, pbn: Pbn, erases: u32) {
        let Some(total) = &mut self.total else { return };
        *total += 1;
        self.threshold.erased();
        let was_data = std::mem::take(&mut self.is_data[pbn.index()]);
        if was_data && self.is_worn(erases) && self.waiting.len() < self.most_waiting as usize {
            self.waiting.push_back(pbn);
        }
    }

    fn moves_blocks(&self) -> bool {
        true
    }

    fn next_move(&mut self, blocks: &dyn BlockFacts) -> Option<Pbn> {
        if self.total.is_none() {
            let erases = (0..blocks.blocks()).map(|pbn| u64::from(blocks.erases(Pbn::new(pbn))));
            self.total = Some(erases.sum());
        }
        while let Some(worn) = self.waiting.pop_front() {
            if blocks.use_of(worn) == Use::Free && self.is_worn(blocks.erases(worn)) {
                let (lbn, home) = self.next_cold(blocks)?;
                self.moving = Some((lbn, worn));
                return Some(home);
            }
        }
        None
    }

    fn moved(&mut self, _pbn: Pbn, how: RelocateOutcome) {
        self.moving = None;
        if matches!(how, RelocateOutcome::Done | RelocateOutcome::Retired) {
            self.threshold.moved();
        }
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        let worn = ("worn blocks", 4 * u64::from(self.most_waiting));
        let erases = ("erase counts", 4 * self.is_data.len() as u64);
        [worn, erases].into_iter().chain(self.free.temperatures_table()).collect()
    }
}

/// Δ, and what it costs in this session.
#[derive(Clone, Debug)]
struct Threshold {
    delta: f64,
    slope: f64,
    /// Erases of a session; none if Δ is not tuned.
    session: Option<u64>,
    erases: u64,
    moves: u64,
}

impl Threshold {
    fn new(values: &Values) -> Self {
        Self {
            delta: values.integer("delta") as f64,
            slope: values.ratio("slope"),
            session: values.switch("tune").then(|| values.integer("session")),
            erases: 0,
            moves: 0,
        }
    }

    fn moved(&mut self) {
        self.moves += 1;
    }

    fn erased(&mut self) {
        self.erases += 1;
        if self.session.is_some_and(|session| self.erases >= session) {
            let overhead = self.moves as f64 / self.erases as f64;
            let best = (self.delta * overhead / self.slope).sqrt();
            self.delta = best.clamp(self.delta / 2.0, self.delta * 2.0).max(1.0);
            (self.erases, self.moves) = (0, 0);
        }
    }
}
