//! `CloudPhysics` vscsi, binary, little-endian, versions 1 and 2.
//!
//! Version 1, 32 bytes: `u32 sn, len, nSG; u16 cmd, ver; u64 lbn, ts`. Version 2, 40 bytes:
//! `u16 cmd, ver; u32 sn, len, nSG; u64 lbn, ts, rt`. The high byte of `ver` is the version. `len`
//! is bytes, `lbn` 512 B sectors, `ts` microseconds, `cmd` the SCSI operation code. The file has no
//! header and names no device, so it has one, `0`.
//!
//! A record whose `ver` is another than the file's is damage, not a request; so is a last record
//! that is cut short. Records have a fixed size, so reading on behind a bad one (`--skip-bad`)
//! stays in step.

use std::path::PathBuf;

use host::HostOp;

use super::fields::{sectors, ticks};
use super::layout::scsi_operation;
use super::source::{Fault, LeftOut, Raw, Source};
use crate::devices::Devices;
use crate::error::{TraceError, TracePosition};
use crate::format::{Format, TimeUnit};
use crate::input::{Input, Origin};
use crate::options::OpenOptions;
use crate::record::Record;

/// How many records the guess looks at.
const SAMPLE: usize = 64;

/// Bytes read ahead; a multiple of both record sizes.
const BUFFER: usize = 6400 * 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The version of a file that starts with `head`, if it is either.
    fn of(head: &[u8]) -> Option<Self> {
        [Self::One, Self::Two].into_iter().find(|version| version.matches(head))
    }

    /// Bytes in a record.
    const fn size(self) -> usize {
        match self {
            Self::One => 32,
            Self::Two => 40,
        }
    }

    /// Whether a record says that it has this version. Too few bytes say nothing.
    fn matches(self, record: &[u8]) -> bool {
        let (at, version) = match self {
            Self::One => (15, 1),
            Self::Two => (3, 2),
        };
        record.get(at) == Some(&version)
    }
}

/// The fields that matter.
struct Fields {
    command: u16,
    length: u32,
    block: u64,
    time: u64,
}

impl Fields {
    fn of(version: Version, record: &[u8]) -> Self {
        let (command, length, block, time) = match version {
            Version::One => (12, 4, 16, 24),
            Version::Two => (0, 8, 16, 24),
        };
        Self {
            command: number(record, command, 2) as u16,
            length: number(record, length, 4) as u32,
            block: number(record, block, 8),
            time: number(record, time, 8),
        }
    }
}

