//! What enters the zone, and how it leaves (WAFTL algorithm 1).

use flash::{Lbn, Lpn, Page};

use super::Waftl;
use crate::api::hint::Hint;
use crate::api::request::Request;
use crate::port::cause::Cause;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::Content;
use crate::port::timing::Device;
use crate::schemes::waftl::hybrid_map::Home;

impl Waftl {
    /// The host accesses pages.
    pub(super) fn accessed(&mut self, request: &Request) {
        let map = &mut self.pages.foreign_pages;
        let geometry = *map.geometry();
        request.block_runs(&geometry).for_each(|run| map.zone.accessed(&run));
    }

    /// Has room in the zone for a page.
    pub(super) fn make_room<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        if !self.pages.foreign_pages.zone.is_full() {
            return Ok(());
        }
        if self.waits { self.migrate(flash) } else { flash.in_background(|flash| self.migrate(flash)) }
    }

    /// Appends pages that were read to the zone, clean.
    pub(super) fn cache<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        pages: Vec<(Lpn, Page<D::Data>)>,
    ) -> Result<(), FtlError> {
        flash.in_parallel(pages, |flash, (lpn, page)| {
            self.make_room(flash)?;
            let content = Content::Copy(page);
            flash.with_cause(Cause::Caching, |flash| {
                self.pages.append_to_zone(flash, (lpn, Hint::NONE), &content, false)
            })
        })?;
        self.collect_online(flash)
    }

    /// Migrates the zone, and begins a new one.
    fn migrate<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        let popular = self.pages.foreign_pages.zone.most_popular(self.popular_top);
        flash.with_cause(Cause::Merge, |flash| {
            flash.in_parallel(self.pages.foreign_pages.zone.blocks(), |flash, lbn| {
                self.migrate_block(flash, lbn, popular.contains(&lbn))
            })
        })?;
        self.pages.foreign_pages.zone.begin_anew();
        self.spent.add(self.pages.let_go_of_zone());
        self.threshold.migrated();
        self.collect_online(flash)
    }

    /// Algorithm 1 for one logical block.
    fn migrate_block<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lbn: Lbn,
        is_most_popular: bool,
    ) -> Result<(), FtlError> {
        let node = self.pages.foreign_pages.zone.node(lbn);
        let home = self.pages.foreign_pages.home(lbn);
        let becomes_block = match home {
            Home::Block(_) => node.dirty > 0,
            Home::PageMapped => false,
            Home::Absent => self.becomes_block(lbn, node.pages, is_most_popular),
        };
        if becomes_block {
            self.spent.add(self.pages.place_block(flash, lbn, None)?);
            return Ok(());
        }
        if home == Home::Absent {
            self.pages.foreign_pages.set_home(lbn, Home::PageMapped);
        }
        for (_, lpn) in self.pages.foreign_pages.pages_of(lbn) {
            if self.pages.foreign_pages.zone.is_dirty(lpn) {
                self.pages.place_page(flash, lpn)?;
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
        self.pages.trims.speak_of(self.pages.foreign_pages.pages_of(lbn).map(|(_, lpn)| lpn))
    }

    /// Forgets a page, of a logical block that is page-mapped, or of which nothing is left afterwards.
    pub(super) fn trim_page<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<(), FtlError> {
        let (lbn, _) = self.pages.foreign_pages.geometry().split_logical(lpn);
        let outside = match self.pages.foreign_pages.home(lbn) {
            Home::Absent => None,
            Home::Block(_) => self.pages.foreign_pages.in_block(&self.pages.space, lpn),
            Home::PageMapped => self.pages.unmap(flash, lpn)?,
        };
        if let Some(last) = self.pages.leave_zone(lpn).or(outside) {
            self.pages.trims.trimmed_at(lpn, last);
        }
        Ok(())
    }
}
