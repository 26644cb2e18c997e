//! Event Tracing for Windows as xperf prints it (SNIA: Exchange, `DevDiv`, TPC-E).
//!
//! `DiskRead|DiskWrite, TimeStamp, Process (PID), TID, Irp, ByteOffset, IOSize, ElapsedTime,
//! DiskNum, …`. Microseconds; offset and size are bytes in hexadecimal. A description of all event
//! kinds stands between `BeginHeader` and `EndHeader`. Every other event (`DiskReadInit`,
//! `FileIoRead`, …) is left out: the same request appears in several of them. A disk event is
//! logged when the request ends (its beginning is `DiskReadInit`), so it arrives earlier by the
//! elapsed time. Process names may contain commas; the field ends with the process number in
//! parentheses.

use host::HostOp;

use super::fields::{Separated, Walk, trim, whole};
use super::layout::{Layout, Parsed, device};
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::TimeUnit;

/// Where in the file.
#[derive(PartialEq)]
enum Part {
    /// Before anything was seen.
    Start,
    /// Between `BeginHeader` and `EndHeader`.
    Header,
    /// Behind the header.
    Events,
}

/// The layout, counting time in a given unit.
pub(super) struct Etw {
    unit: TimeUnit,
    part: Part,
}

impl Etw {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit, part: Part::Start }
    }

    /// Leaves an event out that is no request. Without a header in front, it must at least look
    /// like an event, or any text would pass for a trace without requests.
    fn other(&self, name: &[u8], fields: &mut Separated) -> Result<Parsed, Fault> {
        let is_event = name.first().is_some_and(u8::is_ascii_alphabetic)
            && (self.part == Part::Events || whole(fields.next("the timestamp")?).is_ok());
        if is_event {
            Ok(Parsed::Other("other event"))
        } else {
            Err(Fault::field("the event", name, "BeginHeader, DiskRead, DiskWrite or the name of another event"))
        }
    }

    fn request(&self, op: HostOp, fields: &mut Separated, devices: &mut Devices) -> Result<Parsed, Fault> {
        let time_ns = fields.time("the time stamp", self.unit)?;
        while !fields.next("the process with its number in parentheses")?.ends_with(b")") {}
        fields.next("the thread")?;
        fields.next("the Irp")?;
        let offset = fields.hex("the byte offset")?;
        let size = fields.hex("the I/O size")?;
        let elapsed_ns = fields.time("the elapsed time", self.unit)?;
        let disk = fields.numeral("the disk number")?;
        let raw = Raw::new(time_ns, op, offset, size, device(devices, disk)?);
        raw.arriving(elapsed_ns).map(Parsed::Request)
    }
}

impl Layout for Etw {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        match (&self.part, trim(line)) {
            (Part::Start, b"BeginHeader") => self.part = Part::Header,
            (Part::Header, b"EndHeader") => self.part = Part::Events,
            (Part::Header, _) => {}
            _ => {
                let mut fields = Separated::by_commas(line);
                return match fields.next("the event")? {
                    b"DiskRead" => self.request(HostOp::Read, &mut fields, devices),
                    b"DiskWrite" => self.request(HostOp::Write, &mut fields, devices),
                    name => self.other(name, &mut fields),
                };
            }
        }
        Ok(Parsed::Other("header line"))
    }

    /// A process may have commas in its name, and ends with its number in parentheses.
    fn fields<'a>(&self, line: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        let mut commas = Separated::by_commas(line);
        let mut found = vec![commas.next("").ok()?, commas.next("").ok()?];
        let rest = commas.rest("").ok()?;
        let ends = |&at: &usize| rest[at] == b',' && trim(&rest[..at]).ends_with(b")");
        let end = (0..rest.len()).find(ends).unwrap_or(rest.len());
        found.push(trim(&rest[..end]));
        found.extend(rest.get(end + 1..).unwrap_or_default().split(|&byte| byte == b',').map(trim));
        Some(found)
    }

    fn remark(&self) -> Option<String> {
        (self.part == Part::Header)
            .then(|| ": its header has no EndHeader line, so it is cut short; copy it again".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records, trace};
    use crate::format::Format::Etw;
    use crate::record::Record;

    const TEXT: &str = "BeginHeader\n  DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID\nEndHeader\n\
        OS Version: 6.0.6001, Trace Size: 1024KB\n\
        \x20          DiskWrite,    1200, System (   4),   0, 0xfffffa800, 0x000001ff000, 0x00001000, 321, 0, 0x060043\n\
        DiskReadInit, 1300, a, b.exe (99), 12, 0x1\nFileIoRead, 1300, x\n\
        DiskRead, 2200, a, b.exe ( 99), 12, 0x1, 0x200, 0x00000200, 17, 3, 0x0\n";

    #[test]
    fn hexadecimal_bytes_and_microseconds() {
        let (records, devices) = records(Etw, TEXT);
        assert_eq!(devices, ["0", "3"]);
        assert_eq!(records[0], record(0, HostOp::Write, 0x1f_f000, 4096));
        assert_eq!(records[1], Record { device: 1, ..record(1_304_000, HostOp::Read, 512, 512) });
    }

    #[test]
    fn headers_and_other_events_are_counted() {
        let mut trace = trace(Etw, TEXT.as_bytes());
        assert_eq!(trace.by_ref().count(), 2);
        assert_eq!((trace.left_out()["header line"], trace.left_out()["other event"]), (3, 3));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Etw, "DiskRead, 5, System (4), 0, 0x1, 0xZZ, 0x200, 1, 0").contains("the byte offset is `0xZZ`"));
        assert!(error(Etw, "DiskRead, 5, System, 0, 0x1, 0x0, 0x200, 1, 0").contains("ends before the process"));
        assert!(error(Etw, "some other text\n").contains("ends before the timestamp"));
        assert!(error(Etw, "BeginHeader\nDiskRead, TimeStamp\n").contains("no EndHeader"));
    }
}
