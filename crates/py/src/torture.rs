//! Torture for a time, and cases run again.

use std::cell::Cell;
use std::time::Duration;

use check::torture::{LeftOut, Options, SchemeReport, Torture};
use check::{Case, DeviceSpec, explain, run_case, smallest_while};
use ftlkit::scaled_device::scaled_down;
use ftlkit::trials::{self, Limits};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use sim::study::{DeviceText, FtlText};

use crate::control::{Campaign, Control, Line};
use crate::error::{Failure, json, parse};
use crate::threads::with_python_state;

/// The request.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct TortureOptions {
    /// Stacks, as `[[ftl]]` tables, with the settings that they keep; empty for all.
    ftl: Vec<FtlText>,
    /// Devices; empty for random ones, if there is no other.
    geometry: Vec<String>,
    /// A device to be scaled down, as a `[device]` table.
    device: Option<DeviceText>,
    seed: u64,
    seconds: f64,
    swarm: bool,
}

/// What came of it.
#[derive(Serialize)]
struct Report<'a> {
    ftlkit: &'static str,
    options: &'a TortureOptions,
    threads: usize,
    elapsed_s: f64,
    cancelled: bool,
    /// Devices; empty for random ones.
    devices: &'a [String],
    /// Mappings that accept none of them.
    left_out: &'a [LeftOut],
    schemes: &'a [SchemeReport],
}

/// What came of a case that was run again.
#[derive(Serialize)]
struct Replayed {
    passes: bool,
    /// What was broken, where and how; null for a case that passes.
    message: Option<String>,
    /// The case that was run last: the one given, or a smaller one.
    replay: String,
    flash_operations: Option<u64>,
    /// What befell the flash, what it holds and what was done last, if that was asked for.
    explanation: Option<String>,
}

/// Flash operations that a trial may take where Python is called: some seconds at ten to fifty
/// microseconds for each.
const OPERATIONS_OF_PYTHON: u64 = 100_000;

/// Longest torture: a year.
const MOST_SECONDS: f64 = 366.0 * 86_400.0;

/// Tries schemes in every way for a time, as `options_json` asks, and returns what was tried and
/// found (JSON). `threads` is the number of trials at once; none: one per core.
#[pyfunction]
#[pyo3(signature = (options_json, control, threads = None))]
fn torture(py: Python<'_>, options_json: &str, control: &Control, threads: Option<usize>) -> PyResult<String> {
    let campaign = control.campaign();
    let work = || -> Result<String, Failure> {
        let wanted: TortureOptions = parse("the torture", options_json)?;
        if !(wanted.seconds > 0.0 && wanted.seconds <= MOST_SECONDS) {
            return Err(Failure::User(format!(
                "minutes = {}: must be above 0 and at most a year; 5 is a good start",
                wanted.seconds / 60.0
            )));
        }
        let asked = options(&wanted)?;
        let devices: Vec<_> = asked.devices.iter().map(ToString::to_string).collect();
        let torture = Torture::new(asked).map_err(Failure::User)?;
        let left_out = torture.left_out().to_vec();
        let budget = Duration::from_secs_f64(wanted.seconds);
        let report = |schemes: &[SchemeReport], threads: usize, elapsed: Duration, cancelled: bool| {
            let (ftlkit, options, elapsed_s) = (env!("CARGO_PKG_VERSION"), &wanted, elapsed.as_secs_f64());
            let (devices, left_out) = (&devices[..], &left_out[..]);
            json(&Report { ftlkit, options, threads, elapsed_s, cancelled, devices, left_out, schemes })
        };
        let goes_on = |reports: &[SchemeReport], elapsed| {
            campaign.show(lines(reports, elapsed, budget));
            // A trial that hangs must not take the findings of the others with it.
            if let Ok(unfinished) = report(reports, threads.unwrap_or(0), elapsed, true) {
                campaign.keep(unfinished);
            }
            !campaign.is_cancelled()
        };
        let done = trials::run_on(torture, Limits { budget, threads }, |work| with_python_state(work), goes_on);
        report(done.torture.reports(), done.threads, done.elapsed, campaign.is_cancelled())
    };
    Ok(py.detach(work)?)
}

