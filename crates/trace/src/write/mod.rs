//! Traces out: Parquet or CSV, all or nothing.
//!
//! A trace is written to a file beside its target, which takes the target's name when it is complete. Whoever looks at the
//! target sees the old file, or the whole new one, or none; an error or an interruption leaves no part behind.

mod convert;
mod csv;
mod parquet;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::TraceError;
use crate::record::Record;

pub use convert::{Conversion, Target, convert, convert_while};

/// Something that takes records and makes a file of them.
trait Sink {
    fn write(&mut self, record: &Record, devices: &[String]) -> io::Result<()>;
    fn finish(self: Box<Self>, devices: &[String]) -> io::Result<BufWriter<File>>;
}

/// A file in the making.
struct Draft {
    path: PathBuf,
    file: NamedTempFile,
}

impl Draft {
    /// Starts a file that will be called `path`.
    fn new(path: &Path) -> Result<Self, TraceError> {
        if path.is_dir() {
            return Err(TraceError::write(path, "it is a folder"));
        }
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".ftlkit-").suffix(".part");
        // Temporary files are private by default; this one becomes an ordinary file, as the umask would have it.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).map_err(|error| TraceError::write(path, error))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// A writer into it.
    fn writer(&self) -> Result<BufWriter<File>, TraceError> {
        let file = self.file.reopen().map_err(|error| TraceError::write(&self.path, error))?;
        Ok(BufWriter::with_capacity(256 << 10, file))
    }

    /// Gives it its name; its bytes are on the disk by then.
    fn finish(self, writer: BufWriter<File>) -> Result<(), TraceError> {
        let failed = |error: io::Error| TraceError::write(&self.path, error);
        writer.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
        let path = self.path;
        self.file.persist(&path).map_err(|error| TraceError::write(&path, error.error))?;
        Ok(())
    }
}

/// Starts what a file is written with.
fn sink(writer: BufWriter<File>, target: Target) -> io::Result<Box<dyn Sink>> {
    Ok(match target {
        Target::Parquet => Box::new(parquet::ParquetSink::new(writer)?),
        Target::Csv => Box::new(csv::CsvSink::new(writer)?),
    })
}

/// Writes requests as they come to `path`; returns how many. Devices are called by their numbers; to keep their names, use
/// [`convert`](convert()). Nothing is left behind on an error.
pub fn write(
    records: impl IntoIterator<Item = Result<Record, TraceError>>,
    path: &Path,
    target: Target,
) -> Result<u64, TraceError> {
    let draft = Draft::new(path)?;
    let failed = |error: io::Error| TraceError::write(path, error);
    let mut sink = sink(draft.writer()?, target).map_err(failed)?;
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
