//! Write buffers whose eviction is written in Python: which page leaves when another needs room.
//!
//! The built-in machine holds the pages; Python hears of each that comes, is used or leaves, and
//! names what is written down. It must name what waits.

use std::collections::BTreeSet;
use std::sync::Arc;

use flash::{Lbn, Lpn};
use ftl::write_buffer::policy::{
    BufferKind, BufferPolicy, BufferRoom, BufferedPage, Built, PARAMETERS, Victim, no_buffer_of_its_own,
};
use ftl::{ConfigError, Entry, Layout, Memory, Request, Values};
use pyo3::prelude::*;

use super::device::FlashDevice;
use super::mapping::in_words;
use super::policy::{Origins, PolicyClass, PolicyObject, entry};
use crate::error::Failure;

/// What leaves together.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Page,
    Block,
    WholeBlock,
}

const UNITS: [(&str, Unit); 3] = [("page", Unit::Page), ("block", Unit::Block), ("whole_block", Unit::WholeBlock)];

/// The pages that wait.
#[derive(Debug)]
struct Waiting {
    pages: BTreeSet<u32>,
    unit: Unit,
    /// Pages that leave together at most.
    unit_pages: u32,
}

impl Waiting {
    /// The number of the page or logical block that Python named, if any page of it waits.
    fn named(&self, answer: &Bound<'_, PyAny>) -> Result<u32, String> {
        let waits = |number: u32| {
            let first = number.checked_mul(self.unit_pages)?;
            self.pages.range(first..first.saturating_add(self.unit_pages)).next()
        };
        let number = answer.extract().ok().filter(|&number| waits(number).is_some());
        number.ok_or_else(|| match self.unit {
            Unit::Page => "the LPN of a page that waits".to_owned(),
            Unit::Block | Unit::WholeBlock => "the number of a logical block of which a page waits".to_owned(),
        })
    }
}

/// An eviction policy in Python at work.
#[derive(Debug)]
struct PythonEviction {
    object: PolicyObject,
    waiting: Waiting,
    ram_bytes: u64,
}

impl PythonEviction {
    fn new(py: Python<'_>, class: &PolicyClass, layout: &Layout, room: BufferRoom) -> PyResult<Self> {
        let object = PolicyObject::new(py, class, (FlashDevice::from(layout), room.pages))?;
        let unit = object.choice(py, "evicts", &UNITS)?;
        let unit_pages = if matches!(unit, Unit::Page) { 1 } else { layout.geometry.pages_per_block() };
        let ram_bytes = object.ram_bytes(py)?;
        Ok(Self { object, waiting: Waiting { pages: BTreeSet::new(), unit, unit_pages }, ram_bytes })
    }
}

impl BufferPolicy for PythonEviction {
    fn on_inserted(&mut self, page: BufferedPage, request: &Request) {
        self.waiting.pages.insert(page.lpn.get());
        self.object.tell("on_inserted", (page.lpn.get(), request.pages));
    }

    fn on_rewritten(&mut self, page: BufferedPage, request: &Request) {
        self.object.tell("on_rewritten", (page.lpn.get(), request.pages));
    }

    fn read(&mut self, page: BufferedPage) {
        self.object.tell("on_read", (page.lpn.get(),));
    }

    fn on_left(&mut self, page: BufferedPage) {
        self.waiting.pages.remove(&page.lpn.get());
        self.object.tell("on_left", (page.lpn.get(),));
    }

    fn next_victim(&mut self) -> Victim {
        // Of what cannot wait the machine makes the lowest page that does.
        let named = self.object.ask("next_victim", (), |answer| self.waiting.named(answer));
        let number = named.unwrap_or(u32::MAX - 1);
        match self.waiting.unit {
            Unit::Page => Victim::Page(Lpn::new(number)),
            Unit::Block => Victim::Block(Lbn::new(number)),
            Unit::WholeBlock => Victim::WholeBlock(Lbn::new(number)),
        }
    }

    fn pages(&self) -> u32 {
        self.waiting.pages.len() as u32
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        vec![("eviction policy", self.ram_bytes)]
    }

    fn take_failure(&mut self) -> Option<String> {
        self.object.take_failure()
    }
}

/// Registers a class as a write buffer: it stands behind `+` of a stack from then on, with the
/// parameters that every buffer has. One that was registered before under this name is replaced.
/// `origins` names the methods that the class has, each with file and line.
#[pyfunction]
fn register_eviction(cls: Py<PyAny>, name: &str, story: &str, source: &str, origins: Origins) -> PyResult<()> {
    let entry: &'static Entry = Box::leak(Box::new(entry(name, story, source, &PARAMETERS, Memory::PAGE_BUFFER)));
    let class = PolicyClass { class: cls, origins };
    let build = move |layout: &Layout, values: &Values| -> Result<Built, ConfigError> {
        let room = BufferRoom::from_values(entry.name, layout, values)?;
        Python::attach(|py| {
            let made = PythonEviction::new(py, &class, layout, room);
            made.map(|policy| (Box::new(policy) as Box<dyn BufferPolicy>, room))
                .map_err(|error| ConfigError(format!("{}: {}", entry.name, in_words(py, &error))))
        })
    };
    let kind = BufferKind { entry, suits: no_buffer_of_its_own, build: Arc::new(build) };
    Ok(ftl::registry::replace_buffer(kind).map_err(|error| Failure::User(error.to_string()))?)
}

/// Adds the function to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(register_eviction, module)?)
}
