//! What a workload is like: the columns by which the papers describe theirs (WAFTL's table III, the
//! thesis's table 5.1), and those by which one sees what a trace would do to a device.
//!
//! Meanings, since papers differ and seldom say:
//! - *Sequential*: the request starts exactly where the one before it on the same device ended,
//!   whatever the two do. *Sequential write*: a write that starts exactly where the last **write**
//!   of its device ended, reads in between not counting.
//! - *KiB* of a request is 1024 bytes; *GB* of a span is 10⁹ bytes.
//! - *Size classes*: small ≤ 4 KiB, medium < 16 KiB, large the rest; of reads and writes.
//! - *Footprint*: distinct 4 KiB pages touched by reads and writes. *Overwrite factor*: pages
//!   touched by writes, each time counted, over distinct pages written; 1 means that nothing is
//!   written twice.
//! - *Span*: from the lowest byte to the highest, device by device, summed in the total.
//! - *Gap*: time between two arrivals in a row.
//! - *Residue*: start of a request in 512 B sectors, modulo 8; 0 starts at a 4 KiB boundary. *Best
//!   shift*: the bytes to add to all addresses so that most requests lie on 4 KiB pages at both
//!   ends.
//! - *Locality* of writes over window lengths: [`Locality`].
//!
//! Shares and means over nothing are `None`. Trims and flushes count as requests but have no part
//! in sizes and footprint; trims have one in sequentiality, span and alignment. Memory grows with
//! the pages touched (compressed bitmaps), not with the requests; that of the locality is bounded.

mod locality;
mod profile;
mod tally;

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use host::HostOp;
use serde::Serialize;

pub use locality::{Locality, LocalityWindow};
pub use profile::{Alignment, Footprint, Gaps, Profile, SizeClasses};

use crate::error::TraceError;
use crate::record::Record;
use crate::trace::Trace;
use locality::Locating;
pub(crate) use tally::Tally;

/// The shape of a workload, over all devices and for each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// All devices together.
    pub total: Profile,
    /// Percentiles of the time between arrivals, over all devices; none below two requests.
    pub gaps: Option<Gaps>,
    /// Locality of the writes, over all devices; none without writes.
    pub locality: Option<Locality>,
    /// Writes by stream hint, ascending; empty where no write has one.
    pub streams: Vec<StreamWrites>,
    /// Each device, in order of first appearance.
    pub devices: Vec<Profile>,
}

/// The writes that name a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StreamWrites {
    /// The stream, 0 where a write names none.
    pub stream: u8,
    /// How many writes.
    pub writes: u64,
    /// How many bytes they write.
    pub bytes: u64,
}

impl Statistics {
    /// The statistics of requests in order of arrival. Devices are named by their number; see
    /// [`Statistics::of_trace`].
    pub fn of(records: impl IntoIterator<Item = Result<Record, TraceError>>) -> Result<Self, TraceError> {
        let mut survey = Observer::new();
        for record in records {
            survey.observe(&record?);
        }
        Ok(survey.finish(&[]))
    }

    /// The statistics of what is left of `trace`, with its device names.
    pub fn of_trace(trace: &mut Trace) -> Result<Self, TraceError> {
        let mut survey = Observer::new();
        for record in &mut *trace {
            survey.observe(&record?);
        }
        Ok(survey.finish(trace.devices()))
    }
}

/// Locality alone, of the writes among `records`; none without any.
pub(crate) fn locality_of(records: impl Iterator<Item = Record>) -> Option<Locality> {
    let mut locality = Locating::default();
    records.filter(|record| record.op == HostOp::Write).for_each(|record| locality.observe(&record));
    locality.finish()
}

/// Statistics in the making.
struct Observer {
    devices: Vec<Tally>,
    gaps: Histogram<u64>,
    locality: Locating,
    streams: BTreeMap<u8, StreamWrites>,
    previous_ns: Option<u64>,
}

impl Observer {
    fn new() -> Self {
        // Three significant digits: a percentile is within 0.1 %, at some 450 KB whatever the
        // number of requests. The bounds are given, since a saturating record into a histogram that
        // would have to grow counts as its present bound.
        let gaps = Histogram::new_with_bounds(1, u64::MAX >> 1, 3).expect("bounds and digits are valid");
        Self { devices: Vec::new(), gaps, locality: Locating::default(), streams: BTreeMap::new(), previous_ns: None }
    }

    fn observe(&mut self, record: &Record) {
        let device = record.device as usize;
        if device >= self.devices.len() {
            self.devices.resize_with(device + 1, Tally::default);
        }
        self.devices[device].observe(record);
        if record.op == HostOp::Write {
            self.locality.observe(record);
            let stream = record.hint.stream();
            let counted = self.streams.entry(stream).or_insert(StreamWrites { stream, writes: 0, bytes: 0 });
            counted.writes += 1;
            counted.bytes += u64::from(record.length);
        }
        if let Some(previous_ns) = self.previous_ns {
            self.gaps.saturating_record(record.time_ns.saturating_sub(previous_ns));
        }
        self.previous_ns = Some(record.time_ns);
    }

    fn finish(self, names: &[String]) -> Statistics {
        let has_streams = self.streams.keys().any(|&stream| stream > 0);
        let mut total = Tally::default();
        let mut devices = Vec::with_capacity(self.devices.len());
        for (index, tally) in self.devices.iter().enumerate() {
            total.absorb(tally);
            let name = names.get(index).cloned().unwrap_or_else(|| index.to_string());
            devices.push(tally.profile(name));
        }
        Statistics {
            total: total.profile("all".to_owned()),
            gaps: Gaps::of(&self.gaps),
            locality: self.locality.finish(),
            streams: self.streams.into_values().filter(|_| has_streams).collect(),
            devices,
        }
    }
}

