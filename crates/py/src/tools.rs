//! Traces: statistics, conversion, generation. All go over the requests once and stop at the next
//! one when cancelled.

use std::iter::from_fn;
use std::path::{Path, PathBuf};

use files::{FileText, FileWorkload};
use pyo3::prelude::*;
use sim::study::WorkloadText;
use sim::workload::overview;
use trace::generate::GeneratorSpec;
use trace::{SplitLimits, Target, TraceError};

use crate::control::Control;
use crate::error::{Failure, json, parse, parse_documented};

/// Statistics (JSON) of a workload, given as a `[workload]` table (JSON); `master_seed` is a
/// study's seed.
#[pyfunction]
fn trace_info(py: Python<'_>, workload_json: &str, master_seed: u64, control: &Control) -> PyResult<String> {
    let reading = control.reading();
    let look = || -> Result<String, Failure> {
        let workload: WorkloadText = parse("the workload", workload_json)?;
        reading.start();
        json(&overview::overview(&workload, master_seed, || reading.go_on())?)
    };
    Ok(py.detach(look)?)
}

/// A look-alike (JSON) of a workload, given as a `[workload]` table (JSON); `master_seed` is the
/// seed of the studies in which it has the figures that are shown.
#[pyfunction]
fn trace_fit(py: Python<'_>, workload_json: &str, master_seed: u64, control: &Control) -> PyResult<String> {
    let reading = control.reading();
    let search = || -> Result<String, Failure> {
        let workload: WorkloadText = parse("the workload", workload_json)?;
        reading.start();
        json(&overview::look_alike(&workload, master_seed, || reading.go_on())?)
    };
    Ok(py.detach(search)?)
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
        let options = parse::<WorkloadText>("the options", options_json)?.open_options();
        let path = Path::new(target);
        let kind = Target::of(path).ok_or_else(|| {
            Failure::User(format!("cannot tell what to convert to: {target} must end in .parquet or .csv"))
        })?;
        reading.start();
        let done = trace::convert_while(Path::new(source), &options, path, kind, || reading.go_on())?;
        json(&done.ok_or_else(overview::stopped)?)
    };
    Ok(py.detach(convert)?)
}

/// Splits traces by volume into a folder, or goes on with it; `options_json` is as for a
/// conversion.
/// Returns what was read (JSON). Above `kept_bytes` of packed requests some go to the disk, and a
/// file holds `part_requests`; of more volumes than `folders` small ones share files. 0 leaves each
/// as it is.
#[pyfunction]
#[pyo3(signature = (traces, folder, options_json, control, kept_bytes = 0, part_requests = 0, folders = 0))]
#[expect(clippy::too_many_arguments, reason = "as many as there are limits")]
fn trace_split(
    py: Python<'_>,
    traces: Vec<PathBuf>,
    folder: PathBuf,
    options_json: &str,
    control: &Control,
    kept_bytes: usize,
    part_requests: u64,
    folders: usize,
) -> PyResult<String> {
    let campaign = control.campaign();
    let watch = |stage: &str, done, total| {
        campaign.show(vec![(stage.to_owned(), done, total)]);
        !campaign.is_cancelled()
    };
    let usual = SplitLimits::default();
    let limits = SplitLimits {
        kept_bytes: if kept_bytes > 0 { kept_bytes } else { usual.kept_bytes },
        part_requests: if part_requests > 0 { part_requests } else { usual.part_requests },
        folders: if folders > 0 { folders } else { usual.folders },
    };
    let split = move || -> Result<String, Failure> {
        let options = parse::<WorkloadText>("the options", options_json)?.open_options();
        json(&trace::split_while(&traces, &options, &folder, limits, watch)?.ok_or_else(overview::stopped)?)
    };
    Ok(py.detach(split)?)
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
        let records = overview::generated(&spec, master_seed)?;
        let records = records.map(|record| if reading.go_on() { Ok(record) } else { Err(overview::stopped()) });
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
        let mut workload =
            FileWorkload::new(&spec, overview::workload_seed(master_seed)).map_err(|error| user(&error))?;
        let records = from_fn(|| {
            let record = workload.next()?.map_err(|error| TraceError::Option(error.to_string()));
            Some(record.and_then(|record| if reading.go_on() { Ok(record) } else { Err(overview::stopped()) }))
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

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_fit, module)?)?;
    module.add_function(wrap_pyfunction!(trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(trace_split, module)?)?;
    module.add_function(wrap_pyfunction!(trace_generate, module)?)?;
    module.add_function(wrap_pyfunction!(generate_files, module)?)
}
