//! Record mode: the requests that are served become a trace.
//!
//! The trace's writer runs in a thread of its own, behind a queue of bounded length. It hands what
//! it has to the operating system whenever its queue is empty, so a server that is killed leaves
//! all but the last moment.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use ftl::Nanos;
use trace::{Hint, HostOp, Record, Recording, TraceError};

use crate::LiveError;
use crate::nbd::Command;

/// Records that may wait for their writer: some milliseconds of the fastest client.
const MOST_WAITING: usize = 65_536;
/// Records after which the operating system has them, even where the queue is never empty.
const MOST_UNWRITTEN: usize = 1_024;

/// Writes a trace beside the engine.
pub(crate) struct Recorder {
    path: PathBuf,
    sender: SyncSender<Record>,
    writer: JoinHandle<Result<u64, TraceError>>,
    first: Option<Nanos>,
}

/// Starts the file of a trace, which must not be there yet. It vanishes again if no server comes
/// of it.
pub(super) fn create(path: &Path) -> Result<Recording, LiveError> {
    Recording::create(path).map_err(|error| LiveError::user(format!("--record {error}")))
}

impl Recorder {
    /// Starts to record.
    pub(crate) fn start(recording: Recording) -> Result<Self, LiveError> {
        let path = recording.path().to_owned();
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let writer = std::thread::Builder::new().name("record".into()).spawn(move || write(&receiver, recording));
        let writer = writer.map_err(|error| LiveError::user(format!("cannot start a thread for --record: {error}")))?;
        Ok(Self { path, sender, writer, first: None })
    }

    /// Takes a request that was served. Times count from the first one.
    pub(crate) fn take(
        &mut self,
        at: Nanos,
        command: Command,
        hint: Hint,
        (offset, length): (u64, u32),
    ) -> Result<(), LiveError> {
        let Some(op) = command.host_op() else { return Ok(()) };
        let (offset, length) = if op == HostOp::Flush { (0, 0) } else { (offset, length) };
        if length == 0 && op != HostOp::Flush {
            return Ok(());
        }
        let first = *self.first.get_or_insert(at);
        let record = Record { time_ns: at.since(first).0, op, offset, length, device: 0, hint };
        self.sender.send(record).map_err(|_| {
            LiveError::user(format!("the trace {} cannot be written any more; is its disk full?", self.path.display()))
        })
    }

    /// Completes the trace; returns how many requests it has.
    pub(crate) fn finish(self) -> Result<u64, LiveError> {
        drop(self.sender);
        match self.writer.join() {
            Ok(written) => written.map_err(|error| LiveError::user(error.to_string())),
            Err(_) => Err(LiveError::Bug(format!("the writer of {} panicked", self.path.display()))),
        }
    }
}

/// Writes what comes until nothing can come any more; returns how many.
fn write(receiver: &Receiver<Record>, mut recording: Recording) -> Result<u64, TraceError> {
    while let Ok(record) = receiver.recv() {
        recording.push(&record)?;
        for record in receiver.try_iter().take(MOST_UNWRITTEN - 1) {
            recording.push(&record)?;
        }
        recording.flush()?;
    }
    recording.finish()
}
