//! What of a trace is taken over as it is: sizes, shares, gaps, range. One pass, in memory that
//! does not grow with the trace.

use std::collections::{BTreeMap, HashMap};

use hdrhistogram::Histogram;
use host::HostOp;

use crate::generate::{Arrivals, WeightedSize};
use crate::record::Record;
use crate::statistics::Statistics;
use crate::units::{Bytes, Nanoseconds, SECTOR};

/// Different sizes that are counted one by one; beyond, a size counts as the next eighth of its
/// power of two.
const SIZES_COUNTED: usize = 4096;
/// Sizes that a preset names one by one: the most common of reads and of writes. The others are
/// merged by power of two.
const SIZES_NAMED: usize = 16;

/// Pages at whose sectors starts are counted.
pub(super) const PAGE: u64 = 4096;
/// Sectors of a page.
const SECTORS: usize = (PAGE / SECTOR) as usize;

/// Pages whose last start is known; of a longer trace the first are enough.
const PAGES_KNOWN: usize = 1 << 20;

/// Ranges are whole mebibytes, so that every extent that a search may try divides them.
const SPAN_GRAIN: u64 = 1 << 20;

/// Gaps of more than so many times the usual one are pauses between bursts.
const PAUSE: f64 = 10.0;

/// Requests that read or write, and start at a page or inside one.
#[derive(Default)]
pub(super) struct Class {
    sizes: BTreeMap<u32, u64>,
    /// How many start at each sector of a page.
    starts: [u64; SECTORS],
    /// Starts in a page in which one of this class was the last to start, and those of them at the
    /// same sector.
    again: u64,
    kept: u64,
}

impl Class {
    fn observe(&mut self, record: &Record) {
        let sizes = &mut self.sizes;
        let mut length = record.length;
        if sizes.len() >= SIZES_COUNTED && !sizes.contains_key(&length) {
            let eighth = (length.next_power_of_two() / 16).max(1);
            length = length.div_ceil(eighth).saturating_mul(eighth);
        }
        *sizes.entry(length).or_default() += 1;
        self.starts[(record.offset % PAGE / SECTOR) as usize] += 1;
    }

    /// Share of the starts at their page's own sector: as many more as the starts in a page agree
    /// than they would by chance.
    pub(super) fn starts_kept(&self) -> f64 {
        let all = self.requests().max(1) as f64;
        let chance: f64 = self.starts.iter().map(|&count| (count as f64 / all).powi(2)).sum();
        let agreeing = self.kept as f64 / self.again.max(1) as f64;
        // Two agree where both keep their page's sector.
        let kept = ((agreeing - chance) / (1.0 - chance)).max(0.0).sqrt();
        if kept.is_finite() { (kept * 100.0).round() / 100.0 } else { 0.0 }
    }

    pub(super) fn sizes(&self) -> Vec<WeightedSize> {
        weighted(&self.sizes)
    }

    /// Weights of the sectors; none where all start at pages.
    pub(super) fn starts(&self) -> Option<Vec<f64>> {
        let inside = self.starts[1..].iter().any(|&count| count > 0);
        inside.then(|| self.starts.iter().map(|&count| count as f64).collect())
    }

    pub(super) fn requests(&self) -> u64 {
        self.starts.iter().sum()
    }
}

/// Sizes, starts and gaps in the making.
pub(super) struct Measured {
    /// Reads and writes, those that start at pages and those that do not: sizes go with starts.
    reads: [Class; 2],
    writes: [Class; 2],
    gaps_ns: Histogram<u64>,
    gaps_total_ns: u64,
    previous_ns: Option<u64>,
    /// The sector at which a request last started, by device and page.
    last_starts: HashMap<(u32, u64), u8>,
}

impl Measured {
    pub(super) fn new() -> Self {
        let gaps_ns = Histogram::new_with_bounds(1, u64::MAX >> 1, 3).expect("bounds and digits are valid");
        Self {
            reads: Default::default(),
            writes: Default::default(),
            gaps_ns,
            gaps_total_ns: 0,
            previous_ns: None,
            last_starts: HashMap::new(),
        }
    }

