//! The block trace as `libCacheSim` ships it in CSV: `version,time,op,size,lbn`, a `CloudPhysics`
//! trace in text.
//!
//! Time in seconds (usually whole), the SCSI operation code in hexadecimal, size in bytes, lbn in
//! 512 B sectors. One device.

use host::HostOp;

use super::fields::{Commas, sectors};
use super::layout::{Layout, Parsed, device, scsi_operation};
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::{Format, TimeUnit};

/// The layout, counting time in a given unit.
pub(super) struct LibcachesimCsv {
    unit: TimeUnit,
}

impl LibcachesimCsv {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Layout for LibcachesimCsv {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut fields = Commas::new(line);
        let version = fields.next("the version")?;
        if !matches!(version, b"1" | b"2") {
            return Err(Fault::field("the version", version, "1 or 2"));
        }
        let time_ns = fields.time("the time", self.unit)?;
        let op = fields.hex("the op")?;
        let size = fields.whole("the size")?;
        let offset = sectors("the lbn", fields.whole("the lbn")?)?;
        fields.end(5)?;
        let device = device(devices, b"0")?;
        Ok(match scsi_operation(op) {
            Some(HostOp::Flush) => Parsed::Request(Raw::flush(time_ns, device)),
            Some(op) => Parsed::Request(Raw::new(time_ns, op, offset, size, device)),
            None => Parsed::Other("non-data command"),
        })
    }

    fn header(&self) -> Option<&'static str> {
        Some(Format::LibcachesimCsv.columns())
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records, trace};
    use crate::format::Format::LibcachesimCsv;

    const TEXT: &str = "version,time,op,size,lbn\n1,500,2a,512,1000\n1,500,12,36,0\n1,502,28,4096,2000\n1,503,35,0,0\n";

    #[test]
    fn seconds_operation_codes_bytes_and_sectors() {
        let (records, devices) = records(LibcachesimCsv, TEXT);
        assert_eq!(devices, ["0"]);
        assert_eq!(
            records,
            [
                record(0, HostOp::Write, 512_000, 512),
                record(2_000_000_000, HostOp::Read, 1_024_000, 4096),
                record(3_000_000_000, HostOp::Flush, 0, 0)
            ]
        );
        let mut trace = trace(LibcachesimCsv, TEXT.as_bytes());
        assert_eq!(trace.by_ref().count(), 3);
        assert_eq!(trace.left_out()["non-data command"], 1);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(LibcachesimCsv, "7,500,2a,512,1000").contains("the version is `7`; expected 1 or 2"));
        assert!(error(LibcachesimCsv, "1,500,write,512,1000").contains("the op is `write`"));
    }
}