#[cfg(test)]
mod tests {
    use host::Hint;

    use super::*;

    fn record(time_ns: u64, op: HostOp, offset: u64, length: u32, device: u32) -> Record {
        Record { time_ns, op, offset, length, device, hint: Hint::NONE }
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-12 * expected.abs(), "{value} instead of {expected}");
    }

    fn of(records: Vec<Record>) -> Statistics {
        Statistics::of(records.into_iter().map(Ok)).unwrap()
    }

    #[test]
    fn counts_shares_and_means_of_a_hand_made_workload() {
        let all = of(vec![
            record(0, HostOp::Write, 0, 4096, 0),
            record(1_000_000, HostOp::Write, 4096, 8192, 0), // starts where the one before ended
            record(2_000_000, HostOp::Read, 12288, 16384, 0), // so does this, though it reads
            record(4_000_000, HostOp::Write, 12288, 512, 0), // follows the last write
            record(4_000_000, HostOp::Trim, 0, 4096, 0),
            record(5_000_000, HostOp::Flush, 0, 0, 0),
        ])
        .total;
        assert_eq!((all.requests, all.reads, all.writes, all.trims, all.flushes), (6, 1, 3, 1, 1));
        assert_eq!(all.write_percent, Some(50.0));
        assert_eq!(all.sequential_percent, Some(40.0)); // 2 of 5 with an address
        assert_eq!(all.sequential_write_percent, Some(100.0 * 2.0 / 3.0));
        assert_eq!(all.mean_size_kib, Some((4.0 + 8.0 + 16.0 + 0.5) / 4.0));
        assert_eq!(all.mean_read_size_kib, Some(16.0));
        assert_eq!(all.mean_write_size_kib, Some(12.5 / 3.0));
        let sizes = all.sizes.unwrap();
        assert_eq!((sizes.small_percent, sizes.medium_percent, sizes.large_percent), (50.0, 25.0, 25.0));
        close(all.duration_s, 0.005);
        assert_eq!(all.mean_gap_ms, Some(1.0));
        close(all.span_gb, (12288 + 16384) as f64 / 1e9);
    }

    #[test]
    fn footprint_counts_pages_once_and_overwrites_each_time() {
        let total = of(vec![
            record(0, HostOp::Write, 100, 4096, 0),  // touches pages 0 and 1
            record(1, HostOp::Write, 4096, 4096, 0), // page 1 again
            record(2, HostOp::Read, 4096, 8192, 0),  // pages 1 and 2
            record(3, HostOp::Write, 4096, 4096, 1), // another device, so another page
        ])
        .total;
        assert_eq!(total.footprint, Footprint { read_pages: 2, written_pages: 3, touched_pages: 4 });
        assert_eq!(total.overwrite_factor, Some(4.0 / 3.0));
    }

    #[test]
    fn an_old_partition_offset_shows_in_the_residues_and_the_best_shift() {
        let alignment =
            of((0..10).map(|n| record(n, HostOp::Write, n * 40960 + 63 * 512, 4096, 0)).collect()).total.alignment;
        let alignment = alignment.unwrap();
        close(alignment.aligned_percent, 0.0);
        close(alignment.residue_percent[7], 100.0);
        assert_eq!((alignment.common_residue, alignment.best_shift_bytes), (7, 512));
        close(alignment.best_shift_percent, 100.0);
    }

    #[test]
    fn percentiles_of_gaps_are_within_a_thousandth() {
        let mut time_ns = 0;
        let gap_ns = |n: u64| {
            if n <= 500 {
                1_000
            } else if n <= 900 {
                2_000_000
            } else {
                86_400_000_000_000
            }
        };
        let records = (0..=1000_u64).map(|n| {
            time_ns += if n == 0 { 0 } else { gap_ns(n) };
            record(time_ns, HostOp::Read, 0, 512, 0)
        });
        let gaps = of(records.collect()).gaps.unwrap();
        let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-3, "{value}, {expected}");
        near(gaps.min_ms, 0.001);
        near(gaps.p50_ms, 0.001);
        near(gaps.p90_ms, 2.0);
        near(gaps.p99_ms, 86_400_000.0);
        near(gaps.max_ms, 86_400_000.0);
    }

    #[test]
    fn devices_are_rows_and_do_not_break_each_others_sequences() {
        let statistics = of(vec![
            record(0, HostOp::Write, 0, 4096, 0),
            record(1, HostOp::Write, 0, 4096, 1),
            record(2, HostOp::Write, 4096, 4096, 0),
            record(3, HostOp::Write, 4096, 4096, 1),
        ]);
        assert_eq!(statistics.devices.len(), 2);
        assert_eq!(statistics.total.sequential_percent, Some(50.0));
        close(statistics.total.span_gb, 2.0 * 8192.0 / 1e9);
        assert_eq!(statistics.devices[1].device, "1");
        close(statistics.gaps.unwrap().max_ms, 1e-6);
    }

    #[test]
    fn nothing_has_no_shares() {
        let statistics = of(vec![]);
        assert_eq!(statistics.total.write_percent, None);
        assert_eq!(statistics.gaps, None);
        assert_eq!(statistics.locality, None);
        assert!(statistics.devices.is_empty());
    }

    #[test]
    fn the_ends_of_the_address_space_are_counted_without_overflow() {
        let total = of(vec![
            record(0, HostOp::Write, 0, 512, 0),
            record(0, HostOp::Write, u64::MAX - u64::from(u32::MAX), u32::MAX, 0),
        ])
        .total;
        assert_eq!(total.lowest_byte, Some(0));
        assert_eq!(total.end_byte, Some(u64::MAX));
        assert_eq!(total.footprint.written_pages, 1 + (1 << 20));
    }
}
