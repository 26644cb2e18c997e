//! What bit errors cost: how often a read is tried again, and which blocks are to be refreshed.
//!
//! The flash port tells of each operation. Of each block it is known here how often its pages were
//! sensed since its erase, and since when it holds data; its erases are the chip's. From these
//! follows the raw bit error rate of its pages ([`BitErrorModel`]):
//!
//! ```text
//! rate  0 ────── refresh_at·limit ─── limit ─── limit/0.8 ─── … ─── limit/0.8ⁿ ──▶
//!       no retry │ the block is due   │ 1 retry │ 2 retries       │ uncorrectable
//! ```
//!
//! A rate only grows between two erases. So the level of a block holds at least until its reads and
//! its age pass a point at which it was found to be the same, and is not computed before.
//!
//! Limits: a block's data are as old as its oldest page. A page that is uncorrectable is counted
//! and still given: a block decays as a whole here, so an error would lose whole blocks at a stroke
//! in a run that only wants to know how often it happens.

use std::collections::VecDeque;

use flash::{BitErrorModel, Flash, Pbn, Stress};

use crate::api::wear::{Deferred, RelocateOutcome};
use crate::port::timing::Nanos;

/// The most retries of a read.
pub const MOST_RETRIES: usize = 15;

/// Share of a page's errors that a retry leaves, since it senses at better voltages or decodes with
/// more of what it sensed. Assumed: with the default limit of 0.005, five retries correct 0.015,
/// about what soft decoding is said to reach. Smaller would let a few retries correct more than any
/// code does; nearer to 1 a retry would be for nothing.
const RETRY_LEAVES: f64 = 0.8;

const NS_A_DAY: f64 = 86_400e9;

/// By which share reads and days are to grow until a block is looked at again: a larger one
/// computes more often in vain near a limit, a smaller one more often elsewhere.
const LOOK_AHEAD: f64 = 1.0 / 32.0;

/// How bits decay, and what is done about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reliability {
    /// The rate of errors by what a page has been through.
    pub model: BitErrorModel,
    /// The highest rate that one read corrects.
    pub ecc_limit: f64,
    /// Most retries of a read, at most [`MOST_RETRIES`].
    pub read_retries: u8,
    /// From the end of a try to the begin of the next.
    pub retry_latency: Nanos,
    /// The share of `ecc_limit` beyond which a block is refreshed; 0 for never.
    pub refresh_at: f64,
    /// Erases of each block before the first one that is counted.
    pub initial_erases: u32,
    /// Days that what the device holds has lain when the clock is started anew for the first time.
    /// Until then nothing grows old: how long preparing takes differs between mappings.
    pub retention_days: f64,
    /// How many times faster data age than time passes.
    pub retention_speedup: f64,
    /// Units of a flash page, above 0, where a page of the geometry is a part of one: a read senses
    /// the whole.
    pub units_per_page: u32,
}

/// What became of reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadRetries {
    /// Page reads by the number of retries that they took.
    pub reads: [u64; MOST_RETRIES + 1],
    /// Page reads that no retry would have corrected.
    pub uncorrectable: u64,
    /// Blocks that were refreshed.
    pub refreshed_blocks: u64,
    /// Whether refreshing has ended, since the device takes no more writes or no block can be
    /// moved.
    pub is_refreshing_over: bool,
}

impl ReadRetries {
    /// What was counted since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: std::array::from_fn(|retries| self.reads[retries] - earlier.reads[retries]),
            uncorrectable: self.uncorrectable - earlier.uncorrectable,
            refreshed_blocks: self.refreshed_blocks - earlier.refreshed_blocks,
            is_refreshing_over: self.is_refreshing_over,
        }
    }
}

/// What a rate amounts to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Level {
    retries: u8,
    is_uncorrectable: bool,
    is_due: bool,
}

