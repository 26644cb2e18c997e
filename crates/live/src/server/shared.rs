//! What all threads of one server share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ftl::Nanos;
use sim::{Latency, Responses};

use super::connection::Connection;
use super::engine::Task;
use super::queue::Queue;
use super::tls::Certificates;
use crate::nbd::Export;

/// What all threads of one server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) export: Export,
    pub(crate) queue: Queue<Task>,
    pub(crate) tls: Option<Certificates>,
    pub(crate) most_clients: usize,
    pub(crate) served_clients: AtomicU64,
    /// No more clients are let in.
    pub(crate) is_stopping: AtomicBool,
    /// The device has no power: no clients are let in until it has.
    pub(crate) is_dark: AtomicBool,
    started: Instant,
    clients: Mutex<Vec<Arc<Connection>>>,
    /// How much later replies left than the modelled device would have answered.
    lateness: Mutex<Latency>,
    /// Held while the power is lost and restored.
    recovery: Mutex<()>,
}

impl Shared {
    pub(crate) fn new(export: Export, tls: Option<Certificates>, most_clients: usize) -> Self {
        Self {
            export,
            queue: Queue::new(),
            tls,
            most_clients,
            served_clients: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            is_dark: AtomicBool::new(false),
            started: Instant::now(),
            clients: Mutex::default(),
            lateness: Mutex::default(),
            recovery: Mutex::default(),
        }
    }

    /// Time since the server started.
    pub(crate) fn clock(&self) -> Nanos {
        Nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// The moment of the wall clock at a time since the server started.
    pub(crate) fn moment(&self, at: Nanos) -> Instant {
        self.started + std::time::Duration::from_nanos(at.0)
    }

    /// Replies that were due at these moments have left now.
    pub(crate) fn left(&self, due: &[Instant]) {
        if due.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut lateness = self.lateness.lock().unwrap_or_else(PoisonError::into_inner);
        for &due in due {
            lateness.record(now.saturating_duration_since(due).as_nanos() as u64);
        }
    }

    /// How much later replies left than the modelled device would have answered; nothing without modelled latency.
    pub(crate) fn lateness(&self) -> Responses {
        self.lateness.lock().unwrap_or_else(PoisonError::into_inner).responses()
    }

    fn clients(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the engine: clients that come from now on wait at the door until this is let go of.
    pub(crate) fn recovery(&self) -> MutexGuard<'_, ()> {
        self.recovery.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client has negotiated; false when there is no place for it. Waits for a recovery to end.
    pub(crate) fn enter(&self, connection: &Arc<Connection>) -> bool {
        drop(self.recovery());
        let mut clients = self.clients();
        let refused = self.is_stopping.load(Ordering::SeqCst) || self.is_dark.load(Ordering::SeqCst);
        if refused || clients.len() >= self.most_clients {
            return false;
        }
        clients.push(Arc::clone(connection));
        self.served_clients.fetch_add(1, Ordering::Relaxed);
        true
    }

    pub(crate) fn leave(&self, connection: &Arc<Connection>) {
        self.clients().retain(|client| !Arc::ptr_eq(client, connection));
    }

    /// Clients that are served now.
    pub(crate) fn client_count(&self) -> usize {
        self.clients().len()
    }

    pub(crate) fn each_client(&self, act: impl Fn(&Connection)) {
        self.clients().iter().for_each(|client| act(client));
    }
}
