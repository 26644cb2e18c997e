//! Events of the kernel in text: `perf script`, `trace-cmd report` and the `trace` file of ftrace.
//!
//! A line is `process pid [cpu] flags seconds: system:event: fields`, with the system or without.
//! Known events are those of the block layer (`8,0 WS 4096 () 8000 + 8 [worker]`), of `NVMe`
//! (`nvme0: disk=nvme0n1, qid=1, …, cmd=(nvme_cmd_read slba=0, len=7, …)`, with blocks of 512 B and
//! one block less in `len`), and of UFS (`send_req: 1d84000.ufshc: …, size: 4096, …, LBA: 16,
//! opcode: 0x28 …`, with blocks of 4 KiB). Each belongs to an action of blkparse, and one action is
//! taken: otherwise every request would count several times. Other events are left out.

use host::HostOp;

use super::fields::{Blanks, digits, hex, sectors, time, whole};
use super::layout::{Layout, Parsed, device, scsi_operation};
use super::rwbs::Rwbs;
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::TimeUnit;

/// Bytes of a block of UFS.
const UFS_BLOCK: u64 = 4096;

/// What the fields of an event look like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fields {
    /// The device, the word, perhaps bytes and a command, the sector and the number of sectors.
    Block,
    Nvme,
    Ufs,
}

/// The events that are known, each with the action of blkparse that it is.
const EVENTS: [(&[u8], u8, Fields); 6] = [
    (b"block_bio_queue", b'Q', Fields::Block),
    (b"block_rq_insert", b'I', Fields::Block),
    (b"block_rq_issue", b'D', Fields::Block),
    (b"block_rq_complete", b'C', Fields::Block),
    (b"nvme_setup_cmd", b'D', Fields::Nvme),
    (b"ufshcd_command", b'D', Fields::Ufs),
];

/// The layout, taking one action and counting time in a given unit.
pub(super) struct Ftrace {
    unit: TimeUnit,
    action: u8,
    /// Events seen, in the order of [`EVENTS`].
    seen: [u64; EVENTS.len()],
    /// Whether a line of another kind was an event, so that the text is one of events.
    is_begun: bool,
}

impl Ftrace {
    pub(super) fn new(unit: TimeUnit, action: char) -> Self {
        Self { unit, action: action as u8, seen: [0; EVENTS.len()], is_begun: false }
    }
}

impl Layout for Ftrace {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        if line.trim_ascii_start().starts_with(b"#") {
            return Ok(Parsed::Other("comment"));
        }
        let Some((clock, event, rest)) = event(line) else {
            return match line {
                _ if self.is_begun => Err(Fault::new("the line has no `seconds: event:`")),
                [b'c', b'p', b'u', b's', b'=', ..] => Ok(Parsed::Other("header line")),
                _ if line.starts_with(b"version = ") || line.starts_with(b"CPU ") => Ok(Parsed::Other("header line")),
                _ => Err(Fault::new("the line has no `seconds: event:`")),
            };
        };
        self.is_begun = true;
        let name = event.iter().position(|&byte| byte == b':').map_or(event, |colon| &event[colon + 1..]);
        let Some(place) = EVENTS.iter().position(|(known, ..)| *known == name) else {
            return Ok(Parsed::Other("other event"));
        };
        let (_, mut action, fields) = EVENTS[place];
        if name == b"ufshcd_command" && !rest.trim_ascii_start().starts_with(b"send_req") {
            action = b'C';
        } else {
            self.seen[place] += 1;
        }
        if action != self.action {
            return Ok(Parsed::Other("other event"));
        }
        let time_ns = time(clock, self.unit).map_err(|expected| Fault::field("the time", clock, expected))?;
        match fields {
            Fields::Block => block(time_ns, rest, devices),
            Fields::Nvme => nvme(time_ns, rest, devices),
            Fields::Ufs => ufs(time_ns, rest, devices),
        }
    }

    fn unmatched(&self) -> Vec<String> {
        let says = |kind: Fields, clause: &str| {
            let has = EVENTS.iter().zip(self.seen).any(|(&(_, _, fields), seen)| fields == kind && seen > 0);
            has.then(|| clause.to_owned())
        };
        let nvme = says(Fields::Nvme, "a block of its NVMe events counts as 512 bytes");
        nvme.into_iter().chain(says(Fields::Ufs, "a block of its UFS events counts as 4 KiB")).collect()
    }

    fn remark(&self) -> Option<String> {
        let seen: Vec<String> = EVENTS
            .iter()
            .zip(self.seen)
            .filter(|&(_, seen)| seen > 0)
            .map(|(&(name, action, _), seen)| {
                format!("{} ({seen} events, action {})", String::from_utf8_lossy(name), action as char)
            })
            .collect();
        let others = if seen.is_empty() { "none that is known".to_owned() } else { seen.join(", ") };
        Some(format!(
            ", taking action {}: its events are {others}. Take another action (--blkparse-action D for block_rq_issue, nvme_setup_cmd and \
             ufshcd_command, Q for block_bio_queue)",
            self.action as char
        ))
    }
}

