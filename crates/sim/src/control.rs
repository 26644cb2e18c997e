//! The wire between a running study and its caller: progress out, cancellation in.
//!
//! A [`Control`] is shared between threads. The study announces its lines of progress once and then
//! only stores counts; a reader sees each count as it last was. Cancelling sets a flag, which every
//! run looks at at least every thousand requests.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared state of one study at a time.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    /// Studies that share the memory limit; 0 where nobody said so, which is one.
    sharers: AtomicUsize,
    lines: Mutex<Arc<[Line]>>,
}

/// One line of progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// `workload`, the label of a run, or that label with ` (precondition)`.
    pub label: String,
    /// Requests that are done.
    pub done: u64,
    /// Of this many; 0 while that is not known.
    pub total: u64,
}

#[derive(Debug)]
struct Line {
    label: String,
    done: AtomicU64,
    total: AtomicU64,
}

impl Control {
    /// A control of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that this many studies like this one run at once, in processes of their own: together
    /// they keep to the memory limit.
    pub fn share_memory(&self, studies: usize) {
        self.sharers.store(studies, Ordering::Relaxed);
    }

    /// How many studies share the memory limit, this one included.
    pub(crate) fn sharers(&self) -> usize {
        self.sharers.load(Ordering::Relaxed).max(1)
    }

    /// Asks the study to stop. It keeps finished runs.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the study was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// How far everything is, in the order of the study.
    pub fn progress(&self) -> Vec<Progress> {
        let read = |line: &Line| Progress {
            label: line.label.clone(),
            done: line.done.load(Ordering::Relaxed),
            total: line.total.load(Ordering::Relaxed),
        };
        self.lines().iter().map(read).collect()
    }

    /// Announces the lines of progress in place of earlier ones.
    pub(crate) fn announce(&self, labels: impl IntoIterator<Item = (String, u64)>) {
        let line = |(label, total)| Line { label, done: AtomicU64::new(0), total: AtomicU64::new(total) };
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = labels.into_iter().map(line).collect();
    }

    /// Says that a line is done.
    pub(crate) fn complete(&self, line: usize) {
        if let Some(line) = self.lines().get(line) {
            line.done.store(line.total.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// What reports for one line.
    pub(crate) fn reporter<'a>(&'a self, line: usize, order: Order<'a>) -> Reporter<'a> {
        Reporter { control: self, lines: self.lines(), line, order }
    }

    fn lines(&self) -> Arc<[Line]> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Which run this is among those that run side by side, and the first of them that failed. Later
/// ones need not go on: the error reported is always that of the first in order, whatever the
/// threads did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    pub(crate) index: usize,
    pub(crate) first_failed: &'a AtomicUsize,
}

impl Order<'_> {
    /// This run failed.
    pub(crate) fn fail(&self) {
        self.first_failed.fetch_min(self.index, Ordering::Relaxed);
    }
}

/// Stores the progress of one line and says when to stop.
pub(crate) struct Reporter<'a> {
    control: &'a Control,
    lines: Arc<[Line]>,
    line: usize,
    order: Order<'a>,
}

/// The study was asked to stop, or an earlier run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stopped;

impl Reporter<'_> {
    /// Stores how much is done; fails when there is no need to go on.
    pub(crate) fn report(&self, done: u64) -> Result<(), Stopped> {
        if let Some(line) = self.lines.get(self.line) {
            line.done.store(done, Ordering::Relaxed);
        }
        let overtaken = self.order.first_failed.load(Ordering::Relaxed) < self.order.index;
        if overtaken || self.control.is_cancelled() { Err(Stopped) } else { Ok(()) }
    }

    /// Stores how much there is to do.
    pub(crate) fn total(&self, total: u64) {
        if let Some(line) = self.lines.get(self.line) {
            line.total.store(total, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_what_was_last_reported_and_cancelling_stops_the_next_report() {
        let (control, failed) = (Control::new(), AtomicUsize::new(usize::MAX));
        assert_eq!(control.progress(), []);
        control.announce([("a".to_owned(), 10), ("b".to_owned(), 0)]);
        let order = Order { index: 0, first_failed: &failed };
        let reporter = control.reporter(1, order);
        reporter.total(20);
        reporter.report(7).expect("not cancelled");
        let line = |label: &str, done, total| Progress { label: label.into(), done, total };
        assert_eq!(control.progress(), [line("a", 0, 10), line("b", 7, 20)]);
        control.cancel();
        assert_eq!(reporter.report(8), Err(Stopped));
    }

    #[test]
    fn only_runs_after_the_first_failed_one_are_stopped() {
        let (control, failed) = (Control::new(), AtomicUsize::new(usize::MAX));
        let order = |index| Order { index, first_failed: &failed };
        order(2).fail();
        order(1).fail();
        order(3).fail();
        let stopped: Vec<_> = (0..4).map(|index| control.reporter(0, order(index)).report(0).is_err()).collect();
        assert_eq!(stopped, [false, false, true, true]);
    }
}
