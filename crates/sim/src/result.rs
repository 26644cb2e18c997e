//! Results as they leave the simulator: plain data that serialises to the JSON from which every
//! table and figure is made.
//!
//! Times are virtual nanoseconds, except `wall_s` and `measured_wall_s`, the only values that
//! differ between equal runs. What does not exist (the mean response of no request, the hit ratio
//! of a scheme without a mapping cache) is null, never zero.
//!
//! Python's types of the document are made of [`schema`], with the words of these structs
//! (`python/ftlkit/results/document.py`). Where Python reads the fields of a struct by names that
//! it computes, the schema calls the struct a map.

mod bit_errors;
mod device;
mod flash_trace;
mod times;
mod wear;
mod workload;

use std::collections::BTreeMap;

use ftl::{Footprint, RamStructure};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

pub use bit_errors::{BitErrorFacts, ReadLife};
pub(crate) use device::QUARTERS;
pub use device::{DeviceFacts, LoadFacts, MountFacts, PreconditionChosen, PreconditionFacts};
pub use flash_trace::{FlashTraceFacts, StoredPages, TracedNote, TracedOperations, TracedRequests};
pub use times::{ClassLatency, Classes, Responses, TimelineFacts};
pub(crate) use wear::WriteRate;
pub use wear::{EndOfLife, Endurance, Erases, Lifetime, SpareFacts, WearMap};
pub use workload::{CoarseTicks, Misalignment, ReadAs, RepeatedRequests, SpreadTicks, TraceDevice, WorkloadFacts};

/// The JSON schema of [`Results`].
pub fn schema() -> serde_json::Value {
    SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<Results>().to_value()
}

/// The results of a study.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Document")]
pub struct Results {
    /// Version of ftlkit.
    pub ftlkit: &'static str,
    /// The resolved study; run again, it gives these results.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub study: serde_json::Value,
    /// Whether the study was stopped; `runs` then holds those that were finished.
    pub cancelled: bool,
    /// The workload, as it was surveyed.
    pub workload: WorkloadFacts,
    /// How the device was prepared and why; null if the study was stopped before it was known.
    pub precondition_chosen: Option<PreconditionChosen>,
    /// The device; null if the study was stopped before it was known.
    pub device: Option<DeviceFacts>,
    /// The rate of writes at which lives are counted in years; null as the device.
    pub write_rate: Option<WriteRate>,
    /// The runs, in the order of the study.
    pub runs: Vec<RunResult>,
}

