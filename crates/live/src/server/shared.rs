//! What all threads of one server share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ftl::Nanos;
use serde::Serialize;
use sim::{Latency, Responses};

use super::client::Connection;
use super::queue::{Queue, Task};
use super::socket::{Limits, Socket};
use super::tls::Certificates;
use crate::nbd::{Export, Refusal};

/// Whether the device has power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    On,
    /// The translation layer is being recovered; requests wait.
    Returning,
    /// Until somebody restores it.
    Off,
}

/// What all threads of one server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) export: Export,
    pub(crate) queue: Queue<Task>,
    pub(crate) tls: Option<Certificates>,
    pub(crate) most_clients: usize,
    pub(crate) served_clients: AtomicU64,
    pub(crate) limits: Limits,
    /// No more clients are let in.
    pub(crate) is_stopping: AtomicBool,
    power: Mutex<Power>,
    power_changed: Condvar,
    started: Instant,
    clients: Mutex<Clients>,
    /// How much later replies left than the modelled device would have answered.
    lateness: Mutex<Latency>,
    /// What the local client says of its files.
    files: Mutex<Option<FilesStat>>,
}

/// The clients that are connected, and the most that may be.
#[derive(Debug, Default)]
struct Clients {
    connections: Vec<Arc<Connection>>,
    /// Places of those who are about to be.
    reserved: usize,
}

/// A place for a client; free again when it is dropped without having been taken.
#[derive(Debug)]
pub(crate) struct ClientReservation<'a> {
    shared: &'a Shared,
}

impl Drop for ClientReservation<'_> {
    fn drop(&mut self) {
        self.shared.clients().reserved -= 1;
    }
}

impl Shared {
    pub(crate) fn new(
        export: Export,
        tls: Option<Certificates>,
        most_clients: usize,
        limits: Limits,
        modelled: bool,
    ) -> Self {
        Self {
            export,
            queue: Queue::new(modelled),
            tls,
            most_clients,
            served_clients: AtomicU64::new(0),
            limits,
            is_stopping: AtomicBool::new(false),
            power: Mutex::new(Power::On),
            power_changed: Condvar::new(),
            started: Instant::now(),
            clients: Mutex::default(),
            lateness: Mutex::default(),
            files: Mutex::default(),
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

    /// How much later replies left than the modelled device would have answered; nothing without
    /// modelled latency.
    pub(crate) fn lateness(&self) -> Responses {
        self.lateness.lock().unwrap_or_else(PoisonError::into_inner).responses()
    }

    /// What the local client said last of its files.
    pub(crate) fn files(&self) -> Option<FilesStat> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores what the local client says of its files.
    pub(crate) fn set_files(&self, files: FilesStat) {
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = Some(files);
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the device has power.
    pub(crate) fn power(&self) -> Power {
        *self.power.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the engine alone.
    pub(crate) fn set_power(&self, power: Power) {
        *self.power.lock().unwrap_or_else(PoisonError::into_inner) = power;
        self.power_changed.notify_all();
    }

    /// A client asks to be served: a place, or why there is none. Waits for a recovery to end, for
    /// half of the time that the client has left to shake hands.
    pub(crate) fn reserve(&self, socket: &Socket) -> Result<ClientReservation<'_>, Refusal> {
        let power = self.power.lock().unwrap_or_else(PoisonError::into_inner);
        let is_returning = |power: &mut Power| *power == Power::Returning;
        let waited = self.power_changed.wait_timeout_while(power, socket.time_left() / 2, is_returning);
        let power = *waited.unwrap_or_else(PoisonError::into_inner).0;
        let mut clients = self.clients();
        if self.is_stopping.load(Ordering::SeqCst) {
            return Err(Refusal::ShutDown("the server is stopping".into()));
        }
        match power {
            Power::On => {}
            Power::Returning => {
                let why = "the device recovers from a power cut; try again in a moment";
                return Err(Refusal::ShutDown(why.into()));
            }
            Power::Off => {
                let why = "the device has no power; `ftlkit fault IMAGE restore` gives it back";
                return Err(Refusal::ShutDown(why.into()));
            }
        }
        if clients.connections.len() + clients.reserved >= self.most_clients {
            let most = self.most_clients;
            return Err(Refusal::Policy(format!(
                "{most} clients are served already, which is the limit; try again when one has left, or serve with a higher --clients"
            )));
        }
        clients.reserved += 1;
        Ok(ClientReservation { shared: self })
    }

    /// A client takes its place; false if the server is stopping.
    pub(crate) fn enter(&self, connection: &Arc<Connection>, place: ClientReservation<'_>) -> bool {
        let mut clients = self.clients();
        if self.is_stopping.load(Ordering::SeqCst) {
            drop(clients);
            return false;
        }
        clients.connections.push(Arc::clone(connection));
        drop(clients);
        drop(place);
        self.served_clients.fetch_add(1, Ordering::Relaxed);
        true
    }

    pub(crate) fn leave(&self, connection: &Arc<Connection>) {
        self.clients().connections.retain(|client| !Arc::ptr_eq(client, connection));
    }

    /// Clients that are served now.
    pub(crate) fn client_count(&self) -> usize {
        self.clients().connections.len()
    }

    pub(crate) fn each_client(&self, act: impl Fn(&Connection)) {
        self.clients().connections.iter().for_each(|client| act(client));
    }
}

/// What a mounted file system says of its files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FilesStat {
    /// Where it is mounted.
    pub mounted_at: String,
    /// Intervals of the analyzer that have ended.
    pub intervals: u64,
    /// The highest degree, T.
    pub degrees: u8,
    /// All types of files that were seen in the last interval, by name.
    pub types: Vec<TypeStat>,
}

/// A type of file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TypeStat {
    /// Its extension with a dot, or another name for files without one.
    pub file_type: String,
    /// How hot it is: 0 for what is never written again, to T.
    pub degree: u8,
    /// S: active files.
    pub active: u64,
    /// f: writes to a file that are expected in an interval.
    pub f: f64,
}