/// The time, the event and what is behind it: the first `digits.digits:` between blanks, and the
/// next word, which ends in a colon.
fn event(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mut fields = Blanks::new(line);
    while let Some(field) = fields.next_if_any() {
        let Some(clock) = field.strip_suffix(b":") else { continue };
        let is_time = digits(clock)
            .is_some_and(|(_, count)| clock.get(count) == Some(&b'.') && whole(&clock[count + 1..]).is_ok());
        if is_time {
            let event = fields.next_if_any()?;
            return Some((clock, event.strip_suffix(b":")?, fields.rest()));
        }
    }
    None
}

/// `8,0 WS 4096 () 8000 + 8 [worker]`; completions have no bytes, those of bios neither.
fn block(time_ns: u64, rest: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
    let mut fields = Blanks::new(rest);
    let disk = fields.next("the device")?;
    let rwbs = Rwbs::of(fields.next("the rwbs")?)?;
    rwbs.requests(time_ns, device(devices, disk)?, || {
        let mut before = fields.next("the sector")?;
        loop {
            let field = fields.next("the +")?;
            if field == b"+" {
                break;
            }
            before = field;
        }
        let sector = whole(before).map_err(|expected| Fault::field("the sector", before, expected))?;
        let length = sectors("the size", fields.whole("the number of sectors")?)?;
        Ok(Some((sectors("the sector", sector)?, length)).filter(|_| length > 0))
    })
}

/// `nvme0: disk=nvme0n1, qid=1, …, cmd=(nvme_cmd_read slba=0, len=7, …)`.
fn nvme(time_ns: u64, rest: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
    let op = match value(rest, b"cmd=(").unwrap_or_default() {
        b"nvme_cmd_read" => HostOp::Read,
        b"nvme_cmd_write" | b"nvme_cmd_write_zeroes" => HostOp::Write,
        b"nvme_cmd_flush" => HostOp::Flush,
        _ => return Ok(Parsed::Other("command without data")),
    };
    let controller = Blanks::new(rest).next("the controller")?;
    let disk = value(rest, b"disk=").filter(|disk| !disk.is_empty());
    let device = device(devices, disk.unwrap_or(controller.strip_suffix(b":").unwrap_or(controller)))?;
    if op == HostOp::Flush {
        return Ok(Parsed::Request(Raw::flush(time_ns, device)));
    }
    let number = |name: &str, key: &[u8]| {
        let field = value(rest, key).ok_or_else(|| Fault::missing(name))?;
        whole(field).map_err(|expected| Fault::field(name, field, expected))
    };
    let blocks = number("the len", b"len=")?.saturating_add(1);
    Ok(Parsed::Request(Raw::new(
        time_ns,
        op,
        sectors("the slba", number("the slba", b"slba=")?)?,
        sectors("the len", blocks)?,
        device,
    )))
}

