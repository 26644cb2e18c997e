//! The text that blkparse prints: `maj,min cpu seq time pid action rwbs sector + sectors
//! [process]`.
//!
//! One request passes through several actions (queued Q, inserted I, dispatched D, completed C, …)
//! and has a line for each, so exactly one action is taken, Q unless the user says otherwise;
//! taking all would count every request several times. Sectors have 512 B, times are seconds.
//! `rwbs.rs` reads the operation. A request without data, such as a flush, has no `+` and maybe no
//! sector.
//!
//! An event that blkparse could not place in time carries the wall clock instead of the time since
//! the start, and stands some fifty years behind the others. Such a line is refused (or skipped and
//! counted), since its time is unknown.
//!
//! The summary at the end of the file is left out.

use super::fields::{Blanks, Walk, extent, whole};
use super::layout::{Layout, Parsed, device, of_completions, without_data};
use super::rwbs::Rwbs;
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::TimeUnit;
use crate::units::several;

/// Times from here on are a wall clock's where earlier ones were not: 10⁹ s is the year 2001, and
/// no trace runs for 30 years.
const WALL_CLOCK_NS: u64 = 1_000_000_000_000_000_000;

/// The layout, taking one action and counting time in a given unit.
pub(super) struct Blkparse {
    unit: TimeUnit,
    action: u8,
    /// Events seen, by action letter (A to Z).
    seen: [u64; 26],
    /// Whether a time since the start was seen, so that a wall clock's stands out.
    is_relative: bool,
    in_summary: bool,
}

impl Blkparse {
    pub(super) fn new(unit: TimeUnit, action: char) -> Self {
        Self { unit, action: action as u8, seen: [0; 26], is_relative: false, in_summary: false }
    }

    /// Whether the line, which is no event, belongs to the summary that blkparse prints last.
    fn is_summary(&mut self, line: &[u8]) -> bool {
        self.in_summary |= [&b"CPU"[..], b"Total (", b"Throughput (", b"Events (", b"Skips: ", b"Input file "]
            .iter()
            .any(|start| line.starts_with(start));
        self.in_summary
    }

    fn time(&mut self, fields: &mut Blanks) -> Result<u64, Fault> {
        let time_ns = fields.time("the time", self.unit)?;
        if time_ns < WALL_CLOCK_NS {
            self.is_relative = true;
        } else if self.is_relative {
            return Err(Fault::new(format!(
                "the time is {} s by the wall clock, while the events before count from the start of the trace; blkparse \
                 could not place this event",
                time_ns / 1_000_000_000
            )));
        }
        Ok(time_ns)
    }
}

impl Layout for Blkparse {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut fields = Blanks::new(line);
        let disk = fields.next("the device")?;
        if !is_device(disk) {
            return if self.is_summary(line) {
                Ok(Parsed::Other("summary line"))
            } else {
                Err(Fault::field("the device", disk, "major,minor"))
            };
        }
        fields.whole("the cpu")?;
        fields.whole("the sequence number")?;
        let clock = fields.next("the time")?;
        fields.whole("the pid")?;
        let action = fields.next("the action")?;
        if let [letter @ b'A'..=b'Z', ..] = action {
            self.seen[usize::from(letter - b'A')] += 1;
        }
        if *action != [self.action] {
            return Ok(Parsed::Other("other event"));
        }
        let time_ns = self.time(&mut Blanks::new(clock))?;
        let rwbs = Rwbs::of(fields.next("the rwbs")?)?;
        rwbs.requests(Raw::flush(time_ns, device(devices, disk)?), || place(&mut fields))
    }

    fn unmatched(&self) -> Vec<String> {
        of_completions(self.action).into_iter().collect()
    }

    fn remark(&self) -> Option<String> {
        let taken_events = self.seen.get(usize::from(self.action.wrapping_sub(b'A'))).copied().unwrap_or(0);
        if taken_events > 0 {
            return Some(without_data(self.action, taken_events));
        }
        let seen: Vec<String> = (b'A'..=b'Z')
            .zip(self.seen)
            .filter(|&(_, count)| count > 0)
            .map(|(letter, count)| format!("{} ({})", letter as char, several(count, "event")))
            .collect();
        let taken = self.action as char;
        (!seen.is_empty()).then(|| format!(
            ", taking action {taken}: its actions are {}. Take another one (--blkparse-action D for dispatched, C for completed)",
            seen.join(", ")
        ))
    }
}

/// `8,16`.
fn is_device(field: &[u8]) -> bool {
    let Some(comma) = field.iter().position(|&byte| byte == b',') else { return false };
    whole(&field[..comma]).is_ok() && whole(&field[comma + 1..]).is_ok()
}

