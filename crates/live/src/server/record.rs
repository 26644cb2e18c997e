//! Record mode: the requests that are served become a trace.
//!
//! The trace's writer runs in a thread of its own, behind a queue of bounded length, and the file
//! takes its name when the server stops. A server that is killed leaves no trace.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use ftl::Nanos;
use trace::{Hint, HostOp, Record, Target, TraceError};

use crate::LiveError;
use crate::nbd::Command;

/// Records that may wait for their writer: some milliseconds of the fastest client.
const MOST_WAITING: usize = 65_536;

/// Writes a trace beside the engine.
pub(crate) struct Recorder {
    path: PathBuf,
    sender: SyncSender<Record>,
    writer: JoinHandle<Result<u64, TraceError>>,
    first: Option<Nanos>,
}

impl Recorder {
    /// Starts a trace.
    pub(crate) fn start(path: &Path) -> Result<Self, LiveError> {
        let Some(target) = Target::of(path) else {
            return Err(LiveError::user(format!("--record {}: the name must end in .parquet or .csv", path.display())));
        };
        let (sender, receiver): (_, Receiver<Record>) = sync_channel(MOST_WAITING);
        let to = path.to_owned();
        let write = move || trace::write(receiver.into_iter().map(Ok), &to, target);
        let writer = std::thread::Builder::new().name("record".into()).spawn(write);
        let writer = writer.map_err(|error| LiveError::user(format!("cannot start a thread for --record: {error}")))?;
        Ok(Self { path: path.to_owned(), sender, writer, first: None })
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
