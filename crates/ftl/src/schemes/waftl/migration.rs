//! What enters the zone and how it leaves (WAFTL algorithm 1): into a block of its own, or page by
//! page.
//!
//! A block is put together from the newest pages of its logical block, wherever they are, and
//! counts only when it is whole; until then all that it holds is elsewhere too. So one that fails,
//! or that a power cut interrupts, is given up, and nothing has to be undone.

use flash::{Lbn, Lpn, Page, PageCopy, Pbn, Ppn};
use host::Hint;

use super::Waftl;
use crate::api::request::Request;
use crate::api::wear::{AllocRequest, Purpose};
use crate::engines::demand::machine::DemandPaged;
use crate::engines::demand::policy::DemandScheme;
use crate::engines::page_map::mapped::{COLLECTED, HOST, PageMapped};
use crate::engines::page_map::space::PageSpace;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::schemes::waftl::hybrid_map::{BlockMapping, HybridMap, ZONE, ZONE_ROLE};

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

    /// Collects while too little is free: blocks with nothing in them first, then PMBs, the one
    /// with the fewest valid pages of the die with the fewest free blocks.
    pub(super) fn collect_online<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        let [spent, others] = self.online;
        while self.pages.blocks.free() < spent
            && let Some(pbn) = self.spent.take()
        {
            let has_room = self.pages.blocks.free_on(self.pages.space.die_of(pbn)) > 0;
            if self.is_clear(pbn) || has_room && self.pages.space.is_spent(pbn) {
                flash.in_background(|flash| self.erase(flash, pbn))?;
            }
        }
        if self.pages.blocks.free() >= others || !self.pages.is_whole() {
            return Ok(());
        }
        for die in self.pages.blocks.dies_by_free() {
            while self.pages.blocks.free() < others
                && self.pages.is_whole()
                && let Some(victim) = self.pages.take_victim(die)?
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

impl Waftl {
    /// The host accesses pages.
    pub(super) fn on_accessed(&mut self, request: &Request) {
        let map = &mut self.pages.foreign_pages;
        let geometry = *map.geometry();
        request.block_runs(&geometry).for_each(|run| map.zone.on_accessed(&run));
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
        self.spent.add(self.pages.unpin_zone());
        self.threshold.on_migrated();
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
            BlockMapping::Block(_) => node.dirty > 0,
            BlockMapping::PageMapped => false,
            BlockMapping::Absent => self.becomes_block(lbn, node.pages, is_most_popular),
        };
        if becomes_block {
            self.spent.add(self.pages.place_block(flash, lbn, None)?);
            return Ok(());
        }
        if home == BlockMapping::Absent {
            self.pages.foreign_pages.set_home(lbn, BlockMapping::PageMapped);
        }
        // Lines 31 and 32: the PMT is updated once a block.
        let mut last_read = None;
        for (_, lpn) in self.pages.foreign_pages.pages_of(lbn) {
            if !self.pages.foreign_pages.zone.is_dirty(lpn) {
                self.pages.leave_zone(lpn);
                continue;
            }
            if self.updates_by_page {
                last_read = None;
            }
            self.pages.place_page(flash, lpn, &mut last_read)?;
        }
        if self.updates_by_page || self.pages.cache().batches() {
            return Ok(());
        }
        let lpns: Vec<Lpn> = self.pages.foreign_pages.pages_of(lbn).map(|(_, lpn)| lpn).collect();
        self.pages.write_back_together(flash, &lpns, last_read)
    }

    /// Whether a new logical block is mapped as a whole. One of which a trim has to be remembered
    /// is not (I8).
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

    /// Forgets a page, of a logical block that is page-mapped, or of which nothing is left
    /// afterwards.
    pub(super) fn trim_page<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<(), FtlError> {
        let (lbn, _) = self.pages.foreign_pages.geometry().split_logical(lpn);
        let outside = match self.pages.foreign_pages.home(lbn) {
            BlockMapping::Absent => None,
            BlockMapping::Block(_) => self.pages.foreign_pages.in_block(&self.pages.space, lpn),
            BlockMapping::PageMapped => self.pages.unmap(flash, lpn)?,
        };
        if let Some(last) = self.pages.leave_zone(lpn).or(outside) {
            self.pages.trims.on_trimmed_at(lpn, last);
        }
        Ok(())
    }
}

