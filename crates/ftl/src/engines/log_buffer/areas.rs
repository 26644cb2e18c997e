//! A sequential area, and shared log blocks that leave in the order in which they came.
//!
//! The sequential area (`sequential.rs`) is one block for many schemes: it takes writes at offset 0
//! of a logical block, and those that continue it exactly; the next stream merges it. All else goes
//! to shared blocks. Which of them takes a page, which of them leaves, which pages of a leaving one
//! are merged, and how the log blocks are divided, is [`LogSharing`].
//!
//! A second chance is one bit for each logical page: whether the page was moved to the end of the
//! log and not written since.

use std::collections::VecDeque;

use flash::{Lbn, Lpn};

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::engines::log_buffer::policy::{LogBlockMerge, LogNeeds, LogPage, LogPolicy, LogTarget, log_blocks};
use crate::engines::log_buffer::sequential::{AdmissionRule, SequentialArea};
use crate::engines::log_buffer::space::{LogCounting, LogSpace, Slot};
use crate::port::error::ConfigError;

/// Whether there is a sequential block.
pub const SEQUENTIAL: Parameter = Parameter {
    name: "sequential",
    kind: Kind::Switch,
    default: "true",
    meaning: "Whether one of the log blocks takes sequential streams; without it offset-0 writes go to the random log.",
    source: "Wang 2013 3.2.2",
};

/// Where a log block belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Blocks of one logical block each.
    Sequential,
    /// Blocks that are shared.
    Shared,
}

/// How shared log blocks are shared.
pub trait LogSharing {
    /// What it asks the log for.
    const TRACKS: LogCounting = LogCounting::Nothing;

    /// A write request begins. It may divide the log blocks anew.
    #[inline]
    fn request(&mut self, _request: &Request, _sequential: &mut SequentialArea) {}

    /// A shared block with room that takes this page; none if one has to be opened. `youngest` was
    /// opened last.
    #[inline]
    fn place(&mut self, log: &LogSpace, youngest: Option<Slot>, _page: LogPage) -> Option<Slot> {
        youngest.filter(|&slot| log.has_room(slot))
    }

    /// The shared block that leaves before one may be opened, while none has room. The queue, the
    /// first one in front, may be put into another order.
    #[inline]
    fn victim(&mut self, _log: &LogSpace, queue: &mut VecDeque<Slot>) -> Option<Slot> {
        queue.front().copied()
    }

    /// Whether a newest page of a leaving block of an area is moved on instead of being merged.
    fn moves(&mut self, _area: Area, _lpn: Lpn) -> bool {
        false
    }

    /// Whether that is asked of one page after the other while others are merged, as
    /// [`LogPolicy::goes_page_by_page`] says.
    fn goes_page_by_page(&self) -> bool {
        false
    }

    /// A page comes to the log. Asked again when a block had to leave first.
    #[inline]
    fn on_page(&mut self, _log: &LogSpace, _page: LogPage) {}

    /// The logical block of a page was merged, and the log has no newest copy of the page now.
    fn on_settled(&mut self, _lpn: Lpn) {}

    /// A shared block was opened.
    fn on_opened(&mut self, _log: &LogSpace, _slot: Slot) {}

    /// A block of the sequential area was opened.
    fn on_allocated(&mut self) {}

    /// A page was appended to some block.
    fn on_appended(&mut self, _log: &LogSpace, _slot: Slot, _page: LogPage) {}

    /// A block of an area leaves in this way.
    fn on_merged(&mut self, _area: Area, _how: LogBlockMerge) {}

    /// A shared block left.
    fn on_left(&mut self, _slot: Slot) {}

    /// Numbers of its own, from the sequential area and the number of shared blocks.
    fn gauges(&self, _sequential: &SequentialArea, _shared: usize) -> Vec<Gauge> {
        Vec::new()
    }
}

/// All data blocks share each block: the youngest takes every page.
pub struct FifoSharing;

impl LogSharing for FifoSharing {}

/// The policy of a log with these two areas.
pub struct LogAreas<S> {
    sequential: SequentialArea,
    /// Shared blocks, the first to leave first.
    queue: VecDeque<Slot>,
    /// Log blocks of both areas.
    log_blocks: u32,
    /// The group of shared blocks, above those of the sequential area.
    shared: u32,
    /// Whether the border between the areas has moved, and blocks beyond it may have to leave.
    is_divided_anew: bool,
    sharing: S,
}