/// `send_req: 1d84000.ufshc: tag: 5, …, size: 4096, …, LBA: 16, opcode: 0x28 (READ_10), …`.
fn ufs(time_ns: u64, rest: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
    let mut fields = Blanks::new(rest);
    fields.next("the event's kind")?;
    let host = fields.next("the host")?;
    let device = device(devices, host.strip_suffix(b":").unwrap_or(host))?;
    let field = |name: &str, key: &[u8]| value(rest, key).ok_or_else(|| Fault::missing(name));
    let number = |name: &str, key: &[u8]| {
        let field = field(name, key)?;
        whole(field).map_err(|expected| Fault::field(name, field, expected))
    };
    let code = field("the opcode", b"opcode: ")?;
    match scsi_operation(hex(code).map_err(|expected| Fault::field("the opcode", code, expected))?) {
        None => Ok(Parsed::Other("command without data")),
        Some(HostOp::Flush) => Ok(Parsed::Request(Raw::flush(time_ns, device))),
        Some(op) => {
            let block = number("the LBA", b"LBA: ")?;
            let offset = block.checked_mul(UFS_BLOCK).ok_or_else(|| {
                Fault::new(format!("the LBA is {block} blocks of 4 KiB, which is beyond 2^64-1 bytes"))
            })?;
            Ok(Parsed::Request(Raw::new(time_ns, op, offset, number("the size", b"size: ")?, device)))
        }
    }
}

/// What stands behind a key, up to a blank, a comma or a parenthesis.
fn value<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let starts = memchr::memmem::find_iter(line, key);
    let start = starts.into_iter().find(|&at| at == 0 || !line[at - 1].is_ascii_alphanumeric())? + key.len();
    let end = line[start..].iter().position(|byte| b" ,)\t".contains(byte)).unwrap_or(line.len() - start);
    Some(&line[start..start + end])
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{records, trace};
    use crate::format::Format::Ftrace;
    use crate::options::OpenOptions;
    use crate::record::Record;
    use crate::trace::open_bytes;

    const BLOCK: &str = "\
          worker   311 [001]   700.000100:  block:block_rq_insert: 8,0 W 4096 () 8000 + 8 [worker]
     Web Content   311 [001]   700.000110:   block:block_rq_issue: 8,0 W 4096 () 8000 + 8 [Web Content]
         swapper     0 [002]   700.000610: block:block_rq_complete: 8,0 W () 8000 + 8 [0]
          worker   311 [001]   700.001110:   block:block_rq_issue: 8,0 FWFSM 8192 () 9000 + 16 be,0,4 [worker]
          worker   311 [001]   700.001120:   sched:sched_switch: prev_comm=worker prev_pid=311
          reader   312 [003]   700.002110:   block:block_rq_issue: 8,16 R 16384 () 16 + 32 [reader]
