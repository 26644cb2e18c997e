//! What a space tells about itself.

use std::ops::Range;

use flash::{Flash, Pbn, Ppn, Tag};

use super::{PageSpace, Stream};
use crate::api::report::Footprint;
use crate::api::wear::{BlockUse, Purpose};
use crate::blocks::manager::BlockManager;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::BrokenInvariant;
use crate::port::flash_port::FlashPort;

impl PageSpace {
    /// Dies of the device.
    pub fn dies(&self) -> u32 {
        self.order.len() as u32
    }

    /// Streams that it was made for, that of levelled pages included.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// The stream to which the pages of a block of stream `from` go when it is emptied, if they
    /// would go to `usual` under a wear policy that moves nothing. What is moved to level wear
    /// stays with its like when it is collected later.
    pub fn destination(&self, from: Stream, why: Cause, usual: Stream) -> Stream {
        debug_assert!(from < self.streams.len(), "there is no stream {from}");
        let levelled = self.streams.len() - 1;
        let is_levelled = why == Cause::WearLevelling || from == levelled;
        if is_levelled && self.streams[levelled] == Purpose::Levelled { levelled } else { usual }
    }

    /// Erase blocks of one die, bad ones included.
    pub fn blocks_per_die(&self) -> u32 {
        self.geometry.blocks_per_die()
    }

    /// The channel that a die's transfers use.
    pub fn channel_of_die(&self, die: u32) -> u32 {
        debug_assert!(die < self.dies(), "there is no die {die} of {}", self.dies());
        self.geometry.channel_of(die)
    }

    /// The channel over which a page is transferred.
    pub fn channel_of(&self, ppn: Ppn) -> u32 {
        self.channel_of_block(self.geometry.block_of(ppn))
    }

    /// The channel that a block's transfers use.
    pub fn channel_of_block(&self, pbn: Pbn) -> u32 {
        self.geometry.channel_of(self.geometry.die_of(pbn))
    }

    /// The die of a block: what is valid in it is moved to blocks of that die.
    pub fn die_of(&self, pbn: Pbn) -> u32 {
        debug_assert!(pbn.get() < self.geometry.blocks(), "there is no {pbn} of {} blocks", self.geometry.blocks());
        self.geometry.die_of(pbn)
    }

    /// The valid pages of a block, in order.
    pub fn list_valid(&self, pbn: Pbn, into: &mut Vec<Ppn>) {
        into.clear();
        self.ledger.list_valid(pbn, into);
    }

    /// The block of a page.
    pub fn block_of(&self, ppn: Ppn) -> Pbn {
        self.geometry.block_of(ppn)
    }

    /// The pages of a block, as indices.
    pub fn page_indices(&self, pbn: Pbn) -> Range<usize> {
        self.geometry.page_indices(pbn)
    }

    /// The stream whose content a block holds.
    pub fn stream_of(&self, pbn: Pbn) -> Stream {
        debug_assert!(pbn.index() < self.stream_of.len(), "there is no {pbn} of {} blocks", self.stream_of.len());
        self.stream_of[pbn.index()] as usize
    }

    /// Whether a page holds the newest copy of something.
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.ledger.is_valid(ppn)
    }

    /// Valid pages of a block.
    pub fn valid_in(&self, pbn: Pbn) -> u32 {
        let (valid, most) = (self.ledger.valid_pages(pbn), self.geometry.pages_per_block());
        debug_assert!(valid <= most, "{pbn} counts {valid} valid pages of {most}");
        valid
    }

    /// Pages of a block that take content.
    pub fn content_pages(&self) -> u32 {
        let (summary, pages) = (self.summaries.pages(), self.geometry.pages_per_block());
        debug_assert!(summary < pages, "summaries of {summary} pages fill blocks of {pages}");
        self.summaries.content_pages()
    }

    /// Pages with which a filled block ends.
    pub fn summary_pages(&self) -> u32 {
        self.summaries.pages()
    }

    /// Valid pages of the device.
    pub fn valid_pages(&self) -> u64 {
        (0..self.geometry.blocks()).map(|block| u64::from(self.ledger.valid_pages(Pbn::new(block)))).sum()
    }

    /// Adds what summaries take, if there are any: RAM for the tags of open blocks, flash for the
    /// summaries of all.
    pub fn add_summaries(&self, footprint: Footprint) -> Footprint {
        let footprint = self.add_hands(footprint);
        if !self.summaries.are_written() {
            return footprint;
        }
        let tags = self.open.len() as u64 * u64::from(self.summaries.content_pages());
        let pages = u64::from(self.geometry.blocks()) * u64::from(self.summaries.pages());
        let page_bytes = u64::from(self.geometry.page_size_bytes());
        footprint.with("block summaries", tags * Tag::HEAD_BYTES as u64, pages * page_bytes)
    }

    /// The logical number that a page carries, for checks. One that had decayed before a recovery
    /// does not tell it any more, but the summary does from which recovery knew it.
    pub fn logical_at<D: Device>(&self, flash: &FlashPort<D>, ppn: Ppn) -> Option<u32> {
        flash.chip().peek(ppn).or_else(|| self.summaries.listed(flash, ppn).map(|tag| tag.logical))
    }

    /// Checks that free blocks are erased and hold nothing valid, that every valid page is
    /// programmed, and that summaries are true.
    pub fn check<D: Device>(
        &self,
        flash: &FlashPort<D>,
        blocks: &BlockManager,
        name: &'static str,
    ) -> Result<(), BrokenInvariant> {
        for pbn in blocks.iter_free() {
            let unused = self.ledger.valid_pages(pbn) == 0 && !self.victims.contains(pbn) && !self.is_pinned(pbn);
            BrokenInvariant::unless(unused, name, || format!("{pbn} is in the free pool but in use"))?;
        }
        blocks.check(flash, name)?;
        for pbn in (0..self.dies()).filter_map(|die| self.in_hand(die)) {
            let in_use = matches!(blocks.use_of(pbn), BlockUse::InUse(_));
            let is_there_alone = in_use && !self.victims.contains(pbn) && !self.is_pinned(pbn) && !self.is_open(pbn);
            BrokenInvariant::unless(is_there_alone, name, || format!("{pbn} is in hand, and elsewhere or free"))?;
        }
        let mut pages = Vec::new();
        for pbn in (0..self.geometry.blocks()).map(Pbn::new) {
            self.summaries.check(flash, pbn, name)?;
            self.list_valid(pbn, &mut pages);
            BrokenInvariant::unless(pages.len() as u32 == self.ledger.valid_pages(pbn), name, || {
                format!("{pbn} counts {} valid pages, but {} are marked", self.ledger.valid_pages(pbn), pages.len())
            })?;
            for &ppn in &pages {
                BrokenInvariant::unless(self.logical_at(flash, ppn).is_some(), name, || {
                    format!("{ppn} is valid but erased")
                })?;
            }
        }
        Ok(())
    }
}
