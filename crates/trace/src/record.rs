//! One request of a workload, as every reader yields it and every generator makes it.
//!
//! A record is what the host asked of one block device: bytes, not pages. It knows nothing of flash; splitting it into
//! pages is the simulator's business, because the page size belongs to the simulated device.

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Op {
    /// Read bytes.
    Read = 0,
    /// Write bytes.
    Write = 1,
    /// Discard bytes (TRIM, UNMAP, DISCARD).
    Trim = 2,
    /// Make all earlier writes durable; offset and length are 0.
    Flush = 3,
}

/// One request. `length` may be 0 only for [`Op::Flush`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Arrival, nanoseconds since the first request of the trace.
    pub time_ns: u64,
    /// What it does.
    pub op: Op,
    /// First byte on its device.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Device (volume, LUN, disk) within the trace: an index into the reader's table of device names, 0 for traces of one device.
    pub device: u32,
    /// Temperature or stream hint where the source has one (used by schemes that take hints), else 0.
    pub stream: u8,
}

impl Record {
    /// One past the last byte. Readers refuse records for which this overflows.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
}
