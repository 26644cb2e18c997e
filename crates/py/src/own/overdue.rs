//! Calls of Python that last too long: an FTL that hangs must not hang the run.
//!
//! Each thread writes down which call it is in, and reads no clock for it. A watcher in Python
//! (`ftlkit.own.watchdog`) looks at all threads again and again. A call that it has seen for longer
//! than the call may take is overdue, and it raises an exception in its thread. So a call is ended
//! two looks late at most.
//!
//! Limit: calls do not nest. While one call makes another, only the inner one is watched.

use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Stands for no call.
const NONE: u64 = 0;

/// What a thread is doing.
struct Activity {
    /// Python's name of the thread.
    thread: u64,
    /// The call in hand, by its number on this thread.
    call: AtomicU64,
    /// How long it may take, in nanoseconds.
    budget_ns: AtomicU64,
}

/// What the watcher knows of a thread.
struct Sighting {
    activity: Weak<Activity>,
    /// The call that it was seen in.
    call: u64,
    /// When it was first seen in it.
    since: Instant,
    is_reported: bool,
}

/// The threads that have called Python, as they were last seen.
static SEEN: Mutex<Vec<Sighting>> = Mutex::new(Vec::new());

fn sightings() -> MutexGuard<'static, Vec<Sighting>> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static ACTIVITY: OnceCell<Arc<Activity>> = const { OnceCell::new() };
    static CALLS: Cell<u64> = const { Cell::new(NONE) };
}

/// What this thread does, which the watcher looks at from now on.
fn new_activity(py: Python<'_>) -> Arc<Activity> {
    let ident = py.import("threading").and_then(|threading| threading.call_method0("get_ident")?.extract());
    let activity = Activity { thread: ident.unwrap_or(0), call: AtomicU64::new(NONE), budget_ns: AtomicU64::new(0) };
    let activity = Arc::new(activity);
    let seen = Sighting { activity: Arc::downgrade(&activity), call: NONE, since: Instant::now(), is_reported: false };
    sightings().push(seen);
    activity
}

/// A call that is watched until this is dropped, on the thread that began it.
pub(super) struct Watched;

impl Watched {
    pub(super) fn begin(py: Python<'_>, budget: Duration) -> Self {
        let number = CALLS.get() + 1;
        CALLS.set(number);
        ACTIVITY.with(|activity| {
            let activity = activity.get_or_init(|| new_activity(py));
            let budget_ns = u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX);
            activity.budget_ns.store(budget_ns, Ordering::Relaxed);
            activity.call.store(number, Ordering::Release);
        });
        Self
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        ACTIVITY.with(|activity| {
            if let Some(activity) = activity.get() {
                activity.call.store(NONE, Ordering::Release);
            }
        });
    }
}

/// The threads whose calls of an FTL in Python last longer than they may. Each call is named once.
#[pyfunction]
pub(super) fn overdue_calls() -> Vec<u64> {
    let now = Instant::now();
    let mut threads = Vec::new();
    sightings().retain_mut(|sighting| {
        let Some(activity) = sighting.activity.upgrade() else { return false };
        let call = activity.call.load(Ordering::Acquire);
        if call != sighting.call {
            (sighting.call, sighting.since, sighting.is_reported) = (call, now, false);
        }
        let budget = Duration::from_nanos(activity.budget_ns.load(Ordering::Relaxed));
        if call != NONE && !sighting.is_reported && now - sighting.since >= budget {
            sighting.is_reported = true;
            threads.push(activity.thread);
        }
        true
    });
    threads
}