impl<S: LogSharing> LogAreas<S> {
    /// What areas with at most one sequential block need of the device.
    pub fn needs(scheme: &str, layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError> {
        let log_blocks = log_blocks(scheme, layout, values, 1 + u32::from(values.switch("sequential")))?;
        Ok(LogNeeds { log_blocks, ..LogNeeds::default() })
    }

    /// A log of this many blocks of which at most one is sequential, for requests of any length.
    pub fn with_one_stream(layout: &Layout, values: &Values, log_blocks: u32, sharing: S) -> Self {
        let streams = u32::from(values.switch("sequential"));
        Self::new(layout, SequentialArea::new(layout, AdmissionRule::InPlace, streams, 0), log_blocks, sharing)
    }

    /// A log of this many blocks, of which the sequential area has its limit and the shared blocks
    /// are the rest.
    pub fn new(layout: &Layout, sequential: SequentialArea, log_blocks: u32, sharing: S) -> Self {
        let (queue, shared) = (VecDeque::new(), layout.logical_blocks());
        Self { sequential, queue, log_blocks, shared, is_divided_anew: false, sharing }
    }

    /// How many shared blocks there may be.
    #[inline]
    fn limit(&self) -> usize {
        let (all, sequential) = (self.log_blocks, self.sequential.limit());
        debug_assert!(sequential <= all, "{sequential} of {all} log blocks are sequential");
        (all - sequential) as usize
    }

    fn area_of(&self, log: &LogSpace, slot: Slot) -> Area {
        debug_assert!(log.block(slot).is_some(), "slot {slot} is free, and in no area");
        if self.is_sequential(log, slot) { Area::Sequential } else { Area::Shared }
    }

    fn is_sequential(&self, log: &LogSpace, slot: Slot) -> bool {
        log.block(slot).is_some_and(|block| block.group < self.shared)
    }
}

impl<S: LogSharing> LogPolicy for LogAreas<S> {
    const TRACKS: LogCounting = S::TRACKS;

    #[inline]
    fn request(&mut self, request: &Request) {
        let before = self.sequential.limit();
        self.sharing.request(request, &mut self.sequential);
        self.is_divided_anew |= self.sequential.limit() != before;
        self.sequential.request(request.pages);
    }

    #[inline]
    fn leaves_now(&mut self, log: &LogSpace) -> Option<Slot> {
        if !self.is_divided_anew {
            return None;
        }
        if self.sequential.len() > self.sequential.limit() {
            return self.sequential.cheapest(log);
        }
        let first = self.queue.front().copied().filter(|_| self.queue.len() > self.limit());
        debug_assert!(first.is_none_or(|slot| log.block(slot).is_some()), "slot {first:?} is free, and is to leave");
        self.is_divided_anew = first.is_some();
        first
    }

    fn place(&mut self, log: &mut LogSpace, page: LogPage) -> LogTarget {
        self.sharing.on_page(log, page);
        let sequential = self.sequential.place(log, page);
        let youngest = self.queue.back().copied();
        debug_assert!(youngest.is_none_or(|slot| !self.is_sequential(log, slot)), "slot {youngest:?} is of both areas");
        sequential.unwrap_or_else(|| {
            self.sharing.place(log, youngest, page).map_or(LogTarget::New(self.shared), LogTarget::In)
        })
    }

    fn victim(&mut self, log: &mut LogSpace, group: u32) -> Option<Slot> {
        if group < self.shared {
            let own = self.sequential.victim(log, group);
            // After a power cut there may be more shared blocks than their share.
            let is_full = self.sequential.len() as usize + self.queue.len() >= self.log_blocks as usize;
            return own.or_else(|| self.queue.front().copied().filter(|_| is_full));
        }
        debug_assert_eq!(group, self.shared, "there is no group {group} of shared log blocks");
        if self.queue.len() >= self.limit() { self.sharing.victim(log, &mut self.queue) } else { None }
    }

    fn on_opened(&mut self, log: &LogSpace, slot: Slot) {
        if self.is_sequential(log, slot) {
            self.sequential.on_opened(log, slot);
            self.sharing.on_allocated();
        } else {
            debug_assert!(!self.queue.contains(&slot), "slot {slot} is opened twice");
            self.queue.push_back(slot);
            self.sharing.on_opened(log, slot);
        }
    }

