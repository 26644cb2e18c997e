//! Soft streams: the classes of a classifier, each with open blocks of its own as long as there is
//! room for that.
//!
//! A page of a soft stream without room on a die opens a free block there, unless that is the last
//! one and another soft stream has room: then the page joins that stream. So the last free block of
//! a die is opened only when none of its soft streams has room, and then takes all that is left of
//! the block that is emptied: one free block is enough, as with a single destination.

use flash::Pbn;

use super::{COLLECTED, HOST, PageSpace, SpaceNeeds, Stream};
use crate::api::wear::Purpose;

impl SpaceNeeds {
    /// The class of each of this many streams.
    pub(super) fn class_of_streams(&self, streams: usize) -> Vec<Option<usize>> {
        let mut classes = vec![None; streams];
        let pages = self.streams.iter().map(|purpose| matches!(purpose, Purpose::Data | Purpose::Collected));
        for (stream, _) in pages.enumerate().filter(|&(_, of_pages)| of_pages) {
            classes[stream] = Some(stream);
        }
        let between = self.classes.between.len();
        for stream in 0..between {
            classes[self.streams.len() + stream] = Some(1 + stream);
        }
        if between > 0 {
            classes[COLLECTED] = Some(1 + between);
        }
        classes
    }

    /// The soft streams: the host's pages, those between, collected pages.
    pub(super) fn soft_streams(&self) -> Vec<Stream> {
        if !self.classes.are_soft {
            return Vec::new();
        }
        let between = self.streams.len()..self.streams.len() + self.classes.between.len();
        std::iter::once(HOST).chain(between).chain([COLLECTED]).collect()
    }

    /// Free blocks of a die beyond those of one destination, so that what a collection moves can
    /// open a few.
    pub(super) fn free_for_classes(&self) -> usize {
        if self.classes.are_soft { (1 + self.classes.between.len()).min(2) } else { 0 }
    }
}

impl PageSpace {
    /// Pages that the host has written.
    #[inline]
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// The host has written a page.
    #[inline]
    pub fn on_host_page(&mut self) {
        self.clock += 1;
    }

    /// For recovery: pages were written up to this time.
    pub fn continue_clock(&mut self, clock: u64) {
        self.clock = clock;
        self.opened.fill(clock);
    }

    /// The clock when a block was opened.
    pub fn opened_at(&self, pbn: Pbn) -> u64 {
        self.opened[pbn.index()]
    }

    /// The block that collected pages have begun on a die takes the host's pages from now on, which
    /// have no room there; tells whether there is one.
    pub fn hand_over_collected(&mut self, die: u32) -> bool {
        debug_assert!(!self.has_room(die, HOST), "die {die} has room for the host, and is handed a block");
        if !self.has_room(die, COLLECTED) {
            return false;
        }
        let of = |stream: Stream| stream * self.order.len() + die as usize;
        let (host, collected) = (of(HOST), of(COLLECTED));
        let block = self.geometry.block_of(self.next_page(die, COLLECTED));
        self.stream_of[block.index()] = HOST as u8;
        self.open[host] = std::mem::take(&mut self.open[collected]);
        true
    }

    /// The class of a stream's pages.
    pub fn class_of(&self, stream: Stream) -> Option<usize> {
        self.classes[stream]
    }

    /// Blocks that what is moved out of one block may fill.
    pub fn destinations(&self) -> u32 {
        self.soft.len().max(1) as u32
    }

    /// Whether another stream may take pages of a stream.
    pub(super) fn is_soft(&self, stream: Stream) -> bool {
        self.soft.contains(&stream)
    }

    /// Whether a page of a stream may find its place in a block of another.
    pub(super) fn is_like(&self, stream: Stream, other: Stream) -> bool {
        stream == other || self.is_soft(stream) && self.is_soft(other)
    }

    /// The soft stream with room on a die that is the most like this one: a colder one if there is
    /// any.
    pub(super) fn soft_room(&self, die: u32, stream: Stream) -> Option<Stream> {
        let at = self.soft.iter().position(|&soft| soft == stream)?;
        let with_room = self.soft.iter().enumerate().filter(|&(_, &other)| self.has_room(die, other));
        with_room.min_by_key(|&(other, _)| (other < at, other.abs_diff(at))).map(|(_, &other)| other)
    }
}
