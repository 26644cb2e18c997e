//! What there is: translation layers, devices, workloads, causes.

use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::{Failure, json as to_json};

/// All translation layers, as JSON: name, family, source, parameters, story.
#[pyfunction]
fn schemes() -> PyResult<String> {
    let all: Result<Vec<Value>, Failure> = ftl::registry::mappings()
        .into_iter()
        .map(|entry| Ok(with(to_value(entry)?, [("story", json!(entry.story()))])))
        .collect();
    Ok(to_json(&all?)?)
}

/// All parts of stacks, as JSON: those of `schemes`, wear policies and buffers, each with its kind
/// and the parameter of its own write buffer, if it has one.
#[pyfunction]
fn parts() -> PyResult<String> {
    let kinds = ftl::PartKind::ALL.into_iter();
    let all = kinds.flat_map(|kind| ftl::registry::entries(kind).into_iter().map(move |entry| (kind, entry)));
    let all: Result<Vec<Value>, Failure> = all
        .map(|(kind, entry)| {
            let buffer = json!(entry.capabilities.write_buffer);
            let more = [("story", json!(entry.story())), ("kind", json!(kind.name())), ("write_buffer", buffer)];
            Ok(with(to_value(entry)?, more))
        })
        .collect();
    Ok(to_json(&all?)?)
}

/// The table of keys of a study's sections, as JSON: section, name, group and row of the manual.
#[pyfunction]
fn study_keys() -> PyResult<String> {
    Ok(to_json(&sim::study::keys().collect::<Vec<_>>())?)
}

/// All device presets, as JSON: name, source, description, the load compared with a drive, and
/// every key.
#[pyfunction]
fn devices() -> PyResult<String> {
    let all: Result<Vec<Value>, Failure> = sim::presets()
        .iter()
        .map(|preset| {
            let keys = with(to_value(&preset.text())?, words(&preset.name, &preset.source, &preset.description));
            Ok(with(keys, [("compared", to_value(&preset.compared)?)]))
        })
        .collect();
    Ok(to_json(&all?)?)
}

/// All workload presets, as JSON: name, source, description and the generator's keys; last those
/// that are found by name and not listed.
#[pyfunction]
fn workload_presets() -> PyResult<String> {
    let all: Result<Vec<Value>, Failure> = trace::generate::presets()
        .iter()
        .chain(trace::generate::cold_presets())
        .map(|preset| {
            let generator = json!({ "generator": to_value(&preset.spec())? });
            Ok(with(generator, words(preset.name, preset.source, &preset.full_description())))
        })
        .collect();
    Ok(to_json(&all?)?)
}

/// All causes of flash operations, as JSON: name, words, meaning and kind of work; in the order in
/// which charts stack them, and with the number by which each has its colour.
#[pyfunction]
fn causes() -> PyResult<String> {
    let mut all = ftl::Cause::ALL;
    all.sort_by_key(|cause| cause.work());
    let all = all.map(|cause| {
        let (name, words, work) = (cause.name(), cause.facts().words, cause.work().name());
        json!({ "number": cause as u8, "name": name, "words": words, "meaning": cause.meaning(), "work": work })
    });
    Ok(to_json(&all.to_vec())?)
}

/// The names of all formats of traces.
#[pyfunction]
fn trace_formats() -> Vec<&'static str> {
    trace::Format::ALL.iter().map(|format| format.name()).collect()
}

fn words(name: &str, source: &str, description: &str) -> [(&'static str, Value); 3] {
    [("name", json!(name)), ("source", json!(source)), ("description", json!(description))]
}

fn to_value(value: &impl serde::Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| Failure::Bug(format!("a list cannot be written as JSON: {error}")))
}

fn with<const N: usize>(mut value: Value, words: [(&str, Value); N]) -> Value {
    if let Value::Object(map) = &mut value {
        map.retain(|key, value| key != "preset" && !value.is_null());
        map.extend(words.map(|(key, word)| (key.to_owned(), word)));
    }
    value
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(schemes, module)?)?;
    module.add_function(wrap_pyfunction!(causes, module)?)?;
    module.add_function(wrap_pyfunction!(parts, module)?)?;
    module.add_function(wrap_pyfunction!(study_keys, module)?)?;
    module.add_function(wrap_pyfunction!(devices, module)?)?;
    module.add_function(wrap_pyfunction!(workload_presets, module)?)?;
    module.add_function(wrap_pyfunction!(trace_formats, module)?)
}
