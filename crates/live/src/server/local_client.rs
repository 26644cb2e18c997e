//! The local client: a host in the server's process sends requests to the engine, without a socket
//! and a protocol.
//!
//! Its requests use the same queue, record and counts as those of other clients. Each returns when
//! its effects outlive the process. After a power cut, the first request fails with
//! [`LocalClientError::PowerWasCut`]: what was not flushed before may be gone.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ftl::{Hint, Moment, Spares};

use super::engine::{Awaited, Engine};
use super::engine_lock::EngineLock;
use super::fair_queue::{perform_piece, piece_bytes};
use super::queue::{Answer, LocalClientError, LocalRequest, Task};
use super::shared::FilesStat;
use crate::LiveError;
use crate::drive::{DriveError, Piece};
use crate::nbd::Command;

/// What was read, and when the modelled device is done.
type Served = (Vec<Piece>, Moment);

/// A client in the server's own process.
#[derive(Debug)]
pub struct LocalClient {
    engine: Arc<EngineLock>,
    power_ons: u64,
    /// As they were after the last request.
    spares: Option<Spares>,
}

impl LocalClient {
    pub(crate) fn new(engine: Arc<EngineLock>) -> Self {
        Self { engine, power_ons: 0, spares: None }
    }

    /// Bytes of the device.
    pub fn bytes(&self) -> u64 {
        self.engine.shared().export.bytes
    }

    /// Whether the device is served for reading alone.
    pub fn is_read_only(&self) -> bool {
        self.engine.shared().export.is_read_only
    }

    /// Blocks that may fail before the device takes no more writes, and that have, as they were
    /// after the last request; none before the first.
    pub fn spares(&self) -> Option<Spares> {
        self.spares
    }

    /// Reads bytes that lie on the device.
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), LocalClientError> {
        let read = Command::Read { in_one_piece: true };
        let pieces = self.ask(read, (offset, into.len() as u32), (Bytes::new(), Hint::NONE))?;
        Piece::gather(&pieces, into);
        Ok(())
    }

    /// Writes bytes that lie on the device, with what the host says of them.
    pub fn write(&mut self, offset: u64, data: Bytes, hint: Hint) -> Result<(), LocalClientError> {
        let length = data.len() as u32;
        self.ask(Command::Write { fua: false }, (offset, length), (data, hint)).map(drop)
    }

    /// Forgets pages that lie whole in a range.
    pub fn trim(&mut self, offset: u64, length: u32) -> Result<(), LocalClientError> {
        self.ask(Command::Trim { fua: false }, (offset, length), (Bytes::new(), Hint::NONE)).map(drop)
    }

    /// Makes bytes that lie on the device read as zeros, through trims where whole pages allow it.
    pub fn write_zeroes(&mut self, offset: u64, length: u32) -> Result<(), LocalClientError> {
        let zeroes = Command::WriteZeroes { fua: false, may_leave_holes: true };
        self.ask(zeroes, (offset, length), (Bytes::new(), Hint::NONE)).map(drop)
    }

    /// Has everything that was written outlive a power cut.
    pub fn flush(&mut self) -> Result<(), LocalClientError> {
        self.ask(Command::Flush, (0, 0), (Bytes::new(), Hint::NONE)).map(drop)
    }

    /// Publishes the state of the host's files, for `ftlkit stat`.
    pub fn tell_files(&self, files: FilesStat) {
        self.engine.shared().set_files(files);
    }

    /// Says what holds of types of files from now on, wherever their data lie. Collections then
    /// move data of a type that is not written any more as the type is now.
    pub fn rate(&self, types: Vec<Hint>) {
        if !types.is_empty() && self.engine.hand_over(Task::Rate(types)) {
            self.engine.run_here(|_| false);
        }
    }

    /// Says that a file whose data lie in these ranges has another name, with the hint for it from
    /// now on.
    pub fn rename(&mut self, ranges: Vec<(u64, u64)>, hint: Hint) {
        if self.engine.hand_over(Task::Rename(ranges, hint)) {
            self.engine.run_here(|_| false);
        }
    }

    fn ask(
        &mut self,
        command: Command,
        (offset, length): (u64, u32),
        (data, hint): (Bytes, Hint),
    ) -> Result<Vec<Piece>, LocalClientError> {
        let (answer, answered) = sync_channel(1);
        let request = LocalRequest { command, offset, length, data, hint, power_ons: self.power_ons, answer };
        if self.engine.hand_over(Task::LocalRequest(Box::new(request))) {
            self.engine.run_here(|_| false);
        }
        let Ok(Answer { result, power_ons, due, spares }) = answered.recv() else {
            return Err(LocalClientError::Ended);
        };
        self.power_ons = power_ons;
        self.spares = Some(spares);
        if let Some(due) = due {
            let wait = self.engine.shared().moment(due).saturating_duration_since(Instant::now());
            if wait > Duration::ZERO {
                std::thread::sleep(wait);
            }
        }
        result
    }
}

