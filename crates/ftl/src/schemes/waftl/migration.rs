//! What enters the zone, and how it leaves (WAFTL algorithm 1).

use flash::{Lbn, Lpn, Page};

use super::Waftl;
use crate::api::hint::Hint;
use crate::api::request::Request;
use crate::port::cause::Cause;
use crate::port::error::FtlError;
use crate::port::flash_port::Media;
use crate::port::label::Content;
use crate::port::timing::Device;
use crate::schemes::waftl::hybrid_map::Home;

impl Waftl {
    /// The host accesses pages.
    pub(super) fn accessed(&mut self, request: &Request) {
        let map = &mut self.pages.guests;
        let geometry = *map.geometry();
        request.block_runs(&geometry).for_each(|run| map.zone.accessed(&run));
    }

    /// Has room in the zone for a page.
    pub(super) fn make_room<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        if !self.pages.guests.zone.is_full() {
            return Ok(());
        }
        if self.waits { self.migrate(media) } else { media.detached(|media| self.migrate(media)) }
    }

    /// Appends pages that were read to the zone, clean.
    pub(super) fn cache<D: Device>(
        &mut self,
        media: &mut Media<D>,
        pages: Vec<(Lpn, Page<D::Data>)>,
    ) -> Result<(), FtlError> {
        media.together(pages, |media, (lpn, page)| {
            self.make_room(media)?;
            let content = Content::Copy(page);
            media.because(Cause::Caching, |media| self.pages.append_to_zone(media, (lpn, Hint::NONE), &content, false))
        })?;
        self.collect_online(media)
    }

    /// Migrates the zone, and begins a new one.
    fn migrate<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        let popular = self.pages.guests.zone.most_popular(self.popular_top);
        media.because(Cause::Merge, |media| {
            media.together(self.pages.guests.zone.blocks(), |media, lbn| {
                self.migrate_block(media, lbn, popular.contains(&lbn))
            })
        })?;
        self.pages.guests.zone.begin_anew();
        self.spent.add(self.pages.let_go_of_zone());
        self.threshold.migrated();
        self.collect_online(media)
    }

    /// Algorithm 1 for one logical block.
    fn migrate_block<D: Device>(
        &mut self,
        media: &mut Media<D>,
        lbn: Lbn,
        is_most_popular: bool,
    ) -> Result<(), FtlError> {
        let node = self.pages.guests.zone.node(lbn);
        let home = self.pages.guests.home(lbn);
        let becomes_block = match home {
            Home::Block(_) => node.dirty > 0,
            Home::PageMapped => false,
            Home::Absent => self.becomes_block(lbn, node.pages, is_most_popular),
        };
        if becomes_block {
            self.spent.add(self.pages.place_block(media, lbn, None)?);
            return Ok(());
        }
        if home == Home::Absent {
            self.pages.guests.set_home(lbn, Home::PageMapped);
        }
        for (_, lpn) in self.pages.guests.pages_of(lbn) {
            if self.pages.guests.zone.is_dirty(lpn) {
                self.pages.place_page(media, lpn)?;
            } else {
                self.pages.leave_zone(lpn);
            }
        }
        Ok(())
    }

    /// Whether a new logical block is mapped as a whole. One of which a trim has to be remembered is not (I8).
    fn becomes_block(&mut self, lbn: Lbn, pages: u32, is_most_popular: bool) -> bool {
        if is_most_popular || self.is_trimmed(lbn) {
            return false;
        }
        self.threshold.placed(pages);
        pages >= self.threshold.pages()
    }

    /// Whether a trim of a page of a logical block is pending or written.
    pub(super) fn is_trimmed(&self, lbn: Lbn) -> bool {
        self.pages.trims.speak_of(self.pages.guests.pages_of(lbn).map(|(_, lpn)| lpn))
    }

    /// Forgets a page, of a logical block that is page-mapped, or of which nothing is left afterwards.
    pub(super) fn trim_page<D: Device>(&mut self, media: &mut Media<D>, lpn: Lpn) -> Result<(), FtlError> {
        let (lbn, _) = self.pages.guests.geometry().split_logical(lpn);
        let outside = match self.pages.guests.home(lbn) {
            Home::Absent => None,
            Home::Block(_) => self.pages.guests.in_block(&self.pages.space, lpn),
            Home::PageMapped => self.pages.unmap(media, lpn)?,
        };
        if let Some(last) = self.pages.leave_zone(lpn).or(outside) {
            self.pages.trims.trimmed_at(lpn, last);
        }
        Ok(())
    }
}
