//! The five columns that the SSD simulators share: `time device sector sectors operation`.
//!
//! `SSDsim` and `MQSim` lay a line out alike and mean the same by it, so what is read is the same under either name. They
//! remain two formats because their users know their files by these names. `DiskSim` has the same five columns too, but
//! counts milliseconds; a file of whole numbers fits all three, and which it is must then be said.

use super::fault::Fault;
use super::fields::{Blanks, sectors};
use super::source::Raw;
use super::{device, number, read_or_write_digit};
use crate::devices::Devices;
use crate::format::TimeUnit;

/// Which digit is a read and which a write.
pub(super) struct Digits {
    pub(super) read: u8,
    pub(super) write: u8,
}

/// Reads a line. Time is whole, in `unit`.
#[inline]
pub(super) fn read(line: &[u8], unit: TimeUnit, digits: &Digits, devices: &mut Devices) -> Result<Raw, Fault> {
    let mut fields = Blanks::new(line);
    let ticks = fields.whole("the time")?;
    let time_ns = ticks
        .checked_mul(unit.ns())
        .ok_or_else(|| Fault::because(format!("the time is {ticks} {unit}, which is beyond 2^64-1 nanoseconds")))?;
    let disk = fields.next("the device")?;
    number::whole(disk).map_err(|expected| Fault::field("the device", disk, expected))?;
    let offset = sectors("the sector", fields.whole("the sector")?)?;
    let length = sectors("the size", fields.whole("the size")?)?;
    let op = read_or_write_digit("the operation", fields.next("the operation")?, digits.read, digits.write)?;
    fields.end(5)?;
    Ok(Raw::new(time_ns, op, offset, length, device(devices, disk)?))
}
