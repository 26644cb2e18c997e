//! Calls of Python that last too long: an FTL that hangs must not hang the run.
//!
//! Each call is listed with its thread and deadline. A watcher in Python (`ftlkit.own.watchdog`)
//! asks for those that are overdue, and raises an exception in their threads.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// The calls in hand, by number: Python's name of the thread, and the deadline.
static CALLS: Mutex<Calls> = Mutex::new(Calls { next: 0, in_hand: BTreeMap::new() });

struct Calls {
    next: u64,
    in_hand: BTreeMap<u64, (u64, Instant)>,
}

fn calls() -> MutexGuard<'static, Calls> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// What Python calls this thread; 0 as long as nobody asked.
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

fn thread(py: Python<'_>) -> u64 {
    let known = THREAD.get();
    if known != 0 {
        return known;
    }
    let ident = py.import("threading").and_then(|threading| threading.call_method0("get_ident")?.extract());
    let ident = ident.unwrap_or(0);
    THREAD.set(ident);
    ident
}

/// A call that is listed until this is dropped.
pub(super) struct Watched(u64);

impl Watched {
    pub(super) fn begin(py: Python<'_>, budget: Duration) -> Self {
        let thread = thread(py);
        let mut calls = calls();
        calls.next += 1;
        let number = calls.next;
        if let Some(deadline) = Instant::now().checked_add(budget) {
            calls.in_hand.insert(number, (thread, deadline));
        }
        Self(number)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        calls().in_hand.remove(&self.0);
    }
}

/// The threads whose calls of an FTL in Python last longer than they may. Each call is named once.
#[pyfunction]
pub(super) fn overdue_calls() -> Vec<u64> {
    let now = Instant::now();
    let mut calls = calls();
    let mut threads = Vec::new();
    calls.in_hand.retain(|_, &mut (thread, deadline)| {
        if deadline <= now {
            threads.push(thread);
        }
        deadline > now
    });
    threads
}
