//! # static: the least worn block that rests is emptied onto the most worn free one
//!
//! ## Idea
//! Free blocks are taken as `dynamic` takes them, the least worn first. A block whose content is
//! never changed is not erased and falls behind. When the most worn free block has been erased more
//! often than the least worn block that rests by more than `threshold`, what rests is moved there:
//! the worn block rests from then on, and the young one takes part in the erases.
//!
//! ```text
//!   erases  0 ────────────────── threshold ──────▶
//!           [rests]─────content─────────────▶[free]
//!           free, taken next                 rests
//! ```
//!
//! A block rests if, since it was last erased, as many erases have passed as the device has blocks.
//! So a block that is young because it was emptied a moment ago is not emptied again, with whatever
//! the host writes to it.
//!
//! **Free blocks of a die.** Under a page map the less worn block goes to host pages or to
//! collected pages, to those whose blocks come back sooner (`crates/ftl/src/wear/lives.rs`).
//!
//! **Backing off.** Data that rested longest may be the next to be rewritten, for example where a
//! file is written from start to end again and again. Then the worn block is soon free, is the most
//! worn again, and gets the next such data. Without backing off, and with the least worn block
//! first, iozone-80 on one die did so (20 000 requests). All 601 blocks with moved data came back,
//! half of them within 8 of the device's erases. One block was erased 180 times, against 7 without
//! levelling. So under a page map a rest shorter than the mean life of a block is a failure. After
//! it, one chance to move is passed, after another failure 3, then 7. A rest that lasts takes one
//! failure back.
//!
//! ## Source
//! Wang 2013 3.2.1 (static wear levelling, by a threshold). Drives do this; none says how exactly.
//! What is compared, the most worn free block with the least worn resting one instead of the
//! maximum of all blocks with their mean, is ftlkit's: these two change places.
//!
//! ## State
//! RAM: the erase counts of all blocks, when each was erased last, when it was taken, and since
//! when it rests under moved data, 4 B each. Blocks are compared within a die under a page map,
//! else over the device. There, moved pages have an open block of their own on each die, paid out
//! of the spare.
//!
//! ## After a cut
//! Erase counts lie in the tags. When blocks were last erased is forgotten, and all that hold
//! content count as resting until they are erased.
//!
//! ## Costs
//! A move copies what is valid in a block and erases it; at most one for each request that writes.
//! Log blocks are never emptied for it, and a free block that a demand-paged scheme keeps aside is
//! exchanged for another without an operation. Erase counts differ by no more than `threshold` + 2
//! within a die under a page map, and elsewhere, over the device, by as much more as a block has
//! pages: a request may merge so many logical blocks before the next look
//! (`crates/ftl/tests/ftl/evenness.rs`). Between dies the turn of the host's writes levels; that of
//! translation pages disturbs it: over dftl on two dies their means differ by a tenth.

use flash::Pbn;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::{Layout, WearScheme};
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::wear::{AllocRequest, BlockFacts, BlockUse, Order, Purpose, RelocateOutcome, WearPolicy};
use crate::wear::lives::BlockLives;
use crate::wear::rests::{BackOff, RestTimes};

const THRESHOLD: Parameter = Parameter {
    name: "threshold",
    kind: Kind::Integer { min: 1, max: 1 << 20 },
    default: "16",
    meaning: "By how many erases the most worn free block may exceed the least worn resting one; less levels better and moves more.",
    source: "ftlkit",
};

/// Moves what rests when wear differs by more than a threshold.
#[derive(Clone, Debug)]
pub struct StaticLevelling {
    threshold: u32,
    /// How many erases there had been when each block was erased last; 0 for before the power came
    /// on.
    last_erased: Vec<u64>,
    erases: u64,
    /// No block has been erased less often, among those that can be levelled.
    floor: u32,
    /// Whether there may be something to move.
    is_due: bool,
    is_moving: bool,
    /// Which kind of pages gets the less worn block under a page map.
    lives: BlockLives,
    /// Which worn blocks rest under moved data, and how often chances to move are passed.
    rests: RestTimes,
    back_off: BackOff,
    /// Whether the block that is being taken is a worn one, for moved data.
    takes_worn: bool,
}

impl WearScheme for StaticLevelling {
    const ENTRY: Entry = Entry {
        name: "static",
        family: "wear",
        capabilities: Capabilities::NONE,
        memory: Memory::per_block(size_of::<u64>() + BlockLives::BYTES + RestTimes::BYTES),
        source: "Wang 2013 3.2.1",
        parameters: &[THRESHOLD],
        header: include_str!("static_levelling.rs"),
    };

