//! Owns the device: takes requests, serves one piece after the other, and hands the replies out.
//! One thread at a time runs it (`engine_lock.rs`).
//!
//! Requests of one client are served in the order in which they came. Clients take turns, and long
//! requests are served in pieces (`fair_queue.rs`), so a client waits for one piece of each other
//! client at most, whatever those ask for.
//!
//! **A power cut** sends all clients away without a word, as a device that vanishes does, and
//! brings the translation layer back from what the flash holds; then clients may come again. With
//! `stay_off` that waits until somebody restores the power. **A disk that fails, or a bug in a
//! translation layer,** ends the server; what it had acknowledged is on the image.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use bytes::Bytes;
use ftl::{Moment, Nanos, Timing};
use sim::EventTiming;

use super::client::{Connection, Outgoing};
use super::commands::{ControlRequest, FaultRequest};
use super::fair_queue::{Turns, perform_piece, piece_bytes};
use super::queue::{Answer, ClientRequest, LocalClientError, Of, Task};
use super::record::Recorder;
use super::shared::{Power, Shared};
use super::stat::Stat;
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

/// Whose turn it is, and what with.
pub(super) type ClientTurns = Turns<Of, Box<ClientRequest>>;

/// A reply, and who waits for it.
pub(super) enum Awaited {
    Client(Arc<Connection>, Outgoing),
    Local(SyncSender<Answer>, Answer),
}

/// A request that the modelled device is not done with.
struct AwaitedRequest {
    reply: Awaited,
    begin: Nanos,
    command: Command,
    /// Its first byte, and how many it has.
    range: (u64, u32),
}

/// Before an event of the modelled device the last stretch is waited out awake: about as long as
/// waking up takes.
const AWAKE_BEFORE: Duration = Duration::from_micros(100);

