//! One request of a workload, as every reader yields it and every generator makes it.
//!
//! A record is what the host asked of one block device: bytes, not pages. It knows nothing of
//! flash; splitting it into pages is the simulator's business, because the page size belongs to the
//! simulated device.

use host::{Hint, HostOp};

/// One request. `length` may be 0 only for [`HostOp::Flush`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Arrival, nanoseconds since the first request of the trace.
    pub time_ns: u64,
    /// What the host asks for.
    pub op: HostOp,
    /// First byte on its device.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
    /// Device (volume, LUN, disk) within the trace: an index into the reader's table of device
    /// names, 0 for traces of one device.
    pub device: u32,
    /// What the host says of the data, where the source tells.
    pub hint: Hint,
}

impl Record {
    /// One past the last byte. Readers refuse records for which this overflows.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
}
