//! For which cause a resource was held, and when.
//!
//! A die's operations come in order of time but for those that fill a gap; a channel's transfers
//! come in any order. Both are kept in blocks that each begin with the sums so far, so that a
//! stretch of any length costs two searches and two short walks: in overload an operation waits
//! behind thousands. Beyond [`MOST_BLOCKS`] pairs of blocks in the middle become one each, which
//! knows only its sums, taken as spread evenly over it. So time and memory are bounded, and what is
//! next and what is last stays exact.

use std::collections::VecDeque;

use ftl::Cause;

/// Nanoseconds by cause.
pub(crate) type ByCause = [u64; Cause::COUNT];

/// Stretches of a block: half the longest walk.
const BLOCK: usize = 32;

/// Blocks of a resource before some are joined: a backlog of sixty thousand stretches or more is
/// kept to the nanosecond.
const MOST_BLOCKS: usize = 2048;

/// Blocks that are never joined, at each end.
const EXACT_BLOCKS: usize = 256;

/// A stretch for which one cause held the resource.
#[derive(Clone, Copy)]
struct Held {
    start: u64,
    end: u64,
    cause: Cause,
}

struct Block {
    /// Begin of its first stretch.
    start: u64,
    /// Sums up to then.
    before: ByCause,
    /// End and cause of its last stretch.
    end: u64,
    last: Cause,
    /// In order of time; empty when the block was joined of others.
    held: Vec<Held>,
}

impl Block {
    fn new(before: ByCause, first: Held) -> Self {
        Self { start: first.start, before, end: first.end, last: first.cause, held: vec![first] }
    }

    fn is_joined(&self) -> bool {
        self.held.is_empty()
    }

    /// Adds a stretch after all others.
    fn append(&mut self, new: Held) {
        match self.held.last_mut() {
            Some(last) if (last.end, last.cause) == (new.start, new.cause) => last.end = new.end,
            _ => self.held.push(new),
        }
        (self.end, self.last) = (new.end, new.cause);
    }

    /// The first moment from `moment` on at which nothing that is known here is held.
    fn free_from(&self, moment: u64) -> u64 {
        if self.is_joined() {
            return moment;
        }
        let first = self.held.partition_point(|held| held.start <= moment).saturating_sub(1);
        let mut free = moment;
        for held in &self.held[first..] {
            if held.start > free {
                break;
            }
            free = free.max(held.end);
        }
        free
    }

    /// Puts in the front of a stretch that begins where nothing is held, up to `next`; returns how
    /// many nanoseconds.
    fn insert(&mut self, mut new: Held, next: u64) -> u64 {
        let place = self.held.partition_point(|held| held.start < new.start);
        new.end = new.end.min(self.held.get(place).map_or(next, |held| held.start));
        if new.start >= new.end {
            return 0;
        }
        if !self.is_joined() {
            self.held.insert(place, new);
        }
        self.start = self.start.min(new.start);
        if new.end > self.end {
            (self.end, self.last) = (new.end, new.cause);
        }
        new.end - new.start
    }
}

/// Who held a die or a channel.
#[derive(Default)]
pub(super) struct Ledger {
    blocks: VecDeque<Block>,
    /// Sums up to the end of the last stretch.
    total: ByCause,
}

impl Ledger {
    /// Adds what held the resource in `from..to` to `sums`, by cause; returns the nanoseconds that
    /// someone held it, and who held it last.
    pub(super) fn held(&self, from: u64, to: u64, sums: &mut ByCause) -> (u64, Option<Cause>) {
        let (earlier, _) = self.until(from);
        let (later, last) = self.until(to);
        let mut left = to - from;
        for ((sum, later), earlier) in sums.iter_mut().zip(later).zip(earlier) {
            // Sums of joined blocks are rounded, and so may be some nanoseconds too many.
            let ns = (later - earlier).min(left);
            *sum += ns;
            left -= ns;
        }
        (to - from - left, last.filter(|&(end, _)| end > from).map(|(_, cause)| cause))
    }

    /// Sums up to a moment, and end and cause of the last stretch that begins before it.
    fn until(&self, moment: u64) -> (ByCause, Option<(u64, Cause)>) {
        let after = self.blocks.partition_point(|block| block.start < moment);
        let Some(index) = after.checked_sub(1) else {
            return (self.before(0), None);
        };
        let block = &self.blocks[index];
        if block.end <= moment {
            return (self.before(after), Some((block.end, block.last)));
        }
        if block.is_joined() {
            return (self.share(index, moment), Some((block.end, block.last)));
        }
        let (mut sums, mut last) = (block.before, None);
        for held in block.held.iter().take_while(|held| held.start < moment) {
            sums[held.cause as usize] += held.end.min(moment) - held.start;
            last = Some((held.end, held.cause));
        }
        (sums, last)
    }

