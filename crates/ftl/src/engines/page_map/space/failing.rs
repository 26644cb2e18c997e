//! What failures do to a space: blocks that wait to be emptied, reserves that are lost, and the end
//! when no spare is left.

use std::cmp::Reverse;

use flash::{Pbn, Ppn};
use host::Hint;

use super::{PageSpace, Stream};
use crate::api::report::Spares;
use crate::blocks::manager::BlockManager;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;
use crate::port::timing::Device;
use crate::recovery::trims::Trims;

impl PageSpace {
    /// Takes the block whose collection gives a die its reserve back, if there is room for what has
    /// to be moved to the destination of its stream, where moving a page takes up to `cost`
    /// programs: the next failure would else find no place anywhere.
    #[cold]
    pub fn take_victim_for_reserve(
        &mut self,
        blocks: &BlockManager,
        destinations: &[Stream],
        cost: u32,
    ) -> Option<(u32, Pbn)> {
        debug_assert_eq!(destinations.len(), self.streams.len(), "a stream has no destination");
        let room = |space: &Self, stream: Stream| -> u32 {
            let open_pages = |die: u32| {
                let open = space.open[stream * space.order.len() + die as usize];
                open.end - open.next + blocks.free_on(die) as u32 * space.summaries.content_pages()
            };
            (0..space.dies()).map(open_pages).sum()
        };
        for die in (0..self.dies()).filter(|&die| blocks.free_on(die) == 0).collect::<Vec<_>>() {
            if let Some(victim) = self.take_fewest_valid_on(die) {
                if self.ledger.valid_pages(victim) * cost <= room(self, destinations[self.stream_of(victim)]) {
                    return Some((die, victim));
                }
                self.victims.close(victim, self.ledger.valid_pages(victim));
            }
        }
        None
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
        (stream, said): (Stream, Hint),
        (label, content): (Label, &Content<D::Data>),
        trims: &Trims,
    ) -> Result<Ppn, FtlError> {
        loop {
            let refuge = match self.refuge(blocks, die, stream) {
                Some(refuge) => refuge,
                None => match self.reclaim_empty(flash, blocks, trims)? {
                    Some(refuge) => refuge,
                    None => return self.program_in_failing(flash, blocks, stream, label, content),
                },
            };
            if let Some(to) = self.program(flash, blocks, refuge, (stream, said), label, content.clone())? {
                return Ok(to);
            }
        }
    }

    /// A die with a place for a page that has to be moved off this one: itself if possible, else
    /// one whose open block has room, else the one with the most free blocks, so that none gives
    /// its last while another has more.
    fn refuge(&self, blocks: &BlockManager, die: u32, stream: Stream) -> Option<u32> {
        let has_room = |die: &u32| self.has_room(*die, stream);
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
        while blocks.may_have_failed() {
            let is_empty = |&pbn: &Pbn| self.victims.contains(pbn) && self.ledger.valid_pages(pbn) == 0;
            let is_safe = |&pbn: &Pbn| trims.about_to_vanish(self.page_indices(pbn)).is_empty();
            let mut all = (0..self.geometry.blocks()).map(Pbn::new);
            let Some(pbn) = all.find(|pbn| is_empty(pbn) && is_safe(pbn)) else { break };
            flash.note(Note::Collection);
            self.victims.remove(pbn, 0);
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
        for (pbn, open) in &mut self.failing {
            while open.next < open.end && self.stream_of[pbn.index()] as usize == stream {
                let to = Ppn::new(open.next);
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
        stream: Stream,
        error: FtlError,
    ) -> Result<(), FtlError> {
        if !error.is_program_failure() {
            return Err(error);
        }
        let pbn = self.ledger.invalidate(ppn);
        debug_assert!(!blocks.is_failed(pbn), "{pbn} took a page after it had failed");
        let open = &mut self.open[stream * self.order.len() + self.geometry.die_of(pbn) as usize];
        self.failing.push((pbn, std::mem::take(open)));
        blocks.has_failed(pbn);
        Ok(())
    }

    /// Whether blocks wait to be emptied because a page of theirs failed.
    #[inline]
    pub fn has_failing(&self) -> bool {
        !self.failing.is_empty()
    }

    /// The dies on which blocks wait to be emptied.
    pub fn failing_dies(&self) -> Vec<u32> {
        self.failing.iter().map(|&(pbn, _)| self.die_of(pbn)).collect()
    }

    /// Takes a block that waits to be emptied on a die. That takes a free block more than the die's
    /// collection needs.
    pub fn take_failing(&mut self, die: u32) -> Option<Pbn> {
        let at = self.failing.iter().position(|&(pbn, _)| self.geometry.die_of(pbn) == die)?;
        Some(self.failing.swap_remove(at).0)
    }
}
