//! What a look-alike is held to, and how far one is from it.
//!
//! A difference of one *unit* is as bad in any figure. Units are of the size of what two windows of
//! one recorded server differ by (`hm_0`: 8 points of pages rewritten, 15 of the top share, a fifth
//! of the logical blocks, 2 points of writes in runs and 1 of their pages). The misfit is the mean
//! of the squares.

use std::collections::VecDeque;

use host::HostOp;
use serde::Serialize;

use crate::generate::{GeneratorSpec, SpecError, generate};
use crate::record::Record;
use crate::statistics::{Locality, LocalityWindow, locality_of};

/// Units: points of a percentage, and parts of a ratio.
const REWRITTEN_POINTS: f64 = 5.0;
const TOP_POINTS: f64 = 5.0;
const BLOCKS_RATIO: f64 = 0.15;
const RUN_WRITE_POINTS: f64 = 3.0;
const RUN_PAGE_POINTS: f64 = 5.0;
const SEQUENTIAL_POINTS: f64 = 1.0;
const HIT_POINTS: f64 = 1.0;
/// Hits, the only figure of a long run, weigh as much as this many figures of windows.
const HIT_WEIGHT: f64 = 10.0;

/// Pages of the buffer whose hits are a target: 64 MiB of 2 KiB.
const BUFFER_PAGES: usize = 32_768;
const BUFFER_PAGE: u64 = 2048;
/// Requests until its hits are counted, and requests in all: the buffer is filled some five times.
const BUFFER_WARM: u64 = 200_000;
const BUFFER_REQUESTS: u64 = 400_000;

/// What a look-alike should have.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Recorded traces.
    pub recorded: Vec<Recorded>,
    /// Requests that start where the one before them ended, %.
    pub sequential_percent: Option<f64>,
    /// Page hits of a warm LRU buffer of 64 MiB, of all reads and writes, %.
    pub hit_percent: Option<f64>,
}

/// Locality of a recorded trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Requests that are generated to compare with, as a trace's beginning has nothing before it.
    pub requests: u64,
    /// Its figures by window length.
    pub windows: Vec<LocalityWindow>,
}

/// A figure that a look-alike was held to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Residual {
    /// Its name.
    pub figure: &'static str,
    /// Window length, pages; none of a figure of the whole workload.
    pub window_pages: Option<u64>,
    /// What the trace or the publication has.
    pub target: f64,
    /// What the look-alike has.
    pub fitted: f64,
    /// The difference in units of the misfit.
    pub units: f64,
    #[serde(skip)]
    weight: f64,
}

impl Target {
    /// How far the workload is from the target, figure by figure.
    pub(crate) fn residuals(&self, spec: &GeneratorSpec, seed: u64) -> Result<Vec<Residual>, SpecError> {
        let mut residuals = Vec::new();
        for recorded in &self.recorded {
            let spec = GeneratorSpec { requests: recorded.requests, ..spec.clone() };
            let locality = locality_of(generate(&spec, seed)?);
            compare(&mut residuals, &recorded.windows, locality.as_ref());
        }
        let whole = |figure, target, fitted, unit, weight| Residual {
            figure,
            window_pages: None,
            target,
            fitted,
            units: (fitted - target) / unit,
            weight,
        };
        if let Some(target) = self.sequential_percent {
            let spec = GeneratorSpec { requests: 50_000, ..spec.clone() };
            let fitted = sequential_percent(generate(&spec, seed)?);
            residuals.push(whole("sequential_percent", target, fitted, SEQUENTIAL_POINTS, 1.0));
        }
        if let Some(target) = self.hit_percent {
            let fitted = buffer_hit_percent(spec, seed)?;
            residuals.push(whole("buffer_hit_percent", target, fitted, HIT_POINTS, HIT_WEIGHT));
        }
        Ok(residuals)
    }
}