    /// Sums up to the begin of a block, or of all there are.
    fn before(&self, index: usize) -> ByCause {
        self.blocks.get(index).map_or(self.total, |block| block.before)
    }

    /// Sums up to a moment within a joined block.
    fn share(&self, index: usize, moment: u64) -> ByCause {
        let block = &self.blocks[index];
        let (passed, span) = (u128::from(moment - block.start), u128::from(block.end - block.start));
        let mut sums = block.before;
        for (sum, after) in sums.iter_mut().zip(self.before(index + 1)) {
            *sum += (u128::from(after - *sum) * passed / span) as u64;
        }
        sums
    }

    /// The resource is held for a cause. Nothing begins before `now` any more. What is held already
    /// stays with who held it first: transfers that a channel's calendar forgot may overlap.
    pub(super) fn hold(&mut self, start: u64, end: u64, cause: Cause, now: u64) {
        while self.blocks.len() > 1 && self.blocks[0].end <= now {
            self.blocks.pop_front();
        }
        let new = Held { start, end, cause };
        let added = match self.blocks.back_mut() {
            Some(block) if start < block.end => self.fill(new),
            Some(block) if (1..BLOCK).contains(&block.held.len()) => {
                block.append(new);
                end - start
            }
            _ => {
                self.blocks.push_back(Block::new(self.total, new));
                self.join();
                end - start
            }
        };
        self.total[cause as usize] += added;
    }

    /// Adds a stretch that begins before the end of the last one, from where it is free to where it
    /// is not; returns how many nanoseconds that is.
    fn fill(&mut self, mut new: Held) -> u64 {
        let mut index = self.blocks.partition_point(|block| block.start <= new.start).saturating_sub(1);
        let mut next = self.begin(index + 1);
        new.start = self.blocks[index].free_from(new.start);
        while next <= new.start {
            index += 1;
            next = self.begin(index + 1);
            new.start = self.blocks[index].free_from(new.start);
        }
        let added = self.blocks[index].insert(new, next);
        for later in self.blocks.range_mut(index + 1..) {
            later.before[new.cause as usize] += added;
        }
        self.split(index);
        added
    }

    /// When a block begins; never for one that does not exist.
    fn begin(&self, index: usize) -> u64 {
        self.blocks.get(index).map_or(u64::MAX, |block| block.start)
    }

    /// Makes two blocks of one that has become too long.
    fn split(&mut self, index: usize) {
        let block = &mut self.blocks[index];
        if block.held.len() < 2 * BLOCK {
            return;
        }
        let held = block.held.split_off(BLOCK);
        let mut before = block.before;
        block.held.iter().for_each(|held| before[held.cause as usize] += held.end - held.start);
        let (end, last) = (block.end, block.last);
        (block.end, block.last) = (block.held[BLOCK - 1].end, block.held[BLOCK - 1].cause);
        self.blocks.insert(index + 1, Block { start: held[0].start, before, end, last, held });
        self.join();
    }

