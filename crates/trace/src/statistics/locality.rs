//! Locality of writes over window lengths: what decides how a log, a buffer or a small map fares
//! and what sizes and shares do not show.
//!
//! A window is a number of pages written, such as one round of a log. For each length:
//! - *Rewritten*: pages written that were among the last this many written before; of all pages
//!   written. The first pages of a trace have nothing before them and count as new.
//! - *Runs*: writes of more than 4 KiB (that touch more than two pages) that start exactly where
//!   one of the writes before them ended, with no more than the window's pages in between.
//! - *Logical blocks* touched and *top share*: of windows laid end to end, and the mean over them.
//!   The top share is what the most written hundredth of a window's distinct pages gets of its
//!   writes.
//!
//! A page is 2 KiB and a logical block 64 of them, as in the thesis whose look-alikes are held to
//! these figures. Devices are kept apart. A trace that is shorter than a window is a single one,
//! and longer windows are left out.
//!
//! One pass: a page's entry knows when it was last written and how often in the current window of
//! each length, and a histogram of these numbers gives the top share without sorting. Memory is
//! bounded, whatever the trace: entries older than the longest window leave through a ring of the
//! pages written, so at most some 60 MB are used.

use std::collections::VecDeque;

use random::NumberMap;
use serde::Serialize;

use crate::record::Record;

/// Window lengths in pages: 2 MiB to 512 MiB. A log of 3 % on 2 to 4 GiB lies between the last two.
pub(crate) const WINDOWS: [u64; LENGTHS] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18];
const LENGTHS: usize = 5;
const LONGEST: u64 = WINDOWS[LENGTHS - 1];

/// Bytes in a page, and in a logical block.
const PAGE: u64 = 2048;
const BLOCK: u64 = 64 * PAGE;

/// A write that touches no more pages than these is no part of a run.
const SHORT_PAGES: u64 = 2;

/// Locality of the writes of a workload, by window length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Locality {
    /// Bytes in a page of these figures.
    pub page_bytes: u64,
    /// Bytes in a logical block of these figures.
    pub block_bytes: u64,
    /// Pages written, each time counted.
    pub written_pages: u64,
    /// A row for each length, the shortest first.
    pub windows: Vec<LocalityWindow>,
}

/// Locality at one window length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LocalityWindow {
    /// Length of the window, pages written.
    pub pages: u64,
    /// Whole windows in the trace; 0 if it is shorter, and the row is of all of it.
    pub windows: u64,
    /// Pages written that were among the last `pages` written, % of the pages written.
    pub rewritten_percent: f64,
    /// Share of a window's page writes that its most written 1 % of distinct pages gets, %.
    pub top_percent: f64,
    /// Logical blocks written in a window.
    pub logical_blocks: f64,
    /// Writes of more than two pages that start where one of the last `pages` ended, % of writes.
    pub run_write_percent: f64,
    /// Pages of these writes, % of the pages written.
    pub run_page_percent: f64,
}

/// A place on a device: a page's, a block's or a byte's number.
type Place = (u32, u64);

/// Locality in the making.
#[derive(Default)]
pub(super) struct Locating {
    writes: u64,
    /// Pages written, which is the clock of everything here.
    pages: u64,
    entries: NumberMap<Place, PageEntry>,
    /// When each block was last written.
    blocks: NumberMap<Place, u64>,
    /// The pages written last, the oldest first, at most as many as the longest window has.
    order: VecDeque<Place>,
    /// The clock when a write ended here, and the same in order of time.
    ends: NumberMap<Place, u64>,
    end_order: VecDeque<(Place, u64)>,
    lengths: [Length; LENGTHS],
}

/// A page that was written within the longest window.
#[derive(Clone, Copy, Default)]
struct PageEntry {
    last: u64,
    /// Times written in the window that `last` lies in, by length.
    times: [u32; LENGTHS],
}

/// State of one window length.
#[derive(Default)]
struct Length {
    rewritten: u64,
    run_writes: u64,
    run_pages: u64,
    /// Whole windows so far, and the sums over them.
    windows: u64,
    blocks: u64,
    top: u64,
    now: Window,
}

/// The window in progress.
#[derive(Default)]
struct Window {
    blocks: u64,
    distinct: u64,
    /// How many pages were written this many times.
    pages_by_times: Vec<u64>,
}

impl Locating {
    /// Counts a write.
    pub(super) fn observe(&mut self, record: &Record) {
        let pages = record.offset / PAGE..record.end().div_ceil(PAGE);
        self.writes += 1;
        self.run(record, pages.end - pages.start);
        for page in pages {
            self.page((record.device, page));
        }
        let end = (record.device, record.end());
        self.ends.insert(end, self.pages);
        self.end_order.push_back((end, self.pages));
    }

