//! What a run measures while it goes: response times, host pages, and the time series.
//!
//! Response times go into HDR histograms of three significant digits, so memory does not grow with
//! the run; means and maxima are exact. The class *all* is reads and writes together. Flushes are
//! timed apart and trims not at all: mixing metadata operations in would shift every percentile.

use ftl::{Cause, FlashOp, Nanos, Note, Tally, WorkKind};
use hdrhistogram::Histogram;
use trace::HostOp;

use crate::observe::wait_breakdown::PartSums;
use crate::observe::wear::Spread;
use crate::paging::HostRequest;
use crate::result::{Responses, Series};

/// The longest response that a histogram tells apart, 146 years; longer ones count as this.
const LONGEST_NS: u64 = 1 << 62;

/// Significant decimal digits of percentiles.
const DIGITS: u8 = 3;

/// Response times of one class.
#[derive(Clone, Debug, Default)]
pub struct Latency {
    /// From the first response on: it takes 400 kB.
    histogram: Option<Histogram<u64>>,
    sum_ns: u128,
    max_ns: u64,
}

fn empty_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("constant bounds are valid")
}

impl Latency {
    /// No responses yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a response.
    #[inline]
    pub fn record(&mut self, response_ns: u64) {
        self.histogram.get_or_insert_with(empty_histogram).saturating_record(response_ns);
        self.sum_ns += u128::from(response_ns);
        self.max_ns = self.max_ns.max(response_ns);
    }

    /// Both classes as one.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        if let Some(others) = &other.histogram {
            both.histogram.get_or_insert_with(empty_histogram).add(others).expect("equal bounds");
        }
        both.sum_ns += other.sum_ns;
        both.max_ns = both.max_ns.max(other.max_ns);
        both
    }

    fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// Mean, percentiles and maximum; none but the count of an empty class.
    pub fn responses(&self) -> Responses {
        let count = self.count();
        let known = count > 0;
        let quantile = |q| self.histogram.as_ref().map(|responses| responses.value_at_quantile(q).min(self.max_ns));
        Responses {
            mean: known.then(|| self.sum_ns as f64 / count as f64),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            p99_99: quantile(0.9999),
            max: known.then_some(self.max_ns),
            count,
        }
    }

    /// The distribution as (response in nanoseconds, share of requests at or below it), at most 300
    /// points: even steps up to 97.5 %, then steps that shrink with what is left, so that the tail
    /// keeps its shape on a logarithmic axis.
    pub(crate) fn cdf(&self) -> Vec<(u64, f64)> {
        let (count, mut seen, mut next) = (self.count(), 0, 0.0);
        let mut points = Vec::new();
        for bucket in self.histogram.iter().flat_map(Histogram::iter_recorded) {
            seen += bucket.count_since_last_iteration();
            let share = seen as f64 / count as f64;
            if share >= next || seen == count {
                points.push((bucket.value_iterated_to().min(self.max_ns), share));
                next = share + 0.005_f64.min((1.0 - share) * 0.2);
            }
        }
        points
    }
}

/// What the measured requests came to, in requests, pages and bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestTotals {
    /// Requests by kind, indexed by [`trace::HostOp`].
    pub(crate) requests: [u64; HostOp::ALL.len()],
    pub(crate) pages_read: u64,
    pub(crate) pages_written: u64,
    /// Pages that writes cover in part, whose rest is read.
    pub(crate) pages_completed: u64,
    pub(crate) pages_trimmed: u64,
    /// Bytes of reads and writes.
    pub(crate) bytes: u64,
    /// Bytes of writes.
    pub(crate) bytes_written: u64,
}

