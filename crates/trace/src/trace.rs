//! An opened workload: requests in order of arrival, times from 0, in constant memory.
//!
//! Time that goes backwards is refused, held, or sorted within a window. Traces merged from several
//! queues, or stamped on several processors, are a little out of order. Which of the remedies fits
//! cannot be known from here, and each changes the workload, so the user chooses and what was
//! changed is counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::choices::{MAX_WINDOW, TimeBackwards};
use crate::detect_format::{self, Sample};
use crate::error::{Backwards, TraceError, TracePosition};
use crate::format::{Format, TimeUnit};
use crate::input::Origin;
use crate::options::OpenOptions;
use crate::read::source::{LeftOut, Source};
use crate::record::Record;
use crate::ticks::{Refusal, Spread, TickCount, Ticks};
use crate::units::{Nanoseconds, several};

/// An opened workload. It yields requests until they end or one cannot be used; after an error it
/// yields nothing more.
///
/// The first request arrives at time 0. A workload without any request is an error, so an empty
/// loop over a trace cannot be taken for a result.
pub struct Trace {
    /// File name, or the name of the preset or generator.
    pub name: String,
    /// What it is read as.
    pub format: Format,
    /// The unit in which the file counts time.
    pub time_unit: TimeUnit,
    path: PathBuf,
    source: Box<dyn Source>,
    order: Order,
    ticks: TickCount,
    spread: Spread,
    /// Whether times are those of completions in the file.
    stamps_completions: bool,
    start_ns: Option<u64>,
    is_finished: bool,
}

/// Opens the trace at `path`, compressed or not.
pub fn open(path: &Path, options: &OpenOptions) -> Result<Trace, TraceError> {
    open_origin(&Origin::File(path.to_owned()), options)
}

/// Opens a trace that is in memory; errors call it `name`.
pub fn open_bytes(name: &str, bytes: impl Into<Arc<[u8]>>, options: &OpenOptions) -> Result<Trace, TraceError> {
    open_origin(&Origin::Memory { name: name.into(), bytes: bytes.into() }, options)
}

pub(crate) fn open_origin(origin: &Origin, options: &OpenOptions) -> Result<Trace, TraceError> {
    options.check()?;
    let sample = Sample::of(origin)?;
    if options.columns.is_some() && sample.is_parquet() {
        return Err(TraceError::Option(format!(
            "{}: is a Parquet file, and --columns describes text. Leave it out; in Parquet the columns themselves are called time_ns, op, offset \
             and length",
            origin.path().display()
        )));
    }
    let format = match options.settled() {
        Some(format) => format,
        None => detect_format::format(origin, &sample, options)?,
    };
    open_as(format, origin, options)
}

/// Requests that may end between the arrival of one and its end: those of a trace that stamps ends
/// are put in order of arrival within this many.
const ENDS_SORTED: usize = 1 << 16;

/// Opens a trace whose format is settled.
pub(crate) fn open_as(format: Format, origin: &Origin, options: &OpenOptions) -> Result<Trace, TraceError> {
    let source = crate::read::source(format, origin, options)?;
    let stamps_completions = options.stamps_completions(format);
    let policy = match options.time_backwards {
        TimeBackwards::Refuse if stamps_completions => TimeBackwards::Sort { window: ENDS_SORTED },
        chosen => chosen,
    };
    Ok(Trace {
        time_unit: options.unit(format),
        stamps_completions,
        order: Order { policy, ..Order::default() },
        spread: Spread::new(options.tick.map(|tick| tick.0)),
        ..Trace::new(format, origin.name(), origin.path().to_owned(), source)
    })
}

impl Trace {
    /// A workload that is made, not read: `records` in order of arrival, all of one device called
    /// `0`.
    pub fn generated(name: &str, records: impl Iterator<Item = Record> + Send + 'static) -> Self {
        let source = Generated { records: Box::new(records), names: vec!["0".to_owned()], row: 0 };
        Self::new(Format::Generated, name.to_owned(), name.into(), Box::new(source))
    }

    /// A trace in nanoseconds, refused where time goes backwards.
    fn new(format: Format, name: String, path: PathBuf, source: Box<dyn Source>) -> Self {
        Self {
            name,
            format,
            time_unit: TimeUnit::Ns,
            path,
            source,
            stamps_completions: false,
            order: Order::default(),
            ticks: TickCount::default(),
            spread: Spread::default(),
            start_ns: None,
            is_finished: false,
        }
    }

    /// The devices named so far; a record's `device` is an index into it.
    pub fn devices(&self) -> &[String] {
        self.source.devices()
    }

