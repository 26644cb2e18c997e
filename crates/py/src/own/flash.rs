//! What Python holds of a device: its shape (`FlashDevice`), and flash during a call (`Flash`).

use std::sync::Arc;

use flash::{Geometry, MediaEvent, Pbn, Ppn, Role, Scan, Tag};
use ftl::{Cause, FtlError, Label, Layout};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

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

/// The causes that a scheme may charge.
fn cause_of(name: &str) -> PyResult<Cause> {
    let charged = || Cause::ALL.into_iter().filter(|cause| !cause.facts().is_shells);
    charged().find(|cause| cause.name() == name).ok_or_else(|| {
        let known: Vec<_> = charged().map(Cause::name).collect();
        PyValueError::new_err(format!("no cause is called {name:?}: choose from {}", known.join(", ")))
    })
}

fn role_of(name: &str) -> PyResult<Role> {
    ROLES.iter().find(|(known, _)| *known == name).map(|(_, role)| *role).ok_or_else(|| {
        let known = ROLES.map(|(name, _)| name).join(", ");
        PyValueError::new_err(format!("no role of a page is called {name:?}: choose from {known}"))
    })
}

fn name_of(role: Role) -> &'static str {
    ROLES.iter().find(|(_, known)| *known == role).map_or("other", |(name, _)| name)
}

/// The exception of an operation that failed.
fn raised(error: &FtlError) -> PyErr {
    let message = error.to_string();
    match error.media_event() {
        Some(MediaEvent::PowerCut) => PowerCut::new_err(message),
        Some(MediaEvent::ProgramFailed(_)) => ProgramFailed::new_err(message),
        Some(MediaEvent::EraseFailed(_)) => EraseFailed::new_err(message),
        Some(MediaEvent::Uncorrectable(_)) => Uncorrectable::new_err(message),
        _ => RuleBroken::new_err(message),
    }
}

/// Does something with the port of the call in hand.
fn with_port<R>(work: impl FnOnce(&mut dyn Port) -> PyResult<R>) -> PyResult<R> {
    if !PORT.is_set() {
        return Err(PyRuntimeError::new_err(
            "flash can be used only while read, write, trim, flush, idle or recover runs, and on its thread",
        ));
    }
    PORT.with(|port| work(port))
}

/// The same, for an operation of flash.
fn operate<R>(work: impl FnOnce(&mut dyn Port) -> Result<R, FtlError>) -> PyResult<R> {
    with_port(|port| work(port).map_err(|error| raised(&error)))
}

