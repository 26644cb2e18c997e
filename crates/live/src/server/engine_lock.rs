//! Who runs the engine: its own thread, the reader of a client whose requests have just come, or
//! the local client.
//!
//! Who has requests and finds the engine free serves them and sends the replies: waking another
//! thread takes longer than serving a request. A reader goes on until its own requests are done,
//! serves what other clients ask meanwhile in their turns, and leaves what is left to the engine's
//! thread. If the engine is taken, its owner finds the requests in the queue.
//!
//! Nothing in the queue is forgotten. Who gives the engine back looks into the queue afterwards,
//! and who finds it taken has filled the queue before.
//!
//! With modelled latency replies wait for moments, so the engine's thread runs it alone.

use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use super::client::Connection;
use super::engine::{ClientTurns, End, Engine};
use super::queue::Task;
use super::shared::Shared;
use super::socket::precise_timers;
use crate::LiveError;

/// The engine of a server, while it runs.
pub(crate) struct EngineLock {
    shared: Arc<Shared>,
    /// None when it has ended.
    engine: Mutex<Option<Engine>>,
    /// Whether others than its own thread may run it.
    is_open: bool,
}

impl Debug for EngineLock {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineLock").field("is_open", &self.is_open).finish_non_exhaustive()
    }
}

impl EngineLock {
    pub(super) fn new(engine: Engine) -> Self {
        Self { shared: Arc::clone(&engine.shared), is_open: !engine.modelled, engine: Mutex::new(Some(engine)) }
    }

    /// What all threads of the server share.
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Gives the engine something to do. True if the caller is to run it now
    /// ([`run_here`](Self::run_here)).
    pub(super) fn hand_over(&self, task: Task) -> bool {
        if self.is_open {
            self.shared.queue.add(task);
        } else {
            self.shared.queue.push(task);
        }
        self.is_open
    }

    /// Runs the engine in this thread as long as there is something to do and the caller wants
    /// more, unless somebody else runs it, who then does what was asked.
    pub(super) fn run_here(&self, wants_more: impl Fn(&ClientTurns) -> bool) {
        let mut engine = match self.engine.try_lock() {
            Ok(engine) => engine,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        // It has ended.
        let Some(running) = engine.as_mut() else { return };
        run_guarded(running, |engine| engine.serve_while(wants_more));
        let is_called = running.needs_thread();
        drop(engine);
        if is_called || self.shared.queue.has_work() {
            self.shared.queue.call();
        }
    }

    /// Serves until told to stop, or until it cannot go on. The work of the engine's thread.
    pub(super) fn run(&self) -> End {
        precise_timers();
        let _closing = SendsAllAway(&self.shared);
        loop {
            let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(running) = engine.as_mut() else { unreachable!("only this thread takes the engine away") };
            let limit = run_guarded(running, |engine| {
                engine.serve_while(|_| true);
                engine.rest()
            });
            if let Some(end) = running.end.take()
                && let Some(ended) = engine.take()
            {
                drop(engine);
                return ended.finish(end);
            }
            drop(engine);
            self.shared.queue.wait(limit.flatten());
        }
    }
}

/// Runs the engine; a panic is its end.
fn run_guarded<T>(engine: &mut Engine, work: impl FnOnce(&mut Engine) -> T) -> Option<T> {
    // An engine that panicked is only taken apart.
    match catch_unwind(AssertUnwindSafe(|| work(engine))) {
        Ok(result) => Some(result),
        Err(panic) => {
            engine.end = Some(Err(LiveError::Bug(format!("the server panicked: {}", panic_text(&*panic)))));
            None
        }
    }
}

/// Present and later waiters for the engine are not kept waiting when it has ended, well or
/// not: clients are sent away, and nobody is let in any more.
struct SendsAllAway<'a>(&'a Shared);

impl Drop for SendsAllAway<'_> {
    fn drop(&mut self) {
        self.0.is_stopping.store(true, Ordering::SeqCst);
        self.0.queue.close();
        self.0.each_client(Connection::close);
    }
}

/// The message of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without words".into())
}
