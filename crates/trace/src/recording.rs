//! A trace that grows while its requests come.
//!
//! Its CSV grows in the file itself, under its name from the beginning: after each
//! [`flush`](Recording::flush) the requests so far outlive the process. If that is killed, the last
//! line may be incomplete, and the reader leaves it out. Parquet is of use only when it is whole,
//! so it grows as CSV beside its name, and is made from that at the end.

use std::ffi::OsString;
use std::fs::OpenOptions as FileOptions;
use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::TraceError;
use crate::format::Format;
use crate::options::OpenOptions;
use crate::record::Record;
use crate::write::sink::{CsvSink, Sink};
use crate::write::{Target, convert, write_parquet};

/// A trace in the making, in a file that was not there before.
pub struct Recording {
    path: PathBuf,
    /// The file that grows.
    growing: PathBuf,
    sink: CsvSink,
    requests: u64,
    is_finished: bool,
}

impl Recording {
    /// Starts a trace in a new file, whose name ends in `.csv` or `.parquet`.
    pub fn create(path: &Path) -> Result<Self, TraceError> {
        let growing = match Target::of(path) {
            Some(Target::Csv) => path.to_owned(),
            Some(Target::Parquet) if path.symlink_metadata().is_ok() => return Err(is_there(path)),
            Some(Target::Parquet) => {
                let mut name = OsString::from(path);
                name.push(".part.csv");
                name.into()
            }
            None => return Err(refused(path, "the name must end in .parquet or .csv")),
        };
        let file = FileOptions::new().write(true).create_new(true).open(&growing).map_err(|error| {
            if error.kind() == ErrorKind::AlreadyExists { is_there(&growing) } else { failed(&growing, &error) }
        })?;
        let sink = CsvSink::new(BufWriter::with_capacity(256 << 10, file)).map_err(|error| failed(&growing, &error))?;
        let mut recording = Self { path: path.to_owned(), growing, sink, requests: 0, is_finished: false };
        recording.flush()?;
        Ok(recording)
    }

    /// The trace's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a request.
    pub fn push(&mut self, record: &Record) -> Result<(), TraceError> {
        self.sink.write(record, &[]).map_err(|error| failed(&self.growing, &error))?;
        self.requests += 1;
        Ok(())
    }

    /// Hands all requests so far to the operating system.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.sink.flush().map_err(|error| failed(&self.growing, &error))
    }

    /// Completes the trace; returns how many requests it has.
    pub fn finish(mut self) -> Result<u64, TraceError> {
        self.flush()?;
        self.is_finished = true;
        if self.growing == self.path {
            self.sink.file().sync_all().map_err(|error| failed(&self.path, &error))?;
            return Ok(self.requests);
        }
        if self.requests == 0 {
            write_parquet([], &self.path)?;
        } else {
            convert(&self.growing, &OpenOptions::with_format(Format::Csv), &self.path, Target::Parquet)?;
        }
        std::fs::remove_file(&self.growing).map_err(|error| failed(&self.growing, &error))?;
        Ok(self.requests)
    }
}

impl Drop for Recording {
    /// A recording that ends before its first request leaves nothing behind.
    fn drop(&mut self) {
        if !self.is_finished && self.requests == 0 {
            let _ = std::fs::remove_file(&self.growing);
        }
    }
}

fn is_there(path: &Path) -> TraceError {
    refused(path, "it is there already, and a recording replaces no file; name another one, or move it away")
}

fn failed(path: &Path, error: &io::Error) -> TraceError {
    refused(path, format!("cannot be written: {error}. Check that its folder is writable and its disk has room"))
}

fn refused(path: &Path, reason: impl Into<String>) -> TraceError {
    TraceError::Recording { path: path.to_owned(), reason: reason.into() }
}
