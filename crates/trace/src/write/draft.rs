//! A file in the making: written beside its target, which it replaces when it is complete.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::TraceError;

/// A file in the making.
pub(super) struct Draft {
    path: PathBuf,
    file: NamedTempFile,
}

impl Draft {
    /// Starts a file that will be called `path`.
    pub(super) fn new(path: &Path) -> Result<Self, TraceError> {
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
    pub(super) fn writer(&self) -> Result<BufWriter<File>, TraceError> {
        let file = self.file.reopen().map_err(|error| TraceError::write(&self.path, error))?;
        Ok(BufWriter::with_capacity(256 << 10, file))
    }

    /// Gives it its name; its bytes are on the disk by then.
    pub(super) fn finish(self, writer: BufWriter<File>) -> Result<(), TraceError> {
        let failed = |error: io::Error| TraceError::write(&self.path, error);
        writer.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
        let path = self.path;
        self.file.persist(&path).map_err(|error| TraceError::write(&path, error.error))?;
        Ok(())
    }
}