/// One run of one translation layer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub struct RunResult {
    /// What the study calls it.
    pub label: String,
    /// The names of its parts: `page`, `fast+owl`.
    pub ftl: String,
    /// The stack with what the study sets, as on the command line.
    pub stack: String,
    /// How the mapping maps.
    pub family: String,
    /// Every parameter with its value; of parts behind the mapping as `part.parameter`.
    pub parameters: BTreeMap<String, String>,
    /// The study's seed.
    pub seed: u64,
    /// What `verify` proved, in words: this run, and one clean power cut after a flush at its end.
    /// Null for a run that was not asked to.
    pub proved: Option<&'static str>,
    /// Hash of every flash operation with its address, cause and completion, in hexadecimal: equal
    /// runs have equal hashes.
    pub event_hash: String,
    /// Requests by kind, of those measured.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub requests: RequestCounts,
    /// Requests at the beginning that were served and not measured.
    pub skipped_requests: u64,
    /// When the last request was done, counted from when the first measured one arrived; null
    /// without a clock, as every time of the run.
    pub simulated_ns: Option<u64>,
    /// Seconds that the simulation took.
    pub wall_s: f64,
    /// Wall-clock time of the measured part, without preparation and verification, in seconds.
    pub measured_wall_s: f64,
    /// Response times by class.
    #[schemars(with = "BTreeMap<String, Responses>")]
    pub response_ns: Classes<Responses>,
    /// Response times of flushes, which are no part of `response_ns`.
    pub flush_ns: Responses,
    /// Distributions by class: (response in nanoseconds, share of requests at or below it), at most
    /// 300 points.
    #[schemars(with = "BTreeMap<String, Vec<(u64, f64)>>")]
    pub cdf: Classes<Vec<(u64, f64)>>,
    /// Latency of flash operations by class; null where the study did not ask for it
    /// (`run.classes`).
    pub classes: Option<Vec<ClassLatency>>,
    /// Flash operations of a window; null where the study did not ask for one (`run.timeline`).
    pub timeline: Option<TimelineFacts>,
    /// The requests of a window with each flash operation and its page; null where the study did
    /// not ask for one (`run.flash_trace`).
    pub flash_trace: Option<FlashTraceFacts>,
    /// Reads and writes per second of virtual time.
    pub iops: Option<f64>,
    /// Bytes read and written per second of virtual time.
    pub throughput_bytes_per_s: Option<f64>,
    /// Pages that host reads touch.
    pub host_pages_read: u64,
    /// Pages that host writes touch.
    pub host_pages_written: u64,
    /// Bytes of host writes.
    pub host_written_bytes: u64,
    /// Bytes of erased blocks, all bits of their cells in use.
    pub media_erased_bytes: u64,
    /// Share of page reads (of the host, and of the rest of pages that it writes in part) whose
    /// page held no data, never written or trimmed, so that none was read in flash; null without
    /// page reads.
    pub reads_without_flash: Option<f64>,
    /// Bytes programmed ÷ bytes that the host wrote, as SMART counts.
    pub write_amplification: Option<f64>,
    /// Pages programmed ÷ pages that host writes touch, as theory and papers count.
    pub page_write_amplification: Option<f64>,
    /// What was done for each stream of the host, or each class of a classifier, by number; streams
    /// of collected pages follow. Null where nothing is kept apart.
    pub streams: Option<Vec<StreamFacts>>,
    /// Flash operations by cause and kind; those that occur.
    pub operations: Vec<OperationCount>,
    /// Time of requests on the controller's RAM and registers, summed; part of responses, but no
    /// flash operation. Null without a clock.
    pub controller_ns: Option<u64>,
    /// Events inside the scheme, by name; all of them.
    pub notes: BTreeMap<&'static str, u64>,
    /// Hits ÷ look-ups of the mapping cache.
    pub mapping_hit_ratio: Option<f64>,
    /// Pages written that replaced a version that waited in the write buffer ÷ pages that came into
    /// it.
    pub buffer_hit_ratio: Option<f64>,
    /// Merges by kind.
    pub merges: Merges,
    /// Erases during measurement of blocks that were good when the device was new.
    pub erases: Erases,
    /// Where on the device they were.
    pub wear_map: WearMap,
    /// How far the device is from being read-only.
    pub spares: SpareFacts,
    /// What bit errors cost; null on a device without any (`device.bit_errors`).
    pub bit_errors: Option<BitErrorFacts>,
    /// Where the run ended because the device had worn out; null for one that lasted.
    pub end_of_life: Option<EndOfLife>,
    /// How long the device lives.
    pub endurance: Endurance,
    /// Memory of the mapping.
    pub footprint: FootprintFacts,
    /// Shares of the time for which dies and channels were busy.
    #[schemars(with = "BTreeMap<String, Option<f64>>")]
    pub utilisation: Utilisation,
    /// What was asked, and what the device can bear; null without a clock.
    pub load: Option<LoadFacts>,
    /// What a read or write waited for: mean nanoseconds a request, by the cause of the operations
    /// that held its die or channel; causes of nothing are left out. Null where the study did not
    /// ask (`run.waiting`).
    pub waiting_ns: Option<BTreeMap<&'static str, f64>>,
    /// What of `waiting_ns` was waiting for a channel's bus; the rest was waiting for dies.
    pub bus_waiting_ns: Option<BTreeMap<&'static str, f64>>,
    /// What a read or write took in its own operations: mean nanoseconds a request, by cause;
    /// `controller` is the time at the controller and between operations, `link` that on the host
    /// link, waiting for it included. With `waiting_ns` it adds up to the mean response.
    pub service_ns: Option<BTreeMap<&'static str, f64>>,
    /// The scheme's gauges at the end.
    pub gauges: BTreeMap<&'static str, f64>,
    /// The run over time.
    pub series: Series,
    /// How the device was prepared; null if it was not.
    pub precondition: Option<PreconditionFacts>,
    /// What mounting the device afterwards cost; null if it was not verified, or has become
    /// read-only.
    pub mount: Option<MountFacts>,
}

/// Requests by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RequestCounts {
    /// Read requests.
    pub read: u64,
    /// Write requests.
    pub write: u64,
    /// Trim requests.
    pub trim: u64,
    /// Flush requests.
    pub flush: u64,
}

