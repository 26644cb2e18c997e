//! MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Timestamps are Windows file times (100 ns), offset and size bytes. A device is a host's disk,
//! named as the traces are: host `hm`, disk 0 is `hm_0`. The response time is the traced device's
//! and says nothing about a simulated one; it must be there, as a line without it is cut short, but
//! is not used. No header.

use super::fields::Commas;
use super::layout::{Layout, Parsed, read_or_write};
use super::source::{Fault, Raw};
use crate::devices::{Devices, plain};
use crate::format::{Format, TimeUnit};

/// The layout, counting time in a given unit.
pub(super) struct Msr {
    unit: TimeUnit,
}

impl Msr {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Layout for Msr {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut fields = Commas::new(line);
        let time_ns = fields.time("the timestamp", self.unit)?;
        let disk = fields.pair("the host name", "the disk number")?;
        let op = read_or_write("the type", fields.next("the type")?)?;
        let offset = fields.whole("the offset")?;
        let size = fields.whole("the size")?;
        fields.whole("the response time")?;
        fields.end(7)?;
        let device =
            devices.number(disk, |disk| plain(disk).replace(',', "_")).ok_or_else(super::layout::too_many_devices)?;
        Ok(Parsed::Request(Raw::new(time_ns, op, offset, size, device)))
    }

    fn header(&self) -> Option<&'static str> {
        Some(Format::Msr.columns())
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records};
    use crate::format::Format::Msr;
    use crate::record::Record;

    #[test]
    fn file_times_bytes_and_disks() {
        let (records, devices) = records(
            Msr,
            "128166372003061629,web,0,Read,7014609920,24576,41286\n128166372016382155,web,1,Write,1317441536,8192,1963\n\
             128166372026382245,web,0,Write,2436440064,4096,1835\n",
        );
        assert_eq!(devices, ["web_0", "web_1"]);
        assert_eq!(records[0], record(0, HostOp::Read, 7_014_609_920, 24576));
        assert_eq!(records[1], Record { device: 1, ..record(1_332_052_600, HostOp::Write, 1_317_441_536, 8192) });
        assert_eq!(records[2], record(2_332_061_600, HostOp::Write, 2_436_440_064, 4096));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |line: &str, part: &str| {
            let error = error(Msr, line);
            assert!(error.contains(part) && error.contains("test, line 1"), "{error}");
        };
        wrong("1,h,0,Trim,0,512,1", "the type is `Trim`; expected R or W");
        wrong("1,h,0,Read,-5,512,1", "the offset is `-5`; expected a whole number");
        wrong("1,h,0,Read,0,99999999999999999999,1", "the size is `99999999999999999999`");
        wrong("1,h,0,Read,0,512", "the record ends before the response time");
        wrong("1,h,0,Read,0,512,1,2", "goes on after its 7 fields with `2`");
        wrong("300000000000000000,h,0,Read,0,512,1", "the timestamp is `300000000000000000`");
        wrong("1,h,0,Read,18446744073709551615,512,1", "ends beyond 2^64-1");
        wrong("1,h,0,Read,0,0,1", "the size is 0");
    }

    #[test]
    fn a_header_may_stand_first_and_only_there() {
        let header = Msr.columns();
        assert_eq!(records(Msr, &format!("{header}\n1,h,0,Read,0,512,1\n")).0.len(), 1);
        assert!(error(Msr, &format!("1,h,0,Read,0,512,1\n{header}\n")).contains("line 2"));
    }
}
