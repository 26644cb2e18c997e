//! Studies: from text to results.

use std::path::PathBuf;

use pyo3::prelude::*;
use sim::study::FtlText;

use crate::control::Control;
use crate::error::{Failure, json};
use crate::threads::with_python_state;

/// Runs a study (JSON) and returns results (JSON). `threads` is the number of runs at once; none:
/// one per core. `requests_out` is the path of a Parquet file that gets a row for every request.
#[pyfunction]
#[pyo3(signature = (study_json, control, threads = None, requests_out = None))]
fn run_study(
    py: Python<'_>,
    study_json: &str,
    control: &Control,
    threads: Option<usize>,
    requests_out: Option<PathBuf>,
) -> PyResult<String> {
    let control = control.study();
    let run = move || -> Result<String, Failure> {
        let study = sim::parse_json(study_json)?;
        // More threads than runs would have nothing to do; 0 is a thread a core.
        let threads = threads.map_or(0, |threads| threads.min(study.ftl.len()));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let results = pool.build_scoped(
            |thread| with_python_state(|| thread.run()),
            |pool| pool.install(|| sim::run_study_logged(&study, &control, requests_out.as_deref())),
        );
        let results = results.map_err(|error| {
            Failure::User(format!("cannot start the threads asked for: {error}; ask for fewer (--threads)"))
        })?;
        json(&results?)
    };
    Ok(py.detach(run)?)
}

/// The JSON schema of results.
#[pyfunction]
fn results_schema() -> PyResult<String> {
    Ok(json(&sim::schema())?)
}

/// Checks a study (JSON), its workload included, and returns it (JSON) with every key filled in.
#[pyfunction]
fn check_study(py: Python<'_>, study_json: &str, control: &Control) -> PyResult<String> {
    let control = control.study();
    let check = || -> Result<String, Failure> {
        let study = sim::check_study(&sim::parse_json(study_json)?, &control)?;
        json(&study.to_json())
    };
    Ok(py.detach(check)?)
}

/// Turns a study file's text into JSON. `path` names it in errors, and relative trace paths are
/// relative to it.
#[pyfunction]
fn parse_study_toml(text: &str, path: &str) -> PyResult<String> {
    let study = sim::parse_toml(text, path).map_err(Failure::from)?;
    Ok(json(&study.to_json())?)
}

/// Takes a stack's text apart: the `[[ftl]]` table (JSON) that says the same.
#[pyfunction]
fn parse_stack(text: &str) -> PyResult<String> {
    let stack = text.parse().map_err(|error: ftl::ConfigError| Failure::User(error.to_string()))?;
    let stack = ftl::registry::with_known_names(stack);
    // A label tells stacks of the same parts apart.
    let label = stack.parts().any(|part| !part.settings.is_empty()).then(|| stack.to_string());
    Ok(json(&FtlText::of(&stack, label))?)
}

/// Reads a quantity as studies have it, of a kind: `size` in bytes, `count`, `duration` in
/// nanoseconds.
#[pyfunction]
fn read_quantity(kind: &str, text: &str) -> PyResult<u64> {
    let read = match kind {
        "size" => ::quantity::size,
        "duration" => ::quantity::duration,
        _ => ::quantity::count,
    };
    Ok(read(text).map_err(Failure::User)?)
}

/// Reads a share of a whole: `0.28`, `28%`.
#[pyfunction]
fn share(text: &str) -> PyResult<f64> {
    Ok(::quantity::share(text).map_err(Failure::User)?)
}

/// Units of sizes and of durations, each with the bytes or nanoseconds that it stands for.
#[pyfunction]
fn units() -> [Vec<(&'static str, u64)>; 2] {
    [::quantity::SIZES.to_vec(), ::quantity::DURATIONS.to_vec()]
}

/// The name of the device preset that is meant: the name itself, or a part of one name alone.
#[pyfunction]
fn device_preset(name: &str) -> PyResult<&'static str> {
    Ok(&sim::preset(name).map_err(Failure::from)?.name)
}

/// Bytes that the host sees of the device of a `[device]` table (JSON), and those that are
/// simulated for the writes of a `generator` table (JSON), where no workload spans more.
#[pyfunction]
#[pyo3(signature = (device, generator=None))]
fn device_bytes(device: &str, generator: Option<&str>) -> PyResult<[u64; 2]> {
    let text = serde_json::from_str(device).map_err(|error| Failure::User(format!("device: {error}")))?;
    let spec = generator.map(serde_json::from_str).transpose();
    let spec = spec.map_err(|error| Failure::User(format!("workload.generator: {error}")))?;
    Ok(sim::device_bytes(&text, spec.as_ref()).map_err(Failure::from)?)
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_study, module)?)?;
    module.add_function(wrap_pyfunction!(results_schema, module)?)?;
    module.add_function(wrap_pyfunction!(check_study, module)?)?;
    module.add_function(wrap_pyfunction!(parse_study_toml, module)?)?;
    module.add_function(wrap_pyfunction!(parse_stack, module)?)?;
    module.add_function(wrap_pyfunction!(read_quantity, module)?)?;
    module.add_function(wrap_pyfunction!(share, module)?)?;
    module.add_function(wrap_pyfunction!(units, module)?)?;
    module.add_function(wrap_pyfunction!(device_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(device_preset, module)?)
}
