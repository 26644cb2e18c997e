//! Replies on their way to one client, and how much it may ask for meanwhile.
//!
//! A request is admitted, served, and its reply sent; until then it counts against the client's share. So a client that
//! never reads holds its own share and nobody else's, and the engine never waits for a client.
//!
//! A reply may have a moment before which it is not sent: when the modelled device would have answered. Replies leave in
//! order of these moments, and of those without in the order in which they were ready.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

/// Requests of one client that may be under way; more than any client keeps.
const MOST_REQUESTS: usize = 1024;
/// Bytes of one client that may be under way, of requests and replies; one larger request may be alone.
const MOST_BYTES: usize = 8 << 20;

/// Before a reply's moment the last stretch is waited out awake: waking up takes about as long.
const AWAKE_BEFORE: Duration = Duration::from_micros(60);

/// A reply in buffers.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// Not before; none for at once.
    pub(crate) due: Option<Instant>,
    pub(crate) buffers: Vec<Bytes>,
    /// What the request counted as when it was admitted.
    pub(crate) weight: usize,
}

/// A reply in its place in the order.
#[derive(Debug)]
struct Ready {
    due: Option<Instant>,
    number: u64,
    outgoing: Outgoing,
}

impl PartialEq for Ready {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Ready {}
impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ready {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

#[derive(Debug, Default)]
struct State {
    ready: BinaryHeap<Reverse<Ready>>,
    numbered: u64,
    requests: usize,
    bytes: usize,
    /// Nothing more will be asked: when all is sent, the writer is done.
    is_ending: bool,
    /// Nobody is there any more.
    is_closed: bool,
}

/// Replies of one connection.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// The writer waits on this.
    filled: Condvar,
    /// The reader waits on this.
    freed: Condvar,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change below is complete before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a request of so many bytes may begin; false when the connection is closed.
    pub(crate) fn admit(&self, bytes: usize) -> bool {
        let is_full = |state: &mut State| {
            let fits = state.requests < MOST_REQUESTS && state.bytes + bytes <= MOST_BYTES;
            !state.is_closed && state.requests > 0 && !fits
        };
        let mut state = self.freed.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
        state.requests += 1;
        state.bytes += bytes;
        !state.is_closed
    }

    /// Replies are ready.
    pub(crate) fn deliver(&self, replies: impl IntoIterator<Item = Outgoing>) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        for outgoing in replies {
            state.numbered += 1;
            let (due, number) = (outgoing.due, state.numbered);
            state.ready.push(Reverse(Ready { due, number, outgoing }));
        }
        drop(state);
        self.filled.notify_one();
    }

    /// The client asks for nothing more.
    pub(crate) fn end(&self) {
        self.lock().is_ending = true;
        self.filled.notify_one();
    }

    /// The client is gone, or is sent away.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.ready.clear();
        drop(state);
        self.filled.notify_one();
        self.freed.notify_one();
    }

    /// So many replies were sent.
    pub(crate) fn sent(&self, requests: usize, bytes: usize) {
        let mut state = self.lock();
        state.requests = state.requests.saturating_sub(requests);
        state.bytes = state.bytes.saturating_sub(bytes);
        let is_done = state.is_ending && state.requests == 0;
        drop(state);
        self.freed.notify_one();
        if is_done {
            self.filled.notify_one();
        }
    }

    /// Waits for replies whose moment has come and takes them; none when there will be no more.
    pub(crate) fn take(&self, into: &mut Vec<Outgoing>) -> bool {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return false;
            }
            let now = Instant::now();
            while let Some(Reverse(next)) = state.ready.peek()
                && next.due.is_none_or(|due| due <= now)
                && let Some(Reverse(next)) = state.ready.pop()
            {
                into.push(next.outgoing);
            }
            if !into.is_empty() {
                return true;
            }
            state = match state.ready.peek().and_then(|next| next.0.due) {
                None if state.is_ending && state.requests == 0 => return false,
                None => self.filled.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(due) => self.wait_until(due, state),
            };
        }
    }

    fn wait_until<'a>(&'a self, due: Instant, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let left = due.saturating_duration_since(Instant::now());
        if let Some(asleep) = left.checked_sub(AWAKE_BEFORE).filter(|asleep| !asleep.is_zero()) {
            return self.filled.wait_timeout(state, asleep).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        self.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(due: Option<Instant>, weight: usize) -> Outgoing {
        Outgoing { due, buffers: Vec::new(), weight }
    }

    fn taken(outbox: &Outbox) -> Vec<usize> {
        let mut replies = Vec::new();
        outbox.take(&mut replies);
        replies.into_iter().map(|reply| reply.weight).collect()
    }

    #[test]
    fn replies_leave_in_order_of_their_moments() {
        let outbox = Outbox::default();
        (0..4).for_each(|_| assert!(outbox.admit(0)));
        let now = Instant::now();
        let later = |ms| Some(now + Duration::from_millis(ms));
        outbox.deliver([reply(later(9), 1), reply(later(3), 2), reply(None, 3), reply(None, 4)]);
        let mut order = Vec::new();
        while order.len() < 4 {
            order.extend(taken(&outbox));
            // Each when its moment has come; several at once where this thread was late.
            let until = Duration::from_millis([0, 0, 0, 3, 9][order.len()]);
            assert!(now.elapsed() >= until, "{order:?} after {:?}", now.elapsed());
        }
        assert_eq!(order, [3, 4, 2, 1]);
    }

    #[test]
    fn a_full_share_waits_for_what_was_sent_and_one_large_request_may_be_alone() {
        let outbox = Outbox::default();
        assert!(outbox.admit(MOST_BYTES * 4));
        std::thread::scope(|scope| {
            let second = scope.spawn(|| outbox.admit(1));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!second.is_finished(), "the share was full");
            outbox.sent(1, MOST_BYTES * 4);
            assert!(second.join().expect("no panic"));
        });
    }

    #[test]
    fn the_writer_is_done_when_all_is_sent_and_at_once_when_the_client_is_gone() {
        let outbox = Outbox::default();
        assert!(outbox.admit(5));
        outbox.end();
        outbox.deliver([reply(None, 5)]);
        assert_eq!(taken(&outbox), [5]);
        outbox.sent(1, 5);
        assert!(!outbox.take(&mut Vec::new()));
        let gone = Outbox::default();
        assert!(gone.admit(5));
        gone.close();
        assert!(!gone.take(&mut Vec::new()));
        assert!(!gone.admit(5));
    }
}
