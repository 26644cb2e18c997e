//! Blocks that are emptied step by step: which one each die has in hand, and when how many of its
//! pages are due.
//!
//! **How much is due.** Emptying a block of B pages, m of them valid, gains B − m. So the host
//! writes B − m pages per victim in the long run, and m · w / (B − m) of the m are moved by the
//! time that it has written w: the same number after each page. What the host writes again or trims
//! meanwhile counts as moved.
//!
//! The *level* of a die is the pages that the host can write before the die has no free block: the
//! rooms of its open blocks, and the free blocks that are not set aside by `gc_threshold`. A die
//! takes a victim in hand at a level of B pages and a margin, or 2 · B if moved pages have blocks
//! of their own: B − m are written and one block may be opened for the m before a block is gained.
//! The margin, an eighth of a block, is what the erase has time for.
//!
//! What lies erased is not spare, so victims have more valid pages. Hence no victim is taken while
//! one stream alone could write a quarter of the die's spare pages: with eight spare blocks or
//! fewer, victims are emptied later, but faster. Of 40 cases with four spare blocks each, write
//! amplification is 1.10 times that of whole collections (median), without that 1.27 times. With an
//! eighth it was 1.03 times, but a die with nine spare blocks, busy for 0.41 of the time, then kept
//! p99 of writes for 49 ms instead of none.
//!
//! **Need.** A die below that level, because the host's pages went there or the next victim has
//! more valid pages, moves ⌊left / h⌋ pages after each one of the host's if that is more. The
//! *horizon* h is the level without a block for moved pages, less the margin; half the level if
//! the margin is used up. While only pages of the host's lower the level, the rate never grows
//! beyond what it was to begin with, rounded up: with n = ⌊left / h⌋, at most (n + 1) · (h − 1)
//! pages are left after n moves and one page of the host's. So the next rate is n + 1 at most, and
//! if it is that, it stays so until nothing is left at h = 1. It may jump where the level falls by
//! a block at once: a stream opens its first block on the die, or the pSLC cache takes a free one.
//!
//! **Why the pool never runs out.** A step that would open one of the free blocks that are set
//! aside is none: the rest of the block is collected at once, as without pacing (`mod.rs`). And a
//! die that is short collects what it has in hand before any other block
//! ([`PageSpace::take_victim`]). So between two steps a die has as many free blocks as between two
//! collections without pacing. A block in hand counts as a closed one with an invalid page.
//!
//! Limit: where a classifier (`classes.rs`) gives moved pages several destinations, more than one
//! block may be opened for a victim, and the steps of a die that is short are whole collections.
//!
//! Limit: without a capacitor moved pages are padded to program units, so write amplification falls
//! by steps as the spare grows, and paced collections take the next step up to three spare blocks
//! later: there it was 2.0 times that of whole ones on blocks of 15 pages, 1.3 times with 30.
//!
//! What is in hand is in RAM alone. A block that is put down is a closed one again.

use flash::{Pbn, Ppn};

use super::{Hand, PageSpace, SpaceNeeds, Stream};
use crate::api::layout::Layout;
use crate::api::report::Footprint;
use crate::api::wear::Purpose;
use crate::blocks::manager::BlockManager;
use crate::port::flash_port::PendingEnd;

/// Streams of a space at most, for which the sum of their rooms is told.
const MOST_STREAMS: usize = 32;

/// Pages that a step moves at least, where they are programmed one by one: of shorter blocks a
/// tenth, since the host rewrites some of what is moved ahead. With 8, a simulation takes 7 % more
/// instructions. With 32, p99 of writes at a tenth of the load is one and a half programs instead
/// of one.
const RUN: u32 = 32;

/// Spare pages of a die for each page that one stream can write there when a victim is taken, at
/// least.
const SPARE_PER_LEVEL: u64 = 4;

/// RAM for what a die has in hand.
const RAM_BYTES: u64 = 16;

impl SpaceNeeds {
    /// Nothing in hand on any die; none where collections are whole.
    pub(super) fn nothing_in_hand(&self, layout: &Layout) -> Vec<Hand> {
        let dies = if self.least_step.is_some() { layout.geometry.dies() as usize } else { 0 };
        vec![Hand { pbn: None, valid: 0, written: 0, rest: 1, stepped: PendingEnd::NOTHING }; dies]
    }
}

