//! Victim policies written in Python: a score of each closed block.
//!
//! Python is called once for each block of a die at each collection, all under one attachment to
//! the interpreter. What it raises, and what it returns that is no number, becomes the error of the
//! request, with the line of its source.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ftl::{Candidate, ConfigError, VictimPolicy};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

use super::mapping::{in_words, interned};
use super::overdue;
use crate::error::Failure;

/// A closed block that may be collected.
#[pyclass(frozen, module = "ftlkit._native", name = "Block", get_all)]
pub(super) struct PyBlock {
    /// Its number.
    number: u32,
    /// Pages that collecting it has to move.
    valid_pages: u32,
    /// Pages of content that a block has.
    pages: u32,
    /// How often it was erased.
    erases: u32,
    /// The class of its pages; None for a part of the map.
    class_: Option<usize>,
    /// When it was opened, in pages that the host had written.
    opened_at: u64,
    /// Pages that the host has written since.
    age: u64,
    /// Changes of any block since it was filled.
    since_filled: u64,
    /// Changes of any block since it last lost a valid page, or was filled.
    since_changed: u64,
}

impl From<&Candidate> for PyBlock {
    fn from(candidate: &Candidate) -> Self {
        let &Candidate { pbn, valid_pages, pages, erases, class, opened_at, age, since_filled, since_changed } =
            candidate;
        Self {
            number: pbn.get(),
            valid_pages,
            pages,
            erases,
            class_: class,
            opened_at,
            age,
            since_filled,
            since_changed,
        }
    }
}

/// A policy in Python at work.
struct PythonVictims {
    object: Py<PyAny>,
    /// Its method, with file and line.
    origin: &'static str,
    budget: Duration,
}

impl fmt::Debug for PythonVictims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.origin)
    }
}

impl PythonVictims {
    fn new(py: Python<'_>, class: &Py<PyAny>, origin: &'static str) -> PyResult<Self> {
        let object = class.call0(py)?;
        let budget = Duration::try_from_secs_f64(object.getattr(py, "call_seconds")?.extract(py)?)
            .map_err(|error| PyValueError::new_err(format!("call_seconds: {error}")))?;
        Ok(Self { object, origin, budget })
    }

    fn score(&self, method: &Bound<'_, PyAny>, candidate: &Candidate) -> Result<f64, String> {
        let py = method.py();
        let answer = Bound::new(py, PyBlock::from(candidate)).and_then(|block| method.call1((block,)));
        let answer = answer.map_err(|error| in_words(py, &error))?;
        answer.extract().map_err(|_| {
            let answer = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
            format!("{}: it returned {answer} for block {}, and must return a number", self.origin, candidate.pbn.get())
        })
    }
}

impl VictimPolicy for PythonVictims {
    fn scores(&self, candidates: &[Candidate]) -> Result<Vec<f64>, String> {
        Python::attach(|py| {
            let _watched = overdue::Watched::begin(py, self.budget);
            let method = self.object.bind(py).getattr(intern!(py, "score")).map_err(|error| in_words(py, &error))?;
            candidates.iter().map(|candidate| self.score(&method, candidate)).collect()
        })
    }
}

/// Registers a class as a victim policy: `victim=NAME` chooses it from then on. One that was
/// registered before under this name is replaced. `origin` names its method, with file and line.
#[pyfunction]
fn register_victims(cls: Py<PyAny>, name: &str, origin: &str) -> PyResult<()> {
    let (name, origin) = (interned(name), interned(origin));
    let class = Arc::new(cls);
    let build = move || -> Result<Arc<dyn VictimPolicy>, ConfigError> {
        Python::attach(|py| {
            let made = PythonVictims::new(py, &class, origin);
            made.map(|policy| Arc::new(policy) as Arc<dyn VictimPolicy>)
                .map_err(|error| ConfigError(format!("victim = {name}: {}", in_words(py, &error))))
        })
    };
    let registered = ftl::registry::replace_victim_policy(name, Arc::new(build));
    Ok(registered.map_err(|error| Failure::User(error.to_string()))?)
}

/// Takes a victim policy out of the list again; tells whether it was there.
#[pyfunction]
fn forget_victims(name: &str) -> bool {
    ftl::registry::forget_victim_policy(name)
}

/// Adds classes and functions to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyBlock>()?;
    module.add_function(wrap_pyfunction!(register_victims, module)?)?;
    module.add_function(wrap_pyfunction!(forget_victims, module)?)
}