    fn new(layout: &Layout, values: &Values) -> Self {
        let blocks = layout.geometry.blocks();
        Self {
            threshold: values.integer(THRESHOLD.name) as u32,
            last_erased: vec![0; blocks as usize],
            erases: 0,
            floor: 0,
            is_due: true,
            is_moving: false,
            lives: BlockLives::none(blocks),
            rests: RestTimes::none(blocks),
            back_off: BackOff::default(),
            takes_worn: false,
        }
    }
}

/// What is compared in a domain.
#[derive(Clone, Copy, Debug, Default)]
struct WearExtremes {
    most_worn_free: Option<u32>,
    least_worn_resting: Option<(u32, Pbn)>,
}

impl StaticLevelling {
    /// Whether a block holds content that has not changed for long.
    fn rests(&self, used: BlockUse, pbn: Pbn) -> bool {
        let last = self.last_erased[pbn.index()];
        can_be_emptied(used) && (last == 0 || self.erases - last >= self.last_erased.len() as u64)
    }

    /// Looks at all blocks: the one to be emptied, if any.
    fn compare(&mut self, blocks: &dyn BlockFacts) -> Option<Pbn> {
        let mut domains: Vec<WearExtremes> = Vec::new();
        self.floor = u32::MAX;
        for pbn in (0..blocks.blocks()).map(Pbn::new) {
            let (used, erases, domain) = (blocks.use_of(pbn), blocks.erases(pbn), blocks.domain_of(pbn));
            if used == BlockUse::Bad {
                continue;
            }
            self.floor = self.floor.min(erases);
            domains.resize(domains.len().max(domain + 1), WearExtremes::default());
            let extremes = &mut domains[domain];
            if used == BlockUse::Free {
                extremes.most_worn_free = extremes.most_worn_free.max(Some(erases));
            } else if self.rests(used, pbn) && extremes.least_worn_resting.is_none_or(|(least, _)| erases < least) {
                extremes.least_worn_resting = Some((erases, pbn));
            }
        }
        let gaps = domains.into_iter().filter_map(|extremes| {
            let (least, pbn) = extremes.least_worn_resting?;
            Some((extremes.most_worn_free?.checked_sub(least)?, pbn))
        });
        gaps.filter(|&(gap, _)| gap > self.threshold).max_by_key(|&(gap, _)| gap).map(|(_, pbn)| pbn)
    }
}

/// Whether a block is in use, and not in the log, which it leaves soon anyway.
fn can_be_emptied(used: BlockUse) -> bool {
    !matches!(used, BlockUse::Free | BlockUse::Bad | BlockUse::InUse(Purpose::Log))
}

/// Whether a block that is taken for this will hardly be erased soon.
fn rests_for_long(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Levelled | Purpose::Reserve)
}

impl WearPolicy for StaticLevelling {
    fn order(&self) -> Order {
        Order::Rested
    }

    fn place(&mut self, alloc: AllocRequest, free: usize) -> usize {
        let is_levelled = alloc.purpose == Purpose::Levelled;
        let backs_off = is_levelled && !self.is_moving && self.back_off.passes();
        let is_worn = self.is_moving || rests_for_long(alloc.purpose) && !backs_off;
        self.takes_worn = is_worn && is_levelled;
        if is_worn { free - 1 } else { self.lives.place(alloc, free) }
    }

    fn on_used(&mut self, pbn: Pbn, alloc: AllocRequest) {
        self.lives.on_used(pbn, alloc);
        if std::mem::take(&mut self.takes_worn) {
            self.rests.begin(pbn);
            self.back_off.pass_again();
        }
    }

    fn on_erased(&mut self, pbn: Pbn, erases: u32) {
        self.lives.on_erased(pbn);
        match self.rests.on_erased_within(pbn, self.lives.mean()) {
            Some(true) => self.back_off.on_short_rest(),
            Some(false) => self.back_off.on_long_rest(),
            None => {}
        }
        if self.rests.end_lasting() {
            self.back_off.on_long_rest();
        }
        self.erases += 1;
        self.last_erased[pbn.index()] = self.erases;
        self.is_due |= erases > self.floor.saturating_add(self.threshold);
    }

    fn moves_blocks(&self) -> bool {
        true
    }

    fn next_move(&mut self, blocks: &dyn BlockFacts) -> Option<Pbn> {
        if !self.is_due {
            return None;
        }
        let found = self.compare(blocks).filter(|_| !self.back_off.passes());
        (self.is_due, self.is_moving) = (found.is_some(), found.is_some());
        found
    }

