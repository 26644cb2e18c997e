//! Response times, and times of single flash operations.

use schemars::JsonSchema;
use serde::Serialize;

/// Something for reads and writes together, for reads, and for writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Classes<T> {
    /// Reads and writes.
    pub all: T,
    /// Of reads.
    pub read: T,
    /// Of writes.
    pub write: T,
}

impl<T> Classes<T> {
    /// The same classes of something else.
    pub(crate) fn map<U>(&self, mut each: impl FnMut(&T) -> U) -> Classes<U> {
        Classes { all: each(&self.all), read: each(&self.read), write: each(&self.write) }
    }
}

/// Response times of one class in nanoseconds; null where it has no request. Percentiles have three
/// significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Responses {
    /// The exact mean, in nanoseconds.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p99_9: Option<u64>,
    /// 99.99th percentile.
    pub p99_99: Option<u64>,
    /// Maximum, exact.
    pub max: Option<u64>,
    /// How many requests.
    pub count: u64,
}

/// Waiting and service times of the flash operations of one class, in nanoseconds. Together they
/// make up the time from when an operation is ready until it is done.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClassLatency {
    /// `host_read`, `host_write`, `mapping_read`, `mapping_write`, `collection` or `other`.
    pub name: &'static str,
    /// For the die and for the channel.
    pub waiting_ns: Responses,
    /// What the operations take on an idle device.
    pub service_ns: Responses,
    /// Distribution: (waiting in nanoseconds, share of operations at or below it), at most 300
    /// points.
    pub waiting_cdf: Vec<(u64, f64)>,
    /// Distribution of the service.
    pub service_cdf: Vec<(u64, f64)>,
}

/// The flash operations that are ready before a window of virtual time ends and done after it
/// begins, in order of their start; one element an operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TimelineFacts {
    /// Begin of the window.
    pub from_ns: u64,
    /// Its end: everything that is ready before it is here.
    pub to_ns: u64,
    /// The end that was asked for; later than `to_ns` where the window held too many operations.
    pub requested_to_ns: u64,
    /// The die that was held; 0 with serial pricing, which has one resource.
    pub die: Vec<u32>,
    /// `read`, `program` or `erase`.
    pub op: Vec<&'static str>,
    /// The cause of each operation.
    pub cause: Vec<&'static str>,
    /// When the operation could have begun.
    pub ready_ns: Vec<u64>,
    /// From when on the die was held.
    pub start_ns: Vec<u64>,
    /// From when on the channel moved the page; null for an erase, and with serial pricing.
    pub transfer_ns: Vec<Option<u64>>,
    /// When the die was free again.
    pub end_ns: Vec<u64>,
    /// What the operation takes on an idle device; null for the part of one that went on later.
    pub service_ns: Vec<Option<u64>>,
}