    /// The trace for a reader who looks at each device alone: unless a remedy was chosen, time may
    /// go back from one device to another, and to check it within each is left to the reader.
    pub(crate) fn by_device(mut self) -> Self {
        self.order.is_of_devices = self.order.policy == TimeBackwards::Refuse && self.spread.tick_ns.is_none();
        self
    }

    /// The error of a request, the last one handed out, that is so much earlier than another.
    #[cold]
    pub(crate) fn backwards(&self, by_ns: u64) -> TraceError {
        self.refuse(Refusal::Backwards { by_ns, window: None })
    }

    /// When the first request arrives, as the file has it; 0 before it was read.
    pub(crate) fn start_ns(&self) -> u64 {
        self.start_ns.unwrap_or(0)
    }

    /// Bad records left out so far, because the user said so.
    pub fn skipped(&self) -> u64 {
        self.source.left_out().bad
    }

    /// Rows left out so far because they do not meet [`OpenOptions::conditions`].
    pub fn unmet(&self) -> u64 {
        self.source.left_out().unmet
    }

    /// What the user says of values that no row has had so far, in conditions and in words for
    /// operations, and what was made of times: clauses.
    pub fn unmatched(&self) -> Vec<String> {
        let times =
            self.stamps_completions.then_some("its times are completions: each arrival is earlier by the latency");
        let times = times.into_iter().map(str::to_owned).chain(self.told_ticks());
        times.chain(self.source.unmatched()).collect()
    }

    /// The step of its times so far, where it is coarse and many requests share a time that is not
    /// spread. Arrivals in coarse steps, told from fine completions, are bursts and no steps.
    pub fn coarse_ticks(&self) -> Option<Ticks> {
        let is_recorded = self.format != Format::Generated;
        let ticks = self.ticks.coarse(self.stamps_completions);
        ticks.filter(|_| self.spread.tick_ns.is_none() && is_recorded)
    }

    /// Coarse times, or what was made of them: a clause.
    fn told_ticks(&self) -> Option<String> {
        if let Some(tick_ns) = self.spread.tick_ns {
            return Some(format!(
                "requests of one time are spread evenly over {}",
                Nanoseconds(tick_ns).largest_unit()
            ));
        }
        let Ticks { tick_ns, shared, requests, stamps_completions } = self.coarse_ticks()?;
        let Some(tick_ns) = tick_ns else {
            return Some(format!(
                "all {requests} requests have one time, so they arrive as one burst; give them times (time=GAP in --columns), or serve them in \
                 a closed loop (--loop closed)"
            ));
        };
        let tick = Nanoseconds(tick_ns).largest_unit();
        let share = if stamps_completions {
            format!("complete with the one before, so arrivals are off by up to {tick}")
        } else {
            "arrive with the one before".to_owned()
        };
        Some(format!(
            "its times are in steps of {tick}, and {shared} requests {share}; --tick {tick} spreads them inside a step"
        ))
    }

    /// Lines or records left out so far that the format provides for and that are no requests, by
    /// kind: the name of one.
    pub fn left_out(&self) -> BTreeMap<String, u64> {
        self.source.left_out().other()
    }

    /// Requests held at the latest time seen so far, because theirs was earlier.
    pub fn clamped(&self) -> u64 {
        self.order.clamped
    }

    /// Requests so far that stood behind a later one and were put in order.
    pub fn sorted(&self) -> u64 {
        self.order.sorted
    }

    fn advance(&mut self) -> Result<Option<Record>, TraceError> {
        let Some(mut record) = self.read()? else {
            return if self.start_ns.is_none() { Err(self.no_requests()) } else { Ok(None) };
        };
        // A device of its own order may begin before the first request.
        record.time_ns = record.time_ns.wrapping_sub(*self.start_ns.get_or_insert(record.time_ns));
        Ok(Some(record))
    }

    /// The next request in order, its time as the file has it or spread.
    #[inline]
    fn read(&mut self) -> Result<Option<Record>, TraceError> {
        let Self { order, source, ticks, spread, .. } = self;
        let next = if self.stamps_completions {
            order.next(|| {
                spread.next(|| {
                    let Some(record) = source.next()? else { return Ok(None) };
                    let end_ns = record.time_ns.saturating_add(source.latency_ns());
                    ticks.observe(&record, end_ns);
                    Ok(Some((record, end_ns)))
                })
            })
        } else {
            spread.next(|| {
                let Some(record) = order.next(|| Ok(source.next()?))? else { return Ok(None) };
                ticks.observe(&record, record.time_ns);
                Ok(Some((record, record.time_ns)))
            })
        };
        next.map_err(|refusal| self.refuse(refusal))
    }