impl RequestTotals {
    #[inline]
    pub(crate) fn add(&mut self, request: &HostRequest, count: u64) {
        self.requests[request.op as usize] += count;
        let (pages, bytes) = (count * request.pages(), count * u64::from(request.bytes));
        match request.op {
            HostOp::Read => self.pages_read += pages,
            HostOp::Write => {
                self.pages_written += pages;
                self.bytes_written += bytes;
                let partial = u64::from(request.partial_first) + u64::from(request.partial_last);
                self.pages_completed += count * partial;
            }
            HostOp::Trim => self.pages_trimmed += pages,
            HostOp::Flush => return,
        }
        if request.op != HostOp::Trim {
            self.bytes += bytes;
        }
    }
}

/// Everything that a run measures at its requests.
pub(crate) struct Metrics {
    pub(crate) reads: Latency,
    pub(crate) writes: Latency,
    pub(crate) flushes: Latency,
    pub(crate) totals: RequestTotals,
    /// When the last request was done.
    pub(crate) end: Nanos,
    /// When the first measured request began.
    pub(crate) begin: Option<Nanos>,
    /// What requests waited for.
    pub(crate) parts: PartSums,
}

impl Metrics {
    /// Nothing yet. `begin`: since when is measured; none: since the first request that is.
    pub(crate) fn new(begin: Option<Nanos>) -> Self {
        Self {
            reads: Latency::new(),
            writes: Latency::new(),
            flushes: Latency::new(),
            totals: RequestTotals::default(),
            end: Nanos::ZERO,
            begin,
            parts: PartSums::default(),
        }
    }

    /// A request begins.
    #[inline]
    pub(crate) fn begin(&mut self, request: &HostRequest, begin: Nanos) {
        self.begin_alike(request, 1, begin);
    }

    /// This many requests of the same kind and size begin.
    #[inline]
    pub(crate) fn begin_alike(&mut self, request: &HostRequest, count: u64, begin: Nanos) {
        self.totals.add(request, count);
        self.begin.get_or_insert(begin);
    }

    /// A request that began at `begin` is done at `done`.
    #[inline]
    pub(crate) fn record(&mut self, op: HostOp, begin: Nanos, done: Nanos) {
        self.end = self.end.max(done);
        match op {
            HostOp::Read => self.reads.record((done - begin).0),
            HostOp::Write => self.writes.record((done - begin).0),
            HostOp::Flush => self.flushes.record((done - begin).0),
            HostOp::Trim => {}
        }
    }

    /// How long was measured until now.
    pub(crate) fn elapsed(&self) -> Nanos {
        self.end.since(self.begin.unwrap_or_default())
    }

    /// An amount per second of that; none where no time passed.
    pub(crate) fn per_second(&self, amount: u64) -> Option<f64> {
        let seconds = self.elapsed().0 as f64 / 1e9;
        (seconds > 0.0).then(|| amount as f64 / seconds)
    }

    fn sum_ns(&self) -> u128 {
        self.reads.sum_ns + self.writes.sum_ns
    }

    fn timed(&self) -> u64 {
        self.reads.count() + self.writes.count()
    }
}

/// Bytes programmed ÷ bytes that the host wrote, as SMART counts; none where the host wrote
/// nothing.
pub fn write_amplification(programs: u64, page_bytes: u32, bytes_written: u64) -> Option<f64> {
    (bytes_written > 0).then(|| programs as f64 * f64::from(page_bytes) / bytes_written as f64)
}

/// Pages programmed ÷ pages that host writes touch, as theory and papers count; none where the host
/// wrote nothing.
pub fn page_write_amplification(programs: u64, pages_written: u64) -> Option<f64> {
    (pages_written > 0).then(|| programs as f64 / pages_written as f64)
}

/// Hits ÷ look-ups of the mapping cache; none where a scheme has none.
pub fn mapping_hit_ratio(tally: &Tally) -> Option<f64> {
    let (hits, misses) = (tally.note(Note::MappingHit), tally.note(Note::MappingMiss));
    (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64)
}

