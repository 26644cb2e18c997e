//! The conformance suite: what every translation layer promises, and the machinery that tries to catch it lying.
//!
//! A [`Case`] says everything that decides a run and is one line of text. [`run_case`] runs it, twice, with every promise
//! watched; a [`Failure`] names the promise, the place and the line that finds it again. [`campaign`] multiplies schemes by
//! settings, devices and workloads, [`torture`] draws trials without end; [`canary`] is a scheme that breaks promises when told to, which tests the suite itself.
//!
//! Invariant: no clock, thread, file or unseeded randomness (but for the canary that is told to use some); a case's outcome
//! depends on its replay line alone.

mod allowed;
mod books;
pub mod campaign;
pub mod canary;
mod case;
mod checked_device;
mod cut;
mod device;
mod dice;
mod driver;
mod explorer;
pub mod failing_flash;
mod failure;
mod faults;
mod frail;
pub mod geometries;
mod host;
mod idle;
mod mishaps;
mod operation;
mod oracle;
mod ordeal;
mod outcome;
pub mod power_cuts;
mod recorder;
mod session;
mod shrink;
mod sieve;
mod states;
mod strike;
mod suite;
mod swarm;
pub mod torture;
pub mod variants;
mod workload;

pub use case::{Case, Prefill, REPLAY};
pub use checked_device::{CheckedDevice, CheckedFlash, FixedTimes};
pub use cut::Cut;
pub use device::DeviceSpec;
pub use explorer::{Effort, Explored, explore, explore_within};
pub use failure::{Failure, Fault, Place, Promise};
pub use faults::endure;
pub use host::CheckedFtl;
pub use idle::{Idled, offer_idle_time};
pub use mishaps::Mishaps;
pub use operation::{Extent, Operation, Space};
pub use oracle::{Mismatch, Nature, Oracle, Stamp};
pub use ordeal::{Endured, Ordeal};
pub use outcome::Outcome;
pub use session::{create, recover};
pub use shrink::{shrink, smallest};
pub use states::States;
pub use strike::Strike;
pub use suite::{run_case, run_with};
pub use swarm::Swarm;
pub use workload::{Pattern, Workload};
