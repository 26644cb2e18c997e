//! # dual-pool: hot blocks and cold blocks in a pool each
//!
//! ## Idea
//! Each block belongs to a *hot pool* or to a *cold pool*: those whose content is thought to be
//! rewritten, and those whose content rests. Erases of a block since it came to its pool that way
//! are its *effective* erases. With `threshold` TH,
//!
//! - *cold-data migration*: if the most worn block of the hot pool exceeds the least worn one of
//!   the cold pool by more than TH, the content of the latter is moved to the former, and they
//!   change pools; their effective erases begin anew;
//! - *cold-pool resizing*: if the most effective erases in the cold pool exceed the fewest in the
//!   hot pool by more than TH, that cold block is rewritten after all, and joins the hot pool;
//! - *hot-pool resizing*: if the most worn block of the hot pool exceeds its least worn one by more
//!   than 2 TH, the latter rests after all, and joins the cold pool.
//!
//! ## Source
//! Chang 2007; Wang 2013 3.2.1. Departures: what the worn hot block holds is not copied elsewhere,
//! but that block is one that is free; for all else free blocks are taken as `dynamic` does, and on
//! a die of a page map by the lives of blocks (`crates/ftl/src/wear/lives.rs`); free blocks and log
//! blocks do not leave the hot pool by resizing, since nothing rests in them; and, since the
//! original does not say how the pools are filled at first, every other block is hot.
//!
//! ## State
//! RAM: the erase counts of all blocks, their effective erases and their lives, 4 B each, and a bit
//! for the pool. Pools are compared within a die under a page map, else over the device. There,
//! moved pages have an open block of their own on each die, paid out of the spare.
//!
//! ## After a cut
//! Erase counts lie in the tags. Pools and effective erases are forgotten: every other block is hot
//! again.
//!
//! ## Costs
//! A move copies what is valid in a block and erases it; at most one for each request that writes.
//! Resizing costs nothing. Erase counts differ by no more than 2 TH + 2: so much is allowed within
//! the hot pool (`crates/ftl/tests/ftl/evenness.rs`). Log blocks are never emptied for it.

use flash::Pbn;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::{Layout, WearScheme};
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::wear::{AllocRequest, BlockFacts, BlockUse, Order, Purpose, RelocateOutcome, WearPolicy};
use crate::wear::lives::BlockLives;
use crate::wear::pace::Pace;

const THRESHOLD: Parameter = Parameter {
    name: "threshold",
    kind: Kind::Integer { min: 1, max: 1 << 20 },
    default: "16",
    meaning: "TH: by how many erases hot blocks may exceed cold ones; less levels better and moves more.",
    source: "ftlkit (Chang 2007: TH)",
};

#[derive(Clone, Copy, Debug)]
struct Block {
    is_hot: bool,
    /// Erases since it came to its pool by a migration.
    effective: u32,
}

/// Levelling between two pools.
#[derive(Clone, Debug)]
pub struct DualPool {
    threshold: u32,
    blocks: Vec<Block>,
    pace: Pace,
    /// The block onto which content is being moved.
    target: Option<Pbn>,
    /// Which kind of pages gets the less worn block under a page map.
    lives: BlockLives,
}

impl WearScheme for DualPool {
    const ENTRY: Entry = Entry {
        name: "dual-pool",
        family: "wear",
        capabilities: Capabilities::NONE,
        memory: Memory::per_block(size_of::<Block>() + BlockLives::BYTES),
        source: "Chang 2007",
        parameters: &[THRESHOLD],
        header: include_str!("dual_pool.rs"),
    };

    fn new(layout: &Layout, values: &Values) -> Self {
        let blocks = layout.geometry.blocks();
        Self {
            threshold: values.integer(THRESHOLD.name) as u32,
            blocks: (0..blocks).map(|block| Block { is_hot: block % 2 == 0, effective: 0 }).collect(),
            pace: Pace::new(blocks),
            target: None,
            lives: BlockLives::none(blocks),
        }
    }
}

/// A block and what it is compared by.
type Ranked = (u32, Pbn);

