//! A stream of bytes, line by line, through one buffer of fixed size.
//!
//! Lines are lent, not copied: the hot loop of every text reader allocates nothing. A line that
//! does not end is an error, so that a binary file taken for text cannot fill the memory.

use memchr::memchr;

use crate::error::{TraceError, TracePosition};
use crate::input::Input;

/// Bytes read ahead.
const BUFFER: usize = 256 << 10;

/// The longest line. Trace lines have some 50 bytes, the longest known (ETW, with file names) under
/// 1 KiB.
const MAX_LINE: usize = 64 << 10;

/// The lines of an input.
pub(crate) struct Lines {
    input: Input,
    buffer: Box<[u8]>,
    /// What is read and not yet handed out.
    start: usize,
    end: usize,
    /// The line last handed out.
    line: std::ops::Range<usize>,
    number: u64,
    at_end: bool,
}

impl Lines {
    /// The lines of `input`, from its beginning.
    pub(crate) fn new(input: Input) -> Self {
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Self { input, buffer, start: 0, end: 0, line: 0..0, number: 0, at_end: false }
    }

    /// The next line without its end (`\n` or `\r\n`); none after the last.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
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
    pub(crate) fn line(&self) -> &[u8] {
        &self.buffer[self.line.clone()]
    }

    /// Its number, from 1; 0 before the first.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Origin;

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
