//! What a scheme needs of the map that keeps data pages in the same RAM, and so decides itself what leaves.

use flash::{Lpn, Ppn, Role};

use crate::api::hint::Hint;
use crate::engines::demand::machine::DemandPaged;
use crate::engines::demand::policy::{DemandScheme, MapCache};
use crate::engines::page_map::mapped::{HOST, PageMapped};
use crate::port::cause::Cause;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::Label;
use crate::port::tally::Note;
use crate::port::timing::Device;

impl<S: DemandScheme> DemandPaged<S> {
    /// What of the map is in RAM.
    pub fn cache(&self) -> &S::Cache {
        &self.cache
    }

    /// What of the map is in RAM, to be changed.
    pub fn cache_mut(&mut self) -> &mut S::Cache {
        &mut self.cache
    }

    /// Whether nobody waits for making room in RAM.
    pub fn is_in_background(&self) -> bool {
        self.background
    }

    /// Uses the entry of a logical page, which is in RAM, without asking what it says: the memory that a simulation needs for that is touched by nothing
    /// else, so that the processor would wait for it.
    pub fn use_entry<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<(), FtlError> {
        self.lookup(flash, lpn, false).map(|_| ())
    }

    /// Writes a logical page that leaves RAM. That is no use of its entry, which therefore stays where it is in its cache; if it is not there, it is
    /// fetched.
    pub fn write_down<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (lpn, said): (Lpn, Hint),
        data: &D::Data,
    ) -> Result<(), FtlError> {
        let slot = match self.cache.find(lpn) {
            Some(slot) => slot,
            None => self.lookup(flash, lpn, self.background)?,
        };
        let label = Label::new(lpn.get(), Role::Data);
        let to = self.append_on(flash, (HOST, said), (label, 0), data, |scheme, flash| scheme.next_die(flash, HOST))?;
        self.remap(flash, lpn, slot, Some(to));
        Ok(())
    }

    /// Writes a cached translation page with all its newer entries, if it has any, so that it can leave RAM.
    pub fn write_back<D: Device>(&mut self, flash: &mut FlashPort<D>, page: u32) -> Result<(), FtlError> {
        let mut eviction = Note::CleanEviction;
        flash.with_cause(Cause::Mapping, |flash| {
            while self.cache.newer_of(page).next().is_some() {
                eviction = Note::DirtyEviction;
                self.prefetch_writing(page);
                self.write_translation(flash, page, &[], Self::next_translation_die)?;
            }
            Ok(())
        })?;
        flash.note(eviction);
        Ok(())
    }

    /// The same for the translation page of a cached entry, if that entry is newer.
    pub fn write_back_entry<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<(), FtlError> {
        if self.cache.is_newer(lpn) {
            return self.write_back(flash, self.table.page_of(lpn));
        }
        flash.note(Note::CleanEviction);
        Ok(())
    }

    /// Where a logical page lies, when nothing can be brought into RAM any more: an entry that is not there is fetched each time.
    pub fn find_without_keeping<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lpn: Lpn,
    ) -> Result<Option<Ppn>, FtlError> {
        if let Some(slot) = self.cache.find(lpn) {
            flash.note(Note::MappingHit);
            return Ok(self.cache.ppn(slot, &self.table));
        }
        flash.note(Note::MappingMiss);
        self.find_on_flash(flash, lpn)
    }
}
