//! One request of a workload, as every reader yields it and every generator makes it.
//!
//! A record is what the host asked of one block device: bytes, not pages. It knows nothing of
//! flash; splitting it into pages is the simulator's business, because the page size belongs to the
//! simulated device.

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum HostOp {
    /// Reads bytes.
    Read = 0,
    /// Writes bytes.
    Write = 1,
    /// Discard bytes (TRIM, UNMAP, DISCARD).
    Trim = 2,
    /// Make all earlier writes durable; offset and length are 0.
    Flush = 3,
}

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

/// What the host says of the data of a request; translation layers may use it. Each number is 0
/// where nothing is said.
///
/// Aligned, so that it is copied as one word: a copy in pieces of other sizes than it was written
/// in makes the processor wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(align(4))]
pub struct Hint {
    /// Which data belong together, because they are written and discarded together.
    pub stream: u8,
    /// How hot the data are: 1 the coldest, higher is hotter.
    pub temperature: u8,
    /// What type of file they belong to, by a number of the host's.
    pub file_type: u8,
}

impl Hint {
    /// Nothing is said.
    pub const NONE: Self = Self::of_stream(0);

    /// A stream, and nothing else.
    pub const fn of_stream(stream: u8) -> Self {
        Self { stream, temperature: 0, file_type: 0 }
    }
}

impl Record {
    /// One past the last byte. Readers refuse records for which this overflows.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
}