/// Pages written that found a version of them waiting ÷ all that came into a write buffer; none
/// where a stack has none.
pub fn buffer_hit_ratio(tally: &Tally) -> Option<f64> {
    let (hits, misses) = (tally.note(Note::BufferHit), tally.note(Note::BufferMiss));
    (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64)
}

/// Share of the pages programmed that moved data: collections, merges, wear levelling and the like.
fn moved_share(tally: &Tally) -> Option<f64> {
    let programs = tally.total(FlashOp::Program);
    let moving = Cause::ALL.iter().filter(|cause| cause.work() == WorkKind::Moving);
    let moved: u64 = moving.map(|&cause| tally.count(cause, FlashOp::Program)).sum();
    (programs > 0).then(|| moved as f64 / programs as f64)
}

/// How the device stands at a point of the time series: when the last request of the interval has
/// been issued.
pub(crate) struct Snapshot {
    /// Measured requests issued by then.
    pub(crate) requests: u64,
    pub(crate) written_bytes: u64,
    pub(crate) tally: Tally,
    pub(crate) spread: Spread,
    pub(crate) gauges: Vec<ftl::Gauge>,
}

/// The time series: a point each time this many requests are done. Each point describes the
/// interval that it ends.
pub(crate) struct Sampler {
    /// Requests of the whole run.
    requests: u64,
    points: u64,
    /// Intervals that have ended.
    passed: u64,
    due: u64,
    /// The counts when measurement began.
    first: Tally,
    /// The counts at the last point.
    last: Tally,
    last_sum_ns: u128,
    last_timed: u64,
    last_written_bytes: u64,
    page_bytes: u32,
    series: Series,
}

impl Sampler {
    /// A sampler of `points` points over `requests` requests (fewer, if there are fewer requests).
    pub(crate) fn new(requests: u64, points: u32, page_bytes: u32, tally: &Tally) -> Self {
        let points = u64::from(points).min(requests).max(1);
        let mut sampler = Self {
            requests,
            points,
            passed: 0,
            due: 0,
            first: *tally,
            last: *tally,
            last_sum_ns: 0,
            last_timed: 0,
            last_written_bytes: 0,
            page_bytes,
            series: Series::default(),
        };
        sampler.schedule();
        sampler
    }

    /// Requests after which the interval in hand ends.
    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    /// Whether this many requests end an interval; if so, the next one begins.
    #[inline]
    pub(crate) fn is_due(&mut self, requests: u64) -> bool {
        let is_due = requests == self.due;
        if is_due {
            self.passed += 1;
            self.schedule();
        }
        is_due
    }

    fn schedule(&mut self) {
        let share = u128::from(self.requests) * u128::from(self.passed + 1) / u128::from(self.points);
        self.due = if self.passed < self.points { share as u64 } else { u64::MAX };
    }

    /// Takes a point, when all requests of its interval are done.
    pub(crate) fn take(&mut self, metrics: &Metrics, snapshot: Snapshot) {
        let Snapshot { requests, written_bytes, tally, spread, gauges } = snapshot;
        let interval = tally.since(&self.last);
        let timed = metrics.timed() - self.last_timed;
        let written = written_bytes - self.last_written_bytes;
        let series = &mut self.series;
        series.request.push(requests);
        series.time_ns.push(Some(metrics.elapsed().0));
        series.mean_response_ns.push((timed > 0).then(|| (metrics.sum_ns() - self.last_sum_ns) as f64 / timed as f64));
        series.write_amplification.push(write_amplification(
            interval.total(FlashOp::Program),
            self.page_bytes,
            written,
        ));
        series.moved_share.push(moved_share(&interval));
        series.erases.push(tally.since(&self.first).total(FlashOp::Erase));
        series.erases_std.push(spread.std);
        series.erases_max.push(spread.max);
        series.host_written_bytes.push(written_bytes);
        series.mapping_hit_ratio.push(mapping_hit_ratio(&interval));
        series.buffer_hit_ratio.push(buffer_hit_ratio(&interval));
        for gauge in gauges {
            series.gauges.entry(gauge.name).or_default().push(gauge.value);
        }
        (self.last, self.last_sum_ns, self.last_timed) = (tally, metrics.sum_ns(), metrics.timed());
        self.last_written_bytes = written_bytes;
    }

