//! Traces: statistics, conversion, generation. All go over the requests once and stop at the next
//! one when cancelled.

use std::collections::BTreeMap;
use std::iter::from_fn;
use std::path::Path;

use files::{FileText, FileWorkload};
use pyo3::prelude::*;
use serde::Serialize;
use sim::study::WorkloadText;
use trace::generate::{GeneratorSpec, generate, preset, seed};
use trace::{DeviceChoice, OpenOptions, Statistics, Target, Trace, TraceError};

use crate::control::{Control, Reading};
use crate::error::{Failure, json, parse, parse_documented};

/// What a workload was read as, what was left out or changed, and what it is like.
#[derive(Serialize)]
struct Info {
    name: String,
    format: String,
    time_unit: String,
    requests: u64,
    skipped: u64,
    unmet: u64,
    clamped: u64,
    sorted: u64,
    left_out: BTreeMap<String, u64>,
    statistics: Statistics,
}

/// Statistics (JSON) of a workload, given as a `[workload]` table (JSON); `master_seed` is a
/// study's seed.
#[pyfunction]
fn trace_info(py: Python<'_>, workload_json: &str, master_seed: u64, control: &Control) -> PyResult<String> {
    let reading = control.reading();
    let look = || -> Result<String, Failure> {
        let workload: WorkloadText = parse("the workload", workload_json)?;
        reading.start();
        let mut trace = open(&workload, master_seed)?;
        let statistics = statistics(&mut trace, &workload, &reading)?;
        json(&Info {
            name: trace.name.clone(),
            format: trace.format.to_string(),
            time_unit: trace.time_unit.to_string(),
            requests: statistics.total.requests,
            skipped: trace.skipped(),
            unmet: trace.unmet(),
            clamped: trace.clamped(),
            sorted: trace.sorted(),
            left_out: trace.left_out(),
            statistics,
        })
    };
    Ok(py.detach(look)?)
}

/// Converts a trace to Parquet or CSV, as the target's name says; `options_json` holds the trace
/// keys of a `[workload]` table.
#[pyfunction]
fn trace_convert(
    py: Python<'_>,
    source: &str,
    target: &str,
    options_json: &str,
    control: &Control,
) -> PyResult<String> {
    let reading = control.reading();
    let convert = || -> Result<String, Failure> {
        let options = options(&parse("the options", options_json)?);
        let path = Path::new(target);
        let kind = Target::of(path).ok_or_else(|| {
            Failure::User(format!("cannot tell what to convert to: {target} must end in .parquet or .csv"))
        })?;
        reading.start();
        let done = trace::convert_while(Path::new(source), &options, path, kind, || reading.go_on())?;
        json(&done.ok_or_else(stopped)?)
    };
    Ok(py.detach(convert)?)
}

/// Writes a generated workload (JSON: a `generator` table) as Parquet; returns how many requests
/// there are (JSON).
#[pyfunction]
fn trace_generate(
    py: Python<'_>,
    spec_json: &str,
    master_seed: u64,
    target: &str,
    control: &Control,
) -> PyResult<String> {
    let reading = control.reading();
    let write = || -> Result<String, Failure> {
        let spec: GeneratorSpec = parse("the generator", spec_json)?;
        reading.start();
        let records = generate(&spec, workload_seed(master_seed))?;
        let records = records.map(|record| if reading.go_on() { Ok(record) } else { Err(stopped()) });
        json(&serde_json::json!({ "requests": trace::write_parquet(records, Path::new(target))? }))
    };
    Ok(py.detach(write)?)
}

/// Writes a workload of files (JSON: a personality and what differs from its defaults) as Parquet;
/// returns how many requests and operations there are, and what the analyzer found in each interval
/// (JSON).
#[pyfunction]
fn generate_files(
    py: Python<'_>,
    spec_json: &str,
    master_seed: u64,
    target: &str,
    control: &Control,
) -> PyResult<String> {
    let reading = control.reading();
    let user = |error: &dyn std::fmt::Display| Failure::User(error.to_string());
    let write = || -> Result<String, Failure> {
        let text: FileText = parse_documented("the file workload", spec_json, "docs/workloads.md")?;
        let spec = text.spec().map_err(|error| user(&error))?;
        reading.start();
        let mut workload = FileWorkload::new(&spec, workload_seed(master_seed)).map_err(|error| user(&error))?;
        let records = from_fn(|| {
            let record = workload.next()?.map_err(|error| TraceError::Option(error.to_string()));
            Some(record.and_then(|record| if reading.go_on() { Ok(record) } else { Err(stopped()) }))
        });
        let requests = trace::write_parquet(records, Path::new(target))?;
        json(&serde_json::json!({
            "requests": requests,
            "operations": workload.done(),
            "intervals": workload.intervals(),
        }))
    };
    Ok(py.detach(write)?)
}

fn open(workload: &WorkloadText, master_seed: u64) -> Result<Trace, Failure> {
    let (name, spec) = match (&workload.trace, &workload.preset, &workload.generator) {
        (Some(path), None, None) => return Ok(trace::open(Path::new(path), &options(workload))?),
        (None, Some(name), None) => (name.as_str(), preset(name)?),
        (None, None, Some(spec)) => ("generated", spec.clone()),
        _ => return Err(Failure::User("the workload: give exactly one of trace, preset and generator".to_owned())),
    };
    let spec = GeneratorSpec { requests: workload.requests.unwrap_or(spec.requests), ..spec };
    Ok(Trace::generated(name, generate(&spec, workload_seed(master_seed))?))
}

/// The seed that a study of this seed generates its workload with, so that what is looked at is
/// what is run.
fn workload_seed(master_seed: u64) -> u64 {
    seed::derive(master_seed, "workload")
}

fn statistics(trace: &mut Trace, workload: &WorkloadText, reading: &Reading) -> Result<Statistics, Failure> {
    let wanted = match &workload.trace_device {
        Some(DeviceChoice::Named(name)) => Some(name.as_str()),
        _ => None,
    };
    let chosen = from_fn(|| {
        loop {
            let record = trace.next()?;
            if !reading.go_on() {
                return Some(Err(stopped()));
            }
            let Ok(read) = &record else { return Some(record) };
            let device = trace.devices().get(read.device as usize).map(String::as_str);
            if wanted.is_none() || wanted == device {
                return Some(record);
            }
        }
    });
    let limit = usize::try_from(workload.requests.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let mut statistics = Statistics::of(chosen.take(limit))?;
    for (profile, name) in statistics.devices.iter_mut().zip(trace.devices()) {
        profile.device.clone_from(name);
    }
    match wanted {
        Some(name) if statistics.total.requests == 0 => Err(Failure::User(format!(
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

fn options(text: &WorkloadText) -> OpenOptions {
    let default = OpenOptions::default();
    OpenOptions {
        format: text.format,
        columns: text.columns.clone(),
        conditions: text.conditions.clone().unwrap_or_default(),
        skip_bad: text.skip_bad.unwrap_or(default.skip_bad),
        time_unit: text.time_unit,
        blkparse_action: text.blkparse_action.unwrap_or(default.blkparse_action),
        time_backwards: text.time_backwards.unwrap_or(default.time_backwards),
        shift_bytes: text.align_offset.map_or(default.shift_bytes, |bytes| bytes.0),
    }
}

/// Ends a stream that its watcher cancelled; the watcher drops it.
fn stopped() -> TraceError {
    TraceError::Option("stopped".to_owned())
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(trace_generate, module)?)?;
    module.add_function(wrap_pyfunction!(generate_files, module)?)
}