/// The engine of one server.
#[expect(clippy::struct_excessive_bools, reason = "each says something else, and any of them may be so")]
pub(crate) struct Engine {
    pub(super) drive: LiveDrive,
    pub(super) shared: Arc<Shared>,
    pub(super) modelled: bool,
    pub(super) recorder: Option<Recorder>,
    /// Empty between two runs.
    batch: VecDeque<Task>,
    turns: ClientTurns,
    /// Why it has to end.
    pub(super) end: Option<Result<(), LiveError>>,
    /// When it last had nothing to do any more.
    last_work: Nanos,
    /// Whether its thread sleeps until it is called.
    is_asleep: bool,
    /// Replies to be handed out.
    finished: Vec<(Arc<Connection>, Outgoing)>,
    /// Requests that the modelled device is not done with, by their tickets.
    awaited: BTreeMap<u32, AwaitedRequest>,
    next_ticket: u32,
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
            batch: VecDeque::new(),
            turns: Turns::new(),
            end: None,
            last_work: Nanos::ZERO,
            is_asleep: false,
            finished: Vec::new(),
            awaited: BTreeMap::new(),
            next_ticket: 0,
            latest: Nanos::ZERO,
            is_dark: false,
            stays_off: false,
            power_ons: 0,
        }
    }

    /// Serves what has come, a piece after the other, as long as there is something and the caller
    /// runs it wants to; then hands the replies out.
    pub(super) fn serve_while(&mut self, wants_more: impl Fn(&ClientTurns) -> bool) {
        let mut batch = std::mem::take(&mut self.batch);
        let mut did_something = false;
        while self.end.is_none() {
            self.let_time_pass();
            self.shared.queue.take_ready(&mut batch);
            did_something |= !batch.is_empty() || !self.turns.is_empty();
            batch.drain(..).for_each(|task| self.take(task));
            let is_idle = self.turns.is_empty() || !wants_more(&self.turns);
            let result = if is_idle { self.hand_out() } else { self.take_turn() };
            self.end_if_failed(result);
            if is_idle {
                break;
            }
        }
        self.batch = batch;
        if did_something {
            self.last_work = self.shared.clock();
        }
    }

    fn take(&mut self, task: Task) {
        if self.end.is_some() {
            return;
        }
        let result = match task {
            Task::Serve(request) => {
                self.turns.push(&Of(Arc::clone(&request.connection)), request);
                Ok(())
            }
            Task::Control(request, answer) => self.control(request, &answer),
            Task::LocalRequest(request) => self.local_request(&request),
            Task::Rate(types) => {
                self.drive.rate(&types);
                Ok(())
            }
            Task::Rename(ranges, hint) => {
                self.drive.rename(&ranges, hint);
                Ok(())
            }
            Task::Stop => {
                self.let_all_end();
                let result = self.hand_out();
                if result.is_ok() {
                    self.end = Some(Ok(()));
                }
                result
            }
        };
        self.end_if_failed(result);
    }

    fn end_if_failed(&mut self, result: Result<(), LiveError>) {
        if let Err(error) = result {
            self.end = Some(Err(error));
        }
    }

    /// Remaining work for an engine that has ended so.
    pub(super) fn finish(self, end: Result<(), LiveError>) -> End {
        match end {
            Ok(()) => self.stop(),
            Err(error) => Err((Box::new(self.drive), error)),
        }
    }

    /// Serves a piece of the next client; hands replies out when there are some, or when the next
    /// piece may take long.
    fn take_turn(&mut self) -> Result<(), LiveError> {
        let Some(request) = self.turns.take() else { return Ok(()) };
        let is_long = request.length >= LONG_BYTES || request.command == Command::Flush;
        let result = self.serve(request);
        let is_time = is_long || self.finished.len() >= HAND_OUT_AFTER || self.turns.is_empty();
        if is_time || result.is_err() { result.and(self.hand_out()) } else { result }
    }

    /// Lets the modelled device's time go on to that of the clock, and answers what is done.
    fn let_time_pass(&mut self) {
        let clock = self.shared.clock();
        let Some(modelled) = self.drive.modelled_mut() else { return };
        modelled.pass_until(clock);
        self.answer_ended();
    }

    /// Lets everything under way end in the modelled device's time, and answers it.
    fn let_all_end(&mut self) {
        while self.drive.modelled_mut().is_some_and(|modelled| modelled.pass_until_next(Nanos(u64::MAX))) {}
        self.answer_ended();
    }

    fn answer_ended(&mut self) {
        let ended: Vec<_> =
            self.drive.modelled_mut().map(|modelled| modelled.drain_ended().collect()).unwrap_or_default();
        for (ticket, at) in ended {
            let Some(AwaitedRequest { reply, begin, command, range }) = self.awaited.remove(&ticket) else { continue };
            if matches!(command, Command::Read { .. } | Command::Write { .. }) {
                self.drive.on_response(range, at.since(begin));
            }
            self.answer(reply, Some(at));
        }
    }

    /// Answers a request when the modelled device is done with it.
    pub(super) fn await_end(&mut self, reply: Awaited, (command, offset, length): (Command, u64, u32), end: Moment) {
        let ticket = self.next_ticket;
        self.next_ticket = ticket.wrapping_add(1);
        let range = (offset, length);
        self.awaited.insert(ticket, AwaitedRequest { reply, begin: self.latest, command, range });
        if let Some(modelled) = self.drive.modelled_mut() {
            modelled.tell_when_over(end, ticket);
        }
    }

    /// Answers a request, not before a moment if one is given.
    pub(super) fn answer(&mut self, reply: Awaited, due: Option<Nanos>) {
        match reply {
            Awaited::Client(connection, outgoing) => {
                let due = due.map(|due| self.shared.moment(due));
                self.finished.push((connection, Outgoing { due, ..outgoing }));
            }
            // A host that has gone needs no answer.
            Awaited::Local(host, answer) => drop(host.try_send(Answer { due, ..answer })),
        }
    }

    /// There is nothing to serve: how long the engine's thread may wait for something. When nothing
    /// has been asked for a while, the translation layer is offered idle time.
    pub(super) fn rest(&mut self) -> Option<Duration> {
        self.is_asleep = false;
        if self.end.is_some() {
            return None;
        }
        if let Some(next) = self.drive.modelled().and_then(EventTiming::next_event) {
            let left = Duration::from_nanos(next.since(self.shared.clock()).0);
            return Some(left.saturating_sub(AWAKE_BEFORE));
        }
        let clock = self.shared.clock();
        let quiet = Duration::from_nanos(clock.since(self.last_work).0);
        if let Some(left) = IDLE_AFTER.checked_sub(quiet) {
            return Some(left);
        }
        self.drive.begin(clock.max(self.latest));
        // What fails here fails again at the next request, which can be told of it.
        let did_something = self.drive.is_powered() && self.drive.idle(IDLE_BUDGET) == Ok(true);
        let has_more = did_something || self.drive.modelled().is_some_and(|modelled| modelled.next_event().is_some());
        self.is_asleep = !has_more;
        has_more.then_some(Duration::ZERO)
    }

    /// Whether the engine's thread has to do what is left when somebody else has run it: to go on,
    /// to end, or to offer idle time later, for which it was not going to wake up.
    pub(super) fn needs_thread(&mut self) -> bool {
        std::mem::take(&mut self.is_asleep) || self.end.is_some() || !self.turns.is_empty()
    }

    fn serve(&mut self, mut request: Box<ClientRequest>) -> Result<(), LiveError> {
        if request.connection.is_gone() {
            return Ok(());
        }
        if self.is_dark {
            self.answer(outgoing(&request, shut_down()), None);
            return Ok(());
        }
        self.latest = self.latest.max(request.arrived);
        self.drive.begin_piece(self.latest, request.taken);
        match self.perform(&mut request) {
            Ok(is_done) => {
                request.end = self.drive.end_with(request.end);
                if !is_done {
                    self.turns.put_back(&Of(Arc::clone(&request.connection)), request);
                    return Ok(());
                }
                request.end = self.drive.hand_over(request.end, request.command.bytes_returned(request.length));
                self.record(&request)?;
                let reply = self.reply(&mut request);
                let reply = outgoing(&request, reply);
                if self.modelled {
                    self.await_end(reply, (request.command, request.offset, request.length), request.end);
                } else {
                    self.answer(reply, None);
                }
                Ok(())
            }
            Err(DriveError::Unreadable) => {
                self.answer(outgoing(&request, Reply::Error(Errno::Io, "a page cannot be read".into())), None);
                Ok(())
            }
            Err(DriveError::ReadOnly) => {
                let why = "too many blocks have failed: the device is read-only; copy the data to another one";
                self.answer(outgoing(&request, Reply::Error(Errno::NotPermitted, why.into())), None);
                Ok(())
            }
            Err(DriveError::NoPower) => self.lose_power(),
            Err(DriveError::Bug(why)) => {
                self.answer(outgoing(&request, Reply::Error(Errno::Io, why.clone())), None);
                Err(LiveError::Bug(format!("{} is at fault: {why}", self.drive.description().stack.names())))
            }
        }
    }

    /// Does the next piece of what is asked; whether it was the last.
    fn perform(&mut self, request: &mut ClientRequest) -> Result<bool, DriveError> {
        let drive = &mut self.drive;
        let command = request.command;
        let (at, left) = (request.offset.saturating_add(request.done.into()), request.length - request.done);
        let length = piece_bytes(command, at, left, drive.page_bytes());
        if request.done == 0 {
            drive.count(command.host_op());
            request.taken = drive.take_command(command.bytes_brought(request.length));
        }
        let from = request.done as usize;
        let data = match command {
            Command::Write { .. } => request.data.slice(from..from + length as usize),
            _ => Bytes::new(),
        };
        perform_piece(drive, command, (at, length), (&data, request.agreed.hint), &mut request.read)?;
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
    fn reply(&self, request: &mut ClientRequest) -> Reply {
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

    fn record(&mut self, request: &ClientRequest) -> Result<(), LiveError> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        recorder.take(self.latest, request.command, request.agreed.hint, (request.offset, request.length))
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
            self.shared.left(&client.deliver(theirs.map(|(_, reply)| reply).collect()));
        }
        Ok(())
    }

    /// The flash has no power any more.
    pub(super) fn lose_power(&mut self) -> Result<(), LiveError> {
        if self.drive.disk_failure().is_some() {
            return Err(self.drive.disk_failed());
        }
        self.hand_out()?;
        let awaited = std::mem::take(&mut self.awaited);
        self.is_dark = true;
        let stays_off = std::mem::take(&mut self.stays_off);
        self.shared.set_power(if stays_off { Power::Off } else { Power::Returning });
        self.shared.each_client(Connection::close);
        let end = if stays_off { Ok(()) } else { self.restore_power() };
        for request in awaited.into_values() {
            if let Awaited::Local(host, answer) = request.reply {
                let answer = Answer { result: Err(self.why_cut()), power_ons: self.power_ons, ..answer };
                self.answer(Awaited::Local(host, answer), None);
            }
        }
        end
    }

    /// What a local client is told whose request a power cut has ended.
    pub(super) fn why_cut(&self) -> LocalClientError {
        if self.is_dark { LocalClientError::Drive(DriveError::NoPower) } else { LocalClientError::PowerWasCut }
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
        // The caller may have left.
        let _ = answer.try_send(text);
        result
    }

    fn stat(&self) -> Stat {
        Stat::of(&self.drive, &self.shared, self.is_dark, [self.turns.taken(), self.turns.most_waited()])
    }

    /// Why a fault cannot be had now, if it cannot: that is no reason to end.
    fn why_no_fault(&self, request: &FaultRequest) -> Option<LiveError> {
        match (request, self.is_dark) {
            (FaultRequest::Restore, false) => {
                Some(LiveError::user("the device has power already; `ftlkit fault IMAGE cut` takes it away"))
            }
            (FaultRequest::Restore, true) | (_, false) => None,
            (_, true) => {
                Some(LiveError::user("the device has no power; give it back first: ftlkit fault IMAGE restore"))
            }
        }
    }

    fn fault(&mut self, request: &FaultRequest) -> Result<String, LiveError> {
        if let Some(refusal) = self.why_no_fault(request) {
            return Ok(super::control::refusal(&refusal));
        }
        match request {
            FaultRequest::Restore => {
                self.restore_power()?;
                return Ok(super::control::done("the power is back, and the translation layer was recovered"));
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

    fn stop_drive(&mut self) -> Result<(), DriveError> {
        if self.is_dark { self.drive.stop_without_power() } else { self.drive.stop() }
    }

    /// Everything acknowledged reaches the disk; of a device without power what its flash holds.
    fn stop(mut self) -> End {
        if let Some(recorder) = self.recorder.take()
            && let Err(error) = recorder.finish()
        {
            // The image matters more than the trace: it is closed all the same.
            let _ = self.stop_drive();
            return Err((Box::new(self.drive), error));
        }
        match self.stop_drive() {
            // The thread that stops the server counts the pages left in a write buffer.
            Ok(()) | Err(DriveError::ReadOnly) => Ok(self.drive),
            Err(DriveError::Bug(why)) => Err((Box::new(self.drive), LiveError::Bug(why))),
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

/// What a client is told of a device that is shut down.
fn shut_down() -> Reply {
    Reply::Error(Errno::Shutdown, "the device has no power".into())
}

/// A reply on its way to its client.
fn outgoing(request: &ClientRequest, reply: Reply) -> Awaited {
    let mut buffers = Vec::with_capacity(2);
    nbd::encode(reply, request.cookie, request.agreed, &mut buffers);
    Awaited::Client(Arc::clone(&request.connection), Outgoing { due: None, buffers, weight: request.weight })
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
