//! A page map together with the trims that must survive a power cut.
//!
//! It says where the newest copy of each logical page lies, and what a page that has to be moved
//! becomes elsewhere: host data, a lost page if it cannot be read, or a page that says what was
//! trimmed.

use std::ops::Range;

use flash::{Lpn, Ppn, Role};

use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;
use crate::recovery::scan::{NewestCopy, NewestPages};
use crate::recovery::trims::Trims;

/// Logical to physical pages.
#[derive(Clone, Debug)]
pub(super) struct PageTable {
    map: Vec<Option<Ppn>>,
    /// Pending trims, and the pages that record trims.
    pub trims: Trims,
}

impl PageTable {
    /// Nothing is mapped.
    pub(super) fn new(logical_pages: u32) -> Self {
        Self { map: vec![None; logical_pages as usize], trims: Trims::default() }
    }

    /// For recovery: takes over what was kept.
    pub(super) fn adopt(&mut self, kept: &NewestPages, newest: &[Option<NewestCopy>]) {
        for &(ppn, tag) in &kept.pages {
            match tag.role {
                Role::Trimmed => self.trims.on_found(&tag, ppn, newest),
                _ => self.map[tag.logical as usize] = Some(ppn),
            }
        }
        kept.outdated.iter().for_each(|&lpn| self.trims.guard(lpn));
    }

    /// Where the newest copy of a page lies.
    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> Option<Ppn> {
        self.map[lpn.index()]
    }

    /// A page was written, or trimmed. Returns the page that is not needed any more.
    #[inline]
    pub(super) fn set(&mut self, lpn: Lpn, to: Option<Ppn>) -> Option<Ppn> {
        let old = std::mem::replace(&mut self.map[lpn.index()], to);
        match (old, to) {
            (Some(old), None) => self.trims.on_trimmed_at(lpn, old),
            (None, Some(_)) => return self.trims.on_overwritten(lpn),
            _ => {}
        }
        old
    }

    /// Mapped pages with their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Lpn, Ppn)> + '_ {
        self.map.iter().enumerate().filter_map(|(lpn, ppn)| ppn.map(|ppn| (Lpn::at(lpn), ppn)))
    }

    /// What a valid page becomes where it is moved to.
    pub(super) fn read_for_copy<D: Device>(
        &self,
        flash: &mut FlashPort<D>,
        from: Ppn,
    ) -> Result<(Label, Content<D::Data>), FtlError> {
        if let Some((label, version)) = self.trims.at(from) {
            return Ok((label, Content::empty(label.logical, version)));
        }
        if let Some(page) = flash.read_to_move(from)? {
            return Ok((Label::new(page.logical, Role::Collected), Content::Copy(page)));
        }
        flash.note(Note::LostPage);
        // The tag is gone, so the map is searched.
        let lost = self.iter().find(|&(_, ppn)| ppn == from).map_or(0, |(lpn, _)| lpn.get());
        Ok((Label::new(lost, Role::Lost), Content::New(D::Data::default())))
    }

    /// The runs of pending trims, each as (first page, pages), cut where the group of their pages
    /// changes.
    pub(super) fn pending_runs_within(&self, group: impl Fn(Lpn) -> u32) -> Vec<(u32, u32)> {
        let mut pieces: Vec<(u32, u32)> = Vec::new();
        for (first, extent) in self.trims.pending_runs() {
            pieces.push((first, 1));
            for lpn in first + 1..first + extent {
                match pieces.last_mut() {
                    Some((_, pages)) if group(Lpn::new(lpn - 1)) == group(Lpn::new(lpn)) => *pages += 1,
                    _ => pieces.push((lpn, 1)),
                }
            }
        }
        pieces
    }

    /// A page that [`read_for_copy`](Self::read_for_copy) read is somewhere else now.
    pub(super) fn on_moved(&mut self, label: Label, from: Ppn, to: Ppn) {
        if label.role == Role::Trimmed {
            self.trims.on_moved(from, to);
        } else {
            self.map[label.logical as usize] = Some(to);
        }
    }

    /// The last copies of trimmed pages among these, which must be replaced before they are erased,
    /// lest older ones come back (`trims.rs`); each with what takes its place.
    pub(super) fn replacements<D: Device>(
        &self,
        flash: &mut FlashPort<D>,
        pages: Range<usize>,
    ) -> Result<Vec<(Lpn, Option<u64>)>, FtlError> {
        let vanishing = self.trims.about_to_vanish(pages).into_iter();
        vanishing.map(|(copy, lpn)| Ok((lpn, flash.read_to_move(copy)?.map(|page| page.version)))).collect()
    }
}
