//! The server: listens, serves clients, and stops in good order.
//!
//! ```text
//! listener threads ─▶ a reader and a writer thread a client ─▶ queue ─▶ engine ─▶ image
//!                  └▶ a thread a caller of control and metrics ▶
//! ```
//!
//! The engine has a thread of its own. Without modelled latency a reader mostly runs it instead, to
//! serve its client (`engine_lock.rs`).
//!
//! The server waits for each peer only until a deadline ([`Limits`]), and no one's connections keep
//! others out (`accept.rs`).
//!
//! Stopping: no more clients, no more requests; what was asked is served and answered; everything
//! reaches the disk. Clients that do not take their replies are waited for only so long.

mod accept;
mod client;
mod commands;
mod connection;
mod control;
mod engine;
mod engine_lock;
mod fair_queue;
mod listener;
mod local_client;
mod queue;
mod record;
mod shared;
mod socket;
mod stat;
mod stream;
mod tls;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flash::FaultPlan;
use serde::Serialize;

use crate::LiveError;
use crate::drive::{DriveOptions, HostCounts, LiveDrive};
use crate::image::Image;
use crate::nbd::Export;

use accept::{Bell, Peers};
use engine::{End, Engine};
use engine_lock::{EngineLock, panic_text};
use listener::Listener;
use queue::Task;
use record::Recorder;
use shared::{Power, Shared};
use socket::Socket;
use tls::Certificates;

pub use commands::{ControlRequest, FailureName, FaultRequest, TearName};
pub use control::{call, control_path};
pub use listener::Address;
pub use local_client::LocalClient;
pub use queue::LocalClientError;
pub use shared::{FilesStat, TypeStat};
pub use socket::Limits;
pub use stat::Stat;

/// How long clients may take to take their last replies.
const LAST_REPLIES: Duration = Duration::from_secs(5);
/// Clients at once when nothing else is said; each may take 8 MiB, or one request of 32 MiB.
pub const DEFAULT_CLIENTS: usize = 16;

/// How an image is served.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is given or not, as on the command line")]
pub struct ServeOptions {
    /// The path of the image.
    pub image: PathBuf,
    /// Where to listen; nowhere for one that is reached through its [`LocalClient`] alone.
    pub address: Option<Address>,
    /// Whether replies take the time of the modelled device.
    pub modelled: bool,
    /// Faults to come.
    pub plan: FaultPlan,
    /// Where to record what is served: a file that is not there yet.
    pub record: Option<PathBuf>,
    /// Where to answer Prometheus.
    pub metrics: Option<SocketAddr>,
    /// A folder of certificates, to serve over TLS alone.
    pub tls: Option<PathBuf>,
    /// Clients at once.
    pub clients: usize,
    /// How long a client may keep the server waiting.
    pub limits: Limits,
    /// Whether to serve a damaged image.
    pub accept_damage: bool,
    /// Whether to serve it for reading alone, and leave it as it is.
    pub read_only: bool,
    /// Whether other hosts may be let in without TLS, and keys be used that everybody can read.
    pub insecure: bool,
}

/// What a server says when it is ready.
#[derive(Clone, Debug, Serialize)]
pub struct Ready {
    /// For clients; none where it does not listen.
    pub uri: Option<String>,
    /// For Prometheus.
    pub metrics: Option<String>,
    /// Bytes that clients see.
    pub logical_bytes: u64,
    /// Name of the translation layer.
    pub ftl: String,
    /// How long the modelled device recovers before it answers, in seconds; zero without modelled
    /// latency.
    pub mount_s: f64,
    /// Whether it is served for reading alone.
    pub is_read_only: bool,
    /// What was odd about the image.
    pub findings: Vec<String>,
    /// What is dangerous about how it is served.
    pub warnings: Vec<String>,
}

/// What a server says when it has stopped.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Clients that were served.
    pub clients: u64,
    /// Requests and bytes.
    pub host: HostCounts,
    /// Whether everything that the flash took reached the disk.
    pub is_saved: bool,
    /// Planned faults whose operation never came.
    pub faults_to_come: usize,
    /// Planned faults whose operation was of another kind.
    pub missed_faults: u64,
}

