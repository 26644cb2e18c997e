//! Wear policies written in Python: which free block is taken, and which block is emptied though
//! nobody needs its space.
//!
//! Python is called once for each block that is taken or erased, and after each write of the host
//! where the class names blocks to be emptied. What is known of all blocks is lent to it for the
//! time of that call (`Blocks`).

use std::sync::Arc;

use flash::Pbn;
use ftl::api::layout::WearKind;
use ftl::api::wear::{AllocRequest, BlockFacts, BlockUse, Order, Purpose, WearPolicy};
use ftl::{Deferred, Entry, Layout, Memory, RelocateOutcome, Values};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use scoped_tls_hkt::scoped_thread_local;

use super::device::FlashDevice;
use super::mapping::in_words;
use super::policy::{Origins, PolicyClass, PolicyObject, entry};
use crate::error::Failure;

scoped_thread_local!(static FACTS: for<'a> &'a (dyn BlockFacts + 'a));

const ORDERS: [(&str, Order); 3] =
    [("first_freed", Order::FirstFreed), ("least_worn", Order::LeastWorn), ("rested", Order::Rested)];

fn purpose_name(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Data => "data",
        Purpose::Collected => "collected",
        Purpose::Translation => "translation",
        Purpose::Log => "log",
        Purpose::Merge => "merge",
        Purpose::Relocated => "relocated",
        Purpose::Levelled => "levelled",
        Purpose::Reserve => "reserve",
    }
}

fn outcome_name(outcome: RelocateOutcome) -> &'static str {
    match outcome {
        RelocateOutcome::Done => "done",
        RelocateOutcome::Retired => "retired",
        RelocateOutcome::Deferred(Deferred::IsBad) => "bad",
        RelocateOutcome::Deferred(Deferred::ReadOnly) => "read_only",
        RelocateOutcome::Deferred(Deferred::NotOffered) => "not_offered",
        RelocateOutcome::Deferred(Deferred::NoRoom) => "no_room",
    }
}

/// State of all blocks, valid during the call that gets it.
#[pyclass(frozen, module = "ftlkit._native", name = "Blocks")]
struct PyBlocks {
    count: u32,
}

impl PyBlocks {
    /// Looks at a block, with the facts of the call in hand.
    fn look<R>(&self, block: u32, look: impl FnOnce(&dyn BlockFacts, Pbn) -> R) -> PyResult<R> {
        if block >= self.count {
            let last = self.count - 1;
            let words = format!("block {block} is not on the device, whose blocks are 0 to {last}");
            return Err(PyIndexError::new_err(words));
        }
        if !FACTS.is_set() {
            return Err(PyRuntimeError::new_err("blocks can be queried only while next_move runs"));
        }
        Ok(FACTS.with(|facts| look(facts, Pbn::new(block))))
    }
}

#[pymethods]
impl PyBlocks {
    fn __len__(&self) -> usize {
        self.count as usize
    }

    /// What a block is used for: `free`, `bad`, or what it was taken for.
    fn use_of(&self, block: u32) -> PyResult<&'static str> {
        self.look(block, |facts, pbn| match facts.use_of(pbn) {
            BlockUse::Free => "free",
            BlockUse::Bad => "bad",
            BlockUse::InUse(purpose) => purpose_name(purpose),
        })
    }

    /// How often a block was erased.
    fn erases(&self, block: u32) -> PyResult<u32> {
        self.look(block, |facts, pbn| facts.erases(pbn))
    }

    /// The number of the domain in which a block's content stays when it is moved.
    fn domain_of(&self, block: u32) -> PyResult<usize> {
        self.look(block, |facts, pbn| facts.domain_of(pbn))
    }
}

/// A wear policy in Python at work.
#[derive(Debug)]
struct PythonWear {
    object: PolicyObject,
    blocks: Py<PyBlocks>,
    order: Order,
    ram_bytes: u64,
}

impl PythonWear {
    fn new(py: Python<'_>, class: &PolicyClass, layout: &Layout) -> PyResult<Self> {
        let object = PolicyObject::new(py, class, (FlashDevice::from(layout),))?;
        let order = object.choice(py, "order", &ORDERS)?;
        let ram_bytes = object.ram_bytes(py)?;
        let blocks = Py::new(py, PyBlocks { count: layout.geometry.blocks() })?;
        Ok(Self { object, blocks, order, ram_bytes })
    }
}

impl WearPolicy for PythonWear {
    fn order(&self) -> Order {
        self.order
    }

    fn place(&mut self, alloc: AllocRequest, free: usize) -> usize {
        let place = self.object.ask("place", (purpose_name(alloc.purpose), free), |answer| {
            let place = answer.extract().ok().filter(|&place: &usize| place < free);
            place.ok_or_else(|| format!("the place of one of {free} free blocks, from 0 on"))
        });
        place.unwrap_or(0)
    }

    fn on_erased(&mut self, pbn: Pbn, erases: u32) {
        self.object.tell("on_erased", (pbn.get(), erases));
    }

    fn moves_blocks(&self) -> bool {
        self.object.has("next_move")
    }

    /// What goes wrong is asked for after writes.
    fn observes_writes(&self) -> bool {
        true
    }

    fn next_move(&mut self, blocks: &dyn BlockFacts) -> Option<Pbn> {
        let object = &mut self.object;
        let named = FACTS.set(blocks, || {
            object.ask("next_move", (&self.blocks,), |answer| {
                let block: Option<u32> = answer.extract().map_err(|_| "the number of a block, or None".to_owned())?;
                let is_there = block.is_none_or(|block| block < blocks.blocks());
                is_there.then_some(block).ok_or_else(|| format!("a block below {}, or None", blocks.blocks()))
            })
        });
        named.flatten().map(Pbn::new)
    }

    fn on_moved(&mut self, pbn: Pbn, how: RelocateOutcome) {
        self.object.tell("on_moved", (pbn.get(), outcome_name(how)));
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        vec![("wear policy", self.ram_bytes)]
    }

    fn take_failure(&mut self) -> Option<String> {
        self.object.take_failure()
    }
}

/// Stands for a policy whose object could not be made.
#[derive(Debug)]
struct NotMade(Option<String>);

impl WearPolicy for NotMade {
    fn observes_writes(&self) -> bool {
        true
    }

    fn take_failure(&mut self) -> Option<String> {
        self.0.take()
    }
}

/// Registers a class as a wear policy: it stands behind `+` of a stack from then on. One that was
/// registered before under this name is replaced. `origins` names the methods that the class has,
/// each with file and line.
#[pyfunction]
fn register_wear(cls: Py<PyAny>, name: &str, story: &str, source: &str, origins: Origins) -> PyResult<()> {
    let entry: &'static Entry = Box::leak(Box::new(entry(name, story, source, &[], Memory::NONE)));
    let class = PolicyClass { class: cls, origins };
    let build = move |layout: &Layout, _: &Values| -> Box<dyn WearPolicy> {
        Python::attach(|py| match PythonWear::new(py, &class, layout) {
            Ok(policy) => Box::new(policy) as Box<dyn WearPolicy>,
            Err(error) => Box::new(NotMade(Some(format!("{}: {}", entry.name, in_words(py, &error))))),
        })
    };
    let kind = WearKind { entry, is_none: false, suits: |_| Ok(()), build: Arc::new(build) };
    Ok(ftl::registry::replace_wear_policy(kind).map_err(|error| Failure::User(error.to_string()))?)
}

/// Adds class and function to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyBlocks>()?;
    module.add_function(wrap_pyfunction!(register_wear, module)?)
}
