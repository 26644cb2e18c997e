//! What failures do to a space: blocks that wait to be emptied, reserves that are lost, and the end
//! when no spare is left.

use std::cmp::Reverse;

use flash::{Pbn, Ppn};
use host::Hint;

use super::{PageSpace, Stream};
use crate::api::report::Spares;
use crate::blocks::manager::BlockManager;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;
use crate::recovery::trims::Trims;

impl PageSpace {
    /// Takes the block whose collection gives a die its reserve back, if there is room for what has
    /// to be moved to the destination of its stream, where moving a page takes up to `cost`
    /// programs and a last copy of a trimmed page one: the next failure would else find no place
    /// anywhere.
    #[cold]
    pub fn take_victim_for_reserve(
        &mut self,
        blocks: &BlockManager,
        destinations: &[Stream],
        cost: u32,
        trims: &Trims,
    ) -> Option<(u32, Pbn)> {
        debug_assert_eq!(destinations.len(), self.streams.len(), "a stream has no destination");
        let fits = |space: &Self, victim: Pbn| {
            let stream = destinations[space.stream_of(victim)];
            let streams = (0..space.streams.len()).filter(|&other| space.is_like(stream, other));
            let open_pages = |die| streams.clone().map(|stream| space.open_pages(die, stream)).sum::<u32>();
            let pages_of = |die| open_pages(die) + blocks.free_on(die) as u32 * space.summaries.content_pages();
            let vanishing = trims.about_to_vanish(space.page_indices(victim)).len() as u32;
            let programs = space.ledger.valid_pages(victim) * cost + vanishing;
            programs <= (0..space.dies()).map(pages_of).sum()
        };
        let mut dies = (0..self.dies()).filter(|&die| blocks.free_on(die) == 0);
        dies.find_map(|die| {
            let victim = self.take_fewest(|space, pbn| space.die_of(pbn) == die && fits(space, pbn))?;
            debug_assert!(!blocks.is_failed(victim), "{victim} has failed, and gives no reserve back");
            Some((die, victim))
        })
    }

    /// Free blocks kept beyond the threshold for the case that an erase fails while there are
    /// spares: the collection before it may have opened the last free block, and what the closed
    /// blocks hold then fits nowhere. A threshold of 2 or more keeps one anyway until something has
    /// failed. Where there are several dies, another one's reserve serves as well.
    #[inline]
    pub(super) fn margin(&self, blocks: &BlockManager) -> usize {
        let Spares { total, used } = blocks.spares();
        usize::from(self.order.len() == 1 && used < total && (used > 0 || self.threshold == 1))
    }

