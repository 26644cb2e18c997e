//! Events of the kernel in text: `perf script`, `trace-cmd report` and the `trace` file of ftrace.
//!
//! A line is `process pid [cpu] flags seconds: system:event: fields`, with the system or without.
//! Known events are those of the block layer (`8,0 WS 4096 () 8000 + 8 [worker]`, or with keys,
//! `dev=8,0 sector=8000 nr_sector=8 rwbs=WS`), of `NVMe`
//! (`nvme0: disk=nvme0n1, qid=1, …, cmd=(nvme_cmd_read slba=0, len=7, …)`, with blocks of 512 B and
//! one block less in `len`), and of UFS (`send_req: 1d84000.ufshc: …, size: 4096, …, LBA: 16,
//! opcode: 0x28 …`, with blocks of 4 KiB). Each belongs to an action of blkparse, and one action is
//! taken: otherwise every request would count several times. Other events are left out. So are
//! those of a driver where the file has requests of the block layer at that action: they are the
//! same requests, under another name of the disk.

use host::HostOp;

use super::fields::{Blanks, Expected, Walk, digits, extent, hex, sectors, time, whole};
use super::layout::{AnyLine, Layout, Parsed, device, of_completions, scsi_operation, without_data};
use super::rwbs::Rwbs;
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::TimeUnit;
use crate::units::several;

/// Bytes of a block of UFS.
const UFS_BLOCK: u64 = 4096;

/// The bit of an `NVMe` write's control for data that are safe when it ends (FUA).
const NVME_FUA: u64 = 0x4000;

/// What the fields of an event look like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fields {
    /// The device, the word, perhaps bytes and a command, the sector and the number of sectors; or
    /// all of them behind keys.
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
    /// Whether the file has requests of the block layer, so that those of drivers are left out.
    has_block: bool,
    /// Whether one of them was.
    is_doubled: bool,
}

impl Ftrace {
    pub(super) fn new(unit: TimeUnit, action: char) -> Self {
        Self {
            unit,
            action: action as u8,
            seen: [0; EVENTS.len()],
            is_begun: false,
            has_block: false,
            is_doubled: false,
        }
    }
}

