//! What a host asks of a block device, and what it says of the data that it writes.
//!
//! Traces have it, translation layers serve it, and a live device gets it over the wire. This crate
//! knows no bytes, pages or times: each of those has its own.

mod hint;

pub use hint::Hint;

/// What a request does.
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