/// Up to where a level holds.
#[derive(Clone, Copy, Debug)]
struct LevelLimit {
    level: Level,
    reads: u64,
    time: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
struct BlockErrors {
    /// Since the erase, retries included.
    reads: u64,
    /// Whether it holds data, and how old they were at a moment.
    holds_data: bool,
    days: f64,
    since: Nanos,
    /// Whether it waits to be refreshed.
    is_queued: bool,
    known: Option<LevelLimit>,
}

/// The bit errors of a device's blocks.
#[derive(Clone, Debug)]
pub struct BitErrors {
    reliability: Reliability,
    /// The highest rate that each number of retries corrects.
    limits: [f64; MOST_RETRIES + 1],
    pages_per_block: f64,
    blocks: Box<[BlockErrors]>,
    due: VecDeque<Pbn>,
    /// The block that is looked at next, whether it is read or not.
    patrolled: u32,
    /// How many times faster data age than time passes: not at all before measuring begins.
    speedup: f64,
    has_restarted: bool,
    counts: ReadRetries,
}

impl BitErrors {
    /// Of a device whose blocks have not been read since they were programmed, just now.
    pub fn new(reliability: Reliability, device: &(impl Flash + ?Sized)) -> Self {
        let geometry = device.geometry();
        let mut limits = [reliability.ecc_limit; MOST_RETRIES + 1];
        (0..).zip(&mut limits).for_each(|(retries, limit)| *limit /= RETRY_LEAVES.powi(retries));
        let blocks = (0..geometry.blocks()).map(Pbn::new);
        let block = |pbn| BlockErrors { holds_data: device.next_page(pbn) > 0, ..BlockErrors::default() };
        Self {
            reliability,
            limits,
            pages_per_block: f64::from(geometry.pages_per_block()) / f64::from(reliability.units_per_page),
            blocks: blocks.map(block).collect(),
            due: VecDeque::new(),
            patrolled: 0,
            speedup: 0.0,
            has_restarted: false,
            counts: ReadRetries::default(),
        }
    }

    /// What was counted so far.
    pub fn counts(&self) -> &ReadRetries {
        &self.counts
    }

    /// From the end of a try to the begin of the next.
    pub(crate) fn retry_latency(&self) -> Nanos {
        self.reliability.retry_latency
    }

    /// A page of a block is read; returns how often the read is tried again.
    pub(crate) fn on_read(&mut self, device: &(impl Flash + ?Sized), pbn: Pbn, now: Nanos) -> u8 {
        let level = self.look(device, pbn, now);
        self.blocks[pbn.index()].reads += 1 + u64::from(level.retries);
        self.counts.reads[usize::from(level.retries)] += 1;
        self.counts.uncorrectable += u64::from(level.is_uncorrectable);
        level.retries
    }

    /// A page of a block is programmed.
    pub(crate) fn on_programmed(&mut self, pbn: Pbn, now: Nanos) {
        let block = &mut self.blocks[pbn.index()];
        if !block.holds_data {
            *block = BlockErrors { holds_data: true, since: now, ..BlockErrors::default() };
        }
    }

    /// A block is erased.
    pub(crate) fn on_erased(&mut self, pbn: Pbn) {
        self.blocks[pbn.index()] = BlockErrors::default();
    }

    /// The clock starts anew, at a moment of the old one. The first time, what the device holds has
    /// lain for the days that were asked for.
    pub(crate) fn restart(&mut self, now: Nanos) {
        let shelf = if self.has_restarted { 0.0 } else { self.reliability.retention_days };
        for block in &mut self.blocks {
            let days = if block.holds_data { age(block, now, self.speedup) + shelf } else { 0.0 };
            *block = BlockErrors { days, since: Nanos::ZERO, known: None, ..*block };
        }
        (self.has_restarted, self.speedup) = (true, self.reliability.retention_speedup);
    }

    /// A block that is to be refreshed, if there is one. Each time, one block more is looked at,
    /// since data grow old without being read, too.
    pub(crate) fn next_to_refresh(&mut self, device: &(impl Flash + ?Sized), now: Nanos) -> Option<Pbn> {
        let patrolled = Pbn::new(self.patrolled);
        self.patrolled = (self.patrolled + 1) % self.blocks.len() as u32;
        self.look(device, patrolled, now);
        while let Some(pbn) = self.due.pop_front() {
            if std::mem::take(&mut self.blocks[pbn.index()].is_queued) && !device.is_bad(pbn) {
                return Some(pbn);
            }
        }
        None
    }

