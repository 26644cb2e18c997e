//! Everything that can go wrong with a workload, each with the place, the value, what was expected
//! and the next step.
//!
//! All of these are user errors: a file that is not what it is taken for, a choice that was not
//! made, a path that cannot be written. None is a bug, so none panics. The sentences name options
//! as the command line spells them (`--skip-bad`); the fields of
//! [`OpenOptions`](crate::OpenOptions) have the same names.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::choices::MAX_WINDOW;
use crate::format::Format;
use crate::generate::SpecError;
use crate::units::several;

/// How many characters of an offending line an error shows. A screen line's worth: enough to
/// recognise it, too little to flood a terminal when the file is binary.
const EXCERPT_CHARS: usize = 120;

/// How many devices an error lists before it says how many more there are.
const LISTED_DEVICES: usize = 24;

/// Where in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePosition {
    /// Line number, from 1.
    Line(u64),
    /// Byte offset, from 0, after decompression.
    Byte(u64),
    /// Row number, from 0.
    Row(u64),
}

impl fmt::Display for TracePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// A record that cannot be used: where it is, how it looks, what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}, {place}: {problem}. Read as {format} ({}), it says: {excerpt}. Correct it, or leave bad records out and count them \
     (--skip-bad), or name another format (--format)", path.display(), format.columns()
)]
pub struct BadRecord {
    /// Path of the trace.
    pub path: PathBuf,
    /// The line or byte of the record.
    pub place: TracePosition,
    /// What the trace was read as.
    pub format: Format,
    /// What is wrong: field, value found, value expected.
    pub problem: String,
    /// The record as text, at most about 120 characters, control characters escaped.
    pub excerpt: String,
}

/// A request that is earlier than one before it, under a policy that does not allow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backwards {
    /// Path of the trace.
    pub path: PathBuf,
    /// The line or byte of the record.
    pub place: TracePosition,
    /// How far back it goes, nanoseconds.
    pub by_ns: u64,
    /// The record as text.
    pub excerpt: String,
    /// The window that was too small to sort it in; none where sorting was not asked for.
    pub window: Option<usize>,
}

impl fmt::Display for Backwards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, place, by_ms) = (self.path.display(), self.place, self.by_ns as f64 / 1e6);
        match self.window {
            None => write!(
                f,
                "{path}, {place}: time goes back by {by_ms} ms against an earlier request: {}. If the file is merged from \
                 several queues, sort it within a window of requests (--time-backwards sort:4096); if its clock jumps, \
                 hold such requests at the latest time seen (--time-backwards clamp). Both print how many they changed",
                self.excerpt
            ),
            Some(window) => write!(
                f,
                "{path}, {place}: the request is {by_ms} ms earlier than one that already left the sorting window of {window} \
                 requests: {}. Give a larger window (--time-backwards sort:N, N up to {}), or use --time-backwards clamp",
                self.excerpt, MAX_WINDOW
            ),
        }
    }
}