/// A page, and whether it was in the zone.
type Found<D> = (Page<<D as Device>::Data>, bool);

impl<S: DemandScheme<ForeignPages = HybridMap>> DemandPaged<S> {
    /// Appends a page with this hint to the zone. A dirty one is newer than what lies
    /// outside.
    pub fn append_to_zone<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (lpn, hint): (Lpn, Hint),
        content: &Content<D::Data>,
        dirty: bool,
    ) -> Result<(), FtlError> {
        let label = Label::new(lpn.get(), ZONE_ROLE);
        let at = loop {
            let die = self.next_die(flash, ZONE)?;
            let content = content.clone();
            if let Some(at) = self.space.program(flash, &mut self.blocks, die, (ZONE, hint), label, content)? {
                break at;
            }
        };
        if let Some(old) = self.foreign_pages.zone.append(lpn, at, dirty) {
            self.space.release(old);
        }
        Ok(())
    }

    /// The newest copy of a page is not in the zone any more.
    pub fn leave_zone(&mut self, lpn: Lpn) -> Option<Ppn> {
        let at = self.foreign_pages.zone.remove(lpn)?;
        self.space.release(at);
        Some(at)
    }

    /// Everything has left the zone: its blocks may be collected from now on. Returns them.
    pub fn unpin_zone(&mut self) -> Vec<Pbn> {
        let blocks = self.space.pinned_of(ZONE);
        for &pbn in &blocks {
            self.space.unpin(pbn);
        }
        blocks
    }

    /// Where the newest copy of a page lies outside the zone.
    pub fn find_outside<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<Option<Ppn>, FtlError> {
        match self.foreign_pages.home(self.foreign_pages.geometry().split_logical(lpn).0) {
            BlockMapping::Absent => Ok(None),
            BlockMapping::Block(_) => Ok(self.foreign_pages.in_block(&self.space, lpn)),
            BlockMapping::PageMapped => self.find(flash, lpn),
        }
    }

    /// Maps a page of a page-mapped logical block to a copy of what the zone holds of it; the
    /// translation page that was read last is not read again for that.
    pub fn place_page<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lpn: Lpn,
        last_read: &mut Option<u32>,
    ) -> Result<(), FtlError> {
        self.copy_page(flash, (HOST, lpn), last_read, |map| map.zone.at(lpn))?;
        self.leave_zone(lpn);
        Ok(())
    }

    /// Puts the newest pages of a logical block, in the zone and in its block, together in a fresh
    /// block, on this die if one is named. They leave the zone. Returns the block that they left,
    /// which may be collected then.
    pub fn place_block<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lbn: Lbn,
        mut on: Option<u32>,
    ) -> Result<Option<Pbn>, FtlError> {
        loop {
            let die = self.die_for_block(flash, on.take())?;
            let alloc = AllocRequest::of(Purpose::Merge, lbn);
            let Some(pbn) = self.space.take_block(&mut self.blocks, die, HOST, alloc) else {
                return Err(self.blocks.out_of_space("a block-mapped block"));
            };
            match self.fill_block(flash, lbn, pbn) {
                Ok(Some(pages)) => return Ok(self.put_block(lbn, pbn, pages)),
                Ok(None) => {}
                Err(error) => {
                    self.space.unpin(pbn);
                    return Err(error);
                }
            }
        }
    }

    /// Copies the newest pages of a logical block to their offsets; none if the block failed. A
    /// clean page of the zone that cannot be read is copied from the block.
    fn fill_block<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lbn: Lbn,
        pbn: Pbn,
    ) -> Result<Option<Vec<Ppn>>, FtlError> {
        let map = &self.foreign_pages;
        let newest = |lpn| map.zone.at(lpn).or_else(|| map.in_block(&self.space, lpn));
        let pages = map.pages_of(lbn).filter_map(|(offset, lpn)| Some(PageCopy { from: newest(lpn)?, offset }));
        let copies: Vec<_> = pages.collect();
        let twin = |space: &PageSpace, lpn: Lpn| {
            let is_clean = map.zone.at(lpn).is_some() && !map.zone.is_dirty(lpn);
            map.in_block(space, lpn).filter(|_| is_clean)
        };
        let is_filled = self.space.copy_block(flash, &mut self.blocks, (lbn, pbn), &copies, twin)?;
        Ok(is_filled.then(|| copies.iter().map(|copy| map.geometry().page(pbn, copy.offset)).collect()))
    }

    /// Reads the newest copy of a page for the host; tells whether it was in the zone. A clean one
    /// there that cannot be read is forgotten, since the same lies outside.
    pub fn read_newest<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<Option<Found<D>>, FtlError> {
        if let Some(at) = self.foreign_pages.zone.at(lpn) {
            match flash.read(at) {
                Err(error) if error.is_uncorrectable() && !self.foreign_pages.zone.is_dirty(lpn) => {
                    self.leave_zone(lpn)
                }
                page => return page.map(|page| Some((page, true))),
            };
        }
        let outside = self.find_outside(flash, lpn)?;
        outside.map(|at| Ok((flash.read(at)?, false))).transpose()
    }

    /// A logical block lies in a whole block from now on, and nowhere else.
    fn put_block(&mut self, lbn: Lbn, pbn: Pbn, pages: Vec<Ppn>) -> Option<Pbn> {
        let left = self.void_block(lbn);
        self.space.validate(pages);
        for (_, lpn) in self.foreign_pages.pages_of(lbn) {
            self.leave_zone(lpn);
        }
        self.foreign_pages.set_home(lbn, BlockMapping::Block(pbn));
        left
    }

    /// Nothing of what the block of a logical block holds is needed any more; returns the block, if
    /// it has one.
    pub fn void_block(&mut self, lbn: Lbn) -> Option<Pbn> {
        let BlockMapping::Block(pbn) = self.foreign_pages.home(lbn) else { return None };
        self.foreign_pages.set_home(lbn, BlockMapping::Absent);
        self.space.discard(pbn);
        Some(pbn)
    }

    /// Maps a block-mapped logical block page by page, where it lies.
    pub fn map_by_page<D: Device>(&mut self, flash: &mut FlashPort<D>, lbn: Lbn) -> Result<(), FtlError> {
        let BlockMapping::Block(pbn) = self.foreign_pages.home(lbn) else { return Ok(()) };
        for (_, lpn) in self.foreign_pages.pages_of(lbn) {
            if let Some(at) = self.foreign_pages.in_block(&self.space, lpn) {
                self.adopt(flash, lpn, at)?;
            }
        }
        self.foreign_pages.set_home(lbn, BlockMapping::PageMapped);
        self.space.unpin(pbn);
        Ok(())
    }

    /// A die with a block to spare, perhaps after collecting there: this one if it has, else the
    /// next in turn.
    fn die_for_block<D: Device>(&mut self, flash: &mut FlashPort<D>, on: Option<u32>) -> Result<u32, FtlError> {
        self.repair_before_write(flash)?;
        for turn in 0..=self.space.dies() {
            let die = match on {
                Some(die) if turn == 0 => die,
                _ => self.space.take_turn(COLLECTED),
            };
            if self.is_short(die) {
                self.refill(flash, die)?;
            }
            if !self.is_short(die) {
                return Ok(die);
            }
        }
        Err(self.blocks.out_of_space("a block-mapped block"))
    }
}
