//! # lazy: worn blocks get cold data when merges give them back
//!
//! ## Idea
//! A block that wears fast is one that merges give back again and again. When one is given back
//! that has been erased more often than the mean by more than Δ, cold data are moved into it. There
//! it rests, and the young block that they leave takes its place among the free ones. What is cold
//! the log knows without any table: a logical block that has no page there was not updated lately.
//! Those in blocks below the mean are taken in turn.
//!
//! ```text
//!   merge gives back D, erased more than mean + Δ   C: next without log pages, below the mean
//!   [D: erased]  ◀── content ──  [block of C]  ──▶ erased, free
//! ```
//!
//! Δ is tuned. Levelling costs f(Δ) = moves ÷ erases, which falls as Δ grows, about as K ÷ Δ. After
//! each session K is what was measured in it, and Δ becomes √(K ÷ `slope`): there another unit of Δ
//! would save `slope` of the erases, no more and no less.
//!
//! **Backing off.** What has no page in the log may be rewritten soon all the same: a logical block
//! written as a whole, or one that is written once in each round of a workload that begins again.
//! Then D comes back at once, is worn still, and gets the next one, without waiting among the free
//! blocks as others do. The most worn blocks wear fastest so, and the larger Δ is, the fewer share
//! that. So a block that rested for less than a mean block's time between two erases backs off: it
//! gets nothing the next time it is given back, after another failure the next 3 times, then 7. A
//! rest that lasts ends that.
//!
//! **Least worn first.** A rest that was too short costs a worn block one erase more. Where free
//! blocks are taken in the order in which they were freed, nothing takes that back. Where the least
//! worn is taken, the block waits until the others have caught up. σ against no levelling over
//! fast, the first three on the default device of four dies, the last on one die. *Least worn* is
//! `free_blocks = least_worn`; the default leaves out what was freed lately, and is held to no
//! levelling by the same test (`crates/sim/tests/sim/studies/levellers.rs`):
//!
//! | 10 000 requests of | least worn | without backing off | first freed |
//! |---|---|---|---|
//! | Financial1, × 100 | −79 % | +7 % | +33 % |
//! | `hm_0`, 20 % reads, × 100 | −88 % | +1 475 % | +10 % |
//! | `hm_0`, 40 % reads, × 100 | −78 % | +2 037 % | +23 % |
//! | `hm_0`, 20 % reads, × 80, one die | −88 % | +52 % | −60 % |
//!
//! The turn of the dies is not the reason. With the first freed block of the whole device in place
//! of the next die's, σ on Financial1 × 100 is 20 % above no levelling. It is 22 % above with moves
//! within a die alone.
//!
//! ## Source
//! Wang 2013 3.2.1 (Chang 2011), Δ = 2 at first as in its 4.6.1. That only a block below the mean
//! gives its data away is said in its 4.5.
//!
//! Of the original, and of its later form (Chang, Chou and Huang 2013), only abstracts could be
//! had. They say that it needs no data structures beyond those of the mapping and that the
//! threshold is tuned while running to balance evenness and overhead. The model of the overhead,
//! `slope`, `session`, the limits of a step, half and double, and backing off are ours. So is the
//! order of free blocks, since the abstracts do not tell it: least worn first, of those that were
//! not freed lately, as dynamic takes them. With `free_blocks = first_freed` they are taken as
//! without levelling, and the studies of owl and saw set it so. With `temperature` it is lazy-S of
//! Wang 2013 7.5, see saw.
//!
//! ## State
//! RAM: Δ and a few counters; worn blocks that wait for their turn, 4 B each and at most the spare
//! blocks; the erase counts, 4 B a block; since when a block rests and how it backs off, 8 B a
//! block.
//!
//! One block is filled after each request of the host, so when a merge gives back many worn blocks
//! the others wait. One that is taken in the meantime is passed over until it is given back again.
//! Over block mapping no logical block is ever in a log: all are taken for cold, in turn.
//!
//! ## After a cut
//! Erase counts, and so their mean, lie in the tags. Δ begins anew, and so does the turn of logical
//! blocks, and no block backs off.
//!
//! ## Costs
//! A move: the pages of a logical block read and programmed, one erase. The page of dynamic tells
//! how long requests wait for blocks that merges freed.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use flash::{Lbn, Pbn};

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::layout::{WearScheme, keeps_logical_blocks};
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::request::Request;
use crate::api::wear::RelocateOutcome;
use crate::api::wear::{AllocRequest, BlockFacts, BlockUse, Order, Purpose, WearPolicy};
use crate::wear::rests::{BackOff, RestTimes};
use crate::wear::temperatures::{DEGREES, FREE_BLOCKS, FreeBlocks};
use host::FileEvent;

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

const BACK_OFF: Parameter = Parameter {
    name: "back_off",
    kind: Kind::Switch,
    default: "true",
    meaning: "Whether a worn block whose cold data turned out not to be cold waits among the free blocks for a while before it gets others.",
    source: "ftlkit",
};

