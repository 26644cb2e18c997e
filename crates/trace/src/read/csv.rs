//! Our own format as text, written by `convert`: `time_ns,op,offset,length,stream,device`.
//!
//! Nanoseconds, read|write|trim|flush, bytes, bytes, 0 to 255, and the device's name, which stands last because it may hold
//! commas; then it is in double quotes, and a double quote in it is doubled.

use super::fault::Fault;
use super::fields::Commas;
use super::source::Raw;
use super::{Layout, Parsed};
use crate::devices::{Devices, plain};
use crate::format::{Format, TimeUnit};
use crate::record::Op;

/// The layout, counting time in a given unit.
pub(super) struct Csv {
    unit: TimeUnit,
}

impl Csv {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Layout for Csv {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut fields = Commas::new(line);
        let time_ns = fields.time("the time", self.unit)?;
        let op = match fields.next("the op")? {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"flush" => Op::Flush,
            other => return Err(Fault::field("the op", other, "read, write, trim or flush")),
        };
        let offset = fields.whole("the offset")?;
        let length = fields.whole("the length")?;
        let stream = fields.whole("the stream")?;
        let stream = u8::try_from(stream)
            .map_err(|_| Fault::because(format!("the stream is {stream}; expected a whole number from 0 to 255")))?;
        let written = fields.rest("the device")?;
        let device =
            devices.number(written, |written| plain(&unquoted(written))).ok_or_else(super::too_many_devices)?;
        Ok(Parsed::Request(Raw { time_ns, op, offset, length, device, stream }))
    }

    fn header(&self) -> Option<&'static str> {
        Some(Format::Csv.columns())
    }
}

/// A field without its double quotes.
fn unquoted(field: &[u8]) -> Vec<u8> {
    match field {
        [b'"', inner @ .., b'"'] => {
            let mut previous_was_quote = false;
            let mut keep = |&byte: &u8| {
                previous_was_quote = byte == b'"' && !previous_was_quote;
                !previous_was_quote
            };
            inner.iter().copied().filter(&mut keep).collect()
        }
        plain => plain.to_vec(),
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
        assert_eq!(records[0], Record { stream: 3, ..record(0, Op::Write, 0, 4096) });
        assert_eq!(records[1], Record { device: 1, ..record(1, Op::Flush, 0, 0) });
        assert_eq!(records[2], record(2, Op::Trim, 512, 512));
    }

    #[test]
    fn quotes_go_both_ways() {
        for name in ["plain", "8,16", "say \"hi\"", "\"", "\"\"", " blank ", ""] {
            assert_eq!(plain(&unquoted(quoted(name).as_bytes())), name);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Format::Csv, "5,W,0,4096,0,a").contains("the op is `W`"));
        assert!(error(Format::Csv, "5,write,0,4096,256,a").contains("the stream is 256"));
        assert!(error(Format::Csv, "5,write,0,4096,0").contains("ends before the device"));
    }
}