    /// Whether the write goes on where another one ended, by length.
    fn run(&mut self, record: &Record, pages: u64) {
        while let Some(&(end, at)) = self.end_order.front()
            && self.pages - at > LONGEST
        {
            self.end_order.pop_front();
            if self.ends.get(&end) == Some(&at) {
                self.ends.remove(&end);
            }
        }
        if pages <= SHORT_PAGES {
            return;
        }
        if let Some(ended) = self.ends.get(&(record.device, record.offset)) {
            for (length, span) in self.lengths.iter_mut().zip(WINDOWS) {
                if self.pages - ended < span {
                    length.run_writes += 1;
                    length.run_pages += pages;
                }
            }
        }
    }

    fn page(&mut self, page: Place) {
        let now = self.pages;
        let block_last = self.blocks.insert(block_of(page), now);
        let entry = self.entries.entry(page).or_insert(PageEntry { last: now, times: [0; LENGTHS] });
        for ((length, times), span) in self.lengths.iter_mut().zip(&mut entry.times).zip(WINDOWS) {
            length.rewritten += u64::from(entry.last < now && now - entry.last <= span);
            if entry.last / span != now / span {
                *times = 0;
            }
            *times += 1;
            let new_block = block_last.is_none_or(|last| last / span != now / span);
            length.now.add(*times, new_block);
            if (now + 1).is_multiple_of(span) {
                length.close();
            }
        }
        entry.last = now;
        self.order.push_back(page);
        self.forget_the_oldest(now);
        self.pages += 1;
    }

    /// Drops what the next page written can no longer find within the longest window.
    fn forget_the_oldest(&mut self, now: u64) {
        if self.order.len() as u64 <= LONGEST {
            return;
        }
        let Some(page) = self.order.pop_front() else { return };
        let (block, written) = (block_of(page), now - LONGEST);
        if self.entries.get(&page).is_some_and(|entry| entry.last == written) {
            self.entries.remove(&page);
        }
        if self.blocks.get(&block) == Some(&written) {
            self.blocks.remove(&block);
        }
    }

    /// The rows; none without writes.
    pub(super) fn finish(mut self) -> Option<Locality> {
        if self.pages == 0 {
            return None;
        }
        let (writes, pages) = (self.writes, self.pages);
        let shorter = WINDOWS.iter().filter(|span| **span <= pages).count();
        let rows = (shorter + 1).min(LENGTHS);
        let windows = self.lengths.iter_mut().zip(WINDOWS).take(rows).map(|(length, span)| {
            let whole = length.windows;
            if whole == 0 {
                length.close();
            }
            let observed = (length.windows * span).min(pages);
            LocalityWindow {
                pages: span,
                windows: whole,
                rewritten_percent: 100.0 * length.rewritten as f64 / pages as f64,
                top_percent: 100.0 * length.top as f64 / observed as f64,
                logical_blocks: length.blocks as f64 / length.windows as f64,
                run_write_percent: 100.0 * length.run_writes as f64 / writes as f64,
                run_page_percent: 100.0 * length.run_pages as f64 / pages as f64,
            }
        });
        Some(Locality { page_bytes: PAGE, block_bytes: BLOCK, written_pages: pages, windows: windows.collect() })
    }
}

fn block_of((device, page): Place) -> Place {
    (device, page / (BLOCK / PAGE))
}

impl Length {
    /// Ends the window in progress.
    fn close(&mut self) {
        self.windows += 1;
        self.blocks += self.now.blocks;
        self.top += self.now.top();
        self.now.blocks = 0;
        self.now.distinct = 0;
        self.now.pages_by_times.clear();
    }
}

impl Window {
    /// A page was written for the `times`th time in this window.
    fn add(&mut self, times: u32, new_block: bool) {
        let times = times as usize;
        if self.pages_by_times.len() <= times {
            self.pages_by_times.resize(times + 1, 0);
        }
        self.pages_by_times[times] += 1;
        if times == 1 {
            self.distinct += 1;
        } else {
            self.pages_by_times[times - 1] -= 1;
        }
        self.blocks += u64::from(new_block);
    }

    /// Writes to the most written hundredth of the distinct pages, one page at least.
    fn top(&self) -> u64 {
        let mut left = (self.distinct / 100).max(1);
        let mut writes = 0;
        for (times, pages) in self.pages_by_times.iter().enumerate().rev() {
            let taken = left.min(*pages);
            writes += taken * times as u64;
            left -= taken;
        }
        writes
    }
}
