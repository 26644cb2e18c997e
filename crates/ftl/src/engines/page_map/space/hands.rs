//! Blocks that are emptied step by step: which one each die has in hand, and when how many of its
//! pages are due.
//!
//! **How much is due.** Let *A* be how many pages of the host's a die can take before it has no
//! free block for them: the rooms of its open blocks, and those free blocks that are not set aside
//! by `gc_threshold`, less one if the moved pages will open one. A block should be empty a
//! *margin* before, so that its erase has ended when its room is needed; what is left until then is
//! the *horizon* h = A − margin, or A / 2 if the margin is used up. With m valid pages in hand,
//! ⌊m / h⌋ of them are moved after each page of the host's. So nothing is moved while there is room
//! for more pages than are left, and what the host writes again meanwhile need not be moved at all.
//!
//! The rate never grows beyond what it was to begin with, rounded up. With n = ⌊m / h⌋, m is less
//! than (n + 1) · h. After n moves and one page of the host's, which takes one off h, at most
//! (n + 1) · (h − 1) are left: so the next rate is n + 1 at most, and if it is that, it stays so
//! until nothing is left at h = 1.
//!
//! A die takes a block in hand when h is not above what the last one held and a margin. The margin
//! is an eighth of a block.
//!
//! **Why the pool never runs out.** A step that would open one of the free blocks that are set
//! aside is none: the rest of the block is collected at once, as without pacing (`mod.rs`). And a
//! die that is short collects what it has in hand before any other block
//! ([`PageSpace::take_victim`]). So between two steps a die has as many free blocks as between two
//! collections without pacing. A block in hand counts as a closed one with an invalid page.
//!
//! What is in hand is in RAM alone. A block that is put down is a closed one again.

use flash::{Pbn, Ppn};

use super::{Hand, PageSpace, SpaceNeeds, Stream};
use crate::api::layout::Layout;
use crate::api::report::Footprint;
use crate::api::wear::Purpose;
use crate::blocks::manager::BlockManager;

/// Streams of a space at most, for which the sum of their rooms is told.
const MOST_STREAMS: usize = 32;

/// RAM for what a die has in hand.
const RAM_BYTES: u64 = 12;

impl SpaceNeeds {
    /// Nothing in hand on any die; none where collections are whole.
    pub(super) fn nothing_in_hand(&self, layout: &Layout) -> Vec<Hand> {
        let dies = if self.least_step.is_some() { layout.geometry.dies() as usize } else { 0 };
        vec![Hand { pbn: None, usual: self.summaries.content_pages(), rest: 1 }; dies]
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
        (hand.pbn, hand.usual) = (Some(victim), valid);
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
    /// valid pages are sought.
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
        // What failed on the way may have put the block down.
        pages.into_iter().for_each(|&ppn| self.release(ppn));
    }

    /// The fewest pages of a step.
    pub fn least_step(&self) -> u32 {
        self.least_step
    }

    /// Where the pages of a step are listed.
    pub fn pages_of_step(&mut self) -> &mut Vec<Ppn> {
        &mut self.stepping
    }

    /// So many valid pages of a block in hand, the first ones.
    pub fn list_first(&self, pbn: Pbn, pages: u32, into: &mut Vec<Ppn>) {
        debug_assert_eq!(self.in_hand(self.die_of(pbn)), Some(pbn), "{pbn} is emptied step by step, and not in hand");
        into.clear();
        self.ledger.list_first(pbn, pages as usize, into);
    }

    /// How many pages in a die's hand are due after a page of the host's, or how many would be if
    /// it took one in hand; they go to a stream.
    pub fn moves_due(&mut self, blocks: &BlockManager, die: u32, destination: Stream) -> u32 {
        let margin = self.pacing_margin();
        let Hand { pbn, usual, .. } = self.hands[die as usize];
        let left = pbn.map_or(usual, |pbn| self.valid_in(pbn));
        let writable = self.writable(blocks, die, destination, left);
        let horizon = horizon(writable, margin);
        let due = if pbn.is_some() { left } else { left + margin };
        self.hands[die as usize].rest = horizon.saturating_sub(due).clamp(1, margin);
        due / horizon
    }

    /// Pages of the host's between the end of a collection and the need for the block.
    fn pacing_margin(&self) -> u32 {
        (self.content_pages() / 8).max(1)
    }

    /// Pages of the host's that a die can take before it has no free block for them, when so many
    /// are to be moved to a stream.
    fn writable(&self, blocks: &BlockManager, die: u32, destination: Stream, left: u32) -> u32 {
        let mut free = blocks.free_on(die).saturating_sub(self.threshold + self.margin(blocks));
        let is_shared = self.takes_host_pages(destination);
        if !is_shared && left > self.open_pages(die, destination) {
            free = free.saturating_sub(1);
        }
        let mut rooms = [0; MOST_STREAMS];
        let mut streams = 0;
        for stream in (0..self.streams.len().min(MOST_STREAMS)).filter(|&stream| self.takes_host_pages(stream)) {
            let open = self.open[stream * self.order.len() + die as usize];
            // A stream that never had a block there may well never need one.
            if open.end > 0 {
                rooms[streams] = open.end - open.next;
                streams += 1;
            }
        }
        rooms[..streams].sort_unstable();
        let filled: u32 = rooms[..streams].iter().take(free + 1).sum();
        let opened = (free + 1).saturating_sub(streams.max(1)) as u32;
        let writable = filled + opened * self.content_pages();
        if is_shared { writable.saturating_sub(left) } else { writable }
    }

    /// Whether pages of a stream are written for the host's sake, and not moved.
    fn takes_host_pages(&self, stream: Stream) -> bool {
        !matches!(self.streams[stream], Purpose::Collected | Purpose::Levelled)
    }

    /// Adds the RAM for what the dies have in hand.
    pub fn add_hands(&self, footprint: Footprint) -> Footprint {
        let bytes = self.hands.len() as u64 * RAM_BYTES;
        if bytes == 0 { footprint } else { footprint.with("blocks in hand", bytes, 0) }
    }
}

/// Pages of the host's until a block should be empty, if a die can take so many.
fn horizon(writable: u32, margin: u32) -> u32 {
    if writable > margin { writable - margin } else { writable.div_ceil(2).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_victim_is_empty_a_margin_before_its_room_is_needed_and_never_in_a_burst() {
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