/// A server that runs.
pub struct Server {
    shared: Arc<Shared>,
    engine_lock: Arc<EngineLock>,
    bell: Arc<Bell>,
    /// Those who are connected, by listener.
    peers: Vec<Arc<Peers>>,
    ready: Ready,
    /// Whether nothing was held by the device when it was switched on.
    is_blank: bool,
    engine: Option<JoinHandle<End>>,
    listeners: Vec<JoinHandle<()>>,
}

impl Server {
    /// Listens, switches the image on and recovers its translation layer; then clients are let in.
    pub fn start(options: &ServeOptions) -> Result<Self, LiveError> {
        Self::start_prepared(options, |_| Ok(None))
    }

    /// The same, for a host that prepares the device before clients are let in, and may have
    /// something to say of it.
    pub fn start_prepared(
        options: &ServeOptions,
        prepare: impl FnOnce(&mut LiveDrive) -> Result<Option<String>, LiveError>,
    ) -> Result<Self, LiveError> {
        let tls = options.tls.as_deref().map(|folder| Certificates::read(folder, options.insecure)).transpose()?;
        let image = Image::open(&options.image, options.read_only)?;
        let control = Address::Unix(control_path(&options.image));
        let (control, _) =
            Listener::bind(&control, "a link to the image in another folder (ln -s), served in its place")?;
        let listener = options.address.as_ref().map(|at| Listener::bind(at, "--socket or --listen")).transpose()?;
        let (listener, address) = listener.unzip();
        let metrics = options.metrics.map(|at| Listener::bind(&Address::Tcp(at), "--metrics")).transpose()?;
        let (metrics, metrics_at) = metrics.unzip();
        let recording = options.record.as_deref().map(record::create).transpose()?;
        let mut drive = LiveDrive::start(
            image,
            DriveOptions {
                modelled: options.modelled,
                plan: FaultPlan::default(),
                accept_damage: options.accept_damage,
            },
        )?;
        let finding = prepare(&mut drive)?;
        // The operations of a start depend on what the image holds, which no script can know.
        options.plan.at.iter().for_each(|(&after, &fault)| drive.inject(after, fault));
        let is_read_only = options.read_only || drive.shows_others();
        let export = Export {
            bytes: drive.len(),
            page_bytes: drive.page_bytes() as u32,
            is_read_only,
            description: format!("{} on {}", drive.description().stack.names(), options.image.display()),
        };
        let ready = Ready {
            uri: address.as_ref().map(|address| address.uri(tls.is_some())),
            metrics: metrics_at.map(|at| format!("http://{at}/metrics")),
            logical_bytes: drive.len(),
            ftl: drive.description().stack.names(),
            mount_s: drive.wait().0 as f64 / 1e9,
            is_read_only,
            findings: drive.findings().sentences().into_iter().chain(finding).collect(),
            warnings: address.map(|address| warnings(&address, tls.as_ref())).unwrap_or_default(),
        };
        let shared = Arc::new(Shared::new(export, tls, options.clients, options.limits, options.modelled));
        let bell = Bell::new().map_err(|error| LiveError::user(format!("cannot make a pair of sockets: {error}")))?;
        let is_blank = drive.valid_pages() == 0;
        let recorder = recording.map(Recorder::start).transpose()?;
        let engine = Engine::new(drive, Arc::clone(&shared), options.modelled, recorder);
        let engine_lock = Arc::new(EngineLock::new(engine));
        let engine = Arc::clone(&engine_lock);
        let mut server = Self {
            shared,
            bell: Arc::new(bell),
            peers: Vec::new(),
            ready,
            is_blank,
            engine: Some(spawn("engine", move || engine.run())?),
            engine_lock,
            listeners: Vec::new(),
        };
        server.listen_for(listener, control, metrics)?;
        Ok(server)
    }

    /// Lets in clients, callers of the control socket and those who ask for metrics.
    fn listen_for(
        &mut self,
        clients: Option<Listener>,
        control: Listener,
        metrics: Option<Listener>,
    ) -> Result<(), LiveError> {
        let Limits { handshakes, callers, .. } = self.shared.limits;
        if let Some(clients) = clients {
            let engine = Arc::clone(&self.engine_lock);
            self.listen(clients, handshakes, "nbd reader", move |socket| connection::serve(socket, &engine))?;
        }
        let shared = Arc::clone(&self.shared);
        self.listen(control, callers, "control", move |socket| control::answer(socket, &shared))?;
        if let Some(metrics) = metrics {
            let shared = Arc::clone(&self.shared);
            self.listen(metrics, callers, "metrics", move |socket| control::answer_metrics(socket, &shared))?;
        }
        Ok(())
    }

