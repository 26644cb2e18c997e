//! The live device: images, and servers that run until they are stopped.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use live::{CreateText, LiveError, ServeText};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::error::{Failure, json, parse, read};

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::User(message) => Self::User(message),
            LiveError::Bug(message) => Self::Bug(message),
        }
    }
}

/// Reads the options of a command (JSON). Errors name them as the command line does.
pub(crate) fn parse_options<T: DeserializeOwned>(what: &str, json: &str) -> Result<T, Failure> {
    read(json).map_err(|(key, said)| match key.rsplit('.').next() {
        Some(option) if !option.is_empty() => Failure::User(format!("--{}: {said}", option.replace('_', "-"))),
        _ => Failure::User(format!("{what}: {said}")),
    })
}

/// Makes a flash image (JSON: image, ftl, settings, device, seed); returns its description (JSON).
#[pyfunction]
fn image_create(py: Python<'_>, image_json: &str) -> PyResult<String> {
    let create = || -> Result<String, Failure> { json(&parse::<CreateText>("the image", image_json)?.create()?) };
    Ok(py.detach(create)?)
}

/// What an image is (JSON).
#[pyfunction]
fn image_info(py: Python<'_>, path: &str) -> PyResult<String> {
    Ok(py.detach(|| -> Result<String, Failure> { json(&live::info(Path::new(path))?) })?)
}

/// What is wrong with an image (JSON). Changes nothing.
#[pyfunction]
fn image_check(py: Python<'_>, path: &str) -> PyResult<String> {
    Ok(py.detach(|| -> Result<String, Failure> { json(&live::check(Path::new(path))?) })?)
}

/// Asks the server of an image (JSON); returns its answer (JSON).
#[pyfunction]
fn server_call(py: Python<'_>, image: &str, request_json: &str) -> PyResult<String> {
    let call = || -> Result<String, Failure> {
        Ok(live::call(Path::new(image), &parse("the request to the server", request_json)?)?)
    };
    Ok(py.detach(call)?)
}

/// A server of an image. It runs in threads of its own from its making until it is stopped.
#[pyclass(frozen, module = "ftlkit._native")]
struct Server {
    ready: String,
    running: Mutex<Option<live::Server>>,
}

/// How often a server is looked at that is waited for.
const POLL: Duration = Duration::from_millis(20);

impl Server {
    fn running(&self) -> std::sync::MutexGuard<'_, Option<live::Server>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits at most this many seconds for something to be so; whether it is.
pub(crate) fn wait_for(seconds: f64, is_so: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::try_from_secs_f64(seconds).unwrap_or_default();
    while !is_so() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}

#[pymethods]
impl Server {
    #[new]
    fn new(py: Python<'_>, options_json: &str) -> PyResult<Self> {
        let started = || -> Result<Self, Failure> {
            let options = parse_options::<ServeText>("the options of the server", options_json)?.check()?;
            // What the journal of a volume holds is put in its place first.
            let server = mount::serve(&options)?;
            Ok(Self { ready: json(server.ready())?, running: Mutex::new(Some(server)) })
        };
        Ok(py.detach(started)?)
    }

    /// Where it listens and what it serves (JSON).
    fn ready(&self) -> &str {
        &self.ready
    }

    /// Wait at most this many seconds; whether it has ended by itself.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        py.detach(|| wait_for(seconds, || self.running().as_ref().is_none_or(live::Server::has_ended)))
    }

    /// Stop in good order; what was saved (JSON). Raises why it ended by itself, if it did.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let stop = || -> Result<String, Failure> {
            let server = self.running().take();
            let server = server.ok_or_else(|| Failure::User("the server was stopped already".into()))?;
            json(&server.stop()?)
        };
        Ok(py.detach(stop)?)
    }
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Server>()?;
    module.add_function(wrap_pyfunction!(image_create, module)?)?;
    module.add_function(wrap_pyfunction!(image_info, module)?)?;
    module.add_function(wrap_pyfunction!(image_check, module)?)?;
    module.add_function(wrap_pyfunction!(server_call, module)?)
}
