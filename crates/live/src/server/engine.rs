//! The one thread that owns the device: takes requests, serves one piece after the other, and hands
//! the replies out.
//!
//! Requests of one client are served in the order in which they came. Clients take turns, and long
//! requests are served in pieces (`split.rs`), so a client waits for one piece of each other
//! client at most, whatever those ask for.
//!
//! **A power cut** sends all clients away without a word, as a device that vanishes does, and
//! brings the translation layer back from what the flash holds; then clients may come again. With
//! `stay_off` that waits until somebody restores the power. **A disk that fails, or a bug in a
//! translation layer,** ends the server; what it had acknowledged is on the image.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use bytes::Bytes;
use ftl::Nanos;

use super::client::Connection;
use super::commands::{ControlRequest, FaultRequest};
use super::connection::shut_down;
use super::fair_queue::Turns;
use super::outbox::Outgoing;
use super::record::Recorder;
use super::shared::{Power, Shared};
use super::split;
use super::stat::Stat;
use super::task::{Of, Request, Task};
use crate::LiveError;
use crate::drive::{DriveError, LiveDrive, Piece};
use crate::nbd::{self, Command, Errno, Extent, Reply};

/// Requests after which replies are handed out, so that the first of a batch does not wait for the
/// last.
const HAND_OUT_AFTER: usize = 16;
/// How long nothing must be asked before the translation layer is offered idle time: long beside a
/// request, short beside a pause.
const IDLE_AFTER: Duration = Duration::from_millis(5);
/// What is offered at once: more would make the next request wait noticeably.
const IDLE_BUDGET: Nanos = Nanos(2_000_000);
/// Bytes of a piece after which replies are handed out, too: the next piece may take as long.
const LONG_BYTES: u32 = 64 << 10;
/// Runs of a block status reply.
const MOST_RUNS: usize = 4096;

/// Why the engine ended.
pub(crate) type End = Result<LiveDrive, (Box<LiveDrive>, LiveError)>;

/// The engine of one server.
pub(crate) struct Engine {
    pub(super) drive: LiveDrive,
    pub(super) shared: Arc<Shared>,
    pub(super) modelled: bool,
    pub(super) recorder: Option<Recorder>,
    turns: Turns<Of, Box<Request>>,
    /// Replies to be handed out.
    finished: Vec<(Arc<Connection>, Outgoing)>,
    /// Requests begin in order of time.
    pub(super) latest: Nanos,
    /// Whether the device has no power, until somebody restores it.
    pub(super) is_dark: bool,
    /// Whether the power stays off after the next cut.
    stays_off: bool,
    /// How often the power has come back.
    pub(super) power_ons: u64,
}

impl Engine {
    pub(crate) fn new(drive: LiveDrive, shared: Arc<Shared>, modelled: bool, recorder: Option<Recorder>) -> Self {
        Self {
            drive,
            shared,
            modelled,
            recorder,
            turns: Turns::new(),
            finished: Vec::new(),
            latest: Nanos::ZERO,
            is_dark: false,
            stays_off: false,
            power_ons: 0,
        }
    }

    /// Serves until told to stop, or until it cannot go on.
    pub(crate) fn run(mut self) -> End {
        let _closing = ClosesQueue(Arc::clone(&self.shared));
        let mut batch = VecDeque::new();
        loop {
            if self.turns.is_empty() {
                self.await_work(&mut batch);
            } else {
                self.shared.queue.take_ready(&mut batch);
            }
            for task in batch.drain(..) {
                let result = match task {
                    Task::Serve(request) => {
                        self.turns.push(&Of(Arc::clone(&request.connection)), request);
                        Ok(())
                    }
                    Task::Control(request, answer) => self.control(request, &answer),
                    Task::LocalRequest(request) => self.local_request(&request),
                    Task::Stop => {
                        return match self.hand_out() {
                            Ok(()) => self.stop(),
                            Err(error) => Err((Box::new(self.drive), error)),
                        };
                    }
                };
                if let Err(error) = result {
                    return Err((Box::new(self.drive), error));
                }
            }
            if let Err(error) = self.take_turn() {
                return Err((Box::new(self.drive), error));
            }
        }
    }

    /// Serves a piece of whoever is next; hands replies out when there are some, or when the next
    /// piece may take long.
    fn take_turn(&mut self) -> Result<(), LiveError> {
        let Some(request) = self.turns.take() else { return self.hand_out() };
        let is_long = request.length >= LONG_BYTES || request.command == Command::Flush;
        let result = self.serve(request);
        let is_time = is_long || self.finished.len() >= HAND_OUT_AFTER || self.turns.is_empty();
        if is_time || result.is_err() { result.and(self.hand_out()) } else { result }
    }