/// What is compared in a domain.
#[derive(Clone, Copy, Debug, Default)]
struct WearExtremes {
    hot_most_worn: Option<Ranked>,
    hot_most_worn_free: Option<Ranked>,
    hot_least_worn: Option<Ranked>,
    hot_least_effective: Option<Ranked>,
    cold_least_worn: Option<Ranked>,
    cold_most_effective: Option<Ranked>,
}

fn keep_most(best: &mut Option<Ranked>, value: u32, pbn: Pbn) {
    if best.is_none_or(|(most, _)| value > most) {
        *best = Some((value, pbn));
    }
}

fn keep_least(best: &mut Option<Ranked>, value: u32, pbn: Pbn) {
    if best.is_none_or(|(least, _)| value < least) {
        *best = Some((value, pbn));
    }
}

impl WearExtremes {
    fn see(&mut self, block: Block, pbn: Pbn, used: BlockUse, erases: u32) {
        // A log block rests nowhere, and a free block holds nothing that could rest.
        let can_rest = !matches!(used, BlockUse::Free | BlockUse::InUse(Purpose::Log));
        if block.is_hot {
            keep_most(&mut self.hot_most_worn, erases, pbn);
            keep_least(&mut self.hot_least_effective, block.effective, pbn);
            if used == BlockUse::Free {
                keep_most(&mut self.hot_most_worn_free, erases, pbn);
            }
            if can_rest {
                keep_least(&mut self.hot_least_worn, erases, pbn);
            }
        } else {
            keep_most(&mut self.cold_most_effective, block.effective, pbn);
            if can_rest {
                keep_least(&mut self.cold_least_worn, erases, pbn);
            }
        }
    }

    /// The second of two blocks, if the first exceeds it by more than a threshold.
    fn exceeds(most: Option<Ranked>, least: Option<Ranked>, threshold: u32) -> bool {
        most.zip(least).is_some_and(|((most, _), (least, _))| most > least.saturating_add(threshold))
    }
}

impl DualPool {
    fn look(&self, blocks: &dyn BlockFacts) -> Vec<WearExtremes> {
        let mut domains: Vec<WearExtremes> = Vec::new();
        for (pbn, &block) in (0..).map(Pbn::new).zip(&self.blocks) {
            let (used, domain) = (blocks.use_of(pbn), blocks.domain_of(pbn));
            if used != BlockUse::Bad {
                domains.resize(domains.len().max(domain + 1), WearExtremes::default());
                domains[domain].see(block, pbn, used, blocks.erases(pbn));
            }
        }
        domains
    }

    /// Moves blocks that are in the wrong pool to the other; tells whether there were any.
    fn resize(&mut self, domains: &[WearExtremes]) -> bool {
        let mut found = false;
        for extremes in domains {
            if WearExtremes::exceeds(extremes.cold_most_effective, extremes.hot_least_effective, self.threshold)
                && let Some((_, pbn)) = extremes.cold_most_effective
            {
                self.blocks[pbn.index()].is_hot = true;
                found = true;
            }
            if WearExtremes::exceeds(extremes.hot_most_worn, extremes.hot_least_worn, self.threshold.saturating_mul(2))
                && let Some((_, pbn)) = extremes.hot_least_worn
            {
                self.blocks[pbn.index()].is_hot = false;
                found = true;
            }
        }
        found
    }
}

impl WearPolicy for DualPool {
    fn order(&self) -> Order {
        Order::Rested
    }

    fn place(&mut self, alloc: AllocRequest, free: usize) -> usize {
        if matches!(alloc.purpose, Purpose::Levelled | Purpose::Reserve) {
            free - 1
        } else {
            self.lives.place(alloc, free)
        }
    }

    fn wants(&mut self, alloc: AllocRequest) -> Option<Pbn> {
        let is_what_moves = matches!(alloc.purpose, Purpose::Levelled | Purpose::Merge | Purpose::Reserve);
        self.target.filter(|_| is_what_moves)
    }

    fn on_used(&mut self, pbn: Pbn, alloc: AllocRequest) {
        self.lives.on_used(pbn, alloc);
        if self.target.take_if(|target| *target == pbn).is_some() {
            self.blocks[pbn.index()] = Block { is_hot: false, effective: 0 };
        }
    }