impl PageSpace {
    /// Whether blocks are emptied step by step.
    #[inline]
    pub fn is_paced(&self) -> bool {
        !self.hands.is_empty()
    }

    /// The die of a page that was written for the host, if something may be due there.
    #[inline]
    pub fn is_due(&mut self, written: Ppn) -> Option<u32> {
        if self.hands.is_empty() {
            return None;
        }
        let die = self.die_of(self.block_of(written));
        let hand = &mut self.hands[die as usize];
        hand.written += 1;
        hand.rest = hand.rest.saturating_sub(1);
        (hand.rest == 0).then_some(die)
    }

    /// The block that a die has in hand.
    #[inline]
    pub fn in_hand(&self, die: u32) -> Option<Pbn> {
        debug_assert!(die < self.dies(), "there is no die {die} of {}", self.dies());
        self.hands.get(die as usize).and_then(|hand| hand.pbn)
    }

    /// Takes a victim in hand.
    pub fn take_in_hand(&mut self, victim: Pbn) {
        let (die, valid) = (self.die_of(victim), self.valid_in(victim));
        debug_assert!(!self.is_collectable(victim) && !self.is_open(victim), "{victim} is taken in hand, and in use");
        let hand = &mut self.hands[die as usize];
        debug_assert!(hand.pbn.is_none(), "die {die} has {:?} in hand, and takes {victim}", hand.pbn);
        (hand.pbn, hand.valid, hand.written) = (Some(victim), valid, 0);
    }

    /// A victim that gains nothing is not taken in hand.
    pub fn pass_over(&mut self, victim: Pbn) {
        self.victims.is_passed_over();
        self.leave(victim);
    }

    /// Takes what a die has in hand out of it, to be collected.
    #[inline]
    pub fn take_out_of_hand(&mut self, die: u32) -> Option<Pbn> {
        self.hands.get_mut(die as usize).and_then(|hand| {
            hand.rest = 1;
            hand.pbn.take()
        })
    }

    /// Puts down what a die has in hand.
    pub fn put_down(&mut self, die: u32) {
        if let Some(pbn) = self.take_out_of_hand(die) {
            debug_assert_eq!(self.die_of(pbn), die, "{pbn} was in another die's hand");
            self.leave(pbn);
        }
    }

    /// Puts down what the dies have in hand: something has failed, and the blocks with the fewest
    /// valid pages are searched for.
    #[cold]
    pub fn put_all_down(&mut self) {
        (0..self.hands.len() as u32).for_each(|die| self.put_down(die));
    }

    /// Takes a block out of the hand of its die, if it is there.
    pub(super) fn withdraw_from_hand(&mut self, pbn: Pbn) -> bool {
        let die = self.die_of(pbn);
        let is_there = self.in_hand(die) == Some(pbn);
        if is_there {
            self.take_out_of_hand(die);
        }
        is_there
    }

