//! Which blocks are collected, and what becomes of them.

use flash::{Pbn, Ppn};

use super::{Open, PageSpace, Stream};
use crate::blocks::manager::BlockManager;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::timing::Device;

impl PageSpace {
    /// Takes the next block to collect on a die, if collecting gains anything there: the policy's choice, unless blocks that
    /// failed have cost a die its last free block; then the one with the least to move, for which there may still be room.
    pub fn take_victim(&mut self, blocks: &BlockManager, die: u32) -> Option<Pbn> {
        if blocks.has_lost_reserve() {
            return self.take_fewest_valid_on(die);
        }
        self.victims.take(die, &self.ledger)
    }

    /// A victim that was taken is not collected after all.
    pub fn leave(&mut self, victim: Pbn) {
        self.victims.close(victim, self.ledger.valid_pages(victim));
    }

    /// Takes the closed block of a stream with the fewest valid pages, if collecting it gains anything. Looks at every
    /// block: for emergencies.
    pub fn take_fewest_valid(&mut self, stream: Stream) -> Option<Pbn> {
        self.take_fewest(|space, pbn| space.stream_of(pbn) == stream)
    }

    /// Takes the closed block of a die with the fewest valid pages, as [`take_fewest_valid`](Self::take_fewest_valid) does.
    pub fn take_fewest_valid_on(&mut self, die: u32) -> Option<Pbn> {
        self.take_fewest(|space, pbn| space.die_of(pbn) == die)
    }

    /// Takes the closed block with the fewest valid pages of all, as [`take_fewest_valid`](Self::take_fewest_valid) does.
    pub fn take_fewest_valid_of_all(&mut self) -> Option<Pbn> {
        self.take_fewest(|_, _| true)
    }

    fn take_fewest(&mut self, among: impl Fn(&Self, Pbn) -> bool) -> Option<Pbn> {
        let block = (0..self.geometry.blocks())
            .map(Pbn::new)
            .filter(|&pbn| self.victims.contains(pbn) && among(self, pbn))
            .min_by_key(|&pbn| self.ledger.valid_pages(pbn))?;
        if self.ledger.valid_pages(block) == self.summaries.content_pages() {
            return None;
        }
        self.victims.remove(block, self.ledger.valid_pages(block));
        Some(block)
    }

    /// Withdraws a block that is in use from use: it takes no more pages, and is nobody's victim. Tells whether it holds any page; if
    /// not, it is free again. None if it waits to be emptied because it fails.
    pub fn withdraw<D: Device>(&mut self, flash: &FlashPort<D>, blocks: &mut BlockManager, pbn: Pbn) -> Option<bool> {
        if self.victims.contains(pbn) {
            self.victims.remove(pbn, self.ledger.valid_pages(pbn));
            return Some(true);
        }
        if self.kept.remove(&pbn) {
            return Some(true);
        }
        let pages = self.geometry.page_indices(pbn);
        let is_here = |open: &&mut Open| open.next < open.end && pages.contains(&(open.next as usize));
        *self.open.iter_mut().find(is_here)? = Open::default();
        let is_used = flash.device().next_page(pbn) > 0;
        if !is_used {
            blocks.put(pbn);
        }
        Some(is_used)
    }

    /// The end of a collection, when these pages have been placed elsewhere: if it went well to the end, the block goes back to the owner;
    /// if not, it is put back with what is left, since nobody needs what was moved in two places.
    pub fn finish<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        pbn: Pbn,
        moved: impl IntoIterator<Item = Ppn>,
        result: Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        match result {
            Ok(()) => {
                let is_empty = || moved.into_iter().count() == self.ledger.valid_pages(pbn) as usize;
                debug_assert!(is_empty(), "{pbn} is erased with valid pages in it");
                self.ledger.clear_block(pbn);
                blocks.give_back(flash, pbn)
            }
            Err(error) => {
                self.put_back(pbn, moved, blocks.is_failed(pbn));
                Err(error)
            }
        }
    }

    /// A block could not be emptied further than this: what was moved is not needed here any more.
    #[cold]
    fn put_back(&mut self, pbn: Pbn, moved: impl IntoIterator<Item = Ppn>, fails: bool) {
        for ppn in moved {
            self.ledger.invalidate(ppn);
        }
        if fails {
            self.failing.push((pbn, Open::default()));
        } else {
            self.victims.close(pbn, self.ledger.valid_pages(pbn));
        }
    }
}
