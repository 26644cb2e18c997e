//! Physical space under a page map: pages are placed on open blocks, die by die, and whole blocks come back by collection.
//!
//! A *stream* is a kind of content that gets blocks of its own (host writes, collected pages, translation pages …). Each
//! stream has at most one open block a die and visits the dies in turn, channels first. The space knows which pages are
//! valid and which closed blocks are worth collecting; what a page means, and moving it, is the scheme's.
//!
//! **Why a placement never fails.** Each die keeps a last free block that only its own collection may open
//! ([`PageSpace::program`]). Collecting a block moves at most one block's worth of pages, so it needs at most that one and
//! returns one. As long as the valid pages fit into [`PageSpace::capacity_pages`], some die has either room in an open block
//! or a closed block with an invalid page: otherwise every die were full of valid pages beyond that number.

use std::ops::Range;

use flash::{Geometry, Pbn, Ppn, Tag};

use crate::parts::ledger::Ledger;
use crate::parts::pool::{FreePool, channels_first};
use crate::parts::scan::Scanned;
use crate::parts::summary::Summaries;
use crate::parts::victims::{Policy, Victims};
use crate::{BrokenInvariant, ConfigError, Content, Device, Footprint, FtlError, Label, Layout, Media, Spares};

/// Index of a stream of a space.
pub type Stream = usize;

/// What a scheme asks of its space.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Streams.
    pub streams: usize,
    /// Victims.
    pub policy: Policy,
    /// Free blocks of a die at or below which it collects, at least 1.
    pub threshold: usize,
    /// The most pages that are ever valid at once.
    pub valid: u64,
    /// What filled blocks end with.
    pub summaries: Summaries,
}

/// An open block: its next page and the first page after it.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    next: u32,
    end: u32,
}

/// Blocks, open blocks and valid pages of a page-mapped device.
#[derive(Clone, Debug)]
pub struct PageSpace {
    geometry: Geometry,
    pool: FreePool,
    ledger: Ledger,
    victims: Victims,
    open: Vec<Open>,
    stream_of: Vec<u8>,
    order: Vec<u32>,
    turns: Vec<usize>,
    threshold: usize,
    /// Blocks with a page that could not be programmed, to be emptied and marked bad, each with what of it is still erased.
    failing: Vec<(Pbn, Open)>,
    spares: Spares,
    summaries: Summaries,
    /// Whether the power was cut before: then blocks may have failed of which nothing is known any more.
    was_recovered: bool,
}

impl PageSpace {
    /// An erased space for up to `valid` valid pages. A die reclaims blocks until more than `threshold` (at least 1) are
    /// free before it opens one. A layout in which the pages might not fit is refused, saying how much to spare.
    pub fn format(layout: &Layout, scheme: &str, needs: Needs) -> Result<Self, ConfigError> {
        let Needs { streams, policy, threshold, summaries, .. } = needs;
        let spares = Self::require(layout, &needs, scheme)?;
        let geometry = layout.geometry;
        Ok(Self {
            geometry,
            pool: FreePool::new(geometry, &layout.good_blocks),
            ledger: Ledger::new(geometry),
            victims: Victims::new(geometry, summaries.content_pages(), policy, layout.seed),
            open: vec![Open::default(); streams * geometry.dies() as usize],
            stream_of: vec![0; geometry.blocks() as usize],
            order: channels_first(&geometry),
            turns: vec![0; streams],
            threshold: threshold.max(1),
            failing: Vec::new(),
            spares,
            summaries,
            was_recovered: false,
        })
    }

    /// What the device holds: read from the summaries of filled blocks if they have any.
    pub fn scan<D: Device>(&self, media: &mut Media<D>, layout: &Layout) -> Result<Scanned, FtlError> {
        Scanned::with(media, layout, &self.summaries)
    }

