//! Running counts of one device (or, absorbed, of all): what [`Profile`] is computed from.

use std::ops::AddAssign;

use host::HostOp;
use roaring::RoaringTreemap;

use super::profile::{Alignment, Footprint, Profile, SizeClasses};
use crate::record::Record;
use crate::units::SECTOR;

/// Bytes in a page of footprints. The papers count 4 KiB whatever the device's pages are.
const PAGE: u64 = 4096;
/// The largest small request, and the smallest large one, bytes (thesis, table 5.1).
const SMALL_MAX: u64 = 4 << 10;
const LARGE_MIN: u64 = 16 << 10;

/// Requests of one kind, by size.
#[derive(Clone, Copy, Default)]
struct Sizes {
    small: u64,
    medium: u64,
    large: u64,
    bytes: u128,
}

impl Sizes {
    fn observe(&mut self, length: u64) {
        if length <= SMALL_MAX {
            self.small += 1;
        } else if length < LARGE_MIN {
            self.medium += 1;
        } else {
            self.large += 1;
        }
        self.bytes += u128::from(length);
    }

    fn count(&self) -> u64 {
        self.small + self.medium + self.large
    }

    fn mean_kib(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.bytes as f64 / self.count() as f64 / 1024.0)
    }

    fn classes(&self) -> Option<SizeClasses> {
        let count = self.count();
        Some(SizeClasses {
            small_percent: percent(self.small, count)?,
            medium_percent: percent(self.medium, count)?,
            large_percent: percent(self.large, count)?,
        })
    }
}

impl AddAssign for Sizes {
    fn add_assign(&mut self, other: Self) {
        self.small += other.small;
        self.medium += other.medium;
        self.large += other.large;
        self.bytes += other.bytes;
    }
}

/// Running counts.
#[derive(Default)]
pub(crate) struct Tally {
    reads: Sizes,
    writes: Sizes,
    trims: u64,
    flushes: u64,
    sequential: u64,
    sequential_writes: u64,
    /// Where the last read, write or trim ended, and where the last write did.
    last_end: Option<u64>,
    last_write_end: Option<u64>,
    /// Earliest and latest arrival.
    times_ns: Option<(u64, u64)>,
    /// Lowest byte, and one past the highest.
    reach: Option<(u64, u64)>,
    /// Summed over devices, bytes.
    span: u128,
    pages_read: RoaringTreemap,
    pages_written: RoaringTreemap,
    footprint: Footprint,
    write_touches: u128,
    /// Starts by residue; and those of them whose length is a multiple of a page.
    residues: [u64; 8],
    whole_pages: [u64; 8],
    off_sector: u64,
}

impl Tally {
    /// Counts `record`.
    pub(crate) fn observe(&mut self, record: &Record) {
        let (first, last) = self.times_ns.unwrap_or((record.time_ns, record.time_ns));
        self.times_ns = Some((first.min(record.time_ns), last.max(record.time_ns)));
        let length = u64::from(record.length);
        match record.op {
            HostOp::Flush => {
                self.flushes += 1;
                return;
            }
            HostOp::Trim => self.trims += 1,
            HostOp::Read => {
                self.reads.observe(length);
                insert(&mut self.pages_read, pages(record));
            }
            HostOp::Write => {
                self.writes.observe(length);
                let range = pages(record);
                self.write_touches += u128::from(range.end - range.start);
                insert(&mut self.pages_written, range);
                self.sequential_writes += u64::from(self.last_write_end == Some(record.offset));
                self.last_write_end = Some(record.end());
            }
        }
        self.place(record);
    }

    /// Sequence, reach and alignment of a request with an address.
    fn place(&mut self, record: &Record) {
        self.sequential += u64::from(self.last_end == Some(record.offset));
        self.last_end = Some(record.end());
        let (lowest, end) = self.reach.unwrap_or((record.offset, record.end()));
        self.reach = Some((lowest.min(record.offset), end.max(record.end())));
        if record.offset.is_multiple_of(SECTOR) {
            let residue = (record.offset / SECTOR % 8) as usize;
            self.residues[residue] += 1;
            self.whole_pages[residue] += u64::from(u64::from(record.length).is_multiple_of(PAGE));
        } else {
            self.off_sector += 1;
        }
    }

