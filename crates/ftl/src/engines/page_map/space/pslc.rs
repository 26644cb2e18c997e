//! Blocks of a space that are in pSLC mode: what the host writes first, before it is folded into
//! native blocks.
//!
//! They make a stream of their own, and only the host's pages go there: whatever is moved goes to
//! native blocks. A *static* block is only ever in pSLC mode. It lies among the first blocks of its
//! die, so that every start finds the same ones, and no other content and no collection ever gets
//! it: its cells have the life of one bit. All other blocks of the stream are free blocks of their
//! die, which a collection may take like any closed block. To it, the pages that the mode leaves
//! out count as invalid, so collecting one always gains.

use std::collections::BTreeSet;

use flash::Pbn;

use super::{PageSpace, PslcNeeds, PslcStream, SpaceNeeds, Stream};
use crate::api::layout::Layout;
use crate::api::wear::{AllocRequest, BlockUse, Purpose};
use crate::blocks::manager::BlockManager;
use crate::port::error::ConfigError;

impl SpaceNeeds {
    /// The stream of blocks in pSLC mode of a fresh space, if it is asked for: the one behind those
    /// of the host and of collections.
    pub(super) fn pslc_stream(&self, layout: &Layout) -> Option<PslcStream> {
        let PslcNeeds { pages, .. } = self.pslc?;
        Some(PslcStream {
            stream: self.streams.len() + self.classes.between.len(),
            pages,
            statics: self.static_blocks(layout),
        })
    }

    /// The static blocks of a device: the good ones among the first of each die. None if they would
    /// leave no block of a die to be filled.
    pub(super) fn static_blocks(&self, layout: &Layout) -> BTreeSet<Pbn> {
        let geometry = &layout.geometry;
        let front = self.static_places(layout);
        let in_front = |pbn: Pbn| pbn.get() - geometry.blocks_of_die(geometry.die_of(pbn)).start < front;
        layout.good_blocks.iter().copied().filter(|&pbn| in_front(pbn)).collect()
    }

    /// How many of the first blocks of each die are static, if they are good.
    fn static_places(&self, layout: &Layout) -> u32 {
        let asked = self.pslc.map_or(0, |pslc| pslc.static_blocks);
        let others = u64::from(asked) + self.set_aside() as u64;
        if others < u64::from(layout.geometry.blocks_per_die()) { asked } else { 0 }
    }

    /// Blocks that would be static if they were not bad. They cost a spare like any bad block, so
    /// that one that fails costs the same before the next start and after it.
    pub(super) fn missing_statics(&self, layout: &Layout) -> u64 {
        let places = u64::from(self.static_places(layout)) * u64::from(layout.geometry.dies());
        places - self.static_blocks(layout).len() as u64
    }

    /// Blocks of a die that hold none of the pages that have to fit: its free blocks, and an open
    /// one for each stream of native blocks, and for that of dynamic pSLC blocks.
    pub(super) fn set_aside(&self) -> usize {
        let cached = self.pslc.is_some_and(|pslc| pslc.is_dynamic);
        let streams = self.streams.len() + self.classes.between.len() + usize::from(cached);
        streams + self.threshold.max(1) + self.free_for_classes()
    }

    /// Refuses blocks that could not be used in pSLC mode.
    pub(super) fn require_pslc(&self, layout: &Layout, scheme: &str) -> Result<(), ConfigError> {
        let Some(PslcNeeds { pages, static_blocks, is_dynamic }) = self.pslc else { return Ok(()) };
        let (size, filled) = (layout.geometry.pages_per_block(), self.summaries.content_pages());
        if pages == 0 {
            return Err(ConfigError(format!(
                "{scheme}.pslc_static and pslc_dynamic: this device has no pSLC mode; its cells need two bits or more (device.cell = \
                 \"tlc\"), and its blocks, of {size} pages, as many pages. Set device.cell, or leave these parameters out"
            )));
        }
        if is_dynamic && pages >= filled {
            return Err(ConfigError(format!(
                "{scheme}.pslc_dynamic: a block holds {pages} pages in pSLC mode and {filled} otherwise, so folding it would gain \
                 nothing; use larger blocks, or checkpoint = none"
            )));
        }
        if static_blocks > 0 && self.static_places(layout) == 0 {
            return Err(ConfigError(format!(
                "{scheme}.pslc_static: takes {static_blocks} blocks of each of {} dies, which have {} and keep {} open or free; ask \
                 for less, or give the device more blocks",
                layout.geometry.dies(),
                layout.geometry.blocks_per_die(),
                self.set_aside()
            )));
        }
        Ok(())
    }
}

impl PageSpace {
    /// The stream of blocks in pSLC mode.
    #[inline]
    pub fn pslc_stream(&self) -> Option<Stream> {
        self.pslc.as_ref().map(|pslc| pslc.stream)
    }

    /// The static blocks, in address order.
    pub fn static_blocks(&self) -> Vec<Pbn> {
        self.pslc.iter().flat_map(|pslc| pslc.statics.iter().copied()).collect()
    }

    /// Whether a block is only ever in pSLC mode.
    pub fn is_static(&self, pbn: Pbn) -> bool {
        self.pslc.as_ref().is_some_and(|pslc| pslc.statics.contains(&pbn))
    }

    /// Whether a block in pSLC mode has been filled and waits to be folded.
    pub fn is_cached(&self, pbn: Pbn) -> bool {
        let is_filled = self.victims.contains(pbn) || self.is_pinned(pbn);
        is_filled && self.pslc_stream() == Some(self.stream_of(pbn))
    }

    /// Takes a block that waits to be folded from where it waits.
    pub fn take_cached(&mut self, pbn: Pbn) {
        debug_assert!(self.is_cached(pbn), "{pbn} is folded, and waits for no folding");
        if !self.pinned.remove(&pbn) {
            self.victims.remove(pbn, self.ledger.valid_pages(pbn));
        }
    }

    /// A block that takes no more pages waits: a static one to be folded, any other one to be
    /// collected, too.
    pub(super) fn rest(&mut self, pbn: Pbn) {
        if self.is_static(pbn) {
            self.pinned.insert(pbn);
        } else {
            self.victims.close(pbn, self.ledger.valid_pages(pbn));
        }
    }

    /// Keeps a static block that is free from any other use. Tells whether it is there: it may have
    /// failed.
    pub fn keep_static(&self, blocks: &mut BlockManager, pbn: Pbn) -> bool {
        debug_assert!(self.is_static(pbn), "{pbn} is kept, and is not static");
        blocks.use_of(pbn) == BlockUse::Free && blocks.take_this(pbn, AllocRequest::new(Purpose::Reserve))
    }

    /// For recovery: a block that holds anything but cached pages is not static, whatever it was to
    /// be. That is so only where a device was used before with fewer static blocks.
    pub(super) fn is_no_static(&mut self, pbn: Pbn, stream: Stream) {
        if let Some(pslc) = self.pslc.as_mut().filter(|pslc| pslc.stream != stream) {
            pslc.statics.remove(&pbn);
        }
    }
}
