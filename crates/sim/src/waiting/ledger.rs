//! For which cause a resource was held, and when.
//!
//! A die's operations come in order of time but for those that fill a gap near the end. They are kept in blocks that each begin with the
//! sums so far, so that a stretch of any length costs two searches and two short walks: in overload an operation waits behind thousands.

use std::collections::VecDeque;

use ftl::Cause;

/// Nanoseconds by cause.
pub(crate) type ByCause = [u64; Cause::COUNT];

/// Operations of a block: half the longest walk.
const BLOCK: usize = 16;

/// A stretch for which one cause held the resource.
#[derive(Clone, Copy)]
struct Held {
    start: u64,
    end: u64,
    cause: Cause,
}

impl Held {
    /// Nanoseconds of it in `from..to`.
    fn within(self, from: u64, to: u64) -> u64 {
        self.end.min(to).saturating_sub(self.start.max(from))
    }
}

struct Block {
    /// Sums up to its first stretch.
    before: ByCause,
    held: Vec<Held>,
}

/// Who held a die.
#[derive(Default)]
pub(super) struct DieLedger {
    blocks: VecDeque<Block>,
    /// Sums up to the end of the last stretch.
    total: ByCause,
}

impl DieLedger {
    /// Adds what held the die in `from..to` to `sums`, by cause; returns the nanoseconds that someone held it, and who held it last.
    pub(super) fn held(&self, from: u64, to: u64, sums: &mut ByCause) -> (u64, Option<Cause>) {
        let (earlier, _) = self.until(from);
        let (later, last) = self.until(to);
        let mut covered = 0;
        for ((sum, later), earlier) in sums.iter_mut().zip(later).zip(earlier) {
            *sum += later - earlier;
            covered += later - earlier;
        }
        (covered, last.filter(|last| last.end > from).map(|last| last.cause))
    }

    /// Sums up to a moment, and the last stretch that begins before it.
    fn until(&self, moment: u64) -> (ByCause, Option<Held>) {
        let after = self.blocks.partition_point(|block| block.held[0].start < moment);
        let Some(block) = after.checked_sub(1).map(|index| &self.blocks[index]) else {
            return (self.blocks.front().map_or(self.total, |block| block.before), None);
        };
        let (mut sums, mut last) = (block.before, None);
        for held in block.held.iter().take_while(|held| held.start < moment) {
            sums[held.cause as usize] += held.end.min(moment) - held.start;
            last = Some(*held);
        }
        (sums, last)
    }

    /// The die is held for a cause. Nothing begins before `now` any more.
    pub(super) fn hold(&mut self, start: u64, end: u64, cause: Cause, now: u64) {
        self.forget(now);
        let new = Held { start, end, cause };
        match self.blocks.back_mut().and_then(|block| block.held.last_mut()) {
            Some(last) if start < last.end => self.fill(new),
            Some(last) if start == last.end && cause == last.cause => last.end = end,
            _ => match self.blocks.back_mut() {
                Some(block) if block.held.len() < BLOCK => block.held.push(new),
                _ => self.blocks.push_back(Block { before: self.total, held: vec![new] }),
            },
        }
        self.total[cause as usize] += end - start;
    }

    /// A stretch fills a gap. Gaps are remembered for a while only, so it is near the end.
    fn fill(&mut self, new: Held) {
        let after = self.blocks.partition_point(|block| block.held[0].start < new.start);
        let index = after.saturating_sub(1);
        let block = &mut self.blocks[index];
        let place = block.held.partition_point(|held| held.start < new.start);
        block.held.insert(place, new);
        for later in self.blocks.range_mut(index + 1..) {
            later.before[new.cause as usize] += new.end - new.start;
        }
        self.split(index);
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
        self.blocks.insert(index + 1, Block { before, held });
    }

    fn forget(&mut self, now: u64) {
        while self.blocks.len() > 1 && self.blocks[0].held.last().is_some_and(|last| last.end <= now) {
            self.blocks.pop_front();
        }
    }
}

/// Who moved pages over a channel: transfers of one length, which come in any order.
pub(super) struct ChannelLedger {
    transfer_ns: u64,
    /// Begins, in order.
    transfers: VecDeque<(u64, Cause)>,
}

impl ChannelLedger {
    pub(super) fn new(transfer_ns: u64) -> Self {
        Self { transfer_ns, transfers: VecDeque::new() }
    }

    /// Like [`DieLedger::held`]. Transfers that a channel's calendar forgot may overlap: what two hold counts for the first.
    pub(super) fn held(&self, from: u64, to: u64, sums: &mut ByCause) -> (u64, Option<Cause>) {
        let (mut covered, mut last, mut free_from) = (0, None, from);
        let first = self.transfers.partition_point(|&(begin, _)| begin + self.transfer_ns <= from);
        for &(start, cause) in self.transfers.range(first..).take_while(|&&(begin, _)| begin < to) {
            let held = Held { start, end: start + self.transfer_ns, cause };
            let within = held.within(free_from, to);
            sums[cause as usize] += within;
            covered += within;
            (free_from, last) = (free_from.max(held.end), Some(cause));
        }
        (covered, last)
    }

    /// A page moves for a cause. Nothing begins before `now` any more.
    pub(super) fn hold(&mut self, begin: u64, cause: Cause, now: u64) {
        while self.transfers.front().is_some_and(|&(begin, _)| begin + self.transfer_ns <= now) {
            self.transfers.pop_front();
        }
        let place = self.transfers.partition_point(|&(other, _)| other < begin);
        self.transfers.insert(place, (begin, cause));
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
        let mut ledger = DieLedger::default();
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
        let mut ledger = DieLedger::default();
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
        let mut ledger = ChannelLedger::new(10);
        for (begin, cause) in [(40, Cause::Collection), (10, Cause::Host), (25, Cause::Mapping)] {
            ledger.hold(begin, cause, 0);
        }
        let mut found = ByCause::default();
        assert_eq!(ledger.held(15, 45, &mut found), (20, Some(Cause::Collection)));
        assert_eq!(found, sums(&[(Cause::Host, 5), (Cause::Mapping, 10), (Cause::Collection, 5)]));
        ledger.hold(60, Cause::Host, 35);
        assert_eq!(ledger.transfers.len(), 2);
        ledger.hold(65, Cause::Merge, 35);
        let mut found = ByCause::default();
        assert_eq!(ledger.held(55, 80, &mut found), (15, Some(Cause::Merge)));
        assert_eq!(found, sums(&[(Cause::Host, 10), (Cause::Merge, 5)]), "what two hold counts once");
    }
}