    #[cold]
    fn refuse(&self, refusal: Refusal) -> TraceError {
        match refusal {
            Refusal::Read(error) => error,
            Refusal::Backwards { by_ns, window } => {
                let (place, excerpt) = self.source.place();
                TraceError::Backwards(Box::new(Backwards { path: self.path.clone(), place, by_ns, excerpt, window }))
            }
            Refusal::TooMany => TraceError::Option(format!(
                "{}: more than {MAX_WINDOW} requests have the same time, and no more are spread inside a tick (--tick). Leave it out, \
                 and serve the trace in a closed loop (--loop closed)",
                self.path.display()
            )),
        }
    }

    fn no_requests(&self) -> TraceError {
        let skipped = self.skipped();
        let detail = if skipped > 0 && self.unmet() == 0 {
            let bad =
                if skipped == 1 { "its 1 record is".to_owned() } else { format!("all of its {skipped} records are") };
            format!(": {bad} bad. Name its format (--format), or see the first error without --skip-bad")
        } else if let Some(remark) = self.source.remark() {
            remark
        } else {
            match self.left_out() {
                empty if empty.is_empty() => ". Check that it was copied completely".to_owned(),
                kinds => {
                    let kinds: Vec<String> = kinds.iter().map(|(kind, &count)| several(count, kind)).collect();
                    format!(", only {}. Check that it was copied completely", kinds.join(", "))
                }
            }
        };
        TraceError::NoRequests { path: self.path.clone(), format: self.format, detail }
    }
}

impl Iterator for Trace {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_finished {
            return None;
        }
        let next = self.advance().transpose();
        self.is_finished = !matches!(next, Some(Ok(_)));
        next
    }
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").field("name", &self.name).field("format", &self.format).finish_non_exhaustive()
    }
}

/// Records out of a generator.
struct Generated {
    records: Box<dyn Iterator<Item = Record> + Send>,
    names: Vec<String>,
    row: u64,
}

impl Source for Generated {
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        let next = self.records.next();
        self.row += u64::from(next.is_some());
        Ok(next.map(|record| Record { device: 0, ..record }))
    }

    fn devices(&self) -> &[String] {
        &self.names
    }

    fn left_out(&self) -> LeftOut {
        LeftOut::default()
    }

    fn place(&self) -> (TracePosition, String) {
        (TracePosition::Row(self.row.saturating_sub(1)), "a generated request".to_owned())
    }
}

/// The remedy at work.
#[derive(Default)]
struct Order {
    policy: TimeBackwards,
    /// Whether time may go back, since devices are looked at alone.
    is_of_devices: bool,
    /// Latest time handed on.
    latest_ns: u64,
    /// Latest time read; differs from `latest_ns` only while sorting.
    latest_read_ns: u64,
    /// The sorting window: of equal times, the first in the file goes first.
    window: BTreeMap<(u64, u64), Record>,
    read: u64,
    is_drained: bool,
    /// Requests held at a later time than their own.
    clamped: u64,
    /// Requests that stood behind a later one.
    sorted: u64,
}

impl Order {
    /// The next of the requests that `read` yields, no earlier than the one before.
    #[inline]
    fn next(&mut self, mut read: impl FnMut() -> Result<Option<Record>, Refusal>) -> Result<Option<Record>, Refusal> {
        if let TimeBackwards::Sort { window } = self.policy {
            return self.next_sorted(read, window);
        }
        let Some(mut record) = read()? else { return Ok(None) };
        if record.time_ns < self.latest_ns && !self.is_of_devices {
            if self.policy == TimeBackwards::Refuse {
                return Err(Refusal::Backwards { by_ns: self.latest_ns - record.time_ns, window: None });
            }
            record.time_ns = self.latest_ns;
            self.clamped += 1;
        }
        self.latest_ns = record.time_ns;
        Ok(Some(record))
    }

