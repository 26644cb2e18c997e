//! What the host says of the data that it writes, beside where they go.
//!
//! A hint comes with a request, from a trace's columns or over the wire, and reaches the mapping as
//! it is. What of it lasts is the mapping's choice: one byte of a page's tag (`Content::Hinted` in
//! ftl), which then travels with every copy, so that collections, merges and recoveries still know
//! it. No hint may change what a page holds: the suite draws them at random.

use std::fmt;

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
