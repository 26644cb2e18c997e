//! An opened workload: requests in order of arrival, times from 0, in constant memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::choices::TimeBackwards;
use crate::detect_format::{self, Sample};
use crate::error::{TraceError, TracePosition};
use crate::format::{Format, TimeUnit};
use crate::input::Origin;
use crate::options::OpenOptions;
use crate::order::Order;
use crate::read::source::{LeftOut, Source};
use crate::record::Record;

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

/// Opens a trace whose format is settled.
pub(crate) fn open_as(format: Format, origin: &Origin, options: &OpenOptions) -> Result<Trace, TraceError> {
    Ok(Trace {
        name: origin.name(),
        format,
        time_unit: options.unit(format),
        path: origin.path().to_owned(),
        source: crate::read::source(format, origin, options)?,
        order: Order::new(options.time_backwards),
        start_ns: None,
        is_finished: false,
    })
}

impl Trace {
    /// A workload that is made, not read: `records` in order of arrival, all of one device called
    /// `0`.
    pub fn generated(name: &str, records: impl Iterator<Item = Record> + Send + 'static) -> Self {
        Self {
            name: name.to_owned(),
            format: Format::Generated,
            time_unit: TimeUnit::Ns,
            path: name.into(),
            source: Box::new(Generated {
                records: Box::new(records),
                names: vec!["0".to_owned()],
                left_out: LeftOut::default(),
                row: 0,
            }),
            order: Order::new(TimeBackwards::Refuse),
            start_ns: None,
            is_finished: false,
        }
    }

    /// The devices named so far; a record's `device` is an index into it.
    pub fn devices(&self) -> &[String] {
        self.source.devices()
    }

    /// Bad records left out so far, because the user said so.
    pub fn skipped(&self) -> u64 {
        self.source.left_out().bad
    }

    /// Rows left out so far because they do not meet [`OpenOptions::conditions`].
    pub fn unmet(&self) -> u64 {
        self.source.left_out().unmet
    }

    /// Lines or records left out so far that the format provides for and that are no requests, by
    /// kind.
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
        let Some(mut record) = self.order.next(self.source.as_mut(), &self.path)? else {
            return if self.start_ns.is_none() { Err(self.no_requests()) } else { Ok(None) };
        };
        record.time_ns -= *self.start_ns.get_or_insert(record.time_ns);
        Ok(Some(record))
    }

    fn no_requests(&self) -> TraceError {
        let skipped = self.skipped();
        let detail = if let Some(remark) = self.source.remark() {
            remark
        } else if skipped > 0 {
            format!(
                ": all of its {skipped} records are bad. Name its format (--format), or see the first error without --skip-bad"
            )
        } else {
            match self.left_out() {
                empty if empty.is_empty() => ". Check that it was copied completely".to_owned(),
                kinds => {
                    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
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
    left_out: LeftOut,
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

    fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    fn place(&self) -> (TracePosition, String) {
        (TracePosition::Row(self.row.saturating_sub(1)), "a generated request".to_owned())
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
}
