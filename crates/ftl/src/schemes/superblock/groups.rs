//! Physical blocks of superblocks: N neighbouring logical blocks share the blocks that hold their
//! pages.
//!
//! A superblock has as many blocks as its data fill and some more for updates; each has at most one
//! block open for the host and one for collected pages. Which pages are valid is known; what they
//! mean, and moving them, is the scheme's.
//!
//! **Why there is always a victim.** When a superblock may not open a block, some superblock,
//! perhaps itself, has more blocks than it has logical ones, so a block's worth of its pages is
//! invalid or erased. Collecting there, again and again, frees a block in the end. Each collection
//! needs at most one free block and returns one; that one is kept in reserve, and another as long
//! as a block may fail.

use std::ops::Range;

use flash::{Geometry, Lbn, Lpn, Pbn, Ppn};
use host::Hint;

use crate::api::layout::Layout;
use crate::api::report::Spares;
use crate::api::wear::{AllocRequest, Purpose};
use crate::blocks::ledger::Ledger;
use crate::blocks::manager::BlockManager;
use crate::linked_lists::LinkedLists;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError};
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};

/// Pages that the host writes, or those that a collection moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Written by the host.
    Hot = 0,
    /// Moved by a collection.
    Cold = 1,
}

/// What has to be done before a superblock can take another page of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: there is room.
    Ready,
    /// This block has to be collected.
    Collect(Pbn),
}

#[derive(Clone, Debug, Default)]
struct Superblock {
    logical_blocks: u32,
    blocks: Vec<Pbn>,
    /// For each stream, the block that takes its pages, and the next page there.
    open: [Option<(Pbn, u32)>; 2],
    /// Blocks that it had when recovery found it, or has had at the fewest since.
    found: usize,
}

/// The blocks of a device.
#[derive(Clone, Debug)]
pub(super) struct Superblocks {
    geometry: Geometry,
    size: u32,
    /// Blocks that a superblock may have beyond its logical ones.
    most_extra: u32,
    /// Blocks that all superblocks together may have beyond theirs.
    extra_limit: u32,
    extra: u32,
    all: Vec<Superblock>,
    owner: Vec<u32>,
    /// Superblocks with more blocks than logical ones, the least recently written first.
    recency: LinkedLists,
    ledger: Ledger,
    failing: Vec<Pbn>,
}

impl Superblocks {
    /// Superblocks of `size` logical blocks on an erased device, each with up to `most_extra` more,
    /// all with up to `extra_limit`.
    pub(super) fn new(layout: &Layout, size: u32, most_extra: u32, extra_limit: u32) -> Self {
        let logical = layout.logical_blocks();
        let of = |first: u32| Superblock { logical_blocks: size.min(logical - first), ..Superblock::default() };
        let all: Vec<_> = (0..logical).step_by(size as usize).map(of).collect();
        Self {
            geometry: layout.geometry,
            size,
            most_extra,
            extra_limit,
            extra: 0,
            recency: LinkedLists::new(all.len(), 1),
            all,
            owner: vec![0; layout.geometry.blocks() as usize],
            ledger: Ledger::new(layout.geometry),
            failing: Vec::new(),
        }
    }

    /// Refuses a device with fewer than `extra` blocks beside the data and one to collect into;
    /// otherwise tells how many may fail.
    pub(super) fn require(layout: &Layout, scheme: &str, extra: u32) -> Result<Spares, ConfigError> {
        let needed = extra.saturating_add(1);
        match layout.spare_blocks().checked_sub(needed) {
            Some(total) => Ok(Spares { total, used: 0 }),
            None if layout.in_use => Ok(Spares::READ_ONLY),
            None => Err(ConfigError(format!(
                "{scheme} needs {needed} blocks beside the {} that the data fill ({extra} for updates and one to collect into), but \
                 the device has only {} to spare; raise device.spare or reduce the log space",
                layout.logical_blocks(),
                layout.spare_blocks()
            ))),
        }
    }

