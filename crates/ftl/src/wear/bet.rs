//! # bet: whatever was not erased for long is emptied
//!
//! ## Idea
//! Blocks are taken together in sets of 2^`k`. A flag for each set, in the *block erasing table*,
//! tells whether any of its blocks has been erased since the interval began. When the erases of the
//! interval are `threshold` times as many as the sets that are flagged, wear is uneven: the sets
//! without a flag are emptied, one after another in cyclic order, until it is even again. When all
//! are flagged, the next interval begins.
//!
//! ```text
//!   sets   0 1 2 3 4 5 6 7       erases of the interval ÷ flags ≥ threshold:
//!   flags  1 0 0 1 0 0 0 1       set 1 is emptied, then 2, 4, …
//!            ▲ next
//! ```
//!
//! ## Source
//! Chang 2007b (SWL-Procedure and SWL-BETUpdate); Wang 2013 3.2.1. Departures: one block is emptied
//! for each request that writes, where the original goes on until wear is even; and a set in which
//! nothing can be emptied, since all its blocks are free or bad, is flagged, where the original
//! erases free blocks again. Which free block is taken the original leaves to the layer below; here
//! `free_blocks` says it, and blocks that were freed lately rest by default, as under `dynamic`,
//! and on a die of a page map lives of blocks decide (`crates/ftl/src/wear/lives.rs`); with
//! `temperature` it is BET-S of Wang 2013 7.5, see saw.
//!
//! ## State
//! RAM: a bit for each set, and four numbers; the erase counts of all blocks, 4 B each, if free
//! blocks are taken in their order, and by default their lives, 4 B each. Under a page map, moved
//! pages have an open block of their own on each die, paid out of the spare.
//!
//! ## After a cut
//! The table is empty, and a new interval begins. The original keeps it on flash; without it, what
//! an interval had learnt is lost.
//!
//! ## Costs
//! A move copies what is valid in a block and erases it; at most one for each request that writes.
//! In an interval each set is erased once at least and all together `threshold` times as often as
//! there are sets, so at most one erase in `threshold` is levelling's for k = 0. With the least
//! worn free block first, erase counts differ by no more than 4 `threshold` N / F, for F blocks of
//! N that hold no data: a few intervals' erases of a block that is rewritten
//! (`crates/ftl/tests/ftl/evenness.rs`); not over waftl, where they came to differ by 417 at
//! `threshold` 4. With the first freed first there is no such bound: their standard deviation
//! doubles whenever the erases become four times as many.

use std::fmt;
use std::ops::Range;

use flash::Pbn;
use host::FileEvent;
use random::SeededRng;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::{Layout, WearScheme};
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::request::Request;
use crate::api::wear::{AllocRequest, BlockFacts, BlockUse, Order, RelocateOutcome, WearPolicy};
use crate::wear::lives::BlockLives;
use crate::wear::temperatures::{DEGREES, FREE_BLOCKS, FreeBlocks};

const K: Parameter = Parameter {
    name: "k",
    kind: Kind::Integer { min: 0, max: 16 },
    default: "0",
    meaning: "Blocks of a set, as a power of two; more need fewer flags, and overlook what rests beside a block that is erased.",
    source: "Chang 2007b (0 to 3)",
};

const THRESHOLD: Parameter = Parameter {
    name: "threshold",
    kind: Kind::Integer { min: 1, max: 1 << 20 },
    default: "100",
    meaning: "T: erases for each flagged set beyond which sets are emptied; less levels better and moves more.",
    source: "Chang 2007b (100 to 1000)",
};

/// Levelling by the block erasing table.
pub struct Bet {
    blocks: u32,
    free: FreeBlocks,
    /// Which kind of pages gets the less worn block under a page map, where blocks rest.
    lives: Option<BlockLives>,
    k: u32,
    threshold: u64,
    /// The block erasing table: whether a block of each set has been erased in this interval.
    flags: Vec<bool>,
    /// `fcnt`: how many of them are set.
    flagged: u64,
    /// `ecnt`: erases in this interval.
    erases: u64,
    /// `findex`: where the search for a set without a flag goes on.
    next: usize,
    /// Blocks of a set still to be emptied.
    left: Range<u32>,
    rng: SeededRng,
}

