//! Batches: many pages in one call from Python.
//!
//! Numbers of pages come as any sequence, or as an array that lends its memory, such as one of
//! `NumPy`. A batch does what the single calls do one after the other, and ends at the first page
//! for which they would raise. What was done before stays done, and the exception says how many
//! pages that were: `done`.

use flash::Role;
use ftl::{FtlError, Label};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PyMemoryView, PyRange, PySlice, PyTuple};

use super::device::{FlashDevice, PyPage, other_call, raised, with_port};
use super::port::{InHand, Program};

/// Pages that were read, or that the host writes, in order.
#[pyclass(frozen, name = "Pages", module = "ftlkit")]
pub(super) struct PyPages {
    /// None where nothing was to be read.
    pages: Vec<Option<PyPage>>,
}

/// Indices into a batch of pages: one, or several.
#[derive(FromPyObject)]
enum Index<'py> {
    One(isize),
    Some(Bound<'py, PySlice>),
}

impl PyPages {
    pub(super) fn of_host(in_hand: Vec<InHand>) -> Self {
        Self { pages: in_hand.into_iter().map(|page| Some(PyPage::of_host(page))).collect() }
    }

    pub(super) fn in_hand(&self) -> impl ExactSizeIterator<Item = Option<InHand>> {
        self.pages.iter().map(|page| page.as_ref().map(PyPage::in_hand))
    }
}

#[pymethods]
impl PyPages {
    /// The logical page of each.
    #[getter]
    fn lpns(&self) -> Vec<Option<u32>> {
        self.pages.iter().map(|page| page.as_ref().map(PyPage::lpn)).collect()
    }

    fn __len__(&self) -> usize {
        self.pages.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: Index<'py>) -> PyResult<Bound<'py, PyAny>> {
        let count = self.pages.len();
        match index {
            Index::One(index) => {
                let place = if index < 0 { count.checked_add_signed(index) } else { usize::try_from(index).ok() };
                let page = place.and_then(|place| self.pages.get(place));
                let page = page.ok_or_else(|| PyIndexError::new_err(format!("page {index} of {count}")))?;
                page.clone().into_pyobject(py)
            }
            Index::Some(slice) => {
                let range = slice.indices(count.cast_signed())?;
                let places = (0..range.slicelength).map(|i| range.start + i.cast_signed() * range.step);
                let pages = places.map(|place| self.pages[place.cast_unsigned()].clone()).collect();
                Ok(Bound::new(py, Self { pages })?.into_any())
            }
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.pages.iter().cloned())?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("Pages(lpns={:?})", self.lpns())
    }
}

/// What Python gave, up to the first of it that is refused.
struct Given<T> {
    items: Vec<T>,
    refused: Option<PyErr>,
}

impl<T> Given<T> {
    fn collect(items: impl Iterator<Item = PyResult<T>>) -> Self {
        let mut given = Self { items: Vec::with_capacity(items.size_hint().0), refused: None };
        for item in items {
            match item {
                Ok(item) => given.items.push(item),
                Err(error) => {
                    given.refused = Some(error);
                    break;
                }
            }
        }
        given
    }

    fn map<R>(self, accept: impl FnMut(T) -> PyResult<R>) -> Given<R> {
        let accepted = Given::collect(self.items.into_iter().map(accept));
        Given { items: accepted.items, refused: accepted.refused.or(self.refused) }
    }

    /// Puts what stands at the same places together, and needs as many of the one as of the other.
    fn zip<R>(self, other: Given<R>) -> PyResult<Given<(T, R)>> {
        let (count, others) = (self.items.len(), other.items.len());
        let refused = if others < count { other.refused.or(self.refused) } else { self.refused.or(other.refused) };
        if refused.is_none() && count != others {
            return Err(PyValueError::new_err(format!("{count} and {others} pages: a batch needs as many of both")));
        }
        Ok(Given { items: self.items.into_iter().zip(other.items).collect(), refused })
    }

    /// What came of a batch of which this many pages were done.
    fn finish(self, py: Python<'_>, done: usize, result: PyResult<()>) -> PyResult<()> {
        let failed = result.err().or(self.refused);
        failed.map_or(Ok(()), |error| {
            error.value(py).setattr("done", done)?;
            Err(error)
        })
    }
}

fn number(item: &Bound<'_, PyAny>) -> PyResult<i64> {
    item.extract()
}

/// The same, where no page is a number below 0.
fn number_or_none(item: &Bound<'_, PyAny>) -> PyResult<i64> {
    if item.is_none() { Ok(-1) } else { number(item) }
}

/// The numbers in a sequence or an array, each read by `number`.
fn numbers(sequence: &Bound<'_, PyAny>, number: fn(&Bound<'_, PyAny>) -> PyResult<i64>) -> PyResult<Given<i64>> {
    if let Ok(list) = sequence.cast::<PyList>() {
        return Ok(Given::collect(list.iter().map(|item| number(&item))));
    }
    if let Ok(tuple) = sequence.cast::<PyTuple>() {
        return Ok(Given::collect(tuple.iter().map(|item| number(&item))));
    }
    // A range lends no memory, and to find that out takes longer than to read it.
    let view = if sequence.is_exact_instance_of::<PyRange>() { None } else { PyMemoryView::from(sequence).ok() };
    if let Some(items) = view.map(|view| of_memory(&view)).transpose()?.flatten() {
        return Ok(Given { items, refused: None });
    }
    Ok(Given::collect(sequence.try_iter()?.map(|item| number(&item?))))
}

