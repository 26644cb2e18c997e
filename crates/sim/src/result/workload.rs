//! What the workload of a study asks.

use schemars::JsonSchema;
use serde::Serialize;

/// What a workload asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WorkloadFacts {
    /// File name, preset or `generated`.
    pub name: String,
    /// Trace format, or `generated`.
    pub format: String,
    /// How a trace file was read; null for a generated workload.
    pub read_as: Option<ReadAs>,
    /// What was done to it, in sentences: records left out, addresses changed, arrivals scaled …
    pub facts: Vec<String>,
    /// Requests that were measured.
    pub requests: u64,
    /// Bytes of reads and writes.
    pub bytes: u64,
    /// Bytes of writes.
    pub bytes_written: u64,
    /// Pages that reads touch.
    pub pages_read: u64,
    /// Pages that writes touch.
    pub pages_written: u64,
    /// Pages that trims cover whole.
    pub pages_trimmed: u64,
    /// Arrival of the last request, after speed-up.
    pub duration_ns: u64,
    /// One past the highest byte touched.
    pub span_bytes: u64,
    /// The offset that would put many more requests of a trace on whole pages; null if none would.
    pub misalignment: Option<Misalignment>,
    /// Rows of a trace that repeat a request which has just arrived; null if they are few.
    pub repeated: Option<RepeatedRequests>,
    /// The steps of a trace's times, where they are coarse and many requests share one, or all do;
    /// else null.
    pub ticks: Option<CoarseTicks>,
}

/// Requests that are off the device's page grid, and the offset that puts most of them on it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Misalignment {
    /// Share of requests that start and end on the grid.
    pub aligned: f64,
    /// What `align_offset` would have to be.
    pub align_offset_bytes: u64,
    /// Share of requests that would then.
    pub aligned_with_offset: f64,
}

/// Requests with the operation, address and length of one that has just arrived, as of a trace that
/// has a row for each event of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RepeatedRequests {
    /// How many there are.
    pub requests: u64,
    /// How long ago the other arrived at most.
    pub within_ns: u64,
}

/// Times of a trace in coarse steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CoarseTicks {
    /// The largest power of ten, at most a second, from one to another of 95 % of the times; null
    /// where all requests have one time.
    pub tick_ns: Option<u64>,
    /// Requests of the trace that have the time of the one before.
    pub shared: u64,
    /// Requests of the whole trace, of which more or fewer may be served.
    pub requests: u64,
    /// Whether times are those of completions, so that arrivals are known to a step only.
    pub stamps_completions: bool,
    /// Responses with requests spread inside the steps; null where it was not tried.
    pub compared: Option<SpreadTicks>,
}

/// Responses as the trace was recorded, and with the requests of a time spread evenly over a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpreadTicks {
    /// Label of the run.
    pub label: String,
    /// Requests that were served both ways: the first of the trace.
    pub requests: u64,
    /// Mean response as recorded.
    pub recorded_mean_ns: u64,
    /// Mean response of the spread requests.
    pub spread_mean_ns: u64,
}

/// How a trace file was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReadAs {
    /// The format's name; `columns` where the user named the columns.
    pub format: &'static str,
    /// What a line holds.
    pub columns: String,
    /// Whether the format was guessed from the content; false where the user named it.
    pub is_guessed: bool,
    /// The unit in which the trace's times were read.
    pub time_unit: &'static str,
    /// From its first request to its last, before speed-up.
    pub duration_ns: u64,
    /// One past the highest byte of the address space, all devices chosen laid out.
    pub end_byte: u64,
    /// Its devices, in order of first appearance.
    pub devices: Vec<TraceDevice>,
}

/// A device of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TraceDevice {
    /// The name in the trace.
    pub name: String,
    /// Requests to this device.
    pub requests: u64,
    /// Lowest byte touched.
    pub lowest_byte: u64,
    /// One past the highest byte touched.
    pub end_byte: u64,
    /// Its place in the address space: what is added to its addresses; null if it is left out.
    pub base_byte: Option<u64>,
}

impl From<&trace::DeviceFacts> for TraceDevice {
    fn from(device: &trace::DeviceFacts) -> Self {
        Self {
            name: device.name.clone(),
            requests: device.requests,
            lowest_byte: device.lowest_byte,
            end_byte: device.end_byte,
            base_byte: device.base_byte,
        }
    }
}