    /// What became of that block.
    pub(crate) fn on_refreshed(&mut self, pbn: Pbn, outcome: RelocateOutcome) {
        match outcome {
            RelocateOutcome::Done | RelocateOutcome::Retired => self.counts.refreshed_blocks += 1,
            RelocateOutcome::Deferred(Deferred::NoRoom) => self.queue(pbn),
            RelocateOutcome::Deferred(Deferred::IsBad) => {}
            RelocateOutcome::Deferred(Deferred::ReadOnly | Deferred::NotOffered) => self.stop_refreshing(),
        }
    }

    fn stop_refreshing(&mut self) {
        (self.reliability.refresh_at, self.counts.is_refreshing_over) = (0.0, true);
        self.due.clear();
        self.blocks.iter_mut().for_each(|block| (block.is_queued, block.known) = (false, None));
    }

    fn queue(&mut self, pbn: Pbn) {
        self.blocks[pbn.index()].is_queued = true;
        self.due.push_back(pbn);
    }

    /// The level of a block now; one that is due is queued.
    fn look(&mut self, device: &(impl Flash + ?Sized), pbn: Pbn, now: Nanos) -> Level {
        let block = &self.blocks[pbn.index()];
        let known = block.known.filter(|known| block.reads <= known.reads && now <= known.time);
        let level = known.map_or_else(|| self.find_level(device, pbn, now), |known| known.level);
        let BlockErrors { is_queued, holds_data, .. } = self.blocks[pbn.index()];
        if level.is_due && holds_data && !is_queued && !device.is_bad(pbn) {
            self.queue(pbn);
        }
        level
    }

    fn find_level(&mut self, device: &(impl Flash + ?Sized), pbn: Pbn, now: Nanos) -> Level {
        let block = self.blocks[pbn.index()];
        let erases = f64::from(self.reliability.initial_erases) + f64::from(device.erase_count(pbn));
        let days = age(&block, now, self.speedup);
        let level = self.level(erases, days, block.reads);
        let reads = block.reads + (block.reads as f64).max(self.pages_per_block).mul_add(LOOK_AHEAD, 1.0) as u64;
        let more_ns = days.max(LOOK_AHEAD) * LOOK_AHEAD * NS_A_DAY / self.speedup;
        let time = Nanos(now.0.saturating_add(more_ns as u64));
        let later = self.level(erases, age(&block, time, self.speedup), reads);
        let (reads, time) = if later == level { (reads, time) } else { (block.reads, now) };
        self.blocks[pbn.index()].known = Some(LevelLimit { level, reads, time });
        level
    }

    fn level(&self, erases: f64, days: f64, reads: u64) -> Level {
        let Self { reliability: Reliability { model, ecc_limit, read_retries, refresh_at, .. }, limits, .. } = self;
        let rate = model.rate(Stress { erases, days, reads_per_page: reads as f64 / self.pages_per_block });
        let most = usize::from(*read_retries);
        let enough = (0..=most).find(|&retries| rate <= limits[retries]);
        // Where even fresh data have so many errors, writing them anew is for nothing.
        let fresh = || model.rate(Stress { erases, ..Stress::default() });
        let refreshes_beyond = refresh_at * ecc_limit;
        let is_due = *refresh_at > 0.0 && rate > refreshes_beyond && fresh() <= refreshes_beyond;
        Level { retries: enough.unwrap_or(most) as u8, is_uncorrectable: enough.is_none(), is_due }
    }
}

/// How old the data of a block are, in days; what is erased does not age.
fn age(block: &BlockErrors, now: Nanos, speedup: f64) -> f64 {
    if !block.holds_data {
        return 0.0;
    }
    block.days + now.since(block.since).0 as f64 * speedup / NS_A_DAY
}

#[cfg(test)]
mod tests;
