//! What of a trace is taken over as it is: sizes, shares, range, and the new requests apart from
//! those that repeat one. One pass, in memory that does not grow with the trace.

use std::collections::{BTreeMap, HashMap};

use host::HostOp;

use super::arrivals::Queues;
use super::reuses::{PAGE, Reuses, Seen};
use crate::generate::{Reuse, WeightedSize};
use crate::record::Record;
use crate::statistics::Statistics;
use crate::units::{Bytes, SECTOR};

/// Different sizes that are counted one by one; beyond, a size counts as the next eighth of its
/// power of two.
const SIZES_COUNTED: usize = 4096;
/// Sizes that a preset names one by one: the most common of reads and of writes. The others are
/// merged by power of two.
const SIZES_NAMED: usize = 16;

/// Sectors of a page.
const SECTORS: usize = (PAGE / SECTOR) as usize;

/// Pages whose last start is known; of a longer trace the first are enough.
const PAGES_KNOWN: usize = 1 << 20;

/// Ranges are whole mebibytes, so that every extent that a search may try divides them.
const SPAN_GRAIN: u64 = 1 << 20;

/// From the classes of requests that are not repeated to those of the ones that are.
const REPEATED: usize = 2;

/// New requests that read or write, start at a page or inside one, and are repeated or not.
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
        *self.count_of(record.length) += 1;
        self.starts[sector_of(record)] += 1;
    }

    /// Takes back a request that was observed.
    fn forget(&mut self, record: &Record) {
        let count = self.count_of(record.length);
        *count = count.saturating_sub(1);
        self.starts[sector_of(record)] -= 1;
    }

    fn count_of(&mut self, mut length: u32) -> &mut u64 {
        let sizes = &mut self.sizes;
        if sizes.len() >= SIZES_COUNTED && !sizes.contains_key(&length) {
            let eighth = (length.next_power_of_two() / 16).max(1);
            length = length.div_ceil(eighth).saturating_mul(eighth);
        }
        sizes.entry(length).or_default()
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

/// A class and those of its requests that are new.
pub(super) struct NewRequests<'a> {
    pub(super) class: &'a Class,
    /// Whether later requests repeat them.
    pub(super) is_repeated: bool,
    /// Their share of the class, of which all uses are counted.
    pub(super) share: f64,
}

/// Sizes, starts, arrivals and reuse in the making.
#[derive(Default)]
pub(super) struct Measured {
    /// Reads and writes, those that start at pages and those that do not: sizes go with starts.
    /// First those that no later request repeats, then those that one does.
    reads: [Class; 4],
    writes: [Class; 4],
    reuses: Reuses,
    /// New reads and writes that are repeated.
    repeated: [u64; 2],
    queues: Queues,
    /// The sector at which a request last started, by device and page.
    last_starts: HashMap<(u32, u64), u8>,
}

impl Measured {
    /// Counts a request; trims and flushes are left out of a look-alike.
    pub(super) fn observe(&mut self, record: &Record) {
        if !matches!(record.op, HostOp::Read | HostOp::Write) {
            return;
        }
        let seen = self.reuses.observe(record);
        match seen {
            Seen::New => self.observe_new(record),
            Seen::RepeatsNew(op) => {
                // What was counted as never repeated is repeated now.
                let class = usize::from(sector_of(record) > 0);
                let classes = self.classes_of(op);
                classes[class].forget(record);
                classes[class + REPEATED].observe(record);
                self.repeated[usize::from(op == HostOp::Write)] += 1;
            }
            Seen::RepeatsRepeated => {}
        }
        if !matches!(seen, Seen::New) {
            // Later ones copy it, so its size counts as one of those that are repeated.
            let class = usize::from(sector_of(record) > 0) + REPEATED;
            self.classes_of(record.op)[class].observe(record);
        }
        self.queues.observe(record.time_ns);
    }

    fn observe_new(&mut self, record: &Record) {
        let sector = sector_of(record) as u8;
        let page = (record.device, record.offset / PAGE);
        let is_known = self.last_starts.len() < PAGES_KNOWN || self.last_starts.contains_key(&page);
        let last = if is_known { self.last_starts.insert(page, sector) } else { None };
        let last = last.filter(|&last| (last > 0) == (sector > 0));
        let class = &mut self.classes_of(record.op)[usize::from(sector > 0)];
        class.observe(record);
        class.again += u64::from(last.is_some());
        class.kept += u64::from(last == Some(sector));
    }

    fn classes_of(&mut self, op: HostOp) -> &mut [Class; 4] {
        if op == HostOp::Write { &mut self.writes } else { &mut self.reads }
    }

    /// The classes of reads and of writes that have requests.
    pub(super) fn classes(&self) -> [Vec<NewRequests<'_>>; 2] {
        [(&self.reads, self.repeated[0]), (&self.writes, self.repeated[1])].map(|(classes, repeated)| {
            let uses: u64 = classes[REPEATED..].iter().map(Class::requests).sum();
            let share = repeated as f64 / uses.max(1) as f64;
            let new = classes.iter().enumerate().map(|(index, class)| {
                let is_repeated = index >= REPEATED;
                NewRequests { class, is_repeated, share: if is_repeated { share } else { 1.0 } }
            });
            new.filter(|new| new.class.requests() > 0).collect()
        })
    }

    /// The requests that repeat an earlier one.
    pub(super) fn reuse(&self) -> Vec<Reuse> {
        self.reuses.reuse()
    }

    /// How requests wait for each other.
    pub(super) fn queues(&self) -> &Queues {
        &self.queues
    }
}

/// The sector of its page at which a request starts.
fn sector_of(record: &Record) -> usize {
    (record.offset % PAGE / SECTOR) as usize
}

/// The most common sizes one by one, the others by power of two at their mean.
fn weighted(sizes: &BTreeMap<u32, u64>) -> Vec<WeightedSize> {
    let counted = sizes.iter().map(|(size, count)| (*size, *count));
    let mut common: Vec<(u32, u64)> = counted.filter(|(_, count)| *count > 0).collect();
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
