//! Translation layers and policies written in Python: registered by their class, built for every
//! shell.

mod batch;
mod classifier;
mod device;
mod eviction;
mod flash;
mod mapping;
mod overdue;
mod policy;
mod port;
mod victims;
mod wear;

use std::collections::BTreeMap;
use std::sync::Arc;

use ::flash::Flash;
use ftl::api::entry::Capabilities;
use ftl::api::mapping::MappingBuilder;
use ftl::api::parameter::{Kind, Parameter, Values};
use ftl::{ConfigError, Device, Entry, FlashPort, FtlError, Layout, Mapping, Memory, RecoverError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use self::device::FlashDevice;
use self::mapping::{PythonFtl, in_words, interned};
use crate::error::Failure;

/// Builds schemes of a Python class.
#[derive(Clone)]
struct PythonBuilder {
    class: Arc<Py<PyAny>>,
    entry: &'static Entry,
}

impl PythonBuilder {
    /// Makes an object of the class.
    fn build(&self, layout: &Layout, values: &Values) -> Result<PythonFtl, ConfigError> {
        Python::attach(|py| {
            let make = || -> PyResult<PythonFtl> {
                let settings = PyDict::new(py);
                for parameter in self.entry.parameters {
                    match parameter.kind {
                        Kind::Ratio { .. } => settings.set_item(parameter.name, values.ratio(parameter.name))?,
                        Kind::Switch => settings.set_item(parameter.name, values.switch(parameter.name))?,
                        Kind::Choice { .. } | Kind::Policy { .. } => {
                            settings.set_item(parameter.name, values.word(parameter.name))?;
                        }
                        _ => settings.set_item(parameter.name, values.integer(parameter.name))?,
                    }
                }
                let object = self.class.bind(py).call((FlashDevice::from(layout),), Some(&settings))?;
                check_footprint(&object)?;
                PythonFtl::new(py, &object, layout)
            };
            make().map_err(|error| ConfigError(format!("{}: {}", self.entry.name, in_words(py, &error))))
        })
    }
}

/// Refuses what is no footprint: it would count as no RAM at all.
fn check_footprint(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let answer = object.call_method0("footprint")?;
    if answer.extract::<BTreeMap<String, u64>>().is_ok_and(|tables| !tables.is_empty()) {
        return Ok(());
    }
    let method = object.getattr("footprint")?;
    let code = method.getattr("__code__");
    let place = code.and_then(|code| {
        let (file, line) = (code.getattr("co_filename")?, code.getattr("co_firstlineno")?);
        Ok(format!("{file}, line {line}, in footprint: "))
    });
    let (place, answer) = (place.unwrap_or_default(), answer.repr()?);
    Err(PyTypeError::new_err(format!(
        "{place}it returned {answer}, and must return the bytes of RAM of each table: a dictionary of a name and a \
         number from 0 on, such as {{\"page map\": 4096}}"
    )))
}

impl<D: Device> MappingBuilder<D> for PythonBuilder {
    fn format(&self, layout: &Layout, values: &Values) -> Result<Box<dyn Mapping<D>>, ConfigError> {
        Ok(Box::new(self.build(layout, values)?))
    }

    fn recover(
        &self,
        layout: &Layout,
        values: &Values,
        flash: &mut FlashPort<D>,
    ) -> Result<Box<dyn Mapping<D>>, RecoverError> {
        // Blocks may have failed before the cut: a device that would be refused now only reads.
        let is_refused = self.build(layout, values).is_err();
        let mut layout = layout.in_use();
        let mut failed = 0;
        loop {
            let mut scheme = self.build(&layout, values)?;
            scheme.know_failed(failed + u32::from(is_refused));
            match scheme.recover(flash) {
                Ok(scheme) => return Ok(Box::new(scheme)),
                // A block failed, and the scheme let that through: recovery begins again without
                // it. There are only so many blocks.
                Err(RecoverError::Ftl(FtlError::ReadOnly { .. })) if failed < layout.geometry.blocks() => {
                    failed += 1;
                    layout.good_blocks.retain(|&pbn| !flash.chip().is_bad(pbn));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// A parameter as the class declares it, with the default from which its kind follows.
#[derive(serde::Deserialize)]
struct Declared {
    name: String,
    default: serde_json::Value,
    choices: Option<Vec<String>>,
    meaning: String,
}

impl Declared {
    fn parameter(&self) -> Result<Parameter, Failure> {
        use serde_json::Value;

        let (kind, default) = match (&self.default, &self.choices) {
            (Value::String(word), Some(choices)) => {
                let of: Vec<&'static str> = choices.iter().map(|choice| interned(choice)).collect();
                (Kind::Choice { of: of.leak() }, word.clone())
            }
            (Value::Bool(is_on), None) => (Kind::Switch, is_on.to_string()),
            (Value::Number(number), None) if number.is_u64() => {
                (Kind::Integer { min: 0, max: u64::MAX }, number.to_string())
            }
            (Value::Number(number), None) => (Kind::Ratio { min: f64::MIN, max: f64::MAX }, number.to_string()),
            (default, _) => {
                return Err(Failure::User(format!(
                    "the parameter {} has the default {default}: give a whole number from 0 on, a real number, True or \
                     False, or a word with choices",
                    self.name
                )));
            }
        };
        let (name, default, meaning) = (interned(&self.name), interned(&default), interned(&self.meaning));
        Ok(Parameter { name, kind, default, meaning, source: "its class" })
    }
}

/// Memory of a mapping in Python: Python does not say, so what the dictionaries and sets of
/// `examples/own_ftl.py` take after a fill of 64 and 256 MiB.
const MEMORY: Memory = Memory { page_bytes: 420.0, ..Memory::NONE };

/// Registers a class as a translation layer: studies, torture and live devices know it by name from
/// then on. One that was registered before under this name is replaced. `parameters` (JSON) lists
/// name, default, choices and meaning of each.
#[pyfunction]
fn register_ftl(cls: Py<PyAny>, name: &str, story: &str, source: &str, parameters: &str) -> PyResult<()> {
    let register = || -> Result<(), Failure> {
        let declared: Vec<Declared> = crate::error::parse("the parameters of the class", parameters)?;
        let parameters: Vec<Parameter> = declared.iter().map(Declared::parameter).collect::<Result<_, _>>()?;
        let capabilities = Capabilities { relocates_blocks: false, ..Capabilities::NONE };
        let entry = Entry { capabilities, ..policy::entry(name, story, source, parameters.leak(), MEMORY) };
        let entry: &'static Entry = Box::leak(Box::new(entry));
        let builder = PythonBuilder { class: Arc::new(cls), entry };
        ftlkit::replace_built(*entry, builder).map_err(|error| Failure::User(error.to_string()))
    };
    Ok(register()?)
}

/// Takes a translation layer, a wear policy or a write buffer out of the list again; tells whether
/// it was there.
#[pyfunction]
fn forget_part(name: &str) -> bool {
    ftl::registry::forget_part(name)
}

/// Adds classes and functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    device::register(module)?;
    flash::register(module)?;
    victims::register(module)?;
    classifier::register(module)?;
    eviction::register(module)?;
    wear::register(module)?;
    module.add_function(wrap_pyfunction!(overdue::overdue_calls, module)?)?;
    module.add_function(wrap_pyfunction!(forget_part, module)?)?;
    module.add_function(wrap_pyfunction!(register_ftl, module)?)
}
