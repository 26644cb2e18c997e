//! All who are connected to one listener, and the loop that lets them in and sends them away.
//!
//! Those who still shake hands have a limit of their own: when it is reached, the one that came
//! first is closed. So nobody can keep others out by knocking slowly, and clients are never closed
//! for those who knock. Clients that keep the server waiting beyond its time are closed as well.

use std::collections::VecDeque;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::listener::Listener;
use super::socket::Socket;

/// How often the listener looks for peers that missed their deadline.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long closed connections may take to end before new ones are refused.
const WAY_OUT: Duration = Duration::from_millis(500);
/// How long to wait when no more connections can be taken, most likely for want of file
/// descriptors.
const BREATHER: Duration = Duration::from_millis(10);

/// The connections of one listener, in the order in which it accepted them.
#[derive(Debug)]
pub(crate) struct Peers {
    /// The most connections that may be in their handshake at once.
    most: usize,
    here: Mutex<VecDeque<Arc<Socket>>>,
    /// A connection has ended.
    left: Condvar,
}

impl Peers {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, here: Mutex::default(), left: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Socket>>> {
        // Each change below is complete before anything can panic.
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a new connection. If there are too many, closes the oldest in its handshake, and
    /// waits for closed ones to end; none if they do not.
    fn admit(&self, socket: Socket) -> Option<Arc<Socket>> {
        let is_crowded =
            |peers: &mut VecDeque<Arc<Socket>>| peers.iter().filter(|peer| !peer.is_client()).count() >= 2 * self.most;
        let waited = self.left.wait_timeout_while(self.lock(), WAY_OUT, is_crowded);
        let (mut peers, end) = waited.unwrap_or_else(PoisonError::into_inner);
        if end.timed_out() {
            return None;
        }
        let mut waiting = peers.iter().filter(|peer| !peer.is_client() && !peer.is_closed());
        if let Some(oldest) = waiting.next()
            && waiting.count() + 1 >= self.most
        {
            oldest.close();
        }
        let socket = Arc::new(socket);
        peers.push_back(Arc::clone(&socket));
        Some(socket)
    }

    fn leave(&self, socket: &Arc<Socket>) {
        self.lock().retain(|peer| !Arc::ptr_eq(peer, socket));
        self.left.notify_one();
    }

    fn close_late(&self) {
        self.lock().iter().filter(|peer| peer.is_late() && !peer.is_closed()).for_each(|peer| peer.close());
    }

    /// Reads no more from connections in their handshake. Replies on their way are still sent.
    pub(crate) fn stop(&self) {
        self.lock().iter().filter(|peer| !peer.is_client()).for_each(|peer| peer.shutdown(Shutdown::Read));
    }

    /// Serves each connection in a thread of its own, until the bell rings.
    pub(crate) fn receive(
        self: &Arc<Self>,
        listener: &Listener,
        bell: &Bell,
        name: &str,
        serve: impl Fn(&Arc<Socket>) + Clone + Send + 'static,
    ) {
        while let Some(socket) = self.next(listener, bell) {
            let Some(socket) = self.admit(socket) else { continue };
            let (peers, serve, ours) = (Arc::clone(self), serve.clone(), Arc::clone(&socket));
            let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
                // A panic there ends this peer, and the panic's own report is all that there is to
                // say.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| serve(&ours)));
                ours.close();
                peers.leave(&ours);
            });
            if thread.is_err() {
                // Without a thread it is turned away, like one too many.
                socket.close();
                self.leave(&socket);
            }
        }
    }

    /// Waits for a connection; none when the bell has rung.
    fn next(&self, listener: &Listener, bell: &Bell) -> Option<Socket> {
        let tick = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.as_nanos() as i64 };
        loop {
            let mut awaited = [PollFd::new(listener, PollFlags::IN), PollFd::new(&bell.end, PollFlags::IN)];
            let count = poll(&mut awaited, Some(&tick));
            if count.is_ok() && !awaited[1].revents().is_empty() {
                return None;
            }
            self.close_late();
            match listener.accept() {
                Ok(socket) => return Some(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Those that leave give descriptors back.
                Err(_) => std::thread::sleep(BREATHER),
            }
        }
    }
}

/// Tells listeners to stop, whatever has become of their sockets' files.
#[derive(Debug)]
pub(crate) struct Bell {
    rope: UnixStream,
    end: UnixStream,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        let (rope, end) = UnixStream::pair()?;
        Ok(Self { rope, end })
    }

    /// Rings for ever after.
    pub(crate) fn ring(&self) {
        // It cannot fail on a pair that is open, and rings only once.
        let _ = self.rope.shutdown(Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::socket::Stream;

    fn peer(peers: &Peers) -> Arc<Socket> {
        let (ours, _) = UnixStream::pair().expect("a pair");
        peers.admit(Socket::new(Stream::Unix(ours)).expect("a socket")).expect("room")
    }

    #[test]
    fn the_oldest_who_knocks_goes_first_and_clients_stay() {
        let peers = Peers::new(3);
        let client = peer(&peers);
        client.becomes_client();
        let knocking: Vec<_> = (0..5).map(|_| peer(&peers)).collect();
        let closed: Vec<_> = knocking.iter().map(|peer| peer.is_closed()).collect();
        assert_eq!(closed, [true, true, false, false, false]);
        assert!(!client.is_closed());
        // Those two have not left yet, so there is room for one more before newcomers must wait for
        // them.
        peer(&peers);
        let (ours, _) = UnixStream::pair().expect("a pair");
        assert!(peers.admit(Socket::new(Stream::Unix(ours)).expect("a socket")).is_none());
        peers.leave(&knocking[0]);
        peer(&peers);
    }

    #[test]
    fn only_those_who_are_late_are_closed() {
        let peers = Peers::new(3);
        let (late, patient) = (peer(&peers), peer(&peers));
        late.read_within(Some(Duration::ZERO));
        patient.read_within(Some(Duration::from_secs(100)));
        std::thread::sleep(Duration::from_millis(1));
        peers.close_late();
        assert_eq!((late.is_closed(), patient.is_closed()), (true, false));
    }
}