    /// Takes a last point after a run that ended early, unless there is one.
    pub(crate) fn take_last(&mut self, metrics: &Metrics, snapshot: Snapshot) {
        if snapshot.requests > 0 && self.series.request.last() != Some(&snapshot.requests) {
            self.take(metrics, snapshot);
        }
    }

    pub(crate) fn finish(self) -> Series {
        self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand responses of 1, 2 … 1000 µs.
    fn thousand() -> Latency {
        let mut latency = Latency::new();
        (1..=1000).for_each(|us| latency.record(us * 1000));
        latency
    }

    #[test]
    fn percentiles_have_three_digits_and_mean_and_maximum_are_exact() {
        let responses = thousand().responses();
        assert_eq!((responses.mean, responses.max, responses.count), (Some(500_500.0), Some(1_000_000), 1000));
        for (found, exact_us) in [
            (responses.p50, 500.0),
            (responses.p90, 900.0),
            (responses.p99, 990.0),
            (responses.p99_9, 999.0),
            (responses.p99_99, 1000.0),
        ] {
            let found_us = found.expect("known") as f64 / 1000.0;
            assert!((found_us / exact_us - 1.0).abs() < 0.001, "{found_us} µs for {exact_us}");
        }
    }

    #[test]
    fn what_was_not_measured_is_null_and_nothing_overflows() {
        let mut latency = Latency::new();
        let none = latency.responses();
        assert_eq!((none.mean, none.p50, none.max, none.count), (None, None, None, 0));
        assert_eq!(latency.cdf(), []);
        for ns in [0, u64::MAX, u64::MAX] {
            latency.record(ns);
        }
        let extreme = latency.responses();
        assert_eq!((extreme.max, extreme.count), (Some(u64::MAX), 3));
        assert!(extreme.mean.expect("known") > 1.2e19);
    }

    #[test]
    fn two_classes_together_are_as_if_measured_together() {
        let mut odd = Latency::new();
        let mut even = Latency::new();
        (1..=1000).for_each(|us| if us % 2 == 0 { &mut even } else { &mut odd }.record(us * 1000));
        assert_eq!(odd.with(&even).responses(), thousand().responses());
        assert_eq!(odd.with(&even).cdf(), thousand().cdf());
    }

    #[test]
    fn a_distribution_keeps_its_tail_in_few_points() {
        let mut latency = Latency::new();
        (0..1_000_000_u64).for_each(|i| latency.record(1000 + i / 1000));
        latency.record(1_000_000_000);
        let cdf = latency.cdf();
        assert!((150..=300).contains(&cdf.len()), "{}", cdf.len());
        assert_eq!(cdf.last(), Some(&(1_000_000_000, 1.0)));
        let before_last = cdf[cdf.len() - 2];
        assert!(before_last.0 <= 2000 && before_last.1 > 0.9999, "{before_last:?}");
    }

    #[test]
    fn points_of_the_series_divide_the_requests_evenly() {
        let metrics = Metrics::new(None);
        for (requests, points, expected) in [(10, 4, vec![2, 5, 7, 10]), (3, 200, vec![1, 2, 3]), (5, 1, vec![5])] {
            let mut sampler = Sampler::new(requests, points, 4096, &Tally::default());
            for requests in (1..=requests).filter(|&requests| sampler.is_due(requests)).collect::<Vec<_>>() {
                let (tally, spread) = (Tally::default(), Spread::default());
                sampler.take(&metrics, Snapshot { requests, written_bytes: 0, tally, spread, gauges: Vec::new() });
            }
            assert_eq!(sampler.finish().request, expected);
        }
    }
}
