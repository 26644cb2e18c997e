//! A translation layer written in Python, as the shells drive it.
//!
//! Python is called once for each page of a request, with the flash port of that call. What it
//! raises becomes the error of the request: a failure of flash that it lets through is that
//! failure, anything else is [`FtlError::Failed`] with the line of its source.
//!
//! A scheme that names no spare blocks (`spare_blocks`) may let every failure of a block through:
//! the device is read-only from then on.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use flash::{Lpn, Pbn};
use ftl::api::wear::{BlockFacts, Purpose, Use};
use ftl::{
    BrokenInvariant, Deferred, Device, FlashPort, Footprint, FtlError, Gauge, Layout, Mapping, Nanos, RecoverError,
    RelocateOutcome, Request, Spares, Structure, WearQuery,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::flash::{FlashDevice, FlashError, PyFlash, PyPage};
use super::overdue;
use super::port::{Call, InHand, PORT};

const OTHER_CALL: &str = "read returned a page of an earlier call: read it again";

/// What Python answers where nothing is asked for.
fn nothing(_answer: Bound<'_, PyAny>) -> Option<InHand> {
    None
}

/// What is known of the blocks: a scheme in Python says nothing of them.
struct Facts {
    uses: Vec<Use>,
    erases: Vec<u32>,
}

impl BlockFacts for Facts {
    fn blocks(&self) -> u32 {
        self.uses.len() as u32
    }

    fn use_of(&self, pbn: Pbn) -> Use {
        self.uses[pbn.index()]
    }

    fn erases(&self, pbn: Pbn) -> u32 {
        self.erases[pbn.index()]
    }
}

/// A scheme in Python at work.
pub(super) struct PythonFtl {
    object: Py<PyAny>,
    flash: Py<PyFlash>,
    facts: Facts,
    spares: Spares,
    /// How long a call may take.
    budget: Duration,
    is_recovering: bool,
}

impl PythonFtl {
    /// A scheme that has just been made, for a device that is erased or about to be recovered.
    pub(super) fn new(py: Python<'_>, object: &Bound<'_, PyAny>, layout: &Layout) -> PyResult<Self> {
        let mut uses = vec![Use::Bad; layout.geometry.blocks() as usize];
        for pbn in &layout.good_blocks {
            uses[pbn.index()] = Use::InUse(Purpose::Data);
        }
        let facts = Facts { erases: vec![0; uses.len()], uses };
        let spares = Spares { total: object.getattr("spare_blocks")?.extract()?, used: 0 };
        let flash = Py::new(py, PyFlash::of(FlashDevice::from(layout)))?;
        let budget = Duration::try_from_secs_f64(object.getattr("call_seconds")?.extract()?)
            .map_err(|error| PyValueError::new_err(format!("call_seconds: {error}")))?;
        Ok(Self { object: object.clone().unbind(), flash, facts, spares, budget, is_recovering: false })
    }

    /// So many blocks have failed before.
    pub(super) fn know_failed(&mut self, blocks: u32) {
        self.spares.used += blocks;
    }

    /// Has the scheme bring itself back. A block that it could not erase is marked bad: it holds
    /// nothing that is needed.
    pub(super) fn recover<D: Device>(mut self, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        for (index, erases) in self.facts.erases.iter_mut().enumerate() {
            *erases = flash.device().erase_count(Pbn::new(index as u32));
        }
        self.is_recovering = true;
        self.call(flash, None, |object, flash, _| object.call_method1("recover", (flash,)).map(nothing))?;
        self.is_recovering = false;
        Ok(self)
    }

    /// Calls Python with a flash port, and a page of the host in hand if there is one. Returns the
    /// data of the page in hand that Python answers with, if it answers with one.
    fn call<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        page: Option<(Lpn, &D::Data)>,
        work: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, PyFlash>, Option<Bound<'_, PyPage>>) -> PyResult<Option<InHand>>,
    ) -> Result<Option<D::Data>, FtlError> {
        let mut call = Call::new(flash);
        let in_hand = page.map(|(lpn, data)| call.take(lpn.get(), data.clone()));
        let result = PORT.set(&mut call, || {
            Python::attach(|py| {
                let _watched = overdue::Watched::begin(py, self.budget);
                let page = in_hand.map(|in_hand| Bound::new(py, PyPage::of_host(in_hand))).transpose();
                let result = page.and_then(|page| work(self.object.bind(py), self.flash.bind(py), page));
                result.map_err(|error| (error.is_instance_of::<FlashError>(py), in_words(py, &error)))
            })
        });
        let answer = result.map(|page| page.map(|page| call.data(page)));
        let (failed, changed) = (call.failed.take(), std::mem::take(&mut call.changed));
        drop(call);
        for pbn in changed {
            self.note_change(flash, pbn);
        }
        // Without power nothing that Python says counts.
        if let Some(error) = failed.as_ref().filter(|error| error.is_power_cut()) {
            return Err(error.clone());
        }
        match (answer, failed) {
            (Ok(None), _) => Ok(None),
            (Ok(Some(Some(data))), _) => Ok(Some(data)),
            (Ok(Some(None)), _) => Err(FtlError::Failed { message: OTHER_CALL.into() }),
            (Err((true, _)), Some(error)) => Err(self.let_through(flash, error)),
            (Err((_, message)), _) => Err(FtlError::Failed { message }),
        }
    }

    /// A block was erased or marked bad.
    fn note_change<D: Device>(&mut self, flash: &FlashPort<D>, pbn: Pbn) {
        self.facts.erases[pbn.index()] = flash.device().erase_count(pbn);
        let used = &mut self.facts.uses[pbn.index()];
        if flash.device().is_bad(pbn) && *used != Use::Bad {
            *used = Use::Bad;
            self.spares.use_one();
        }
    }

    /// The failure of a block that Python let through. The block is not marked bad, for it may hold
    /// what nobody has moved.
    fn let_through<D: Device>(&mut self, flash: &mut FlashPort<D>, error: FtlError) -> FtlError {
        let is_of_block = error.is_program_failure() || error.is_erase_failure();
        if !is_of_block || self.spares.total > 0 {
            return error;
        }
        if let (Some(flash::MediaEvent::EraseFailed(pbn)), true) = (error.media_event(), self.is_recovering) {
            flash.retire(pbn);
        }
        self.spares.use_one();
        FtlError::ReadOnly { spares: self.spares.total }
    }

    /// Asks for a dictionary of numbers, such as `footprint()`.
    fn numbers<N: for<'a, 'py> FromPyObject<'a, 'py>>(&self, method: &str) -> Vec<(&'static str, N)> {
        Python::attach(|py| {
            let numbers = self.object.bind(py).call_method0(method).ok()?;
            let numbers = numbers.cast_into::<PyDict>().ok()?;
            let pairs = numbers.iter().filter_map(|(name, number)| {
                Some((interned(&name.extract::<String>().ok()?), number.extract::<N>().ok()?))
            });
            Some(pairs.collect())
        })
        .unwrap_or_default()
    }
}

