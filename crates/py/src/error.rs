//! Rust's errors as Python's: the user's mistakes and our bugs, kept apart.

use live::LiveError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sim::SimError;
use trace::TraceError;

create_exception!(ftlkit._native, FtlkitError, PyException, "Base of ftlkit's errors.");
create_exception!(
    ftlkit._native,
    UserError,
    FtlkitError,
    "The input or the request is at fault; the message says what to change."
);
create_exception!(
    ftlkit._native,
    FtlBug,
    FtlkitError,
    "A translation layer broke a rule of the flash, or returned wrong data."
);

/// An error on its way to Python.
pub(crate) enum Failure {
    User(String),
    Bug(String),
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Self {
        if error.is_bug() { Self::Bug(error.to_string()) } else { Self::User(error.to_string()) }
    }
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::User(message) => Self::User(message),
            LiveError::Bug(message) => Self::Bug(message),
        }
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        Self::User(error.to_string())
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::User(message) => UserError::new_err(message),
            Failure::Bug(message) => FtlBug::new_err(message),
        }
    }
}

/// Reads JSON from Python; `what` names it in the error.
pub(crate) fn parse<T: DeserializeOwned>(what: &str, json: &str) -> Result<T, Failure> {
    parse_documented(what, json, "docs/study.md")
}

/// The same, of something whose keys another page lists.
pub(crate) fn parse_documented<T: DeserializeOwned>(what: &str, json: &str, page: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|error| {
        let said = sim::study::in_words(&error.to_string());
        Failure::User(format!("{what}: {said}. {page} lists all keys"))
    })
}

/// Writes JSON for Python.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::Bug(format!("results cannot be written as JSON: {error}")))
}

/// Adds the exceptions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("FtlkitError", py.get_type::<FtlkitError>())?;
    module.add("UserError", py.get_type::<UserError>())?;
    module.add("FtlBug", py.get_type::<FtlBug>())
}
