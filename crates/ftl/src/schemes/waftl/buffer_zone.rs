//! A zone: a log over all channels to which every page is appended first, and which is given up as
//! a whole.
//!
//! ```text
//!   die 0  [7][2][7'][ ]      at     2 → (0,1)   7' → (0,2)   9 → (1,1) …
//!   die 1  [3][9][2~][ ]      nodes  block 0: 2 pages, 1 dirty, popularity 3 …
//! ```
//!
//! It knows where the newest copy of each of its pages lies, by logical page, and of each logical
//! block with pages in it how many there are, how many are dirty (newer than what lies outside) and
//! how often it was accessed. Pages are written and moved by others; so a page of the zone may lie
//! anywhere, and after a power cut some do.

use flash::{Geometry, Lbn, Lpn, Ppn, long_array};

use crate::api::layout::Layout;
use crate::api::request::BlockRun;

/// A logical block with pages in the zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Accesses since the zone was begun: a run over neighbouring pages is one, also when it goes
    /// on in the next request.
    pub popularity: u32,
    /// Pages in the zone.
    pub pages: u32,
    /// Of these, those that are newer than what lies outside.
    pub dirty: u32,
    /// The offset after the last access, 0 for none.
    next: u32,
}

/// What is in the zone, and how full it is.
#[derive(Clone, Debug)]
pub struct BufferZone {
    geometry: Geometry,
    at: Vec<Option<Ppn>>,
    dirty: Vec<u64>,
    nodes: Vec<Node>,
    capacity: u64,
    appended: u64,
    pages: u64,
}

impl BufferZone {
    /// An empty zone with room for this many pages.
    pub fn new(layout: &Layout, capacity: u64) -> Self {
        Self {
            geometry: layout.geometry,
            at: long_array(None, layout.logical_pages as usize),
            dirty: long_array(0, (layout.logical_pages as usize).div_ceil(64)),
            nodes: long_array(Node::default(), layout.logical_blocks() as usize),
            capacity,
            appended: 0,
            pages: 0,
        }
    }

    /// Where the zone holds a page.
    #[inline]
    pub fn at(&self, lpn: Lpn) -> Option<Ppn> {
        self.at[lpn.index()]
    }

    /// Whether the zone's copy of a page is newer than what lies outside.
    #[inline]
    pub fn is_dirty(&self, lpn: Lpn) -> bool {
        self.dirty[lpn.index() / 64] >> (lpn.index() % 64) & 1 == 1
    }

    fn set_dirty(&mut self, lpn: Lpn, dirty: bool) {
        let bit = 1 << (lpn.index() % 64);
        if dirty { self.dirty[lpn.index() / 64] |= bit } else { self.dirty[lpn.index() / 64] &= !bit }
    }

    fn node_of(&mut self, lpn: Lpn) -> &mut Node {
        let (lbn, _) = self.geometry.split_logical(lpn);
        &mut self.nodes[lbn.index()]
    }

    /// State of a logical block.
    #[inline]
    pub fn node(&self, lbn: Lbn) -> Node {
        self.nodes[lbn.index()]
    }

    /// A page was appended; returns the place of the copy that is not needed any more.
    pub fn append(&mut self, lpn: Lpn, at: Ppn, dirty: bool) -> Option<Ppn> {
        self.appended += 1;
        let old = self.remove(lpn);
        self.enter(lpn, at, dirty);
        old
    }

    fn enter(&mut self, lpn: Lpn, at: Ppn, dirty: bool) {
        self.at[lpn.index()] = Some(at);
        self.set_dirty(lpn, dirty);
        self.pages += 1;
        let node = self.node_of(lpn);
        node.pages += 1;
        node.dirty += u32::from(dirty);
    }

    /// A page is in the zone no more; returns where it lay.
    pub fn remove(&mut self, lpn: Lpn) -> Option<Ppn> {
        let at = self.at[lpn.index()].take()?;
        let was_dirty = self.is_dirty(lpn);
        self.set_dirty(lpn, false);
        self.pages -= 1;
        let node = self.node_of(lpn);
        node.pages -= 1;
        node.dirty -= u32::from(was_dirty);
        Some(at)
    }

    /// A page was moved; tells whether it was the zone's.
    #[inline]
    pub fn on_moved(&mut self, lpn: Lpn, from: Ppn, to: Ppn) -> bool {
        let is_here = self.at[lpn.index()] == Some(from);
        if is_here {
            self.at[lpn.index()] = Some(to);
        }
        is_here
    }

    /// The logical page that the zone holds at a place, found by searching.
    pub fn owner_of(&self, ppn: Ppn) -> Option<Lpn> {
        self.at.iter().position(|&at| at == Some(ppn)).map(Lpn::at)
    }

    /// The host accessed neighbouring pages of a logical block.
    pub fn on_accessed(&mut self, run: &BlockRun) {
        let node = &mut self.nodes[run.lbn.index()];
        let goes_on = run.first > 0 && node.next == run.first;
        node.popularity += u32::from(!goes_on);
        node.next = run.first + run.pages;
    }

    /// For recovery: a page lies in a zone of which nothing else is known, so it counts as dirty.
    pub fn adopt(&mut self, lpn: Lpn, at: Ppn) {
        self.enter(lpn, at, true);
    }

    /// For recovery: this many pages of room are used, whatever is in them.
    pub fn fill(&mut self, pages: u64) {
        self.appended = pages;
    }

    /// Whether nothing can be appended.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.appended >= self.capacity
    }

    /// Pages for which it has room.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Share of the room that is used, at most 1.
    pub fn fill_ratio(&self) -> f64 {
        (self.appended as f64 / self.capacity as f64).min(1.0)
    }

    /// Logical blocks with pages in the zone, ascending.
    pub fn blocks(&self) -> Vec<Lbn> {
        (0..).map(Lbn::new).zip(&self.nodes).filter(|(_, node)| node.pages > 0).map(|(lbn, _)| lbn).collect()
    }

    /// Of the logical blocks in the zone those of highest popularity, this many; of equally popular
    /// ones the lower.
    pub fn most_popular(&self, count: usize) -> Vec<Lbn> {
        let mut blocks = self.blocks();
        blocks.sort_by_key(|&lbn| (std::cmp::Reverse(self.node(lbn).popularity), lbn));
        blocks.truncate(count);
        blocks
    }

    /// Pages in the zone with their places.
    pub fn iter(&self) -> impl Iterator<Item = (Lpn, Ppn)> + '_ {
        self.at.iter().enumerate().filter_map(|(lpn, at)| at.map(|at| (Lpn::at(lpn), at)))
    }

    /// Everything has left: the zone is empty, and nobody has been popular yet.
    pub fn begin_anew(&mut self) {
        debug_assert_eq!(self.pages, 0, "pages are still in the zone");
        self.appended = 0;
        self.nodes.fill(Node::default());
    }
}

#[cfg(test)]
mod tests;
