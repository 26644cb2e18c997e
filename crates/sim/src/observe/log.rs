//! A row for every request, as Parquet: when it arrived, began and ended, what it did, and what it
//! waited for.
//!
//! Runs go on side by side, so each writes a part of its own beside the target; when all are done
//! the parts are put together in the order of the study, group by group as they are. Memory does
//! not grow with the workload, and the file is the same whatever the number of threads. Nothing is
//! left behind on an error, and the target appears when it is whole.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ftl::{Cause, FlashOp, Tally};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;
use tempfile::TempDir;
use trace::HostOp;

use crate::SimError;
use crate::observe::wait_breakdown::Parts;

/// Rows in a group: some megabytes while it is filled.
const GROUP_ROWS: usize = 1 << 15;

/// Columns of numbers that every row has.
const FIXED: [&str; 5] = ["request", "arrival_ns", "begin_ns", "end_ns", "pages"];

/// Where the requests of a study are logged.
pub(crate) struct Log {
    target: PathBuf,
    parts: TempDir,
}

impl Log {
    /// Prepares to log beside `target`.
    pub(crate) fn new(target: &Path) -> Result<Self, SimError> {
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parts = tempfile::tempdir_in(folder).map_err(|error| failed(target, &error))?;
        Ok(Self { target: target.to_owned(), parts })
    }

    /// The part of one run, the `index`-th of the study.
    pub(crate) fn part(&self, index: usize, label: &str, has_waiting: bool) -> Result<Part, SimError> {
        let open = || -> ParquetResult<Part> {
            let names = numbers(has_waiting);
            let file = BufWriter::new(File::create(self.path(index))?);
            let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
            let writer = SerializedFileWriter::new(file, schema(&names)?, Arc::new(properties.build()))?;
            let columns = vec![Vec::with_capacity(GROUP_ROWS); names.len()];
            let (label, target, before) = (label.into(), self.target.clone(), Tally::default());
            Ok(Part { label, target, writer, kinds: Vec::new(), columns, has_waiting, before })
        };
        open().map_err(|error| failed(&self.target, &error))
    }

    fn path(&self, index: usize) -> PathBuf {
        self.parts.path().join(index.to_string())
    }

    /// Puts the parts of this many runs together.
    pub(crate) fn finish(self, runs: usize, has_waiting: bool) -> Result<(), SimError> {
        self.join(runs, has_waiting).map_err(|error| failed(&self.target, &error))
    }

    fn join(&self, runs: usize, has_waiting: bool) -> ParquetResult<()> {
        let whole = self.parts.path().join("whole");
        let file = BufWriter::new(File::create(&whole)?);
        let mut writer = SerializedFileWriter::new(file, schema(&numbers(has_waiting))?, Arc::default())?;
        for index in 0..runs {
            let part = File::open(self.path(index))?;
            let metadata = ParquetMetaDataReader::new().parse_and_finish(&part)?;
            for rows in metadata.row_groups() {
                let mut group = writer.next_row_group()?;
                for column in rows.columns() {
                    let bytes_written = column.compressed_size().cast_unsigned();
                    let rows_written = rows.num_rows().cast_unsigned();
                    let (metadata, bloom_filter, column_index, offset_index) = (column.clone(), None, None, None);
                    let close = ColumnCloseResult {
                        bytes_written,
                        rows_written,
                        metadata,
                        bloom_filter,
                        column_index,
                        offset_index,
                    };
                    group.append_column(&part, close)?;
                }
                group.close()?;
            }
        }
        writer.into_inner()?.flush()?;
        Ok(std::fs::rename(&whole, &self.target)?)
    }
}

/// The rows of one run.
pub(crate) struct Part {
    label: ByteArray,
    target: PathBuf,
    writer: SerializedFileWriter<BufWriter<File>>,
    kinds: Vec<ByteArray>,
    columns: Vec<Vec<i64>>,
    has_waiting: bool,
    /// What had been done before the next request.
    before: Tally,
}