/// The mean square of the differences in units.
pub(crate) fn misfit(residuals: &[Residual]) -> f64 {
    let weight: f64 = residuals.iter().map(|residual| residual.weight).sum();
    let squares = residuals.iter().map(|residual| residual.weight * residual.units * residual.units);
    squares.sum::<f64>() / weight
}

fn compare(residuals: &mut Vec<Residual>, windows: &[LocalityWindow], fitted: Option<&Locality>) {
    let rows = fitted.map_or(&[][..], |locality| &locality.windows);
    for (target, fitted) in windows.iter().zip(rows) {
        let points = |figure, target, fitted, unit| (figure, target, fitted, (fitted - target) / unit);
        let figures = [
            points("rewritten_percent", target.rewritten_percent, fitted.rewritten_percent, REWRITTEN_POINTS),
            points("top_percent", target.top_percent, fitted.top_percent, TOP_POINTS),
            (
                "logical_blocks",
                target.logical_blocks,
                fitted.logical_blocks,
                (fitted.logical_blocks / target.logical_blocks).ln() / BLOCKS_RATIO,
            ),
            points("run_write_percent", target.run_write_percent, fitted.run_write_percent, RUN_WRITE_POINTS),
            points("run_page_percent", target.run_page_percent, fitted.run_page_percent, RUN_PAGE_POINTS),
        ];
        let pages = target.pages;
        residuals.extend(figures.map(|(figure, target, fitted, units)| Residual {
            figure,
            window_pages: Some(pages),
            target,
            fitted,
            units,
            weight: 1.0,
        }));
    }
}

fn sequential_percent(records: impl Iterator<Item = Record>) -> f64 {
    let (mut end, mut requests, mut sequential) = (None, 0_u64, 0_u64);
    for record in records {
        requests += 1;
        sequential += u64::from(end == Some(record.offset));
        end = Some(record.end());
    }
    100.0 * sequential as f64 / requests as f64
}

/// Page hits of a warm LRU buffer of 64 MiB, of all reads and writes, %.
pub fn buffer_hit_percent(spec: &GeneratorSpec, seed: u64) -> Result<f64, SpecError> {
    let spec = GeneratorSpec { requests: BUFFER_REQUESTS, ..spec.clone() };
    let mut buffer = Buffer::new(spec.start.0 + spec.span.0);
    let (mut pages, mut hits) = (0_u64, 0_u64);
    for (index, record) in generate(&spec, seed)?.enumerate() {
        if !matches!(record.op, HostOp::Read | HostOp::Write) {
            continue;
        }
        for page in record.offset / BUFFER_PAGE..record.end().div_ceil(BUFFER_PAGE) {
            let hit = buffer.uses(page);
            if index as u64 >= BUFFER_WARM {
                pages += 1;
                hits += u64::from(hit);
            }
        }
    }
    Ok(100.0 * hits as f64 / pages as f64)
}

/// A buffer of pages that leaves the least recently used one.
struct Buffer {
    used: usize,
    /// Last use of each page, 0 for one that is not held.
    last_use: Vec<u64>,
    /// Pages in order of use; an entry is stale when its page was used again.
    order: VecDeque<(u64, u64)>,
    clock: u64,
}

impl Buffer {
    fn new(bytes: u64) -> Self {
        let pages = bytes.div_ceil(BUFFER_PAGE) as usize;
        Self { used: 0, last_use: vec![0; pages], order: VecDeque::new(), clock: 0 }
    }

    /// Uses a page; whether it was held.
    fn uses(&mut self, page: u64) -> bool {
        self.clock += 1;
        let hit = std::mem::replace(&mut self.last_use[page as usize], self.clock) != 0;
        self.order.push_back((page, self.clock));
        self.used += usize::from(!hit);
        while self.used > BUFFER_PAGES
            && let Some((oldest, used_at)) = self.order.pop_front()
        {
            let last_use = &mut self.last_use[oldest as usize];
            if *last_use == used_at {
                *last_use = 0;
                self.used -= 1;
            }
        }
        hit
    }
}
