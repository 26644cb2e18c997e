//! Any text format over a file: lines through its layout, blank lines and a header left out, bad
//! lines refused or counted.
//!
//! Lines come through one buffer of fixed size, lent and not copied: the hot loop of every text
//! reader allocates nothing. A line that does not end is an error, so that a binary file taken for
//! text cannot fill the memory.

use std::path::PathBuf;

use memchr::memchr;

use super::filter::Filter;
use super::layout::{IsLike, Layout, Parsed};
use super::source::{Fault, LeftOut, Source};
use crate::devices::Devices;
use crate::error::{TraceError, TracePosition, excerpt};
use crate::format::Format;
use crate::input::{Input, Origin};
use crate::options::OpenOptions;
use crate::record::Record;

/// A trace in text.
pub(crate) struct TextSource {
    format: Format,
    layout: Box<dyn Layout>,
    filter: Option<Filter>,
    lines: Lines,
    devices: Devices,
    left_out: LeftOut,
    path: PathBuf,
    skip_bad: bool,
    shift_bytes: u64,
    /// Further requests of the line, the next one last.
    pending: Vec<Record>,
    /// The latency of the last request that had one.
    latency_ns: u64,
}

impl TextSource {
    /// Opens `origin` from its beginning.
    pub(crate) fn new(
        format: Format,
        mut layout: Box<dyn Layout>,
        origin: &Origin,
        options: &OpenOptions,
    ) -> Result<Self, TraceError> {
        layout.prepare(&mut |is_like| has_line(origin, is_like));
        Ok(Self {
            format,
            layout,
            filter: Filter::of(&options.conditions, format),
            lines: Lines::new(origin.open()?),
            devices: Devices::default(),
            left_out: LeftOut::default(),
            path: origin.path().to_owned(),
            skip_bad: options.skip_bad,
            shift_bytes: options.shift_bytes,
            pending: Vec::new(),
            latency_ns: 0,
        })
    }

    /// Counts a line that does not meet the conditions: as a row, if it is one.
    fn leave_out(&mut self) {
        let (number, line) = (self.lines.number(), self.lines.line());
        let Some(filter) = &mut self.filter else { return };
        match self.layout.read(line, &mut filter.other_devices) {
            Ok(Parsed::Other(kind)) => self.left_out.count(kind),
            Err(_) if is_header(self.layout.as_ref(), number, line) => self.left_out.count("header line"),
            Ok(Parsed::Request(_) | Parsed::Requests(_)) | Err(_) => self.left_out.unmet += 1,
        }
    }

    /// What to do about a line that cannot be used.
    #[cold]
    fn refuse(&mut self, fault: Fault) -> Result<(), TraceError> {
        if is_header(self.layout.as_ref(), self.lines.number(), self.lines.line()) {
            self.left_out.count("header line");
            return Ok(());
        }
        if self.skip_bad {
            self.left_out.bad += 1;
            return Ok(());
        }
        Err(TraceError::bad(&self.path, self.format, self.place(), fault.problem))
    }
}

impl Source for TextSource {
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        if let Some(record) = self.pending.pop() {
            return Ok(Some(record));
        }
        while self.lines.next()?.is_some() {
            let line = self.lines.line();
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if self.lines.is_open() && self.layout.is_cut(line) {
                self.left_out.count("incomplete last line");
                continue;
            }
            if let Some(filter) = &mut self.filter
                && !filter.takes(self.layout.as_ref(), line, &self.path)?
            {
                self.leave_out();
                continue;
            }
            let outcome = match self.layout.read(line, &mut self.devices) {
                Ok(Parsed::Request(raw)) => {
                    self.latency_ns = raw.latency_ns;
                    raw.check(self.shift_bytes).map(Some)
                }
                Ok(Parsed::Requests(raws)) => {
                    self.latency_ns = raws.iter().flatten().map(|raw| raw.latency_ns).next().unwrap_or_default();
                    let checked = raws.into_iter().flatten().rev().map(|raw| raw.check(self.shift_bytes));
                    checked.collect::<Result<Vec<_>, _>>().map(|records| {
                        self.pending = records;
                        self.pending.pop()
                    })
                }
                Ok(Parsed::Other(kind)) => {
                    self.left_out.count(kind);
                    Ok(None)
                }
                Err(fault) => Err(fault),
            };
            match outcome {
                Ok(Some(record)) => return Ok(Some(record)),
                Ok(None) => {}
                Err(fault) => self.refuse(fault)?,
            }
        }
        Ok(None)
    }

    fn latency_ns(&self) -> u64 {
        self.latency_ns
    }

    fn devices(&self) -> &[String] {
        self.devices.names()
    }

    fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }

    fn unmatched(&self) -> Vec<String> {
        let of_filter = self.filter.iter().flat_map(Filter::unmatched);
        self.layout.unmatched().into_iter().chain(of_filter).collect()
    }

    fn place(&self) -> (TracePosition, String) {
        (TracePosition::Line(self.lines.number()), excerpt(self.lines.line()))
    }

    fn remark(&self) -> Option<String> {
        match &self.filter {
            Some(filter) if self.left_out.unmet > 0 => {
                let others = self.layout.remark().map_or_else(|| ":".to_owned(), |remark| format!("{remark};"));
                Some(format!("{others} {}", filter.remark(self.left_out.unmet)))
            }
            _ => self.layout.remark(),
        }
    }
}

/// Whether a file has a line like that. Damage ends the search; the reader will come to it itself.
fn has_line(origin: &Origin, is_like: &mut IsLike<'_>) -> bool {
    let Ok(input) = origin.open() else { return false };
    let mut lines = Lines::new(input);
    while let Ok(Some(line)) = lines.next() {
        if is_like(line) {
            return true;
        }
    }
    false
}

