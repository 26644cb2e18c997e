//! Parquet, our own columns: `time_ns, op, offset, length` and, optionally, `device` and `stream`.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `time_ns` | u64 | arrival, nanoseconds |
//! | `op` | u8 | 0 read, 1 write, 2 trim, 3 flush |
//! | `offset` | u64 | first byte |
//! | `length` | u32 | bytes |
//! | `device` | u32 | number of the device; absent: all 0 |
//! | `stream` | u8 | hint; absent: all 0 |
//!
//! Any integer width is accepted, so that a table written by another tool is read as well; other
//! columns are left alone. The names of the devices are in the file's metadata under `devices`, one
//! a line; without them a device is called by its number. Rows are read a batch at a time, so
//! memory does not grow with the file.
//!
//! Parquet is read from its end, so it cannot be read through a decompressor; it is compressed
//! inside.

mod column;
mod pages;

use std::path::{Path, PathBuf};

use bytes::Bytes;
use host::{Hint, HostOp};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};

use super::source::{Fault, LeftOut, Raw, Source};
use crate::error::{TraceError, TracePosition, excerpt, printable};
use crate::format::{Format, TimeUnit};
use crate::input::Origin;
use crate::options::OpenOptions;
use crate::record::Record;
use column::Column;
use pages::{CheckedPages, guarded};

/// The columns, in the order in which they are written.
pub(crate) const COLUMNS: [&str; 8] =
    ["time_ns", "op", "offset", "length", "device", "stream", "temperature", "file_type"];

/// What the numbers of `op` mean.
const OPERATIONS: &str = "0 read, 1 write, 2 trim or 3 flush";

/// How many of them must be there.
const REQUIRED: usize = 4;

/// The key of the metadata that holds the devices' names.
pub(crate) const DEVICES_KEY: &str = "devices";

/// The largest number of devices, as in text formats.
const MAX_DEVICES: u64 = 1 << 20;

/// Rows decoded at a time.
const BATCH: usize = 8192;

/// A trace in Parquet.
pub(crate) struct ParquetSource {
    file: Box<dyn FileReader>,
    /// Bytes in the file.
    length: u64,
    /// Where each of [`COLUMNS`] is in the file.
    places: [Option<usize>; COLUMNS.len()],
    columns: [Option<Column>; COLUMNS.len()],
    /// Row groups opened, rows left in the one that is open, rows left in the batch.
    groups: usize,
    left_in_group: usize,
    left_in_batch: usize,
    row: u64,
    values: [u64; COLUMNS.len()],
    unit: TimeUnit,
    skip_bad: bool,
    shift_bytes: u64,
    names: Vec<String>,
    left_out: LeftOut,
    path: PathBuf,
}

impl ParquetSource {
    /// Opens `origin`, reads its footer and finds the columns.
    pub(crate) fn new(origin: &Origin, options: &OpenOptions) -> Result<Self, TraceError> {
        let path = origin.path().to_owned();
        if let Some(compression) = origin.open()?.compression() {
            let problem = format!("it is compressed with {compression} as a whole, but Parquet is read from its end");
            return Err(TraceError::Read {
                path,
                place: TracePosition::Byte(0),
                source: std::io::Error::other(problem),
                advice: format!("Decompress it first (`{compression} -d`); it is compressed inside already"),
            });
        }
        let (file, length) = match origin {
            Origin::File(path) => open(path, Origin::file(path)?)?,
            Origin::Memory { bytes, .. } => open(&path, Bytes::copy_from_slice(bytes))?,
        };
        let mut source = Self {
            file,
            length,
            places: [None; COLUMNS.len()],
            columns: [const { None }; COLUMNS.len()],
            groups: 0,
            left_in_group: 0,
            left_in_batch: 0,
            row: 0,
            values: [0; COLUMNS.len()],
            unit: options.unit(Format::Parquet),
            skip_bad: options.skip_bad,
            shift_bytes: options.shift_bytes,
            names: Vec::new(),
            left_out: LeftOut::default(),
            path,
        };
        source.find_columns()?;
        source.check_groups()?;
        source.read_names();
        Ok(source)
    }

    fn find_columns(&mut self) -> Result<(), TraceError> {
        let schema = self.file.metadata().file_metadata().schema_descr_ptr();
        let names: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
        for (index, name) in COLUMNS.into_iter().enumerate() {
            self.places[index] = names.iter().position(|other| *other == name);
            let problem = match self.places[index] {
                None if index < REQUIRED => format!("there is no column {name}"),
                Some(place) => match column::check(&schema.column(place)) {
                    Ok(()) => continue,
                    Err(reason) if name == "op" => format!("the column {name} {reason}: {OPERATIONS}"),
                    Err(reason) => format!("the column {name} {reason}"),
                },
                None => continue,
            };
            let excerpt = excerpt(format!("columns {}", names.join(", ")).as_bytes());
            return Err(TraceError::bad(&self.path, Format::Parquet, (self.place().0, excerpt), problem));
        }
        Ok(())
    }

    /// Refuses metadata that cannot be true. The library takes it at its word, and some of it ends
    /// in a panic.
    fn check_groups(&self) -> Result<(), TraceError> {
        let metadata = self.file.metadata();
        let columns = metadata.file_metadata().schema_descr().num_columns();
        for group in metadata.row_groups() {
            for place in self.places.into_iter().flatten() {
                let problem = if group.num_columns() == columns {
                    column::check_chunk(group.column(place), group.num_rows(), self.length)
                } else {
                    Some(format!("a row group has {} columns where the file has {columns}", group.num_columns()))
                };
                if let Some(problem) = problem {
                    return Err(damaged(&self.path, 0, &ParquetError::General(problem)));
                }
            }
        }
        Ok(())
    }

