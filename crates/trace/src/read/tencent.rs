//! Tencent block storage: `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! Whole seconds, so many requests share one; offset and size in 512 B sectors; **0 is a read, 1 a
//! write**, the reverse of what the simulators' formats mean by them.

use super::fields::{Commas, sectors};
use super::layout::{Layout, Parsed, device, read_or_write_digit};
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::{Format, TimeUnit};

/// The layout, counting time in a given unit.
pub(super) struct Tencent {
    unit: TimeUnit,
}

impl Tencent {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Layout for Tencent {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut fields = Commas::new(line);
        let time_ns = fields.time("the timestamp", self.unit)?;
        let offset = sectors("the offset", fields.whole("the offset")?)?;
        let size = sectors("the size", fields.whole("the size")?)?;
        let op = read_or_write_digit("the type", fields.next("the type")?, b'0', b'1')?;
        let volume = fields.next("the volume")?;
        fields.end(5)?;
        Ok(Parsed::Request(Raw::new(time_ns, op, offset, size, device(devices, volume)?)))
    }

    fn header(&self) -> Option<&'static str> {
        Some(Format::Tencent.columns())
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records};
    use crate::format::Format::Tencent;
    use crate::record::Record;

    #[test]
    fn seconds_sectors_and_zero_for_read() {
        let (records, devices) = records(Tencent, "1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n");
        assert_eq!(devices, ["1063", "1627"]);
        assert_eq!(records[0], record(0, HostOp::Read, 12_910_952 * 512, 65536));
        assert_eq!(records[1], Record { device: 1, ..record(1_000_000_000, HostOp::Write, 6_338_688 * 512, 4096) });
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Tencent, "1,0,8,2,1").contains("the type is `2`; expected 0 (read) or 1 (write)"));
        assert!(error(Tencent, "1,0,36028797018963968,0,1").contains("the size is 36028797018963968 sectors"));
        assert!(error(Tencent, "1,0,8388608,0,1").contains("the size is 4294967296 bytes"));
    }
}
