//! Map entries of the demand-paged machine: found in RAM or fetched, and changed.

use flash::{Lpn, Ppn};

use crate::engines::demand::machine::DemandPaged;
use crate::engines::demand::policy::{DemandScheme, MapCache};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::tally::Note;

/// The place of an entry in a scheme's cache.
pub(super) type SlotOf<S> = <<S as DemandScheme>::Cache as MapCache>::Slot;

impl<S: DemandScheme> DemandPaged<S> {
    /// Where a logical page lies, for reading it.
    pub fn find<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<Option<Ppn>, FtlError> {
        match self.lookup(flash, lpn, false) {
            Ok(_) => Ok(self.table.entry(lpn)),
            // It is in RAM, and only to change it would take more room.
            Err(FtlError::ReadOnly { .. }) if self.cache.find(lpn).is_some() => Ok(self.table.entry(lpn)),
            // A changed entry cannot leave the cache any more, so this one is fetched each time it
            // is needed.
            Err(FtlError::ReadOnly { .. }) => self.find_on_flash(flash, lpn),
            Err(error) => Err(error),
        }
    }

    /// What the translation page of a logical page says, which is read for that and not kept.
    pub(super) fn find_on_flash<D: Device>(&self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<Option<Ppn>, FtlError> {
        debug_assert!(self.cache.find(lpn).is_none(), "the entry of {lpn} is in RAM, and is read from flash");
        flash.with_cause(Cause::Mapping, |flash| self.read_translation(flash, self.table.page_of(lpn)))?;
        Ok(self.table.entry(lpn))
    }

    /// The cached entry of a logical page, fetched if need be; `apart`, nobody waits for that.
    pub(super) fn lookup<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lpn: Lpn,
        apart: bool,
    ) -> Result<SlotOf<S>, FtlError> {
        debug_assert!(lpn.get() < self.table.logical_pages(), "there is no {lpn} of {}", self.table.logical_pages());
        flash.spend(self.delays.read);
        let found = self.cache.find(lpn);
        flash.note_lookup(lpn, found.is_some());
        if let Some(slot) = found {
            let slot = self.cache.touch(slot);
            if let Some(page) = self.cache.overflow() {
                flash.with_cause(Cause::Mapping, |flash| self.relieve(flash, page))?;
            }
            return Ok(slot);
        }
        if apart { flash.in_background(|flash| self.fetch(flash, lpn)) } else { self.fetch(flash, lpn) }
    }

    /// The same with a translation page that has just been read, which takes no read then. If the
    /// entry is fetched, its translation page is the one that was read last.
    pub(super) fn lookup_with<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lpn: Lpn,
        last_read: &mut Option<u32>,
    ) -> Result<SlotOf<S>, FtlError> {
        let page = self.table.page_of(lpn);
        if *last_read == Some(page) && self.cache.find(lpn).is_none() {
            flash.spend(self.delays.read);
            flash.note_lookup(lpn, true);
            return flash.with_cause(Cause::Mapping, |flash| {
                self.make_room_in_cache(flash)?;
                debug_assert!(self.cache.find(lpn).is_none(), "{lpn} came into RAM while room was made for it");
                Ok(self.cache.insert(lpn))
            });
        }
        if self.cache.find(lpn).is_none() {
            *last_read = Some(page);
        }
        self.lookup(flash, lpn, self.background)
    }

    /// Has room in the cache for an entry.
    fn make_room_in_cache<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        if !self.cache.is_full() {
            return Ok(());
        }
        let page = self.cache.must_write();
        self.make_way(flash, page, S::Cache::must_write)
    }

    /// Has room in the cache for its contents, after this page has been written.
    #[cold]
    fn relieve<D: Device>(&mut self, flash: &mut FlashPort<D>, page: u32) -> Result<(), FtlError> {
        self.make_way(flash, Some(page), S::Cache::overflow)
    }

    /// Brings the entry of a logical page into the cache.
    fn fetch<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<SlotOf<S>, FtlError> {
        flash.with_cause(Cause::Mapping, |flash| {
            self.make_room_in_cache(flash)?;
            let page = self.table.page_of(lpn);
            let (content, lost) = self.read_translation(flash, page)?;
            debug_assert!(!self.cache.is_newer(lpn), "{lpn} is fetched, and its entry in RAM was newer");
            let slot = self.cache.insert(lpn);
            // Not before: that may collect, and so change what was about to leave the cache.
            self.repair(flash, page, content, &lost)?;
            Ok(slot)
        })
    }

    /// Writes the translation pages that keep something from leaving the cache: the first one, and
    /// those that `next` names after it.
    fn make_way<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        first: Option<u32>,
        next: fn(&mut S::Cache) -> Option<u32>,
    ) -> Result<(), FtlError> {
        let (is_dirty, is_apart) = (first.is_some(), self.background);
        let mut write_all = |flash: &mut FlashPort<D>| {
            let mut leaving = first;
            while let Some(page) = leaving {
                debug_assert!(self.cache.newer_of(page).next().is_some(), "page {page} is written, and all is known");
                self.prefetch_writing(flash, page);
                self.write_translation(flash, page, &[], Self::next_translation_die)?;
                leaving = next(&mut self.cache);
            }
            flash.note(if is_dirty { Note::DirtyEviction } else { Note::CleanEviction });
            Ok(())
        };
        if is_apart { flash.in_background(write_all) } else { write_all(flash) }
    }

    /// Changes what the table says of a logical page; returns what it said before.
    #[inline]
    pub(super) fn change_entry(&mut self, lpn: Lpn, to: Option<Ppn>) -> Option<Ppn> {
        let before = self.table.replace_entry(lpn, to);
        self.cache.on_entry_changed(lpn, before, &self.table);
        before
    }

    pub(super) fn remap<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn, slot: SlotOf<S>, to: Option<Ppn>) {
        debug_assert!(to.is_none_or(|to| self.space.is_valid(to)), "{lpn} is mapped to {to:?}, which is not valid");
        flash.spend(self.delays.write);
        match self.change_entry(lpn, to) {
            Some(old) => self.space.release(old),
            None => {
                if let Some(page) = self.trims.on_overwritten(lpn) {
                    self.space.release(page);
                }
            }
        }
        self.cache.mark_newer(slot);
        debug_assert!(self.cache.is_newer(lpn), "the entry of {lpn} was changed to {to:?}, and is not newer");
    }
}