    /// The space of a device that was used before: these pages are valid, each with its block's stream; blocks without any
    /// are erased, whatever they look like. Blocks with some are closed: their erased pages may be unstable.
    pub fn recover<D: Device>(
        mut self,
        media: &mut Media<D>,
        layout: &Layout,
        valid: impl IntoIterator<Item = (Ppn, Stream)>,
    ) -> Result<Self, FtlError> {
        let mut used = vec![false; self.geometry.blocks() as usize];
        for (ppn, stream) in valid {
            let pbn = self.geometry.block_of(ppn);
            self.ledger.validate(ppn, pbn);
            self.stream_of[pbn.index()] = stream as u8;
            used[pbn.index()] = true;
        }
        self.pool = FreePool::empty(self.geometry, &layout.good_blocks);
        self.was_recovered = true;
        media.together(&layout.good_blocks, |media, &pbn| {
            if used[pbn.index()] {
                self.victims.close(pbn, self.ledger.valid_pages(pbn));
                return Ok(());
            }
            self.reclaim(media, pbn, false)
        })?;
        Ok(self)
    }

    /// Valid pages that a space is sure to hold: each die sets aside its free blocks and one open block a stream.
    pub fn capacity_pages(layout: &Layout, needs: &Needs) -> u64 {
        let mut good = vec![0_u64; layout.geometry.dies() as usize];
        for &pbn in &layout.good_blocks {
            good[layout.geometry.die_of(pbn) as usize] += 1;
        }
        let set_aside = (needs.streams + needs.threshold.max(1)) as u64;
        let usable: u64 = good.iter().map(|blocks| blocks.saturating_sub(set_aside)).sum();
        usable * u64::from(needs.summaries.content_pages())
    }

    /// Refuses a layout whose valid pages might not fit; otherwise tells how many blocks may fail.
    fn require(layout: &Layout, needs: &Needs, scheme: &str) -> Result<Spares, ConfigError> {
        let &Needs { streams, threshold, valid, summaries, .. } = needs;
        let capacity = Self::capacity_pages(layout, needs);
        let content_pages = u64::from(summaries.content_pages());
        if valid <= capacity {
            let total = (capacity - valid) / content_pages;
            return Ok(Spares { total: total as u32, used: 0 });
        }
        if layout.in_use {
            return Ok(Spares::READ_ONLY);
        }
        let good = layout.good_blocks.len() as u64 * content_pages;
        Err(ConfigError(format!(
            "{scheme} needs {valid} pages for data and maps, but of the device's {good} usable pages only {capacity} are left after \
             each of {} dies keeps {streams} open and {threshold} free blocks; raise device.spare, use more blocks per plane or fewer dies",
            layout.geometry.dies()
        )))
    }

    /// Dies of the device.
    pub fn dies(&self) -> u32 {
        self.order.len() as u32
    }

    /// Erase blocks of one die, bad ones included.
    pub fn blocks_per_die(&self) -> u32 {
        self.geometry.blocks_per_die()
    }

    /// The next die in turn for a stream.
    #[inline]
    pub fn take_turn(&mut self, stream: Stream) -> u32 {
        let turn = &mut self.turns[stream];
        let die = self.order[*turn];
        *turn += 1;
        if *turn == self.order.len() {
            *turn = 0;
        }
        die
    }

    /// Whether a die has an open block with room for a stream.
    #[inline]
    pub fn has_room(&self, die: u32, stream: Stream) -> bool {
        let open = self.open[stream * self.order.len() + die as usize];
        open.next < open.end
    }

    /// Whether a die should collect before it opens another block.
    #[inline]
    pub fn is_short(&self, die: u32) -> bool {
        self.pool.len_on(die) <= self.threshold + self.margin()
    }

    /// Free blocks kept beyond the threshold for the case that an erase fails, once something has failed. Where there are several
    /// dies, another one's reserve serves as well.
    #[inline]
    fn margin(&self) -> usize {
        let Spares { total, used } = self.spares;
        usize::from(used > 0 && used < total && self.order.len() == 1)
    }

    /// Whether a die has free blocks beyond the one that its collection needs.
    pub fn can_lend(&self, die: u32) -> bool {
        self.pool.len_on(die) > 1
    }

    /// Places one page of a stream on a die, opening any free block there, and marks it valid; tells whether that fills the block.
    #[inline]
    fn place_on(&mut self, die: u32, stream: Stream) -> Option<(Ppn, bool)> {
        if !self.has_room(die, stream) {
            let pbn = self.pool.take_on(die)?;
            self.open_block(pbn, stream);
        }
        let open = &mut self.open[stream * self.order.len() + die as usize];
        let ppn = Ppn::new(open.next);
        open.next += 1;
        let filled = open.next == open.end;
        self.ledger.validate(ppn, self.geometry.block_of(ppn));
        Some((ppn, filled))
    }