    /// These pages of a block in hand lie elsewhere, too.
    pub fn is_moved<'a>(&mut self, pages: impl IntoIterator<Item = &'a Ppn>) {
        let mut pages = pages.into_iter().peekable();
        let Some(pbn) = pages.peek().map(|&&ppn| self.block_of(ppn)) else { return };
        if self.is_collectable(pbn) {
            // What failed on the way has put the block down.
            pages.for_each(|&ppn| self.release(ppn));
        } else {
            self.ledger.invalidate_all(pbn, pages);
        }
    }

    /// The fewest pages of a step.
    pub fn least_step(&self) -> u32 {
        self.least_step
    }

    /// The fewest pages of a step to a stream between pages of the host's, which wait for those
    /// moved to the same block.
    pub fn least_step_to(&self, destination: Stream) -> u32 {
        let is_run = self.least_step == 1 && !self.takes_host_pages(destination);
        if is_run { RUN.min(self.content_pages() / 10).max(1) } else { self.least_step }
    }

    /// What the next step on a die follows: the last one, unless program units may overlap.
    pub fn end_of_step(&self, die: u32) -> PendingEnd {
        if self.least_step == 1 { self.hands[die as usize].stepped } else { PendingEnd::NOTHING }
    }

    /// A step on a die ends then.
    pub fn has_stepped(&mut self, die: u32, end: PendingEnd) {
        self.hands[die as usize].stepped = end;
    }

    /// Where the pages of a step are listed.
    pub fn pages_of_step(&mut self) -> &mut Vec<Ppn> {
        &mut self.stepping
    }

    /// This many valid pages of a block in hand, the first ones.
    pub fn list_first(&self, pbn: Pbn, pages: u32, into: &mut Vec<Ppn>) {
        debug_assert_eq!(self.in_hand(self.die_of(pbn)), Some(pbn), "{pbn} is emptied step by step, and not in hand");
        into.clear();
        self.ledger.list_first(pbn, pages as usize, into);
    }

    /// How many pages in a die's hand are due after a page of the host's, or whether it should
    /// take a block in hand; its pages go to a stream.
    pub fn moves_due(&mut self, blocks: &BlockManager, die: u32, destination: Stream) -> u32 {
        let (content, margin) = (self.content_pages(), self.pacing_margin());
        let is_shared = self.takes_host_pages(destination);
        let rooms = self.rooms(die);
        let level = self.level(blocks, die, rooms, 0);
        let early = self.early_by(blocks, die, level, is_shared);
        let in_hand = self.in_hand(die);
        let left = in_hand.map_or(0, |pbn| self.valid_in(pbn));
        let writable = if is_shared {
            level.saturating_sub(left)
        } else if left > self.open_pages(die, destination) {
            self.level(blocks, die, rooms, 1)
        } else {
            level
        };
        let horizon = horizon(writable, margin);
        let hand = &mut self.hands[die as usize];
        if early > 0 {
            hand.written = hand.paid_by(left, content);
            hand.rest = early.min(margin);
            return 0;
        }
        if in_hand.is_none() {
            hand.rest = 1;
            return 1;
        }
        let even = left.saturating_sub(hand.left_by(hand.written, content));
        let next = hand.paid_by(left.saturating_sub(even + 1), content);
        hand.rest = next.saturating_sub(hand.written).min(horizon.saturating_sub(left)).clamp(1, margin);
        even.max(left / horizon)
    }

    /// Pages that the host can write before a die at this level takes a victim in hand, whose pages
    /// go to the host's blocks or to those of moved ones.
    fn early_by(&self, blocks: &BlockManager, die: u32, level: u32, is_shared: bool) -> u32 {
        let content = self.content_pages();
        let needed = if is_shared { content } else { 2 * content } + self.pacing_margin();
        if level > needed {
            return level - needed;
        }
        self.early_for_spare(blocks, die)
    }

    /// Host pages that a die still takes before one stream alone could write no more there
    /// than its share of the spare pages: no victim is taken before that.
    pub fn early_for_spare(&self, blocks: &BlockManager, die: u32) -> u32 {
        let spares = blocks.spares();
        let pages = u64::from(spares.total.saturating_sub(spares.used)) * u64::from(self.content_pages());
        let one = self.rooms_by_stream(die).max().unwrap_or(0);
        let share = pages / u64::from(self.dies()) / SPARE_PER_LEVEL;
        self.level(blocks, die, (1, one), 0).saturating_sub(share as u32)
    }

    /// Pages of the host's between the end of a collection and the need for the block.
    fn pacing_margin(&self) -> u32 {
        (self.content_pages() / 8).max(1)
    }

    /// How many streams have a block on a die to which pages of the host's go, and their rooms
    /// together.
    #[inline]
    fn rooms(&self, die: u32) -> (usize, u32) {
        self.rooms_by_stream(die).fold((0, 0), |(streams, rooms), room| (streams + 1, rooms + room))
    }

    /// The room of each such stream; one that never had a block there may well never need one.
    #[inline]
    fn rooms_by_stream(&self, die: u32) -> impl Iterator<Item = u32> {
        let of_die = self.open.iter().skip(die as usize).step_by(self.order.len()).take(MOST_STREAMS);
        let opened = of_die.zip(&self.streams).filter(|(open, purpose)| open.end > 0 && takes_host_pages(**purpose));
        opened.map(|(open, _)| open.end - open.next)
    }

    /// Pages of the host's that a die with these rooms can take before it has no free block for
    /// them, when this many free ones are opened for others.
    #[inline]
    fn level(&self, blocks: &BlockManager, die: u32, (streams, rooms): (usize, u32), opened: usize) -> u32 {
        let free = blocks.free_on(die).saturating_sub(self.threshold + self.margin(blocks) + opened);
        if streams > free + 1 {
            return self.smallest_rooms(die, free + 1);
        }
        rooms + (free + 1 - streams.max(1)) as u32 * self.content_pages()
    }

    /// The sum of this many rooms of streams on a die, the smallest ones.
    #[cold]
    fn smallest_rooms(&self, die: u32, streams: usize) -> u32 {
        let mut rooms: Vec<_> = self.rooms_by_stream(die).collect();
        rooms.sort_unstable();
        rooms[..streams].iter().sum()
    }

    /// Whether pages of a stream are written for the host's sake, and not moved.
    fn takes_host_pages(&self, stream: Stream) -> bool {
        takes_host_pages(self.streams[stream])
    }

    /// Adds the RAM for what the dies have in hand.
    pub fn add_hands(&self, footprint: Footprint) -> Footprint {
        let bytes = self.hands.len() as u64 * RAM_BYTES;
        if bytes == 0 { footprint } else { footprint.with("blocks in hand", bytes, 0) }
    }
}

