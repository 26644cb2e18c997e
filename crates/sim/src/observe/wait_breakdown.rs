//! What requests waited for: the time of each request, cause by cause.
//!
//! ```text
//! request  |begin ............................................................ done|
//! read     | wait: die held by a collection |= sense =| wait: channel held by host |= transfer =|
//!            waiting_ns.collection            service.host waiting_ns.host          service.host
//! ```
//!
//! A request's time is a chain of operations, each ready when the one before it is done; where
//! several run side by side, the one that is done last counts. An operation's own time (what it
//! takes on an idle device) is *service* of its cause. The rest of the time from when it is ready
//! until it is done is *waiting*, and goes to the causes of the operations that held its die, or
//! its channel, meanwhile. What lies between operations is the controller's. So the parts of a
//! request add up to its response, to the nanosecond.
//!
//! Limits: a stretch that nobody held (a gap too short for the operation) goes to whoever held the
//! resource last before it began. Only the plain model has this; where promises move
//! (`planner.rs`), who held what is known too late.

mod ledger;

use ftl::{Cause, FlashOp};

use crate::Latencies;
use crate::observe::timeline::Placed;
pub(crate) use ledger::ByCause;
use ledger::Ledger;

/// The parts of one request's time, or of many, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// By the cause of what was waited for.
    pub(crate) waiting: ByCause,
    /// By the cause of the request's own operations.
    pub(crate) service: ByCause,
    /// Between operations.
    pub(crate) controller: u64,
}

impl Parts {
    fn add(&mut self, other: &Self) {
        let sums = self.waiting.iter_mut().zip(other.waiting).chain(self.service.iter_mut().zip(other.service));
        sums.for_each(|(sum, ns)| *sum += ns);
        self.controller += other.controller;
    }
}

/// An operation that its request waits for.
#[derive(Clone, Copy)]
struct Step {
    ready: u64,
    end: u64,
    parts: Parts,
}

/// Watches who holds what, and splits requests' time.
pub(crate) struct Waiting {
    latencies: Latencies,
    dies: Vec<Ledger>,
    channels: Vec<Ledger>,
    dies_per_channel: u32,
    /// Operations of the request in hand.
    steps: Vec<Step>,
    /// Whether a request is in hand.
    is_open: bool,
}

impl Waiting {
    /// Nothing held yet. Without `channels` there is one resource.
    pub(crate) fn new(latencies: Latencies, channels: u32, dies_per_channel: u32) -> Self {
        let dies = (channels * dies_per_channel).max(1);
        Self {
            latencies,
            dies: (0..dies).map(|_| Ledger::default()).collect(),
            channels: (0..channels).map(|_| Ledger::default()).collect(),
            dies_per_channel,
            steps: Vec::new(),
            is_open: false,
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.latencies, self.channels.len() as u32, self.dies_per_channel);
    }

    /// A request begins.
    pub(crate) fn begin(&mut self) {
        self.steps.clear();
        self.is_open = true;
    }

    /// An operation found its place, when nothing begins before `now` any more.
    pub(crate) fn see(&mut self, placed: &Placed, now: u64) {
        let Placed { task, die, start_ns, transfer_ns, end_ns, .. } = *placed;
        if self.is_open && task.chain == 0 {
            let step = Step { ready: placed.ready_ns, end: end_ns, parts: self.split(placed) };
            self.steps.push(step);
        }
        self.dies[die as usize].hold(start_ns, end_ns, task.cause, now);
        if let Some(transfer) = transfer_ns {
            self.channels[(die / self.dies_per_channel) as usize].hold(
                transfer,
                transfer + self.latencies.transfer_ns,
                task.cause,
                now,
            );
        }
    }

    /// The parts of one operation's time.
    fn split(&self, placed: &Placed) -> Parts {
        let Placed { task, die, ready_ns, start_ns, transfer_ns, end_ns, .. } = *placed;
        let mut parts = Parts::default();
        let service = self.latencies.alone_ns(task.op);
        parts.service[task.cause as usize] = service;
        if end_ns - ready_ns == service {
            return parts;
        }
        let channel = transfer_ns.map(|_| &self.channels[(die / self.dies_per_channel) as usize]);
        let waiting = &mut parts.waiting;
        // For the die; a program goes on to wait for the channel before it begins.
        let (covered, mut holder) = self.dies[die as usize].held(ready_ns, start_ns, waiting);
        let mut left = start_ns - ready_ns - covered;
        if let (Some(channel), FlashOp::Program, 1..) = (channel, task.op, left) {
            let (covered, last) = channel.held(start_ns - left, start_ns, waiting);
            (left, holder) = (left - covered, last.or(holder));
        }
        waiting[holder.unwrap_or(task.cause) as usize] += left;
        // A read waits for the channel when it has sensed.
        if let (Some(channel), FlashOp::Read, Some(transfer)) = (channel, task.op, transfer_ns) {
            let sensed = start_ns + self.latencies.read_ns;
            let (covered, last) = channel.held(sensed, transfer, waiting);
            waiting[last.unwrap_or(task.cause) as usize] += transfer - sensed - covered;
        }
        parts
    }

    /// The parts of a request that began at `begin` and is done at `done`.
    pub(crate) fn end(&mut self, begin: u64, done: u64) -> Parts {
        self.is_open = false;
        let (mut parts, mut moment, mut steps) = (Parts::default(), done, self.steps.as_slice());
        while let Some(index) = before(steps, moment) {
            let step = &steps[index];
            parts.add(&step.parts);
            parts.controller += moment - step.end;
            (moment, steps) = (step.ready, &steps[..index]);
        }
        parts.controller += moment - begin;
        parts
    }
}

/// The operation that ends last, at or before a moment; of several the latest issued.
fn before(steps: &[Step], moment: u64) -> Option<usize> {
    let mut found: Option<usize> = None;
    for (index, step) in steps.iter().enumerate().rev() {
        if step.end == moment {
            return Some(index);
        }
        if step.end < moment && found.is_none_or(|found| steps[found].end < step.end) {
            found = Some(index);
        }
    }
    found
}

/// The parts of all requests that were measured.
#[derive(Default)]
pub(crate) struct PartSums {
    requests: u64,
    waiting: [u128; Cause::COUNT],
    service: [u128; Cause::COUNT],
    controller: u128,
}

impl PartSums {
    /// Adds a request.
    pub(crate) fn add(&mut self, parts: &Parts) {
        self.requests += 1;
        let sums = self.waiting.iter_mut().zip(parts.waiting).chain(self.service.iter_mut().zip(parts.service));
        sums.for_each(|(sum, ns)| *sum += u128::from(ns));
        self.controller += u128::from(parts.controller);
    }

    /// Mean nanoseconds a request: waiting by cause, and service by cause with the controller's;
    /// causes of nothing are left out.
    pub(crate) fn means(&self) -> Option<(Means, Means)> {
        let mean = |sum: u128| sum as f64 / self.requests as f64;
        let means = |sums: &[u128; Cause::COUNT]| -> Means {
            let named = Cause::ALL.iter().zip(sums).filter(|(_, sum)| **sum > 0);
            named.map(|(cause, &sum)| (cause.name(), mean(sum))).collect()
        };
        let mut service = means(&self.service);
        if self.controller > 0 {
            service.insert("controller", mean(self.controller));
        }
        (self.requests > 0).then(|| (means(&self.waiting), service))
    }
}

/// Mean nanoseconds by name.
pub(crate) type Means = std::collections::BTreeMap<&'static str, f64>;
