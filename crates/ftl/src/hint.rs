//! What the host says of the data that it writes, beside where they go.
//!
//! A hint comes with a request, from a trace's columns or over the wire, and reaches the scheme as it is. What of it lasts is the
//! scheme's choice: one byte of a page's tag ([`Label::hinted`](crate::Label::hinted)), which then travels with every copy, so
//! that collections, merges and recoveries still know it. No hint may change what a page holds: the suite draws them at random.

/// What the host says of the data of a request. Each number is 0 where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hint {
    /// Which data belong together, because they are written and discarded together: multi-stream directives of drives, or
    /// placement handles of FDP.
    pub stream: u8,
    /// How hot the data are: 1 the coldest, higher is hotter.
    pub temperature: u8,
    /// What type of file they belong to, by a number of the host's.
    pub file_type: u8,
}

impl Hint {
    /// Nothing is said.
    pub const NONE: Self = Self { stream: 0, temperature: 0, file_type: 0 };
}
