//! Simulation: a study goes in, results come out.
//!
//! ```text
//! study (text) ── experiment (checked) ──┬── run: host → translation layer → flash, priced ──┐
//!                  workload, surveyed    ├── run …                                           ├── results
//!                  device, resolved      └── run …                                           ┘
//! ```
//!
//! Invariant: a result depends on its study alone. The wall clock is read only to say how long a run took, threads only carry
//! whole runs, and every source of randomness has a seed derived from the study's by name.

mod ahead;
mod channel;
mod classes;
mod compare;
mod control;
mod device;
mod early;
mod error;
mod experiment;
mod foretelling;
mod gaps;
mod held;
mod host;
mod latencies;
mod load;
mod log;
mod memory;
mod metrics;
mod mount;
mod paging;
mod planner;
mod precondition;
mod preset;
mod pricing;
mod result;
mod run;
pub mod span;
pub mod study;
mod survey;
mod timeline;
mod waiting;
mod watch;
mod wear;
mod workload;

pub use compare::{check_study, run_study, run_study_logged};
pub use control::{Control, Progress};
pub use device::Device;
pub use error::{Fault, FtlBug, SimError, Stage};
pub use latencies::Latencies;
pub use metrics::{Latency, buffer_hit_ratio, mapping_hit_ratio, page_write_amplification, write_amplification};
pub use planner::{Abilities, Suspend};
pub use preset::{DEFAULT_PRESET, PRESETS, Preset};
pub use pricing::{Model, Pricing};
pub use result::{
    ClassLatency, Classes, DeviceFacts, EndOfLife, Endurance, Erases, FootprintFacts, Lifetime, LoadFacts, Merges,
    MountFacts, OperationCount, PreconditionChosen, PreconditionFacts, ReadAs, RequestCounts, Responses, Results,
    RunResult, Series, SpareFacts, TimelineFacts, Utilisation, WearMap, WorkloadFacts,
};
pub use study::{Study, parse_json, parse_toml};
pub use timeline::Window;
pub use wear::erases;