impl Layout for Ftrace {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        if line.trim_ascii_start().starts_with(b"#") {
            return Ok(Parsed::Other("comment"));
        }
        let Some((clock, event, rest)) = event(line) else {
            return match line {
                _ if self.is_begun && is_frame(line) => Ok(Parsed::Other("stack frame")),
                _ if self.is_begun => Err(Fault::new("the line has no `seconds: event:`")),
                [b'c', b'p', b'u', b's', b'=', ..] => Ok(Parsed::Other("header line")),
                _ if line.starts_with(b"version = ") || line.starts_with(b"CPU ") => Ok(Parsed::Other("header line")),
                _ => Err(Fault::new("the line has no `seconds: event:`")),
            };
        };
        self.is_begun = true;
        let Some(place) = place(event) else { return Ok(Parsed::Other("other event")) };
        let (name, mut action, fields) = EVENTS[place];
        if name == b"ufshcd_command" && !rest.trim_ascii_start().starts_with(b"send_req") {
            action = b'C';
        } else {
            self.seen[place] += 1;
        }
        if action != self.action {
            return Ok(Parsed::Other("other event"));
        }
        if self.has_block && fields != Fields::Block {
            self.is_doubled = true;
            return Ok(Parsed::Other("driver event"));
        }
        let time_ns = time(clock, self.unit).map_err(|expected| Fault::field("the time", clock, expected))?;
        match fields {
            Fields::Block => block(time_ns, rest, devices),
            Fields::Nvme => nvme(time_ns, rest, devices),
            Fields::Ufs => ufs(time_ns, rest, devices),
        }
    }

    /// A line is enough: the kernel has an event for each request, or for none.
    fn prepare(&mut self, any_line: &mut AnyLine<'_>) {
        let mut probe = Self { unit: self.unit, seen: [0; EVENTS.len()], ..*self };
        let mut devices = Devices::default();
        self.has_block = any_line(&mut |line| {
            let is_block = event(line).is_some_and(|(_, event, _)| fields_of(event) == Some(Fields::Block));
            is_block && matches!(probe.read(line, &mut devices), Ok(Parsed::Request(_) | Parsed::Requests(_)))
        });
    }

    fn unmatched(&self) -> Vec<String> {
        let completions = of_completions(self.action).into_iter();
        if self.is_doubled {
            let same = "driver events (NVMe, UFS) are the same requests as those of the block layer";
            return completions.chain([same.to_owned()]).collect();
        }
        let says = |kind: Fields, clause: &str| {
            let has = EVENTS.iter().zip(self.seen).any(|(&(_, _, fields), seen)| fields == kind && seen > 0);
            has.then(|| clause.to_owned())
        };
        let nvme = says(Fields::Nvme, "a block of its NVMe events counts as 512 bytes");
        let ufs = says(Fields::Ufs, "a block of its UFS events counts as 4 KiB");
        completions.chain(nvme).chain(ufs).collect()
    }

    fn remark(&self) -> Option<String> {
        let known = || EVENTS.iter().zip(self.seen).filter(|&(_, seen)| seen > 0);
        let taken: u64 = known().filter(|&(&(_, action, _), _)| action == self.action).map(|(_, seen)| seen).sum();
        if taken > 0 {
            return Some(without_data(self.action, taken));
        }
        let seen: Vec<String> = known()
            .map(|(&(name, action, _), seen)| {
                format!("{} ({}, action {})", String::from_utf8_lossy(name), several(seen, "event"), action as char)
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

/// Whether a line is a frame of a call stack, as `perf script` prints them behind an event: an
/// address, a name, and where it is in parentheses.
fn is_frame(line: &[u8]) -> bool {
    let is_indented = line.first().is_some_and(u8::is_ascii_whitespace);
    let address = Blanks::new(line).next_if_any().unwrap_or_default();
    is_indented && line.trim_ascii_end().ends_with(b")") && hex(address).is_ok()
}

/// The place of an event among [`EVENTS`], with its system or without.
fn place(event: &[u8]) -> Option<usize> {
    let name = event.iter().position(|&byte| byte == b':').map_or(event, |colon| &event[colon + 1..]);
    EVENTS.iter().position(|(known, ..)| *known == name)
}

/// What the fields of an event look like, if it is known.
fn fields_of(event: &[u8]) -> Option<Fields> {
    place(event).map(|place| EVENTS[place].2)
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
    if disk.contains(&b'=') {
        return block_by_keys(time_ns, rest, devices);
    }
    let rwbs = Rwbs::of(fields.next("the rwbs")?)?;
    rwbs.requests(Raw::flush(time_ns, device(devices, disk)?), || {
        let mut before = fields.next("the sector")?;
        loop {
            let field = fields.next("the +")?;
            if field == b"+" {
                break;
            }
            before = field;
        }
        let sector = whole(before).map_err(|expected| Fault::field("the sector", before, expected))?;
        extent(sector, fields.whole("the number of sectors")?)
    })
}

/// `dev=8,0 sector=8000 nr_sector=8 bytes=4096 rwbs=W comm=worker`, in any order.
fn block_by_keys(time_ns: u64, rest: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
    let disk = value_until(rest, b"dev=", b" \t").ok_or_else(|| Fault::missing("the dev"))?;
    let rwbs = Rwbs::of(value(rest, b"rwbs=").ok_or_else(|| Fault::missing("the rwbs"))?)?;
    let disk = disk.strip_suffix(b",").unwrap_or(disk);
    rwbs.requests(Raw::flush(time_ns, device(devices, disk)?), || {
        extent(number(rest, "the sector", b"sector=", whole)?, number(rest, "the nr_sector", b"nr_sector=", whole)?)
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
    let blocks = number(rest, "the len", b"len=", whole)?.saturating_add(1);
    let offset = sectors("the slba", number(rest, "the slba", b"slba=", whole)?)?;
    let length = sectors("the len", blocks)?;
    let control = value(rest, b"ctrl=").and_then(|field| hex(field).ok()).unwrap_or(0);
    if op == HostOp::Write && control & NVME_FUA != 0 {
        return Rwbs::FUA_WRITE.requests(Raw::flush(time_ns, device), || Ok(Some((offset, length))));
    }
    Ok(Parsed::Request(Raw::new(time_ns, op, offset, length, device)))
}

/// `send_req: 1d84000.ufshc: tag: 5, …, size: 4096, …, LBA: 16, opcode: 0x28 (READ_10), …`.
fn ufs(time_ns: u64, rest: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
    let mut fields = Blanks::new(rest);
    fields.next("the event's kind")?;
    let host = fields.next("the host")?;
    let device = device(devices, host.strip_suffix(b":").unwrap_or(host))?;
    match scsi_operation(number(rest, "the opcode", b"opcode: ", hex)?) {
        None => Ok(Parsed::Other("command without data")),
        Some(HostOp::Flush) => Ok(Parsed::Request(Raw::flush(time_ns, device))),
        Some(op) => {
            let block = number(rest, "the LBA", b"LBA: ", whole)?;
            let offset = block.checked_mul(UFS_BLOCK).ok_or_else(|| {
                Fault::new(format!("the LBA is {block} blocks of 4 KiB, which is beyond 2^64-1 bytes"))
            })?;
            Ok(Parsed::Request(Raw::new(time_ns, op, offset, number(rest, "the size", b"size: ", whole)?, device)))
        }
    }
}

/// The number behind a key, for which errors call it `name`.
fn number(line: &[u8], name: &str, key: &[u8], read: fn(&[u8]) -> Result<u64, Expected>) -> Result<u64, Fault> {
    let field = value(line, key).ok_or_else(|| Fault::missing(name))?;
    read(field).map_err(|expected| Fault::field(name, field, expected))
}

/// What stands behind a key, up to a blank, a comma or a parenthesis.
fn value<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    value_until(line, key, b" ,)\t")
}

/// The same up to one of these bytes.
fn value_until<'a>(line: &'a [u8], key: &[u8], ends: &[u8]) -> Option<&'a [u8]> {
    let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut starts = memchr::memmem::find_iter(line, key);
    let start = starts.find(|&at| at == 0 || !is_in_name(line[at - 1]))? + key.len();
    let end = line[start..].iter().position(|byte| ends.contains(byte)).unwrap_or(line.len() - start);
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
    fn block_events_behind_keys_are_those_in_columns() {
        let keyed = |order: [usize; 4], (time, event, word, sector, count): (&str, &str, &str, u64, u64)| {
            let parts = [
                "dev=8,0".to_owned(),
                format!("sector={sector}"),
                format!("nr_sector={count}"),
                format!("rwbs={word}"),
            ];
            let parts = order.map(|at| parts[at].as_str()).join(" ");
            format!(" fio 311 [001] {time}: block:{event}: {parts} bytes={} comm=fio cmd=\n", count * 512)
        };
        let events = [
            ("700.000110", "block_rq_issue", "W", 8000, 8),
            ("700.000610", "block_rq_complete", "W", 8000, 8),
            ("700.001110", "block_rq_issue", "FWFSM", 9000, 16),
            ("700.002110", "block_rq_issue", "FF", u64::MAX, 0),
            ("700.003110", "block_rq_issue", "FWS", u64::MAX, 0),
        ];
        let line = |(time, event, word, sector, count): (&str, &str, &str, u64, u64)| {
            format!(" fio 311 [001] {time}: block:{event}: 8,0 {word} {} () {sector} + {count} [fio]\n", count * 512)
        };
        let (in_columns, devices) = records(Ftrace, &events.map(line).concat());
        assert_eq!(in_columns.len(), 6);
        for order in [[0, 1, 2, 3], [3, 2, 1, 0]] {
            let text = events.map(|event| keyed(order, event)).concat();
            assert_eq!(open_bytes("t", text.as_bytes(), &OpenOptions::default()).unwrap().format, Ftrace);
            assert_eq!(records(Ftrace, &text), (in_columns.clone(), devices.clone()));
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

    /// The same requests as events of the block layer and of a driver, in either order, count once.
    #[test]
    fn requests_of_both_layers_are_taken_from_the_block_layer() {
        let driver = |n: u64, (name, op, control): (&str, &str, &str)| {
            let command = format!("cmd=({op} slba={}, len=7, ctrl={control}, dsmgmt=0, reftag=0)", 8 * n);
            format!(" fio-9 [001] ..... 1.{n:06}: {name}: nvme0: disk=nvme0n1, qid=2, cmdid=1, nsid=1, {command}\n")
        };
        let block = |n: u64, word: &str| {
            format!(" fio-9 [001] ..... 1.{n:06}: block_rq_issue: 259,0 {word} 4096 () {} + 8 [fio]\n", 8 * n)
        };
        for is_driver_first in [true, false] {
            let (mut both, mut alone) = (String::new(), String::new());
            for n in 0..300 {
                let (word, op, control) = match n % 3 {
                    0 => ("R", "nvme_cmd_read", "0x0"),
                    1 => ("W", "nvme_cmd_write", "0x0"),
                    _ => ("WFS", "nvme_cmd_write", "0x4000"),
                };
                let (driver, block) = (driver(n, ("nvme_setup_cmd", op, control)), block(n, word));
                alone += &driver;
                both += &if is_driver_first { driver + &block } else { block + &driver };
            }
            let ((from_both, devices), (from_driver, _)) = (records(Ftrace, &both), records(Ftrace, &alone));
            assert_eq!((ops(&from_both), devices), (ops(&from_driver), vec!["259,0".to_owned()]));
            assert_eq!(from_both.len(), 400);
            let mut told = trace(Ftrace, both.as_bytes());
            assert_eq!(told.by_ref().count(), 400);
            assert_eq!(told.left_out()["driver event"], 300);
            assert!(told.unmatched().concat().contains("driver events (NVMe, UFS)"), "{:?}", told.unmatched());
        }
    }

    #[test]
    fn call_stacks_behind_events_are_other_lines() {
        let frames =
            "\tffffffffb12d5040 blk_mq_start_request+0xa0 ([kernel.kallsyms])\n\t      db730 write (/lib/libc.so)\n\n";
        let lines: Vec<String> = BLOCK.lines().map(|line| format!("{line}\n{}", frames.repeat(9))).collect();
        let mut stacked = open_bytes("t", lines.concat().into_bytes(), &OpenOptions::default()).unwrap();
        assert_eq!(stacked.format, Ftrace);
        let found: Vec<Record> = stacked.by_ref().map(|record| record.unwrap()).collect();
        assert_eq!(found, records(Ftrace, BLOCK).0);
        assert_eq!(stacked.left_out()["stack frame"], 6 * 18);
    }

    /// The action that is taken is there: to take it is no advice.
    #[test]
    fn events_without_data_are_said_to_move_none() {
        let block = "blkid 7 [039] 1.5: block:block_rq_issue: 0,0 N () 18446744073709551615 + 0 [0]\n";
        let admin = " k-1 [000] 1.5: nvme_setup_cmd: nvme0: qid=0, cmdid=1, nsid=0, flags=0x0, meta=0x0, cmd=(nvme_admin_delete_sq sqid=1)\n";
        for text in [block, admin] {
            let mut empty = trace(Ftrace, text.repeat(2).as_bytes());
            let error = empty.next().unwrap().unwrap_err().to_string();
            assert!(error.contains("2 events of action D, and none moves data"), "{error}");
        }
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
    fn completions_are_said_not_to_be_arrivals() {
        let ufs = " swapper-0 [001] d..2. 3.000100: ufshcd_command: complete_rsp: 1d84000.ufshc: tag: 5, DB: 0x0, size: 8192, IS: 0, LBA: 100, \
                   opcode: 0x2a (WRITE_10), group_id: 0x0, hwq_id: -1\n";
        for (text, action) in [(BLOCK, 'C'), (BLOCK, 'D'), (BLOCK, 'I'), (ufs, 'C')] {
            let options = OpenOptions { blkparse_action: Some(action), ..OpenOptions::with_format(Ftrace) };
            let mut trace = open_bytes("t", text.as_bytes(), &options).unwrap();
            assert!(trace.by_ref().all(|record| record.is_ok()));
            assert_eq!(trace.unmatched().concat().contains("times are completions"), action == 'C', "{action}");
        }
    }

    #[test]
    fn events_of_another_action_are_named_with_the_option() {
        let options = OpenOptions { blkparse_action: Some('Q'), ..OpenOptions::with_format(Ftrace) };
        let error = open_bytes("t", BLOCK.as_bytes(), &options).unwrap().next().unwrap().unwrap_err().to_string();
        for part in ["taking action Q: its events are", "block_rq_issue (3 events, action D)", "--blkparse-action D"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
