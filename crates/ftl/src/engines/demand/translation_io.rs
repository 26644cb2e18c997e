//! Translation pages of the demand-paged machine, read and written.
//!
//! A translation page may have copies on several channels (RFTL 3.2). They are written together;
//! which one is read, [`CopyChoice`](crate::engines::demand::translation::CopyChoice) says, and
//! among equals it is the first. A copy that cannot be read is written anew from another. When none
//! can, what the table says replaces it, without the scan that a controller would need.

use flash::{Lpn, Ppn, Role};
use host::Hint;

use crate::engines::demand::machine::{DemandPaged, TRANSLATION};
use crate::engines::demand::mapping_cache::MappingCache;
use crate::engines::demand::policy::{DemandScheme, MapCache};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;

impl<S: DemandScheme> DemandPaged<S> {
    /// Writes copies of a translation page anew that turned out to be lost. The host does not wait
    /// for that.
    pub(super) fn repair<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        page: u32,
        content: Option<D::Data>,
        lost: &[u32],
    ) -> Result<(), FtlError> {
        debug_assert!(lost.len() < self.table.copies() as usize, "no copy of translation page {page} is left");
        let content = content.unwrap_or_default();
        for &copy in lost {
            let repaired = flash.in_background(|flash| {
                self.write_copy(flash, page, copy, &content, &[], Self::next_translation_die).map(|_| ())
            });
            FtlError::unless_read_only(repaired)?;
        }
        Ok(())
    }

    /// Reads a copy of a translation page: the one that keeps the miss waiting least. One that
    /// cannot be read is passed over. Returns the content, none if there is none, and the copies
    /// that are lost though others are not.
    pub(super) fn read_translation<D: Device>(
        &self,
        flash: &mut FlashPort<D>,
        page: u32,
    ) -> Result<(Option<D::Data>, Vec<u32>), FtlError> {
        debug_assert!(!self.cache.holds_page(page), "translation page {page} is in RAM, and is read");
        let locations = self.table.locations(page);
        if let [only] = locations {
            let content = only.map(|ppn| flash.read_to_move(ppn)).transpose()?.flatten();
            return Ok((content.map(|content| content.data), Vec::new()));
        }
        let mut lost = Vec::new();
        loop {
            let there = (0..).zip(locations).filter_map(|(copy, ppn)| Some((copy, (*ppn)?)));
            let left = there.filter(|(copy, _)| !lost.contains(copy));
            let next = left.min_by_key(|&(copy, ppn)| (self.copy_choice.delay(flash, &self.space, ppn), copy));
            let Some((copy, ppn)) = next else { return Ok((None, Vec::new())) };
            match flash.read_to_move(ppn)? {
                Some(content) => return Ok((Some(content.data), lost)),
                None => lost.push(copy),
            }
        }
    }

    /// Writes all copies of a translation page with these updates and all newer cached entries, on
    /// the dies that `place` finds, told on which channels there are copies already.
    pub(super) fn write_translation<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        page: u32,
        updates: &[(u32, Lpn, Ppn)],
        mut place: impl FnMut(&mut Self, &mut FlashPort<D>, &[u32]) -> Result<u32, FtlError>,
    ) -> Result<(), FtlError> {
        debug_assert!(page < self.table.pages_of_table(), "there is no translation page {page}");
        debug_assert!(updates.iter().all(|&(of, ..)| of == page), "updates of other pages are written with {page}");
        let first = place(self, flash, &[])?;
        // Only now, since finding the place may have moved the page.
        let read = if self.cache.holds_page(page) { None } else { self.read_translation(flash, page)?.0 };
        self.write_copies(flash, (page, first), &read.unwrap_or_default(), place)?;
        for &(_, lpn, ppn) in updates {
            self.change_entry(lpn, Some(ppn));
        }
        self.cache.clean(page);
        for &(_, lpn, ppn) in updates {
            debug_assert!(!self.cache.is_newer(lpn), "{lpn} was moved to {ppn} on flash, and is newer in RAM");
        }
        Ok(())
    }

    /// Writes all copies of a translation page, the first on this die.
    fn write_copies<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (page, first): (u32, u32),
        content: &D::Data,
        mut place: impl FnMut(&mut Self, &mut FlashPort<D>, &[u32]) -> Result<u32, FtlError>,
    ) -> Result<(), FtlError> {
        let mut first = Some(first);
        let mut channels = Vec::new();
        flash.in_parallel(0..self.table.copies(), |flash, copy| {
            let to = self.write_copy(flash, page, copy, content, &channels, |scheme, flash, channels| {
                first.take().map_or_else(|| place(scheme, flash, channels), Ok)
            })?;
            if self.table.copies() > 1 {
                channels.push(self.space.channel_of(to));
            }
            Ok(())
        })
    }

    /// Writes one copy of a translation page; a page that fails is tried again elsewhere.
    fn write_copy<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        page: u32,
        copy: u32,
        content: &D::Data,
        channels: &[u32],
        mut place: impl FnMut(&mut Self, &mut FlashPort<D>, &[u32]) -> Result<u32, FtlError>,
    ) -> Result<Ppn, FtlError> {
        loop {
            let die = place(self, flash, channels)?;
            debug_assert!(die < self.space.dies(), "copy {copy} of translation page {page} goes to die {die}");
            let label = Label::new(page, Role::Translation);
            let content = Content::New(content.clone());
            if let Some(to) =
                self.space.program(flash, &mut self.blocks, die, (TRANSLATION, Hint::NONE), label, content)?
            {
                if let Some(old) = self.table.relocate(page, copy, to) {
                    self.space.release(old);
                }
                return Ok(to);
            }
        }
    }

    /// Writes every translation page that maps something, for a table whose content is known but of
    /// which no page is left.
    pub(super) fn rewrite_table<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        self.blocks.spares().admit()?;
        let needed = |scheme: &Self, page: u32| !scheme.table.is_written(page) && scheme.table.maps_something(page);
        let pages = (0..self.table.pages_of_table()).filter(|&page| needed(self, page)).count() as u32;
        self.make_room_for_table(flash, pages * self.table.copies())?;
        flash.in_parallel(0..self.table.pages_of_table(), |flash, page| {
            if needed(self, page) {
                self.blocks.spares().admit()?;
                self.write_translation(flash, page, &[], Self::die_for_translation)?;
            }
            Ok(())
        })
    }

    /// Writes the translation page of a cached entry as [`write_back`](Self::write_back) does, if
    /// that entry is newer.
    pub fn write_back_entry<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<(), FtlError> {
        debug_assert!(self.cache.find(lpn).is_some(), "the entry of {lpn} is written back, and is not in RAM");
        if self.cache.is_newer(lpn) {
            return self.write_back(flash, self.table.page_of(lpn));
        }
        flash.note(Note::CleanEviction);
        Ok(())
    }
}

impl<S: DemandScheme<Cache = MappingCache>> DemandPaged<S> {
    /// Writes the translation page of each of these entries that is newer, once for all of them.
    /// The translation page that was read last is not read again for that.
    pub fn write_back_together<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lpns: &[Lpn],
        last_read: Option<u32>,
    ) -> Result<(), FtlError> {
        flash.with_cause(Cause::Mapping, |flash| {
            for &lpn in lpns {
                if !self.cache.is_newer(lpn) {
                    continue;
                }
                let page = self.table.page_of(lpn);
                if last_read == Some(page) {
                    let first = self.next_translation_die(flash, &[])?;
                    self.write_copies(flash, (page, first), &D::Data::default(), Self::next_translation_die)?;
                } else {
                    self.write_translation(flash, page, &[], Self::next_translation_die)?;
                }
                let together = lpns.iter().filter(|&&other| self.table.page_of(other) == page);
                together.for_each(|&written| self.cache.mark_clean(written));
            }
            Ok(())
        })
    }
}
