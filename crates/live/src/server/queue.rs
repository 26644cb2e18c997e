//! The engine's work: filled by many threads, emptied by the thread that runs the engine, in
//! batches.
//!
//! It needs no bound of its own: each connection holds back requests beyond its share
//! (`client.rs`), and the number of connections is bounded.
//!
//! Who fills it wakes the engine's thread, except a reader that runs the engine itself
//! (`engine_lock.rs`). With modelled latency the engine's thread runs it alone, and stays awake for
//! a moment when there is nothing: under load something comes sooner than a thread wakes up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ftl::{Hint, Moment, Nanos, PendingEnd, Spares};

use super::client::Connection;
use super::commands::ControlRequest;
use crate::drive::{DriveError, Piece};
use crate::nbd::{Agreed, Command, Header};

/// How long to stay awake: about as long as waking up takes.
const AWAKE: Duration = Duration::from_micros(50);
/// Looks between two looks at the clock.
const LOOKS: u32 = 64;

/// A queue of work.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    filled: Condvar,
    /// Whether nobody will empty it any more.
    is_closed: AtomicBool,
    /// Whether something waits, for who looks without the lock.
    is_filled: AtomicBool,
    /// Whether to stay awake for a moment.
    stays_awake: bool,
}

#[derive(Debug)]
struct Waiting<T> {
    tasks: VecDeque<T>,
    /// Whether the engine's thread is called, whether or not something has come.
    is_called: bool,
}

impl<T> Queue<T> {
    /// A queue whose engine stays awake for a moment, if there is a core for that while others
    /// work.
    pub(crate) fn new(stays_awake: bool) -> Self {
        Self {
            waiting: Mutex::new(Waiting { tasks: VecDeque::new(), is_called: false }),
            filled: Condvar::new(),
            is_closed: AtomicBool::new(false),
            is_filled: AtomicBool::new(false),
            stays_awake: stays_awake && std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        // A thread that panicked while it held the lock left a queue: there is no state in between.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds work and wakes the engine's thread. The work is dropped at once when nobody will do it.
    pub(crate) fn push(&self, work: T) {
        // Also behind other work: the thread that added it may never do it.
        if self.add(work) > 0 {
            self.filled.notify_one();
        }
    }

    /// Adds work for the caller to do now, or for the thread that runs the engine. Returns how much
    /// waits.
    pub(crate) fn add(&self, work: T) -> usize {
        let mut waiting = self.lock();
        if self.is_closed.load(Ordering::Relaxed) {
            return 0;
        }
        waiting.tasks.push_back(work);
        self.is_filled.store(true, Ordering::Release);
        waiting.tasks.len()
    }

    /// Wakes the engine's thread.
    pub(crate) fn call(&self) {
        self.lock().is_called = true;
        self.filled.notify_one();
    }

    /// Whether something waits, asked with the lock: what was added before somebody found the
    /// engine taken is seen by who has just given it back.
    pub(crate) fn has_work(&self) -> bool {
        !self.lock().tasks.is_empty()
    }

    /// Drops what waits and what will come: nobody will do it.
    pub(crate) fn close(&self) {
        let mut waiting = self.lock();
        self.is_closed.store(true, Ordering::Relaxed);
        waiting.tasks.clear();
    }

    /// Takes everything that is there; `batch` must be empty and may stay so.
    pub(crate) fn take_ready(&self, batch: &mut VecDeque<T>) {
        if self.is_filled.load(Ordering::Acquire) {
            let mut waiting = self.lock();
            std::mem::swap(&mut waiting.tasks, batch);
            self.is_filled.store(false, Ordering::Release);
        }
    }

    /// Waits until something is there or the engine's thread is called, at most so long.
    pub(crate) fn wait(&self, limit: Option<Duration>) {
        if self.stays_awake && limit != Some(Duration::ZERO) {
            self.look_out();
        }
        let is_empty = |waiting: &mut Waiting<T>| waiting.tasks.is_empty() && !waiting.is_called;
        let waiting = self.lock();
        let mut waiting = match limit {
            None => self.filled.wait_while(waiting, is_empty).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                self.filled.wait_timeout_while(waiting, limit, is_empty).unwrap_or_else(PoisonError::into_inner).0
            }
        };
        waiting.is_called = false;
    }

    /// Waits awake for something to come.
    fn look_out(&self) {
        let until = Instant::now() + AWAKE;
        while !(0..LOOKS).any(|_| {
            std::hint::spin_loop();
            self.is_filled.load(Ordering::Acquire)
        }) && Instant::now() < until
        {}
    }
}

/// Something for the engine to do.
#[derive(Debug)]
pub(crate) enum Task {
    Serve(Box<ClientRequest>),
    /// A request of the local client.
    LocalRequest(Box<LocalRequest>),
    /// What the local client says of types of files.
    Rate(Vec<Hint>),
    /// It has renamed a file whose data lie in these ranges, with the hint for it from now on.
    Rename(Vec<(u64, u64)>, Hint),
    Control(ControlRequest, SyncSender<String>),
    Stop,
}

/// A client's request, checked, and how much of it is done.
#[derive(Debug)]
pub(crate) struct ClientRequest {
    pub(super) connection: Arc<Connection>,
    pub(super) agreed: Agreed,
    pub(super) command: Command,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) cookie: u64,
    pub(super) data: Bytes,
    pub(super) arrived: Nanos,
    pub(super) weight: usize,
    /// Bytes that are done.
    pub(super) done: u32,
    /// What they held, of a read.
    pub(super) read: Vec<Piece>,
    /// When the modelled device has its command.
    pub(super) taken: PendingEnd,
    /// When the modelled device is done with what is done.
    pub(super) end: Moment,
}

impl ClientRequest {
    pub(crate) fn new(
        connection: Arc<Connection>,
        agreed: Agreed,
        command: Command,
        header: &Header,
        data: Bytes,
        arrived: Nanos,
        weight: usize,
    ) -> Self {
        Self {
            connection,
            agreed,
            command,
            offset: header.offset,
            length: header.length,
            cookie: header.cookie,
            data,
            arrived,
            weight,
            done: 0,
            read: Vec::new(),
            taken: PendingEnd::NOTHING,
            end: Moment::ZERO,
        }
    }
}

/// Whose request it is: a connection, by identity.
#[derive(Clone, Debug)]
pub(super) struct Of(pub(super) Arc<Connection>);

impl PartialEq for Of {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Why a request of the local client was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalClientError {
    /// What the device says.
    Drive(DriveError),
    /// The power was cut and is back since the last answer: what was written and not flushed may
    /// be gone, this request too. It can be asked again.
    PowerWasCut,
    /// The server has ended.
    Ended,
}

/// A request of the local client.
#[derive(Debug)]
pub(crate) struct LocalRequest {
    pub(super) command: Command,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) data: Bytes,
    pub(super) hint: Hint,
    /// How often the power had come back, as far as the client knows.
    pub(super) power_ons: u64,
    pub(super) answer: SyncSender<Answer>,
}

/// The answer to a local request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(super) result: Result<Vec<Piece>, LocalClientError>,
    pub(super) power_ons: u64,
    /// When the modelled device would be done.
    pub(super) due: Option<Nanos>,
    pub(super) spares: Spares,
}