impl From<[u64; 4]> for RequestCounts {
    fn from([read, write, trim, flush]: [u64; 4]) -> Self {
        Self { read, write, trim, flush }
    }
}

/// What was done for the pages that the host wrote to one stream: one of its hints (a reclaim unit
/// handle of FDP), or a class of a classifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StreamFacts {
    /// Whether its blocks take collected pages alone.
    pub is_collected: bool,
    /// Pages that the host wrote to it.
    pub host_pages: u64,
    /// Moves of pages that the host had last written to it, by the stream of the host's write that
    /// needed the room.
    pub moved_for: Vec<u64>,
    /// Erased blocks of its own; collected pages may lie in those of another.
    pub erased_blocks: u64,
}

/// Operations of one kind done for one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperationCount {
    /// The name of the cause.
    pub cause: &'static str,
    /// `read`, `program` or `erase`.
    pub op: &'static str,
    /// How many operations.
    pub count: u64,
    /// Their service times, summed, in nanoseconds; null without a clock.
    pub time_ns: Option<u64>,
}

/// Merges by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Merges {
    /// A log block became a data block as it was.
    pub switch: u64,
    /// A log block was completed with copies.
    pub partial: u64,
    /// A logical block was gathered into a fresh block.
    pub full: u64,
}

/// Memory of a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FootprintFacts {
    /// RAM over all structures.
    pub ram_bytes: u64,
    /// Flash over all structures.
    pub flash_bytes: u64,
    /// Each table or buffer, with its size.
    pub structures: Vec<StructureFacts>,
}

/// One table or buffer of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StructureFacts {
    /// For example `page map`, `GTD`.
    pub name: &'static str,
    /// Size in the controller's RAM, in bytes.
    pub ram_bytes: u64,
    /// Size on flash, in bytes.
    pub flash_bytes: u64,
}

impl From<RamStructure> for StructureFacts {
    fn from(structure: RamStructure) -> Self {
        Self { name: structure.name, ram_bytes: structure.ram_bytes, flash_bytes: structure.flash_bytes }
    }
}

impl From<Footprint> for FootprintFacts {
    fn from(footprint: Footprint) -> Self {
        Self {
            ram_bytes: footprint.ram_bytes(),
            flash_bytes: footprint.flash_bytes(),
            structures: footprint.structures.into_iter().map(StructureFacts::from).collect(),
        }
    }
}

/// Mean busy shares, null without a clock, from the first request (also of those that were not
/// measured) to the last operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Utilisation {
    /// Of dies; with serial pricing of the one resource.
    pub dies: Option<f64>,
    /// Of channels; null with serial pricing.
    pub channels: Option<f64>,
    /// Of the host link, the way that was busier; null where data move at once.
    pub link: Option<f64>,
    /// Of the controller's cores; null where there is one for every command.
    pub controller: Option<f64>,
}

/// The run over time; one element a point, each about the interval that the point ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// Requests done so far.
    pub request: Vec<u64>,
    /// Completion of the last of them; null without a clock.
    pub time_ns: Vec<Option<u64>>,
    /// Mean response of the interval's reads and writes.
    pub mean_response_ns: Vec<Option<f64>>,
    /// Write amplification of the interval.
    pub write_amplification: Vec<Option<f64>>,
    /// Share of the interval's programmed pages that moved data: collections, merges and the like.
    pub moved_share: Vec<Option<f64>>,
    /// Erases of all blocks so far.
    pub erases: Vec<u64>,
    /// Standard deviation over blocks of the erases so far.
    pub erases_std: Vec<f64>,
    /// Erases so far of the block that has most.
    pub erases_max: Vec<u32>,
    /// Bytes that the host wrote so far.
    pub host_written_bytes: Vec<u64>,
    /// Hit ratio of the mapping cache in the interval.
    pub mapping_hit_ratio: Vec<Option<f64>>,
    /// Hit ratio of the write buffer in the interval.
    pub buffer_hit_ratio: Vec<Option<f64>>,
    /// The scheme's gauges at the point.
    pub gauges: BTreeMap<&'static str, Vec<f64>>,
}

impl Series {
    /// That of a run without a clock.
    pub(crate) fn without_times(mut self) -> Self {
        self.time_ns.fill(None);
        self
    }
}
