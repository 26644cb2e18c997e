//! One column of integers, whatever their width, a batch at a time.

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

/// A row group's column.
pub(super) struct Column {
    reader: ColumnReader,
    is_unsigned: bool,
    is_nullable: bool,
    /// The batch: values without the nulls, and for every row whether it has one.
    wide: Vec<i64>,
    narrow: Vec<i32>,
    levels: Vec<i16>,
    next_value: usize,
    next_level: usize,
}

/// Whether a column can be read; if not, why. A date or a decimal number is stored as an integer of
/// a unit of its own, which would be taken for another.
pub(super) fn check(column: &ColumnDescriptor) -> std::result::Result<(), String> {
    match column.physical_type() {
        _ if column.max_rep_level() > 0 || column.max_def_level() > 1 => {
            Err("is nested; expected plain integers".into())
        }
        Type::INT32 | Type::INT64 if is_plain(column) => Ok(()),
        Type::INT32 | Type::INT64 => {
            let logical = column.logical_type_ref().map(|logical| format!("{logical:?}"));
            let name = logical.unwrap_or_else(|| column.converted_type().to_string());
            // The name alone, without what it is made of.
            let name = name.split(['(', ' ']).next().unwrap_or_default();
            Err(format!("has the type {name}; expected plain integers"))
        }
        other => Err(format!("has the type {other}; expected integers")),
    }
}

/// Whether integers are meant as numbers, and not as dates or decimals.
fn is_plain(column: &ColumnDescriptor) -> bool {
    use ConvertedType::{INT_8, INT_16, INT_32, INT_64, NONE, UINT_8, UINT_16, UINT_32, UINT_64};
    match column.logical_type_ref() {
        Some(logical) => matches!(logical, LogicalType::Integer(_)),
        None => matches!(
            column.converted_type(),
            NONE | INT_8 | INT_16 | INT_32 | INT_64 | UINT_8 | UINT_16 | UINT_32 | UINT_64
        ),
    }
}

/// What cannot be true of a row group's column, in a file of `file_length` bytes; none if all of it
/// can.
pub(super) fn check_chunk(chunk: &ColumnChunkMetaData, rows: i64, file_length: u64) -> Option<String> {
    let path = chunk.column_path();
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let (Ok(start), Ok(length)) = (u64::try_from(start), u64::try_from(chunk.compressed_size())) else {
        return Some(format!("column {path} starts at byte {start} and has {} bytes", chunk.compressed_size()));
    };
    if start.checked_add(length).is_none_or(|end| end > file_length) {
        return Some(format!("column {path} has {length} bytes at byte {start}, but the file has {file_length}"));
    }
    // Without repetition there is a value, or a null, for every row.
    (chunk.num_values() != rows).then(|| format!("column {path} has {} values in {rows} rows", chunk.num_values()))
}

impl Column {
    /// The column that `pages` hold.
    pub(super) fn new(pages: Box<dyn PageReader>, column: &ColumnDescPtr) -> Result<Self> {
        let reader = get_column_reader(column.clone(), pages);
        if !matches!(reader, ColumnReader::Int32ColumnReader(_) | ColumnReader::Int64ColumnReader(_)) {
            return Err(ParquetError::General("a row group has another column type than the file".into()));
        }
        let is_unsigned = match column.logical_type_ref() {
            Some(LogicalType::Integer(integer)) => !integer.is_signed,
            _ => matches!(
                column.converted_type(),
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
            ),
        };
        Ok(Self {
            reader,
            is_unsigned,
            is_nullable: column.max_def_level() > 0,
            wide: Vec::new(),
            narrow: Vec::new(),
            levels: Vec::new(),
            next_value: 0,
            next_level: 0,
        })
    }

    /// Decodes the next `rows` rows.
    pub(super) fn read(&mut self, rows: usize) -> Result<()> {
        (self.next_value, self.next_level) = (0, 0);
        self.levels.clear();
        let levels = self.is_nullable.then_some(&mut self.levels);
        let read = match &mut self.reader {
            ColumnReader::Int32ColumnReader(reader) => read(reader, rows, levels, &mut self.narrow)?,
            ColumnReader::Int64ColumnReader(reader) => read(reader, rows, levels, &mut self.wide)?,
            _ => 0,
        };
        if read == rows {
            Ok(())
        } else {
            Err(ParquetError::EOF(format!("a column has {read} rows where {rows} were due")))
        }
    }

    /// The next value of the batch; if it cannot be used, what it is.
    #[inline]
    pub(super) fn next(&mut self) -> std::result::Result<u64, String> {
        if self.is_nullable {
            let level = self.levels.get(self.next_level).copied();
            self.next_level += 1;
            if level != Some(1) {
                return Err("null; expected a number".into());
            }
        }
        let index = self.next_value;
        self.next_value += 1;
        let value = match &self.reader {
            ColumnReader::Int32ColumnReader(_) if self.is_unsigned => {
                self.narrow.get(index).map(|&value| i64::from(value as u32))
            }
            ColumnReader::Int32ColumnReader(_) => self.narrow.get(index).map(|&value| i64::from(value)),
            _ => self.wide.get(index).copied(),
        };
        match value {
            None => Err("missing; expected a number".into()),
            Some(value) if value >= 0 || self.is_unsigned => Ok(value as u64),
            Some(value) => Err(format!("{value}; expected a number that is not negative")),
        }
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    mut levels: Option<&mut Vec<i16>>,
    values: &mut Vec<T::T>,
) -> Result<usize> {
    values.clear();
    let mut total = 0;
    while total < rows {
        let (read, _, _) = reader.read_records(rows - total, levels.as_deref_mut(), None, values)?;
        if read == 0 {
            break;
        }
        total += read;
    }
    Ok(total)
}
