//! `SSDsim`: `time device sector sectors operation`.
//!
//! Whole nanoseconds, 512 B sectors, 1 is a read. Files in this layout with times in microseconds are about (the device
//! column and all else as here); nothing in them says so, and `--time-unit us` does.

use super::fault::Fault;
use super::simulator::{self, Digits};
use super::{Layout, Parsed};
use crate::devices::Devices;
use crate::format::TimeUnit;

/// 1 is a read.
const DIGITS: Digits = Digits { read: b'1', write: b'0' };

/// The layout, counting time in a given unit.
pub(super) struct Ssdsim {
    unit: TimeUnit,
}

impl Ssdsim {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Layout for Ssdsim {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        simulator::read(line, self.unit, &DIGITS, devices).map(Parsed::Request)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, record, records};
    use crate::format::Format::Ssdsim;
    use crate::record::{Op, Record};

    #[test]
    fn nanoseconds_sectors_and_one_for_read() {
        let (records, devices) = records(Ssdsim, "1000 4 264719034 16 0\n26214000 0 303574 7 1\n");
        assert_eq!(devices, ["4", "0"]);
        assert_eq!(records[0], record(0, Op::Write, 264_719_034 * 512, 8192));
        assert_eq!(records[1], Record { device: 1, ..record(26_213_000, Op::Read, 303_574 * 512, 3584) });
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Ssdsim, "0 0 1 8 2").contains("the operation is `2`; expected 1 (read) or 0 (write)"));
        assert!(error(Ssdsim, "0.5 0 1 8 1").contains("the time is `0.5`; expected a whole number"));
        assert!(error(Ssdsim, "0 0 1 8").contains("ends before the operation"));
        assert!(error(Ssdsim, "0 0 1 8 1 1").contains("goes on after its 5 fields"));
    }
}