    /// Joins pairs of blocks when there are too many.
    fn join(&mut self) {
        if self.blocks.len() <= MOST_BLOCKS {
            return;
        }
        let ends = self.blocks.split_off(self.blocks.len() - EXACT_BLOCKS);
        let mut middle = self.blocks.split_off(EXACT_BLOCKS).into_iter();
        while let Some(block) = middle.next() {
            let (end, last) = middle.next().map_or((block.end, block.last), |next| (next.end, next.last));
            self.blocks.push_back(Block { end, last, held: Vec::new(), ..block });
        }
        self.blocks.extend(ends);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(pairs: &[(Cause, u64)]) -> ByCause {
        let mut sums = ByCause::default();
        for &(cause, ns) in pairs {
            sums[cause as usize] += ns;
        }
        sums
    }

    #[test]
    fn a_stretch_is_shared_out_among_those_who_held_the_die() {
        let mut ledger = Ledger::default();
        for index in 0..100 {
            let cause = if index % 2 == 0 { Cause::Host } else { Cause::Collection };
            ledger.hold(index * 100, index * 100 + 60, cause, 0);
        }
        ledger.hold(1060, 1100, Cause::Mapping, 0);
        for (from, to, expected, last) in [
            (0, 100, sums(&[(Cause::Host, 60)]), Some(Cause::Host)),
            (
                1030,
                1230,
                sums(&[(Cause::Host, 30 + 30), (Cause::Collection, 60), (Cause::Mapping, 40)]),
                Some(Cause::Host),
            ),
            (1060, 1090, sums(&[(Cause::Mapping, 30)]), Some(Cause::Mapping)),
            (1160, 1200, ByCause::default(), None),
            (
                0,
                10_000,
                sums(&[(Cause::Host, 3000), (Cause::Collection, 3000), (Cause::Mapping, 40)]),
                Some(Cause::Collection),
            ),
        ] {
            let mut found = ByCause::default();
            let (covered, holder) = ledger.held(from, to, &mut found);
            assert_eq!((found, holder), (expected, last), "{from}..{to}");
            assert_eq!(covered, expected.iter().sum::<u64>());
        }
    }

    #[test]
    fn what_is_over_is_forgotten_and_what_is_left_stays_right() {
        let mut ledger = Ledger::default();
        (0..1000).for_each(|index| {
            let cause = if index % 3 == 0 { Cause::Merge } else { Cause::Host };
            ledger.hold(index * 10, index * 10 + 10, cause, (index * 10_u64).saturating_sub(500));
        });
        assert!(ledger.blocks.len() < 10, "{}", ledger.blocks.len());
        let mut found = ByCause::default();
        assert_eq!(ledger.held(9700, 10_000, &mut found).0, 300);
        assert_eq!(found, sums(&[(Cause::Merge, 100), (Cause::Host, 200)]));
    }

    #[test]
    fn transfers_come_in_any_order() {
        let mut ledger = Ledger::default();
        for (begin, cause) in [(40, Cause::Collection), (10, Cause::Host), (25, Cause::Mapping)] {
            ledger.hold(begin, begin + 10, cause, 0);
        }
        let mut found = ByCause::default();
        assert_eq!(ledger.held(15, 45, &mut found), (20, Some(Cause::Collection)));
        assert_eq!(found, sums(&[(Cause::Host, 5), (Cause::Mapping, 10), (Cause::Collection, 5)]));
        ledger.hold(60, 70, Cause::Host, 35);
        ledger.hold(65, 75, Cause::Merge, 35);
        let mut found = ByCause::default();
        assert_eq!(ledger.held(55, 80, &mut found), (15, Some(Cause::Merge)));
        assert_eq!(found, sums(&[(Cause::Host, 10), (Cause::Merge, 5)]), "what two hold counts once");
    }

    /// Stretches that overlap and come in any order, the next ones ever later:
    /// `(start, end, cause, now)`.
    fn any_order(count: u64, backlog: u64) -> Vec<(u64, u64, Cause, u64)> {
        let mut random = 12_345_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let stretch = |index: u64| {
            let now = 10 * index;
            let start = now + if next(2) == 0 { 10 * backlog } else { next(10 * backlog) };
            (start, start + 1 + next(12), Cause::ALL[next(Cause::COUNT as u64) as usize], now)
        };
        (0..count).map(stretch).collect()
    }

    #[test]
    fn it_agrees_with_a_list_of_every_nanosecond() {
        let (mut ledger, mut list) = (Ledger::default(), vec![None; 60_000]);
        for (index, (start, end, cause, now)) in any_order(4000, 500).into_iter().enumerate() {
            // What is kept is the first part that is free.
            ledger.hold(start, end, cause, now);
            let from = (start..end).find(|&ns| list[ns as usize].is_none()).unwrap_or(end);
            let until = (from..end).find(|&ns| list[ns as usize].is_some()).unwrap_or(end);
            list[from as usize..until as usize].fill(Some(cause));
            let (from, to) = (now + index as u64 % 500, now + 500 + index as u64 % 4500);
            let mut found = ByCause::default();
            let (covered, _) = ledger.held(from, to, &mut found);
            let mut expected = ByCause::default();
            list[from as usize..to as usize].iter().flatten().for_each(|&cause: &Cause| expected[cause as usize] += 1);
            assert_eq!(found, expected, "step {index}");
            assert_eq!(covered, expected.iter().sum::<u64>());
        }
    }

    #[test]
    fn a_backlog_without_end_takes_bounded_memory_and_its_sums_stay() {
        let mut ledger = Ledger::default();
        let mut sums = ByCause::default();
        for (index, (start, end, cause, _)) in any_order(200_000, 100_000).into_iter().enumerate() {
            let before = ledger.total;
            ledger.hold(start, end, cause, 0);
            sums[cause as usize] += ledger.total[cause as usize] - before[cause as usize];
            assert!(ledger.blocks.len() <= MOST_BLOCKS, "step {index}");
        }
        assert!(ledger.blocks.iter().any(Block::is_joined));
        let mut found = ByCause::default();
        let (covered, last) = ledger.held(0, 1 << 40, &mut found);
        assert_eq!((found, last.is_some()), (sums, true));
        assert_eq!(covered, sums.iter().sum::<u64>());
        // In the middle no stretch is known any more, but the share of each cause is, and never
        // more than the time there is.
        let mut found = ByCause::default();
        let (covered, _) = ledger.held(900_000, 900_500, &mut found);
        assert!((100..=500).contains(&covered), "{covered}");
    }
}
