//! What bit errors cost a run.

use schemars::JsonSchema;
use serde::Serialize;

/// Reads of flash that were tried again, and blocks that were moved before their content decayed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BitErrorFacts {
    /// Pages read in flash by the number of retries: those that took none first, up to the most
    /// that one took.
    pub reads_by_retries: Vec<u64>,
    /// Retries of a page read; null where none was read.
    pub mean_retries: Option<f64>,
    /// Most retries of a page read.
    pub most_retries: u64,
    /// Page reads with more wrong bits than the last retry corrects. They were counted, and their
    /// data were given all the same.
    pub uncorrectable_reads: u64,
    /// Blocks whose content was moved because it decayed.
    pub refreshed_blocks: u64,
    /// Whether refreshing ended before the workload did, since the device takes no more writes.
    pub is_refreshing_over: bool,
    /// How long a device lives that is only read; null where the host wrote, no block was erased,
    /// or refreshing ended.
    pub read_life: Option<ReadLife>,
}

/// What the host reads until blocks have worn out on the average, if refreshing goes on at the rate
/// that was measured. An upper bound: worn blocks are refreshed sooner.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReadLife {
    /// Bytes of host reads, counted from the begin of the measurement.
    pub read_bytes: u64,
    /// Years of 365 days in which the workload reads them at its own arrivals, before any
    /// speed-up; null where all arrive at once.
    pub years: Option<f64>,
}
