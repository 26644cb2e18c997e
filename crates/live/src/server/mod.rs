//! The server: listens, serves clients, and stops in good order.
//!
//! ```text
//! listener thread ─▶ a reader and a writer thread a client ─▶ queue ─▶ engine thread ─▶ image
//! control thread, metrics thread ─────────────────────────────▶
//! ```
//!
//! Stopping: no more clients, no more requests; what was asked is served and answered; everything reaches the disk. Clients
//! that do not take their replies are waited for only so long.

mod connection;
mod control;
mod engine;
mod line;
mod metrics;
mod outbox;
mod queue;
mod record;
mod shared;
mod socket;
mod stat;
mod tls;

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flash::FaultPlan;
use serde::Serialize;

use crate::LiveError;
use crate::drive::{Drive, DriveOptions, HostCounts};
use crate::image::Image;
use crate::nbd::Export;

use engine::{End, Engine, Task};
use record::Recorder;
use shared::Shared;
use socket::{Listener, bind_unix, knock};
use tls::Certificates;

pub use control::{ControlRequest, FailureName, FaultRequest, TearName, call, control_path};
pub use socket::Address;
pub use stat::Stat;

/// How long clients may take to take their last replies.
const LAST_REPLIES: Duration = Duration::from_secs(5);
/// Clients at once when nothing else is said; each may take 8 MiB, or one request of 32 MiB.
pub const DEFAULT_CLIENTS: usize = 16;

/// How an image is served.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where it is.
    pub image: PathBuf,
    /// Where to listen.
    pub address: Address,
    /// Whether replies take the time of the modelled device.
    pub modelled: bool,
    /// Faults to come.
    pub plan: FaultPlan,
    /// Where to record what is served.
    pub record: Option<PathBuf>,
    /// Where to answer Prometheus.
    pub metrics: Option<SocketAddr>,
    /// A folder of certificates, to serve over TLS alone.
    pub tls: Option<PathBuf>,
    /// Clients at once.
    pub clients: usize,
    /// Whether to serve what is left of a damaged image.
    pub accept_damage: bool,
}

/// What a server says when it is ready.
#[derive(Clone, Debug, Serialize)]
pub struct Ready {
    /// For clients.
    pub uri: String,
    /// For Prometheus.
    pub metrics: Option<String>,
    /// Bytes that clients see.
    pub logical_bytes: u64,
    /// Name of the translation layer.
    pub ftl: String,
    /// How long the modelled device recovers before it answers, in seconds; zero without modelled latency.
    pub mount_s: f64,
    /// What was odd about the image.
    pub findings: Vec<String>,
}

/// What a server says when it has stopped.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Clients that were served.
    pub clients: u64,
    /// Requests and bytes.
    pub host: HostCounts,
    /// Whether everything reached the disk and the image was left in good order.
    pub is_saved: bool,
}

/// A server that runs.
pub struct Server {
    shared: Arc<Shared>,
    address: Address,
    control: PathBuf,
    metrics: Option<SocketAddr>,
    ready: Ready,
    engine: Option<JoinHandle<End>>,
    listeners: Vec<JoinHandle<()>>,
}

impl Server {
    /// Switches the image on, recovers its translation layer and listens.
    pub fn start(options: &ServeOptions) -> Result<Self, LiveError> {
        let tls = options.tls.as_deref().map(Certificates::read).transpose()?;
        let image = Image::open(&options.image)?;
        let recorder = options.record.as_deref().map(Recorder::start).transpose()?;
        let drive_options = DriveOptions {
            modelled: options.modelled,
            plan: options.plan.clone(),
            accept_damage: options.accept_damage,
        };
        let drive = Drive::start(image, drive_options)?;
        let export = Export {
            bytes: drive.len(),
            page_bytes: drive.page_bytes() as u32,
            is_read_only: false,
            description: format!("{} on {}", drive.description().ftl, options.image.display()),
        };
        let control = control_path(&options.image);
        let control_listener = bind_unix(&control, "another folder")?;
        let (listener, address) = Listener::bind(&options.address)?;
        let metrics = options.metrics.map(bind_metrics).transpose()?;
        let is_encrypted = tls.is_some();
        let shared = Arc::new(Shared::new(export, tls, options.clients));
        let ready = Ready {
            uri: address.uri(is_encrypted),
            metrics: metrics.as_ref().map(|(_, at)| format!("http://{at}/metrics")),
            logical_bytes: drive.len(),
            ftl: drive.description().ftl.clone(),
            mount_s: drive.now().0 as f64 / 1e9,
            findings: drive.findings().sentences(),
        };
        let engine = Engine::new(drive, Arc::clone(&shared), options.modelled, recorder);
        let mut server = Self {
            shared: Arc::clone(&shared),
            address,
            control,
            metrics: metrics.as_ref().map(|(_, at)| *at),
            ready,
            engine: Some(spawn("engine", move || engine.run())?),
            listeners: Vec::new(),
        };
        let for_clients = Arc::clone(&shared);
        server.listeners.push(spawn("listener", move || accept_clients(&listener, &for_clients))?);
        let for_callers = Arc::clone(&shared);
        server.listeners.push(spawn("control", move || control::answer_callers(&control_listener, &for_callers))?);
        if let Some((listener, _)) = metrics {
            server.listeners.push(spawn("metrics", move || metrics::answer_callers(&listener, &shared))?);
        }
        Ok(server)
    }

