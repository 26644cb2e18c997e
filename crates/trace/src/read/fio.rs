//! fio's iolog, versions 2 and 3.
//!
//! The first line says which: `fio version N iolog`. Version 2 lines are
//! `file action [offset length]` and have no time; only `file wait N` does, and moves the clock on
//! by N microseconds, so requests between two waits arrive at once. Version 3 lines are
//! `time file action [offset length]`, microseconds since the job began. Offset and length are
//! bytes. `sync` and `datasync` become flushes; `add`, `open` and `close` are no requests. The file
//! is the device.

use host::HostOp;

use super::fields::{Blanks, Walk, trim};
use super::layout::{Layout, Parsed, device};
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::TimeUnit;

/// What the first line said.
#[derive(Clone, Copy)]
enum Version {
    Two,
    Three,
}

/// The layout, counting time in a given unit.
pub(super) struct Fio {
    unit: TimeUnit,
    version: Option<Version>,
    /// Sum of the waits of version 2.
    clock_ns: u64,
}

impl Fio {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit, version: None, clock_ns: 0 }
    }

    fn first_line(&mut self, line: &[u8]) -> Result<Parsed, Fault> {
        self.version = Some(match trim(line) {
            b"fio version 2 iolog" => Version::Two,
            b"fio version 3 iolog" => Version::Three,
            other => {
                return Err(Fault::field("the first line", other, "`fio version 2 iolog` or `fio version 3 iolog`"));
            }
        });
        Ok(Parsed::Other("header line"))
    }

    /// Moves the clock on: `file wait N`.
    fn wait(&mut self, fields: &mut Blanks) -> Result<Parsed, Fault> {
        let wait_ns = fields.time("the wait", self.unit)?;
        self.clock_ns = self
            .clock_ns
            .checked_add(wait_ns)
            .ok_or_else(|| Fault::new("the waits add up to more than 2^64-1 nanoseconds"))?;
        Ok(Parsed::Other("wait"))
    }
}

impl Layout for Fio {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let Some(version) = self.version else { return self.first_line(line) };
        let mut fields = Blanks::new(line);
        let time_ns = match version {
            Version::Two => self.clock_ns,
            Version::Three => fields.time("the time", self.unit)?,
        };
        let file = fields.next("the file")?;
        let action = fields.next("the action")?;
        let op = match (action, version) {
            (b"read", _) => HostOp::Read,
            (b"write", _) => HostOp::Write,
            (b"trim", _) => HostOp::Trim,
            (b"sync" | b"datasync", _) => return Ok(Parsed::Request(Raw::flush(time_ns, device(devices, file)?))),
            (b"wait", Version::Two) => return self.wait(&mut fields),
            (b"add" | b"open" | b"close", _) => return Ok(Parsed::Other("file event")),
            _ => {
                let actions = "read, write, trim, sync, datasync, add, open, close or (in version 2) wait";
                return Err(Fault::field("the action", action, actions));
            }
        };
        let offset = fields.whole("the offset")?;
        let length = fields.whole("the length")?;
        fields.end(if matches!(version, Version::Two) { 4 } else { 5 })?;
        Ok(Parsed::Request(Raw::new(time_ns, op, offset, length, device(devices, file)?)))
    }

    fn names(&self) -> Option<Vec<String>> {
        let names: &[&str] = match self.version {
            Some(Version::Three) => &["time", "file", "action", "offset", "length"],
            _ => &["file", "action", "offset", "length"],
        };
        Some(names.iter().map(|&name| name.to_owned()).collect())
    }

    fn heading(&self, _line: &[u8]) -> Option<Vec<String>> {
        self.version.is_none().then(Vec::new)
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records, trace};
    use crate::format::Format::Fio;
    use crate::record::Record;

    #[test]
    fn version_two_has_waits() {
        let text = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda write 0 4096\n/dev/sda wait 250 0\n\
            /dev/sdb read 8192 512\n/dev/sda sync 0 0\n/dev/sda wait 50\n/dev/sda trim 4096 4096\n/dev/sda close\n";
        let (records, devices) = records(Fio, text);
        assert_eq!(devices, ["/dev/sda", "/dev/sdb"]);
        assert_eq!(
            records,
            [
                record(0, HostOp::Write, 0, 4096),
                Record { device: 1, ..record(250_000, HostOp::Read, 8192, 512) },
                record(250_000, HostOp::Flush, 0, 0),
                record(300_000, HostOp::Trim, 4096, 4096)
            ]
        );
        let mut trace = trace(Fio, text.as_bytes());
        assert_eq!(trace.by_ref().count(), 4);
        assert_eq!((trace.left_out()["wait"], trace.left_out()["file event"]), (2, 3));
    }

    #[test]
    fn version_three_has_times() {
        let text =
            "fio version 3 iolog\n2 nvme0n1 add\n872 nvme0n1 open\n878 nvme0n1 write 0 16384\n888 nvme0n1 datasync\n";
        assert_eq!(records(Fio, text).0, [record(0, HostOp::Write, 0, 16384), record(10_000, HostOp::Flush, 0, 0)]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Fio, "fio version 4 iolog\n").contains("expected `fio version 2 iolog`"));
        assert!(error(Fio, "fio version 3 iolog\n5 f wait 10 0\n").contains("the action is `wait`"));
        assert!(error(Fio, "fio version 2 iolog\nf write 10\n").contains("ends before the length"));
        assert!(error(Fio, "fio version 2 iolog\nf add\n").contains("holds no request"));
    }
}