impl Engine {
    /// Serves the local client and answers it.
    pub(super) fn local_request(&mut self, request: &LocalRequest) -> Result<(), LiveError> {
        let (result, end) = self.serve_request(request);
        let (result, read) = result.map_or_else(|error| (Err(error), None), |(pieces, end)| (Ok(pieces), Some(end)));
        let spares = self.drive.ftl().spares();
        let answer = Answer { result, power_ons: self.power_ons, due: None, spares };
        let reply = Awaited::Local(request.answer.clone(), answer);
        if let Some(read) = read.filter(|_| self.modelled) {
            let end = self.drive.hand_over(read, request.command.bytes_returned(request.length));
            self.await_end(reply, (request.command, request.offset, request.length), end);
        } else {
            self.answer(reply, None);
        }
        end
    }

    /// What to answer, and whether the engine can go on.
    fn serve_request(&mut self, request: &LocalRequest) -> (Result<Served, LocalClientError>, Result<(), LiveError>) {
        if self.is_dark {
            return (Err(LocalClientError::Drive(DriveError::NoPower)), Ok(()));
        }
        if request.power_ons != self.power_ons {
            return (Err(LocalClientError::PowerWasCut), Ok(()));
        }
        self.latest = self.latest.max(self.shared.clock());
        self.drive.begin(self.latest);
        self.drive.count(request.command.host_op());
        match self.perform_request(request) {
            Ok(read) => {
                let recorded = self.recorder.as_mut().map_or(Ok(()), |recorder| {
                    recorder.take(self.latest, request.command, request.hint, (request.offset, request.length))
                });
                if self.drive.settle() {
                    (Ok(read), recorded)
                } else {
                    (Err(LocalClientError::Drive(DriveError::NoPower)), Err(self.drive.disk_failed()))
                }
            }
            Err(DriveError::NoPower) => {
                let end = self.lose_power();
                let error = if end.is_err() { LocalClientError::Drive(DriveError::NoPower) } else { self.why_cut() };
                (Err(error), end)
            }
            Err(DriveError::Bug(why)) => {
                let end = LiveError::Bug(format!("{} is at fault: {why}", self.drive.description().stack.names()));
                (Err(LocalClientError::Drive(DriveError::Bug(why))), Err(end))
            }
            Err(error) => (Err(LocalClientError::Drive(error)), Ok(())),
        }
    }

    /// What was read, and when the modelled device is done.
    fn perform_request(&mut self, request: &LocalRequest) -> Result<Served, DriveError> {
        let taken = self.drive.take_command(request.command.bytes_brought(request.length));
        let (mut read, mut done, mut end) = (Vec::new(), 0, Moment::ZERO);
        loop {
            self.drive.begin_piece(self.latest, taken);
            let (at, left) = (request.offset + u64::from(done), request.length - done);
            let length = piece_bytes(request.command, at, left, self.drive.page_bytes());
            let data = if request.data.is_empty() {
                Bytes::new()
            } else {
                request.data.slice(done as usize..(done + length) as usize)
            };
            perform_piece(&mut self.drive, request.command, (at, length), (&data, request.hint), &mut read)?;
            end = self.drive.end_with(end);
            done += length;
            if done >= request.length {
                return Ok((read, end));
            }
        }
    }
}
