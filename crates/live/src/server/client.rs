//! One client as the engine and the server know it: replies on their way to it, how much it may ask
//! for meanwhile, and how to be rid of it.
//!
//! A request is admitted, served, and its reply sent; until then it counts against the client's
//! share. So a client that never reads holds its own share and nobody else's, and the engine never
//! waits for a client.
//!
//! A thread with replies sends them itself if they are small, their moments have come, nobody else
//! is sending and the client takes them at once: waking the writer takes longer than serving a
//! request. The writer sends the rest.
//!
//! A reply may have a moment before which it is not sent: when the modelled device would have
//! answered. Replies leave in order of these moments, and of those without in the order in which
//! they were ready.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::IoSlice;
use std::net::Shutdown;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};

use super::stream::Line;
use crate::nbd::{self, Agreed, Header, Reply};

/// Requests of one client that may be under way; more than any client keeps.
const MOST_REQUESTS: usize = 1024;
/// Bytes of one client that may be under way, of requests and replies; one larger request may be
/// alone.
const MOST_BYTES: usize = 8 << 20;

/// Bytes of replies that are sent by who has them: as many as a piece of a request has. To copy
/// more into a socket would keep other clients waiting.
const SMALL_BYTES: usize = 256 << 10;

/// Before a reply's moment the last stretch is waited out awake: as long as waking up has lately
/// taken, within these bounds.
const AWAKE_BEFORE: RangeInclusive<Duration> = Duration::from_micros(60)..=Duration::from_micros(300);

/// A reply in buffers.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// Not before; none for at once.
    pub(crate) due: Option<Instant>,
    pub(crate) buffers: Vec<Bytes>,
    /// What the request counted as when it was admitted.
    pub(crate) weight: usize,
}

/// Buffers to be sent, and what they count as when they have been.
#[derive(Debug, Default)]
pub(crate) struct Parcel {
    pub(crate) buffers: VecDeque<Bytes>,
    /// When they were due, those that were due at a moment.
    pub(crate) due: Vec<Instant>,
    requests: usize,
    weight: usize,
}

impl Parcel {
    /// Bytes to be sent.
    pub(crate) fn bytes(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.len() as u64).sum()
    }

    fn add(&mut self, outgoing: Outgoing) {
        self.requests += 1;
        self.weight += outgoing.weight;
        self.due.extend(outgoing.due);
        self.buffers.extend(outgoing.buffers);
    }

    fn is_empty(&self) -> bool {
        self.requests == 0
    }

    /// Takes this many bytes off the front.
    pub(crate) fn advance(&mut self, mut bytes: usize) {
        while let Some(first) = self.buffers.front_mut() {
            if first.len() > bytes {
                first.advance(bytes);
                break;
            }
            bytes -= first.len();
            self.buffers.pop_front();
        }
    }
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
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and any of them may be so with the others"
)]
struct State {
    ready: BinaryHeap<Reverse<Ready>>,
    /// What somebody began to send and left to the writer.
    rest: Parcel,
    /// Whether somebody is sending.
    is_sending: bool,
    numbered: u64,
    /// How long waking up takes here: what was longest, forgotten bit by bit.
    waking: Duration,
    requests: usize,
    bytes: usize,
    /// Whether the reader waits for room. Waking nobody is a system call all the same.
    reader_waits: bool,
    /// Nothing more will be asked: when all is sent, the writer is done.
    is_ending: bool,
    /// Nobody is there any more.
    is_closed: bool,
}

impl State {
    fn is_full_for(&self, bytes: usize) -> bool {
        let fits = self.requests < MOST_REQUESTS && self.bytes + bytes <= MOST_BYTES;
        self.requests > 0 && !fits
    }

    fn admit(&mut self, bytes: usize) {
        self.requests += 1;
        self.bytes += bytes;
    }
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

    /// Lets a request of this many bytes begin, if it need not wait for others.
    pub(crate) fn admit_at_once(&self, bytes: usize) -> bool {
        let mut state = self.lock();
        let is_admitted = !state.is_closed && !state.is_full_for(bytes);
        if is_admitted {
            state.admit(bytes);
        }
        is_admitted
    }

    /// Waits until a request of this many bytes may begin; false when the connection is closed.
    pub(crate) fn admit(&self, bytes: usize) -> bool {
        let must_wait = |state: &mut State| {
            state.reader_waits = !state.is_closed && state.is_full_for(bytes);
            state.reader_waits
        };
        let mut state = self.freed.wait_while(self.lock(), must_wait).unwrap_or_else(PoisonError::into_inner);
        state.admit(bytes);
        !state.is_closed
    }

