//! The canary empties a block: the open one is closed for it, and what is valid goes to the open
//! block, or to a fresh one when that is full. A free block is always there for that: the one that
//! a collection would copy into.

use flash::{Pbn, Ppn};
use ftl::{AnyDevice, Deferred, FlashPort, FtlError, RelocateOutcome};

use super::{Bug, Canary};

impl Canary {
    /// Moves what a block holds, and erases it.
    pub(super) fn empty(&mut self, flash: &mut FlashPort<AnyDevice>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        if flash.chip().is_bad(pbn) {
            return Ok(RelocateOutcome::Deferred(Deferred::IsBad));
        }
        if self.free.contains(&pbn) {
            return Ok(RelocateOutcome::Done);
        }
        if self.open.is_some_and(|(open, _)| open == pbn) {
            if self.bug == Bug::RelocationForgetsOpenBlock {
                return Ok(RelocateOutcome::Done);
            }
            self.open = None;
        }
        self.closed.retain(|&closed| closed != pbn);
        let mut pages = self.valid_in(pbn);
        self.forget_some(&mut pages);
        let last = pages
            .last()
            .copied()
            .filter(|_| self.bug == Bug::RelocationErasesFirst || self.has(Bug::LevellerErasesFirst));
        for from in pages {
            if self.open.is_none_or(|(_, next)| next == self.geometry.pages_per_block()) {
                self.closed.extend(self.open.take().map(|(full, _)| full));
                self.open_block(flash)?;
            }
            let page = flash.read(from)?;
            if last == Some(from) {
                self.erase(flash, pbn)?;
            }
            self.move_page(flash, from, page)?;
        }
        if last.is_none() {
            self.erase(flash, pbn)?;
        }
        self.free.push_back(pbn);
        Ok(RelocateOutcome::Done)
    }

    /// Leaves out what the bug says.
    fn forget_some(&mut self, pages: &mut Vec<Ppn>) {
        let is_translation = |canary: &Self, ppn: Ppn| canary.directory.contains(&Some(ppn));
        match self.bug {
            Bug::LevellerLosesPage if !self.is_levelling => {}
            Bug::RelocationLosesPage | Bug::LevellerLosesPage => {
                if let Some(lost) = pages.pop() {
                    self.forget(lost);
                }
            }
            Bug::RelocationLosesTrimPage => {
                let lost: Vec<_> = pages.extract_if(.., |&mut ppn| is_translation(self, ppn)).collect();
                for ppn in lost {
                    self.forget(ppn);
                }
            }
            _ => {}
        }
    }
}
