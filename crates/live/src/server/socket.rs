//! A connection of either family, and how long its peer may take.
//!
//! When a peer misses its deadline, the listener's thread shuts its socket down
//! ([`Peers`](super::accept::Peers)). The peer's own thread then reads the end of the stream,
//! wherever it waits.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::net::{SendAncillaryBuffer, SendFlags, sockopt};

/// A silent TCP peer is asked after so long whether it is still there,
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
/// then in these intervals,
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
/// and given up after this many questions without an answer.
const KEEPALIVE_TIMES: u32 = 6;

/// A deadline that is not set.
const NEVER: u64 = u64::MAX;

/// A stream of either family.
#[derive(Debug)]
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A connection, with the deadline of its peer.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Stream,
    accepted: Instant,
    /// Deadline of reads, in nanoseconds since the connection was accepted.
    reading: AtomicU64,
    /// The same for writes.
    writing: AtomicU64,
    /// Whether it is a client; before that it is one of many who knock.
    is_client: AtomicBool,
    is_closed: AtomicBool,
}

impl Socket {
    /// A connection that was accepted. A TCP peer that vanishes is noticed.
    pub(crate) fn new(stream: Stream) -> io::Result<Self> {
        if let Stream::Tcp(stream) = &stream {
            stream.set_nodelay(true)?;
            sockopt::set_socket_keepalive(stream, true)?;
            sockopt::set_tcp_keepidle(stream, KEEPALIVE_AFTER)?;
            sockopt::set_tcp_keepintvl(stream, KEEPALIVE_EVERY)?;
            sockopt::set_tcp_keepcnt(stream, KEEPALIVE_TIMES)?;
        }
        Ok(Self {
            stream,
            accepted: Instant::now(),
            reading: AtomicU64::new(NEVER),
            writing: AtomicU64::new(NEVER),
            is_client: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Ends the connection and all waits for it.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.shutdown(Shutdown::Both);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    pub(crate) fn shutdown(&self, how: Shutdown) {
        // The peer may have gone already.
        let _ = match &self.stream {
            Stream::Unix(stream) => stream.shutdown(how),
            Stream::Tcp(stream) => stream.shutdown(how),
        };
    }

    /// The handshake is done: it is no longer one of those who knock.
    pub(crate) fn becomes_client(&self) {
        self.is_client.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_client(&self) -> bool {
        self.is_client.load(Ordering::SeqCst)
    }

    fn moment(&self, limit: Duration) -> u64 {
        (self.accepted.elapsed() + limit).as_nanos() as u64
    }

    /// Sets the time limit of reads from now on; none is no limit.
    pub(crate) fn read_within(&self, limit: Option<Duration>) {
        self.reading.store(limit.map_or(NEVER, |limit| self.moment(limit)), Ordering::Relaxed);
    }

    /// Tightens the time limit of reads from now on, never beyond the earlier one; returns
    /// the earlier one.
    pub(crate) fn read_no_later_than(&self, limit: Duration) -> u64 {
        self.reading.fetch_min(self.moment(limit), Ordering::Relaxed)
    }

    /// Sets the deadline that [`read_no_later_than`](Self::read_no_later_than) replaced.
    pub(crate) fn read_until(&self, until: u64) {
        self.reading.store(until, Ordering::Relaxed);
    }

    /// Time left for reads.
    pub(crate) fn time_left(&self) -> Duration {
        let left = self.reading.load(Ordering::Relaxed).saturating_sub(self.accepted.elapsed().as_nanos() as u64);
        Duration::from_nanos(left)
    }

    /// Sets the time limit of writes from now on.
    pub(crate) fn write_within(&self, limit: Option<Duration>) {
        self.writing.store(limit.map_or(NEVER, |limit| self.moment(limit)), Ordering::Relaxed);
    }

    /// Whether anybody has waited for the peer for too long.
    pub(crate) fn is_late(&self) -> bool {
        let now = self.accepted.elapsed().as_nanos() as u64;
        now > self.reading.load(Ordering::Relaxed).min(self.writing.load(Ordering::Relaxed))
    }

    /// Sends what the operating system takes without waiting.
    pub(crate) fn send_at_once(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let how = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(rustix::net::sendmsg(self, buffers, &mut SendAncillaryBuffer::default(), how)?)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.stream {
            Stream::Unix(stream) => (&*stream).read(buffer),
            Stream::Tcp(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &self.stream {
            Stream::Unix(stream) => (&*stream).write(buffer),
            Stream::Tcp(stream) => (&*stream).write(buffer),
        }
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        match &self.stream {
            Stream::Unix(stream) => (&*stream).write_vectored(buffers),
            Stream::Tcp(stream) => (&*stream).write_vectored(buffers),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Timers of this thread wake it when they say, not up to 50 µs later.
pub(super) fn precise_timers() {
    // Where that cannot be had, replies are a little late.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// The slowest line that is served, in bytes per second: time for a transfer grows with its length.
const SLOWEST_BYTES_PER_S: u64 = 256 << 10;

/// How long a client may keep the server waiting, and how many may knock at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For the whole handshake, TLS included.
    pub handshake: Duration,
    /// Connections that are still shaking hands; one more and the oldest of them is closed. Apart
    /// from the limit on clients.
    pub handshakes: usize,
    /// For a request from its first byte to its last, and for replies from the moment at which they
    /// are ready until the client has taken them; a second more for each 256 KiB.
    pub transfer: Duration,
    /// For a caller of the control socket or of the metrics to ask, and again to take the answer.
    pub caller: Duration,
    /// Such callers at once; one more and the oldest is closed.
    pub callers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            handshakes: 64,
            transfer: Duration::from_secs(30),
            caller: Duration::from_secs(2),
            callers: 16,
        }
    }
}

impl Limits {
    /// For this many bytes to arrive, or to be taken.
    pub(crate) fn transfer_of(&self, bytes: u64) -> Duration {
        self.transfer + Duration::from_millis(bytes.saturating_mul(1000) / SLOWEST_BYTES_PER_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_tcp_peer_that_vanishes_is_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let _peer = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let socket = Socket::new(Stream::Tcp(listener.accept().expect("a peer").0)).expect("a socket");
        assert!(sockopt::socket_keepalive(&socket).expect("an option"));
        assert_eq!(sockopt::tcp_keepidle(&socket).expect("an option"), KEEPALIVE_AFTER);
        assert_eq!(sockopt::tcp_keepintvl(&socket).expect("an option"), KEEPALIVE_EVERY);
        assert_eq!(sockopt::tcp_keepcnt(&socket).expect("an option"), KEEPALIVE_TIMES);
    }

    #[test]
    fn a_peer_is_late_for_who_reads_or_for_who_writes() {
        let (ours, _theirs) = UnixStream::pair().expect("a pair");
        let socket = Socket::new(Stream::Unix(ours)).expect("a socket");
        assert!(!socket.is_late(), "nobody waits");
        socket.read_within(Some(Duration::ZERO));
        std::thread::sleep(Duration::from_millis(1));
        assert!(socket.is_late());
        socket.read_within(None);
        assert!(!socket.is_late());
        socket.write_within(Some(Duration::ZERO));
        std::thread::sleep(Duration::from_millis(1));
        assert!(socket.is_late());
        socket.write_within(Some(Duration::from_secs(100)));
        assert!(!socket.is_late());
    }
}