    fn next_sorted(
        &mut self,
        mut read: impl FnMut() -> Result<Option<Record>, Refusal>,
        window: usize,
    ) -> Result<Option<Record>, Refusal> {
        // One more than the window is looked at: the earliest of them goes, `window` stay.
        while !self.is_drained && self.window.len() <= window {
            match read()? {
                None => self.is_drained = true,
                Some(record) if record.time_ns < self.latest_ns => {
                    let by_ns = self.latest_ns - record.time_ns;
                    return Err(Refusal::Backwards { by_ns, window: Some(window) });
                }
                Some(record) => {
                    self.sorted += u64::from(record.time_ns < self.latest_read_ns);
                    self.latest_read_ns = self.latest_read_ns.max(record.time_ns);
                    self.window.insert((record.time_ns, self.read), record);
                    self.read += 1;
                }
            }
        }
        let Some((_, record)) = self.window.pop_first() else { return Ok(None) };
        self.latest_ns = record.time_ns;
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use host::{Hint, HostOp};

    use super::*;

    #[test]
    fn a_generated_workload_is_a_trace() {
        let record = |time_ns| Record {
            time_ns,
            op: HostOp::Write,
            offset: 0,
            length: 4096,
            device: 9,
            hint: Hint::of_stream(1),
        };
        let mut trace = Trace::generated("two writes", [record(5), record(8)].into_iter());
        let records: Vec<Record> = trace.by_ref().map(Result::unwrap).collect();
        assert_eq!(records.iter().map(|record| (record.time_ns, record.device)).collect::<Vec<_>>(), [(0, 0), (3, 0)]);
        assert_eq!((trace.format, trace.name.as_str(), trace.devices().len()), (Format::Generated, "two writes", 1));
    }

    #[test]
    fn a_trace_ends_at_its_first_error() {
        let mut trace = open_bytes(
            "test",
            &b"1,h,0,Read,0,512,1\nbad\n3,h,0,Read,0,512,1\n"[..],
            &OpenOptions::with_format(Format::Msr),
        )
        .unwrap();
        assert!(trace.next().unwrap().is_ok());
        assert!(trace.next().unwrap().is_err());
        assert!(trace.next().is_none());
    }

    #[test]
    fn a_trace_without_requests_is_an_error_that_says_what_there_is() {
        let error = |text: &str, options: OpenOptions| {
            open_bytes("test", text.as_bytes(), &options).unwrap().next().unwrap().unwrap_err().to_string()
        };
        let msr = OpenOptions::with_format(Format::Msr);
        let header = error(&format!("{}\n", Format::Msr.columns()), msr.clone());
        assert!(header.contains("holds no request when read as msr, only 1 header line"), "{header}");
        let bad = error("a\nb\n", OpenOptions { skip_bad: true, ..msr.clone() });
        assert!(bad.contains("all of its 2 records are bad"), "{bad}");
        assert!(error("\n\n", msr).contains("holds no request"));
    }

    /// A trace whose requests arrive at `times`; each one's sector is its place in the file.
    fn trace(times: &[u64], time_backwards: TimeBackwards) -> Trace {
        let lines: Vec<String> = times.iter().enumerate().map(|(n, time)| format!("{time} 0 {n} 1 0\n")).collect();
        let options = OpenOptions { time_backwards, ..OpenOptions::with_format(Format::Ssdsim) };
        open_bytes("test", lines.concat().into_bytes(), &options).unwrap()
    }

    fn all(trace: &mut Trace) -> Result<Vec<(u64, u64)>, TraceError> {
        trace.map(|record| record.map(|record| (record.time_ns, record.offset / 512))).collect()
    }

    #[test]
    fn backwards_is_refused_with_line_amount_and_remedies() {
        let error = all(&mut trace(&[5_000_000, 7_000_000, 6_000_000], TimeBackwards::Refuse)).unwrap_err().to_string();
        for part in ["test, line 3: time goes back by 1 ms", "`6000000 0 2 1 0`", "sort:4096", "--time-backwards clamp"]
        {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn equal_times_are_in_order() {
        let expected = vec![(0, 0), (0, 1), (1, 2)];
        assert_eq!(all(&mut trace(&[5, 5, 6], TimeBackwards::Refuse)).unwrap(), expected);
        assert_eq!(all(&mut trace(&[5, 5, 6], TimeBackwards::Sort { window: 3 })).unwrap(), expected);
    }

    #[test]
    fn clamping_keeps_the_order_of_the_file_and_counts() {
        let mut trace = trace(&[5, 9, 6, 7, 10], TimeBackwards::Clamp);
        assert_eq!(all(&mut trace).unwrap(), [(0, 0), (4, 1), (4, 2), (4, 3), (5, 4)]);
        assert_eq!((trace.clamped(), trace.sorted()), (2, 0));
    }

    #[test]
    fn sorting_starts_at_the_earliest_and_counts() {
        let mut trace = trace(&[6, 5, 9, 7, 8, 10], TimeBackwards::Sort { window: 2 });
        assert_eq!(all(&mut trace).unwrap(), [(0, 1), (1, 0), (2, 3), (3, 4), (4, 2), (5, 5)]);
        assert_eq!((trace.clamped(), trace.sorted()), (0, 3));
    }

    #[test]
    fn a_window_that_is_too_small_is_an_error_that_says_so() {
        let error = all(&mut trace(&[5, 6, 7, 8, 1], TimeBackwards::Sort { window: 2 })).unwrap_err().to_string();
        assert!(
            error.contains("line 5") && error.contains("window of 2 requests") && error.contains("sort:N"),
            "{error}"
        );
    }
}
