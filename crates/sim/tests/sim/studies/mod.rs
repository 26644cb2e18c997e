//! Studies from text to results, as a user runs them.

mod abilities;
mod backlog;
mod bit_errors;
mod clockless;
mod endurance;
mod idle;
mod in_use;
mod levellers;
mod lookups;
mod manual;
mod memory;
mod mount;
mod paced;
mod partition;
mod program_buffer;
mod program_order;
mod pslc;
mod queueing;
mod refusals;
mod runs;
mod scale;
mod shared_ram;
mod steady;
mod streams;
mod superblocks;
mod traces;
mod units;
mod unwritten;
mod waiting;
mod watched;
mod wear;

use sim::study::Capacity;
use sim::{Control, LoadFacts, Results, RunResult, SimError, Study, run_study};

/// A study from its text; its numbers are those of `slc-small` where it names no device.
pub(crate) fn parse_toml(text: &str, path: &str) -> Result<Study, SimError> {
    let mut study = sim::parse_toml(text, path)?;
    let device = &mut study.device;
    if device.preset.is_none() {
        device.preset = Some("slc-small".into());
        device.capacity = device.capacity.or_else(|| device.blocks_per_plane.is_none().then_some(Capacity::Auto));
    }
    Ok(study)
}

/// Results of a study, on the default device where it names none.
fn unnamed(text: &str) -> Results {
    let study = sim::parse_toml(text, "").unwrap_or_else(|error| panic!("{error}"));
    run_study(&study, &Control::new()).unwrap_or_else(|error| panic!("{error}"))
}

/// A study from its text.
fn study(text: &str) -> Study {
    parse_toml(text, "").unwrap_or_else(|error| panic!("{error}"))
}

/// The results of a study that runs.
pub(crate) fn results(text: &str) -> Results {
    run_study(&study(text), &Control::new()).unwrap_or_else(|error| panic!("{error}"))
}

/// The error of a study that does not.
fn error(text: &str) -> SimError {
    match parse_toml(text, "").and_then(|study| run_study(&study, &Control::new())) {
        Ok(_) => panic!("expected an error, but the study ran:\n{text}"),
        Err(error) => error,
    }
}

/// Operations of one kind for one cause.
fn operations(run: &RunResult, cause: &str, op: &str) -> u64 {
    run.operations
        .iter()
        .filter(|operation| operation.cause == cause && operation.op == op)
        .map(|operation| operation.count)
        .sum()
}

/// The simulated time of a run with a clock.
pub(crate) fn simulated_ns(run: &RunResult) -> u64 {
    run.simulated_ns.expect("it has a clock")
}

/// The load of a run with a clock.
pub(crate) fn load(run: &RunResult) -> &LoadFacts {
    run.load.as_ref().expect("it has a clock")
}