    /// What was admitted did not come: the client left in the middle of it.
    pub(crate) fn withdraw(&self, bytes: usize) {
        let mut state = self.lock();
        state.requests -= 1;
        state.bytes -= bytes;
        drop(state);
        self.filled.notify_one();
    }

    /// Replies are ready. Those that come back are for the caller to send, which ends with
    /// [`sent`](Self::sent) or [`leave`](Self::leave).
    pub(crate) fn deliver(&self, mut replies: Vec<Outgoing>) -> Option<Parcel> {
        let mut state = self.lock();
        if state.is_closed {
            return None;
        }
        let is_free = !state.is_sending && state.rest.is_empty() && state.ready.is_empty();
        let bytes: usize = replies.iter().flat_map(|reply| &reply.buffers).map(Bytes::len).sum();
        let last_due = replies.iter().filter_map(|reply| reply.due).max();
        if is_free && bytes <= SMALL_BYTES && last_due.is_none_or(|due| due <= Instant::now()) {
            state.is_sending = true;
            replies.sort_by_key(|reply| reply.due);
            let mut parcel = Parcel::default();
            for reply in replies {
                parcel.add(reply);
            }
            return Some(parcel);
        }
        for outgoing in replies {
            state.numbered += 1;
            let (due, number) = (outgoing.due, state.numbered);
            state.ready.push(Reverse(Ready { due, number, outgoing }));
        }
        drop(state);
        self.filled.notify_one();
        None
    }

    /// What could not be sent at once is left to the writer.
    pub(crate) fn leave(&self, rest: Parcel) {
        let mut state = self.lock();
        state.is_sending = false;
        state.rest = rest;
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
        state.rest = Parcel::default();
        drop(state);
        self.filled.notify_one();
        self.freed.notify_one();
    }

    /// Replies were sent.
    pub(crate) fn sent(&self, parcel: &Parcel) {
        let mut state = self.lock();
        state.is_sending = false;
        state.requests = state.requests.saturating_sub(parcel.requests);
        state.bytes = state.bytes.saturating_sub(parcel.weight);
        let is_done = state.is_ending && state.requests == 0;
        let wakes_writer = is_done || !state.ready.is_empty();
        let wakes_reader = state.reader_waits;
        drop(state);
        if wakes_reader {
            self.freed.notify_one();
        }
        if wakes_writer {
            self.filled.notify_one();
        }
    }

