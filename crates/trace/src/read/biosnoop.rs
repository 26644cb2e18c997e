//! The tool biosnoop of bcc: `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)`.
//!
//! Seconds since the first request; the sector is one of 512 B, the size in bytes. The process name
//! may hold blanks, so the fields behind it are counted from the end of the line; `-Q` puts the
//! time in the queue before the latency. The time is that of the *completion*: a request arrives
//! earlier by the latency, and by the time in the queue where that is known.

use super::fields::{Blanks, Walk, sectors, time, whole};
use super::filter::blanks;
use super::layout::{Layout, Parsed, device, read_or_write};
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::TimeUnit;

/// The layout, counting time in a given unit.
pub(super) struct Biosnoop {
    unit: TimeUnit,
    /// Whether a line had the time in the queue.
    has_queue: bool,
}

/// Fields behind the process name; with `-Q` there is one more.
const BEHIND: usize = 6;
const NAMES: [&str; BEHIND] = ["the pid", "the disk", "the type", "the sector", "the bytes", "the latency"];

impl Biosnoop {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit, has_queue: false }
    }
}

impl Layout for Biosnoop {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        if line.starts_with(b"TIME(s)") {
            return Ok(Parsed::Other("header line"));
        }
        let mut fields = Blanks::new(line);
        let time_ns = fields.time("the time", self.unit)?;
        fields.next("the process")?;
        let (last, count) = fields.last::<{ BEHIND + 1 }>();
        if count < BEHIND {
            return Err(Fault::missing(NAMES[count]));
        }
        let with_queue = count > BEHIND && read_or_write(NAMES[2], last[2]).is_ok();
        let [_, disk, kind, sector, bytes, ..] = &last[usize::from(!with_queue)..] else {
            return Err(Fault::missing(NAMES[BEHIND - 1]));
        };
        let whole = |at: usize, field| whole(field).map_err(|expected| Fault::field(NAMES[at], field, expected));
        let op = read_or_write(NAMES[2], kind)?;
        let length = whole(4, bytes)?;
        if length == 0 {
            return Ok(Parsed::Other("empty request"));
        }
        let offset = sectors(NAMES[3], whole(3, sector)?)?;
        let waits = if with_queue { &last[BEHIND - 1..] } else { &last[BEHIND..] };
        let mut latency_ns = 0_u64;
        for field in waits {
            let wait_ns = time(field, TimeUnit::Ms).map_err(|expected| Fault::field(NAMES[5], field, expected))?;
            latency_ns = latency_ns.saturating_add(wait_ns);
        }
        self.has_queue |= with_queue;
        let raw = Raw::new(time_ns, op, offset, length, device(devices, disk)?);
        raw.arriving(latency_ns).map(Parsed::Request)
    }

    fn unmatched(&self) -> Vec<String> {
        let clause = "the latency is QUE + LAT, the time in the queue and that of the device";
        self.has_queue.then(|| clause.to_owned()).into_iter().collect()
    }

    /// All words of the process are one field; the time in the queue, which may be missing, is
    /// none.
    fn fields<'a>(&self, line: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        let words = blanks(line);
        let behind = |queue: usize| words.len().checked_sub(BEHIND + queue).filter(|&at| at > 1);
        let with_queue = behind(1).is_some_and(|at| read_or_write("", words[at + 2]).is_ok());
        let at = behind(usize::from(with_queue))?;
        let place = |word: &[u8]| word.as_ptr().addr() - line.as_ptr().addr();
        let process = line[place(words[1])..place(words[at])].trim_ascii_end();
        let mut found = vec![words[0], process];
        found.extend(&words[at..at + BEHIND - 1]);
        found.push(words[words.len() - 1]);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records, trace};
    use crate::format::Format::Biosnoop;
    use crate::record::Record;

    #[test]
    fn seconds_sectors_bytes_and_disks() {
        let text = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n\
            0.000004    supervise      1950   xvda1   W 13092560   4096      0.74\n\
            0.000178    Chrome IO W 2  1950   sdb     R 8          512       0.61\n";
        let (records, devices) = records(Biosnoop, text);
        assert_eq!(devices, ["xvda1", "sdb"]);
        assert_eq!(records[0], record(0, HostOp::Write, 13_092_560 * 512, 4096));
        assert_eq!(records[1], Record { device: 1, ..record(304_000, HostOp::Read, 8 * 512, 512) });
    }

    #[test]
    fn the_time_in_the_queue_may_stand_before_the_latency() {
        let text = "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n\
            1.5 jbd2/nvme0n1-8 174 nvme0n1 W 22112440 4096 0.02 1.74\n";
        let (records, devices) = records(Biosnoop, text);
        assert_eq!((records[0], devices), (record(0, HostOp::Write, 22_112_440 * 512, 4096), vec!["nvme0n1".into()]));
        let mut told = trace(Biosnoop, text.as_bytes());
        assert_eq!(told.by_ref().count(), 1);
        assert!(told.unmatched().concat().contains("QUE + LAT"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Biosnoop, "1 p 7 sda X 8 512 1").contains("the type is `X`"));
        assert!(error(Biosnoop, "1 p 7 sda W -8 512 1").contains("the sector is `-8`"));
        assert!(error(Biosnoop, "1 p 7 sda W 8 512").contains("ends before the latency"));
    }
}
