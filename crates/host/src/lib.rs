//! What a host asks of a block device, and what it says of the data that it writes.
//!
//! Traces have it, translation layers serve it, and a live device gets it over the wire. This crate
//! knows no bytes, pages or times: each of those has its own.
//!
//! **Hints.** A hint comes with a request, from a trace's columns or over the wire, and reaches the
//! mapping as it is. What of it lasts is the mapping's choice: one byte of a page's tag
//! (`Content::Hinted` in ftl), which then travels with every copy, so that collections, merges and
//! recoveries still know it. No hint may change what a page holds: the suite draws them at random.
//!
//! **File events.** A drive sees pages come and go; the file system above it knows why.
//! An event says what became of the file whose data lie in certain pages, and the hint that comes
//! with it holds from then on. It asks for nothing: no content may change for it, and whoever wants
//! pages forgotten trims them.

use std::fmt;

/// What a request does.
///
/// The compiler names every `match` that another operation needs. It does not name these places:
/// `add_calls` (`crates/sim/src/workload/stream.rs`), which takes all but reads for changes; the
/// sums of `crates/trace/src/statistics/tally.rs`; `REQUESTS` in `python/ftlkit/report/packing.py`
/// and `REQUEST_VERBS` in the player's `words.js`; the names in messages of `crates/trace/src/read`
/// and in `docs/trace-formats.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum HostOp {
    /// Reads data.
    Read = 0,
    /// Writes data.
    Write = 1,
    /// Discards data (TRIM, UNMAP, DISCARD).
    Trim = 2,
    /// Makes all earlier writes durable; it has no place and no length.
    Flush = 3,
}

impl HostOp {
    /// Every operation, each at the place of its number.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Trim, Self::Flush];

    /// The name in traces, results and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
        }
    }

    /// The operation of a name.
    #[inline]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name().as_bytes() == name)
    }
}

/// What the host says of the data of a request. Each part is 0 where nothing is said.
///
/// All of it is one number, as it goes with every page from the request to the opening of a block:
/// three bytes that are written one by one and then copied at once make the processor wait each
/// time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Hint(u32);

impl Hint {
    /// Nothing is said.
    pub const NONE: Self = Self(0);

    /// What is said, part by part.
    #[inline]
    pub const fn new(stream: u8, temperature: u8, file_type: u8) -> Self {
        Self(u32::from_le_bytes([stream, temperature, file_type, 0]))
    }

    /// A stream, and nothing else.
    #[inline]
    pub const fn of_stream(stream: u8) -> Self {
        Self::new(stream, 0, 0)
    }

    /// Which data belong together, because they are written and discarded together: multi-stream
    /// directives of drives, or placement handles of FDP.
    #[inline]
    pub const fn stream(self) -> u8 {
        self.0.to_le_bytes()[0]
    }

    /// How hot the data are: 1 the coldest, higher is hotter.
    #[inline]
    pub const fn temperature(self) -> u8 {
        self.0.to_le_bytes()[1]
    }

    /// What type of file they belong to, by a number of the host's.
    #[inline]
    pub const fn file_type(self) -> u8 {
        self.0.to_le_bytes()[2]
    }
}

impl fmt::Debug for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hint")
            .field("stream", &self.stream())
            .field("temperature", &self.temperature())
            .field("file_type", &self.file_type())
            .finish()
    }
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileEvent {
    /// The file was created.
    Created,
    /// It has another name, and perhaps another type.
    Renamed,
    /// The file was deleted.
    Deleted,
    /// Its type has the temperature that comes with it from now on, wherever data of the type lie.
    Rated,
}

impl FileEvent {
    /// Every kind of file event.
    pub const ALL: [Self; 4] = [Self::Created, Self::Renamed, Self::Deleted, Self::Rated];
}
