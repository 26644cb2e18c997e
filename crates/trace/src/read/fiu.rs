//! FIU (home, mail, web servers): `ts pid process lba size rw major minor md5`.
//!
//! Nanoseconds, LBA and size in blocks of 512 B, R or W. The device is `major,minor`. The process
//! name may hold blanks, so the fields behind it are counted from the end of the line. The hash of
//! the content is not used.

use super::fields::{Blanks, Walk, sectors, whole};
use super::layout::{Layout, Parsed, read_or_write};
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::TimeUnit;

/// The layout, counting time in a given unit.
pub(super) struct Fiu {
    unit: TimeUnit,
}

/// Fields behind the process name.
const BEHIND: usize = 6;
const NAMES: [&str; BEHIND] = ["the lba", "the size", "the rw", "the major number", "the minor number", "the md5"];

impl Fiu {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Layout for Fiu {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut fields = Blanks::new(line);
        let time_ns = fields.time("the timestamp", self.unit)?;
        fields.whole("the pid")?;
        fields.next("the process")?;
        let (behind, count) = fields.last::<BEHIND>();
        if count < BEHIND {
            return Err(Fault::missing(NAMES[count]));
        }
        let [lba, size, rw, major, minor, _md5] = behind;
        let whole = |index: usize, field| whole(field).map_err(|expected| Fault::field(NAMES[index], field, expected));
        let op = read_or_write(NAMES[2], rw)?;
        let offset = sectors(NAMES[0], whole(0, lba)?)?;
        let length = sectors(NAMES[1], whole(1, size)?)?;
        let (major, minor) = (whole(3, major)?, whole(4, minor)?);
        let mut key = [0; 16];
        key[..8].copy_from_slice(&major.to_le_bytes());
        key[8..].copy_from_slice(&minor.to_le_bytes());
        let device =
            devices.number(&key, |_| format!("{major},{minor}")).ok_or_else(super::layout::too_many_devices)?;
        Ok(Parsed::Request(Raw::new(time_ns, op, offset, length, device)))
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records};
    use crate::format::Format::Fiu;
    use crate::record::Record;

    const MD5: &str = "0fe9e2a1b9d6ae0d42c8d4a7a5b4b1a3";

    #[test]
    fn nanoseconds_blocks_and_device_numbers() {
        let text = format!(
            "89966899082916 4892 syslogd 904265560 8 W 6 0 {MD5}\n89967899082916 2522 my own kjournald 39928 16 R 6 1 {MD5}\n"
        );
        let (records, devices) = records(Fiu, &text);
        assert_eq!(devices, ["6,0", "6,1"]);
        assert_eq!(records[0], record(0, HostOp::Write, 904_265_560 * 512, 4096));
        assert_eq!(records[1], Record { device: 1, ..record(1_000_000_000, HostOp::Read, 39_928 * 512, 8192) });
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Fiu, &format!("1 2 p 8 8 X 6 0 {MD5}")).contains("the rw is `X`"));
        assert!(error(Fiu, &format!("1 2 p -8 8 W 6 0 {MD5}")).contains("the lba is `-8`"));
        assert!(error(Fiu, "1 2 p 8 8 W 6 0").contains("ends before the md5"));
        assert!(error(Fiu, "1 2 p").contains("ends before the lba"));
    }
}