    /// Counts a request; trims and flushes are left out of a look-alike.
    pub(super) fn observe(&mut self, record: &Record) {
        let classes = match record.op {
            HostOp::Read => &mut self.reads,
            HostOp::Write => &mut self.writes,
            HostOp::Trim | HostOp::Flush => return,
        };
        let sector = (record.offset % PAGE / SECTOR) as u8;
        let class = &mut classes[usize::from(!record.offset.is_multiple_of(PAGE))];
        class.observe(record);
        let page = (record.device, record.offset / PAGE);
        if self.last_starts.len() < PAGES_KNOWN || self.last_starts.contains_key(&page) {
            let last = self.last_starts.insert(page, sector).filter(|&last| (last > 0) == (sector > 0));
            class.again += u64::from(last.is_some());
            class.kept += u64::from(last == Some(sector));
        }
        if let Some(previous_ns) = self.previous_ns {
            let gap_ns = record.time_ns.saturating_sub(previous_ns);
            self.gaps_ns.saturating_record(gap_ns);
            self.gaps_total_ns += gap_ns;
        }
        self.previous_ns = Some(record.time_ns);
    }

    /// The classes of reads and of writes that have requests.
    pub(super) fn classes(&self) -> [Vec<&Class>; 2] {
        [&self.reads, &self.writes].map(|classes| classes.iter().filter(|class| class.requests() > 0).collect())
    }

    /// Bursts whose usual gap is the median's, and which are as long as there are requests for
    /// each pause; a Poisson process where there is no pause.
    pub(super) fn arrivals(&self) -> Arrivals {
        let gaps = self.gaps_ns.len();
        if gaps == 0 || self.gaps_total_ns < gaps {
            return Arrivals::AtOnce;
        }
        let mean_ns = self.gaps_total_ns / gaps;
        let mean_gap = Nanoseconds(mean_ns);
        // The median of an exponential gap is ln 2 of its mean.
        let usual_ns = self.gaps_ns.value_at_quantile(0.5) as f64 / std::f64::consts::LN_2;
        let pauses = gaps - self.gaps_ns.count_between(0, (PAUSE * usual_ns) as u64);
        if pauses == 0 || usual_ns >= mean_ns as f64 {
            return Arrivals::Poisson { mean_gap };
        }
        let burst = (gaps as f64 / pauses as f64 * 100.0).round() / 100.0;
        Arrivals::Bursty { mean_gap, burst_gap: Nanoseconds(usual_ns as u64), burst }
    }
}

/// The most common sizes one by one, the others by power of two at their mean.
fn weighted(sizes: &BTreeMap<u32, u64>) -> Vec<WeightedSize> {
    let mut common: Vec<(u32, u64)> = sizes.iter().map(|(size, count)| (*size, *count)).collect();
    common.sort_by_key(|(size, count)| (std::cmp::Reverse(*count), *size));
    let mut others: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (size, count) in common.drain(SIZES_NAMED.min(common.len())..) {
        let (bytes, counts) = others.entry(size.ilog2()).or_default();
        *bytes += u64::from(size) * count;
        *counts += count;
    }
    let merged = others.into_values().map(|(bytes, count)| (((bytes / count) as u32).next_multiple_of(512), count));
    let mut all: BTreeMap<u32, u64> = BTreeMap::new();
    common.into_iter().chain(merged).for_each(|(size, count)| *all.entry(size).or_default() += count);
    all.into_iter().map(|(size, count)| WeightedSize { size: Bytes(u64::from(size)), weight: count as f64 }).collect()
}

/// From the lowest byte to the highest of each device, one after another, in whole mebibytes.
pub(super) fn span(statistics: &Statistics) -> Bytes {
    let spans = statistics.devices.iter().filter_map(|device| Some(device.end_byte? - device.lowest_byte?));
    Bytes(spans.sum::<u64>().next_multiple_of(SPAN_GRAIN))
}