impl Hand {
    /// Valid pages that are left when the host has written this many, at an even pace.
    fn left_by(&self, written: u32, content: u32) -> u32 {
        let gained = content.saturating_sub(self.valid).max(1);
        self.valid.saturating_sub((u64::from(self.valid) * u64::from(written) / u64::from(gained)) as u32)
    }

    /// Pages of the host's by which this many are left at an even pace.
    fn paid_by(&self, left: u32, content: u32) -> u32 {
        let gained = content.saturating_sub(self.valid).max(1);
        let moved = self.valid.saturating_sub(left);
        (u64::from(moved) * u64::from(gained)).div_ceil(u64::from(self.valid.max(1))) as u32
    }
}

/// Whether blocks with this purpose take what is written for the host's sake, and not moved.
#[inline]
fn takes_host_pages(purpose: Purpose) -> bool {
    !matches!(purpose, Purpose::Collected | Purpose::Levelled)
}

/// Pages of the host's until a block should be empty, if a die can take this many.
fn horizon(writable: u32, margin: u32) -> u32 {
    if writable > margin { writable - margin } else { writable.div_ceil(2).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_victim_is_emptied_evenly_by_the_time_that_its_gain_is_written() {
        for content in [1, 2, 16, 96, 255] {
            for valid in 0..content {
                let hand = Hand { pbn: None, valid, written: 0, rest: 1, stepped: PendingEnd::NOTHING };
                let gained = content - valid;
                let most = valid.div_ceil(gained);
                let mut left = valid;
                for written in 1..=gained {
                    let due = left - hand.left_by(written, content);
                    assert!(due <= most, "{due} of {valid} pages of {content} are due at once after {written}");
                    left -= due;
                    assert!(hand.paid_by(left, content) <= written, "{left} of {valid} are left before {written}");
                }
                assert_eq!(left, 0, "{valid} of {content} pages");
            }
        }
    }

    #[test]
    fn a_victim_in_need_is_empty_a_margin_before_its_room_is_needed_and_never_in_a_burst() {
        for margin in [1, 2, 12] {
            for first in margin + 1..150 {
                for valid in 0..150_u32 {
                    let most = valid.div_ceil(horizon(first, margin));
                    let mut left = valid;
                    for writable in (margin + 1..=first).rev() {
                        let moves = left / horizon(writable, margin);
                        assert!(moves <= most, "{moves} moves of {valid} at {writable} of {first}, margin {margin}");
                        left -= moves;
                    }
                    assert_eq!(left, 0, "{valid} pages, {first} to be written, margin {margin}");
                }
            }
        }
    }

    #[test]
    fn a_victim_that_is_late_is_emptied_before_the_host_is_out_of_blocks() {
        for (writable, valid) in [(0, 9), (1, 50), (5, 3), (12, 96)] {
            let mut left = valid;
            for writable in (0..=writable).rev() {
                left -= left / horizon(writable, 12);
            }
            assert_eq!(left, 0, "{valid} pages, {writable} to be written");
        }
    }
}