/// The numbers in an array; none if it is not one of whole numbers as the machine has them.
fn of_memory(view: &Bound<'_, PyMemoryView>) -> PyResult<Option<Vec<i64>>> {
    let py = view.py();
    let format = view.getattr(pyo3::intern!(py, "format"))?;
    let size: usize = view.getattr(pyo3::intern!(py, "itemsize"))?.extract()?;
    let is_signed = match (format.extract::<&str>()?, size) {
        ("i" | "l" | "q" | "h" | "b", _) => true,
        ("I" | "L" | "Q" | "H" | "B", 1..=4) => false,
        _ => return Ok(None),
    };
    let is_row = view.getattr(pyo3::intern!(py, "ndim"))?.extract::<usize>()? == 1;
    if !is_row || cfg!(target_endian = "big") {
        return Ok(None);
    }
    let bytes = view.call_method0(pyo3::intern!(py, "tobytes"))?;
    let unused = 64 - 8 * size as u32;
    let decode = |item: &[u8]| {
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(item);
        let number = i64::from_le_bytes(wide);
        if is_signed { number << unused >> unused } else { number }
    };
    Ok(Some(bytes.cast::<PyBytes>()?.as_bytes().chunks_exact(size).map(decode).collect()))
}

/// The pages in hand of a batch that Python gives back.
fn pages_in_hand(pages: &Bound<'_, PyAny>) -> PyResult<Given<InHand>> {
    let none = || PyTypeError::new_err("None is no page that can be programmed");
    if let Ok(pages) = pages.cast::<PyPages>() {
        return Ok(Given::collect(pages.get().in_hand().map(|page| page.ok_or_else(none))));
    }
    let in_hand = |page: PyResult<Bound<'_, PyAny>>| Ok(page?.cast::<PyPage>()?.get().in_hand());
    Ok(Given::collect(pages.try_iter()?.map(in_hand)))
}

pub(super) fn read_many(device: &FlashDevice, ppns: &Bound<'_, PyAny>) -> PyResult<PyPages> {
    let accept = |ppn| if ppn < 0 { Ok(None) } else { device.page_at(ppn).map(Some) };
    let given = numbers(ppns, number_or_none)?.map(accept);
    let mut pages = Vec::with_capacity(given.items.len());
    let result = with_port(|port| {
        let mut in_hand = Vec::with_capacity(given.items.len());
        let result = port.read_many(&given.items, &mut in_hand);
        let read = given.items.iter().zip(in_hand);
        pages.extend(read.map(|(ppn, page)| Some(PyPage { in_hand: page?, bytes: port.bytes((*ppn)?) })));
        result.map_err(|error| raised(&error))
    });
    given.finish(ppns.py(), pages.len(), result)?;
    Ok(PyPages { pages })
}

pub(super) fn program_many(
    device: &FlashDevice,
    ppns: &Bound<'_, PyAny>,
    pages: &Bound<'_, PyAny>,
    role: Option<Role>,
) -> PyResult<()> {
    let ppns_given = numbers(ppns, number)?.map(|ppn| device.page_at(ppn));
    let given = ppns_given.zip(pages_in_hand(pages)?)?.map(|(ppn, page)| {
        let label = role.map_or(page.label, |role| Label { role, ..page.label });
        Ok(Program { ppn, label, page })
    });
    let mut done = 0;
    let result = with_port(|port| match port.program_many(&given.items, &mut done) {
        Ok(true) => Ok(()),
        Ok(false) => Err(other_call()),
        Err(error) => Err(raised(&error)),
    });
    given.finish(ppns.py(), done, result)
}

pub(super) fn copy_many(device: &FlashDevice, ppns: &Bound<'_, PyAny>, to: &Bound<'_, PyAny>) -> PyResult<()> {
    let places = |given: Given<i64>| given.map(|ppn| device.page_at(ppn));
    let given = places(numbers(ppns, number)?).zip(places(numbers(to, number)?))?;
    let mut done = 0;
    let result = with_port(|port| port.copy_many(&given.items, &mut done).map_err(|error: FtlError| raised(&error)));
    given.finish(ppns.py(), done, result)
}
