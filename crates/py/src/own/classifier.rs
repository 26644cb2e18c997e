//! Classifiers written in Python: the class of each page that the host writes or that is relocated.
//!
//! Python is called once for each page. What it raises, and what it returns that is no class,
//! becomes the error of the request, with the line of its source.

use std::fmt;
use std::sync::Arc;

use ftl::{Classifier, ConfigError, Layout, ReclaimedUnit, RelocatedPage, WrittenPage};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use super::device::FlashDevice;
use super::mapping::{in_words, interned};
use super::policy::{Origins, PolicyClass, PolicyObject};
use crate::error::Failure;

/// A page that the host writes.
#[pyclass(frozen, module = "ftlkit._native", name = "Write", get_all)]
struct PyWrite {
    /// The logical page.
    lpn: u32,
    /// Pages of its request.
    pages: u32,
    /// The stream that the host hints at, 0 for none.
    stream: u8,
    /// Pages that the host has written since it last wrote this one; None if it never has.
    age: Option<u64>,
}

/// A block that is collected.
#[pyclass(frozen, module = "ftlkit._native", name = "Unit", get_all)]
struct PyUnit {
    /// Its class.
    class_: usize,
    /// When it was opened, in pages that the host had written.
    opened_at: u64,
    /// Pages that the host has written since.
    age: u64,
    /// Pages that are still valid.
    valid_pages: u32,
    /// Pages of content that a block has.
    pages: u32,
}

/// A classifier in Python at work.
struct PythonClassifier {
    object: PolicyObject,
    classes: usize,
    host_classes: usize,
    ram_bytes: u64,
}

impl fmt::Debug for PythonClassifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

impl PythonClassifier {
    fn new(py: Python<'_>, class: &PolicyClass, layout: &Layout) -> PyResult<Self> {
        let object = PolicyObject::new(py, class, (FlashDevice::from(layout),))?;
        let classes = object.attribute(py, "classes")?;
        let (host_classes, ram_bytes) = (object.attribute(py, "host_classes")?, object.ram_bytes(py)?);
        Ok(Self { object, classes, host_classes, ram_bytes })
    }

    /// The class that a method names.
    fn class<A: for<'py> PyCallArgs<'py>>(&mut self, method: &str, arguments: A) -> Result<usize, String> {
        let classes = self.classes;
        let answer = self.object.ask(method, arguments, |answer| {
            let class = answer.extract().ok().filter(|&class: &usize| class < classes);
            class.ok_or_else(|| format!("a class from 0 to {}", classes - 1))
        });
        answer.ok_or_else(|| self.object.take_failure().unwrap_or_default())
    }
}

impl Classifier for PythonClassifier {
    fn classes(&self) -> usize {
        self.classes
    }

    fn host_classes(&self) -> usize {
        self.host_classes
    }

    fn relocates(&self) -> bool {
        self.object.has("relocate")
    }

    fn classify(&mut self, page: &WrittenPage) -> Result<usize, String> {
        let &WrittenPage { lpn, request_pages, hint, age, .. } = page;
        self.class("classify", (PyWrite { lpn: lpn.get(), pages: request_pages, stream: hint.stream(), age },))
    }

    fn relocate(&mut self, page: &RelocatedPage) -> Result<usize, String> {
        self.class("relocate", (page.lpn.get(), page.age, page.from))
    }

    fn on_reclaimed(&mut self, unit: &ReclaimedUnit) -> Result<(), String> {
        let &ReclaimedUnit { class, opened_at, age, valid_pages, pages } = unit;
        self.object.tell("reclaimed", (PyUnit { class_: class, opened_at, age, valid_pages, pages },));
        self.object.take_failure().map_or(Ok(()), Err)
    }

    fn ram_bytes(&self) -> u64 {
        self.ram_bytes
    }
}

/// Registers a class as a classifier: `streams=NAME` chooses it from then on. One that was
/// registered before under this name is replaced. `origins` names its methods, with file and line.
#[pyfunction]
fn register_classifier(cls: Py<PyAny>, name: &str, origins: Origins) -> PyResult<()> {
    let name = interned(name);
    let class = PolicyClass { class: cls, origins };
    let build = move |layout: &Layout| -> Result<Box<dyn Classifier>, ConfigError> {
        Python::attach(|py| {
            let made = PythonClassifier::new(py, &class, layout);
            made.map(|classifier| Box::new(classifier) as Box<dyn Classifier>)
                .map_err(|error| ConfigError(format!("streams = {name}: {}", in_words(py, &error))))
        })
    };
    let registered = ftl::registry::replace_classifier(name, Arc::new(build));
    Ok(registered.map_err(|error| Failure::User(error.to_string()))?)
}

/// Takes a classifier out of the list again; tells whether it was there.
#[pyfunction]
fn forget_classifier(name: &str) -> bool {
    ftl::registry::forget_classifier(name)
}

/// Adds classes and functions to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyWrite>()?;
    module.add_class::<PyUnit>()?;
    module.add_function(wrap_pyfunction!(register_classifier, module)?)?;
    module.add_function(wrap_pyfunction!(forget_classifier, module)?)
}
