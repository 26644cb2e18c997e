//! Physical space under a page map: pages are placed on open blocks, die by die, and whole blocks
//! come back by collection.
//!
//! A *stream* is a kind of content that gets blocks of its own (host writes, collected pages,
//! translation pages …). Each stream has at most one open block a die and visits the dies in turn,
//! channels first. Where the wear policy moves blocks, what it moves is a stream, too: content that
//! rests shares no block with what is collected. The space knows which pages are valid and which
//! closed blocks are worth collecting; what a page means, and moving it, is the scheme's.
//!
//! **Why a placement never fails.** Each die keeps a last free block that only its own collection
//! may open ([`PageSpace::program`]). Collecting a block moves at most one block's worth of pages,
//! so it needs at most that one and returns one. Where the pages of a block go to several streams,
//! the caller ensures that the die has a free block for each of them that lacks room
//! (`PageMapped::blocks_to_empty`), or the streams are *soft*: a page whose stream lacks room joins
//! another of them rather than opening the last free block (`soft.rs`). As long as the valid pages
//! fit into `PageSpace::capacity_pages`, some die has either room in an open block or a closed
//! block with an invalid page: otherwise every die were full of valid pages beyond that number. A
//! collection whose victim cannot be erased returns none, so a device of a single die keeps one
//! free block more while it has spares (`failing.rs`).
//!
//! `failing.rs` copes with blocks that fail, `filling.rs` with pages that a power cut takes,
//! `pinned.rs` with blocks that nobody collects, `hands.rs` with those that are emptied step by
//! step, `facts.rs` tells about all of them.

mod capacity;
mod counting;
mod facts;
mod failing;
mod filling;
mod hands;
mod pinned;
mod pslc;
mod runs;
mod soft;
mod turns;

use std::collections::BTreeSet;
use std::ops::Range;

use flash::{Exposure, Flash, Geometry, Pbn, Ppn};
use host::Hint;

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter};
use crate::api::wear::{AllocRequest, BlockUse, Purpose};
use crate::blocks::ledger::Ledger;
use crate::blocks::manager::BlockManager;
use crate::blocks::pool::channels_first;
use crate::blocks::victims::{CandidateFacts, Victims};
use crate::engines::page_map::by_class::ByClass;
use crate::port::device::Device;
use crate::port::error::{ConfigError, FtlError};
use crate::port::flash_port::{FlashPort, PendingEnd};
use crate::port::label::{Content, Label};
use crate::recovery::scan::DeviceScan;
use crate::recovery::summary::Summaries;

pub use crate::engines::page_map::needs::{ClassNeeds, PslcNeeds, SpaceNeeds};

/// Index of a stream of a space.
pub type Stream = usize;

/// The stream of what the host writes.
pub const HOST: Stream = 0;

/// The stream of what is collected, of schemes that keep it apart.
pub const COLLECTED: Stream = 1;

/// When a die collects.
pub const GC_THRESHOLD: Parameter = Parameter {
    name: "gc_threshold",
    kind: Kind::Integer { min: 1, max: 1 << 20 },
    default: "1",
    meaning: "Free blocks of a die at or below which it collects before opening another; more leaves less room for invalid pages, and a wear \
              policy more free blocks to choose from. On a single die 1 means 2 as long as blocks may still fail: an erase that does leaves no \
              place for what the next collection moves.",
    source: "ftlkit",
};

/// The stream of blocks in pSLC mode.
#[derive(Clone, Debug)]
struct PslcStream {
    stream: Stream,
    pages: u32,
    statics: BTreeSet<Pbn>,
}

/// An open block: its next page and the first page after it.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    next: u32,
    end: u32,
}

impl Open {
    /// Whether it is a block with these pages, and has room.
    fn is_in(self, pages: Range<usize>) -> bool {
        self.next < self.end && pages.contains(&(self.next as usize))
    }
}

/// What a die has in hand, where blocks are emptied step by step.
#[derive(Clone, Copy, Debug)]
struct Hand {
    pbn: Option<Pbn>,
    /// Valid pages of the block when it was taken in hand.
    valid: u32,
    /// Pages that the host has written on the die since.
    written: u32,
    /// Pages of the host's until it is looked at again.
    rest: u32,
    /// The end of the last step on the die.
    stepped: PendingEnd,
}

