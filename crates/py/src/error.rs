//! Rust's errors as Python's: the user's mistakes and our bugs, kept apart.

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
    read(json).map_err(|(key, said)| {
        let key = if key.is_empty() { key } else { format!(", {key}") };
        Failure::User(format!("{what}{key}: {said}. {page} lists all keys"))
    })
}

/// Reads JSON. An error has the path of the key, empty for the whole, and what is wrong with it.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, (String, String)> {
    let mut document = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut document).map_err(|error| {
        let key = error.path().to_string();
        let said = sim::study::in_words(&error.into_inner().to_string());
        (if key == "." { String::new() } else { key }, said)
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
