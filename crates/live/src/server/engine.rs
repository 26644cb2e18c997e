//! The one thread that owns the device: takes requests in batches, serves one after the other, and hands the replies out.
//!
//! Requests are served in the order in which they came, so one that arrives later is never seen before. A request for zeros of
//! many bytes is served a part at a time, between others.
//!
//! **A power cut** sends all clients away without a word, as a device that vanishes does, and brings the translation layer back
//! from what the flash holds; then clients may come again. With `stay_off` that waits until somebody restores the power.
//! **A disk that fails, or a bug in a translation layer,** ends the server; what it had acknowledged is on the image.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use bytes::Bytes;
use ftl::Nanos;

use super::connection::{Connection, shut_down};
use super::control::{ControlRequest, FaultRequest};
use super::outbox::Outgoing;
use super::record::Recorder;
use super::shared::Shared;
use super::stat::Stat;
use crate::LiveError;
use crate::drive::{Drive, DriveError, Piece};
use crate::nbd::{self, Agreed, Command, Errno, Extent, Reply};

/// Requests after which replies are handed out, so that the first of a batch does not wait for the last.
const HAND_OUT_AFTER: usize = 16;
/// How long nothing must be asked before the translation layer is offered idle time: long beside a request, short beside a pause.
const IDLE_AFTER: Duration = Duration::from_millis(5);
/// What is offered at once: more would make the next request wait noticeably.
const IDLE_BUDGET: Nanos = Nanos(2_000_000);
/// Bytes of zeros that are written at once.
const ZEROS_AT_ONCE: u32 = 1 << 20;
/// Runs of a block status reply.
const MOST_RUNS: usize = 4096;

/// Something for the engine to do.
#[derive(Debug)]
pub(crate) enum Task {
    Serve(Box<Request>),
    Control(ControlRequest, SyncSender<String>),
    Stop,
}

/// A client's request, checked.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) connection: Arc<Connection>,
    pub(crate) agreed: Agreed,
    pub(crate) command: Command,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) cookie: u64,
    pub(crate) data: Bytes,
    pub(crate) arrived: Nanos,
    pub(crate) weight: usize,
}

/// Why the engine ended.
pub(crate) type End = Result<Drive, (Box<Drive>, LiveError)>;

/// The engine of one server.
pub(crate) struct Engine {
    drive: Drive,
    shared: Arc<Shared>,
    modelled: bool,
    recorder: Option<Recorder>,
    /// Replies to be handed out.
    finished: Vec<(Arc<Connection>, Outgoing)>,
    /// Requests begin in order of time.
    latest: Nanos,
    /// Whether the power stays off after the next cut.
    stays_off: bool,
}

impl Engine {
    pub(crate) fn new(drive: Drive, shared: Arc<Shared>, modelled: bool, recorder: Option<Recorder>) -> Self {
        Self { drive, shared, modelled, recorder, finished: Vec::new(), latest: Nanos::ZERO, stays_off: false }
    }