impl<D: Device> Mapping<D> for PythonFtl {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            let data = self.call(flash, None, |object, flash, _| {
                let answer = object.call_method1("read", (flash, lpn.get()))?;
                if answer.is_none() {
                    return Ok(None);
                }
                let page = answer.cast::<PyPage>().map_err(|_| {
                    let kind =
                        answer.get_type().name().map_or_else(|_| "something else".into(), |name| name.to_string());
                    PyTypeError::new_err(format!(
                        "read must return a Page from flash.read, or None; it returned {kind}"
                    ))
                })?;
                Ok(Some(page.get().in_hand()))
            })?;
            out[i] = data.unwrap_or_default();
            Ok(())
        })
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.spares.admit()?;
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            self.call(flash, Some((lpn, &data[i])), |object, flash, page| {
                object.call_method1("write", (flash, lpn.get(), page)).map(nothing)
            })
            .map(drop)
        })
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        self.spares.admit()?;
        let pages = (request.lpn.get(), request.pages);
        self.call(flash, None, |object, flash, _| object.call_method1("trim", (flash, pages.0, pages.1)).map(nothing))
            .map(drop)
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        if self.spares.admit().is_err() {
            return Ok(());
        }
        self.call(flash, None, |object, flash, _| object.call_method1("flush", (flash,)).map(nothing)).map(drop)
    }

    fn idle(&mut self, flash: &mut FlashPort<D>, budget: Nanos) -> Result<(), FtlError> {
        if self.spares.admit().is_err() {
            return Ok(());
        }
        self.call(flash, None, |object, flash, _| object.call_method1("idle", (flash, budget.0)).map(nothing)).map(drop)
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        let is_bad = flash.device().is_bad(pbn);
        Ok(RelocateOutcome::Deferred(if is_bad { Deferred::IsBad } else { Deferred::NotOffered }))
    }

    fn relocates_blocks(&self) -> bool {
        false
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        query(&mut (), &self.facts);
    }

    fn check(&self, _flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        let broken = Python::attach(|py| {
            let checked = self.object.bind(py).call_method0("check");
            checked.err().map(|error| in_words(py, &error))
        });
        broken.map_or(Ok(()), |found| Err(BrokenInvariant { name: "check", found }))
    }

    fn footprint(&self) -> Footprint {
        let structures = self.numbers("footprint").into_iter();
        let structures = structures.map(|(name, ram_bytes)| Structure { name, ram_bytes, flash_bytes: 0 });
        Footprint { structures: structures.collect() }
    }

    fn spares(&self) -> Spares {
        self.spares
    }

    fn gauges(&self) -> Vec<Gauge> {
        self.numbers("gauges").into_iter().map(|(name, value)| Gauge { name, value }).collect()
    }
}

/// What Python raised, with the line of its source.
pub(super) fn in_words(py: Python<'_>, error: &PyErr) -> String {
    let value = error.value(py);
    let kind = value.get_type().name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let text = value.to_string();
    let what = if text.is_empty() { kind } else { format!("{kind}: {text}") };
    let frame = error.traceback(py).and_then(|traceback| {
        let frames = py.import("traceback").ok()?.call_method1("extract_tb", (traceback,)).ok()?;
        let frame = frames.get_item(-1_i32).ok()?;
        let line: u32 = frame.getattr("lineno").ok()?.extract().ok()?;
        let (file, method): (String, String) =
            (frame.getattr("filename").ok()?.extract().ok()?, frame.getattr("name").ok()?.extract().ok()?);
        let source: String = frame.getattr("line").ok()?.extract().ok()?;
        Some(format!("{file}, line {line}, in {method} (`{source}`)"))
    });
    frame.map_or_else(|| what.clone(), |frame| format!("{frame}: {what}"))
}

/// A name that lasts as long as the process: there are as many as schemes have numbers.
pub(super) fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let leaked: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(leaked);
    leaked
}