/// Flash operations by cause.
pub(crate) type Operations = [u64; Cause::COUNT];

/// Facts about a completed request.
pub(crate) struct Row {
    /// Its number, counted from 1.
    pub(crate) number: u64,
    pub(crate) op: HostOp,
    pub(crate) arrival_ns: u64,
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) pages: u64,
    /// Its flash operations by cause.
    pub(crate) operations: Operations,
    /// The parts of its time, where they are known.
    pub(crate) parts: Option<Parts>,
}

impl Part {
    /// What had been done before the first request.
    pub(crate) fn begin(&mut self, before: &Tally) {
        self.before = *before;
    }

    /// What has been done since this was last asked: the operations of the request in hand.
    pub(crate) fn operations(&mut self, tally: &Tally) -> Operations {
        let done = tally.since(&self.before);
        self.before = *tally;
        Cause::ALL.map(|cause| FlashOp::ALL.iter().map(|&op| done.count(cause, op)).sum())
    }

    pub(crate) fn push(&mut self, row: &Row) -> Result<(), SimError> {
        self.kinds.push(row.op.name().into());
        let fixed = [row.number, row.arrival_ns, row.begin_ns, row.end_ns, row.pages];
        let parts = row.parts.unwrap_or_default();
        let times = parts.waiting.into_iter().chain(parts.service).chain([parts.controller, parts.link]);
        let values = fixed.into_iter().chain(row.operations).chain(times.filter(|_| self.has_waiting));
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value.cast_signed());
        }
        if self.kinds.len() == GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Writes the remaining rows.
    pub(crate) fn finish(mut self) -> Result<(), SimError> {
        if !self.kinds.is_empty() {
            self.flush()?;
        }
        let end = || -> ParquetResult<()> { Ok(self.writer.into_inner()?.flush()?) };
        end().map_err(|error| failed(&self.target, &error))
    }

    fn flush(&mut self) -> Result<(), SimError> {
        self.write_group().map_err(|error| failed(&self.target, &error))
    }

    fn write_group(&mut self) -> ParquetResult<()> {
        let labels = vec![self.label.clone(); self.kinds.len()];
        let mut group = self.writer.next_row_group()?;
        for texts in [&labels, &self.kinds] {
            if let Some(mut column) = group.next_column()? {
                column.typed::<ByteArrayType>().write_batch(texts, None, None)?;
                column.close()?;
            }
        }
        for values in &mut self.columns {
            if let Some(mut column) = group.next_column()? {
                column.typed::<Int64Type>().write_batch(values, None, None)?;
                column.close()?;
            }
            values.clear();
        }
        group.close()?;
        self.kinds.clear();
        Ok(())
    }
}

/// Names of the columns of numbers, in order.
fn numbers(has_waiting: bool) -> Vec<String> {
    let by_cause = |name: fn(&str) -> String| Cause::ALL.into_iter().map(move |cause| name(cause.name()));
    let mut names: Vec<String> = FIXED.map(str::to_owned).into();
    names.extend(by_cause(|cause| format!("{cause}_operations")));
    if has_waiting {
        names.extend(by_cause(|cause| format!("waiting_{cause}_ns")));
        names.extend(by_cause(|cause| format!("service_{cause}_ns")));
        names.extend(["controller_ns".into(), "link_ns".into()]);
    }
    names
}

fn schema(numbers: &[String]) -> ParquetResult<TypePtr> {
    let column = |name: &String| format!("required int64 {name} (INTEGER(64, false));");
    let columns = numbers.iter().map(column).collect::<Vec<_>>().join(" ");
    let text =
        format!("message requests {{ required binary label (STRING); required binary kind (STRING); {columns} }}");
    Ok(Arc::new(parse_message_type(&text)?))
}

fn failed(target: &Path, error: &dyn std::fmt::Display) -> SimError {
    SimError::study(format!(
        "{}: cannot be written: {error}. Check that the folder exists, is writable and has room; nothing was left behind",
        target.display()
    ))
}