    /// Takes what there is to do; when there is nothing for a while, offers idle time.
    fn await_work(&mut self, batch: &mut VecDeque<Task>) {
        self.shared.queue.take_all(batch, Some(IDLE_AFTER));
        while batch.is_empty() {
            let clock = self.shared.clock().max(self.latest);
            self.drive.begin(clock);
            // What fails here fails again at the next request, which can be told of it.
            let did_something = self.drive.is_powered() && self.drive.idle(IDLE_BUDGET) == Ok(true);
            let limit = did_something.then_some(Duration::ZERO);
            self.shared.queue.take_all(batch, limit);
        }
    }

    fn serve(&mut self, mut request: Box<Request>) -> Result<(), LiveError> {
        if request.connection.is_gone() {
            return Ok(());
        }
        if self.is_dark {
            self.finish(&request, shut_down(), None);
            return Ok(());
        }
        self.latest = self.latest.max(request.arrived);
        self.drive.begin(self.latest);
        match self.perform(&mut request) {
            Ok(is_done) => {
                request.due = request.due.max(self.drive.now());
                if !is_done {
                    self.turns.put_back(&Of(Arc::clone(&request.connection)), request);
                    return Ok(());
                }
                self.record(&request)?;
                let reply = self.reply(&mut request);
                self.finish(&request, reply, self.modelled.then_some(request.due));
                Ok(())
            }
            Err(DriveError::Unreadable) => {
                self.finish(&request, Reply::Error(Errno::Io, "a page cannot be read".into()), None);
                Ok(())
            }
            Err(DriveError::ReadOnly) => {
                let why = "too many blocks have failed: the device is read-only; copy the data to another one";
                self.finish(&request, Reply::Error(Errno::NotPermitted, why.into()), None);
                Ok(())
            }
            Err(DriveError::NoPower) => self.lose_power(),
            Err(DriveError::Bug(why)) => {
                self.finish(&request, Reply::Error(Errno::Io, why.clone()), None);
                Err(LiveError::Bug(format!("{} is at fault: {why}", self.drive.description().stack.names())))
            }
        }
    }

    /// Does the next piece of what is asked; whether it was the last.
    fn perform(&mut self, request: &mut Request) -> Result<bool, DriveError> {
        let drive = &mut self.drive;
        let command = request.command;
        let (at, left) = (request.offset.saturating_add(request.done.into()), request.length - request.done);
        let length = split::next(command, at, left, drive.page_bytes());
        if request.done == 0 {
            drive.count(split::asked(command));
        }
        let from = request.done as usize;
        let data = match command {
            Command::Write { .. } => request.data.slice(from..from + length as usize),
            _ => Bytes::new(),
        };
        split::perform(drive, command, (at, length), (&data, request.agreed.hint), &mut request.read)?;
        request.done += length;
        if request.done < request.length {
            return Ok(false);
        }
        if let Command::Write { fua: true } | Command::Trim { fua: true } | Command::WriteZeroes { fua: true, .. } =
            command
        {
            drive.flush()?;
        }
        Ok(true)
    }

    /// What the client is told of a request that is done.
    fn reply(&self, request: &mut Request) -> Reply {
        let (offset, length) = (request.offset, request.length);
        match request.command {
            Command::Read { in_one_piece } => {
                let extents = extents(std::mem::take(&mut request.read));
                Reply::Read { offset, extents, in_one_piece }
            }
            Command::BlockStatus { one_run } => {
                Reply::Status(self.drive.status(offset, length, if one_run { 1 } else { MOST_RUNS }))
            }
            _ => Reply::Done,
        }
    }

