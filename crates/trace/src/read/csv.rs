//! Our own format as text, written by `convert`:
//! `time_ns,op,offset,length,stream,temperature,file_type,device`.
//!
//! Nanoseconds, read|write|trim|flush, bytes, bytes, three hints of 0 to 255, and the device's
//! name, which stands last because it may hold commas; then it is in double quotes, and a double
//! quote in it is doubled. Without that header there is but one hint, the stream.

use host::{Hint, HostOp};

use super::fields::{Separated, Walk};
use super::layout::{Layout, Parsed};
use super::source::{Fault, Raw};
use crate::devices::{Devices, plain};
use crate::format::{Format, TimeUnit};

/// The header of a file with all hints.
pub(crate) const HEADER: &str = "time_ns,op,offset,length,stream,temperature,file_type,device";

/// The layout, counting time in a given unit.
pub(super) struct Csv {
    unit: TimeUnit,
    /// Whether the header says that all hints are there.
    has_all_hints: bool,
}

impl Csv {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit, has_all_hints: false }
    }
}

impl Layout for Csv {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        self.has_all_hints |= line.trim_ascii() == HEADER.as_bytes();
        let mut fields = Separated::by_commas(line);
        let time_ns = fields.time("the time", self.unit)?;
        let name = fields.next("the op")?;
        let op = HostOp::from_name(name).ok_or_else(|| Fault::field("the op", name, "read, write, trim or flush"))?;
        let offset = fields.whole("the offset")?;
        let length = fields.whole("the length")?;
        let stream = byte(&mut fields, "the stream")?;
        let hint = if self.has_all_hints {
            Hint::new(stream, byte(&mut fields, "the temperature")?, byte(&mut fields, "the file type")?)
        } else {
            Hint::of_stream(stream)
        };
        let written = fields.rest("the device")?;
        let device = devices.number(written, unquoted).ok_or_else(super::layout::too_many_devices)?;
        Ok(Parsed::Request(Raw { hint, ..Raw::new(time_ns, op, offset, length, device) }))
    }

    /// Told only where the header is ours in full: such files are recordings of a server that may
    /// be killed. Their last field, the device, is never empty.
    fn is_cut(&self, line: &[u8]) -> bool {
        let columns = HEADER.split(',').count();
        self.has_all_hints && line.splitn(columns, |&byte| byte == b',').nth(columns - 1).is_none_or(<[u8]>::is_empty)
    }

    fn header(&self) -> Option<&'static str> {
        Some(if self.has_all_hints { HEADER } else { Format::Csv.columns() })
    }
}

/// A hint, from 0 to 255.
fn byte(fields: &mut Separated<'_>, name: &str) -> Result<u8, Fault> {
    let value = fields.whole(name)?;
    u8::try_from(value).map_err(|_| Fault::new(format!("{name} is {value}; expected a whole number from 0 to 255")))
}

/// The name that a field has, perhaps in double quotes.
fn unquoted(field: &[u8]) -> String {
    let text = plain(field);
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => text,
    }
}

/// A name as a field.
pub(crate) fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) || name.starts_with(' ') || name.ends_with(' ') {
        format!("\"{}\"", name.replace('"', "\"\"").replace(['\n', '\r'], " "))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, record, records};
    use super::*;
    use crate::record::Record;

    #[test]
    fn every_column_is_read() {
        let text = "time_ns,op,offset,length,stream,device\n5,write,0,4096,3,\"8,16\"\n6,flush,0,0,0,b\n7,trim,512,512,0,\"8,16\"\n";
        let (records, devices) = records(Format::Csv, text);
        assert_eq!(devices, ["8,16", "b"]);
        assert_eq!(records[0], Record { hint: Hint::of_stream(3), ..record(0, HostOp::Write, 0, 4096) });
        assert_eq!(records[1], Record { device: 1, ..record(1, HostOp::Flush, 0, 0) });
        assert_eq!(records[2], record(2, HostOp::Trim, 512, 512));
    }

    #[test]
    fn a_header_with_all_hints_is_followed() {
        let (found, devices) = records(Format::Csv, &format!("{HEADER}\n5,write,0,4096,3,7,9,a\n"));
        let hint = Hint::new(3, 7, 9);
        assert_eq!((found[0], &devices[0][..]), (Record { hint, ..record(0, HostOp::Write, 0, 4096) }, "a"));
        assert!(error(Format::Csv, &format!("{HEADER}\n5,write,0,4096,0,256,0,a")).contains("the temperature is 256"));
    }

    #[test]
    fn quotes_go_both_ways() {
        for name in ["plain", "8,16", "say \"hi\"", "\"", "\"\"", " blank ", ""] {
            assert_eq!(unquoted(quoted(name).as_bytes()), name);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Format::Csv, "5,W,0,4096,0,a").contains("the op is `W`"));
        assert!(error(Format::Csv, "5,write,0,4096,256,a").contains("the stream is 256"));
        assert!(error(Format::Csv, "5,write,0,4096,0").contains("ends before the device"));
    }
}
