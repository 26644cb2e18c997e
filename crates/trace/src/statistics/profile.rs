//! The rows of the statistics: plain data, in the units that their names end in, ready for a table
//! or for JSON.

use hdrhistogram::Histogram;
use serde::Serialize;

/// One row: a device, or all of them. Shares and means over nothing are `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// Name of the device, `all` in the total.
    pub device: String,
    /// Reads, writes, trims and flushes.
    pub requests: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Trim requests.
    pub trims: u64,
    /// Flush requests.
    pub flushes: u64,
    /// Reads among the requests, 0 to 100.
    pub read_percent: Option<f64>,
    /// Writes among the requests, 0 to 100.
    pub write_percent: Option<f64>,
    /// Trims among the requests, 0 to 100.
    pub trim_percent: Option<f64>,
    /// Requests (reads, writes, trims) that start exactly where the one before on their device
    /// ended, 0 to 100.
    pub sequential_percent: Option<f64>,
    /// Writes that start exactly where the last write of their device ended, 0 to 100.
    pub sequential_write_percent: Option<f64>,
    /// Mean size of reads and writes, KiB.
    pub mean_size_kib: Option<f64>,
    /// Mean size of reads, KiB.
    pub mean_read_size_kib: Option<f64>,
    /// Mean size of writes, KiB.
    pub mean_write_size_kib: Option<f64>,
    /// Size classes of reads and writes.
    pub sizes: Option<SizeClasses>,
    /// Sizes of writes by class; none without writes.
    pub write_sizes: Option<SizeClasses>,
    /// Mean time between two requests in a row, milliseconds.
    pub mean_gap_ms: Option<f64>,
    /// From the first request to the last, seconds.
    pub duration_s: f64,
    /// Distinct 4 KiB pages.
    pub footprint: Footprint,
    /// Pages touched by writes over distinct pages written; 1 where nothing is overwritten.
    pub overwrite_factor: Option<f64>,
    /// From the lowest byte to the highest, summed over devices, 10⁹ bytes.
    pub span_gb: f64,
    /// The lowest byte touched (in the total: on any device).
    pub lowest_byte: Option<u64>,
    /// One past the highest byte touched (in the total: on any device).
    pub end_byte: Option<u64>,
    /// How requests lie on the 4 KiB grid.
    pub alignment: Option<Alignment>,
}

/// Shares of requests by size; they add up to 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SizeClasses {
    /// Share of requests of at most 4 KiB, in per cent.
    pub small_percent: f64,
    /// More than 4 KiB and less than 16 KiB.
    pub medium_percent: f64,
    /// 16 KiB and more.
    pub large_percent: f64,
}

/// Distinct 4 KiB pages, devices kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Footprint {
    /// Pages read at least once.
    pub read_pages: u64,
    /// Pages written at least once.
    pub written_pages: u64,
    /// Pages read or written.
    pub touched_pages: u64,
}

/// How reads, writes and trims lie on the grid of 4 KiB pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alignment {
    /// Requests that start at a multiple of 4 KiB, 0 to 100.
    pub aligned_percent: f64,
    /// Requests by start in 512 B sectors modulo 8, 0 to 100 each; with `off_sector_percent` they
    /// add up to 100.
    pub residue_percent: [f64; 8],
    /// Requests that do not start at a multiple of 512 B, 0 to 100.
    pub off_sector_percent: f64,
    /// The most common residue, 0 to 7.
    pub common_residue: u8,
    /// Bytes to add to every address so that most requests start and end on 4 KiB boundaries, 0
    /// to 3584.
    pub best_shift_bytes: u64,
    /// Requests that then start and end on 4 KiB boundaries, 0 to 100.
    pub best_shift_percent: f64,
}

/// Time between arrivals in a row, milliseconds; percentiles within 0.1 % of the true value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gaps {
    /// The smallest gap.
    pub min_ms: f64,
    /// The median gap.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile.
    pub p999_ms: f64,
    /// The largest gap.
    pub max_ms: f64,
}

impl Gaps {
    /// The percentiles of a histogram of nanoseconds; none of an empty one.
    pub(super) fn of(histogram: &Histogram<u64>) -> Option<Self> {
        if histogram.is_empty() {
            return None;
        }
        let max_ns = histogram.max();
        // A bucket's upper end may lie beyond the largest value in it.
        let quantile_ms = |quantile| histogram.value_at_quantile(quantile).min(max_ns) as f64 / 1e6;
        Some(Self {
            min_ms: histogram.min() as f64 / 1e6,
            p50_ms: quantile_ms(0.5),
            p90_ms: quantile_ms(0.9),
            p99_ms: quantile_ms(0.99),
            p999_ms: quantile_ms(0.999),
            max_ms: max_ns as f64 / 1e6,
        })
    }
}