    /// Adds a device's counts to a total. The total itself observes nothing, so page sets need not
    /// be merged: pages of different devices are different pages.
    pub(crate) fn absorb(&mut self, device: &Self) {
        self.reads += device.reads;
        self.writes += device.writes;
        self.trims += device.trims;
        self.flushes += device.flushes;
        self.sequential += device.sequential;
        self.sequential_writes += device.sequential_writes;
        self.times_ns = widest(self.times_ns, device.times_ns);
        self.reach = widest(self.reach, device.reach);
        self.span += device.span_bytes();
        let footprint = device.footprint();
        self.footprint.read_pages += footprint.read_pages;
        self.footprint.written_pages += footprint.written_pages;
        self.footprint.touched_pages += footprint.touched_pages;
        self.write_touches += device.write_touches;
        for residue in 0..8 {
            self.residues[residue] += device.residues[residue];
            self.whole_pages[residue] += device.whole_pages[residue];
        }
        self.off_sector += device.off_sector;
    }

    fn span_bytes(&self) -> u128 {
        if self.span > 0 { self.span } else { self.reach.map_or(0, |(lowest, end)| u128::from(end - lowest)) }
    }

    fn footprint(&self) -> Footprint {
        let (read_pages, written_pages) = (self.pages_read.len(), self.pages_written.len());
        let touched_pages = read_pages + written_pages - self.pages_read.intersection_len(&self.pages_written);
        Footprint {
            read_pages: read_pages + self.footprint.read_pages,
            written_pages: written_pages + self.footprint.written_pages,
            touched_pages: touched_pages + self.footprint.touched_pages,
        }
    }

    /// The row of these counts.
    pub(crate) fn profile(&self, device: String) -> Profile {
        let mut both = self.reads;
        both += self.writes;
        let (reads, writes) = (self.reads.count(), self.writes.count());
        let addressed = reads + writes + self.trims;
        let requests = addressed + self.flushes;
        let duration_ns = self.times_ns.map_or(0, |(first, last)| last - first);
        let footprint = self.footprint();
        Profile {
            device,
            requests,
            reads,
            writes,
            trims: self.trims,
            flushes: self.flushes,
            read_percent: percent(reads, requests),
            write_percent: percent(writes, requests),
            trim_percent: percent(self.trims, requests),
            sequential_percent: percent(self.sequential, addressed),
            sequential_write_percent: percent(self.sequential_writes, writes),
            mean_size_kib: both.mean_kib(),
            mean_read_size_kib: self.reads.mean_kib(),
            mean_write_size_kib: self.writes.mean_kib(),
            sizes: both.classes(),
            write_sizes: self.writes.classes(),
            mean_gap_ms: (requests > 1).then(|| duration_ns as f64 / 1e6 / (requests - 1) as f64),
            duration_s: duration_ns as f64 / 1e9,
            overwrite_factor: (footprint.written_pages > 0)
                .then(|| self.write_touches as f64 / footprint.written_pages as f64),
            footprint,
            span_gb: self.span_bytes() as f64 / 1e9,
            lowest_byte: self.reach.map(|(lowest, _)| lowest),
            end_byte: self.reach.map(|(_, end)| end),
            alignment: self.alignment(addressed),
        }
    }

    fn alignment(&self, addressed: u64) -> Option<Alignment> {
        let aligned_percent = percent(self.residues[0], addressed)?;
        let most_common = |counts: &[u64; 8]| (0..8).max_by_key(|&residue| (counts[residue], 8 - residue)).unwrap_or(0);
        let fitting = most_common(&self.whole_pages);
        Some(Alignment {
            aligned_percent,
            residue_percent: self.residues.map(|count| percent(count, addressed).unwrap_or(0.0)),
            off_sector_percent: percent(self.off_sector, addressed)?,
            common_residue: most_common(&self.residues) as u8,
            best_shift_bytes: (8 - fitting as u64) % 8 * SECTOR,
            best_shift_percent: percent(self.whole_pages[fitting], addressed)?,
        })
    }
}

fn pages(record: &Record) -> std::ops::Range<u64> {
    record.offset / PAGE..record.end().div_ceil(PAGE)
}

/// Most requests of old traces touch one page, for which a range is the long way.
fn insert(set: &mut RoaringTreemap, pages: std::ops::Range<u64>) {
    if pages.end - pages.start == 1 {
        set.insert(pages.start);
    } else {
        set.insert_range(pages);
    }
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

fn widest(a: Option<(u64, u64)>, b: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (a, b) {
        (Some((low, high)), Some((other_low, other_high))) => Some((low.min(other_low), high.max(other_high))),
        (one, other) => one.or(other),
    }
}
