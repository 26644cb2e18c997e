//! Readers, one file a format, and the one list of them.
//!
//! A text format is a [`Layout`]: it turns one line into what the line says, and knows neither files nor the options that
//! are common to all. [`TextSource`](text::TextSource) drives it over the lines of a file. The two binary formats are
//! sources of their own.

mod alibaba;
mod biosnoop;
mod blkparse;
mod columns;
pub(crate) mod csv;
mod disksim;
mod etw;
pub(crate) mod fault;
mod fields;
mod fio;
mod fiu;
mod libcachesim;
mod msr;
mod number;
pub(crate) mod parquet;
mod scsi;
mod simulator;
pub(crate) mod source;
mod spc;
mod systor17;
mod tencent;
pub(crate) mod text;
pub(crate) mod vscsi;

use crate::devices::{Devices, plain};
use crate::error::TraceError;
use crate::format::Format;
use crate::input::Origin;
use crate::options::OpenOptions;
use crate::record::Op;
use fault::Fault;
use source::{Raw, Source};

/// What a line of a text format says.
pub(crate) enum Parsed {
    /// A request.
    Request(Raw),
    /// Something that the format provides for and that is no request, by kind.
    Other(&'static str),
}

/// One text format: how a line reads.
pub(crate) trait Layout: Send {
    /// Reads a line that is not blank. `devices` numbers the devices it names.
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault>;

    /// A line that may stand first and names the columns.
    fn header(&self) -> Option<&'static str> {
        None
    }

    /// Why a trace that was read to its end may have held no request, and what to do: a clause starting with punctuation.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// The layout of a text format; none for the others.
pub(crate) fn layout(format: Format, options: &OpenOptions) -> Option<Box<dyn Layout>> {
    let unit = options.unit(format);
    Some(match format {
        Format::Msr => Box::new(msr::Msr::new(unit)),
        Format::Spc => Box::new(spc::Spc::new(unit)),
        Format::Systor17 => Box::new(systor17::Systor17::new(unit)),
        Format::Alibaba => Box::new(alibaba::Alibaba::new(unit)),
        Format::Tencent => Box::new(tencent::Tencent::new(unit)),
        Format::Fiu => Box::new(fiu::Fiu::new(unit)),
        Format::Etw => Box::new(etw::Etw::new(unit)),
        Format::Blkparse => Box::new(blkparse::Blkparse::new(unit, options.blkparse_action)),
        Format::Biosnoop => Box::new(biosnoop::Biosnoop::new(unit)),
        Format::Fio => Box::new(fio::Fio::new(unit)),
        Format::Disksim => Box::new(disksim::Disksim::new(unit)),
        Format::Ssdsim | Format::Mqsim => Box::new(simulator::Simulator::new(unit)),
        Format::LibcachesimCsv => Box::new(libcachesim::LibcachesimCsv::new(unit)),
        Format::Csv => Box::new(csv::Csv::new(unit)),
        Format::Columns => Box::new(columns::Named::new(options.columns.clone()?, unit)),
        Format::Vscsi | Format::Parquet | Format::Generated => return None,
    })
}

/// Opens `origin` as `format`.
pub(crate) fn source(format: Format, origin: &Origin, options: &OpenOptions) -> Result<Box<dyn Source>, TraceError> {
    match layout(format, options) {
        Some(layout) => Ok(Box::new(text::TextSource::new(format, layout, origin, options)?)),
        None if format == Format::Vscsi => Ok(Box::new(vscsi::VscsiSource::new(origin, options)?)),
        None => Ok(Box::new(parquet::ParquetSource::new(origin, options)?)),
    }
}

/// The device that a line writes as `key`, named as it is written.
#[inline]
fn device(devices: &mut Devices, key: &[u8]) -> Result<u32, Fault> {
    if key.is_empty() {
        return Err(Fault::field("the device", key, "its name or number"));
    }
    devices.number(key, plain).ok_or_else(too_many_devices)
}

#[cold]
fn too_many_devices() -> Fault {
    Fault::because(
        "this is the 1048577th device, but a trace has at most 1048576; its device column is probably another one",
    )
}

/// `R`, `W` and their words, in any case.
#[inline]
fn read_or_write(name: &str, field: &[u8]) -> Result<Op, Fault> {
    match field {
        b"R" | b"r" => Ok(Op::Read),
        b"W" | b"w" => Ok(Op::Write),
        _ if field.eq_ignore_ascii_case(b"Read") => Ok(Op::Read),
        _ if field.eq_ignore_ascii_case(b"Write") => Ok(Op::Write),
        _ => Err(Fault::field(name, field, "R or W (Read or Write)")),
    }
}

/// A digit that says read or write.
#[inline]
fn read_or_write_digit(name: &str, field: &[u8], read: u8, write: u8) -> Result<Op, Fault> {
    match field {
        [digit] if *digit == read => Ok(Op::Read),
        [digit] if *digit == write => Ok(Op::Write),
        _ => Err(Fault::field(name, field, &format!("{} (read) or {} (write)", read as char, write as char))),
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! What the tests of all readers share: lines in, records out.

    use super::*;
    use crate::record::{Hint, Record};
    use crate::trace::{Trace, open_bytes};

    /// What a trace of these bytes holds, read as `format`.
    pub(crate) fn trace(format: Format, bytes: &[u8]) -> Trace {
        open_bytes("test", bytes, &OpenOptions::with_format(format)).unwrap()
    }

    /// All requests of a trace without errors, and its devices.
    pub(crate) fn records(format: Format, text: &str) -> (Vec<Record>, Vec<String>) {
        let mut trace = trace(format, text.as_bytes());
        let records = trace.by_ref().collect::<Result<_, _>>().unwrap();
        (records, trace.devices().to_vec())
    }

    /// The first error of a trace.
    pub(crate) fn error(format: Format, text: &str) -> String {
        trace(format, text.as_bytes()).find_map(Result::err).expect("an error").to_string()
    }

    /// Short for a record of the first device without a hint.
    pub(crate) fn record(time_ns: u64, op: Op, offset: u64, length: u32) -> Record {
        Record { time_ns, op, offset, length, device: 0, hint: Hint::NONE }
    }
}
