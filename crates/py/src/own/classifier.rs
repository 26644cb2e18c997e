//! Write classifiers written in Python: the stream of each page that the host writes.
//!
//! Python is called once for each page. What it raises, and what it returns that is no stream,
//! becomes the error of the request, with the line of its source.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use flash::Lpn;
use ftl::{ConfigError, Layout, Request, WriteClassifier};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

use super::device::FlashDevice;
use super::mapping::{in_words, interned};
use super::overdue;
use crate::error::Failure;

/// A classifier in Python at work.
struct PythonClassifier {
    object: Py<PyAny>,
    /// Its method, with file and line.
    origin: &'static str,
    streams: usize,
    ram_bytes: u64,
    budget: Duration,
}

impl fmt::Debug for PythonClassifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.origin)
    }
}

impl PythonClassifier {
    fn new(py: Python<'_>, class: &Py<PyAny>, layout: &Layout, origin: &'static str) -> PyResult<Self> {
        let object = class.bind(py).call1((FlashDevice::from(layout),))?;
        let budget = Duration::try_from_secs_f64(object.getattr("call_seconds")?.extract()?)
            .map_err(|error| PyValueError::new_err(format!("call_seconds: {error}")))?;
        let streams = object.getattr("streams")?.extract()?;
        let ram_bytes = object.call_method0("ram_bytes")?.extract()?;
        Ok(Self { object: object.unbind(), origin, streams, ram_bytes, budget })
    }
}

impl WriteClassifier for PythonClassifier {
    fn streams(&self) -> usize {
        self.streams
    }

    fn stream(&mut self, request: &Request, lpn: Lpn) -> Result<usize, String> {
        Python::attach(|py| {
            let _watched = overdue::Watched::begin(py, self.budget);
            let answer = self.object.bind(py).call_method1(intern!(py, "stream"), (lpn.get(), request.pages));
            let answer = answer.map_err(|error| in_words(py, &error))?;
            answer.extract().map_err(|_| {
                let answer = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
                format!("{}: it returned {answer} for {lpn}, and must return the number of a stream", self.origin)
            })
        })
    }

    fn ram_bytes(&self) -> u64 {
        self.ram_bytes
    }
}

/// Registers a class as a write classifier: `streams=NAME` of page chooses it from then on. One
/// that was registered before under this name is replaced. `origin` names its method, with file and
/// line.
#[pyfunction]
fn register_classifier(cls: Py<PyAny>, name: &str, origin: &str) -> PyResult<()> {
    let (name, origin) = (interned(name), interned(origin));
    let build = move |layout: &Layout| -> Result<Box<dyn WriteClassifier>, ConfigError> {
        Python::attach(|py| {
            let made = PythonClassifier::new(py, &cls, layout, origin);
            made.map(|classifier| Box::new(classifier) as Box<dyn WriteClassifier>)
                .map_err(|error| ConfigError(format!("streams = {name}: {}", in_words(py, &error))))
        })
    };
    let registered = ftl::registry::replace_classifier(name, Arc::new(build));
    Ok(registered.map_err(|error| Failure::User(error.to_string()))?)
}

/// Takes a write classifier out of the list again; tells whether it was there.
#[pyfunction]
fn forget_classifier(name: &str) -> bool {
    ftl::registry::forget_classifier(name)
}

/// Adds functions to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(register_classifier, module)?)?;
    module.add_function(wrap_pyfunction!(forget_classifier, module)?)
}
