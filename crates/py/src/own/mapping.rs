//! A translation layer written in Python, as the shells drive it.
//!
//! Python is called once for each page of a request, with the flash port of that call, or once for
//! all of them where the class has a method for that. What it raises becomes the error of the
//! request: a failure of flash that it lets through is that failure, anything else is
//! [`FtlError::Failed`] with the line of its source.
//!
//! A scheme that names no spare blocks (`spare_blocks`) may let every failure of a block through:
//! the device is read-only from then on.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use flash::{Flash, Lpn, Pbn};
use ftl::api::wear::{BlockFacts, BlockUse, Purpose};
use ftl::{
    BrokenInvariant, Deferred, Device, FlashPort, Footprint, FtlError, Gauge, Layout, Mapping, Nanos, RamStructure,
    RecoverError, RelocateOutcome, Request, Spares, WearQuery,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::batch::PyPages;
use super::device::{FlashDevice, FlashError, PyPage};
use super::flash::PyFlash;
use super::overdue;
use super::port::{Call, InHand, PORT};

const OTHER_CALL: &str = "read returned a page of an earlier call: read it again";

/// What Python answers: the pages that the host reads, where it reads.
enum Answer {
    Nothing,
    Page(Option<InHand>),
    Pages(Vec<Option<InHand>>),
}

/// What Python answers where nothing is asked for.
fn nothing(_answer: Bound<'_, PyAny>) -> Answer {
    Answer::Nothing
}

/// Where a method is, as messages name it.
fn origin(method: &Bound<'_, PyAny>) -> PyResult<String> {
    let (code, name) = (method.getattr("__code__")?, method.getattr("__qualname__")?);
    Ok(format!("{}, line {}, in {name}", code.getattr("co_filename")?, code.getattr("co_firstlineno")?))
}

/// The error of an answer that is none, with the place of the method.
fn nonsense(method: &Bound<'_, PyAny>, must: &str, answer: &str) -> PyErr {
    let origin = origin(method).map_or_else(|_| String::new(), |origin| format!("{origin}: "));
    PyTypeError::new_err(format!("{origin}it must return {must}; it returned {answer}"))
}

fn kind(answer: &Bound<'_, PyAny>) -> String {
    answer.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string())
}

/// The page that `read` answers with.
fn page_read(method: &Bound<'_, PyAny>, answer: &Bound<'_, PyAny>) -> PyResult<Option<InHand>> {
    if answer.is_none() {
        return Ok(None);
    }
    let page = answer.cast::<PyPage>();
    let page = page.map_err(|_| nonsense(method, "a Page from flash.read, or None", &kind(answer)))?;
    Ok(Some(page.get().in_hand()))
}

/// The pages that `read_pages` answers with: this many.
fn pages_read(method: &Bound<'_, PyAny>, answer: &Bound<'_, PyAny>, count: u32) -> PyResult<Vec<Option<InHand>>> {
    let pages: Vec<_> = if let Ok(pages) = answer.cast::<PyPages>() {
        pages.get().in_hand().collect()
    } else {
        let must = "the Pages of flash.read_many, or a list of Page and None";
        let items = answer.try_iter().map_err(|_| nonsense(method, must, &kind(answer)))?;
        // One more shows that there are too many.
        items.take(count as usize + 1).map(|item| page_read(method, &item?)).collect::<PyResult<_>>()?
    };
    if pages.len() == count as usize {
        return Ok(pages);
    }
    let returned = if pages.len() > count as usize { "more".to_owned() } else { pages.len().to_string() };
    Err(nonsense(method, &format!("{count} pages"), &returned))
}

/// Pages that the host writes in a call.
struct HostPages<'a, D: Device> {
    lpn: Lpn,
    data: &'a [D::Data],
}

impl<'a, D: Device> HostPages<'a, D> {
    /// No pages: the call is about something else.
    const NONE: Self = Self { lpn: Lpn::new(0), data: &[] };

    fn new(lpn: Lpn, data: &'a [D::Data]) -> Self {
        Self { lpn, data }
    }

    /// Takes them in hand for a call.
    fn take(self, call: &mut Call<'_, D>) -> Vec<InHand> {
        (self.lpn.get()..).zip(self.data).map(|(lpn, data)| call.take(lpn, data.clone())).collect()
    }
}

/// Hands the data of what Python answered with over to the host.
fn hand_over<D: Device>(call: &Call<'_, D>, answer: Answer, out: &mut [D::Data]) -> Result<(), FtlError> {
    let mut put = |place: usize, page: Option<InHand>| {
        let data = page.map(|page| call.data(page).ok_or_else(|| FtlError::Failed { message: OTHER_CALL.into() }));
        out[place] = data.transpose()?.unwrap_or_default();
        Ok(())
    };
    match answer {
        Answer::Nothing => Ok(()),
        Answer::Page(page) => put(0, page),
        Answer::Pages(pages) => pages.into_iter().enumerate().try_for_each(|(place, page)| put(place, page)),
    }
}

/// What a class does for whole requests in one call.
#[derive(Clone, Copy)]
struct Batches {
    read: bool,
    write: bool,
}

/// What is known of the blocks: a scheme in Python says nothing of them.
struct Facts {
    uses: Vec<BlockUse>,
    erases: Vec<u32>,
}

impl BlockFacts for Facts {
    fn blocks(&self) -> u32 {
        self.uses.len() as u32
    }