/// Offset and length of a request; none if it has no data: `[process]`, `(852) [process]`,
/// `0 [process]` or `0 + 0 [process]`.
fn place(fields: &mut Blanks) -> Result<Option<(u64, u64)>, Fault> {
    let sector = fields.next("the sector")?;
    if sector.starts_with(b"[") || sector.starts_with(b"(") {
        return Ok(None);
    }
    let sector = whole(sector).map_err(|expected| Fault::field("the sector", sector, expected))?;
    match fields.next("the +")? {
        b"+" => {}
        process if process.starts_with(b"[") => return Ok(None),
        other => return Err(Fault::field("the field after the sector", other, "+ and the number of sectors")),
    }
    extent(sector, fields.whole("the number of sectors")?)
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records, trace};
    use crate::format::Format::Blkparse;
    use crate::options::OpenOptions;
    use crate::trace::open_bytes;

    const TEXT: &str = "\
  8,0    1        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n\
  8,0    1        2     0.000001829   697  G   W 223490 + 8 [kjournald]\n\
  8,0    1        3     0.000004743   697  D   W 223490 + 8 [kjournald]\n\
  8,0    0        0     0.000005000     0  m   N cfq697 inserted\n\
  8,0    1        4     0.000010000   698  Q  RA 64 + 256 [cat]\n\
  8,0    1        5     0.000020000   698  Q  DS 128 + 512 [fstrim]\n\
  8,0    1        6     0.000030000   698  Q  FN [jbd2/sda]\n\
  8,0    1        7     0.000040000   698  Q FWFS 0 + 1 [jbd2/sda]\n\
  8,0    1        8     0.000050000   698  Q   N 0 + 0 [smartd]\n\
CPU1 (8,0):\n Reads Queued:           1,        128KiB\t Writes Queued:           1,        4KiB\n\n\
Throughput (R/W): 1KiB/s / 2KiB/s\nSkips: 0 forward (0 -   0.0%)\n";

    #[test]
    fn one_action_and_the_letters_of_its_operation() {
        let (records, devices) = records(Blkparse, TEXT);
        assert_eq!(devices, ["8,0"]);
        assert_eq!(
            records,
            [
                record(0, HostOp::Write, 223_490 * 512, 4096),
                record(10_000, HostOp::Read, 32768, 131_072),
                record(20_000, HostOp::Trim, 65536, 262_144),
                record(30_000, HostOp::Flush, 0, 0),
                record(40_000, HostOp::Flush, 0, 0),
                record(40_000, HostOp::Write, 0, 512),
                record(40_000, HostOp::Flush, 0, 0)
            ]
        );
    }

    #[test]
    fn all_else_is_counted() {
        let mut trace = trace(Blkparse, TEXT.as_bytes());
        assert_eq!(trace.by_ref().count(), 7);
        let left_out = trace.left_out();
        assert_eq!(left_out["other event"], 3);
        assert_eq!(left_out["summary line"], 4);
        assert_eq!(left_out["empty request"], 1);
    }

    /// Lines that a journaling file system leaves at each action of its flush.
    #[test]
    fn flush_of_a_journal_is_read_at_every_action() {
        let lines = "8,0 3 1 0.1 312 Q FWS [jbd2/sda1-8]\n8,0 3 2 0.2 312 G FWS [jbd2/sda1-8]\n\
            8,0 3 3 0.3 312 I FWS (     852) [jbd2/sda1-8]\n8,0 3 4 0.4 73 D FN [kworker/3:1H]\n\
            8,0 3 5 0.5 0 C FN 0 [0]\n8,0 3 6 0.6 0 C WS 0 [0]\n\
            8,0 3 7 0.65 0 C FWS 18446744073709551615 + 0 [0]\n8,0 3 8 0.7 0 C WS 8008 + 8 [0]\n";
        for (action, ops) in [
            ('Q', vec![HostOp::Flush]),
            ('G', vec![HostOp::Flush]),
            ('I', vec![HostOp::Flush]),
            ('D', vec![HostOp::Flush]),
            ('C', vec![HostOp::Flush, HostOp::Flush, HostOp::Write]),
        ] {
            let options = OpenOptions { blkparse_action: Some(action), ..OpenOptions::with_format(Blkparse) };
            let mut trace = open_bytes("test", lines.as_bytes(), &options).unwrap();
            let records: Vec<_> = trace.by_ref().map(|record| record.unwrap().op).collect();
            assert_eq!(records, ops, "{action}");
            assert_eq!(trace.unmatched().concat().contains("times are completions"), action == 'C', "{action}");
        }
    }

    #[test]
    fn a_trace_without_the_action_says_which_it_has() {
        let options = OpenOptions { blkparse_action: Some('C'), ..OpenOptions::with_format(Blkparse) };
        let error = open_bytes("test", TEXT.as_bytes(), &options).unwrap().next().unwrap().unwrap_err().to_string();
        assert!(error.contains("taking action C: its actions are D (1 event), G (1 event), Q (6 events)"), "{error}");
    }

    #[test]
    fn an_event_with_the_wall_clocks_time_is_refused() {
        let stray = "8,0 1 1 0.000000000 7 Q W 8 + 8 [a]\n8,0 1 2 1266874889.708668759 7 Q W 8 + 8 [a]\n";
        assert!(error(Blkparse, stray).contains("the time is 1266874889 s by the wall clock"));
        let all_by_wall_clock = "8,0 1 1 1266874889.5 7 Q W 8 + 8 [a]\n8,0 1 2 1266874890.5 7 Q W 8 + 8 [a]\n";
        assert_eq!(records(Blkparse, all_by_wall_clock).0[1].time_ns, 1_000_000_000);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Blkparse, "8,0 1 1 0.0 697 Q W 223490 * 8 [x]").contains("the field after the sector is `*`"));
        assert!(error(Blkparse, "8,0 1 1 0.0 697 Q X 223490 + 8 [x]").contains("the rwbs is `X`"));
        assert!(error(Blkparse, "8 1 1 0.0 697 Q W 1 + 8").contains("the device is `8`; expected major,minor"));
        assert!(error(Blkparse, "8,0 1 1 0.0 697").contains("ends before the action"));
    }
}