    fn read_names(&mut self) {
        let metadata = self.file.metadata().file_metadata();
        let pairs = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
        if let Some(names) = pairs.iter().find(|pair| pair.key == DEVICES_KEY).and_then(|pair| pair.value.as_deref()) {
            self.names = names.split('\n').map(printable).collect();
        }
    }

    /// Makes sure that the batch holds a row; false at the end of the file.
    fn fill(&mut self) -> Result<bool, TraceError> {
        while self.left_in_batch == 0 {
            if self.left_in_group > 0 {
                self.next_batch()?;
            } else if self.groups < self.file.num_row_groups() {
                self.next_group()?;
            } else {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn next_group(&mut self) -> Result<(), TraceError> {
        let damaged = |error: &ParquetError| damaged(&self.path, self.row, error);
        let group = self.file.get_row_group(self.groups).map_err(|error| damaged(&error))?;
        let rows = group.metadata().num_rows();
        self.left_in_group = usize::try_from(rows)
            .map_err(|_| damaged(&ParquetError::General(format!("a row group says that it has {rows} rows"))))?;
        let schema = self.file.metadata().file_metadata().schema_descr_ptr();
        for (column, place) in self.columns.iter_mut().zip(self.places) {
            let Some(place) = place else { continue };
            let opened = guarded(|| {
                let pages = CheckedPages::new(group.get_column_page_reader(place)?);
                Column::new(Box::new(pages), &schema.column(place))
            });
            *column = Some(opened.map_err(|error| damaged(&error))?);
        }
        self.groups += 1;
        Ok(())
    }

    fn next_batch(&mut self) -> Result<(), TraceError> {
        let rows = self.left_in_group.min(BATCH);
        for column in self.columns.iter_mut().flatten() {
            guarded(|| column.read(rows)).map_err(|error| damaged(&self.path, self.row, &error))?;
        }
        self.left_in_group -= rows;
        self.left_in_batch = rows;
        Ok(())
    }

    /// Takes the next row of the batch.
    fn take(&mut self) -> Result<Record, Fault> {
        let mut outcome = Ok(());
        for (index, column) in self.columns.iter_mut().enumerate() {
            let Some(column) = column else { continue };
            match column.next() {
                Ok(value) => self.values[index] = value,
                Err(expected) => {
                    outcome = outcome.and(Err(Fault::new(format!("{} is {expected}", COLUMNS[index]))));
                }
            }
        }
        outcome?;
        self.parse()
    }

    fn parse(&mut self) -> Result<Record, Fault> {
        let [ticks, op, offset, length, device, stream, temperature, file_type] = self.values;
        let known = usize::try_from(op).ok().and_then(|op| HostOp::ALL.get(op));
        let op = *known.ok_or_else(|| Fault::new(format!("op is {op}; expected {OPERATIONS}")))?;
        let time_ns = ticks
            .checked_mul(self.unit.ns())
            .ok_or_else(|| Fault::new(format!("time_ns is {ticks} {}, which is beyond 2^64-1 ns", self.unit)))?;
        if device >= MAX_DEVICES {
            return Err(Fault::new(format!("device is {device}; expected a number below {MAX_DEVICES}")));
        }
        let hint = Hint::new(byte("stream", stream)?, byte("temperature", temperature)?, byte("file_type", file_type)?);
        while self.names.len() as u64 <= device {
            self.names.push(self.names.len().to_string());
        }
        Raw { hint, ..Raw::new(time_ns, op, offset, length, device as u32) }.check(self.shift_bytes)
    }
}

impl Source for ParquetSource {
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        while self.fill()? {
            self.left_in_batch -= 1;
            self.row += 1;
            match self.take() {
                Ok(record) => return Ok(Some(record)),
                Err(_) if self.skip_bad => self.left_out.bad += 1,
                Err(fault) => return Err(TraceError::bad(&self.path, Format::Parquet, self.place(), fault.problem)),
            }
        }
        Ok(None)
    }

    fn devices(&self) -> &[String] {
        &self.names
    }

    fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }

    fn place(&self) -> (TracePosition, String) {
        let columns = COLUMNS.iter().zip(self.values).zip(self.places).filter(|(_, place)| place.is_some());
        let shown: Vec<String> = columns.map(|((name, value), _)| format!("{name} {value}")).collect();
        (TracePosition::Row(self.row.saturating_sub(1)), shown.join(", "))
    }
}

/// A hint, from 0 to 255.
fn byte(name: &str, value: u64) -> Result<u8, Fault> {
    u8::try_from(value).map_err(|_| Fault::new(format!("{name} is {value}; expected a number from 0 to 255")))
}

/// A reader of these bytes, and how many they are. A damaged footer cannot ask for more memory than
/// that: the library checks the footer's own length, [`ParquetSource::check_groups`] what is in it.
fn open(path: &Path, bytes: impl ChunkReader + 'static) -> Result<(Box<dyn FileReader>, u64), TraceError> {
    let length = bytes.len();
    let file = guarded(|| SerializedFileReader::new(bytes)).map_err(|error| damaged(path, 0, &error))?;
    Ok((Box::new(file), length))
}

#[cold]
fn damaged(path: &Path, row: u64, error: &ParquetError) -> TraceError {
    TraceError::Read {
        path: path.to_owned(),
        place: TracePosition::Row(row),
        source: std::io::Error::other(printable(&error.to_string())),
        advice:
            "It is no Parquet file, or one that is cut short or damaged; copy or convert it again, or name its format \
                 (--format)"
                .to_owned(),
    }
}
