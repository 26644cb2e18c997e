//! How much of the device a run used.

use schemars::JsonSchema;
use serde::Serialize;

/// Parts of a run in which the mean backlog is told.
pub(crate) const QUARTERS: usize = 4;

/// How much of the device the requests asked, of which reads and writes count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadFacts {
    /// Requests a second that arrive; null for a closed loop, and where all arrive at once.
    pub offered_iops: Option<f64>,
    /// Requests a second for which the busiest die or channel would be held all the time: an upper
    /// bound; null where nothing was held.
    pub bottleneck_iops: Option<f64>,
    /// Busy share of the busiest die or channel, from the first request to the last operation.
    pub utilisation_max: Option<f64>,
    /// Which that is, `die 3` or `channel 0`; with serial pricing `device`.
    pub busiest: Option<String>,
    /// From the last arrival until the last request is done, in nanoseconds; null for a closed
    /// loop.
    pub outlasts_arrivals_ns: Option<u64>,
    /// At an arrival, the time until all that was asked before is done: the mean over each quarter
    /// of the requests, in nanoseconds; null for a closed loop.
    pub backlog_ns: Option<[f64; QUARTERS]>,
    /// Whether the backlog grows: each quarter's mean is above the one before, and the last at
    /// least twice the second.
    pub backlog_grows: bool,
    /// Whether more was asked than the device can do: at least 95 % of the bottleneck's rate is
    /// offered, or the backlog grows and the run outlasts its arrivals by more than 1 % of their
    /// span.
    pub is_overloaded: bool,
}
