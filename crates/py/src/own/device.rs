//! What Python holds of a device: its shape, pages in hand, tags, and what failed.

use std::sync::Arc;

use flash::{Geometry, MediaEvent, Pbn, Ppn, Role, Tag};
use ftl::{FtlError, Label, Layout};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::port::{InHand, PORT, Port};
use crate::error::FtlkitError;

create_exception!(ftlkit._native, FlashError, FtlkitError, "A flash operation failed or was refused.");
create_exception!(ftlkit._native, PowerCut, FlashError, "The power is gone: nothing can be done any more.");
create_exception!(ftlkit._native, ProgramFailed, FlashError, "A page could not be programmed; its block is failing.");
create_exception!(ftlkit._native, EraseFailed, FlashError, "A block could not be erased; it is failing.");
create_exception!(ftlkit._native, Uncorrectable, FlashError, "A page could not be read: its content is lost.");
create_exception!(ftlkit._native, RuleBroken, FlashError, "The operation breaks a rule of NAND flash.");

/// What the roles of pages are called.
const ROLES: [(&str, Role); 6] = [
    ("data", Role::Data),
    ("collected", Role::Collected),
    ("log", Role::RandomLog),
    ("translation", Role::Translation),
    ("trimmed", Role::Trimmed),
    ("lost", Role::Lost),
];

pub(super) fn role_of(name: &str) -> PyResult<Role> {
    ROLES.iter().find(|(known, _)| *known == name).map(|(_, role)| *role).ok_or_else(|| {
        let known = ROLES.map(|(name, _)| name).join(", ");
        PyValueError::new_err(format!("no role of a page is called {name:?}: choose from {known}"))
    })
}

fn name_of(role: Role) -> &'static str {
    ROLES.iter().find(|(_, known)| *known == role).map_or("other", |(name, _)| name)
}

/// The exception of an operation that failed.
pub(super) fn raised(error: &FtlError) -> PyErr {
    let message = error.to_string();
    match error.media_event() {
        Some(MediaEvent::PowerCut) => PowerCut::new_err(message),
        Some(MediaEvent::ProgramFailed(_)) => ProgramFailed::new_err(message),
        Some(MediaEvent::EraseFailed(_)) => EraseFailed::new_err(message),
        Some(MediaEvent::Uncorrectable(_)) => Uncorrectable::new_err(message),
        _ => RuleBroken::new_err(message),
    }
}

/// The exception of a page that is no longer in hand.
pub(super) fn other_call() -> PyErr {
    PyRuntimeError::new_err("a page can be programmed only in the call in which it was read: read it again")
}

/// Does something with the port of the call in hand.
pub(super) fn with_port<R>(work: impl FnOnce(&mut dyn Port) -> PyResult<R>) -> PyResult<R> {
    if !PORT.is_set() {
        return Err(PyRuntimeError::new_err(
            "flash can be used only while read, write, trim, flush, idle or recover runs, and on its thread",
        ));
    }
    PORT.with(|port| work(port))
}

/// The same, for an operation of flash.
pub(super) fn operate<R>(work: impl FnOnce(&mut dyn Port) -> Result<R, FtlError>) -> PyResult<R> {
    with_port(|port| work(port).map_err(|error| raised(&error)))
}

/// A page that was read, or that the host writes; it can be programmed while the call lasts.
#[pyclass(frozen, name = "Page", module = "ftlkit")]
#[derive(Clone)]
pub(super) struct PyPage {
    pub(super) in_hand: InHand,
    pub(super) bytes: Option<Arc<[u8]>>,
}

impl PyPage {
    pub(super) fn of_host(in_hand: InHand) -> Self {
        Self { in_hand, bytes: None }
    }

    pub(super) fn in_hand(&self) -> InHand {
        self.in_hand
    }
}

#[pymethods]
impl PyPage {
    /// The logical page in its tag, or what a page of the scheme's own is about.
    #[getter]
    pub(super) fn lpn(&self) -> u32 {
        self.in_hand.label.logical
    }

    /// What `program_bytes` wrote, if this is such a page.
    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.bytes.as_ref().map(|bytes| PyBytes::new(py, bytes))
    }

    fn __repr__(&self) -> String {
        format!("Page(lpn={})", self.lpn())
    }
}

/// What a page's tag says.
#[pyclass(frozen, get_all, name = "Tag", module = "ftlkit")]
pub(super) struct PyTag {
    /// The logical page, or what a page of the scheme's own is about.
    lpn: u32,
    /// Logical pages that it speaks of: 1, but for a trim.
    pages: u32,
    /// `data`, `collected`, `log`, `translation`, `trimmed`, `lost`; `other` for what only built-in
    /// schemes write, and `unreadable` if the tag is damaged.
    role: &'static str,
    /// The place of the program among all.
    seq: u64,
    /// The `seq` under which the content was first written: copies keep it.
    version: u64,
}

#[pymethods]
impl PyTag {
    fn __repr__(&self) -> String {
        let Self { lpn, pages, role, seq, version } = self;
        format!("Tag(lpn={lpn}, pages={pages}, role={role:?}, seq={seq}, version={version})")
    }
}

impl PyTag {
    /// The tag of a page that is damaged.
    pub(super) const UNREADABLE: Self = Self { lpn: 0, pages: 0, role: "unreadable", seq: 0, version: 0 };
}

