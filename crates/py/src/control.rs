//! The wire between a thread that works and one that watches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::prelude::*;

/// Cancels work and shows how far it is. Made by the watcher, shared with one call.
#[pyclass(frozen, module = "ftlkit._native")]
#[derive(Default)]
pub(crate) struct Control {
    study: Arc<sim::Control>,
    reading: Arc<Reading>,
}

/// Progress of a tool that goes over requests one by one.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    cancelled: AtomicBool,
    started: AtomicBool,
    done: AtomicU64,
}

impl Reading {
    /// Counts one more request; false when the work was cancelled.
    pub(crate) fn go_on(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed);
        !self.cancelled.load(Ordering::Relaxed)
    }

    /// Work has begun: it shows from now on.
    pub(crate) fn start(&self) {
        self.started.store(true, Ordering::Relaxed);
    }
}

impl Control {
    /// The part that a study reports to.
    pub(crate) fn study(&self) -> Arc<sim::Control> {
        Arc::clone(&self.study)
    }

    /// The part that a tool reports to.
    pub(crate) fn reading(&self) -> Arc<Reading> {
        Arc::clone(&self.reading)
    }
}

#[pymethods]
impl Control {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ask the work to stop at the next request.
    fn cancel(&self) {
        self.study.cancel();
        self.reading.cancelled.store(true, Ordering::Relaxed);
    }

    /// (label, done, total) of every piece of work; total is 0 while unknown.
    fn progress(&self) -> Vec<(String, u64, u64)> {
        let mut lines: Vec<_> = self.study.progress().into_iter().map(|line| (line.label, line.done, line.total)).collect();
        if self.reading.started.load(Ordering::Relaxed) {
            lines.push(("requests".to_owned(), self.reading.done.load(Ordering::Relaxed), 0));
        }
        lines
    }
}
