//! Simulation: a study goes in, results come out.
//!
//! ```text
//! study (text) ── experiment (checked) ──┬── run: host → drive → flash, priced ──┐
//!                  workload, surveyed    ├── run …                               ├── results
//!                  device, resolved      └── run …                               ┘
//! ```
//!
//! Invariant: a result depends on its study alone. The wall clock is read only to say how long a
//! run took, threads only carry whole runs, and every source of randomness has a seed derived from
//! the study's by name.

mod compare;
mod control;
mod error;
mod host;
mod latencies;
mod memory;
mod observe;
pub mod paging;
mod result;
mod setup;
mod table;
mod timing;
pub mod workload;

pub use compare::{check_study, run_study, run_study_logged};
pub use control::{Control, Progress};
pub use error::{Fault, FtlBug, SimError, Stage};
pub use latencies::{Latencies, PageTimes, PslcTimes};
pub use observe::metrics::{
    Latency, buffer_hit_ratio, mapping_hit_ratio, page_write_amplification, write_amplification,
};
pub use observe::timeline::Window;
pub use observe::wear::erases;
pub use result::{
    BitErrorFacts, ClassLatency, Classes, CoarseTicks, DeviceFacts, EndOfLife, Endurance, Erases, FlashTraceFacts,
    FootprintFacts, Lifetime, LoadFacts, Merges, Misalignment, MountFacts, OperationCount, PreconditionChosen,
    PreconditionFacts, ReadAs, ReadLife, RepeatedRequests, RequestCounts, Responses, Results, RunResult, Series,
    SpareFacts, SpreadTicks, StoredPages, StreamFacts, StructureFacts, TimelineFacts, TraceDevice, TracedNote,
    TracedOperations, TracedRequests, Utilisation, WearMap, WorkloadFacts, schema,
};
pub use setup::device::{ClocklessDevice, Device, SimulatedDevice};
pub use setup::device_keys::pslc_setting;
pub use setup::presets::{DEFAULT_PRESET, Preset, preset, presets};
pub use setup::slice::device_bytes;
pub use setup::study::{self, Study, parse_json, parse_toml};
pub use table::aligned;
pub use timing::abilities::Abilities;
pub use timing::engine::{EventTiming, Model};
pub use timing::front_end::FrontEnd;
pub use timing::scheduling::{Class, SchedulingPolicy, Suspend, Suspension};
pub use timing::superblocks::{Superblock, Superblocks};
pub use timing::units::{Programming, Units};
