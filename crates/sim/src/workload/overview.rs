//! A survey of a workload without a simulation: its reading, omissions and changes, statistics.
//!
//! Devices of a trace are not laid out here: each keeps its own addresses, since the question often
//! is which of them to take. What a study of the same table and seed generates is generated here.

use std::collections::BTreeMap;
use std::iter::from_fn;
use std::path::Path;

use serde::Serialize;
use trace::fit::{Fit, fit};
use trace::generate::{self, Generator, GeneratorSpec};
use trace::{DeviceChoice, Record, Rounds, Statistics, Trace, TraceError};

use crate::SimError;
use crate::setup::keys::WorkloadText;

/// Statistics of a workload after one pass over it.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// File name, preset or `generated`.
    pub name: String,
    /// The trace's format, or `generated`.
    pub format: String,
    /// The unit in which its times were read.
    pub time_unit: String,
    /// Requests, of the devices that were asked for.
    pub requests: u64,
    /// Malformed records that were left out.
    pub skipped: u64,
    /// Rows that were left out, since they do not meet the conditions.
    pub unmet: u64,
    /// What the user says of values that no row has: clauses.
    pub unmatched: Vec<String>,
    /// Requests that went back in time and were held at the latest time seen.
    pub clamped: u64,
    /// Requests that stood behind later ones and were put in order.
    pub sorted: u64,
    /// Records that are no requests, by kind.
    pub left_out: BTreeMap<String, u64>,
    /// What the requests are like.
    pub statistics: Statistics,
}

/// Looks over a workload. `go_on` is asked at every record; where it says no, the look ends with an
/// error.
pub fn overview(text: &WorkloadText, master_seed: u64, go_on: impl Fn() -> bool) -> Result<Overview, SimError> {
    let mut trace = open(text, master_seed)?;
    let statistics = statistics(&mut trace, text, go_on)?;
    Ok(Overview {
        name: trace.name.clone(),
        format: trace.format.to_string(),
        time_unit: trace.time_unit.to_string(),
        requests: statistics.total.requests,
        skipped: trace.skipped(),
        unmet: trace.unmet(),
        unmatched: trace.unmatched(),
        clamped: trace.clamped(),
        sorted: trace.sorted(),
        left_out: trace.left_out(),
        statistics,
    })
}

/// A workload's look-alike, and what it was fitted to.
#[derive(Clone, Debug, Serialize)]
pub struct LookAlike {
    /// File name, preset or `generated`.
    pub name: String,
    /// The trace's format, or `generated`.
    pub format: String,
    /// Requests of the look-alike.
    pub requests: u64,
    /// The look-alike.
    #[serde(flatten)]
    pub fit: Fit,
}

/// Fits a look-alike to a workload, in a study of this seed. `go_on` is asked at every record and
/// at every step of the search; where it says no, the fit ends with an error.
pub fn look_alike(text: &WorkloadText, master_seed: u64, go_on: impl Fn() -> bool) -> Result<LookAlike, SimError> {
    let mut trace = open(text, master_seed)?;
    let (name, format) = (trace.name.clone(), trace.format.to_string());
    let fit = fit(chosen(&mut trace, text, &go_on)?, workload_seed(master_seed), &go_on)?.ok_or_else(stopped)?;
    Ok(LookAlike { name, format, requests: fit.spec.requests, fit })
}

/// The requests that a study of this seed generates.
pub fn generated(spec: &GeneratorSpec, master_seed: u64) -> Result<Generator, SimError> {
    Ok(generate::generate(spec, workload_seed(master_seed))?)
}

/// The seed of a study's workload, derived from the study's own.
pub fn workload_seed(master_seed: u64) -> u64 {
    random::derive(master_seed, "workload")
}

/// Ends a stream of records whose reader was asked to stop; the reader drops it.
pub fn stopped() -> TraceError {
    TraceError::Option("stopped".to_owned())
}

