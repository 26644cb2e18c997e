//! Our Parquet: eight columns of integers, row groups of a bounded size, the devices' names in the
//! metadata. See the reader for the columns.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::sink::Sink;
use crate::read::parquet::DEVICES_KEY;
use crate::record::Record;

/// Rows in a row group. At 40 bytes per row it takes 5 MB of memory while it is being filled, and
/// is large enough that the dictionary and the headers of its columns do not show in the file's
/// size.
const GROUP_ROWS: usize = 1 << 17;

const SCHEMA: &str = "message trace {
    required int64 time_ns (INTEGER(64, false));
    required int32 op (INTEGER(8, false));
    required int64 offset (INTEGER(64, false));
    required int32 length (INTEGER(32, false));
    required int32 device (INTEGER(32, false));
    required int32 stream (INTEGER(8, false));
    required int32 temperature (INTEGER(8, false));
    required int32 file_type (INTEGER(8, false));
}";

/// Writes Parquet.
pub(super) struct ParquetSink {
    writer: SerializedFileWriter<BufWriter<File>>,
    /// The row group in the making.
    rows: Vec<Record>,
}

impl ParquetSink {
    pub(super) fn new(writer: BufWriter<File>) -> io::Result<Self> {
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(io::Error::other)?);
        let times = ColumnPath::from("time_ns");
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            // Times hardly repeat but grow by little: differences, not a dictionary.
            .set_column_dictionary_enabled(times.clone(), false)
            .set_column_encoding(times, Encoding::DELTA_BINARY_PACKED)
            .build();
        let writer = SerializedFileWriter::new(writer, schema, Arc::new(properties)).map_err(io::Error::other)?;
        Ok(Self { writer, rows: Vec::new() })
    }

    /// Unsigned numbers are stored as the signed ones of the same bits; the schema says that they
    /// are unsigned.
    fn flush(&mut self) -> ParquetResult<()> {
        let (rows, mut group) = (&self.rows, self.writer.next_row_group()?);
        column::<Int64Type>(&mut group, rows, |row| row.time_ns.cast_signed())?;
        column::<Int32Type>(&mut group, rows, |row| row.op as i32)?;
        column::<Int64Type>(&mut group, rows, |row| row.offset.cast_signed())?;
        column::<Int32Type>(&mut group, rows, |row| row.length.cast_signed())?;
        column::<Int32Type>(&mut group, rows, |row| row.device.cast_signed())?;
        column::<Int32Type>(&mut group, rows, |row| row.hint.stream().into())?;
        column::<Int32Type>(&mut group, rows, |row| row.hint.temperature().into())?;
        column::<Int32Type>(&mut group, rows, |row| row.hint.file_type().into())?;
        group.close()?;
        self.rows.clear();
        Ok(())
    }
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    rows: &[Record],
    value: impl Fn(&Record) -> T::T,
) -> ParquetResult<()> {
    let values: Vec<T::T> = rows.iter().map(value).collect();
    let missing = || ParquetError::General("the schema has fewer columns than the rows".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(&values, None, None)?;
    column.close()
}

impl Sink for ParquetSink {
    fn write(&mut self, record: &Record, _devices: &[String]) -> io::Result<()> {
        self.rows.push(*record);
        if self.rows.len() == GROUP_ROWS { self.flush().map_err(io::Error::other) } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>, devices: &[String]) -> io::Result<BufWriter<File>> {
        if !self.rows.is_empty() {
            self.flush().map_err(io::Error::other)?;
        }
        let names: Vec<String> = devices.iter().map(|name| name.replace('\n', " ")).collect();
        if !names.is_empty() {
            self.writer.append_key_value_metadata(KeyValue::new(DEVICES_KEY.to_owned(), names.join("\n")));
        }
        self.writer.into_inner().map_err(io::Error::other)
    }
}