/// Open blocks and valid pages of a page-mapped device.
#[derive(Clone, Debug)]
pub struct PageSpace {
    geometry: Geometry,
    ledger: Ledger,
    victims: Victims,
    streams: Vec<Purpose>,
    open: Vec<Open>,
    stream_of: Vec<u8>,
    /// The class of each stream.
    classes: Vec<Option<usize>>,
    /// Streams of which one may take a page of another, in the order of likeness.
    soft: Vec<Stream>,
    /// Pages that the host has written.
    clock: u64,
    /// When each block was opened, by that clock.
    opened: Vec<u64>,
    by_class: Option<Box<ByClass>>,
    order: Vec<u32>,
    turns: Vec<usize>,
    /// Pages that each stream has placed on the die of its turn beside the first one.
    stays: Vec<u32>,
    /// Pages that lie in one page of the flash.
    units_per_page: u32,
    threshold: usize,
    /// Blocks with a page that could not be programmed, to be emptied and marked bad, each with
    /// what of it is still erased.
    failing: Vec<(Pbn, Open)>,
    /// The stream whose blocks are pinned as soon as they are filled.
    pinned_stream: Option<Stream>,
    /// Blocks in use that nobody collects: the pinned ones.
    pinned: BTreeSet<Pbn>,
    summaries: Summaries,
    pslc: Option<PslcStream>,
    /// Pages by which a collection at most fills up the block to which it moves pages.
    padding: u32,
    /// The most pages of a block that a power cut may take.
    exposed_in_block: u32,
    /// What each die has in hand; nothing where collections are whole.
    hands: Vec<Hand>,
    /// The fewest pages of a step: those that are programmed at once.
    least_step: u32,
    /// Pages of the step in hand.
    stepping: Vec<Ppn>,
}

impl PageSpace {
    /// An erased space for up to `valid` valid pages, and the owner of its blocks. A die reclaims
    /// blocks until more than `threshold` (at least 1) are free before it opens one. A layout in
    /// which the pages might not fit is refused, saying how much to spare.
    pub fn format(layout: &Layout, scheme: &str, needs: SpaceNeeds) -> Result<(Self, BlockManager), ConfigError> {
        let SpaceNeeds { policy, threshold, summaries, .. } = needs;
        debug_assert!(!needs.streams.is_empty(), "{scheme} has no stream, and so no block for any page");
        let levelled = layout.wear_policy().moves_blocks().then_some(Purpose::Levelled);
        let cached = needs.pslc.map(|_| Purpose::Data);
        let streams: Vec<_> =
            needs.streams.iter().chain(needs.classes.between).copied().chain(cached).chain(levelled).collect();
        needs.require_pslc(layout, scheme)?;
        let spares = Self::require(layout, &needs, levelled.is_some(), scheme)?;
        let geometry = layout.geometry;
        let space = Self {
            geometry,
            ledger: Ledger::new(geometry),
            victims: Victims::new(geometry, needs.dense_pages(layout), policy, layout.seed)?,
            open: vec![Open::default(); streams.len() * geometry.dies() as usize],
            stream_of: vec![0; geometry.blocks() as usize],
            classes: needs.class_of_streams(streams.len()),
            soft: needs.soft_streams(),
            clock: 0,
            opened: vec![0; geometry.blocks() as usize],
            by_class: ByClass::new(&needs.classes, &needs.class_of_streams(streams.len()), &streams, layout),
            order: channels_first(&geometry),
            turns: vec![0; streams.len()],
            stays: vec![0; streams.len()],
            units_per_page: layout.units_per_page,
            streams,
            threshold: threshold.max(1) + needs.free_for_classes(),
            failing: Vec::new(),
            pinned_stream: None,
            pinned: BTreeSet::new(),
            summaries,
            pslc: needs.pslc_stream(layout),
            padding: SpaceNeeds::padding(layout),
            exposed_in_block: layout.exposure.as_ref().map_or(0, Exposure::most_pages),
            hands: needs.nothing_in_hand(layout),
            least_step: needs.least_step.unwrap_or(1),
            stepping: Vec::new(),
        };
        Ok((space, BlockManager::new(layout, spares).staying_on_die()))
    }