    /// What to tell whoever started it.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Whether it has ended by itself; [`stop`](Self::stop) then tells why.
    pub fn has_ended(&self) -> bool {
        self.engine.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops in good order and says what was saved.
    pub fn stop(mut self) -> Result<Summary, LiveError> {
        let end = self.end();
        match end {
            Some(Ok(Ok(drive))) => Ok(Summary {
                clients: self.shared.served_clients.load(Ordering::Relaxed),
                host: drive.served(),
                is_saved: drive.is_powered() && !self.shared.is_dark.load(Ordering::SeqCst),
            }),
            Some(Ok(Err((_, error)))) => Err(error),
            Some(Err(panic)) => Err(LiveError::Bug(format!("the server panicked: {}", words(&*panic)))),
            None => Err(LiveError::Bug("the server was stopped twice".into())),
        }
    }

    fn end(&mut self) -> Option<std::thread::Result<End>> {
        let engine = self.engine.take()?;
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        knock(&self.address);
        knock(&Address::Unix(self.control.clone()));
        if let Some(at) = self.metrics {
            knock(&Address::Tcp(at));
        }
        self.shared.each_client(connection::Connection::stop_reading);
        self.await_clients(&engine);
        self.shared.queue.push(Task::Stop);
        let end = engine.join();
        for listener in self.listeners.drain(..) {
            // It has no state that could be lost.
            let _ = listener.join();
        }
        // What is left of them would only be in the way; it was ours, by the lock on the image.
        let _ = std::fs::remove_file(&self.control);
        if let Address::Unix(path) = &self.address {
            let _ = std::fs::remove_file(path);
        }
        Some(end)
    }

    /// Clients get what they asked for, if they take it in time.
    fn await_clients(&self, engine: &JoinHandle<End>) {
        let until = Instant::now() + LAST_REPLIES;
        while self.shared.client_count() > 0 && Instant::now() < until && !engine.is_finished() {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.shared.each_client(connection::Connection::close);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Whoever lets go of a server without stopping it does not care how it ended.
        let _ = self.end();
    }
}

fn bind_metrics(at: SocketAddr) -> Result<(TcpListener, SocketAddr), LiveError> {
    let failed = |error: std::io::Error| {
        LiveError::user(format!("cannot listen on {at} for --metrics: {error}; choose another port"))
    };
    let listener = TcpListener::bind(at).map_err(failed)?;
    let at = listener.local_addr().map_err(failed)?;
    Ok((listener, at))
}

fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, LiveError> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(work)
        .map_err(|error| LiveError::user(format!("cannot start the {name} thread: {error}")))
}

fn accept_clients(listener: &Listener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.is_stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(socket) = accepted else {
            // Out of descriptors, most likely: clients that leave give some back.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        // Those that negotiate count too, so that nobody can open threads without end.
        if Arc::strong_count(shared) > HELD_BY_SERVER + 2 * shared.most_clients {
            continue;
        }
        let shared = Arc::clone(shared);
        // Without a thread the client is turned away, like one too many.
        let _ = std::thread::Builder::new().name("nbd reader".into()).spawn(move || connection::serve(socket, &shared));
    }
}

/// References to what is shared that are not a client's: server, engine, and three listeners.
const HELD_BY_SERVER: usize = 5;

/// The words of a panic.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without words".into())
}

/// Timers of this thread wake it when they say, not up to 50 µs later.
fn precise_timers() {
    // Where that cannot be had, replies are a little late.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}
