//! Pages that the host asks for, told apart from those that the FTL adds to complete them.
//!
//! The host writes a part of a page, and the rest of it is read first (`read_modify_write`). A
//! write buffer writes a logical block whole, and pages that nobody wrote are added (`padding`).
//! Both look pages up and may find them in RAM, but no host asked for these. Counts are of the
//! host's pages: each is looked up once in the map, and once in RAM that holds data. A page written
//! in part was found if it was there before its rest was read, since that brings it in.

use flash::Lpn;

use super::FlashPort;
use crate::port::cause::{Cause, WorkKind};
use crate::port::completion::take;
use crate::port::device::Device;
use crate::port::tally::Note;
use crate::port::timing::{Moment, Timing};

impl<D: Device> FlashPort<D> {
    /// For the shell: reads the rest of the pages that a write covers in part, all at the same
    /// time; `read` reads one. After the write, which begins at that time too, comes
    /// [`end_completion`](Self::end_completion).
    pub fn complete_pages<E>(
        &mut self,
        partial: impl IntoIterator<Item = Lpn>,
        mut read: impl FnMut(&mut Self, Lpn) -> Result<(), E>,
    ) -> Result<(), E> {
        self.completion.begin = self.cursor;
        let result = self.with_cause(Cause::ReadModifyWrite, |flash| {
            partial.into_iter().try_for_each(|lpn| {
                flash.cursor = flash.completion.begin;
                read(flash, lpn)?;
                flash.completion.rests.push((lpn, flash.cursor));
                Ok(())
            })
        });
        self.cursor = self.completion.begin;
        if result.is_err() {
            self.end_completion();
        }
        result
    }

    /// A page is programmed next: if the host writes it in part, when its rest has been read.
    #[cold]
    pub(super) fn await_rest(&mut self, logical: u32) {
        let is_it = |&(lpn, _): &(Lpn, Moment)| lpn.get() == logical && self.cause == Cause::Host;
        if let Some(at) = self.completion.rests.iter().position(is_it) {
            let (_, end) = self.completion.rests.swap_remove(at);
            self.go_on_after(end);
        }
    }

    /// Goes on after the end of a read of the completion, too.
    fn go_on_after(&mut self, end: Moment) {
        let is_begin = self.cursor == self.completion.begin;
        self.cursor = if is_begin { end } else { self.device.timing_mut().join(self.cursor, end) };
    }

    /// For the shell: the write whose pages were completed is over. It ends when their rest has
    /// been read, wherever they are.
    #[inline]
    pub fn end_completion(&mut self) {
        while let Some((_, end)) = self.completion.rests.pop() {
            self.go_on_after(end);
        }
        self.completion.missing_entries.clear();
        self.completion.missing_pages.clear();
    }

    /// Has a request served in which some logical pages, in order, only stand to complete others:
    /// programs of these are charged to [`Cause::Padding`], and not to the host.
    pub fn with_padding<R>(&mut self, pages: Vec<Lpn>, serve: impl FnOnce(&mut Self) -> R) -> R {
        self.padding = pages;
        let result = serve(self);
        self.padding = Vec::new();
        result
    }

    /// Whether a page is padding.
    #[inline]
    pub fn pads(&self, logical: u32) -> bool {
        self.cause == Cause::Host && self.padding.binary_search(&Lpn::new(logical)).is_ok()
    }

    /// Whether what is done now is done for a page that the host asked for.
    #[inline]
    fn is_hosts(&self, lpn: Lpn) -> bool {
        matches!(self.cause.work(), WorkKind::Host | WorkKind::Preparation)
            && (self.padding.is_empty() || !self.pads(lpn.get()))
    }

    /// The map was asked for a page, and its entry was in RAM or not. It counts if the host asked.
    #[inline]
    pub fn note_lookup(&mut self, lpn: Lpn, is_in_ram: bool) {
        if self.cause == Cause::ReadModifyWrite {
            if !is_in_ram {
                self.completion.missing_entries.push(lpn);
            }
        } else if self.is_hosts(lpn) {
            let was_missing = take(&mut self.completion.missing_entries, lpn);
            self.note(if is_in_ram && !was_missing { Note::MappingHit } else { Note::MappingMiss });
        }
    }

    /// A page that is read was sought in RAM, where it was or not (`missing` is noted then). It
    /// counts if the host reads it.
    #[inline]
    pub fn note_buffer_read(&mut self, lpn: Lpn, missing: Option<Note>) {
        if self.cause != Cause::ReadModifyWrite {
            if self.is_hosts(lpn) {
                self.note(missing.unwrap_or(Note::BufferRead));
            }
        } else if missing.is_some() {
            self.completion.missing_pages.push(lpn);
        }
    }

    /// A page that is written was sought in RAM, where a version of it was or not.
    #[inline]
    pub fn note_buffer_write(&mut self, lpn: Lpn, is_in_ram: bool) {
        let was_missing = take(&mut self.completion.missing_pages, lpn);
        self.note(if is_in_ram && !was_missing { Note::BufferHit } else { Note::BufferMiss });
    }
}