    /// Programs a page that has to be moved off a die: there if possible, else where there is room
    /// or a block to be had without moving anything; at worst in what is left of a failing block,
    /// which is better than not at all.
    pub fn program_moved<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        die: u32,
        (stream, hint): (Stream, Hint),
        (label, content): (Label, &Content<D::Data>),
        trims: &Trims,
    ) -> Result<Ppn, FtlError> {
        debug_assert!(stream < self.streams.len(), "a page is moved to stream {stream}, which there is not");
        loop {
            let refuge = match self.refuge(blocks, die, stream) {
                Some(refuge) => refuge,
                None => match self.reclaim_empty(flash, blocks, trims)? {
                    Some(refuge) => refuge,
                    None => return self.program_in_failing(flash, blocks, stream, label, content),
                },
            };
            if let Some(to) = self.program(flash, blocks, refuge, (stream, hint), label, content.clone())? {
                return Ok(to);
            }
        }
    }

    /// A die with a place for a page that has to be moved off this one: itself if possible, else
    /// one whose open block has room, else the one with the most free blocks, so that none gives
    /// its last while another has more.
    fn refuge(&self, blocks: &BlockManager, die: u32, stream: Stream) -> Option<u32> {
        debug_assert!(die < self.dies(), "a page is moved off die {die} of {}", self.dies());
        let has_room = |die: &u32| self.has_room(*die, stream) || self.soft_room(*die, stream).is_some();
        if has_room(&die) || blocks.free_on(die) > 0 {
            return Some(die);
        }
        let most_free = || (0..self.dies()).min_by_key(|&die| Reverse(blocks.free_on(die)));
        (0..self.dies()).find(has_room).or_else(|| most_free().filter(|&die| blocks.free_on(die) > 0))
    }

    /// Erases a closed block in which nothing is valid, on whatever die, once failures have cost
    /// every die its last free block: that needs no room for anything. Not one with the last copy
    /// of a page whose trim is pending, which would have to be replaced first. Returns the die that
    /// has a free block then.
    #[cold]
    pub fn reclaim_empty<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        trims: &Trims,
    ) -> Result<Option<u32>, FtlError> {
        self.put_all_down();
        while blocks.may_have_failed() {
            let is_empty = |&pbn: &Pbn| self.victims.contains(pbn) && self.ledger.valid_pages(pbn) == 0;
            let is_safe = |&pbn: &Pbn| trims.about_to_vanish(self.page_indices(pbn)).is_empty();
            let mut all = (0..self.geometry.blocks()).map(Pbn::new);
            let Some(pbn) = all.find(|pbn| is_empty(pbn) && is_safe(pbn)) else { break };
            flash.note(Note::Collection);
            debug_assert!(!blocks.is_failed(pbn) && !self.is_open(pbn), "{pbn} is reclaimed while it is in use");
            self.victims.remove(pbn, 0);
            self.fill_before_erase(flash, blocks, pbn)?;
            blocks.give_back(flash, pbn)?;
            if blocks.free_on(self.die_of(pbn)) > 0 {
                return Ok(Some(self.die_of(pbn)));
            }
        }
        Ok(None)
    }

    #[cold]
    fn program_in_failing<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        stream: Stream,
        label: Label,
        content: &Content<D::Data>,
    ) -> Result<Ppn, FtlError> {
        let like: Vec<_> = (0..self.streams.len()).map(|other| self.is_like(stream, other)).collect();
        for (pbn, open) in &mut self.failing {
            while open.next < open.end && like[usize::from(self.stream_of[pbn.index()])] {
                let to = Ppn::new(open.next);
                debug_assert_eq!(self.geometry.block_of(to), *pbn, "{to} is programmed for another block");
                open.next += 1;
                match flash.put(to, label, content.clone()) {
                    Ok(()) => {
                        self.ledger.validate(to, *pbn);
                        return Ok(to);
                    }
                    Err(error) if error.is_program_failure() => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Err(blocks.out_of_space("a page that has to be moved"))
    }

    /// A page could not be programmed: if it failed, its block takes no more pages and waits to be
    /// emptied; anything else is an error.
    #[cold]
    pub(super) fn not_programmed(
        &mut self,
        blocks: &mut BlockManager,
        ppn: Ppn,
        error: FtlError,
    ) -> Result<(), FtlError> {
        if !error.is_program_failure() {
            return Err(error);
        }
        self.on_program_failed(blocks, ppn);
        Ok(())
    }

    /// A page that was placed could not be programmed: its block takes no more pages and waits to
    /// be emptied.
    #[cold]
    pub(in crate::engines::page_map) fn on_program_failed(&mut self, blocks: &mut BlockManager, ppn: Ppn) {
        let pbn = self.ledger.invalidate(ppn);
        let stream = self.stream_of(pbn);
        debug_assert!(!blocks.is_failed(pbn), "{pbn} took a page after it had failed");
        let open = &mut self.open[stream * self.order.len() + self.geometry.die_of(pbn) as usize];
        debug_assert!(open.next == ppn.get() + 1, "{ppn} failed, and its stream goes on at page {}", open.next);
        self.failing.push((pbn, std::mem::take(open)));
        blocks.has_failed(pbn);
    }

    /// Whether blocks wait to be emptied because a page of theirs failed.
    #[inline]
    pub fn has_failing(&self) -> bool {
        !self.failing.is_empty()
    }

    /// The blocks that wait to be emptied.
    pub fn failing(&self) -> Vec<Pbn> {
        self.failing.iter().map(|&(pbn, _)| pbn).collect()
    }

    /// Takes a block that waits to be emptied; tells whether it did. Emptying it takes free blocks
    /// beyond those that the die's collection needs, since it gives none back.
    pub fn take_failing(&mut self, pbn: Pbn) -> bool {
        let waits = || self.failing.iter().filter(|&&(failing, _)| failing == pbn).count();
        debug_assert!(waits() <= 1, "{pbn} waits {} times to be emptied", waits());
        let at = self.failing.iter().position(|&(failing, _)| failing == pbn);
        at.map(|at| self.failing.swap_remove(at)).is_some()
    }
}