/// Runs the case of a replay line again and returns what came of it (JSON); with `shrink`, a
/// failing case is made as small as it gets, or as small as it was when `control` stopped that;
/// with `explains`, it is explained from the flash.
#[pyfunction]
fn replay(py: Python<'_>, line: &str, shrink: bool, explains: bool, control: &Control) -> PyResult<String> {
    let campaign = control.campaign();
    let work = || -> Result<String, Failure> {
        let case: Case = line.parse().map_err(Failure::User)?;
        let failure = match run_case(&case) {
            Ok(outcome) => {
                return json(&Replayed {
                    passes: true,
                    message: None,
                    replay: case.to_string(),
                    flash_operations: Some(outcome.flash_operations()),
                    explanation: None,
                });
            }
            // The case was never run: it names an unknown scheme, say.
            Err(failure) if failure.promise().is_none() => return Err(Failure::User(failure.fault.to_string())),
            Err(failure) => failure,
        };
        let failure = if shrink { smaller(failure, &campaign) } else { failure };
        let explained = if explains { explain(&failure.case).err() } else { None };
        json(&Replayed::failed(&failure, explained.map(|explained| explained.1.to_string())))
    };
    Ok(py.detach(work)?)
}

impl Replayed {
    fn failed(failure: &check::Failure, explanation: Option<String>) -> Self {
        Self {
            passes: false,
            message: Some(failure.message()),
            replay: failure.case.to_string(),
            flash_operations: None,
            explanation,
        }
    }
}

/// The smallest case of a failure, or the smallest so far when the work is stopped. Shows how many
/// attempts there were, and the requests that are left.
fn smaller(failure: check::Failure, campaign: &Campaign) -> check::Failure {
    let attempts = Cell::new(0);
    smallest_while(failure, |best| {
        attempts.set(attempts.get() + 1);
        let label = format!("attempts, {} requests left", best.case.requests);
        campaign.show(vec![(label, attempts.get(), 0)]);
        if let Ok(so_far) = json(&Replayed::failed(best, None)) {
            campaign.keep(so_far);
        }
        !campaign.is_cancelled()
    })
}

fn options(wanted: &TortureOptions) -> Result<Options, Failure> {
    let devices: Result<Vec<DeviceSpec>, String> = wanted.geometry.iter().map(|text| text.parse()).collect();
    let mut devices = devices.map_err(Failure::User)?;
    if let Some(device) = &wanted.device {
        devices.extend(scaled_down(device, wanted.seed).map_err(Failure::User)?);
    }
    let stacks: Result<Vec<_>, _> = wanted.ftl.iter().map(FtlText::stack).collect();
    Ok(Options {
        stacks: stacks.map_err(|error| Failure::User(error.to_string()))?,
        devices,
        seed: wanted.seed,
        swarm: wanted.swarm,
        // What is registered in a process of Python is written in Python.
        operations: None,
        operations_of_registered: Some(OPERATIONS_OF_PYTHON),
    })
}

/// The time in seconds, then the flash operations of each scheme.
fn lines(reports: &[SchemeReport], elapsed: Duration, budget: Duration) -> Vec<Line> {
    let budget = budget.as_secs().max(1);
    let time = ("seconds".to_owned(), elapsed.as_secs().min(budget), budget);
    let schemes = reports.iter().map(|report| {
        let label = if report.findings.is_empty() { report.scheme.clone() } else { format!("{} fails", report.scheme) };
        (label, report.tried.flash_operations, 0)
    });
    std::iter::once(time).chain(schemes).collect()
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(torture, module)?)?;
    module.add_function(wrap_pyfunction!(replay, module)?)
}