    /// Serves until told to stop, or until it cannot go on.
    pub(crate) fn run(mut self) -> End {
        let mut batch = VecDeque::new();
        loop {
            self.await_work(&mut batch);
            while let Some(task) = batch.pop_front() {
                let result = match task {
                    Task::Serve(request) => self.serve(*request),
                    Task::Control(request, answer) => self.control(request, &answer),
                    Task::Stop => {
                        return match self.hand_out() {
                            Ok(()) => self.stop(),
                            Err(error) => Err((Box::new(self.drive), error)),
                        };
                    }
                };
                let is_full = self.finished.len() >= HAND_OUT_AFTER || batch.is_empty();
                let result = if is_full || result.is_err() { result.and(self.hand_out()) } else { result };
                if let Err(error) = result {
                    return Err((Box::new(self.drive), error));
                }
            }
        }
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

    fn serve(&mut self, request: Request) -> Result<(), LiveError> {
        if request.connection.is_gone() {
            return Ok(());
        }
        if self.shared.is_dark.load(Ordering::SeqCst) {
            self.finish(&request, shut_down(), None);
            return Ok(());
        }
        self.latest = self.latest.max(request.arrived);
        self.drive.begin(self.latest);
        match self.perform(&request) {
            Ok(None) => {
                // The rest of it waits its turn.
                let rest = Request {
                    offset: request.offset + u64::from(ZEROS_AT_ONCE),
                    length: request.length - ZEROS_AT_ONCE,
                    ..request
                };
                self.shared.queue.push(Task::Serve(Box::new(rest)));
                Ok(())
            }
            Ok(Some(reply)) => {
                let due = self.modelled.then(|| self.drive.now());
                self.record(&request)?;
                self.finish(&request, reply, due);
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
                Err(LiveError::Bug(format!("{} is at fault: {why}", self.drive.description().ftl)))
            }
        }
    }

    /// Does what is asked; none if a part of it is left.
    fn perform(&mut self, request: &Request) -> Result<Option<Reply>, DriveError> {
        let Request { command, offset, length, .. } = *request;
        let drive = &mut self.drive;
        match command {
            Command::Read { in_one_piece } => {
                let extents = extents(drive.read(offset, length)?);
                return Ok(Some(Reply::Read { offset, extents, in_one_piece }));
            }
            Command::BlockStatus { one_run } => {
                return Ok(Some(Reply::Status(drive.status(offset, length, if one_run { 1 } else { MOST_RUNS }))));
            }
            Command::Write { .. } => drive.write(offset, &request.data)?,
            Command::Trim { .. } => drive.trim(offset, length)?,
            Command::WriteZeroes { may_leave_holes: false, .. } if length > ZEROS_AT_ONCE => {
                drive.write_zeroes(offset, ZEROS_AT_ONCE, false)?;
                return Ok(None);
            }
            Command::WriteZeroes { may_leave_holes, .. } => drive.write_zeroes(offset, length, may_leave_holes)?,
            Command::Flush => drive.flush()?,
            // Nothing would be read any faster for it.
            Command::Cache | Command::Disconnect => {}
        }
        if let Command::Write { fua: true } | Command::Trim { fua: true } | Command::WriteZeroes { fua: true, .. } =
            command
        {
            drive.flush()?;
        }
        Ok(Some(Reply::Done))
    }

    fn record(&mut self, request: &Request) -> Result<(), LiveError> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        recorder.take(self.latest, request.command, request.offset, request.length)
    }

    fn finish(&mut self, request: &Request, reply: Reply, due: Option<Nanos>) {
        let mut buffers = Vec::with_capacity(2);
        nbd::encode(reply, request.cookie, request.agreed, &mut buffers);
        let due = due.map(|due| self.shared.moment(due));
        let outgoing = Outgoing { due, buffers, weight: request.weight };
        self.finished.push((Arc::clone(&request.connection), outgoing));
    }

    /// Hands replies out, those of one client in one go where they follow each other. What they speak of outlives this process.
    fn hand_out(&mut self) -> Result<(), LiveError> {
        if !self.drive.settle() {
            self.finished.clear();
            return Err(self.disk_failed());
        }
        let mut replies = self.finished.drain(..).peekable();
        while let Some((connection, first)) = replies.next() {
            let same = std::iter::from_fn(|| {
                replies.next_if(|(next, _)| Arc::ptr_eq(next, &connection)).map(|(_, reply)| reply)
            });
            connection.deliver(std::iter::once(first).chain(same).collect());
        }
        Ok(())
    }

    fn disk_failed(&self) -> LiveError {
        LiveError::user(format!(
            "the disk under the image failed: {}. Everything that was acknowledged before is on the image; make room or move it, and \
             serve it again",
            self.drive.disk_failure().unwrap_or("it does not say why")
        ))
    }

    /// The flash has no power any more.
    fn lose_power(&mut self) -> Result<(), LiveError> {
        if self.drive.disk_failure().is_some() {
            return Err(self.disk_failed());
        }
        self.hand_out()?;
        let shared = Arc::clone(&self.shared);
        let _recovery = shared.recovery();
        self.shared.is_dark.store(true, Ordering::SeqCst);
        self.shared.each_client(Connection::close);
        if std::mem::take(&mut self.stays_off) { Ok(()) } else { self.restore_power() }
    }

    fn restore_power(&mut self) -> Result<(), LiveError> {
        self.latest = self.latest.max(self.shared.clock());
        while let Err(error) = self.drive.restore_power(self.latest) {
            // A planned cut may fall into the recovery itself.
            if self.drive.is_powered() || self.drive.disk_failure().is_some() {
                return Err(error);
            }
        }
        self.shared.is_dark.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn control(&mut self, request: ControlRequest, answer: &SyncSender<String>) -> Result<(), LiveError> {
        let result = match request {
            ControlRequest::Stat => Ok(Stat::of(&self.drive, &self.shared).to_json()),
            ControlRequest::Metrics => Ok(Stat::of(&self.drive, &self.shared).to_prometheus()),
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

    fn fault(&mut self, request: &FaultRequest) -> Result<String, LiveError> {
        let is_dark = self.shared.is_dark.load(Ordering::SeqCst);
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
        Ok(super::control::done(&format!("{fault:?} is due after {after} more flash operations")))
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
        if self.shared.is_dark.load(Ordering::SeqCst) {
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