fn open(text: &WorkloadText, master_seed: u64) -> Result<Trace, SimError> {
    let (name, spec) = match (&text.trace, &text.preset, &text.generator) {
        (Some(path), None, None) => return Ok(trace::open(Path::new(path), &text.open_options())?),
        (None, Some(name), None) => (name.as_str(), generate::preset(name)?),
        (None, None, Some(spec)) => ("generated", spec.clone()),
        _ => return Err(SimError::study("the workload: give exactly one of trace, preset and generator")),
    };
    let spec = GeneratorSpec { requests: text.requests.unwrap_or(spec.requests), ..spec };
    Ok(Trace::generated(name, generated(&spec, master_seed)?))
}

/// The device that is asked for by name.
fn wanted(text: &WorkloadText) -> Option<&str> {
    match &text.trace_device {
        Some(DeviceChoice::Named(name)) => Some(name.as_str()),
        _ => None,
    }
}

/// The requests that are asked for; the last is an error where `go_on` says no.
fn chosen<'a>(
    trace: &'a mut Trace,
    text: &'a WorkloadText,
    go_on: &'a dyn Fn() -> bool,
) -> Result<impl Iterator<Item = Result<Record, TraceError>> + 'a, SimError> {
    let wanted = wanted(text);
    let mut rounds = Rounds::new(text.rounds()?);
    let records = from_fn(move || {
        loop {
            let Some(record) = trace.next() else {
                let path = text.trace.as_ref().filter(|_| rounds.begin_next())?;
                match trace::open(Path::new(path), &text.open_options()) {
                    Ok(again) => *trace = again,
                    Err(error) => return Some(Err(error)),
                }
                continue;
            };
            if !go_on() {
                return Some(Err(stopped()));
            }
            let Ok(read) = &record else { return Some(record) };
            let device = trace.devices().get(read.device as usize).map(String::as_str);
            if wanted.is_none() || wanted == device {
                return Some(record.map(|record| rounds.place(record)));
            }
        }
    });
    Ok(records.take(usize::try_from(text.requests.unwrap_or(u64::MAX)).unwrap_or(usize::MAX)))
}

fn statistics(trace: &mut Trace, text: &WorkloadText, go_on: impl Fn() -> bool) -> Result<Statistics, SimError> {
    let wanted = wanted(text);
    let mut statistics = Statistics::of(chosen(trace, text, &go_on)?)?;
    for (profile, name) in statistics.devices.iter_mut().zip(trace.devices()) {
        profile.device.clone_from(name);
    }
    match wanted {
        Some(name) if statistics.total.requests == 0 => Err(SimError::study(format!(
            "trace_device = {name}: the trace has no such device; it has {}",
            trace.devices().join(", ")
        ))),
        Some(name) => {
            statistics.devices.retain(|profile| profile.device == name);
            Ok(statistics)
        }
        None => Ok(statistics),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn preset() -> WorkloadText {
        WorkloadText { preset: Some("fin1".into()), requests: Some(100), ..WorkloadText::default() }
    }

    #[test]
    fn overview_counts_the_requests_that_are_asked_for() {
        let seen = Cell::new(0);
        let overview = overview(&preset(), 7, || {
            seen.set(seen.get() + 1);
            true
        });
        let overview = overview.unwrap();
        assert_eq!((overview.requests, seen.get()), (100, 100));
        assert_eq!((overview.name.as_str(), overview.format.as_str()), ("fin1", "generated"));
    }

    #[test]
    fn overview_ends_where_it_may_not_go_on() {
        let error = overview(&preset(), 7, || false).unwrap_err();
        assert_eq!(error.to_string(), stopped().to_string());
    }

    #[test]
    fn overview_of_two_sources_is_refused() {
        let text = WorkloadText { trace: Some("a.csv".into()), ..preset() };
        assert!(overview(&text, 7, || true).unwrap_err().to_string().contains("exactly one of"));
    }
}
