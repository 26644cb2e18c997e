//! The conformance suite: what every translation layer promises, and the machinery that tries to
//! catch it lying.
//!
//! A [`Case`] says everything that decides a run and is one line of text. [`run_case`] runs it,
//! twice, with every promise watched; a [`Failure`] names the promise, the place and the line that
//! finds it again. [`torture::campaign`] multiplies schemes by settings, devices and workloads,
//! [`torture`] draws trials without end; [`canary`] is a scheme that breaks promises when told to,
//! which tests the suite itself.
//!
//! Invariant: no clock, thread, file or unseeded randomness (but for the canary that is told to use
//! some); a case's outcome depends on its replay line alone.
pub mod canary;
pub mod case;
pub mod drivers;
pub mod inject;
mod oracle;
mod report;
mod shared;
mod stamp;
pub mod torture;

pub use case::cut::Cut;
pub use case::device_spec::DeviceSpec;
pub use case::fault::InjectedFault;
pub use case::operation::{Extent, Operation, Space};
pub use case::schedule::FaultSchedule;
pub use case::swarm::Swarm;
pub use case::test_case::{Case, Prefill, REPLAY};
pub use case::workload::{Pattern, Workload};
pub use drivers::explorer::{Effort, explore, explore_within};
pub use drivers::faults::run_with_faults;
pub use drivers::faults::{FaultRun, FaultRunReport};
pub use drivers::geometries;
pub use drivers::idle::{Idled, offer_idle_time};
pub use drivers::power_cuts;
pub use drivers::session::{create, recover};
pub use drivers::suite::{explain, run_case, run_with};
pub use inject::cut_sampler::CutSampler;
pub use oracle::crash_oracle::CrashOracle;
pub use oracle::exact::{ExactOracle, Mismatch, Nature, Oracle};
pub use report::coverage::StateCoverage;
pub use report::explanation::Explanation;
pub use report::failure::{Failure, FailurePoint, Fault, Promise};
pub use report::recorder::Outcome;
pub use stamp::{Stamp, page_of, stamp};
pub use torture::shrink::{shrink, smallest, smallest_while};
