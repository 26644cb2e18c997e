//! A page map in the spare areas of the pages themselves, of which RAM caches a few parts.
//!
//! Each program carries, in its page's spare area, the part of the map that it changes, so writing
//! the map costs nothing. A part, that of one logical block, that is not cached is read back: the
//! spare area of the superblock's last page tells where the part is, that of the logical block's
//! last page is the part. What the map says is not known here, only what it costs to read.

use std::ops::Range;

use flash::{Geometry, Lbn, Lpn, Pbn, Ppn};

use crate::linked_lists::LinkedLists;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;

/// Which parts are cached, and where those that are not would be read.
#[derive(Clone, Debug)]
pub(super) struct SpareMap {
    /// Logical blocks whose part is cached, the least recently used first.
    cached: LinkedLists,
    parts: u32,
    limit: u32,
    last_of_superblock: Vec<Option<Ppn>>,
    last_of_block: Vec<Option<Ppn>>,
}

impl SpareMap {
    /// A map of this many logical blocks in this many superblocks, of which `limit` parts are
    /// cached.
    pub(super) fn new(logical_blocks: u32, superblocks: usize, limit: u32) -> Self {
        Self {
            cached: LinkedLists::new(logical_blocks as usize, 1),
            parts: 0,
            limit,
            last_of_superblock: vec![None; superblocks],
            last_of_block: vec![None; logical_blocks as usize],
        }
    }

    /// RAM of the cached parts and of where superblocks' last pages lie, in bytes.
    pub(super) fn ram_bytes(&self, geometry: &Geometry) -> [u64; 2] {
        let parts = u64::from(self.limit).min(self.last_of_block.len() as u64);
        [parts * 2 * u64::from(geometry.pages_per_block()), 4 * self.last_of_superblock.len() as u64]
    }

    /// Has the part with a page's entry in RAM, that of its logical block. A part that flash does
    /// not have is known without a read.
    pub(super) fn look_up<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lpn: Lpn,
        (superblock, lbn): (u32, Lbn),
    ) -> Result<(), FtlError> {
        if self.cached.chain_of(lbn.get()).is_some() {
            flash.note_lookup(lpn, true);
            self.cached.move_back(0, lbn.get());
            return Ok(());
        }
        let (place, part) = (self.last_of_superblock[superblock as usize], self.last_of_block[lbn.index()]);
        let part = part.filter(|_| part != place);
        flash.note_lookup(lpn, place.is_none() && part.is_none());
        for ppn in place.into_iter().chain(part) {
            flash.with_cause(Cause::Mapping, |flash| flash.scan(ppn))?;
        }
        self.make_room();
        self.cached.push_back(0, lbn.get());
        self.parts += 1;
        Ok(())
    }

    fn make_room(&mut self) {
        if self.parts == self.limit
            && let Some(oldest) = self.cached.front(0)
        {
            self.cached.remove(oldest);
            self.parts -= 1;
        }
    }

    /// A page of a logical block was programmed.
    #[inline]
    pub(super) fn programmed(&mut self, superblock: u32, lbn: Lbn, ppn: Ppn) {
        self.last_of_superblock[superblock as usize] = Some(ppn);
        self.last_of_block[lbn.index()] = Some(ppn);
    }

    /// A block of a superblock, which has these logical blocks, is about to be erased.
    pub(super) fn on_erased(&mut self, geometry: &Geometry, superblock: u32, members: Range<u32>, pbn: Pbn) {
        let blocks = self.last_of_block[members.start as usize..members.end as usize].iter_mut();
        for last in blocks.chain(&mut self.last_of_superblock[superblock as usize..=superblock as usize]) {
            *last = last.filter(|&ppn| geometry.block_of(ppn) != pbn);
        }
    }
}