    fn on_moved(&mut self, _pbn: Pbn, _how: RelocateOutcome) {
        self.is_moving = false;
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        let each = 4 * self.last_erased.len() as u64;
        vec![("erase counts", each), ("last erases", each), self.lives.table(), ("rests of worn blocks", each)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::layout;

    struct Blocks<'a>(&'a [(BlockUse, u32)]);

    impl BlockFacts for Blocks<'_> {
        fn blocks(&self) -> u32 {
            self.0.len() as u32
        }

        fn use_of(&self, pbn: Pbn) -> BlockUse {
            self.0[pbn.index()].0
        }

        fn erases(&self, pbn: Pbn) -> u32 {
            self.0[pbn.index()].1
        }

        fn domain_of(&self, pbn: Pbn) -> usize {
            usize::from(pbn.index() * 2 >= self.0.len())
        }
    }

    fn policy(threshold: &str, blocks: u32) -> StaticLevelling {
        let settings = [("threshold".to_owned(), threshold.to_owned())].into();
        let values = Values::check("static", StaticLevelling::ENTRY.parameters, &settings).expect("valid");
        StaticLevelling::new(&layout(blocks, 4, 1), &values)
    }

    const DATA: BlockUse = BlockUse::InUse(Purpose::Data);
    const LOG: BlockUse = BlockUse::InUse(Purpose::Log);

    #[test]
    fn only_a_gap_beyond_the_threshold_within_a_die_moves_the_least_worn_block_with_data() {
        let named =
            |blocks: &[(BlockUse, u32)]| policy("3", blocks.len() as u32).next_move(&Blocks(blocks)).map(Pbn::get);
        assert_eq!(named(&[(DATA, 0), (BlockUse::Free, 3), (DATA, 9), (BlockUse::Free, 9)]), None, "3 is not beyond 3");
        assert_eq!(named(&[(DATA, 0), (BlockUse::Free, 4), (DATA, 9), (BlockUse::Free, 9)]), Some(0));
        assert_eq!(
            named(&[(DATA, 0), (BlockUse::Free, 1), (DATA, 5), (BlockUse::Free, 9)]),
            Some(2),
            "on the other die"
        );
        assert_eq!(
            named(&[(LOG, 0), (BlockUse::Free, 9), (BlockUse::Bad, 0), (BlockUse::Free, 9)]),
            None,
            "nothing to be moved"
        );
    }

    #[test]
    fn a_block_rests_when_as_many_erases_have_passed_as_there_are_blocks() {
        let blocks = [(DATA, 1), (BlockUse::Free, 9), (BlockUse::Free, 0), (DATA, 9)];
        let mut policy = policy("3", 4);
        policy.on_erased(Pbn::new(0), 1);
        let named: Vec<_> = (0..5)
            .map(|erases| {
                policy.on_erased(Pbn::new(1), 5 + erases);
                policy.next_move(&Blocks(&blocks)).map(Pbn::get)
            })
            .collect();
        assert_eq!(named, [None, None, None, Some(0), Some(0)]);
    }

    #[test]
    fn what_is_moved_goes_to_the_most_worn_free_block_and_all_else_to_the_least_worn() {
        let mut policy = policy("3", 4);
        let log = AllocRequest::new(Purpose::Log);
        assert_eq!((policy.place(log, 5), policy.place(AllocRequest::new(Purpose::Levelled), 5)), (0, 4));
        let pbn = policy.next_move(&Blocks(&[(DATA, 0), (BlockUse::Free, 9), (DATA, 9), (DATA, 9)])).expect("a gap");
        assert_eq!(policy.place(log, 5), 4, "while it is moved");
        policy.on_moved(pbn, RelocateOutcome::Done);
        assert_eq!(policy.place(log, 5), 0);
    }

    #[test]
    fn chances_to_move_are_passed_after_short_rests() {
        let blocks = [(DATA, 0), (BlockUse::Free, 9), (DATA, 9), (DATA, 9)];
        let mut policy = policy("3", 4);
        let mut passed_before_a_rest_of = |erases: u32| {
            let mut passed = 0;
            while policy.next_move(&Blocks(&blocks)).is_none() {
                policy.on_erased(Pbn::new(3), 9);
                passed += 1;
            }
            let alloc = AllocRequest::new(Purpose::Levelled);
            assert_eq!(policy.place(alloc, 2), 1);
            policy.on_used(Pbn::new(1), alloc);
            policy.on_moved(Pbn::new(0), RelocateOutcome::Done);
            (0..erases).for_each(|_| policy.on_erased(Pbn::new(3), 9));
            policy.on_erased(Pbn::new(1), 10);
            passed
        };
        assert_eq!([1, 1, 1, 9, 9, 1].map(&mut passed_before_a_rest_of), [0, 1, 3, 7, 3, 1]);
    }
}
