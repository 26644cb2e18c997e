//! `DiskSim` ASCII: `time device block blocks flags`.
//!
//! Milliseconds with a fraction, blocks of 512 B, flags in hexadecimal of which bit 0 set is a
//! **read**; the other bits (synchronous, time-critical, …) do not matter here.

use host::HostOp;

use super::fields::{Blanks, sectors, whole};
use super::layout::{Layout, Parsed, device};
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::TimeUnit;

/// The layout, counting time in a given unit.
pub(super) struct Disksim {
    unit: TimeUnit,
}

impl Disksim {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Layout for Disksim {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut fields = Blanks::new(line);
        let time_ns = fields.time("the time", self.unit)?;
        let disk = fields.next("the device")?;
        whole(disk).map_err(|expected| Fault::field("the device", disk, expected))?;
        let offset = sectors("the block", fields.whole("the block")?)?;
        let length = sectors("the size", fields.whole("the size")?)?;
        let op = if fields.hex("the flags field")? & 1 == 1 { HostOp::Read } else { HostOp::Write };
        fields.end(5)?;
        Ok(Parsed::Request(Raw::new(time_ns, op, offset, length, device(devices, disk)?)))
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records};
    use crate::format::Format::Disksim;
    use crate::record::Record;

    #[test]
    fn milliseconds_blocks_and_flags() {
        let (records, devices) =
            records(Disksim, "13.191135\t30\t0\t5\t1\n17.829285\t20\t576560\t6\t1a\n18 30 8 8 0x3\n");
        assert_eq!(devices, ["30", "20"]);
        assert_eq!(records[0], record(0, HostOp::Read, 0, 2560));
        assert_eq!(records[1], Record { device: 1, ..record(4_638_150, HostOp::Write, 576_560 * 512, 3072) });
        assert_eq!(records[2], record(4_808_865, HostOp::Read, 4096, 4096));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Disksim, "1.0 0 5 8 R").contains("the flags field is `R`; expected a hexadecimal number"));
        assert!(error(Disksim, "1.0 0 5.5 8 1").contains("the block is `5.5`"));
        assert!(error(Disksim, "1.0 disk 5 8 1").contains("the device is `disk`"));
    }
}
