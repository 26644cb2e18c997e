//! Times in coarse steps: the step of a trace's times, and requests spread inside it.
//!
//! A trace in whole seconds has all requests of a second at its beginning. Served like that they
//! wait for each other, and responses are those of bursts that were never there. The step is known
//! only from all times, so it is counted while a trace is read, and the user names it for the
//! next reading ([`OpenOptions::tick`](crate::OpenOptions)).

use std::collections::VecDeque;

use host::HostOp;

use crate::choices::MAX_WINDOW;
use crate::error::TraceError;
use crate::record::Record;

/// The steps that are looked for, from the longest. Drives answer in less than the shortest that is
/// worth a word. Nanoseconds.
const STEPS_NS: [u64; 4] = [1_000_000_000, 100_000_000, 10_000_000, 1_000_000];
/// Share of requests that a step must have. Other tools' or clocks' stamps stray among those of a
/// coarse clock; were it 1, one of them would hide the step.
const IN_STEP: f64 = 0.95;
/// Share of requests with the time of the one before from which on a step is worth a word.
const SHARED: f64 = 0.1;
/// Fewest requests whose one time says that a trace has no times: a line can be three at once.
const ENOUGH: u64 = 4;
/// Fewest requests of which a share says anything: of fewer, one pair is more than a tenth.
const ENOUGH_SHARED: u64 = 20;

/// The step of a trace's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Ticks {
    /// The largest power of ten, at most a second, from one to another of 95 % of the times,
    /// nanoseconds; none where all requests have one time.
    pub tick_ns: Option<u64>,
    /// Requests with the time of the one before; the flushes of a request are a part of it.
    pub shared: u64,
    /// Requests of the trace.
    pub requests: u64,
    /// Whether the times are those of completions, from which latencies are subtracted.
    pub stamps_completions: bool,
}

/// Times in the making of their step.
#[derive(Default)]
pub(crate) struct TickCount {
    first_ns: Option<u64>,
    last_ns: u64,
    /// Whether the last time has a request with data.
    has_data: bool,
    /// One for each step.
    phases: [Phase; STEPS_NS.len()],
    shared: u64,
    requests: u64,
}

/// The remainder that most times leave when divided by a step, by a vote of the majority.
#[derive(Clone, Copy, Default)]
struct Phase {
    remainder_ns: u64,
    /// Votes for it more than against it.
    lead: u64,
    requests: u64,
    times: u64,
}

impl Phase {
    #[inline]
    fn vote(&mut self, remainder_ns: u64, is_new_time: bool) {
        if remainder_ns != self.remainder_ns {
            if self.lead > 0 {
                self.lead -= 1;
                return;
            }
            *self = Self { remainder_ns, ..Self::default() };
        }
        self.lead += 1;
        self.requests += 1;
        self.times += u64::from(is_new_time);
    }
}

impl TickCount {
    /// Counts a request that has this time in the trace.
    #[inline]
    pub(crate) fn observe(&mut self, record: &Record, time_ns: u64) {
        let is_data = record.op != HostOp::Flush;
        let is_new_time = self.first_ns.is_none() || time_ns != self.last_ns;
        self.requests += 1;
        self.shared += u64::from(is_data && self.has_data && !is_new_time);
        self.has_data = is_data || (self.has_data && !is_new_time);
        self.first_ns.get_or_insert(time_ns);
        self.last_ns = time_ns;
        for (phase, step_ns) in self.phases.iter_mut().zip(STEPS_NS) {
            phase.vote(time_ns % step_ns, is_new_time);
        }
    }

    /// The step, where it is coarse and many requests share a time, or all do.
    pub(crate) fn coarse(&self, stamps_completions: bool) -> Option<Ticks> {
        let Self { shared, requests, .. } = *self;
        let ticks = |tick_ns| Ticks { tick_ns, shared, requests, stamps_completions };
        if self.last_ns == self.first_ns? {
            // Requests that end together do not arrive together.
            return (requests >= ENOUGH && !stamps_completions).then_some(ticks(None));
        }
        let is_most = |phase: &Phase| phase.times > 1 && phase.requests as f64 >= IN_STEP * requests as f64;
        let step = self.phases.iter().zip(STEPS_NS).find(|pair| is_most(pair.0));
        step.filter(|_| requests >= ENOUGH_SHARED && shared as f64 >= SHARED * requests as f64)
            .map(|(_, step_ns)| ticks(Some(step_ns)))
    }
}

/// A request, and its time in the trace: that of its arrival or its completion.
pub(crate) type Stamped = (Record, u64);

/// Requests of one time, spread evenly from it on.
#[derive(Default)]
pub(crate) struct Spread {
    /// Over so long; none: they stay.
    pub(crate) tick_ns: Option<u64>,
    /// Requests of one time, or of one place among them already.
    group: VecDeque<Record>,
    /// The first request of another time.
    next: Option<Stamped>,
}

impl Spread {
    pub(crate) fn new(tick_ns: Option<u64>) -> Self {
        Self { tick_ns, ..Self::default() }
    }

    /// The next request of those that `read` yields. A group ends a tick after its time, or where
    /// the next time is.
    #[inline]
    pub(crate) fn next(
        &mut self,
        mut read: impl FnMut() -> Result<Option<Stamped>, Refusal>,
    ) -> Result<Option<Record>, Refusal> {
        let Some(tick_ns) = self.tick_ns else { return Ok(read()?.map(|(record, _)| record)) };
        if let Some(record) = self.group.pop_front() {
            return Ok(Some(record));
        }
        let first = match self.next.take() {
            Some(stamped) => Some(stamped),
            None => read()?,
        };
        let Some((first, time_ns)) = first else { return Ok(None) };
        self.group.push_back(first);
        while let Some((record, next_ns)) = read()? {
            if next_ns != time_ns {
                self.next = Some((record, next_ns));
                break;
            }
            if self.group.len() == MAX_WINDOW {
                return Err(Refusal::TooMany);
            }
            self.group.push_back(record);
        }
        let gap_ns = self.next.and_then(|(_, next_ns)| next_ns.checked_sub(time_ns));
        let width_ns = gap_ns.map_or(tick_ns, |gap_ns| tick_ns.min(gap_ns));
        let count = self.group.len() as u128;
        for (place, record) in (0_u128..).zip(&mut self.group) {
            record.time_ns += (u128::from(width_ns) * place / count) as u64;
        }
        Ok(self.group.pop_front())
    }
}

/// Why requests cannot be put in order or spread.
pub(crate) enum Refusal {
    Read(TraceError),
    /// A time is earlier than those before by so long, and than those of a window.
    Backwards {
        by_ns: u64,
        window: Option<usize>,
    },
    /// More requests of one time than are kept.
    TooMany,
}

impl From<TraceError> for Refusal {
    fn from(error: TraceError) -> Self {
        Self::Read(error)
    }
}