/// Lazy wear levelling.
#[derive(Clone, Debug)]
pub struct Lazy {
    free: FreeBlocks,
    threshold: Threshold,
    /// Erases of all blocks, once they have been counted.
    total: Option<u64>,
    /// Blocks that are in use as data blocks.
    is_data: Vec<bool>,
    resting: Option<Resting>,
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
        memory: Memory::per_block(size_of::<bool>() + RestTimes::BYTES + size_of::<BackOff>()),
        source: "Wang 2013 3.2.1; Chang 2011",
        parameters: &[DELTA, TUNE, SLOPE, SESSION, BACK_OFF, FREE_BLOCKS, DEGREES],
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
            resting: values.switch(BACK_OFF.name).then(|| Resting::none(layout.geometry.blocks())),
            waiting: VecDeque::new(),
            most_waiting: layout.spare_blocks(),
            turn: 0,
            moving: None,
        }
    }
}

impl Lazy {
    /// Erases of a block in the mean.
    fn mean(&self) -> f64 {
        self.total.unwrap_or_default() as f64 / self.is_data.len() as f64
    }

    /// Whether a block that was erased so often is worn.
    fn is_worn(&self, erases: u32) -> bool {
        f64::from(erases) > self.mean() + self.threshold.delta
    }

    /// The next logical block without a page in the log whose data block is below the mean.
    fn next_cold(&mut self, facts: &dyn BlockFacts) -> Option<(Lbn, Pbn)> {
        let (blocks, mean) = (facts.logical_blocks(), self.mean());
        let turns = (0..blocks).map(|i| Lbn::new((self.turn + i) % blocks));
        let mut homes = turns.filter_map(|lbn| Some((lbn, facts.home_of(lbn)?)));
        let cold = homes.find(|&(lbn, home)| f64::from(facts.erases(home)) < mean && !facts.is_in_log(lbn))?;
        self.turn = (cold.0.get() + 1) % blocks;
        Some(cold)
    }
}

impl WearPolicy for Lazy {
    fn order(&self) -> Order {
        self.free.order()
    }

    fn place(&mut self, alloc: AllocRequest, free: usize) -> usize {
        self.free.place(alloc, free)
    }

    fn keeps_file_types(&self) -> bool {
        self.free.uses_temperatures()
    }

    fn on_write(&mut self, request: &Request) {
        self.free.on_hint(request.hint);
    }

    fn on_file_event(&mut self, _event: FileEvent, of: &Request) {
        self.free.on_hint(of.hint);
    }

    fn wants(&mut self, alloc: AllocRequest) -> Option<Pbn> {
        let (lbn, worn) = self.moving?;
        (alloc.purpose == Purpose::Merge && alloc.lbn == Some(lbn)).then_some(worn)
    }

    fn on_used(&mut self, pbn: Pbn, alloc: AllocRequest) {
        if let Some(resting) = &mut self.resting
            && self.moving.is_some_and(|(lbn, worn)| alloc.lbn == Some(lbn) && pbn == worn)
        {
            resting.rests.begin(pbn);
        }
        self.is_data[pbn.index()] = matches!(alloc.purpose, Purpose::Data | Purpose::Merge);
    }

    fn on_erased(&mut self, pbn: Pbn, erases: u32) {
        let Some(total) = &mut self.total else { return };
        *total += 1;
        self.threshold.on_erased();
        if let Some(resting) = &mut self.resting {
            resting.on_erased(pbn);
        }
        let was_data = std::mem::take(&mut self.is_data[pbn.index()]);
        if was_data
            && self.is_worn(erases)
            && !self.resting.as_mut().is_some_and(|resting| resting.back_off[pbn.index()].passes())
            && self.waiting.len() < self.most_waiting as usize
        {
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
            if blocks.use_of(worn) == BlockUse::Free && self.is_worn(blocks.erases(worn)) {
                let (lbn, home) = self.next_cold(blocks)?;
                self.moving = Some((lbn, worn));
                return Some(home);
            }
        }
        None
    }

    fn on_moved(&mut self, _pbn: Pbn, how: RelocateOutcome) {
        self.moving = None;
        if matches!(how, RelocateOutcome::Done | RelocateOutcome::Retired) {
            self.threshold.on_moved();
        }
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        let worn = ("worn blocks", 4 * u64::from(self.most_waiting));
        let erases = ("erase counts", 4 * self.is_data.len() as u64);
        let rests = self.resting.is_some().then(|| ("rests of worn blocks", 8 * self.is_data.len() as u64));
        [worn, erases].into_iter().chain(rests).chain(self.free.temperatures_table()).collect()
    }
}

/// Which blocks rest under cold data, and which back off because a rest was short.
#[derive(Clone, Debug)]
struct Resting {
    rests: RestTimes,
    back_off: Vec<BackOff>,
}

impl Resting {
    fn none(blocks: u32) -> Self {
        Self { rests: RestTimes::none(blocks), back_off: vec![BackOff::default(); blocks as usize] }
    }

    /// Judges the rest of a block that is erased, if it rested. One that lasts ends backing off.
    fn on_erased(&mut self, pbn: Pbn) {
        let back_off = &mut self.back_off[pbn.index()];
        match self.rests.on_erased(pbn) {
            Some(true) => back_off.on_short_rest(),
            Some(false) => *back_off = BackOff::default(),
            None => {}
        }
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

    fn on_moved(&mut self) {
        self.moves += 1;
    }

    fn on_erased(&mut self) {
        self.erases += 1;
        if self.session.is_some_and(|session| self.erases >= session) {
            let overhead = self.moves as f64 / self.erases as f64;
            let best = (self.delta * overhead / self.slope).sqrt();
            self.delta = best.clamp(self.delta / 2.0, self.delta * 2.0).max(1.0);
            (self.erases, self.moves) = (0, 0);
        }
    }
}
