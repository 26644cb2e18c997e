//! What all policies in Python that stand behind `+` have in common: an object of the class, which
//! is asked through its methods.
//!
//! A built-in engine cannot stop in the middle of a choice. So what Python raises, and what it
//! returns that is no answer, is kept until the drive asks for it; from then on the object is asked
//! nothing more, and the engine goes on as with a policy that has no wishes.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ftl::api::entry::Capabilities;
use ftl::api::parameter::Parameter;
use ftl::{Entry, Memory};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::mapping::{in_words, interned};
use super::overdue;

/// The methods that a class has of its own, each as messages name it, with file and line.
pub(super) type Origins = BTreeMap<String, String>;

/// A class as it was registered.
pub(super) struct PolicyClass {
    pub(super) class: Py<PyAny>,
    pub(super) origins: Origins,
}

/// An object of a class, and what went wrong in it.
pub(super) struct PolicyObject {
    object: Py<PyAny>,
    origins: Origins,
    budget: Duration,
    failure: Option<String>,
}

impl fmt::Debug for PolicyObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

impl PolicyObject {
    /// An object of a class, made with these arguments.
    pub(super) fn new<'py>(py: Python<'py>, class: &PolicyClass, arguments: impl PyCallArgs<'py>) -> PyResult<Self> {
        let object = class.class.bind(py).call1(arguments)?;
        let budget = Duration::try_from_secs_f64(object.getattr("call_seconds")?.extract()?)
            .map_err(|error| PyValueError::new_err(format!("call_seconds: {error}")))?;
        Ok(Self { object: object.unbind(), origins: class.origins.clone(), budget, failure: None })
    }

    /// What its class says, such as how it wants things to be ordered: one of a few words.
    pub(super) fn choice<T: Copy>(&self, py: Python<'_>, attribute: &str, words: &[(&str, T)]) -> PyResult<T> {
        let word: String = self.object.getattr(py, attribute)?.extract(py)?;
        words.iter().find(|(known, _)| *known == word).map(|(_, meant)| *meant).ok_or_else(|| {
            let known = words.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
            PyValueError::new_err(format!("{attribute} = {word:?}: must be one of {known}"))
        })
    }

    /// What its class says in an attribute.
    pub(super) fn attribute(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        self.object.getattr(py, name)?.extract(py)
    }

    /// Bytes of RAM that its tables would need in a controller.
    pub(super) fn ram_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.object.call_method0(py, "ram_bytes")?.extract(py)
    }

    /// Whether its class has a method of its own.
    pub(super) fn has(&self, method: &str) -> bool {
        self.origins.contains_key(method)
    }

    /// Calls a method, if the class has one of its own and nothing has gone wrong. `read` makes
    /// something of the answer, or says what it must be.
    pub(super) fn ask<R, A: for<'py> PyCallArgs<'py>>(
        &mut self,
        method: &str,
        arguments: A,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<R, String>,
    ) -> Option<R> {
        let origin = self.origins.get(method)?;
        if self.failure.is_some() {
            return None;
        }
        let answer = Python::attach(|py| {
            let _watched = overdue::Watched::begin(py, self.budget);
            let answer = self.object.bind(py).call_method1(method, arguments);
            let answer = answer.map_err(|error| in_words(py, &error))?;
            read(&answer).map_err(|must| {
                let answer = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
                format!("{origin}: it returned {answer}, and must return {must}")
            })
        });
        answer.map_err(|message| self.failure = Some(message)).ok()
    }

    /// Calls a method that answers nothing.
    pub(super) fn tell<A: for<'py> PyCallArgs<'py>>(&mut self, method: &str, arguments: A) {
        self.ask(method, arguments, |_| Ok(()));
    }

    /// What went wrong since this was last asked.
    pub(super) fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }
}

/// What lists know of a part that is a class.
pub(super) fn entry(name: &str, story: &str, source: &str, parameters: &'static [Parameter], memory: Memory) -> Entry {
    let header: Vec<_> = story.lines().map(|line| format!("//! {line}")).collect();
    Entry {
        name: interned(name),
        family: "python",
        source: interned(source),
        capabilities: Capabilities::NONE,
        memory,
        parameters,
        header: interned(&header.join("\n")),
    }
}
