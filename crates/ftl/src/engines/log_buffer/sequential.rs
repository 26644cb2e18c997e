//! The sequential area of a log: log blocks that each hold pages of one logical block, in the hope
//! that they become data blocks.
//!
//! Which requests it is for is told by their length. [`AdmissionRule`] says which of their pages
//! it takes: all, each logical block's in the order of arrival; or only those that can stand in
//! their places, from the first page of a logical block on, so that every block stays in place.
//! When the area is full, the block that has not been written for the longest time makes room. Its
//! size may be changed at any time; the caller then has the surplus blocks leave.

use flash::Lbn;

use crate::api::layout::Layout;
use crate::engines::log_buffer::groups::LogGroups;
use crate::engines::log_buffer::policy::{LogPage, LogPolicy, LogTarget};
use crate::engines::log_buffer::sets::LogSets;
use crate::engines::log_buffer::space::{LogSpace, Slot};

/// Which pages of the requests that it is for the area takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionRule {
    /// Every page of such a request.
    AnyPage,
    /// The first page of a logical block, and those that continue its log block exactly.
    InPlace,
}

/// Log blocks for sequential writes, at most one for each logical block.
pub struct SequentialArea {
    sets: LogSets,
    admits: AdmissionRule,
    /// Requests of more pages are sequential.
    threshold_pages: u32,
    /// Whether the request that is being served is.
    is_sequential: bool,
}

impl SequentialArea {
    /// An empty area of at most `limit` blocks for requests of more than `threshold_pages`.
    pub fn new(layout: &Layout, admits: AdmissionRule, limit: u32, threshold_pages: u32) -> Self {
        Self { sets: LogSets::new(LogGroups::new(layout, 1), 1, limit), admits, threshold_pages, is_sequential: false }
    }

    /// A write request of this many pages begins.
    #[inline]
    pub fn request(&mut self, pages: u32) {
        debug_assert!(pages > 0, "a write request of no page begins");
        self.is_sequential = pages > self.threshold_pages && self.sets.limit() > 0;
    }

    /// From the next request on, those of more pages are sequential.
    pub fn set_threshold_pages(&mut self, pages: u32) {
        self.threshold_pages = pages;
    }

    /// Pages that a sequential request exceeds.
    pub fn threshold_pages(&self) -> u32 {
        self.threshold_pages
    }

    /// From now on there may be this many blocks.
    pub fn set_limit(&mut self, blocks: u32) {
        self.sets.set_limit(blocks);
    }

    /// How many blocks there may be.
    pub fn limit(&self) -> u32 {
        self.sets.limit()
    }

    /// How many blocks there are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.sets.groups.total()
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where a page goes, if it is for this area. Groups are named by their logical blocks.
    #[inline]
    pub fn place(&mut self, log: &mut LogSpace, page: LogPage) -> Option<LogTarget> {
        if !self.is_sequential || page.moved {
            return None;
        }
        debug_assert_eq!(log.geometry().split_logical(page.lpn), (page.lbn, page.offset), "{} is misplaced", page.lpn);
        match (self.admits, self.sets.place(log, page)) {
            (AdmissionRule::AnyPage, place) => Some(place),
            (AdmissionRule::InPlace, LogTarget::In(slot)) if continues(log, slot, page) => Some(LogTarget::In(slot)),
            (AdmissionRule::InPlace, _) => (page.offset == 0).then(|| LogTarget::New(self.sets.groups.of(page.lbn))),
        }
    }

    /// The block that leaves before one may be opened for a logical block.
    pub fn victim(&mut self, log: &mut LogSpace, group: u32) -> Option<Slot> {
        let victim = self.sets.victim(log, group);
        debug_assert!(victim.is_none_or(|slot| log.block(slot).is_some()), "slot {victim:?} is free, and is to leave");
        victim
    }

    /// The block that is the cheapest to give up: one that can be switched, else one that can be
    /// completed; of several the one that has not been written for the longest time.
    pub fn cheapest(&self, log: &LogSpace) -> Option<Slot> {
        let cost = |slot: &Slot| {
            debug_assert!(log.block(*slot).is_some(), "slot {slot} is free, and in the sequential area");
            let in_place = log.block(*slot).is_some_and(|block| block.in_place.is_some());
            (!in_place, log.has_room(*slot))
        };
        self.sets.groups.by_recency().min_by_key(cost)
    }

    /// A block was opened for a logical block.
    pub fn on_opened(&mut self, log: &LogSpace, slot: Slot) {
        debug_assert!(log.block(slot).is_some(), "slot {slot} is free, and was opened for a stream");
        self.sets.on_opened(log, slot);
    }

    /// A page was appended to a block of the area.
    #[inline]
    pub fn on_appended(&mut self, log: &LogSpace, slot: Slot, page: LogPage) {
        debug_assert_eq!(log.block(slot).map(|block| block.group), Some(self.sets.groups.of(page.lbn)), "slot {slot}");
        self.sets.on_appended(log, slot, page);
    }

    /// A block of the area left.
    pub fn on_left(&mut self, log: &LogSpace, slot: Slot) {
        self.sets.on_left(log, slot);
    }

    /// The block of a logical block, if it is another than `except`.
    pub fn dedicated(&self, lbn: Lbn, except: Option<Slot>) -> Option<Slot> {
        self.sets.dedicated(lbn, except)
    }
}

/// Whether a page comes next in a block that is in place.
fn continues(log: &LogSpace, slot: Slot, page: LogPage) -> bool {
    let comes_next = |offset: u32, in_place| offset == page.offset && (offset == 0 || in_place == Some(page.lbn));
    debug_assert!(log.has_room(slot), "{} continues slot {slot}, which is full or free", page.lpn);
    log.block(slot).is_some_and(|block| comes_next(block.filled, block.in_place))
}

#[cfg(test)]
mod tests;