/// What can go wrong when a workload is opened, read, generated or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("{}: cannot be opened: {source}. Check the path and its permissions", path.display())]
    Open {
        /// Path of the trace.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A directory, a pipe or a device: it cannot be read twice.
    #[error(
        "{}: is not a regular file. A trace is read more than once (to guess its format and to survey its devices), so \
         a directory, a pipe or a device will not do; save it to a file first. Files of one trace are named by a pattern, such as \"DIR/*.csv\"", path.display()
    )]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// The file is empty.
    #[error("{}: the file is empty{}. Check that it was copied completely", path.display(), if *compressed { " once decompressed" } else { "" })]
    Empty {
        /// Path of the trace.
        path: PathBuf,
        /// Whether it was compressed.
        compressed: bool,
    },
    /// Reading or decompressing failed.
    #[error("{}, {place}: cannot be read any further: {source}. {advice}", path.display())]
    Read {
        /// Path of the trace.
        path: PathBuf,
        /// How far it was read.
        place: TracePosition,
        /// The system's or the decompressor's error.
        source: io::Error,
        /// The next step for the user.
        advice: String,
    },
    /// A malformed, overflowing or otherwise unusable record.
    #[error("{0}")]
    Bad(Box<BadRecord>),
    /// No format fits the content.
    #[error(
        "{}: its content fits no format that is known here; it starts with: {start}. {hint}If it is one of {}, say which \
         with --format. If it is text in another layout, say what its columns are, for example --columns \"time:us, op, offset:B, size:B\"; \
         docs/trace-formats.md lists what they can be", path.display(), crate::format::list()
    )]
    Unrecognised {
        /// Path of the trace.
        path: PathBuf,
        /// Its first line, shortened.
        start: String,
        /// What it may be instead, as a sentence ending in a space; may be empty.
        hint: String,
    },
    /// Several formats fit and mean different things.
    #[error("{}: its content fits several formats, which read it differently:\n{readings}\nSay which it is with --format, and add --time-unit if none of the spans is right", path.display())]
    Ambiguous {
        /// Path of the trace.
        path: PathBuf,
        /// The formats that fit.
        candidates: Vec<Format>,
        /// A line each: how the first records would read.
        readings: String,
    },
    /// One format fits, but its numbers look like another unit.
    #[error("{}: reads as {format}, but {why}. It can be read in two ways:\n{readings}\nSay which it is, with one of these options", path.display())]
    Doubtful {
        /// Path of the trace.
        path: PathBuf,
        /// The format that fits.
        format: Format,
        /// Why it is doubted: a clause.
        why: String,
        /// A line each: how the first records would read.
        readings: String,
    },
    /// Time goes backwards.
    #[error("{0}")]
    Backwards(Box<Backwards>),
    /// Readable, but without a single request.
    #[error("{}: holds no request when read as {format}{detail}", path.display())]
    NoRequests {
        /// Path of the trace.
        path: PathBuf,
        /// What it was read as.
        format: Format,
        /// What it holds instead and what to do, starting with punctuation.
        detail: String,
    },
    /// Several devices, and no choice among them.
    #[error(
        "{}: holds requests to {} devices: {}. Pick one (--trace-device NAME), or lay them out one after another \
         (--trace-device stacked); folding them together would invent overwrites{layers}", path.display(), devices.len(), list_devices(devices)
    )]
    SeveralDevices {
        /// Path of the trace.
        path: PathBuf,
        /// Name and requests of each, in order of first appearance.
        devices: Vec<(String, u64)>,
        /// Which of them have the same requests: clauses, starting with punctuation; may be empty.
        layers: String,
    },
    /// The named device is not in the trace.
    #[error("{}: has no device {name:?}. It has: {}. Pick one of these (--trace-device NAME)", path.display(), list_devices(devices))]
    NoSuchDevice {
        /// Path of the trace.
        path: PathBuf,
        /// The requested name.
        name: String,
        /// Name and requests of each, in order of first appearance.
        devices: Vec<(String, u64)>,
    },
    /// The devices, one after another, do not fit a 64-bit address space.
    #[error("{}: its {devices} devices laid one after another reach beyond 2^64 bytes. Pick one (--trace-device NAME)", path.display())]
    TooWide {
        /// Path of the trace.
        path: PathBuf,
        /// How many devices it has.
        devices: usize,
    },
    /// The file differs between two passes.
    #[error("{}: changed while it was being read (a device appeared that the first pass did not see). Read a copy that nothing writes to", path.display())]
    Changed {
        /// Path of the trace.
        path: PathBuf,
    },
    /// An option has an impossible value. The sentence names option, value and what is allowed.
    #[error("{0}")]
    Option(String),
    /// A generator's specification is impossible.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A recording cannot begin or go on; what it has so far is kept.
    #[error("{}: {reason}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// Writing failed; nothing is left behind.
    #[error("{}: cannot be written: {reason}. Check that the folder exists and is writable; nothing was left behind", path.display())]
    Write {
        /// Path of the output.
        path: PathBuf,
        /// Why it could not be written.
        reason: String,
    },
}

impl TraceError {
    /// A record of a trace that cannot be used.
    #[cold]
    pub(crate) fn bad(
        path: &std::path::Path,
        format: Format,
        (place, excerpt): (TracePosition, String),
        problem: String,
    ) -> Self {
        Self::Bad(Box::new(BadRecord { path: path.to_owned(), place, format, problem, excerpt }))
    }

    /// A failed write to `path`.
    pub(crate) fn write(path: &std::path::Path, reason: impl fmt::Display) -> Self {
        Self::Write { path: path.to_owned(), reason: reason.to_string() }
    }
}

fn list_devices(devices: &[(String, u64)]) -> String {
    let mut listed: Vec<String> = devices
        .iter()
        .take(LISTED_DEVICES)
        .map(|(name, requests)| format!("{name} ({})", several(*requests, "request")))
        .collect();
    if devices.len() > LISTED_DEVICES {
        listed.push(format!("and {} more", devices.len() - LISTED_DEVICES));
    }
    listed.join(", ")
}

/// `text` with its control characters escaped: what a file holds must not reach a terminal as a
/// command.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// `bytes` as one line of at most about 120 printable characters, in quotes.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    // A character takes at most four bytes, so this prefix surely holds enough of them.
    let head = &bytes[..bytes.len().min(4 * EXCERPT_CHARS)];
    let text = String::from_utf8_lossy(head);
    let shown: String = text.chars().take(EXCERPT_CHARS).collect();
    let shown = printable(&shown);
    let cut = if text.chars().count() > EXCERPT_CHARS || head.len() < bytes.len() { " …" } else { "" };
    format!("`{shown}`{cut}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(excerpt(b"1,2,3"), "`1,2,3`");
        assert_eq!(excerpt(b"a\0b\x1b[31m"), "`a\\u{0}b\\u{1b}[31m`");
        let long = excerpt(&[b'x'; 5000]);
        assert_eq!(long.chars().filter(|&c| c == 'x').count(), EXCERPT_CHARS);
        assert!(long.ends_with('…'));
        assert!(excerpt(&[0xff; 5000]).chars().count() < 2 * EXCERPT_CHARS);
    }

    #[test]
    fn a_long_list_of_devices_is_cut_with_a_count() {
        let devices: Vec<(String, u64)> = (0..30).map(|n| (n.to_string(), 1)).collect();
        assert!(list_devices(&devices).ends_with("and 6 more"));
    }
}