    fn use_of(&self, pbn: Pbn) -> BlockUse {
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
    batches: Batches,
    is_recovering: bool,
}

impl PythonFtl {
    /// A scheme that has just been made, for a device that is erased or about to be recovered.
    pub(super) fn new(py: Python<'_>, object: &Bound<'_, PyAny>, layout: &Layout) -> PyResult<Self> {
        let mut uses = vec![BlockUse::Bad; layout.geometry.blocks() as usize];
        for pbn in &layout.good_blocks {
            uses[pbn.index()] = BlockUse::InUse(Purpose::Data);
        }
        let facts = Facts { erases: vec![0; uses.len()], uses };
        let spares = Spares { total: object.getattr("spare_blocks")?.extract()?, used: 0 };
        let flash = Py::new(py, PyFlash::of(FlashDevice::from(layout)))?;
        let budget = Duration::try_from_secs_f64(object.getattr("call_seconds")?.extract()?)
            .map_err(|error| PyValueError::new_err(format!("call_seconds: {error}")))?;
        let batches = Batches { read: object.hasattr("read_pages")?, write: object.hasattr("write_pages")? };
        Ok(Self { object: object.clone().unbind(), flash, facts, spares, budget, batches, is_recovering: false })
    }

    /// This many blocks have failed before.
    pub(super) fn know_failed(&mut self, blocks: u32) {
        self.spares.used += blocks;
    }

    /// Has the scheme bring itself back. A block that it could not erase is marked bad: it holds
    /// nothing that is needed.
    pub(super) fn recover<D: Device>(mut self, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        for (index, erases) in self.facts.erases.iter_mut().enumerate() {
            *erases = flash.chip().erase_count(Pbn::new(index as u32));
        }
        self.is_recovering = true;
        self.call(flash, HostPages::NONE, &mut [], |object, flash, _| {
            object.call_method1("recover", (flash,)).map(nothing)
        })?;
        self.is_recovering = false;
        Ok(self)
    }

    /// Calls Python with a flash port and pages of the host in hand. What it answers goes to `out`.
    fn call<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        host: HostPages<'_, D>,
        out: &mut [D::Data],
        work: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, PyFlash>, Vec<InHand>) -> PyResult<Answer>,
    ) -> Result<(), FtlError> {
        let mut call = Call::new(flash);
        let in_hand = host.take(&mut call);
        let result = PORT.set(&mut call, || {
            Python::attach(|py| {
                let _watched = overdue::Watched::begin(py, self.budget);
                let result = work(self.object.bind(py), self.flash.bind(py), in_hand);
                result.map_err(|error| (error.is_instance_of::<FlashError>(py), in_words(py, &error)))
            })
        });
        let answer = result.map(|answer| hand_over(&call, answer, out));
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
            (Ok(handed_over), _) => handed_over,
            (Err((true, _)), Some(error)) => Err(self.let_through(flash, error)),
            (Err((_, message)), _) => Err(FtlError::Failed { message }),
        }
    }

    /// A block was erased or marked bad.
    fn note_change<D: Device>(&mut self, flash: &FlashPort<D>, pbn: Pbn) {
        self.facts.erases[pbn.index()] = flash.chip().erase_count(pbn);
        let used = &mut self.facts.uses[pbn.index()];
        if flash.chip().is_bad(pbn) && *used != BlockUse::Bad {
            *used = BlockUse::Bad;
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
        if self.batches.read {
            return self.call(flash, HostPages::NONE, out, |object, flash, _| {
                let method = object.getattr(intern!(object.py(), "read_pages"))?;
                let answer = method.call1((flash, request.lpn.get(), request.pages))?;
                Ok(Answer::Pages(pages_read(&method, &answer, request.pages)?))
            });
        }
        // The pages of a request share one attachment to the interpreter.
        Python::attach(|_| {
            flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
                self.call(flash, HostPages::NONE, &mut out[i..=i], |object, flash, _| {
                    let method = object.getattr(intern!(object.py(), "read"))?;
                    let answer = method.call1((flash, lpn.get()))?;
                    Ok(Answer::Page(page_read(&method, &answer)?))
                })
            })
        })
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.spares.admit()?;
        if self.batches.write {
            return self.call(flash, HostPages::new(request.lpn, data), &mut [], |object, flash, in_hand| {
                let pages = Bound::new(object.py(), PyPages::of_host(in_hand))?;
                object.call_method1(intern!(object.py(), "write_pages"), (flash, request.lpn.get(), pages)).map(nothing)
            });
        }
        Python::attach(|_| {
            flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
                self.call(flash, HostPages::new(lpn, &data[i..=i]), &mut [], |object, flash, in_hand| {
                    let page = Bound::new(object.py(), PyPage::of_host(in_hand[0]))?;
                    object.call_method1(intern!(object.py(), "write"), (flash, lpn.get(), page)).map(nothing)
                })
            })
        })
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        self.spares.admit()?;
        self.call(flash, HostPages::NONE, &mut [], |object, flash, _| {
            object.call_method1("trim", (flash, request.lpn.get(), request.pages)).map(nothing)
        })
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        if self.spares.admit().is_err() {
            return Ok(());
        }
        self.call(flash, HostPages::NONE, &mut [], |object, flash, _| {
            object.call_method1("flush", (flash,)).map(nothing)
        })
    }

    fn uses_idle_time(&self) -> bool {
        true
    }

    fn idle(&mut self, flash: &mut FlashPort<D>, budget: Nanos) -> Result<(), FtlError> {
        if self.spares.admit().is_err() {
            return Ok(());
        }
        self.call(flash, HostPages::NONE, &mut [], |object, flash, _| {
            object.call_method1("idle", (flash, budget.0)).map(nothing)
        })
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        let is_bad = flash.chip().is_bad(pbn);
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
        let structures =
            structures.map(|(name, ram_bytes)| RamStructure { name, ram_bytes, flash_bytes: 0, varies: false });
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