    /// Waits for replies whose moment has come and takes them; none when there will be no more.
    pub(crate) fn take(&self) -> Option<Parcel> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if state.is_sending {
                state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let mut parcel = std::mem::take(&mut state.rest);
            let now = Instant::now();
            while let Some(Reverse(next)) = state.ready.peek()
                && next.due.is_none_or(|due| due <= now)
                && let Some(Reverse(next)) = state.ready.pop()
            {
                parcel.add(next.outgoing);
            }
            if !parcel.is_empty() {
                state.is_sending = true;
                return Some(parcel);
            }
            state = match state.ready.peek().and_then(|next| next.0.due) {
                None if state.is_ending && state.requests == 0 => return None,
                None => self.filled.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(due) => self.wait_until(due, state),
            };
        }
    }

    fn wait_until<'a>(&'a self, due: Instant, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let now = Instant::now();
        let awake_before = state.waking.clamp(*AWAKE_BEFORE.start(), *AWAKE_BEFORE.end());
        let left = due.saturating_duration_since(now);
        if let Some(asleep) = left.checked_sub(awake_before).filter(|asleep| !asleep.is_zero()) {
            let (mut state, end) = self.filled.wait_timeout(state, asleep).unwrap_or_else(PoisonError::into_inner);
            if end.timed_out() {
                let waking = (now + asleep).elapsed();
                state.waking = waking.max(state.waking * 7 / 8);
            }
            return state;
        }
        drop(state);
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        self.lock()
    }
}

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
    /// Returns when those were due that have left, as far as they were due at a moment.
    pub(crate) fn deliver(&self, replies: Vec<Outgoing>) -> Vec<Instant> {
        let Some(mut parcel) = self.outbox.deliver(replies) else { return Vec::new() };
        let slices: Vec<_> = parcel.buffers.iter().map(|buffer| IoSlice::new(buffer)).collect();
        // An error is the writer's to find again.
        let sent = self.line.send_at_once(&slices).unwrap_or(0);
        parcel.advance(sent);
        if parcel.buffers.is_empty() {
            self.outbox.sent(&parcel);
            return parcel.due;
        }
        self.outbox.leave(parcel);
        Vec::new()
    }

    /// Answers a request that never reaches the engine.
    pub(super) fn answer(&self, reply: Reply, header: &Header, weight: usize, agreed: Agreed) {
        let mut buffers = Vec::with_capacity(1);
        nbd::encode(reply, header.cookie, agreed, &mut buffers);
        self.deliver(vec![Outgoing { due: None, buffers, weight }]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(due: Option<Instant>, byte: u8) -> Outgoing {
        Outgoing { due, buffers: vec![Bytes::copy_from_slice(&[byte])], weight: byte.into() }
    }

    /// Sends what the writer is given.
    fn taken(outbox: &Outbox) -> Option<Vec<u8>> {
        outbox.take().map(|parcel| {
            outbox.sent(&parcel);
            parcel.buffers.iter().flatten().copied().collect()
        })
    }

    #[test]
    fn replies_leave_in_order_of_their_moments() {
        let outbox = Outbox::default();
        (0..4).for_each(|_| assert!(outbox.admit(0)));
        let now = Instant::now();
        let later = |ms| Some(now + Duration::from_millis(ms));
        assert!(outbox.deliver(vec![reply(later(9), 1), reply(later(3), 2), reply(None, 3), reply(None, 4)]).is_none());
        let mut order = Vec::new();
        while order.len() < 4 {
            order.extend(taken(&outbox).expect("open"));
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
            let parcel = outbox.deliver(vec![Outgoing { weight: MOST_BYTES * 4, ..reply(None, 0) }]);
            outbox.sent(&parcel.expect("nobody else is sending"));
            assert!(second.join().expect("no panic"));
        });
    }

    #[test]
    fn who_has_small_replies_sends_them_and_the_writer_sends_what_is_left() {
        let outbox = Outbox::default();
        (0..5).for_each(|_| assert!(outbox.admit(0)));
        let mut parcel = outbox.deliver(vec![reply(None, 1), reply(None, 2), reply(None, 3)]).expect("for the caller");
        assert!(outbox.deliver(vec![reply(None, 4)]).is_none(), "one at a time");
        parcel.advance(2);
        outbox.leave(parcel);
        let large = Outgoing { buffers: vec![vec![5; SMALL_BYTES + 1].into()], ..reply(None, 0) };
        assert!(outbox.deliver(vec![large]).is_none(), "behind the rest");
        let sent = taken(&outbox).expect("open");
        assert_eq!((&sent[..2], sent.len()), (&[3, 4][..], 2 + SMALL_BYTES + 1));
        let later = Some(Instant::now() + Duration::from_secs(9));
        assert!(outbox.deliver(vec![reply(later, 6)]).is_none(), "a moment to wait for");
    }

    #[test]
    fn who_has_replies_whose_moments_have_come_sends_them_in_order() {
        let outbox = Outbox::default();
        (0..3).for_each(|_| assert!(outbox.admit(0)));
        let now = Instant::now();
        let replies = vec![reply(Some(now), 1), reply(now.checked_sub(Duration::from_nanos(1)), 2), reply(None, 3)];
        let parcel = outbox.deliver(replies).expect("for the caller");
        assert_eq!(parcel.buffers.iter().flatten().copied().collect::<Vec<u8>>(), [3, 2, 1]);
        assert_eq!(parcel.due.len(), 2);
    }

    #[test]
    fn a_client_that_leaves_in_the_middle_of_a_request_keeps_nobody_waiting() {
        let outbox = Outbox::default();
        assert!(outbox.admit(7));
        outbox.withdraw(7);
        outbox.end();
        assert!(outbox.take().is_none(), "there is nothing to wait for");
    }

    #[test]
    fn the_writer_is_done_when_all_is_sent_and_at_once_when_the_client_is_gone() {
        let outbox = Outbox::default();
        assert!(outbox.admit(5));
        outbox.end();
        let soon = Some(Instant::now() + Duration::from_millis(20));
        assert!(outbox.deliver(vec![reply(soon, 5)]).is_none());
        assert_eq!(taken(&outbox), Some(vec![5]));
        assert!(outbox.take().is_none());
        let gone = Outbox::default();
        assert!(gone.admit(5));
        gone.close();
        assert!(gone.take().is_none());
        assert!(!gone.admit(5));
    }
}
