//! What every format that traces are written in can do, and the simplest one: our CSV, a header and
//! a line per request. See the reader for the columns.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use crate::read::csv::{HEADER, quoted};
use crate::record::Record;

/// Something that takes records and makes a file of them.
pub(crate) trait Sink {
    fn write(&mut self, record: &Record, devices: &[String]) -> io::Result<()>;
    fn finish(self: Box<Self>, devices: &[String]) -> io::Result<BufWriter<File>>;
}

/// Writes CSV.
pub(crate) struct CsvSink {
    writer: BufWriter<File>,
    /// Names as fields, by device, made when a device first appears.
    names: Vec<String>,
}

impl CsvSink {
    /// Starts with the header.
    pub(crate) fn new(mut writer: BufWriter<File>) -> io::Result<Self> {
        writeln!(writer, "{HEADER}")?;
        Ok(Self { writer, names: Vec::new() })
    }

    /// Hands all records so far to the operating system, whole lines.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// The file that they are written to.
    pub(crate) fn file(&self) -> &File {
        self.writer.get_ref()
    }
}

impl Sink for CsvSink {
    fn write(&mut self, record: &Record, devices: &[String]) -> io::Result<()> {
        let device = record.device as usize;
        while self.names.len() <= device {
            let next = self.names.len();
            self.names.push(devices.get(next).map_or_else(|| next.to_string(), |name| quoted(name)));
        }
        let op = record.op.name();
        let Record { time_ns, offset, length, hint, .. } = *record;
        let (stream, temperature, file_type) = (hint.stream(), hint.temperature(), hint.file_type());
        let name = &self.names[device];
        writeln!(self.writer, "{time_ns},{op},{offset},{length},{stream},{temperature},{file_type},{name}")
    }

    fn finish(self: Box<Self>, _devices: &[String]) -> io::Result<BufWriter<File>> {
        Ok(self.writer)
    }
}