/// Whether `line`, which the layout could not read, is the header that the format may start with.
pub(crate) fn is_header(layout: &dyn Layout, number: u64, line: &[u8]) -> bool {
    let names = |text: &[u8]| -> Vec<Vec<u8>> {
        text.split(|&byte| byte == b',')
            .map(|name| name.iter().filter(|byte| !byte.is_ascii_whitespace()).map(u8::to_ascii_lowercase).collect())
            .collect()
    };
    number == 1 && layout.header().is_some_and(|header| names(header.as_bytes()) == names(line))
}

/// Bytes read ahead.
const BUFFER: usize = 256 << 10;

/// The longest line. Trace lines have some 50 bytes, the longest known (ETW, with file names) under
/// 1 KiB.
const MAX_LINE: usize = 64 << 10;

/// The lines of an input.
struct Lines {
    input: Input,
    buffer: Box<[u8]>,
    /// What is read and not yet handed out.
    start: usize,
    end: usize,
    /// The line last handed out.
    line: std::ops::Range<usize>,
    number: u64,
    at_end: bool,
    /// Whether the line last handed out has no end.
    is_open: bool,
}

impl Lines {
    /// The lines of `input`, from its beginning.
    fn new(input: Input) -> Self {
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Self { input, buffer, start: 0, end: 0, line: 0..0, number: 0, at_end: false, is_open: false }
    }

    /// The next line without its end (`\n` or `\r\n`); none after the last.
    #[inline]
    fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        let mut scanned = self.start;
        loop {
            if let Some(length) = memchr(b'\n', &self.buffer[scanned..self.end]) {
                self.take(scanned + length);
                self.start = scanned + length + 1;
                return Ok(Some(self.line()));
            }
            scanned = self.end;
            if self.at_end {
                if self.start == self.end {
                    return Ok(None);
                }
                self.take(self.end);
                self.start = self.end;
                self.is_open = true;
                return Ok(Some(self.line()));
            }
            scanned -= self.refill()?;
        }
    }

    /// Marks the line from `start` to `end` as handed out.
    #[inline]
    fn take(&mut self, end: usize) {
        self.number += 1;
        let text = &self.buffer[self.start..end];
        let mut start = self.start;
        if self.number == 1 && text.starts_with(b"\xef\xbb\xbf") {
            start += 3; // the byte-order mark that Windows editors put first
        }
        let end = if text.ends_with(b"\r") { end - 1 } else { end };
        self.line = start..end.max(start);
    }

    /// Reads more behind what is there; returns by how much what is there moved towards the front.
    #[cold]
    fn refill(&mut self) -> Result<usize, TraceError> {
        let place = TracePosition::Line(self.number + 1);
        if self.end - self.start > MAX_LINE {
            return Err(self.too_long(place));
        }
        let moved = self.start;
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= moved;
        self.start = 0;
        match self.input.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.at_end = true,
            Ok(count) => self.end += count,
            Err(source) => return Err(self.input.error(place, source)),
        }
        Ok(moved)
    }

    fn too_long(&self, place: TracePosition) -> TraceError {
        let source = std::io::Error::other(format!(
            "the line is longer than {MAX_LINE} bytes and starts with {}",
            crate::error::excerpt(&self.buffer[self.start..self.end])
        ));
        let mut error = self.input.error(place, source);
        if let TraceError::Read { advice, .. } = &mut error {
            "It is not a trace in text; check the file, or name its format (--format)".clone_into(advice);
        }
        error
    }

    /// The line last handed out.
    fn line(&self) -> &[u8] {
        &self.buffer[self.line.clone()]
    }

    /// Whether the file ends within it.
    fn is_open(&self) -> bool {
        self.is_open
    }

    /// Its number, from 1; 0 before the first.
    fn number(&self) -> u64 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Lines {
        let origin = Origin::Memory { name: "memory".into(), bytes: bytes.into() };
        Lines::new(origin.open().unwrap())
    }

    fn all(bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = lines(bytes);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(line.to_vec());
        }
        all
    }

    #[test]
    fn ends_of_lines_are_those_of_all_systems() {
        assert_eq!(all(b"a\nbc\r\n\r\nd"), [&b"a"[..], b"bc", b"", b"d"]);
        assert_eq!(all(b"\xef\xbb\xbfa\n\n"), [&b"a"[..], b""]);
        assert_eq!(all(b"\xef\xbb\xbf"), [&b""[..]]);
        assert!(all(b"").is_empty());
    }

    #[test]
    fn lines_across_the_ends_of_the_buffer_stay_whole() {
        let text: Vec<u8> =
            (0..100_000).flat_map(|n| format!("line {n} {}\n", "x".repeat(n % 97)).into_bytes()).collect();
        let read = all(&text);
        assert_eq!(read.len(), 100_000);
        assert!(
            read.iter().enumerate().all(|(n, line)| *line == format!("line {n} {}", "x".repeat(n % 97)).into_bytes())
        );
    }

    #[test]
    fn a_line_without_end_is_refused_and_takes_no_memory() {
        let mut text = b"short\n".to_vec();
        text.resize(10 << 20, b'x');
        let mut lines = lines(&text);
        assert_eq!(lines.next().unwrap(), Some(&b"short"[..]));
        let error = lines.next().unwrap_err().to_string();
        assert!(error.contains("memory, line 2") && error.contains("longer than 65536 bytes"), "{error}");
    }
}
