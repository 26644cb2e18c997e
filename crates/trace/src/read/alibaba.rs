//! Alibaba block traces: `device_id,opcode,offset,length,timestamp`.
//!
//! R or W, bytes, microseconds. One file holds a thousand virtual disks.

use super::fields::Commas;
use super::layout::{Layout, Parsed, device, read_or_write};
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::{Format, TimeUnit};

/// The layout, counting time in a given unit.
pub(super) struct Alibaba {
    unit: TimeUnit,
}

impl Alibaba {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Layout for Alibaba {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut fields = Commas::new(line);
        let disk = fields.next("the device")?;
        let op = read_or_write("the opcode", fields.next("the opcode")?)?;
        let offset = fields.whole("the offset")?;
        let length = fields.whole("the length")?;
        let time_ns = fields.time("the timestamp", self.unit)?;
        fields.end(5)?;
        Ok(Parsed::Request(Raw::new(time_ns, op, offset, length, device(devices, disk)?)))
    }

    fn header(&self) -> Option<&'static str> {
        Some(Format::Alibaba.columns())
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records};
    use crate::format::Format::Alibaba;
    use crate::record::Record;

    #[test]
    fn bytes_and_microseconds() {
        let (records, devices) =
            records(Alibaba, "419,W,8792731648,16384,1577808000000046\n725,R,59110326272,360448,1577808000000060\n");
        assert_eq!(devices, ["419", "725"]);
        assert_eq!(records[0], record(0, HostOp::Write, 8_792_731_648, 16384));
        assert_eq!(records[1], Record { device: 1, ..record(14_000, HostOp::Read, 59_110_326_272, 360_448) });
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Alibaba, "1,2,0,512,0").contains("the opcode is `2`"));
        assert!(error(Alibaba, ",R,0,512,0").contains("the device is empty"));
        assert!(error(Alibaba, "1,R,0,512,18446744073709552").contains("the timestamp is `18446744073709552`"));
    }
}