impl WearScheme for Bet {
    const ENTRY: Entry = Entry {
        name: "bet",
        family: "wear",
        capabilities: Capabilities::NONE,
        memory: Memory::per_block(size_of::<bool>() + BlockLives::BYTES),
        source: "Chang 2007b",
        parameters: &[K, THRESHOLD, FREE_BLOCKS, DEGREES],
        header: include_str!("bet.rs"),
    };

    fn new(layout: &Layout, values: &Values) -> Self {
        let (blocks, k) = (layout.geometry.blocks(), values.integer(K.name) as u32);
        // Victims are drawn with the same seed.
        let rng = SeededRng::new(layout.seed).far_apart();
        let free = FreeBlocks::from_values(values);
        let lives = (free.order() == Order::Rested).then(|| BlockLives::none(blocks));
        Self {
            blocks,
            free,
            lives,
            k,
            threshold: values.integer(THRESHOLD.name),
            flags: vec![false; blocks.div_ceil(1 << k) as usize],
            flagged: 0,
            erases: 0,
            next: 0,
            left: 0..0,
            rng,
        }
    }
}

impl Bet {
    fn set_of(&self, pbn: Pbn) -> usize {
        (pbn.get() >> self.k) as usize
    }

    fn flag(&mut self, set: usize) {
        self.flagged += u64::from(!std::mem::replace(&mut self.flags[set], true));
    }

    fn begin_interval(&mut self) {
        self.flags.fill(false);
        (self.flagged, self.erases) = (0, 0);
        self.next = (self.rng.bits() % self.flags.len() as u64) as usize;
    }

    fn is_uneven(&self) -> bool {
        self.flagged > 0 && self.erases >= self.threshold * self.flagged
    }

    /// Begins to empty the next set without a flag. There must be one.
    fn begin_set(&mut self) {
        while self.flags[self.next] {
            self.next = (self.next + 1) % self.flags.len();
        }
        let first = (self.next as u32) << self.k;
        self.left = first..first.saturating_add(1 << self.k).min(self.blocks);
        self.next = (self.next + 1) % self.flags.len();
    }
}

impl WearPolicy for Bet {
    fn order(&self) -> Order {
        self.free.order()
    }

    fn place(&mut self, alloc: AllocRequest, free: usize) -> usize {
        self.lives.as_ref().map_or_else(|| self.free.place(alloc, free), |lives| lives.place(alloc, free))
    }

    fn on_used(&mut self, pbn: Pbn, alloc: AllocRequest) {
        self.lives.iter_mut().for_each(|lives| lives.on_used(pbn, alloc));
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

    fn on_erased(&mut self, pbn: Pbn, _erases: u32) {
        self.lives.iter_mut().for_each(|lives| lives.on_erased(pbn));
        self.erases += 1;
        self.flag(self.set_of(pbn));
    }

    fn moves_blocks(&self) -> bool {
        true
    }

    fn next_move(&mut self, blocks: &dyn BlockFacts) -> Option<Pbn> {
        loop {
            let is_used = |pbn: &Pbn| !matches!(blocks.use_of(*pbn), BlockUse::Free | BlockUse::Bad);
            if let Some(pbn) = self.left.by_ref().map(Pbn::new).find(is_used) {
                return Some(pbn);
            }
            if !self.is_uneven() {
                return None;
            }
            if self.flagged == self.flags.len() as u64 {
                self.begin_interval();
                return None;
            }
            self.begin_set();
            if self.left.clone().map(Pbn::new).all(|pbn| !is_used(&pbn)) {
                self.flag((self.left.start >> self.k) as usize);
            }
        }
    }

    fn on_moved(&mut self, pbn: Pbn, how: RelocateOutcome) {
        match how {
            // It may have been empty, and so not have been erased.
            RelocateOutcome::Done | RelocateOutcome::Retired => self.flag(self.set_of(pbn)),
            // There may be room for another set's.
            RelocateOutcome::Deferred(_) => self.left = 0..0,
        }
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        let table = ("block erasing table", self.flags.len().div_ceil(8) as u64 + 16);
        let lives = self.lives.as_ref().map(BlockLives::table);
        std::iter::once(table).chain(self.free.tables(self.blocks)).chain(lives).collect()
    }
}

impl fmt::Debug for Bet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bet: {} erases, {} of {} sets", self.erases, self.flagged, self.flags.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::wear::Deferred;
    use crate::api::wear::Purpose;
    use crate::testing::layout;