impl From<Tag> for PyTag {
    fn from(Tag { logical, extent, role, seq, version, .. }: Tag) -> Self {
        Self { lpn: logical, pages: extent, role: name_of(role), seq, version }
    }
}

/// The shape of a device, and what the host sees of it.
#[pyclass(frozen, name = "FlashDevice", module = "ftlkit")]
#[derive(Clone)]
pub(super) struct FlashDevice {
    geometry: Geometry,
    logical_pages: u32,
    good_blocks: Arc<[u32]>,
    in_use: bool,
    seed: u64,
}

impl From<&Layout> for FlashDevice {
    fn from(layout: &Layout) -> Self {
        Self {
            geometry: layout.geometry,
            logical_pages: layout.logical_pages,
            good_blocks: layout.good_blocks.iter().map(|pbn| pbn.get()).collect(),
            in_use: layout.in_use,
            seed: layout.seed,
        }
    }
}

fn off_device(ppn: i64, pages: u32) -> PyErr {
    RuleBroken::new_err(format!("page {ppn} is not on the device, which has pages 0 to {}", pages - 1))
}

impl FlashDevice {
    pub(super) fn block(&self, block: u32) -> PyResult<Pbn> {
        let blocks = self.geometry.blocks();
        if block < blocks {
            return Ok(Pbn::new(block));
        }
        Err(RuleBroken::new_err(format!("block {block} is not on the device, which has blocks 0 to {}", blocks - 1)))
    }

    pub(super) fn page_at(&self, ppn: impl Into<i64>) -> PyResult<Ppn> {
        let (ppn, pages) = (ppn.into(), self.geometry.pages());
        let place = u32::try_from(ppn).ok().filter(|&place| place < pages);
        place.map(Ppn::new).ok_or_else(|| off_device(ppn, pages))
    }

    /// Refuses what a tag says of no logical page.
    pub(super) fn checked_label(&self, lpn: u32, pages: u32, role: Role) -> PyResult<Label> {
        let end = u64::from(lpn) + u64::from(pages);
        if role != Role::Translation && (pages == 0 || end > u64::from(self.logical_pages)) {
            return Err(RuleBroken::new_err(format!(
                "logical pages {lpn} to {end} are not on the device, which has {}",
                self.logical_pages
            )));
        }
        Ok(Label { extent: pages, ..Label::new(lpn, role) })
    }
}

#[pymethods]
impl FlashDevice {
    /// Blocks, bad ones included.
    #[getter]
    fn blocks(&self) -> u32 {
        self.geometry.blocks()
    }

    /// Pages of a block.
    #[getter]
    fn pages_per_block(&self) -> u32 {
        self.geometry.pages_per_block()
    }

    /// Physical pages.
    #[getter]
    fn pages(&self) -> u32 {
        self.geometry.pages()
    }

    /// Bytes of a page.
    #[getter]
    pub(super) fn page_size(&self) -> u32 {
        self.geometry.page_size_bytes()
    }

    /// Dies.
    #[getter]
    fn dies(&self) -> u32 {
        self.geometry.dies()
    }

    /// Channels.
    #[getter]
    fn channels(&self) -> u32 {
        self.geometry.channels()
    }

    /// Logical pages that the host sees.
    #[getter]
    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// The blocks that are not bad, upwards.
    #[getter]
    fn good_blocks(&self) -> Vec<u32> {
        self.good_blocks.to_vec()
    }

    /// Whether it holds data already, which `recover` will find: refuse no such device.
    #[getter]
    fn in_use(&self) -> bool {
        self.in_use
    }

    /// A seed for whatever the scheme draws: the same for the same run.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// The block of a physical page.
    fn block_of(&self, ppn: u32) -> PyResult<u32> {
        Ok(self.geometry.block_of(self.page_at(ppn)?).get())
    }

    /// The physical page at a place of a block.
    fn page(&self, block: u32, offset: u32) -> PyResult<u32> {
        let pages = self.geometry.pages_per_block();
        if offset >= pages {
            return Err(RuleBroken::new_err(format!("page {offset} of block {block}: a block has {pages} pages")));
        }
        Ok(self.geometry.page(self.block(block)?, offset).get())
    }

    /// The die of a block.
    fn die_of(&self, block: u32) -> PyResult<u32> {
        Ok(self.geometry.die_of(self.block(block)?))
    }

    /// The channel of a die.
    fn channel_of(&self, die: u32) -> u32 {
        self.geometry.channel_of(die)
    }

    fn __repr__(&self) -> String {
        format!(
            "FlashDevice(dies={}, blocks={}, pages_per_block={}, logical_pages={})",
            self.geometry.dies(),
            self.geometry.blocks(),
            self.geometry.pages_per_block(),
            self.logical_pages
        )
    }
}

/// Adds classes and exceptions to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<FlashDevice>()?;
    module.add_class::<PyPage>()?;
    module.add_class::<PyTag>()?;
    let flash_error = py.get_type::<FlashError>();
    // Single calls have done nothing when they raise; batches say what they have.
    flash_error.setattr("done", 0)?;
    module.add("FlashError", flash_error)?;
    module.add("PowerCut", py.get_type::<PowerCut>())?;
    module.add("ProgramFailed", py.get_type::<ProgramFailed>())?;
    module.add("EraseFailed", py.get_type::<EraseFailed>())?;
    module.add("Uncorrectable", py.get_type::<Uncorrectable>())?;
    module.add("RuleBroken", py.get_type::<RuleBroken>())
}