    fn on_appended(&mut self, log: &LogSpace, slot: Slot, page: LogPage) {
        debug_assert!(log.block(slot).is_some(), "{} was appended to slot {slot}, which is free", page.lpn);
        if self.is_sequential(log, slot) {
            self.sequential.on_appended(log, slot, page);
        }
        self.sharing.on_appended(log, slot, page);
    }

    fn on_merged(&mut self, log: &LogSpace, slot: Slot, how: LogBlockMerge) {
        self.sharing.on_merged(self.area_of(log, slot), how);
    }

    fn on_left(&mut self, log: &LogSpace, slot: Slot) {
        if self.is_sequential(log, slot) {
            self.sequential.on_left(log, slot);
        } else {
            debug_assert!(self.queue.contains(&slot), "slot {slot} leaves, but was never opened");
            self.queue.retain(|&other| other != slot);
            self.sharing.on_left(slot);
        }
    }

    fn dedicated(&self, lbn: Lbn, except: Option<Slot>) -> Option<Slot> {
        self.sequential.dedicated(lbn, except)
    }

    fn moves(&mut self, log: &LogSpace, victim: Slot, lpn: Lpn) -> bool {
        self.sharing.moves(self.area_of(log, victim), lpn)
    }

    fn goes_page_by_page(&self) -> bool {
        self.sharing.goes_page_by_page()
    }

    fn on_settled(&mut self, lpn: Lpn) {
        self.sharing.on_settled(lpn);
    }

    fn recovered_group(&self, _lbn: Option<Lbn>) -> u32 {
        self.shared
    }

    fn place_of_trims(&self, log: &LogSpace) -> Option<LogTarget> {
        let youngest = self.queue.back().copied().filter(|&slot| log.has_room(slot));
        debug_assert!(youngest.is_none_or(|slot| !self.is_sequential(log, slot)), "slot {youngest:?} takes trims");
        Some(youngest.map_or(LogTarget::New(self.shared), LogTarget::In))
    }

    fn gauges(&self, _log: &LogSpace) -> Vec<Gauge> {
        self.sharing.gauges(&self.sequential, self.queue.len())
    }
}

/// One bit a logical page: whether it was moved within the log since the host wrote it last.
#[derive(Clone, Debug)]
pub struct SecondChanceBits {
    had: Vec<u64>,
}

impl SecondChanceBits {
    /// No page of a device has had one.
    pub fn new(logical_pages: u32) -> Self {
        Self { had: vec![0; (logical_pages as usize).div_ceil(64)] }
    }

    /// Whether a page has had its chance.
    #[inline]
    pub fn had(&self, lpn: Lpn) -> bool {
        let (word, bit) = Self::of(lpn);
        debug_assert!(word < self.had.len(), "there is no {lpn} to have a second chance");
        self.had[word] & bit != 0
    }

    /// A page was moved to the end of the log, and leaves it next time.
    pub fn on_moved(&mut self, lpn: Lpn) {
        let (word, bit) = Self::of(lpn);
        debug_assert!(self.had[word] & bit == 0, "{lpn} is moved, and has had its chance");
        self.had[word] |= bit;
    }

    /// A page was written, or left the log: it has its chance anew. Tells whether it had been
    /// moved.
    #[inline]
    pub fn renew(&mut self, lpn: Lpn) -> bool {
        let (word, bit) = Self::of(lpn);
        let had = self.had[word] & bit != 0;
        self.had[word] &= !bit;
        had
    }

    fn of(lpn: Lpn) -> (usize, u64) {
        (lpn.index() / 64, 1 << (lpn.index() % 64))
    }
}

#[cfg(test)]
mod second_chance_tests {
    use super::*;

    #[test]
    fn a_page_has_one_chance_until_it_is_written() {
        let mut chances = SecondChanceBits::new(70);
        for lpn in [0, 63, 64, 69].map(Lpn::new) {
            assert!(!chances.had(lpn) && !chances.renew(lpn));
            chances.on_moved(lpn);
            assert!(chances.had(lpn));
        }
        assert!(chances.renew(Lpn::new(64)) && !chances.had(Lpn::new(64)));
        assert!(chances.had(Lpn::new(63)) && !chances.renew(Lpn::new(65)));
    }
}
