//! The wire between a thread that works and one that watches.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

/// Cancels work and shows how far it is. Made by the watcher, shared with one call.
#[pyclass(frozen, module = "ftlkit._native")]
#[derive(Default)]
pub(crate) struct Control {
    study: Arc<sim::Control>,
    reading: Arc<Reading>,
    campaign: Arc<Campaign>,
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

/// A line of progress: its label, how much is done, and of how much; 0 while that is unknown.
pub(crate) type Line = (String, u64, u64);

/// Progress of a campaign, which takes the time that it is given.
#[derive(Debug, Default)]
pub(crate) struct Campaign {
    cancelled: AtomicBool,
    lines: Mutex<Vec<Line>>,
    /// What it would hand over if it were stopped now.
    unfinished: Mutex<Option<String>>,
}

impl Campaign {
    /// Whether the work was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Keeps what there is so far, in case that the work is stopped and does not end.
    pub(crate) fn keep(&self, unfinished: String) {
        *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner) = Some(unfinished);
    }

    /// Shows these lines from now on.
    pub(crate) fn show(&self, lines: Vec<Line>) {
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = lines;
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

    /// The part that a campaign reports to.
    pub(crate) fn campaign(&self) -> Arc<Campaign> {
        Arc::clone(&self.campaign)
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
        self.campaign.cancelled.store(true, Ordering::Relaxed);
    }

    /// Say that this many studies run at once in processes: together they keep to the memory limit.
    fn share_memory(&self, studies: usize) {
        self.study.share_memory(studies);
    }

    /// What a campaign had so far when it was last asked; none for other work.
    fn unfinished(&self) -> Option<String> {
        self.campaign.unfinished.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// (label, done, total) of every piece of work; total is 0 while unknown.
    fn progress(&self) -> Vec<Line> {
        let mut lines: Vec<_> =
            self.study.progress().into_iter().map(|line| (line.label, line.done, line.total)).collect();
        if self.reading.started.load(Ordering::Relaxed) {
            lines.push(("requests".to_owned(), self.reading.done.load(Ordering::Relaxed), 0));
        }
        lines.extend(self.campaign.lines.lock().unwrap_or_else(PoisonError::into_inner).clone());
        lines
    }
}
