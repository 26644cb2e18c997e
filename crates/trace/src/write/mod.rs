//! Traces out: Parquet or CSV, all or nothing.
//!
//! A trace is written to a file beside its target, which takes the target's name when it is
//! complete. The target is always the old file, the whole new one, or absent; an error
//! or an interruption leaves no part behind. A [`Recording`](crate::Recording) alone grows under
//! its own name.

mod parquet;
pub(crate) mod sink;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::error::TraceError;
use crate::format::Format;
use crate::options::OpenOptions;
use crate::record::Record;
use crate::trace::{Trace, open};
use parquet::ParquetSink;
use sink::{CsvSink, Sink};

/// Writes requests as they come to `path`; returns how many. Devices are called by their numbers;
/// to keep their names, use [`convert`](convert()). Nothing is left behind on an error.
pub fn write(
    records: impl IntoIterator<Item = Result<Record, TraceError>>,
    path: &Path,
    target: Target,
) -> Result<u64, TraceError> {
    let draft = Draft::new(path)?;
    let failed = |error: io::Error| TraceError::write(path, error);
    let mut sink = target.sink(draft.writer()?).map_err(failed)?;
    let mut count = 0;
    for record in records {
        sink.write(&record?, &[]).map_err(failed)?;
        count += 1;
    }
    let writer = sink.finish(&[]).map_err(failed)?;
    draft.finish(writer)?;
    Ok(count)
}

/// The same, as Parquet.
pub fn write_parquet(
    records: impl IntoIterator<Item = Result<Record, TraceError>>,
    path: &Path,
) -> Result<u64, TraceError> {
    write(records, path, Target::Parquet)
}

/// What a trace is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Parquet with the columns of ftlkit.
    Parquet,
    /// CSV with the columns of ftlkit.
    Csv,
}

impl Target {
    /// The target that a file's name asks for, if it does.
    pub fn of(path: &Path) -> Option<Self> {
        path.extension()?.to_str()?.to_ascii_lowercase().parse().ok()
    }

    /// Starts what a file of this format is written with.
    pub(crate) fn sink(self, writer: BufWriter<File>) -> io::Result<Box<dyn Sink>> {
        Ok(match self {
            Self::Parquet => Box::new(ParquetSink::new(writer)?),
            Self::Csv => Box::new(CsvSink::new(writer)?),
        })
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "parquet" => Ok(Self::Parquet),
            "csv" => Ok(Self::Csv),
            _ => Err(format!("unknown target format {name:?}; traces are converted to parquet or csv")),
        }
    }
}

/// What a conversion did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    /// What the trace was read as.
    pub format: Format,
    /// Requests written.
    pub requests: u64,
    /// Names of the devices.
    pub devices: Vec<String>,
    /// Bad records left out.
    pub skipped: u64,
    /// Rows that do not meet the conditions, left out.
    pub unmet: u64,
    /// What the user says of values that no row has: clauses.
    pub unmatched: Vec<String>,
    /// Requests held at the latest time seen.
    pub clamped: u64,
    /// Requests put in order.
    pub sorted: u64,
    /// What else was left out, by kind.
    pub left_out: BTreeMap<String, u64>,
}

/// Converts the trace at `from` to `to`, which is replaced if it is there. All devices are kept,
/// with their names.
pub fn convert(from: &Path, options: &OpenOptions, to: &Path, target: Target) -> Result<Conversion, TraceError> {
    let done = convert_while(from, options, to, target, || true)?;
    Ok(done.expect("a conversion that is always told to go on goes on to its end"))
}

/// The same, asking `go_on` before each request; when told to stop it leaves nothing behind and
/// returns none.
pub fn convert_while(
    from: &Path,
    options: &OpenOptions,
    to: &Path,
    target: Target,
    mut go_on: impl FnMut() -> bool,
) -> Result<Option<Conversion>, TraceError> {
    if let (Ok(source), Ok(existing)) = (from.canonicalize(), to.canonicalize())
        && source == existing
    {
        return Err(TraceError::write(to, "it is the trace that is being converted; name another file"));
    }
    let mut trace = open(from, options)?;
    let draft = Draft::new(to)?;
    let failed = |error: std::io::Error| TraceError::write(to, error);
    let mut sink = target.sink(draft.writer()?).map_err(failed)?;
    let mut requests = 0;
    while let Some(record) = trace.next() {
        if !go_on() {
            return Ok(None);
        }
        sink.write(&record?, trace.devices()).map_err(failed)?;
        requests += 1;
    }
    let writer = sink.finish(trace.devices()).map_err(failed)?;
    draft.finish(writer)?;
    Ok(Some(Conversion::of(&trace, requests)))
}

impl Conversion {
    pub(crate) fn of(trace: &Trace, requests: u64) -> Self {
        Self {
            format: trace.format,
            requests,
            devices: trace.devices().to_vec(),
            skipped: trace.skipped(),
            unmet: trace.unmet(),
            unmatched: trace.unmatched(),
            clamped: trace.clamped(),
            sorted: trace.sorted(),
            left_out: trace.left_out(),
        }
    }
}

/// A file in the making: written beside its target, which it replaces when it is complete.
pub(crate) struct Draft {
    path: PathBuf,
    file: NamedTempFile,
}

impl Draft {
    /// Starts a file that will be called `path`.
    pub(crate) fn new(path: &Path) -> Result<Self, TraceError> {
        if path.is_dir() {
            return Err(TraceError::write(path, "it is a folder"));
        }
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".ftlkit-").suffix(".part");
        // Temporary files are private by default; this one becomes an ordinary file, as the umask
        // would have it.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).map_err(|error| TraceError::write(path, error))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// A writer into it.
    pub(crate) fn writer(&self) -> Result<BufWriter<File>, TraceError> {
        let file = self.file.reopen().map_err(|error| TraceError::write(&self.path, error))?;
        Ok(BufWriter::with_capacity(256 << 10, file))
    }

    /// Gives it its name; its bytes are on the disk by then.
    pub(crate) fn finish(self, writer: BufWriter<File>) -> Result<(), TraceError> {
        let failed = |error: io::Error| TraceError::write(&self.path, error);
        writer.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
        let path = self.path;
        self.file.persist(&path).map_err(|error| TraceError::write(&path, error.error))?;
        Ok(())
    }
}
