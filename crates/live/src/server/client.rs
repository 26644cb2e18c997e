//! One client as the engine and the server know it: what is to leave for it, and how to be rid of
//! it.

use std::io::IoSlice;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};

use super::outbox::{Outbox, Outgoing};
use super::stream::Line;
use crate::nbd::{self, Agreed, Header, Reply};

/// What the engine and the server know of a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) outbox: Outbox,
    pub(super) is_gone: AtomicBool,
    pub(super) line: Line,
}

impl Connection {
    /// A client at the other end of a line.
    pub(super) fn new(line: Line) -> Self {
        Self { outbox: Outbox::default(), is_gone: AtomicBool::new(false), line }
    }

    /// Sends the client away, whatever is under way.
    pub(crate) fn close(&self) {
        self.is_gone.store(true, Ordering::SeqCst);
        self.outbox.close();
        self.line.shutdown(Shutdown::Both);
    }

    /// Whether the client is gone or was sent away. What it asked for before is not to be done any
    /// more: after a power cut it would come as from nowhere.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::SeqCst)
    }

    /// Takes no more requests; replies still leave.
    pub(crate) fn stop_reading(&self) {
        self.line.shutdown(Shutdown::Read);
    }

    /// Replies are ready: they are sent at once, if that takes no time, or left to the writer.
    pub(crate) fn deliver(&self, replies: Vec<Outgoing>) {
        let Some(mut parcel) = self.outbox.deliver(replies) else { return };
        let slices: Vec<_> = parcel.buffers.iter().map(|buffer| IoSlice::new(buffer)).collect();
        // An error is the writer's to find again.
        let sent = self.line.send_at_once(&slices).unwrap_or(0);
        parcel.advance(sent);
        if parcel.buffers.is_empty() {
            self.outbox.sent(&parcel);
        } else {
            self.outbox.leave(parcel);
        }
    }

    /// Answers a request that never reaches the engine.
    pub(super) fn answer(&self, reply: Reply, header: &Header, weight: usize, agreed: Agreed) {
        let mut buffers = Vec::with_capacity(1);
        nbd::encode(reply, header.cookie, agreed, &mut buffers);
        self.deliver(vec![Outgoing { due: None, buffers, weight }]);
    }
}
