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
pub use parquet::write_parquet;

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