    /// Serves those who come to a listener, each in a thread of that name.
    fn listen(
        &mut self,
        listener: Listener,
        most: usize,
        name: &'static str,
        serve: impl Fn(&Arc<Socket>) + Clone + Send + 'static,
    ) -> Result<(), LiveError> {
        let peers = Arc::new(Peers::new(most));
        self.peers.push(Arc::clone(&peers));
        let bell = Arc::clone(&self.bell);
        self.listeners.push(spawn("listener", move || peers.receive(&listener, &bell, name, serve))?);
        Ok(())
    }

    /// Messages for the caller that started it.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// A client in this process, without a socket.
    pub fn local_client(&self) -> LocalClient {
        LocalClient::new(Arc::clone(&self.engine_lock))
    }

    /// Whether the device held nothing when it was switched on, as one that is new.
    pub fn is_blank(&self) -> bool {
        self.is_blank
    }

    /// Whether it has ended by itself; [`stop`](Self::stop) then tells why.
    pub fn has_ended(&self) -> bool {
        self.engine.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops in good order and says what was saved. Pages in the write buffer of a device that has
    /// become read-only are lost, which is an error.
    pub fn stop(self) -> Result<Summary, LiveError> {
        let (summary, lost_pages) = self.ended()?;
        let lost = match lost_pages {
            0 => return Ok(summary),
            1 => "1 page of its write buffer is".to_owned(),
            many => format!("{many} pages of its write buffer are"),
        };
        Err(LiveError::user(format!(
            "too many blocks have failed: the device is read-only, and {lost} lost; copy the data to another one"
        )))
    }

    /// The same, for a host that knows what of its data is lost if the device has become read-only.
    pub fn stop_worn_out(self) -> Result<Summary, LiveError> {
        self.ended().map(|(summary, _)| summary)
    }

    /// What was saved, and how many pages of its write buffer a read-only device did not take.
    fn ended(mut self) -> Result<(Summary, u32), LiveError> {
        match self.end() {
            Some(Ok(Ok(drive))) => {
                let summary = Summary {
                    clients: self.shared.served_clients.load(Ordering::Relaxed),
                    host: drive.served(),
                    is_saved: drive.is_powered() && self.shared.power() == Power::On,
                    faults_to_come: drive.faults_to_come(),
                    missed_faults: drive.missed_faults(),
                };
                let lost_pages = if summary.is_saved { drive.ftl().buffered().pages } else { 0 };
                Ok((summary, lost_pages))
            }
            Some(Ok(Err((_, error)))) => Err(error),
            Some(Err(panic)) => Err(LiveError::Bug(format!("the server panicked: {}", panic_text(&*panic)))),
            None => Err(LiveError::Bug("the server was stopped twice".into())),
        }
    }

    fn end(&mut self) -> Option<std::thread::Result<End>> {
        let engine = self.engine.take()?;
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        self.bell.ring();
        self.peers.iter().for_each(|peers| peers.stop());
        self.shared.each_client(client::Connection::stop_reading);
        self.await_clients(&engine);
        self.shared.queue.push(Task::Stop);
        let end = engine.join();
        for listener in self.listeners.drain(..) {
            // It has no state that could be lost. The files of its sockets are gone after it.
            let _ = listener.join();
        }
        Some(end)
    }

    /// Clients get what they asked for, if they take it in time.
    fn await_clients(&self, engine: &JoinHandle<End>) {
        let until = Instant::now() + LAST_REPLIES;
        while self.shared.client_count() > 0 && Instant::now() < until && !engine.is_finished() {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.shared.each_client(client::Connection::close);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Dropped without `stop`: the caller ignores the outcome.
        let _ = self.end();
    }
}

/// What is dangerous about serving like this.
fn warnings(address: &Address, tls: Option<&Certificates>) -> Vec<String> {
    let who = match tls {
        _ if !address.is_remote() => return Vec::new(),
        Some(tls) if tls.asks_clients() => return Vec::new(),
        Some(_) => "clients need no certificate, for the folder of certificates has no ca-cert.pem",
        None => "nothing is encrypted",
    };
    vec![format!("{address} can be reached from other hosts, and {who}: any client can read and write everything")]
}

fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, LiveError> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(work)
        .map_err(|error| LiveError::user(format!("cannot start the {name} thread: {error}")))
}
