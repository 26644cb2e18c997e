//! The device of a study, how it was prepared, how much of it a run used, and what it costs to
//! mount it afterwards.

use std::collections::BTreeMap;

use flash::Shape;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Latencies;

/// The simulated device.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeviceFacts {
    /// The preset that it started from.
    pub preset: String,
    /// How the study chose it: `default`, `preset` or `keys`.
    pub named_by: &'static str,
    /// What the capacity was taken from, in a clause; null where the study or the preset gives it.
    pub capacity_reason: Option<String>,
    /// Bytes that the host sees of the slice that was simulated in place of the device, whose
    /// `geometry` this is; null where it was the whole.
    pub slice_bytes: Option<u64>,
    /// Counts of channels, dies, planes, blocks and pages, as simulated.
    #[schemars(with = "BTreeMap<String, u32>")]
    pub geometry: Shape,
    /// Data bytes of all pages of the whole device.
    pub physical_bytes: u64,
    /// Bytes that the host sees of it.
    pub logical_bytes: u64,
    /// Share of physical pages that the host does not see.
    pub spare: f64,
    /// Logical ÷ physical pages (ρ).
    pub utilisation: f64,
    /// Blocks bad from the factory.
    pub bad_blocks: u64,
    /// What operations take, in nanoseconds. A read or a program has a list where it depends on the
    /// type of page. `cell` is absent for SLC.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub latencies: Latencies,
}

/// How the devices of a study were to be prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PreconditionChosen {
    /// What the study said: `auto`, `none`, `fill`, `steady` or `workload`.
    pub requested: &'static str,
    /// What was done: `none`, `fill`, `steady` or `workload`.
    pub mode: &'static str,
    /// Why, in a sentence with its number; null where the study said the mode itself.
    pub reason: Option<String>,
    /// Logical pages that hold data when measuring begins; null but for `fill` and `steady`.
    pub live_pages: Option<u64>,
    /// Those of them that the workload reads or writes; null but for `fill` and `steady`.
    pub touched_pages: Option<u64>,
}

/// How a device was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PreconditionFacts {
    /// `fill`, `steady` or `workload`.
    pub mode: &'static str,
    /// Host pages written.
    pub pages_written: u64,
    /// Pages programmed ÷ pages written: of the last window of overwrites, of the fill, or of the
    /// workload.
    pub page_write_amplification: f64,
    /// Whether write amplification settled; null but for `steady`.
    pub settled: Option<bool>,
}

/// What it costs to mount a device whose power was cut when nothing was going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MountFacts {
    /// Pages read. Reading a tag costs as much as reading its page.
    pub reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Block erases.
    pub erases: u64,
    /// From the first operation until requests can be served, in nanoseconds of virtual time; null
    /// without a clock.
    pub time_ns: Option<u64>,
}

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
    /// Whether more was asked than the device can do: the run outlasts its arrivals by more than
    /// 1 % of their span, or the part of it in which 20 requests arrive if that is more.
    pub is_overloaded: bool,
}