";

    fn ops(records: &[Record]) -> Vec<(u64, HostOp, u64, u32, u32)> {
        records.iter().map(|record| (record.time_ns, record.op, record.offset, record.length, record.device)).collect()
    }

    #[test]
    fn one_event_of_each_request_is_taken() {
        let (records, devices) = records(Ftrace, BLOCK);
        assert_eq!(devices, ["8,0", "8,16"]);
        let expected = [
            (0, HostOp::Write, 8000 * 512, 4096, 0),
            (1_000_000, HostOp::Flush, 0, 0, 0),
            (1_000_000, HostOp::Write, 9000 * 512, 8192, 0),
            (1_000_000, HostOp::Flush, 0, 0, 0),
            (2_000_000, HostOp::Read, 8192, 16_384, 1),
        ];
        assert_eq!(ops(&records), expected);
        let mut left = trace(Ftrace, BLOCK.as_bytes());
        assert_eq!((left.by_ref().count(), left.left_out()["other event"]), (5, 3));
    }

    #[test]
    fn every_printer_of_events_is_known_by_its_content() {
        for text in [
            BLOCK.to_owned(),
            "# tracer: nop\n#\n  kworker/0:1H-123   [000] d..1.   5.000001: block_rq_issue: 259,0 WS 4096 () 8 + 8 [kworker]\n".into(),
            "cpus=4\n  dd-123 [000] 5.000001: block_rq_issue: 259,0 W 4096 () 8 + 8 [dd]\n".into(),
        ] {
            let mut trace = open_bytes("t", text.into_bytes(), &OpenOptions::default()).unwrap();
            assert_eq!(trace.format, Ftrace);
            assert!(trace.all(|record| record.is_ok()));
        }
    }

    #[test]
    fn nvme_commands_are_blocks_behind_keys() {
        let text = "\
 fio-9 [001] ..... 1.000000: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmdid=1, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=2048, len=7, ctrl=0x0, dsmgmt=0, reftag=0)
 fio-9 [001] ..... 1.000050: nvme_complete_rq: nvme0: disk=nvme0n1, qid=2, cmdid=1, res=0x0, retries=0, flags=0x0, status=0x0
 fio-9 [001] ..... 1.000100: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmdid=2, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_flush cdw10=00 00)
 fio-9 [001] ..... 1.000200: nvme_setup_cmd: nvme1: disk=, qid=0, cmdid=2, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_admin_identify cns=1)
 fio-9 [001] ..... 1.000300: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmdid=3, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=0, len=0, ctrl=0x0, dsmgmt=0, reftag=0)
";
        let (records, devices) = records(Ftrace, text);
        let expected = [
            (0, HostOp::Write, 1 << 20, 4096, 0),
            (100_000, HostOp::Flush, 0, 0, 0),
            (300_000, HostOp::Read, 0, 512, 0),
        ];
        assert_eq!((ops(&records), devices), (expected.to_vec(), vec!["nvme0n1".to_owned()]));
        let mut told = trace(Ftrace, text.as_bytes());
        assert_eq!(told.by_ref().count(), 3);
        assert_eq!(told.unmatched(), ["a block of its NVMe events counts as 512 bytes"]);
    }

    #[test]
    fn ufs_commands_have_blocks_of_4_kib() {
        let text = "\
 kworker-7 [001] d..2. 3.000000: ufshcd_command: send_req: 1d84000.ufshc: tag: 5, DB: 0x20, size: 8192, IS: 0, LBA: 100, opcode: 0x2a (WRITE_10), group_id: 0x0, hwq_id: -1
 swapper-0 [001] d..2. 3.000100: ufshcd_command: complete_rsp: 1d84000.ufshc: tag: 5, DB: 0x0, size: 8192, IS: 0, LBA: 100, opcode: 0x2a (WRITE_10), group_id: 0x0, hwq_id: -1
 kworker-7 [001] d..2. 3.000200: ufshcd_command: send_req: 1d84000.ufshc: tag: 6, DB: 0x20, size: 4096, IS: 0, LBA: 7, opcode: 0x28 (READ_10), group_id: 0x0, hwq_id: -1
";
        let (records, devices) = records(Ftrace, text);
        let expected = [(0, HostOp::Write, 409_600, 8192, 0), (200_000, HostOp::Read, 28_672, 4096, 0)];
        assert_eq!((ops(&records), devices), (expected.to_vec(), vec!["1d84000.ufshc".to_owned()]));
    }

    #[test]
    fn events_of_another_action_are_named_with_the_option() {
        let options = OpenOptions { blkparse_action: Some('Q'), ..OpenOptions::with_format(Ftrace) };
        let error = open_bytes("t", BLOCK.as_bytes(), &options).unwrap().next().unwrap().unwrap_err().to_string();
        for part in ["taking action Q", "block_rq_issue (3 events, action D)", "--blkparse-action D"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
