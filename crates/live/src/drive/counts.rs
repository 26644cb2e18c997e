//! What is counted: by the host since the power came on, and everything over the device's life.

use std::ops::Add;

use serde::Serialize;

/// What hosts asked for, in requests, pages and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostCounts {
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Requests, those for zeros that became trims included.
    pub trims: u64,
    /// Flush requests.
    pub flushes: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
    /// Pages touched by writes: what write amplification is counted by.
    pub pages_written: u64,
}

impl Add for HostCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            trims: self.trims + other.trims,
            flushes: self.flushes + other.flushes,
            bytes_read: self.bytes_read + other.bytes_read,
            bytes_written: self.bytes_written + other.bytes_written,
            pages_written: self.pages_written + other.pages_written,
        }
    }
}
