//! `SSDsim` and `MQSim` ASCII: `time device sector sectors operation`.
//!
//! Both lay a line out alike and mean the same by it: whole nanoseconds unless the configuration
//! says otherwise, 512 B sectors, 1 is a read and 0 a write (`ASCIITraceReadCode` in `MQSim`'s
//! source). They remain two formats because their users know their files by these names. Files in
//! this layout with times in microseconds are about; nothing in them says so, and `--time-unit us`
//! does. `DiskSim` has the same five columns too, but counts milliseconds; a file of whole numbers
//! fits all three, and which it is must then be said.

use super::fields::{Blanks, sectors, whole};
use super::layout::{Layout, Parsed, device, read_or_write_digit};
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::TimeUnit;

/// The layout, counting time in a given unit.
pub(super) struct Simulator {
    unit: TimeUnit,
}

impl Simulator {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Layout for Simulator {
    #[inline]
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut fields = Blanks::new(line);
        let (ticks, unit) = (fields.whole("the time")?, self.unit);
        let time_ns = ticks
            .checked_mul(unit.ns())
            .ok_or_else(|| Fault::new(format!("the time is {ticks} {unit}, which is beyond 2^64-1 nanoseconds")))?;
        let disk = fields.next("the device")?;
        whole(disk).map_err(|expected| Fault::field("the device", disk, expected))?;
        let offset = sectors("the sector", fields.whole("the sector")?)?;
        let length = sectors("the size", fields.whole("the size")?)?;
        let op = read_or_write_digit("the operation", fields.next("the operation")?, b'1', b'0')?;
        fields.end(5)?;
        Ok(Parsed::Request(Raw::new(time_ns, op, offset, length, device(devices, disk)?)))
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records};
    use crate::format::Format::{Mqsim, Ssdsim};
    use crate::record::Record;

    #[test]
    fn nanoseconds_sectors_and_one_for_read() {
        for format in [Ssdsim, Mqsim] {
            let (records, devices) = records(format, "1000 4 264719034 16 0\n26214000 0 303574 7 1\n");
            assert_eq!(devices, ["4", "0"]);
            assert_eq!(records[0], record(0, HostOp::Write, 264_719_034 * 512, 8192));
            assert_eq!(records[1], Record { device: 1, ..record(26_213_000, HostOp::Read, 303_574 * 512, 3584) });
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for format in [Ssdsim, Mqsim] {
            assert!(error(format, "0 0 1 8 2").contains("the operation is `2`; expected 1 (read) or 0 (write)"));
            assert!(error(format, "0.5 0 1 8 1").contains("the time is `0.5`; expected a whole number"));
            assert!(error(format, "0 0 1 8").contains("ends before the operation"));
            assert!(error(format, "0 0 1 8 1 1").contains("goes on after its 5 fields"));
        }
    }
}
