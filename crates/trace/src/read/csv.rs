//! Our own format as text, written by `convert`:
//! `time_ns,op,offset,length,stream,temperature,file_type,device`.
//!
//! Nanoseconds, read|write|trim|flush, bytes, bytes, three hints of 0 to 255, and the device's
//! name, which stands last because it may hold commas; then it is in double quotes, and a double
//! quote in it is doubled. A header may leave out hints and the device. Without a header there is
//! but one hint, the stream, and the device.

use host::{Hint, HostOp};

use super::fields::{Separated, Walk};
use super::layout::{Layout, Parsed};
use super::source::{Fault, Raw};
use crate::devices::{Devices, plain};
use crate::format::{Format, TimeUnit};

/// The header of a file with all hints.
pub(crate) const HEADER: &str = "time_ns,op,offset,length,stream,temperature,file_type,device";

/// The columns of a header that files without one lack, or that others leave out.
const OPTIONAL: [&str; 4] = ["stream", "temperature", "file_type", "device"];

/// The name of the device where none is named.
const ONE_DEVICE: &[u8] = b"0";

/// Whether each of them is there without a header.
const USUAL: [bool; 4] = [true, false, false, true];

/// The layout, counting time in a given unit.
pub(super) struct Csv {
    unit: TimeUnit,
    /// Whether each of [`OPTIONAL`] is there.
    has: [bool; 4],
    /// Whether a line can be the header.
    begins: bool,
}

impl Csv {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit, has: USUAL, begins: true }
    }

    fn has_all_hints(&self) -> bool {
        self.has == [true; 4]
    }
}

/// Which of [`OPTIONAL`] a header has, which names the others in front of them; none for any other
/// line.
fn named(line: &[u8]) -> Option<[bool; 4]> {
    let text = std::str::from_utf8(line).ok()?;
    let mut names = text.split(',').map(str::trim);
    let mut required = HEADER.split(',').filter(|name| !OPTIONAL.contains(name));
    if !required.all(|name| names.next().is_some_and(|there| there.eq_ignore_ascii_case(name))) {
        return None;
    }
    let mut names = names.peekable();
    let has = OPTIONAL.map(|name| names.next_if(|there| there.eq_ignore_ascii_case(name)).is_some());
    names.next().is_none().then_some(has)
}

impl Layout for Csv {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        if std::mem::take(&mut self.begins)
            && let Some(has) = named(line)
        {
            self.has = has;
            return Ok(Parsed::Other("header line"));
        }
        let mut fields = Separated::by_commas(line);
        let time_ns = fields.time("the time", self.unit)?;
        let name = fields.next("the op")?;
        let op = HostOp::from_name(name).ok_or_else(|| Fault::field("the op", name, "read, write, trim or flush"))?;
        let offset = fields.whole("the offset")?;
        let length = fields.whole("the length")?;
        let [has_stream, has_temperature, has_file_type, has_device] = self.has;
        let mut hint = |is_there: bool, name: &str| if is_there { byte(&mut fields, name) } else { Ok(0) };
        let stream = hint(has_stream, "the stream")?;
        let hint = Hint::new(stream, hint(has_temperature, "the temperature")?, hint(has_file_type, "the file type")?);
        let written = if has_device {
            fields.rest("the device")?
        } else {
            fields.end(4 + self.has.iter().filter(|&&is_there| is_there).count())?;
            ONE_DEVICE
        };
        let device = devices.number(written, unquoted).ok_or_else(super::layout::too_many_devices)?;
        Ok(Parsed::Request(Raw { hint, ..Raw::new(time_ns, op, offset, length, device) }))
    }

    /// Told only where the header is ours in full: such files are recordings of a server that may
    /// be killed. Their last field, the device, is never empty.
    fn is_cut(&self, line: &[u8]) -> bool {
        let columns = HEADER.split(',').count();
        self.has_all_hints() && line.splitn(columns, |&byte| byte == b',').nth(columns - 1).is_none_or(<[u8]>::is_empty)
    }

    fn header(&self) -> Option<&'static str> {
        Some(if self.has_all_hints() { HEADER } else { Format::Csv.columns() })
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

    /// Hints and devices are optional: every header that leaves some out is followed.
    #[test]
    fn a_header_may_leave_out_any_hint_and_the_device() {
        for chosen in 0..16_u8 {
            let there = |place: u8| chosen >> place & 1 == 1;
            let optional = (0..4).filter(|&place| there(place)).map(|place| OPTIONAL[usize::from(place)]);
            let header =
                ["time_ns", "op", "offset", "length"].into_iter().chain(optional).collect::<Vec<_>>().join(",");
            let fields =
                (0..4).filter(|&place| there(place)).map(|place| ["3", "7", "9", "\"a,b\""][usize::from(place)]);
            let row = ["5", "write", "0", "4096"].into_iter().chain(fields).collect::<Vec<_>>().join(",");
            let (found, devices) = records(Format::Csv, &format!("{header}\n{row}\n"));
            let value = |place: u8, value: u8| if there(place) { value } else { 0 };
            let hint = Hint::new(value(0, 3), value(1, 7), value(2, 9));
            assert_eq!(found, [Record { hint, ..record(0, HostOp::Write, 0, 4096) }], "{header}");
            assert_eq!(devices, [if there(3) { "a,b" } else { "0" }], "{header}");
            if !there(3) {
                assert!(!error(Format::Csv, &format!("{header}\n{row},x\n")).is_empty(), "{header}");
            }
        }
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
