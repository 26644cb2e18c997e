//! Which blocks are erased when (WAFTL III.D).

use flash::Pbn;

use super::Waftl;
use crate::engines::page_map::mapped::PageMapped;
use crate::port::cause::Cause;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::timing::Device;

impl Waftl {
    /// Whether a block can be erased without anything else to be done.
    pub(super) fn is_clear(&self, pbn: Pbn) -> bool {
        let space = &self.pages.space;
        space.is_spent(pbn) && self.pages.trims.about_to_vanish(space.page_indices(pbn)).is_empty()
    }

    /// Collects a block that may be, and waits for it.
    pub(super) fn erase<D: Device>(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<(), FtlError> {
        let (space, blocks, _) = self.pages.parts();
        let die = space.die_of(pbn);
        space.withdraw(flash, blocks, pbn);
        self.pages.collect(flash, die, pbn, Cause::Collection)
    }

    /// Collects while too little is free: blocks with nothing in them first, then PMBs, the one with the fewest valid pages of the die with the
    /// fewest free blocks.
    pub(super) fn collect_online<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        let [spent, others] = self.online;
        while self.pages.blocks.free() < spent
            && let Some(pbn) = self.spent.take()
        {
            if self.pages.space.is_spent(pbn) {
                flash.in_background(|flash| self.erase(flash, pbn))?;
            }
        }
        if self.pages.blocks.free() >= others || !self.pages.is_whole() {
            return Ok(());
        }
        let mut dies: Vec<u32> = (0..self.pages.space.dies()).collect();
        dies.sort_by_key(|&die| self.pages.blocks.free_on(die));
        for die in dies {
            while self.pages.blocks.free() < others
                && self.pages.is_whole()
                && let Some(victim) = self.pages.take_victim(die)
            {
                if self.pages.space.valid_in(victim) == self.pages.space.content_pages() {
                    self.pages.space.leave(victim);
                    break;
                }
                self.pages.collect_apart(flash, die, victim, Cause::Collection)?;
            }
        }
        Ok(())
    }
}
