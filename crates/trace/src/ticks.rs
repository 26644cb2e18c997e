//! Times in coarse steps: the step of a trace's times, and requests spread inside it.
//!
//! A trace in whole seconds has all requests of a second at its beginning. Served like that they
//! wait for each other, and responses are those of bursts that were never there. The step is known
//! only from all times, so it is counted while a trace is read, and the user names it for the
//! next reading ([`OpenOptions::tick`](crate::OpenOptions)).

use std::collections::VecDeque;

use crate::choices::MAX_WINDOW;
use crate::record::Record;

/// The longest step that is looked for, and the shortest that is worth a word: drives answer in
/// less than it. Nanoseconds.
const LONGEST_NS: u64 = 1_000_000_000;
const COARSE_NS: u64 = 1_000_000;
/// Share of requests with the time of the one before from which on a step is worth a word.
const SHARED: f64 = 0.1;
/// Fewest requests whose one time says that a trace has no times: a line can be three at once.
const ENOUGH: u64 = 4;

/// The step of a trace's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Ticks {
    /// The largest power of ten that divides all times since the first, at most a second,
    /// nanoseconds; none where all requests have one time.
    pub tick_ns: Option<u64>,
    /// Requests with the time of the one before.
    pub shared: u64,
}

/// Times in the making of their step.
#[derive(Default)]
pub(crate) struct TickCount {
    first_ns: Option<u64>,
    last_ns: u64,
    tick_ns: u64,
    shared: u64,
    requests: u64,
}

impl TickCount {
    #[inline]
    pub(crate) fn observe(&mut self, time_ns: u64) {
        self.requests += 1;
        let Some(first_ns) = self.first_ns else {
            (self.first_ns, self.last_ns, self.tick_ns) = (Some(time_ns), time_ns, LONGEST_NS);
            return;
        };
        if time_ns == self.last_ns {
            self.shared += 1;
            return;
        }
        self.last_ns = time_ns;
        // Of finer times nothing is told, so they cost no division.
        while self.tick_ns >= COARSE_NS && !(time_ns - first_ns).is_multiple_of(self.tick_ns) {
            self.tick_ns /= 10;
        }
    }

    /// The step, where it is coarse and many requests share a time, or all do.
    pub(crate) fn coarse(&self) -> Option<Ticks> {
        if self.last_ns == self.first_ns? {
            return (self.requests >= ENOUGH).then_some(Ticks { tick_ns: None, shared: self.shared });
        }
        let is_shared = self.shared as f64 >= SHARED * self.requests as f64;
        (self.tick_ns >= COARSE_NS && is_shared).then_some(Ticks { tick_ns: Some(self.tick_ns), shared: self.shared })
    }
}

/// Requests of one time, spread evenly from it on.
pub(crate) struct Spread {
    pub(crate) tick_ns: u64,
    /// Requests of one time, or of one place among them already.
    group: VecDeque<Record>,
    /// The first request of a later time.
    next: Option<Record>,
}

impl Spread {
    pub(crate) fn new(tick_ns: u64) -> Self {
        Self { tick_ns, group: VecDeque::new(), next: None }
    }

    /// The next request of those that `read` yields. A group ends a tick after its time, or where
    /// the next time is.
    pub(crate) fn next<E>(
        &mut self,
        mut read: impl FnMut() -> Result<Option<Record>, E>,
    ) -> Result<Option<Record>, Spreading<E>> {
        if let Some(record) = self.group.pop_front() {
            return Ok(Some(record));
        }
        let first = match self.next.take() {
            Some(record) => Some(record),
            None => read().map_err(Spreading::Read)?,
        };
        let Some(first) = first else { return Ok(None) };
        self.group.push_back(first);
        while let Some(record) = read().map_err(Spreading::Read)? {
            if record.time_ns != first.time_ns {
                self.next = Some(record);
                break;
            }
            if self.group.len() == MAX_WINDOW {
                return Err(Spreading::TooMany);
            }
            self.group.push_back(record);
        }
        let width_ns = self.next.map_or(self.tick_ns, |next| self.tick_ns.min(next.time_ns - first.time_ns));
        let count = self.group.len() as u128;
        for (place, record) in (0_u128..).zip(&mut self.group) {
            record.time_ns += (u128::from(width_ns) * place / count) as u64;
        }
        Ok(self.group.pop_front())
    }
}

/// Why requests cannot be spread.
pub(crate) enum Spreading<E> {
    Read(E),
    /// More requests of one time than are kept.
    TooMany,
}
