//! Blocks that are filled up with padding, so that a power cut takes nothing of them.
//!
//! Where the device exposes pages (`port/exposed_pages.rs`), a block is filled up in two cases: at
//! a flush, and before another block is erased that holds what its exposed pages replace. The
//! padding goes where the next pages of its stream would. It never needs another block, since a
//! page is safe before its block ends.
//!
//! **Why collecting still gains.** A collection moves pages to one stream, and fills up the block
//! in which that ends by at most [`Exposure::most_padding`] pages. So a block is worth collecting
//! only if it has more invalid pages than that, and a space is sure to hold this many pages less a
//! block. Blocks of other streams are filled up once, until the host writes again.

use std::ops::Range;

use flash::{Exposure, Flash, Pbn, Ppn};

use super::{Open, PageSpace, SpaceNeeds, Stream};
use crate::api::layout::Layout;
use crate::api::wear::Purpose;
use crate::blocks::manager::BlockManager;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::exposed_pages::FillUp;
use crate::port::flash_port::FlashPort;

impl SpaceNeeds {
    /// Pages by which a collection at most fills up the block to which it moves pages.
    pub(super) fn padding(layout: &Layout) -> u32 {
        layout.exposure.as_ref().map_or(0, Exposure::most_padding)
    }

    /// Valid pages of a block from which nothing can be gained.
    pub(super) fn dense_pages(&self, layout: &Layout) -> u32 {
        dense_from(self.summaries.content_pages(), Self::padding(layout))
    }
}

/// Valid pages of a block from which nothing can be gained; a block without any gains in any case.
fn dense_from(content_pages: u32, padding: u32) -> u32 {
    content_pages.saturating_sub(padding).max(1)
}

impl PageSpace {
    /// Valid pages of a block of a stream from which nothing can be gained. Nothing is filled up
    /// for translation pages.
    pub(super) fn dense_pages(&self, stream: Stream) -> u32 {
        let padding = if self.streams[stream] == Purpose::Translation { 0 } else { self.padding };
        dense_from(self.summaries.content_pages(), padding)
    }

    /// Whether nothing can be gained from a block.
    pub fn is_dense(&self, pbn: Pbn) -> bool {
        self.valid_in(pbn) >= self.dense_pages(self.stream_of(pbn))
    }

    /// The most pages by which a block is filled up.
    pub fn most_padding(&self) -> u32 {
        self.padding
    }

    /// The most pages that a power cut may take, as long as nothing fails.
    pub fn exposed_pages(&self) -> u32 {
        let streams = self.streams.iter().filter(|&&purpose| purpose != Purpose::Translation).count() as u32;
        self.exposed_in_block * streams * self.dies()
    }

    /// Makes safe what replaces the pages of a block, which is given up next.
    #[inline]
    pub(super) fn fill_before_erase<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        pbn: Pbn,
    ) -> Result<(), FtlError> {
        if flash.exposes_pages() { self.fill_up_all(flash, blocks, flash.to_fill_before_erase(pbn)) } else { Ok(()) }
    }

    /// Makes safe all that has been programmed.
    pub fn fill_for_flush<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
    ) -> Result<(), FtlError> {
        self.fill_up_all(flash, blocks, flash.to_fill())?;
        flash.await_completed();
        Ok(())
    }

    fn fill_up_all<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        fill_ups: Vec<FillUp>,
    ) -> Result<(), FtlError> {
        flash.in_parallel(fill_ups, |flash, fill_up| self.fill_up(flash, blocks, fill_up))
    }

    /// Fills up a block: what of it takes content, with padding; then its summary, if it comes to
    /// that; and a block that takes no more pages up to the offset, whatever its pages are for.
    fn fill_up<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        (pbn, end): FillUp,
    ) -> Result<(), FtlError> {
        if let Some(at) = self.open.iter().position(|open| open.is_in(self.geometry.page_indices(pbn))) {
            let first = self.geometry.page(pbn, 0).get();
            let Open { next, end: content_end } = self.open[at];
            let end = content_end.min(first + end);
            let is_whole = program_padding(flash, next..end)?;
            self.open[at].next = end;
            if !is_whole {
                self.failing.push((pbn, std::mem::take(&mut self.open[at])));
                blocks.has_failed(pbn);
            } else if end == content_end {
                self.close(flash, blocks, pbn)?;
            }
        }
        let rest = self.geometry.page(pbn, 0).get() + flash.chip().next_page(pbn);
        let end = self.geometry.page(pbn, 0).get() + end;
        if rest < end {
            program_padding(flash, rest..end)?;
            let failing = self.failing.iter_mut().filter(|(failing, _)| *failing == pbn);
            failing.for_each(|(_, open)| open.next = open.next.max(end));
        }
        Ok(())
    }
}

/// Programs padding; tells whether no page failed. A page that fails fills its place, too.
fn program_padding<D: Device>(flash: &mut FlashPort<D>, pages: Range<u32>) -> Result<bool, FtlError> {
    let mut is_whole = true;
    for page in pages {
        match flash.program_padding(Ppn::new(page)) {
            Ok(()) => {}
            Err(error) if error.is_program_failure() => is_whole = false,
            Err(error) => return Err(error),
        }
    }
    Ok(is_whole)
}
