//! How a log block leaves: it becomes a data block, or its newest pages are moved or merged, and it is erased.

use flash::{Lbn, Lpn, Pbn, Role};

use crate::engines::log_buffer::machine::LogBuffer;
use crate::engines::log_buffer::merge;
use crate::engines::log_buffer::policy::{LogPage, LogPolicy, LogScheme, Merged, Place};
use crate::engines::log_buffer::space::{LogBlock, Slot};
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::tally::Note;
use crate::port::timing::Device;

impl<S: LogScheme> LogBuffer<S> {
    pub(super) fn evict<D: Device>(&mut self, flash: &mut FlashPort<D>, victim: Slot) -> Result<(), FtlError> {
        flash.note(Note::LogVictim);
        let Some(&LogBlock { pbn, filled, in_place, .. }) = self.log.block(victim) else { return Ok(()) };
        if let Some(lbn) = in_place.filter(|&lbn| self.may_become_data(pbn, lbn, filled)) {
            merge::in_place(flash, &mut self.blocks, &mut self.data, &mut self.log, (pbn, filled), lbn)?;
            self.tell_of_merge(lbn);
            self.policy.merged(&self.log, victim, Merged::InPlace);
        } else {
            let pages = if self.policy.goes_page_by_page() {
                self.move_or_merge(flash, victim)?
            } else {
                self.move_some(flash, victim)?;
                self.merge_owners(flash, victim)?
            };
            self.policy.merged(&self.log, victim, Merged::Fully(pages));
            self.counts.left();
            self.retire(flash, pbn)?;
        }
        self.forget_slot(victim);
        Ok(())
    }

    fn forget_slot(&mut self, slot: Slot) {
        self.policy.left(&self.log, slot);
        self.log.remove(slot);
    }

    /// Whether no page of a log block in place is older than what the data block holds.
    fn may_become_data(&self, pbn: Pbn, lbn: Lbn, filled: u32) -> bool {
        let geometry = self.data.geometry();
        (0..filled).all(|offset| {
            let lpn = geometry.logical_page(lbn, offset);
            !self.data.is_current(lpn) || self.log.newest(lpn) == Some(geometry.page(pbn, offset))
        })
    }

    /// Moves those newest pages of a victim that the policy does not want merged.
    fn move_some<D: Device>(&mut self, flash: &mut FlashPort<D>, victim: Slot) -> Result<(), FtlError> {
        for lpn in self.log.newest_in(flash, victim) {
            if self.policy.moves(&self.log, victim, lpn) {
                self.move_page(flash, lpn)?;
            }
        }
        Ok(())
    }

    /// Moves or merges each newest page of a victim, one after the other; tells how many were not moved.
    fn move_or_merge<D: Device>(&mut self, flash: &mut FlashPort<D>, victim: Slot) -> Result<u32, FtlError> {
        let Some(pbn) = self.log.block(victim).map(|block| block.pbn) else { return Ok(0) };
        let mut merged = 0;
        for lpn in self.log.newest_in(flash, victim) {
            // An earlier merge of the same logical block may have taken this page along.
            if !self.is_newest_in(lpn, pbn) {
                merged += 1;
            } else if self.policy.moves(&self.log, victim, lpn) {
                self.move_page(flash, lpn)?;
            } else {
                merged += 1;
                let (lbn, _) = self.data.geometry().split_logical(lpn);
                self.merge_block(flash, lbn, Some(victim))?;
            }
        }
        Ok(merged)
    }

    /// Whether the newest copy of a page lies in this block of the log.
    fn is_newest_in(&self, lpn: Lpn, pbn: Pbn) -> bool {
        self.log.newest(lpn).is_some_and(|ppn| self.data.geometry().block_of(ppn) == pbn)
    }

    /// Copies the newest page of the log to where the next pages of its group go.
    fn move_page<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<(), FtlError> {
        let Some(from) = self.log.newest(lpn) else { return Ok(()) };
        let (lbn, offset) = self.data.geometry().split_logical(lpn);
        let (role, content) = flash.read_for_copy(from, Role::RandomLog)?;
        let page = LogPage { lpn, lbn, offset, moved: true, hint: self.blocks.hint_of(content.stored_hint()) };
        let slot = loop {
            match self.policy.place(&mut self.log, page) {
                Place::In(slot) => break slot,
                Place::New(group) => self.open(group, page.hint)?,
            }
        };
        self.append(flash, slot, page, (role, &content))?;
        flash.note(Note::MovedLogPage);
        Ok(())
    }

    /// Merges what is newest in a log block, and erases it. One that has left already is passed over.
    pub(super) fn merge_away<D: Device>(&mut self, flash: &mut FlashPort<D>, slot: Slot) -> Result<(), FtlError> {
        let Some(pbn) = self.log.block(slot).map(|block| block.pbn) else { return Ok(()) };
        self.merge_owners(flash, slot)?;
        self.retire(flash, pbn)?;
        self.forget_slot(slot);
        Ok(())
    }

    /// Merges each logical block with a newest page in a log block, and tells how many such pages there were.
    fn merge_owners<D: Device>(&mut self, flash: &mut FlashPort<D>, slot: Slot) -> Result<u32, FtlError> {
        let Some(pbn) = self.log.block(slot).map(|block| block.pbn) else { return Ok(0) };
        let newest = self.log.newest_in(flash, slot);
        for &lpn in &newest {
            // An earlier merge of the same logical block may have taken this page along.
            if self.is_newest_in(lpn, pbn) {
                let (lbn, _) = self.data.geometry().split_logical(lpn);
                self.merge_block(flash, lbn, Some(slot))?;
            }
        }
        Ok(newest.len() as u32)
    }

    /// A full merge of a logical block, after which log blocks that serve it alone hold nothing newest.
    pub(super) fn merge_block<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lbn: Lbn,
        except: Option<Slot>,
    ) -> Result<(), FtlError> {
        merge::full(flash, &mut self.blocks, &mut self.data, &mut self.log, lbn)?;
        self.tell_of_merge(lbn);
        self.counts.merged(lbn, except.is_some());
        self.drop_dedicated(flash, lbn, except)
    }

    fn tell_of_merge(&mut self, lbn: Lbn) {
        for (_, lpn) in self.data.pages_of(lbn) {
            if self.log.newest(lpn).is_none() {
                self.policy.settled(lpn);
            }
        }
    }

    /// Erases the log blocks that serve a logical block alone, whose pages have all moved elsewhere: as data blocks they would
    /// bring old copies back.
    fn drop_dedicated<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lbn: Lbn,
        except: Option<Slot>,
    ) -> Result<(), FtlError> {
        while let Some(slot) = self.policy.dedicated(lbn, except) {
            let pbn = self.log.block(slot).map(|block| block.pbn);
            self.forget_slot(slot);
            pbn.map_or(Ok(()), |pbn| self.retire(flash, pbn))?;
        }
        Ok(())
    }

    pub(super) fn retire_if_empty<D: Device>(&mut self, flash: &mut FlashPort<D>, lbn: Lbn) -> Result<(), FtlError> {
        if self.data.pages_of(lbn).any(|(_, lpn)| merge::newest(&self.data, &self.log, lpn).is_some()) {
            return Ok(());
        }
        self.drop_dedicated(flash, lbn, None)?;
        match self.data.remap(lbn, None) {
            Some(pbn) => self.retire(flash, pbn),
            None => Ok(()),
        }
    }
}
