//! The tool biosnoop of bcc: `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)`.
//!
//! Seconds since the first request; the sector is one of 512 B, the size in bytes. The process name
//! may hold blanks, so the fields behind it are counted from the end of the line; `-Q` puts the
//! time in the queue before the latency. The type is a word of the kernel such as `WS`. The time is
//! that of the *completion*: a request arrives earlier by the latency, and by the time in the queue
//! where that is known.

use super::fields::{Blanks, Walk, sectors, time, whole};
use super::filter::blanks;
use super::layout::{Layout, Parsed, device};
use super::rwbs::Rwbs;
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

/// Whether the field at the place of the sector with a time in the queue is one.
fn has_queue(sector: &[u8]) -> bool {
    whole(sector).is_ok()
}

/// The operation of a type, in any case.
fn kind_of(kind: &[u8]) -> Result<Rwbs, Fault> {
    Rwbs::of(&kind.to_ascii_uppercase()).map_err(|_| Fault::field(NAMES[2], kind, "R, W, or a word such as WS or FF"))
}

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
        let with_queue = count > BEHIND && has_queue(last[3]);
        let [_, disk, kind, sector, bytes, ..] = &last[usize::from(!with_queue)..] else {
            return Err(Fault::missing(NAMES[BEHIND - 1]));
        };
        let whole = |at: usize, field| whole(field).map_err(|expected| Fault::field(NAMES[at], field, expected));
        let waits = if with_queue { &last[BEHIND - 1..] } else { &last[BEHIND..] };
        let mut latency_ns = 0_u64;
        for field in waits {
            let wait_ns = time(field, TimeUnit::Ms).map_err(|expected| Fault::field(NAMES[5], field, expected))?;
            latency_ns = latency_ns.saturating_add(wait_ns);
        }
        self.has_queue |= with_queue;
        let flush = Raw::flush(time_ns, device(devices, disk)?).arriving(latency_ns)?;
        kind_of(kind)?.requests(flush, || match whole(4, bytes)? {
            // A flush has no sector.
            0 => Ok(None),
            length => Ok(Some((sectors(NAMES[3], whole(3, sector)?)?, length))),
        })
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
        let with_queue = behind(1).is_some_and(|at| has_queue(words[at + 3]));
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

    /// Newer versions write all flags of a request.
    #[test]
    fn words_of_the_kernel_are_data_and_flushes_with_and_without_a_queue() {
        for queue in ["", "0.5 "] {
            let line = |time: &str, kind: &str, place: &str, latency: &str| {
                format!("{time} jbd2/sda3-8 7 sda {kind} {place} {queue}{latency}\n")
            };
            let text = [
                line("1", "W", "8 512", "0"),
                line("2", "WSM", "9 1024", "1"),
                line("3", "FF", "18446744073709551615 0", "2"),
                line("4", "RA", "10 512", "0"),
                line("5", "FWFS", "11 512", "0"),
                line("6", "WS", "0 0", "0"),
            ];
            let (found, _) = records(Biosnoop, &text.concat());
            let at = |s: u64, latency_ms: u64| s * 1_000_000_000 - latency_ms * 1_000_000;
            let flush = |time_ns| record(time_ns, HostOp::Flush, 0, 0);
            let expected = [
                record(0, HostOp::Write, 8 * 512, 512),
                record(at(1, 1), HostOp::Write, 9 * 512, 1024),
                flush(at(2, 2)),
                record(at(3, 0), HostOp::Read, 10 * 512, 512),
                flush(at(4, 0)),
                record(at(4, 0), HostOp::Write, 11 * 512, 512),
                flush(at(4, 0)),
            ];
            assert_eq!(found, expected, "{queue}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Biosnoop, "1 p 7 sda X 8 512 1").contains("the type is `X`"));
        assert!(error(Biosnoop, "1 p 7 sda W -8 512 1").contains("the sector is `-8`"));
        assert!(error(Biosnoop, "1 p 7 sda WS 18446744073709551615 512 1").contains("the sector is"));
        assert!(error(Biosnoop, "1 p 7 sda W 8 512").contains("ends before the latency"));
    }
}