    fn on_erased(&mut self, pbn: Pbn, _erases: u32) {
        self.lives.on_erased(pbn);
        let block = &mut self.blocks[pbn.index()];
        block.effective = block.effective.saturating_add(1);
        self.pace.on_erased();
    }

    fn moves_blocks(&self) -> bool {
        true
    }

    fn next_move(&mut self, blocks: &dyn BlockFacts) -> Option<Pbn> {
        if !self.pace.is_due() {
            return None;
        }
        let domains = self.look(blocks);
        let resized = self.resize(&domains);
        let named = domains.iter().find_map(|extremes| {
            let pair = extremes.hot_most_worn_free.zip(extremes.cold_least_worn);
            pair.filter(|&(hot, cold)| WearExtremes::exceeds(Some(hot), Some(cold), self.threshold))
        });
        self.pace.on_looked(resized || named.is_some());
        let ((_, hot), (_, cold)) = named?;
        self.target = Some(hot);
        Some(cold)
    }

    fn on_moved(&mut self, pbn: Pbn, how: RelocateOutcome) {
        self.target = None;
        if how == RelocateOutcome::Done {
            self.blocks[pbn.index()] = Block { is_hot: true, effective: 0 };
        }
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        let blocks = self.blocks.len() as u64;
        let pools = ("pools", blocks.div_ceil(8));
        vec![("erase counts", 4 * blocks), ("effective erases", 4 * blocks), pools, self.lives.table()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::layout;

    struct Device([(BlockUse, u32); 6]);

    impl BlockFacts for Device {
        fn blocks(&self) -> u32 {
            6
        }

        fn use_of(&self, pbn: Pbn) -> BlockUse {
            self.0[pbn.index()].0
        }

        fn erases(&self, pbn: Pbn) -> u32 {
            self.0[pbn.index()].1
        }
    }

    const DATA: BlockUse = BlockUse::InUse(Purpose::Data);

    fn policy() -> DualPool {
        let settings = [("threshold".to_owned(), "4".to_owned())].into();
        let values = Values::check("dual-pool", DualPool::ENTRY.parameters, &settings).expect("valid");
        DualPool::new(&layout(6, 4, 1), &values)
    }

    fn hot(policy: &DualPool) -> Vec<usize> {
        (0..6).filter(|&block| policy.blocks[block].is_hot).collect()
    }

    #[test]
    fn cold_data_migrates_onto_the_most_worn_free_hot_block_and_both_change_pools() {
        let mut policy = policy();
        let mut device = Device([(BlockUse::Free, 7), (DATA, 3), (DATA, 8), (DATA, 2), (DATA, 5), (BlockUse::Free, 1)]);
        let cold = policy.next_move(&device).expect("7 exceeds 2 by more than 4");
        let alloc = AllocRequest::new(Purpose::Levelled);
        assert_eq!((cold, policy.wants(alloc)), (Pbn::new(3), Some(Pbn::new(0))));
        assert_eq!(policy.wants(AllocRequest::new(Purpose::Data)), None);
        policy.on_used(Pbn::new(0), alloc);
        policy.on_erased(cold, 3);
        policy.on_moved(cold, RelocateOutcome::Done);
        assert_eq!((hot(&policy), policy.wants(alloc)), (vec![2, 3, 4], None));
        device.0[0].1 = 6;
        assert_eq!(policy.next_move(&device), None, "no free hot block");
    }

    #[test]
    fn a_block_in_the_wrong_pool_joins_the_other_one() {
        let mut policy = policy();
        let device = Device([(DATA, 9), (DATA, 9), (DATA, 0), (DATA, 9), (DATA, 9), (DATA, 9)]);
        (0..5).for_each(|_| policy.on_erased(Pbn::new(5), 9));
        assert_eq!(policy.next_move(&device), None);
        assert_eq!(hot(&policy), [0, 4, 5], "5 is rewritten after all, and 2 rests: 9 exceeds 0 by more than 8");
    }
}