/// A page that was read, or that the host writes; it can be programmed while the call lasts.
#[pyclass(frozen, name = "Page", module = "ftlkit")]
pub(super) struct PyPage {
    in_hand: InHand,
    bytes: Option<Arc<[u8]>>,
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
    fn lpn(&self) -> u32 {
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
struct PyTag {
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

impl FlashDevice {
    fn block(&self, block: u32) -> PyResult<Pbn> {
        let blocks = self.geometry.blocks();
        if block < blocks {
            return Ok(Pbn::new(block));
        }
        Err(RuleBroken::new_err(format!("block {block} is not on the device, which has blocks 0 to {}", blocks - 1)))
    }

    fn page_at(&self, ppn: u32) -> PyResult<Ppn> {
        let pages = self.geometry.pages();
        if ppn < pages {
            return Ok(Ppn::new(ppn));
        }
        Err(RuleBroken::new_err(format!("page {ppn} is not on the device, which has pages 0 to {}", pages - 1)))
    }

    /// Refuses what a tag says of no logical page.
    fn checked_label(&self, lpn: u32, pages: u32, role: Role) -> PyResult<Label> {
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
    fn page_size(&self) -> u32 {
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

/// Flash, while a call of the scheme lasts.
#[pyclass(frozen, name = "Flash", module = "ftlkit")]
pub(super) struct PyFlash {
    #[pyo3(get)]
    device: FlashDevice,
}

impl PyFlash {
    pub(super) fn of(device: FlashDevice) -> Self {
        Self { device }
    }
}

#[pymethods]
impl PyFlash {
    /// Reads a page. Raises `Uncorrectable` if its content is lost.
    fn read(&self, ppn: u32) -> PyResult<PyPage> {
        let ppn = self.device.page_at(ppn)?;
        operate(|port| Ok(PyPage { in_hand: port.read(ppn)?, bytes: port.bytes(ppn) }))
    }

    /// Programs a page that was read or that the host writes. It keeps its logical page, and a copy
    /// its version and, unless another is given, its role. Raises `ProgramFailed` if the block
    /// fails.
    #[pyo3(signature = (ppn, page, *, role = None))]
    fn program(&self, ppn: u32, page: &PyPage, role: Option<&str>) -> PyResult<()> {
        let ppn = self.device.page_at(ppn)?;
        let label = page.in_hand.label;
        let label = role.map(role_of).transpose()?.map_or(label, |role| Label { role, ..label });
        if operate(|port| port.program(ppn, label, page.in_hand()))? {
            return Ok(());
        }
        Err(PyRuntimeError::new_err("a page can be programmed only in the call in which it was read: read it again"))
    }

    /// Copies a page as it is. One that cannot be read becomes a lost page: reading it goes on
    /// being an error.
    fn copy(&self, ppn: u32, to: u32) -> PyResult<()> {
        let (from, to) = (self.device.page_at(ppn)?, self.device.page_at(to)?);
        operate(|port| port.copy(from, to))
    }

    /// Programs a page of the scheme's own, such as a part of its map: at most a page of bytes.
    #[pyo3(signature = (ppn, number, content, *, role = "translation"))]
    fn program_bytes(&self, ppn: u32, number: u32, content: &[u8], role: &str) -> PyResult<()> {
        let ppn = self.device.page_at(ppn)?;
        let size = self.device.page_size() as usize;
        if content.len() > size {
            return Err(PyValueError::new_err(format!("{} bytes: a page has {size}", content.len())));
        }
        let label = Label::new(number, role_of(role)?);
        operate(|port| port.program_bytes(ppn, label, content))
    }

    /// Programs a page which says that logical pages were trimmed, so that recovery knows.
    fn program_trim(&self, ppn: u32, lpn: u32, pages: u32) -> PyResult<()> {
        let ppn = self.device.page_at(ppn)?;
        let label = self.device.checked_label(lpn, pages, Role::Trimmed)?;
        operate(|port| port.program_bytes(ppn, label, &[]))
    }

    /// Erases a block. Raises `EraseFailed` if it fails.
    fn erase(&self, block: u32) -> PyResult<()> {
        let pbn = self.device.block(block)?;
        operate(|port| port.erase(pbn))
    }

    /// Reads the tag of a page, whatever state it is in: none if it is erased.
    fn scan(&self, ppn: u32) -> PyResult<Option<PyTag>> {
        let ppn = self.device.page_at(ppn)?;
        Ok(match operate(|port| port.scan(ppn))? {
            Scan::Erased => None,
            Scan::Programmed(tag) => Some(tag.into()),
            Scan::Unreadable => Some(PyTag { lpn: 0, pages: 0, role: "unreadable", seq: 0, version: 0 }),
        })
    }

    /// Marks a block bad for good: what it holds can still be read.
    fn retire(&self, block: u32) -> PyResult<()> {
        let pbn = self.device.block(block)?;
        with_port(|port| {
            port.retire(pbn);
            Ok(())
        })
    }

    /// The lowest page offset of a block that can be programmed next.
    fn next_page(&self, block: u32) -> PyResult<u32> {
        let pbn = self.device.block(block)?;
        with_port(|port| Ok(port.next_page(pbn)))
    }

    /// How often a block has been erased.
    fn erase_count(&self, block: u32) -> PyResult<u32> {
        let pbn = self.device.block(block)?;
        with_port(|port| Ok(port.erase_count(pbn)))
    }

    /// Whether a block is bad.
    fn is_bad(&self, block: u32) -> PyResult<bool> {
        let pbn = self.device.block(block)?;
        with_port(|port| Ok(port.is_bad(pbn)))
    }

    /// How long reading a page would take now, waiting included, in nanoseconds: an estimate.
    fn estimate_read_ns(&self, ppn: u32) -> PyResult<u64> {
        let ppn = self.device.page_at(ppn)?;
        with_port(|port| Ok(port.estimate_read(ppn).0))
    }

    /// Charges the operations of a `with` block to a cause, such as `collection`.
    #[expect(clippy::unused_self, reason = "a method of flash, for those who write a scheme")]
    fn cause(&self, name: &str) -> PyResult<Scope> {
        Ok(Scope { cause: Some(cause_of(name)?) })
    }

    /// The host does not wait for what is done in a `with` block, but the flash is busy with it.
    #[expect(clippy::unused_self, reason = "a method of flash, for those who write a scheme")]
    fn background(&self) -> Scope {
        Scope { cause: None }
    }
}

/// A `with` block of operations that have something in common.
#[pyclass(frozen, name = "Scope", module = "ftlkit")]
struct Scope {
    /// They are charged to this cause; without one, the host does not wait for them.
    cause: Option<Cause>,
}

#[pymethods]
impl Scope {
    fn __enter__(&self) -> PyResult<()> {
        with_port(|port| {
            match self.cause {
                Some(cause) => port.begin_cause(cause),
                None => port.begin_background(),
            }
            Ok(())
        })
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        with_port(|port| {
            match self.cause {
                Some(_) => port.end_cause(),
                None => port.end_background(),
            }
            Ok(())
        })
    }
}

/// Adds classes and exceptions to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<FlashDevice>()?;
    module.add_class::<PyFlash>()?;
    module.add_class::<PyPage>()?;
    module.add_class::<PyTag>()?;
    module.add_class::<Scope>()?;
    module.add("FlashError", py.get_type::<FlashError>())?;
    module.add("PowerCut", py.get_type::<PowerCut>())?;
    module.add("ProgramFailed", py.get_type::<ProgramFailed>())?;
    module.add("EraseFailed", py.get_type::<EraseFailed>())?;
    module.add("Uncorrectable", py.get_type::<Uncorrectable>())?;
    module.add("RuleBroken", py.get_type::<RuleBroken>())
}
