//! Flash, as Python uses it while a call of a translation layer lasts.

use flash::{Role, Scan};
use ftl::{Cause, Label};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::batch::{self, PyPages};
use super::device::{FlashDevice, PyPage, PyTag, operate, other_call, role_of, with_port};

/// The causes that a scheme may charge.
fn cause_of(name: &str) -> PyResult<Cause> {
    let charged = || Cause::ALL.into_iter().filter(|cause| !cause.facts().is_shells);
    charged().find(|cause| cause.name() == name).ok_or_else(|| {
        let known: Vec<_> = charged().map(Cause::name).collect();
        PyValueError::new_err(format!("no cause is called {name:?}: choose from {}", known.join(", ")))
    })
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
        Err(other_call())
    }

    /// Copies a page as it is. One that cannot be read becomes a lost page: reading it goes on
    /// being an error.
    fn copy(&self, ppn: u32, to: u32) -> PyResult<()> {
        let (from, to) = (self.device.page_at(ppn)?, self.device.page_at(to)?);
        operate(|port| port.copy(from, to))
    }

    /// Reads pages, which start at the same moment. None, and in arrays a number below 0, stand for
    /// a page that was never written, and are None in the answer.
    fn read_many(&self, ppns: &Bound<'_, PyAny>) -> PyResult<PyPages> {
        batch::read_many(&self.device, ppns)
    }

    /// Programs pages, which start at the same moment.
    #[pyo3(signature = (ppns, pages, *, role = None))]
    fn program_many(&self, ppns: &Bound<'_, PyAny>, pages: &Bound<'_, PyAny>, role: Option<&str>) -> PyResult<()> {
        batch::program_many(&self.device, ppns, pages, role.map(role_of).transpose()?)
    }

    /// Copies pages one after the other.
    fn copy_many(&self, ppns: &Bound<'_, PyAny>, to: &Bound<'_, PyAny>) -> PyResult<()> {
        batch::copy_many(&self.device, ppns, to)
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
            Scan::Unreadable => Some(PyTag::UNREADABLE),
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

/// Adds classes to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyFlash>()?;
    module.add_class::<PyPages>()?;
    module.add_class::<Scope>()
}
