//! Blocks in use that nobody collects: those of a stream that is given up as a whole, and those in which each page has its own offset.
//!
//! Their owner says when they may be collected. Until then all of such a block counts as needed, however many of its pages are valid, and its
//! owner has to be counted so in [`Needs::valid`](super::Needs::valid).

use flash::{Pbn, Ppn};

use super::{PageSpace, Stream};
use crate::api::wear::AllocRequest;
use crate::blocks::manager::BlockManager;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::port::timing::Device;

impl PageSpace {
    /// From now on the filled blocks of a stream are kept.
    pub fn keep_stream(&mut self, stream: Stream) {
        self.keeps = Some(stream);
    }

    /// A block in use is not collected until it is let go.
    pub fn keep(&mut self, pbn: Pbn) {
        if self.victims.contains(pbn) {
            self.victims.remove(pbn, self.ledger.valid_pages(pbn));
        }
        self.kept.insert(pbn);
    }

    /// A kept block may be collected like any other from now on.
    pub fn let_go(&mut self, pbn: Pbn) {
        if self.kept.remove(&pbn) {
            self.victims.close(pbn, self.ledger.valid_pages(pbn));
        }
    }

    /// Whether a block is kept.
    pub fn is_kept(&self, pbn: Pbn) -> bool {
        self.kept.contains(&pbn)
    }

    /// The kept blocks of a stream.
    pub fn kept_of(&self, stream: Stream) -> Vec<Pbn> {
        self.kept.iter().copied().filter(|&pbn| self.stream_of(pbn) == stream).collect()
    }

    /// Whether a block may be collected and has nothing valid in it.
    pub fn is_spent(&self, pbn: Pbn) -> bool {
        self.victims.contains(pbn) && self.ledger.valid_pages(pbn) == 0
    }

    /// Takes a free block of a die in which each page will have its own offset. It is kept, and counts as one of a stream.
    pub fn take_block(
        &mut self,
        blocks: &mut BlockManager,
        die: u32,
        stream: Stream,
        ask: AllocRequest,
    ) -> Option<Pbn> {
        let pbn = blocks.take_on(die, ask)?;
        self.stream_of[pbn.index()] = stream as u8;
        self.kept.insert(pbn);
        Some(pbn)
    }

    /// Programs a page at its offset of a block that was taken so. Nothing is valid there before it is [said](Self::hold). Tells whether that
    /// went well; if the page failed, the block is marked bad, since what it holds is elsewhere, too.
    pub fn program_at<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        at: Ppn,
        label: Label,
        content: Content<D::Data>,
    ) -> Result<bool, FtlError> {
        match flash.put(at, label, content) {
            Ok(()) => Ok(true),
            Err(error) if error.is_program_failure() => {
                let pbn = self.geometry.block_of(at);
                self.kept.remove(&pbn);
                blocks.has_failed(pbn);
                blocks.give_back(flash, pbn)?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// These pages of a kept block are the newest copies from now on.
    pub fn hold(&mut self, pages: impl IntoIterator<Item = Ppn>) {
        for ppn in pages {
            self.ledger.validate(ppn, self.geometry.block_of(ppn));
        }
    }

    /// Nothing in a kept block is needed any more: it may be collected.
    pub fn void(&mut self, pbn: Pbn) {
        self.ledger.clear_block(pbn);
        self.let_go(pbn);
    }
}
