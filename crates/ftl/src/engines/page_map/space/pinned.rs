//! Blocks of a space that are in use and that nobody collects.
//!
//! *Pinned* are blocks of a stream that is given up as a whole, and those in which each page has
//! its own offset. Their owner says when they may be collected. Until then all of such a block
//! counts as needed, however many of its pages are valid, and its owner has to be counted so in
//! [`SpaceNeeds::valid`](super::SpaceNeeds::valid).

use flash::{Lbn, Lpn, PageCopy, Pbn, Ppn, Role};

use super::{PageSpace, Stream};
use crate::api::wear::AllocRequest;
use crate::blocks::manager::BlockManager;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::flash_port::copying::CopyEnd;
use crate::port::label::Label;

impl PageSpace {
    /// From now on the filled blocks of a stream are pinned.
    pub fn pin_stream(&mut self, stream: Stream) {
        debug_assert!(stream < self.streams.len(), "there is no stream {stream} of {} to pin", self.streams.len());
        debug_assert!(self.pinned_stream.is_none(), "streams {:?} and {stream} are pinned", self.pinned_stream);
        self.pinned_stream = Some(stream);
    }

    /// A block in use is not collected until it is unpinned.
    pub fn pin(&mut self, pbn: Pbn) {
        self.withdraw_from_hand(pbn);
        if self.victims.contains(pbn) {
            self.victims.remove(pbn, self.ledger.valid_pages(pbn));
        }
        debug_assert!(!self.is_open(pbn), "{pbn} is pinned, and takes pages of stream {}", self.stream_of(pbn));
        self.pinned.insert(pbn);
    }

    /// A pinned block may be collected like any other from now on.
    pub fn unpin(&mut self, pbn: Pbn) {
        debug_assert!(!self.is_open(pbn), "{pbn} is unpinned, and takes pages of stream {}", self.stream_of(pbn));
        if self.pinned.remove(&pbn) {
            self.victims.close(pbn, self.ledger.valid_pages(pbn));
        }
    }

    /// Whether a block is pinned: in use, and no victim of any collection.
    pub fn is_pinned(&self, pbn: Pbn) -> bool {
        debug_assert!(pbn.get() < self.geometry.blocks(), "there is no {pbn} of {} blocks", self.geometry.blocks());
        self.pinned.contains(&pbn)
    }

    /// The pinned blocks of a stream.
    pub fn pinned_of(&self, stream: Stream) -> Vec<Pbn> {
        self.pinned.iter().copied().filter(|&pbn| self.stream_of(pbn) == stream).collect()
    }

    /// Takes a free block of a die in which each page will have its own offset. It is pinned, and
    /// counts as one of a stream.
    pub fn take_block(
        &mut self,
        blocks: &mut BlockManager,
        die: u32,
        stream: Stream,
        alloc: AllocRequest,
    ) -> Option<Pbn> {
        let pbn = blocks.take_on(die, alloc)?;
        debug_assert_eq!(self.ledger.valid_pages(pbn), 0, "{pbn} is taken with valid pages in it");
        debug_assert!(stream < self.streams.len(), "there is no stream {stream}");
        debug_assert!(!self.is_collectable(pbn) && !self.is_pinned(pbn), "{pbn} is taken while it is in use");
        self.stream_of[pbn.index()] = stream as u8;
        self.pinned.insert(pbn);
        Some(pbn)
    }

    /// Copies pages of a logical block to their offsets of a block that was taken so. Nothing is
    /// valid there before [`validate`](Self::validate) says so. A page that cannot be read is
    /// copied from where the same lies, by `twin`, or else becomes a lost page. Tells whether that
    /// went well; if a page failed, the block is marked bad, since what it holds is elsewhere, too.
    pub fn copy_block<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        (lbn, pbn): (Lbn, Pbn),
        mut pages: &[PageCopy],
        twin: impl Fn(&Self, Lpn) -> Option<Ppn>,
    ) -> Result<bool, FtlError> {
        debug_assert!(self.is_pinned(pbn), "{pbn} was not taken for this");
        debug_assert_eq!(self.ledger.valid_pages(pbn), 0, "{pbn} is programmed while it holds something");
        let geometry = self.geometry;
        let label = |offset, role| Label::of(geometry.logical_page(lbn, offset).get(), role, lbn);
        loop {
            let (done, copied) = flash.copy_pages(pages, (pbn, None), |copy, _| label(copy.offset, Role::Data));
            match copied {
                Ok(()) => return Ok(true),
                Err(CopyEnd::Error(error)) => return Err(error),
                Err(CopyEnd::NotProgrammed(_)) => break,
                Err(CopyEnd::Unreadable) => {}
            }
            let offset = pages[done].offset;
            let (role, content) = match twin(self, geometry.logical_page(lbn, offset)) {
                Some(from) => flash.read_for_copy(from, Role::Data)?,
                None => flash.lost_page(),
            };
            match flash.put(geometry.page(pbn, offset), label(offset, role), content) {
                Ok(()) => pages = &pages[done + 1..],
                Err(error) if error.is_program_failure() => break,
                Err(error) => return Err(error),
            }
        }
        self.pinned.remove(&pbn);
        blocks.has_failed(pbn);
        self.fill_before_erase(flash, blocks, pbn)?;
        blocks.give_back(flash, pbn)?;
        Ok(false)
    }

    /// These pages of a pinned block are the newest copies from now on.
    pub fn validate(&mut self, pages: impl IntoIterator<Item = Ppn>) {
        for ppn in pages {
            let pbn = self.geometry.block_of(ppn);
            debug_assert!(self.is_pinned(pbn), "{ppn} becomes valid in {pbn}, which is not pinned");
            self.ledger.validate(ppn, pbn);
        }
    }

    /// Nothing in a pinned block is needed any more: it may be collected.
    pub fn discard(&mut self, pbn: Pbn) {
        debug_assert!(self.is_pinned(pbn), "{pbn} is discarded but was not pinned");
        self.ledger.clear_block(pbn);
        self.unpin(pbn);
    }
}