/// `size` bytes from `at` as a little-endian number.
fn number(record: &[u8], at: usize, size: usize) -> u64 {
    record[at..at + size].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Whether a file that starts with `head` is a vscsi trace: every record looked at has its version,
/// and a command that is one byte, as SCSI's are.
pub(crate) fn fits(head: &[u8]) -> bool {
    let Some(version) = Version::of(head) else { return false };
    let mut records = head.chunks_exact(version.size()).take(SAMPLE).peekable();
    records.peek().is_some()
        && records.all(|record| version.matches(record) && Fields::of(version, record).command <= 0xff)
}

pub(crate) struct VscsiSource {
    input: Input,
    path: PathBuf,
    version: Version,
    unit: TimeUnit,
    skip_bad: bool,
    shift_bytes: u64,
    devices: Devices,
    left_out: LeftOut,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Offset in the file of the record last handed out, and of the one after it.
    place: u64,
    next_place: u64,
}

impl VscsiSource {
    /// Opens `origin` from its beginning.
    pub(crate) fn new(origin: &Origin, options: &OpenOptions) -> Result<Self, TraceError> {
        let mut source = Self {
            input: origin.open()?,
            path: origin.path().to_owned(),
            version: Version::One,
            unit: options.unit(Format::Vscsi),
            skip_bad: options.skip_bad,
            shift_bytes: options.shift_bytes,
            devices: Devices::one("0"),
            left_out: LeftOut::default(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            place: 0,
            next_place: 0,
        };
        source.fill(Version::Two.size())?;
        source.version = match Version::of(&source.buffer[..source.end]) {
            Some(version) => version,
            None if source.end < Version::One.size() => return Err(source.cut_short()),
            None => {
                let problem =
                    "the version is neither 1 (byte 15 of a record) nor 2 (byte 3), so this is no vscsi trace";
                return Err(source.bad(Fault::new(problem)));
            }
        };
        Ok(source)
    }

    /// Reads until `wanted` bytes are there or the input ends.
    fn fill(&mut self, wanted: usize) -> Result<(), TraceError> {
        if self.end - self.start >= wanted {
            return Ok(());
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < wanted {
            let place = TracePosition::Byte(self.next_place + self.end as u64);
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(count) => self.end += count,
                Err(error) => return Err(self.input.error(place, error)),
            }
        }
        Ok(())
    }

    /// Steps over the next record; none at the end of the input.
    fn step(&mut self) -> Result<Option<std::ops::Range<usize>>, TraceError> {
        let size = self.version.size();
        self.fill(size)?;
        let there = self.end - self.start;
        self.place = self.next_place;
        if there >= size {
            let record = self.start..self.start + size;
            self.start += size;
            self.next_place += size as u64;
            return Ok(Some(record));
        }
        if there > 0 {
            if !self.skip_bad {
                return Err(self.cut_short());
            }
            self.left_out.bad += 1;
            self.start = self.end;
        }
        Ok(None)
    }

    fn parse(&self, record: &[u8]) -> Result<Option<Record>, Fault> {
        if !self.version.matches(record) {
            return Err(Fault::new("the record has another version than the first one, so the file is damaged here"));
        }
        let fields = Fields::of(self.version, record);
        let Some(op) = scsi_operation(fields.command.into()) else { return Ok(None) };
        let time_ns = ticks("the time", fields.time, self.unit)?;
        let raw = match op {
            HostOp::Flush => Raw::flush(time_ns, 0),
            op => Raw::new(time_ns, op, sectors("the lbn", fields.block)?, fields.length.into(), 0),
        };
        raw.check(self.shift_bytes).map(Some)
    }

    #[cold]
    fn cut_short(&self) -> TraceError {
        let there = self.end - self.start;
        let problem = format!(
            "the file ends after {there} of the {} bytes of record {}, so it is cut short",
            self.version.size(),
            self.next_place / self.version.size() as u64 + 1
        );
        self.bad(Fault::new(problem))
    }

    fn bad(&self, fault: Fault) -> TraceError {
        TraceError::bad(&self.path, Format::Vscsi, self.place(), fault.problem)
    }
}

impl Source for VscsiSource {
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        while let Some(range) = self.step()? {
            match self.parse(&self.buffer[range]) {
                Ok(Some(record)) => return Ok(Some(record)),
                Ok(None) => self.left_out.count("non-data command"),
                Err(_) if self.skip_bad => self.left_out.bad += 1,
                Err(fault) => return Err(self.bad(fault)),
            }
        }
        Ok(None)
    }

    fn devices(&self) -> &[String] {
        self.devices.names()
    }

    fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }

    fn place(&self) -> (TracePosition, String) {
        let length = (self.next_place - self.place) as usize;
        let bytes = if length == 0 { self.start..self.end } else { self.start - length..self.start };
        let shown = &self.buffer[bytes];
        let text: Vec<String> = shown.iter().take(Version::Two.size()).map(|byte| format!("{byte:02x}")).collect();
        (TracePosition::Byte(self.place), text.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{record, trace};
    use super::*;
    use crate::trace::open_bytes;

    fn one(command: u16, length: u32, block: u64, time: u64) -> Vec<u8> {
        let words = [7, length, 1].map(u32::to_le_bytes).concat();
        let halves = [command, 0x0100].map(u16::to_le_bytes).concat();
        [words, halves, [block, time].map(u64::to_le_bytes).concat()].concat()
    }

    fn two(command: u16, length: u32, block: u64, time: u64) -> Vec<u8> {
        let halves = [command, 0x0200].map(u16::to_le_bytes).concat();
        let words = [7, length, 1].map(u32::to_le_bytes).concat();
        [halves, words, [block, time, 99].map(u64::to_le_bytes).concat()].concat()
    }

    #[test]
    fn both_versions_say_the_same() {
        for make in [one, two] {
            let bytes =
                [make(0x2a, 512, 100, 5), make(0x12, 36, 0, 6), make(0x88, 4096, 8, 7), make(0x35, 0, 0, 8)].concat();
            assert!(fits(&bytes));
            let mut trace = trace(Format::Vscsi, &bytes);
            let records: Vec<_> = trace.by_ref().map(Result::unwrap).collect();
            let expected = [
                record(0, HostOp::Write, 51200, 512),
                record(2000, HostOp::Read, 4096, 4096),
                record(3000, HostOp::Flush, 0, 0),
            ];
            assert_eq!(records, expected);
            assert_eq!(trace.left_out()["non-data command"], 1);
            assert_eq!(trace.devices(), ["0"]);
        }
    }

    #[test]
    fn a_cut_off_record_is_an_error_or_counted() {
        let mut bytes = [one(0x2a, 512, 100, 5), one(0x2a, 512, 101, 6)].concat();
        bytes.truncate(50);
        let error = trace(Format::Vscsi, &bytes).find_map(Result::err).unwrap().to_string();
        assert!(error.contains("test, byte 32: the file ends after 18 of the 32 bytes of record 2"), "{error}");
        let options = OpenOptions { skip_bad: true, ..OpenOptions::with_format(Format::Vscsi) };
        let mut trace = open_bytes("test", &bytes[..], &options).unwrap();
        assert_eq!((trace.by_ref().count(), trace.skipped()), (1, 1));
    }

    #[test]
    fn damage_is_found_and_skipping_it_stays_in_step() {
        let bytes = [
            one(0x2a, 512, 100, 5),
            vec![0xee; 32],
            one(0x2a, 512, u64::MAX / 8, 6),
            one(0x2a, 0, 1, 6),
            one(0x28, 512, 1, 9),
        ];
        let errors =
            |records: &[Vec<u8>]| trace(Format::Vscsi, &records.concat()).find_map(Result::err).unwrap().to_string();
        assert!(
            errors(&bytes).contains("byte 32: the record has another version than the first"),
            "{}",
            errors(&bytes)
        );
        assert!(errors(&bytes).contains("ee ee ee"));
        assert!(errors(&[&bytes[..1], &bytes[2..]].concat()).contains("the lbn is 2305843009213693951 sectors"));
        assert!(errors(&[&bytes[..1], &bytes[3..]].concat()).contains("the size is 0"));
        let options = OpenOptions { skip_bad: true, ..OpenOptions::with_format(Format::Vscsi) };
        let mut trace = open_bytes("test", &bytes.concat()[..], &options).unwrap();
        assert_eq!((trace.by_ref().count(), trace.skipped()), (2, 3));
    }

    #[test]
    fn other_files_are_not_taken_for_it() {
        assert!(!fits(b""));
        assert!(!fits(b"128166385295514663,hm,0,Write,9056014336,2048,2833\n"));
        assert!(!fits(&[one(0x2a, 512, 1, 1), vec![0; 32]].concat()));
        let options = OpenOptions::with_format(Format::Vscsi);
        let error = |bytes: &[u8]| open_bytes("test", bytes, &options).err().unwrap().to_string();
        assert!(
            error(b"128166385295514663,hm,0,Write,9056014336,2048,2833\n").contains("byte 0: the version is neither")
        );
        assert!(error(b"short").contains("ends after 5 of the 32 bytes of record 1"));
    }

    #[test]
    fn records_across_the_ends_of_the_buffer_stay_whole() {
        for make in [one, two] {
            let bytes: Vec<u8> = (0..20_000).flat_map(|n| make(0x2a, 512, n, n)).collect();
            let blocks: Vec<u64> = trace(Format::Vscsi, &bytes).map(|record| record.unwrap().offset / 512).collect();
            assert!(blocks.iter().copied().eq(0..20_000));
        }
    }
}