    /// Closes a block whose last page has been programmed.
    #[inline(never)]
    fn close<D: Device>(&mut self, media: &mut Media<D>, pbn: Pbn) -> Result<(), FtlError> {
        match self.summaries.write(media, pbn) {
            Ok(()) => self.victims.close(pbn, self.ledger.valid_pages(pbn)),
            Err(error) if error.is_program_failure() => {
                self.failing.push((pbn, Open::default()));
                self.spares.use_one();
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Makes an erased block, which is not in the pool, the open block of a stream on its die, and returns the die.
    pub fn open_block(&mut self, pbn: Pbn, stream: Stream) -> u32 {
        let next = self.geometry.page(pbn, 0).get();
        let die = self.geometry.die_of(pbn);
        self.open[stream * self.order.len() + die as usize] = Open { next, end: next + self.summaries.content_pages() };
        self.stream_of[pbn.index()] = stream as u8;
        die
    }

    /// The channel of a die.
    pub fn channel_of_die(&self, die: u32) -> u32 {
        self.geometry.channel_of(die)
    }

    /// The channel of a page.
    pub fn channel_of(&self, ppn: Ppn) -> u32 {
        self.geometry.channel_of(self.geometry.die_of(self.geometry.block_of(ppn)))
    }

    /// The die of a block.
    pub fn die_of(&self, pbn: Pbn) -> u32 {
        self.geometry.die_of(pbn)
    }

    /// Free blocks of one die.
    pub fn free_on(&self, die: u32) -> usize {
        self.pool.len_on(die)
    }

    /// Asks for the memory that releasing a page touches.
    #[inline]
    pub fn prefetch(&self, ppn: Ppn) {
        self.ledger.prefetch(ppn);
    }

    /// A page's content is superseded.
    #[inline]
    pub fn release(&mut self, ppn: Ppn) {
        let pbn = self.ledger.invalidate(ppn);
        self.victims.page_invalidated(pbn, self.ledger.valid_pages(pbn));
    }

    /// Takes the next block to collect on a die, if collecting gains anything there: the policy's choice, unless blocks that
    /// failed have cost a die its last free block; then the one with the least to move, for which there may still be room.
    pub fn take_victim(&mut self, die: u32) -> Option<Pbn> {
        if self.has_lost_reserve() {
            return self.take_fewest_valid_on(die);
        }
        self.victims.take(die, &self.ledger)
    }

    /// Whether blocks that failed have cost a die its last free block: pages that had to be moved off another die took it, or
    /// it could not be erased.
    #[inline]
    pub fn has_lost_reserve(&self) -> bool {
        self.pool.has_emptied_die() && (self.spares.used > 0 || self.was_recovered)
    }

    /// Takes the block whose collection gives a die its reserve back, if there is room for what has to be moved to `stream`, where
    /// moving a page takes up to `cost` programs: the next failure would else find no place anywhere.
    #[cold]
    pub fn take_victim_for_reserve(&mut self, stream: Stream, cost: u32) -> Option<(u32, Pbn)> {
        let open_pages = |die: u32| {
            let open = self.open[stream * self.order.len() + die as usize];
            open.end - open.next + self.pool.len_on(die) as u32 * self.summaries.content_pages()
        };
        let room: u32 = (0..self.dies()).map(open_pages).sum();
        for die in (0..self.dies()).filter(|&die| self.pool.len_on(die) == 0).collect::<Vec<_>>() {
            if let Some(victim) = self.take_fewest_valid_on(die) {
                if self.ledger.valid_pages(victim) * cost <= room {
                    return Some((die, victim));
                }
                self.victims.close(victim, self.ledger.valid_pages(victim));
            }
        }
        None
    }

    /// Takes the closed block of a stream with the fewest valid pages, if collecting it gains anything. Looks at every
    /// block: for emergencies.
    pub fn take_fewest_valid(&mut self, stream: Stream) -> Option<Pbn> {
        self.take_fewest(|space, pbn| space.stream_of(pbn) == stream)
    }

    /// Takes the closed block of a die with the fewest valid pages, as [`take_fewest_valid`](Self::take_fewest_valid) does.
    pub fn take_fewest_valid_on(&mut self, die: u32) -> Option<Pbn> {
        self.take_fewest(|space, pbn| space.die_of(pbn) == die)
    }

    fn take_fewest(&mut self, among: impl Fn(&Self, Pbn) -> bool) -> Option<Pbn> {
        let block = (0..self.geometry.blocks())
            .map(Pbn::new)
            .filter(|&pbn| self.victims.contains(pbn) && among(self, pbn))
            .min_by_key(|&pbn| self.ledger.valid_pages(pbn))?;
        if self.ledger.valid_pages(block) == self.summaries.content_pages() {
            return None;
        }
        self.victims.remove(block, self.ledger.valid_pages(block));
        Some(block)
    }

    /// The valid pages of a block, in order.
    pub fn list_valid(&self, pbn: Pbn, into: &mut Vec<Ppn>) {
        into.clear();
        self.ledger.list_valid(pbn, into);
    }

    /// The pages of a block, as indices.
    pub fn page_indices(&self, pbn: Pbn) -> Range<usize> {
        self.geometry.page_indices(pbn)
    }

    /// The stream whose content a block holds.
    pub fn stream_of(&self, pbn: Pbn) -> Stream {
        self.stream_of[pbn.index()] as usize
    }

    /// Programs a page of a stream on a die, opening any free block there. None if the page failed: then its block takes no
    /// more pages and waits to be emptied.
    #[inline]
    pub fn program<D: Device>(
        &mut self,
        media: &mut Media<D>,
        die: u32,
        stream: Stream,
        label: Label,
        content: Content<D::Data>,
    ) -> Result<Option<Ppn>, FtlError> {
        let Some((to, filled)) = self.place_on(die, stream) else {
            return Err(FtlError::OutOfSpace { wanted: "a page" });
        };
        match media.put(to, label, content) {
            Ok(()) => {
                if filled {
                    self.close(media, self.geometry.block_of(to))?;
                }
                Ok(Some(to))
            }
            Err(error) if error.is_program_failure() => {
                self.give_up(to, stream);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Programs a page that has to be moved off a die: there if possible, else where there is room; at worst in what is left of
    /// a failing block, which is better than not at all.
    pub fn program_moved<D: Device>(
        &mut self,
        media: &mut Media<D>,
        die: u32,
        stream: Stream,
        label: Label,
        content: &Content<D::Data>,
    ) -> Result<Ppn, FtlError> {
        loop {
            let has_place = |die: u32| self.has_room(die, stream) || self.pool.len_on(die) > 0;
            let refuge = if has_place(die) { Some(die) } else { (0..self.dies()).find(|&die| has_place(die)) };
            let Some(refuge) = refuge else { return self.program_in_failing(media, stream, label, content) };
            if let Some(to) = self.program(media, refuge, stream, label, content.clone())? {
                return Ok(to);
            }
        }
    }

    #[cold]
    fn program_in_failing<D: Device>(
        &mut self,
        media: &mut Media<D>,
        stream: Stream,
        label: Label,
        content: &Content<D::Data>,
    ) -> Result<Ppn, FtlError> {
        for (pbn, open) in &mut self.failing {
            while open.next < open.end && self.stream_of[pbn.index()] as usize == stream {
                let to = Ppn::new(open.next);
                open.next += 1;
                match media.put(to, label, content.clone()) {
                    Ok(()) => {
                        self.ledger.validate(to, *pbn);
                        return Ok(to);
                    }
                    Err(error) if error.is_program_failure() => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Err(self.out_of_space("a page that has to be moved"))
    }

    #[cold]
    fn give_up(&mut self, ppn: Ppn, stream: Stream) {
        let pbn = self.ledger.invalidate(ppn);
        let open = &mut self.open[stream * self.order.len() + self.geometry.die_of(pbn) as usize];
        self.failing.push((pbn, std::mem::take(open)));
        self.spares.use_one();
    }

    /// Whether blocks wait to be emptied because a page of theirs failed.
    #[inline]
    pub fn has_failing(&self) -> bool {
        !self.failing.is_empty()
    }

    /// The dies on which blocks wait to be emptied.
    pub fn failing_dies(&self) -> Vec<u32> {
        self.failing.iter().map(|&(pbn, _)| self.die_of(pbn)).collect()
    }

    /// Takes a block that waits to be emptied on a die. That takes a free block more than the die's collection needs.
    pub fn take_failing(&mut self, die: u32) -> Option<Pbn> {
        let at = self.failing.iter().position(|&(pbn, _)| self.geometry.die_of(pbn) == die)?;
        Some(self.failing.swap_remove(at).0)
    }

    /// A block could not be emptied further than this: what was moved is not needed here any more.
    #[cold]
    pub fn put_back(&mut self, pbn: Pbn, moved: &[Ppn], fails: bool) {
        for &ppn in moved {
            self.ledger.invalidate(ppn);
        }
        if fails {
            self.failing.push((pbn, Open::default()));
        } else {
            self.victims.close(pbn, self.ledger.valid_pages(pbn));
        }
    }

    /// Nothing could be placed: because too many blocks have failed, or too many pages at once while a block was collected
    /// (then the spares that are left are of no use), or because of a bug.
    pub fn out_of_space(&mut self, wanted: &'static str) -> FtlError {
        if self.spares.used == 0 && self.failing.is_empty() && !self.was_recovered {
            return FtlError::OutOfSpace { wanted };
        }
        self.spares.used = self.spares.used.max(self.spares.total + 1);
        FtlError::ReadOnly { spares: self.spares.total }
    }

    /// How far the device is from being read-only.
    #[inline]
    pub fn spares(&self) -> Spares {
        self.spares
    }

    /// A victim's pages have all been placed elsewhere: erases it and returns it to the pool; marks it bad if that fails, or
    /// if it was emptied because it fails.
    pub fn reclaim<D: Device>(&mut self, media: &mut Media<D>, pbn: Pbn, fails: bool) -> Result<(), FtlError> {
        self.ledger.clear_block(pbn);
        match if fails { Ok(false) } else { media.erase(pbn).map(|()| true) } {
            Ok(true) => self.pool.put(pbn),
            Ok(false) => media.retire(pbn),
            Err(error) if error.is_erase_failure() => {
                media.retire(pbn);
                self.spares.use_one();
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Takes a free block out of the pool, for a scheme that keeps one aside.
    pub fn set_aside(&mut self, die: u32) -> Option<Pbn> {
        self.pool.take_on(die)
    }

    /// Free blocks of the device.
    pub fn free_blocks(&self) -> usize {
        self.pool.len()
    }

    /// Whether a page holds the newest copy of something.
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.ledger.is_valid(ppn)
    }

    /// Valid pages of the device.
    pub fn valid_pages(&self) -> u64 {
        (0..self.geometry.blocks()).map(|block| u64::from(self.ledger.valid_pages(Pbn::new(block)))).sum()
    }

    /// Adds what summaries take, if there are any: RAM for the tags of open blocks, flash for the summaries of all.
    pub fn add_summaries(&self, footprint: Footprint) -> Footprint {
        if !self.summaries.are_written() {
            return footprint;
        }
        let tags = self.open.len() as u64 * u64::from(self.summaries.content_pages());
        let pages = u64::from(self.geometry.blocks()) * u64::from(self.summaries.pages());
        let page_bytes = u64::from(self.geometry.page_size_bytes());
        footprint.with("block summaries", tags * Tag::HEAD_BYTES as u64, pages * page_bytes)
    }

    /// Checks that free blocks are erased and hold nothing valid, that every valid page is programmed, and that summaries are true.
    pub fn check<D: Device>(&self, media: &Media<D>, name: &'static str) -> Result<(), BrokenInvariant> {
        for pbn in self.pool.iter() {
            let clean =
                media.device().next_page(pbn) == 0 && self.ledger.valid_pages(pbn) == 0 && !self.victims.contains(pbn);
            BrokenInvariant::unless(clean, name, || format!("{pbn} is in the free pool but in use"))?;
        }
        let mut pages = Vec::new();
        for pbn in (0..self.geometry.blocks()).map(Pbn::new) {
            self.summaries.check(media, pbn, name)?;
            self.list_valid(pbn, &mut pages);
            BrokenInvariant::unless(pages.len() as u32 == self.ledger.valid_pages(pbn), name, || {
                format!("{pbn} counts {} valid pages, but {} are marked", self.ledger.valid_pages(pbn), pages.len())
            })?;
            for &ppn in &pages {
                BrokenInvariant::unless(media.device().peek(ppn).is_some(), name, || {
                    format!("{ppn} is valid but erased")
                })?;
            }
        }
        Ok(())
    }
}