    /// What the device holds: read from the summaries of filled blocks if they have any.
    pub fn scan<D: Device>(&self, flash: &mut FlashPort<D>, layout: &Layout) -> Result<DeviceScan, FtlError> {
        DeviceScan::with(flash, layout, &self.summaries)
    }

    /// Makes a fresh space that of a device which was used before: these pages are valid, each with
    /// its block's stream; blocks without any are erased, whatever they look like. Blocks with some
    /// are closed: their erased pages may be unstable.
    pub fn take_over<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        layout: &Layout,
        valid: impl IntoIterator<Item = (Ppn, Stream)>,
    ) -> Result<(), FtlError> {
        let mut used = vec![false; self.geometry.blocks() as usize];
        for (ppn, stream) in valid {
            let pbn = self.geometry.block_of(ppn);
            debug_assert!(stream < self.streams.len(), "{ppn} is of stream {stream}, which there is not");
            self.ledger.validate(ppn, pbn);
            self.stream_of[pbn.index()] = stream as u8;
            used[pbn.index()] = true;
        }
        blocks.nothing_free(flash, layout);
        flash.in_parallel(&layout.good_blocks, |flash, &pbn| {
            if used[pbn.index()] {
                blocks.adopt(pbn, AllocRequest::new(self.streams[self.stream_of(pbn)]));
                self.is_no_static(pbn, self.stream_of(pbn));
                self.rest(pbn);
                return Ok(());
            }
            blocks.give_back(flash, pbn)
        })
    }

    /// Whether a die has an open block with room for a stream.
    #[inline]
    pub fn has_room(&self, die: u32, stream: Stream) -> bool {
        debug_assert!(stream < self.streams.len(), "there is no stream {stream} of {}", self.streams.len());
        debug_assert!((die as usize) < self.order.len(), "there is no die {die} of {}", self.order.len());
        let open = self.open[stream * self.order.len() + die as usize];
        open.next < open.end
    }

    /// Pages for which a die's open block of a stream has room.
    pub fn open_pages(&self, die: u32, stream: Stream) -> u32 {
        let open = self.open[stream * self.order.len() + die as usize];
        debug_assert!(open.next <= open.end, "stream {stream} on die {die} goes on at {} of {}", open.next, open.end);
        open.end - open.next
    }

    /// The page that comes next in a die's open block of a stream, which has room.
    pub(super) fn next_page(&self, die: u32, stream: Stream) -> Ppn {
        debug_assert!(self.has_room(die, stream), "stream {stream} on die {die} has no next page");
        Ppn::new(self.open[stream * self.order.len() + die as usize].next)
    }

    /// The next pages of a die's open block of a stream are taken: they are valid.
    pub(super) fn take_run(&mut self, die: u32, stream: Stream, pages: u32) {
        debug_assert!(pages <= self.open_pages(die, stream), "stream {stream} on die {die} has no {pages} pages");
        let open = &mut self.open[stream * self.order.len() + die as usize];
        let first = Ppn::new(open.next);
        open.next += pages;
        self.ledger.validate_run(first, pages, self.geometry.block_of(first));
    }

    /// Closes the block of pages that were taken so and programmed, if they filled it.
    pub(super) fn close_if_full<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        (die, stream): (u32, Stream),
        pbn: Pbn,
    ) -> Result<(), FtlError> {
        if self.has_room(die, stream) { Ok(()) } else { self.close(flash, blocks, pbn) }
    }

    /// Whether this many pages of a stream, moved out of a block, open a free block of its die. The
    /// block itself takes none, should it be open.
    pub fn opens_a_block(&self, out_of: Pbn, stream: Stream, pages: u32) -> bool {
        let die = self.die_of(out_of);
        debug_assert!(pages <= self.content_pages(), "{out_of} has {pages} pages for stream {stream}");
        let opens = |&stream: &Stream| {
            let next = self.open[stream * self.order.len() + die as usize].next as usize;
            let is_itself = self.page_indices(out_of).contains(&next);
            pages > if is_itself { 0 } else { self.open_pages(die, stream) }
        };
        if self.is_soft(stream) { self.soft.iter().any(opens) } else { opens(&stream) }
    }

    /// Whether a die should collect before it opens another block.
    #[inline]
    pub fn is_short(&self, blocks: &BlockManager, die: u32) -> bool {
        blocks.free_on(die) <= self.threshold + self.margin(blocks)
    }

    /// Whether a die has less than this many free blocks more than those at which it should
    /// collect.
    pub fn is_short_of(&self, blocks: &BlockManager, die: u32, more: usize) -> bool {
        blocks.free_on(die) < self.threshold + self.margin(blocks) + more
    }

    /// Places one page of a stream with this hint on a die, opening any free block
    /// there, and marks it valid; tells whether that fills the block.
    #[inline]
    fn place_on(
        &mut self,
        blocks: &mut BlockManager,
        die: u32,
        (mut stream, hint): (Stream, Hint),
    ) -> Option<(Ppn, bool)> {
        if !self.has_room(die, stream) {
            stream = self.find_room(blocks, die, stream, hint)?;
        }
        let open = &mut self.open[stream * self.order.len() + die as usize];
        let ppn = Ppn::new(open.next);
        open.next += 1;
        let filled = open.next == open.end;
        debug_assert_eq!(self.geometry.die_of(self.geometry.block_of(ppn)), die, "{ppn} is placed on another die");
        self.ledger.validate(ppn, self.geometry.block_of(ppn));
        Some((ppn, filled))
    }

    /// Opens a free block of a die for a stream, of whose first page the host says this; a soft one
    /// finds room in another rather than take the last free block. Returns the stream with room.
    #[inline(never)]
    fn find_room(&mut self, blocks: &mut BlockManager, die: u32, stream: Stream, hint: Hint) -> Option<Stream> {
        if blocks.free_on(die) <= 1
            && let Some(other) = self.soft_room(die, stream)
        {
            return Some(other);
        }
        let pbn = blocks.take_on(die, AllocRequest::new(self.streams[stream]).hinted(hint))?;
        debug_assert_eq!(self.die_of(pbn), die, "{pbn} is opened on another die");
        self.open_block(pbn, stream);
        Some(stream)
    }

    /// Closes a block whose last page has been programmed.
    #[inline(never)]
    fn close<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        pbn: Pbn,
    ) -> Result<(), FtlError> {
        debug_assert!(!self.victims.contains(pbn) && !self.is_pinned(pbn), "{pbn} is closed twice");
        debug_assert!(!self.is_open(pbn), "{pbn} is closed, and takes pages of stream {}", self.stream_of(pbn));
        if self.pslc_stream() == Some(self.stream_of(pbn)) {
            // Such a block ends without a summary: recovery reads its few pages.
            self.rest(pbn);
            return Ok(());
        }
        match self.summaries.write(flash, pbn) {
            Ok(()) if self.pinned_stream == Some(self.stream_of(pbn)) => self.pin(pbn),
            Ok(()) => self.rest(pbn),
            Err(error) if error.is_program_failure() => {
                self.failing.push((pbn, Open::default()));
                blocks.has_failed(pbn);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Makes an erased block, which was taken for this, the open block of a stream on its die, and
    /// returns the die.
    pub fn open_block(&mut self, pbn: Pbn, stream: Stream) -> u32 {
        let next = self.geometry.page(pbn, 0).get();
        let die = self.geometry.die_of(pbn);
        debug_assert!(!self.has_room(die, stream), "{pbn} is opened on a die with room");
        debug_assert_eq!(self.ledger.valid_pages(pbn), 0, "{pbn} is opened with valid pages in it");
        debug_assert!(!self.victims.contains(pbn) && !self.is_pinned(pbn), "{pbn} is opened while it is in use");
        let pages = match &self.pslc {
            Some(pslc) if pslc.stream == stream => pslc.pages,
            _ => self.summaries.content_pages(),
        };
        self.open[stream * self.order.len() + die as usize] = Open { next, end: next + pages };
        self.stream_of[pbn.index()] = stream as u8;
        self.opened[pbn.index()] = self.clock;
        die
    }

    /// Asks for the memory that releasing a page touches.
    #[inline]
    pub fn prefetch(&self, ppn: Ppn) {
        let pbn = self.geometry.block_of(ppn);
        self.ledger.prefetch(ppn, pbn);
        self.victims.prefetch(pbn);
    }

    /// A page's content is superseded.
    #[inline]
    pub fn release(&mut self, ppn: Ppn) {
        let pbn = self.ledger.invalidate(ppn);
        debug_assert!(self.stream_of(pbn) < self.streams.len(), "{ppn} is released in a block of no stream");
        self.victims.on_page_invalidated(pbn, self.ledger.valid_pages(pbn));
    }

    /// Programs a page of a stream with this hint on a die, opening any free block
    /// there. None if the page failed: then its block takes no more pages and waits to be emptied.
    #[expect(clippy::inline_always, reason = "one more call for every page that is written or moved")]
    #[inline(always)]
    pub fn program<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        die: u32,
        to: (Stream, Hint),
        label: Label,
        content: Content<D::Data>,
    ) -> Result<Option<Ppn>, FtlError> {
        let Some((to, filled)) = self.place_on(blocks, die, to) else {
            return Err(FtlError::OutOfSpace { wanted: "a page" });
        };
        debug_assert!(flash.chip().peek(to).is_none(), "{to} is programmed, and holds {:?}", flash.chip().peek(to));
        match flash.put(to, label, content) {
            Ok(()) => {
                if filled {
                    self.close(flash, blocks, self.geometry.block_of(to))?;
                }
                Ok(Some(to))
            }
            Err(error) => self.not_programmed(blocks, to, error).map(|()| None),
        }
    }
}

impl PageSpace {
    /// Takes the next block to collect on a die, if collecting gains anything there: the one that
    /// the die has in hand, else the policy's choice; unless blocks that failed have cost a die its
    /// last free block: then the one with the least to move, for which there may still be room.
    pub fn take_victim(&mut self, blocks: &BlockManager, die: u32) -> Result<Option<Pbn>, FtlError> {
        if blocks.has_lost_reserve() {
            return Ok(self.take_fewest_valid_on(die));
        }
        if let Some(in_hand) = self.take_out_of_hand(die) {
            return Ok(Some(in_hand));
        }
        let (classes, stream_of, opened) = (&self.classes, &self.stream_of, &self.opened);
        let facts = |pbn: Pbn| CandidateFacts {
            erases: blocks.erases_of(pbn),
            class: classes[usize::from(stream_of[pbn.index()])],
            opened_at: opened[pbn.index()],
            clock: self.clock,
        };
        self.victims.take(die, &self.ledger, facts)
    }

    /// A victim that was taken is not collected after all.
    pub fn leave(&mut self, victim: Pbn) {
        debug_assert!(!self.is_open(victim) && !self.is_pinned(victim), "{victim} is left, but was no victim");
        self.rest(victim);
    }

    /// Takes the closed block of a stream with the fewest valid pages, if collecting it gains
    /// anything. Looks at every block: for emergencies.
    pub fn take_fewest_valid(&mut self, stream: Stream) -> Option<Pbn> {
        self.take_fewest(|space, pbn| space.stream_of(pbn) == stream)
    }

    /// Takes the closed block of a die with the fewest valid pages, as
    /// [`take_fewest_valid`](Self::take_fewest_valid) does.
    pub fn take_fewest_valid_on(&mut self, die: u32) -> Option<Pbn> {
        self.take_fewest(|space, pbn| space.die_of(pbn) == die)
    }

    /// Takes the closed block with the fewest valid pages of all, as
    /// [`take_fewest_valid`](Self::take_fewest_valid) does.
    pub fn take_fewest_valid_of_all(&mut self) -> Option<Pbn> {
        self.take_fewest(|_, _| true)
    }

    fn take_fewest(&mut self, among: impl Fn(&Self, Pbn) -> bool) -> Option<Pbn> {
        self.put_all_down();
        let block = (0..self.geometry.blocks())
            .map(Pbn::new)
            .filter(|&pbn| self.victims.contains(pbn) && among(self, pbn))
            .min_by_key(|&pbn| self.ledger.valid_pages(pbn))?;
        debug_assert!(!self.is_open(block) && !self.is_pinned(block), "{block} is a victim, and is in use");
        if self.is_dense(block) {
            return None;
        }
        self.victims.remove(block, self.ledger.valid_pages(block));
        Some(block)
    }

    /// Withdraws a block that is in use from use: it takes no more pages, and is nobody's victim.
    /// Tells whether it holds any page; if not, it is free again. None if it waits to be emptied
    /// because it fails.
    pub fn withdraw<D: Device>(&mut self, flash: &FlashPort<D>, blocks: &mut BlockManager, pbn: Pbn) -> Option<bool> {
        debug_assert!(matches!(blocks.use_of(pbn), BlockUse::InUse(_)), "{pbn} is withdrawn and not in use");
        if self.victims.contains(pbn) {
            self.victims.remove(pbn, self.ledger.valid_pages(pbn));
            return Some(true);
        }
        if self.pinned.remove(&pbn) || self.withdraw_from_hand(pbn) {
            return Some(true);
        }
        let pages = self.geometry.page_indices(pbn);
        *self.open.iter_mut().find(|open| open.is_in(pages.clone()))? = Open::default();
        let is_used = flash.chip().next_page(pbn) > 0;
        let valid = self.ledger.valid_pages(pbn);
        debug_assert!(is_used || valid == 0, "{pbn} was never programmed, and has {valid} valid pages");
        if !is_used {
            blocks.put(pbn);
        }
        Some(is_used)
    }

    /// Whether a block is closed and nobody's victim yet.
    #[inline]
    pub fn is_collectable(&self, pbn: Pbn) -> bool {
        self.victims.contains(pbn)
    }

    /// Whether a block is the open one of a stream, with room.
    fn is_open(&self, pbn: Pbn) -> bool {
        let pages = self.geometry.page_indices(pbn);
        self.open.iter().any(|open| open.is_in(pages.clone()))
    }

    /// Whether a block may be collected and has nothing valid in it.
    pub fn is_spent(&self, pbn: Pbn) -> bool {
        self.victims.contains(pbn) && self.ledger.valid_pages(pbn) == 0
    }

    /// The end of a collection, when these pages have been placed elsewhere: if it went well to the
    /// end, the block goes back to the owner; if not, it is put back with what is left, since
    /// nobody needs what was moved in two places.
    pub fn finish<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        pbn: Pbn,
        moved: impl IntoIterator<Item = Ppn>,
        result: Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        match result.and_then(|()| self.fill_before_erase(flash, blocks, pbn)) {
            Ok(()) => {
                debug_assert!(!self.victims.contains(pbn), "{pbn} is erased while it can be collected");
                let is_empty = || moved.into_iter().count() == self.ledger.valid_pages(pbn) as usize;
                debug_assert!(is_empty(), "{pbn} is erased with valid pages in it");
                debug_assert!(!self.is_open(pbn) && !self.is_pinned(pbn), "{pbn} is erased while it is in use");
                self.ledger.clear_block(pbn);
                self.count_emptied(pbn);
                blocks.give_back(flash, pbn)
            }
            Err(error) => {
                self.put_back(pbn, moved, blocks.is_failed(pbn));
                Err(error)
            }
        }
    }

    /// A block could not be emptied further than this: what was moved is not needed here any more.
    #[cold]
    fn put_back(&mut self, pbn: Pbn, moved: impl IntoIterator<Item = Ppn>, fails: bool) {
        for ppn in moved {
            self.ledger.invalidate(ppn);
        }
        debug_assert!(self.failing.iter().all(|&(failing, _)| failing != pbn), "{pbn} waits to be emptied twice");
        if fails {
            self.failing.push((pbn, Open::default()));
        } else {
            self.rest(pbn);
        }
    }
}

#[cfg(test)]
mod tests;