    /// Some blocks are free, the others hold data.
    struct Free<'a>(u32, &'a [u32]);

    impl BlockFacts for Free<'_> {
        fn blocks(&self) -> u32 {
            self.0
        }

        fn use_of(&self, pbn: Pbn) -> BlockUse {
            if self.1.contains(&pbn.get()) { BlockUse::Free } else { BlockUse::InUse(Purpose::Data) }
        }

        fn erases(&self, _pbn: Pbn) -> u32 {
            0
        }
    }

    fn bet(blocks: u32, k: &str, threshold: &str) -> Bet {
        let settings = [("k", k), ("threshold", threshold)].map(|(key, value)| (key.to_owned(), value.to_owned()));
        let values = Values::check("bet", Bet::ENTRY.parameters, &settings.into()).expect("valid");
        Bet::new(&layout(blocks, 4, 1), &values)
    }

    /// Names blocks, each of which is erased, until wear is even.
    fn emptied(bet: &mut Bet, facts: &Free<'_>) -> Vec<u32> {
        let mut emptied = Vec::new();
        while let Some(pbn) = bet.next_move(facts) {
            bet.on_erased(pbn, 1);
            bet.on_moved(pbn, RelocateOutcome::Done);
            emptied.push(pbn.get());
        }
        emptied
    }

    #[test]
    fn sets_without_a_flag_are_emptied_in_turn_until_there_are_too_few_erases_for_each_flag() {
        let (mut bet, facts) = (bet(8, "0", "3"), Free(8, &[5]));
        let erase = |bet: &mut Bet, block: u32, times: u32| (0..times).for_each(|_| bet.on_erased(Pbn::new(block), 1));
        erase(&mut bet, 0, 2);
        assert_eq!(emptied(&mut bet, &facts), [0_u32; 0], "2 erases, 1 flag");
        erase(&mut bet, 0, 5);
        // With each, there is an erase and a flag more: 9 erases are 3 for each of 3 flags, 10 are
        // not for each of 4.
        assert_eq!(emptied(&mut bet, &facts), [1, 2, 3]);
        assert_eq!((bet.erases, bet.flagged), (10, 4));
        erase(&mut bet, 3, 4);
        assert_eq!(emptied(&mut bet, &facts), [4]);
        erase(&mut bet, 3, 20);
        assert_eq!(emptied(&mut bet, &facts), [6, 7], "5 is free, and flagged for that");
        assert_eq!((bet.erases, bet.flagged), (0, 0), "a new interval");
    }

    #[test]
    fn all_blocks_of_a_set_are_emptied_and_the_last_set_may_be_smaller() {
        let (mut bet, facts) = (bet(7, "2", "2"), Free(7, &[1, 5]));
        (0..4).for_each(|_| bet.on_erased(Pbn::new(1), 1));
        assert_eq!(bet.tables()[0].1, 1 + 16);
        assert_eq!(emptied(&mut bet, &facts), [4, 6]);
    }

    #[test]
    fn a_block_that_cannot_be_emptied_now_is_passed_over_until_its_turn_comes_again() {
        let (mut bet, facts) = (bet(4, "0", "2"), Free(4, &[]));
        (0..20).for_each(|_| bet.on_erased(Pbn::new(0), 1));
        assert_eq!(bet.next_move(&facts), Some(Pbn::new(1)));
        bet.on_moved(Pbn::new(1), RelocateOutcome::Deferred(Deferred::NoRoom));
        assert_eq!(emptied(&mut bet, &facts), [2, 3, 1]);
    }
}