    fn record(&mut self, request: &Request) -> Result<(), LiveError> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        recorder.take(self.latest, request.command, request.agreed.hint, (request.offset, request.length))
    }

    fn finish(&mut self, request: &Request, reply: Reply, due: Option<Nanos>) {
        let mut buffers = Vec::with_capacity(2);
        nbd::encode(reply, request.cookie, request.agreed, &mut buffers);
        let due = due.map(|due| self.shared.moment(due));
        let outgoing = Outgoing { due, buffers, weight: request.weight };
        self.finished.push((Arc::clone(&request.connection), outgoing));
    }

    /// Hands replies out, those of one client in one go. What they speak of outlives this process.
    fn hand_out(&mut self) -> Result<(), LiveError> {
        if self.finished.is_empty() {
            return Ok(());
        }
        if !self.drive.settle() {
            self.finished.clear();
            return Err(self.drive.disk_failed());
        }
        while let Some((first, _)) = self.finished.first() {
            let client = Arc::clone(first);
            let theirs = self.finished.extract_if(.., |(connection, _)| Arc::ptr_eq(connection, &client));
            client.deliver(theirs.map(|(_, reply)| reply).collect());
        }
        Ok(())
    }

    /// The flash has no power any more.
    pub(super) fn lose_power(&mut self) -> Result<(), LiveError> {
        if self.drive.disk_failure().is_some() {
            return Err(self.drive.disk_failed());
        }
        self.hand_out()?;
        self.is_dark = true;
        let stays_off = std::mem::take(&mut self.stays_off);
        self.shared.set_power(if stays_off { Power::Off } else { Power::Returning });
        self.shared.each_client(Connection::close);
        if stays_off { Ok(()) } else { self.restore_power() }
    }

    fn restore_power(&mut self) -> Result<(), LiveError> {
        self.shared.set_power(Power::Returning);
        self.latest = self.latest.max(self.shared.clock());
        self.drive.restore_power(self.latest)?;
        self.power_ons += 1;
        self.is_dark = false;
        self.shared.set_power(Power::On);
        Ok(())
    }

    fn control(&mut self, request: ControlRequest, answer: &SyncSender<String>) -> Result<(), LiveError> {
        let result = match request {
            ControlRequest::Stat => Ok(self.stat().to_json()),
            ControlRequest::Metrics => Ok(self.stat().to_prometheus()),
            ControlRequest::Fault(fault) => self.fault(&fault),
        };
        let (text, result) = match result {
            Ok(text) => (text, Ok(())),
            Err(error) => (super::control::refusal(&error), if self.drive.is_powered() { Ok(()) } else { Err(error) }),
        };
        // Whoever asked may have left.
        let _ = answer.try_send(text);
        result
    }

    fn stat(&self) -> Stat {
        Stat::of(&self.drive, &self.shared, self.is_dark, [self.turns.taken(), self.turns.most_waited()])
    }

    fn fault(&mut self, request: &FaultRequest) -> Result<String, LiveError> {
        let is_dark = self.is_dark;
        match request {
            FaultRequest::Restore if !is_dark => {
                return Err(LiveError::user("the device has power already; `ftlkit fault IMAGE cut` takes it away"));
            }
            FaultRequest::Restore => {
                self.restore_power()?;
                return Ok(super::control::done("the power is back, and the translation layer was recovered"));
            }
            _ if is_dark => {
                return Err(LiveError::user("the device has no power; give it back first: ftlkit fault IMAGE restore"));
            }
            FaultRequest::Cut { tear: None, after: 0, stay_off } => {
                self.stays_off = *stay_off;
                self.lose_power()?;
                let what = if *stay_off {
                    "the power is off"
                } else {
                    "the power was cut, and the translation layer recovered"
                };
                return Ok(super::control::done(what));
            }
            FaultRequest::Cut { stay_off, .. } => self.stays_off = *stay_off,
            FaultRequest::At { .. } => {}
        }
        let (after, fault) = request.planned();
        self.drive.inject(after, fault);
        Ok(super::control::done(&format!("{request} is due after {after} more flash operations")))
    }

    /// Everything acknowledged reaches the disk.
    fn stop(mut self) -> End {
        if let Some(recorder) = self.recorder.take()
            && let Err(error) = recorder.finish()
        {
            // The image matters more than the trace: it is closed all the same.
            let _ = self.drive.stop();
            return Err((Box::new(self.drive), error));
        }
        if self.is_dark {
            return Ok(self.drive);
        }
        match self.drive.stop() {
            Ok(()) => Ok(self.drive),
            Err(DriveError::Bug(why)) => Err((Box::new(self.drive), LiveError::Bug(why))),
            Err(DriveError::ReadOnly) => {
                let pages = self.drive.ftl().buffered().pages;
                let error = LiveError::user(format!(
                    "too many blocks have failed: the device is read-only, and {pages} pages of its write buffer are lost; copy the data \
                     to another one"
                ));
                Err((Box::new(self.drive), error))
            }
            Err(DriveError::NoPower | DriveError::Unreadable) => {
                let why = self.drive.disk_failure().unwrap_or("the flash lost its power").to_owned();
                let error = LiveError::user(format!(
                    "the last flush did not reach the disk: {why}. Serve the image again to recover it"
                ));
                Err((Box::new(self.drive), error))
            }
        }
    }
}

/// Whoever waits for the engine, or comes later, is not kept waiting when it has ended, well or
/// not.
struct ClosesQueue(Arc<Shared>);

impl Drop for ClosesQueue {
    fn drop(&mut self) {
        self.0.queue.close();
    }
}

/// Pieces of pages as runs of data and of zeros.
fn extents(pieces: Vec<Piece>) -> Vec<Extent> {
    let mut extents: Vec<Extent> = Vec::new();
    for piece in pieces {
        match (piece, extents.last_mut()) {
            (Piece::Data(data), Some(Extent::Data(pieces))) => pieces.push(data),
            (Piece::Data(data), _) => extents.push(Extent::Data(vec![data])),
            (Piece::Zeros(length), Some(Extent::Hole(run))) => *run += length as u32,
            (Piece::Zeros(length), _) => extents.push(Extent::Hole(length as u32)),
        }
    }
    extents
}
