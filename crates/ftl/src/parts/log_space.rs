//! Log blocks: page-mapped blocks that take the updates of data blocks.
//!
//! The log map says, for each logical page, which log page holds its newest copy, if a log page does. Log blocks are filled
//! one after another and leave in the order in which they came (what T calls round-robin); whose pages may share a block is
//! the scheme's decision.

use std::collections::VecDeque;

use flash::{Geometry, Lpn, Pbn, Ppn};

use crate::parts::data_blocks::DataBlocks;
use crate::{BrokenInvariant, Content, Device, FtlError, Label, Layout, Media};

/// The log map and the queue of log blocks shared by all logical blocks.
#[derive(Clone, Debug)]
pub struct LogSpace {
    geometry: Geometry,
    map: Vec<Option<Ppn>>,
    newest_pages: u64,
    blocks: VecDeque<Pbn>,
    next_offset: u32,
    limit: usize,
}

impl LogSpace {
    /// An empty log of at most `limit` blocks.
    pub fn new(layout: &Layout, limit: u32) -> Self {
        Self {
            geometry: layout.geometry,
            map: vec![None; layout.logical_pages as usize],
            newest_pages: 0,
            blocks: VecDeque::with_capacity(limit as usize),
            next_offset: 0,
            limit: limit as usize,
        }
    }

    /// The log page that holds the newest copy of a logical page.
    #[inline]
    pub fn newest(&self, lpn: Lpn) -> Option<Ppn> {
        self.map[lpn.index()]
    }

    /// Says which log page holds the newest copy of a logical page.
    #[inline]
    pub fn set_newest(&mut self, lpn: Lpn, at: Option<Ppn>) {
        self.newest_pages += u64::from(at.is_some());
        self.newest_pages -= u64::from(std::mem::replace(&mut self.map[lpn.index()], at).is_some());
    }

    /// Whether the last log block has an erased page left.
    pub fn has_room(&self) -> bool {
        !self.blocks.is_empty() && self.next_offset < self.geometry.pages_per_block()
    }

    /// Whether another log block would exceed the log space.
    pub fn is_full(&self) -> bool {
        self.blocks.len() >= self.limit
    }

    /// Adds an erased block at the end.
    pub fn push(&mut self, pbn: Pbn) {
        self.blocks.push_back(pbn);
        self.next_offset = 0;
    }

    /// For recovery: these blocks, first to last, are in the log and are not filled further.
    pub fn adopt(&mut self, blocks: &[Pbn]) {
        self.blocks.extend(blocks);
        self.next_offset = self.geometry.pages_per_block();
    }

    /// Takes the block that came first.
    pub fn pop(&mut self) -> Option<Pbn> {
        self.blocks.pop_front()
    }

    /// Appends a page to the last log block, which has room. If that fails, a free block takes the log block's place.
    pub fn append<D: Device>(
        &mut self,
        media: &mut Media<D>,
        data: &mut DataBlocks,
        label: Label,
        content: D::Data,
    ) -> Result<Ppn, FtlError> {
        let Some(&tail) = self.blocks.back() else { return Err(FtlError::OutOfSpace { wanted: "a log page" }) };
        let offset = self.next_offset;
        let content = Content::New(content);
        let held = |_: &DataBlocks, offset: u32| self.lpn_at(self.geometry.page(tail, offset));
        let block = data.program(media, tail, offset, label, &content, &held)?;
        if block != tail {
            self.move_block(tail, block);
        }
        self.next_offset += 1;
        Ok(self.geometry.page(block, offset))
    }

    /// The logical page whose newest copy lies at a place, found by searching the map.
    fn lpn_at(&self, ppn: Ppn) -> Option<Lpn> {
        self.map.iter().position(|&at| at == Some(ppn)).map(Lpn::at)
    }

    /// What one block held, another one holds now, at the same offsets.
    pub fn move_block(&mut self, from: Pbn, to: Pbn) {
        for at in self.map.iter_mut().flatten() {
            let (block, offset) = self.geometry.split(*at);
            if block == from {
                *at = self.geometry.page(to, offset);
            }
        }
        for block in &mut self.blocks {
            if *block == from {
                *block = to;
            }
        }
    }

    /// Puts the block that came first back, after a merge of it failed.
    pub fn push_front(&mut self, pbn: Pbn) {
        self.blocks.push_front(pbn);
    }

    /// The logical pages whose newest copy lies in a log block, in page order. Read from the page table of the log in RAM.
    pub fn newest_in<D: Device>(&self, media: &Media<D>, pbn: Pbn) -> impl Iterator<Item = Lpn> + use<'_, D> {
        let tags: Vec<_> =
            self.geometry.page_indices(pbn).map(|page| (Ppn::at(page), media.device().peek(Ppn::at(page)))).collect();
        tags.into_iter().filter_map(|(ppn, tag)| {
            let lpn = Lpn::new(tag?);
            (self.newest(lpn) == Some(ppn)).then_some(lpn)
        })
    }

    /// Blocks in use.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether no block is in use.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Share of the programmed log pages that hold a newest copy, 0 to 1; 1 for an empty log. `elsewhere` pages are
    /// programmed in log blocks that are not in the queue.
    pub fn utilisation(&self, elsewhere: u32) -> f64 {
        let full = self.blocks.len().saturating_sub(1) as u64 * u64::from(self.geometry.pages_per_block());
        let programmed =
            full + if self.blocks.is_empty() { 0 } else { u64::from(self.next_offset) } + u64::from(elsewhere);
        if programmed == 0 { 1.0 } else { self.newest_pages as f64 / programmed as f64 }
    }

    /// Checks that every mapped log page carries its LPN.
    pub fn check<D: Device>(&self, media: &Media<D>, name: &'static str) -> Result<(), BrokenInvariant> {
        for (lpn, ppn) in self.map.iter().enumerate().filter_map(|(lpn, ppn)| ppn.map(|ppn| (Lpn::at(lpn), ppn))) {
            let tag = media.device().peek(ppn);
            BrokenInvariant::unless(tag == Some(lpn.get()), name, || {
                format!("{lpn} is newest at {ppn}, which carries {tag:?}")
            })?;
        }
        Ok(())
    }
}