    /// For recovery: these pages are valid, each of a page of a superblock; all blocks without one
    /// are erased.
    pub(super) fn adopt<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        layout: &Layout,
        pages: impl IntoIterator<Item = (Ppn, u32)>,
    ) -> Result<(), FtlError> {
        blocks.nothing_free(flash, layout);
        let mut used = vec![false; self.geometry.blocks() as usize];
        for (ppn, superblock) in pages {
            let pbn = self.geometry.block_of(ppn);
            self.ledger.validate(ppn, pbn);
            if !std::mem::replace(&mut used[pbn.index()], true) {
                blocks.adopt(pbn, AllocRequest::new(Purpose::Data));
                self.add(superblock, pbn);
            }
        }
        for own in &mut self.all {
            own.found = own.blocks.len();
        }
        let unused = layout.good_blocks.iter().copied().filter(|pbn| !used[pbn.index()]);
        unused.into_iter().try_for_each(|pbn| blocks.give_back(flash, pbn))
    }

    /// The superblock of a logical page, and its logical block.
    #[inline]
    pub(super) fn of_page(&self, lpn: Lpn) -> (u32, Lbn) {
        let (lbn, _) = self.geometry.split_logical(lpn);
        (lbn.get() / self.size, lbn)
    }

    /// Superblocks of the device.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// The logical blocks of a superblock.
    pub(super) fn members(&self, superblock: u32) -> Range<u32> {
        let first = superblock * self.size;
        first..first + self.all[superblock as usize].logical_blocks
    }

    /// The superblock of a block in use.
    pub(super) fn owner(&self, pbn: Pbn) -> u32 {
        self.owner[pbn.index()]
    }

    fn add(&mut self, superblock: u32, pbn: Pbn) {
        let own = &mut self.all[superblock as usize];
        own.blocks.push(pbn);
        self.owner[pbn.index()] = superblock;
        if own.blocks.len() as u32 > own.logical_blocks {
            self.extra += 1;
        }
        if own.blocks.len() as u32 == own.logical_blocks + 1 {
            self.recency.push_back(0, superblock);
        }
    }

    fn remove(&mut self, pbn: Pbn) {
        let superblock = self.owner(pbn);
        let own = &mut self.all[superblock as usize];
        if own.blocks.len() as u32 > own.logical_blocks {
            self.extra -= 1;
        }
        if own.blocks.len() as u32 == own.logical_blocks + 1 {
            self.recency.remove(superblock);
        }
        own.blocks.retain(|&block| block != pbn);
        own.found = own.found.min(own.blocks.len());
        self.close(pbn);
    }

    fn close(&mut self, pbn: Pbn) {
        let own = &mut self.all[self.owner[pbn.index()] as usize];
        for open in own.open.iter_mut().filter(|open| open.is_some_and(|(block, _)| block == pbn)) {
            *open = None;
        }
    }

    fn room(&self, superblock: u32, stream: Stream) -> Option<(Pbn, u32)> {
        let open = self.all[superblock as usize].open[stream as usize];
        open.filter(|&(_, next)| next < self.geometry.pages_per_block())
    }

    /// Prepares a superblock for a page with this hint, as far as that is possible
    /// without moving pages.
    pub(super) fn prepare(&mut self, blocks: &mut BlockManager, superblock: u32, hint: Hint) -> Result<Step, FtlError> {
        if self.room(superblock, Stream::Hot).is_some() {
            return Ok(Step::Ready);
        }
        let Superblock { logical_blocks, blocks: ref own, .. } = self.all[superblock as usize];
        let count = own.len() as u32;
        let may_have = count < logical_blocks
            || (self.extra < self.extra_limit && count < logical_blocks.saturating_add(self.most_extra));
        let Spares { total, used } = blocks.spares();
        let reserve = 1 + usize::from(used < total);
        if may_have && blocks.free() > reserve {
            self.open(blocks, superblock, Stream::Hot, hint)?;
            return Ok(Step::Ready);
        }
        // What a collection has left open serves the host as well.
        if let Some(open) = self.room(superblock, Stream::Cold) {
            self.all[superblock as usize].open = [Some(open), None];
            return Ok(Step::Ready);
        }
        let among = if count > logical_blocks { Some(superblock) } else { self.recency.front(0) };
        let victim = among.and_then(|superblock| self.fewest_valid(superblock));
        victim.map(Step::Collect).ok_or_else(|| blocks.out_of_space("a block of a superblock"))
    }

    /// The block with the fewest valid pages, but the one that takes collected pages only if it has
    /// none.
    fn fewest_valid(&self, superblock: u32) -> Option<Pbn> {
        let own = &self.all[superblock as usize];
        let takes_moved = |pbn: Pbn| own.open[Stream::Cold as usize].is_some_and(|(block, _)| block == pbn);
        let price = |&pbn: &Pbn| (self.ledger.valid_pages(pbn) > 0 && takes_moved(pbn), self.ledger.valid_pages(pbn));
        own.blocks.iter().copied().filter(|pbn| !self.failing.contains(pbn)).min_by_key(price)
    }

    fn open(&mut self, blocks: &mut BlockManager, superblock: u32, stream: Stream, hint: Hint) -> Result<(), FtlError> {
        let purpose = if stream == Stream::Hot { Purpose::Data } else { Purpose::Collected };
        let pbn = blocks.take_or_stop(AllocRequest::new(purpose).hinted(hint), "a superblock's next block")?;
        self.add(superblock, pbn);
        self.all[superblock as usize].open[stream as usize] = Some((pbn, 0));
        Ok(())
    }

    /// Programs a page into the open block of a stream; one for collected pages is opened if need
    /// be. None if the page failed: then its block takes no more pages, and waits to be emptied.
    pub(super) fn program<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        superblock: u32,
        stream: Stream,
        (label, content): (Label, &Content<D::Data>),
    ) -> Result<Option<Ppn>, FtlError> {
        if self.room(superblock, stream).is_none() {
            let hint = blocks.hint_of(content.stored_hint());
            self.open(blocks, superblock, stream, hint)?;
        }
        let Some((pbn, next)) = self.room(superblock, stream) else { return Ok(None) };
        let ppn = self.geometry.page(pbn, next);
        self.all[superblock as usize].open[stream as usize] = Some((pbn, next + 1));
        match flash.put(ppn, label, content.clone()) {
            Ok(()) => {
                self.ledger.validate(ppn, pbn);
                Ok(Some(ppn))
            }
            Err(error) if error.is_program_failure() => {
                self.close(pbn);
                self.failing.push(pbn);
                blocks.has_failed(pbn);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// A superblock was written by the host.
    #[inline]
    pub(super) fn on_written(&mut self, superblock: u32) {
        if self.recency.chain_of(superblock).is_some() {
            self.recency.move_back(0, superblock);
        }
    }

    /// A page's content is superseded.
    #[inline]
    pub(super) fn release(&mut self, ppn: Ppn) {
        self.ledger.invalidate(ppn);
    }

    /// A block is about to be emptied: it takes no more pages, lest what leaves it lands in it
    /// again. Returns its valid pages in order.
    pub(super) fn begin_emptying(&mut self, pbn: Pbn) -> Vec<Ppn> {
        self.close(pbn);
        let mut pages = Vec::new();
        self.ledger.list_valid(pbn, &mut pages);
        pages
    }

    /// A block that waits to be emptied and marked bad.
    #[inline]
    pub(super) fn failing(&self) -> Option<Pbn> {
        self.failing.last().copied()
    }

    /// A block holds nothing valid any more: it goes back to the owner.
    pub(super) fn reclaim<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        pbn: Pbn,
    ) -> Result<(), FtlError> {
        debug_assert_eq!(self.ledger.valid_pages(pbn), 0, "{pbn} is erased with valid pages in it");
        self.remove(pbn);
        self.failing.retain(|&block| block != pbn);
        blocks.give_back(flash, pbn)
    }

    /// Blocks that superblocks have beyond their logical ones.
    pub(super) fn extra(&self) -> u32 {
        self.extra
    }

    /// Whether a page holds the newest copy of something.
    pub(super) fn is_valid(&self, ppn: Ppn) -> bool {
        self.ledger.is_valid(ppn)
    }

    /// Valid pages of the device.
    pub(super) fn valid_pages(&self) -> u64 {
        (0..self.geometry.blocks()).map(|block| u64::from(self.ledger.valid_pages(Pbn::new(block)))).sum()
    }

    /// Checks that free blocks are erased and nobody's (`free`), and that no superblock has more
    /// blocks than it may (`bounds`).
    pub(super) fn check<D: Device>(
        &self,
        flash: &FlashPort<D>,
        blocks: &BlockManager,
        free: &'static str,
        bounds: &'static str,
    ) -> Result<(), BrokenInvariant> {
        let mut used = vec![false; self.geometry.blocks() as usize];
        for pbn in self.all.iter().flat_map(|own| &own.blocks).copied().chain(blocks.iter_free()) {
            let seen = std::mem::replace(&mut used[pbn.index()], true);
            BrokenInvariant::unless(!seen, free, || format!("{pbn} is used twice"))?;
        }
        for pbn in blocks.iter_free() {
            BrokenInvariant::unless(self.ledger.valid_pages(pbn) == 0, free, || format!("{pbn} is free but in use"))?;
        }
        blocks.check(flash, free)?;
        // A collection that found no room, or a power cut in one, may leave a superblock with one
        // more until its next. Of blocks that waited to be emptied recovery knows nothing: it finds
        // them as any others, and the superblock loses them by its collections.
        let most = |own: &Superblock| {
            own.found.max(own.logical_blocks as usize + self.most_extra as usize) + 1 + self.failing.len()
        };
        let over = self.all.iter().find(|own| own.blocks.len() > most(own));
        BrokenInvariant::unless(over.is_none(), bounds, || format!("a superblock has too many blocks: {over:?}"))
    }
}

#[cfg(test)]
mod tests;
