//! Traces out: Parquet or CSV, all or nothing.
//!
//! A trace is written to a file beside its target, which takes the target's name when it is
//! complete. Whoever looks at the target sees the old file, or the whole new one, or none; an error
//! or an interruption leaves no part behind.

mod convert;
mod csv;
mod draft;
mod parquet;
mod sink;
mod target;

use std::io;
use std::path::Path;

use crate::error::TraceError;
use crate::record::Record;

use draft::Draft;

pub use convert::{Conversion, convert, convert_while};
pub use target::Target;

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
