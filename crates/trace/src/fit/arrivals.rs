//! Arrivals: bursts for which a queue is as long as with the trace's.
//!
//! What a response time owes to arrivals is the wait for earlier requests. So the trace's arrivals
//! go through single servers, each with a service time of its own, and bursts are searched whose
//! mean waits in them are the same. The servers know nothing of flash, sizes or operations.

use crate::generate::{Arrivals, GeneratorSpec, SpecError, generate};
use crate::units::Nanoseconds;

/// Service times: from a page that is read to one that waits for a collection, on several dies.
const SERVICES_NS: [u64; 3] = [50_000, 150_000, 500_000];
/// A server that is busy for more of the time has waits of the trace's length, and says nothing.
const BUSY: f64 = 0.7;
/// Waits below this part of the service time count as this: nobody sees them.
const LEAST_WAIT: f64 = 0.02;
/// Requests that are made of an arrival process to compare, at most.
const COMPARED: u64 = 50_000;
/// The bursts that are tried: requests in one, by this factor up to the most.
const BURST_STEP: f64 = 1.25;
const BURST_MOST: f64 = 10_000.0;
/// The gaps in bursts that are tried: parts of the mean gap, in powers of four.
const GAP_STEP: u64 = 4;
const GAPS: u32 = 9;

/// Single servers, and how long requests waited for them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queues {
    requests: u64,
    free_ns: [u64; SERVICES_NS.len()],
    waited_ns: [u64; SERVICES_NS.len()],
    first_ns: u64,
    last_ns: u64,
}

impl Queues {
    /// A request arrives.
    pub(super) fn observe(&mut self, time_ns: u64) {
        if self.requests == 0 {
            self.first_ns = time_ns;
        }
        self.requests += 1;
        self.last_ns = self.last_ns.max(time_ns);
        for ((free_ns, waited_ns), service_ns) in self.free_ns.iter_mut().zip(&mut self.waited_ns).zip(SERVICES_NS) {
            let starts_ns = time_ns.max(*free_ns);
            *waited_ns = waited_ns.saturating_add(starts_ns - time_ns);
            *free_ns = starts_ns.saturating_add(service_ns);
        }
    }

    /// Mean gap between two arrivals.
    pub(super) fn mean_gap_ns(&self) -> u64 {
        (self.last_ns - self.first_ns) / self.requests.saturating_sub(1).max(1)
    }

    /// The wait in service times, by server; none of the busy ones.
    fn waits(&self, mean_gap_ns: u64) -> impl Iterator<Item = Option<f64>> {
        let requests = self.requests.max(1) as f64;
        SERVICES_NS.into_iter().zip(self.waited_ns).map(move |(service_ns, waited_ns)| {
            let is_busy = service_ns as f64 > BUSY * mean_gap_ns as f64;
            (!is_busy).then(|| (waited_ns as f64 / requests / service_ns as f64).max(LEAST_WAIT))
        })
    }

    /// How far the waits of `made` are from these: the mean square of logarithms.
    fn distance(&self, made: &Self) -> f64 {
        let gap_ns = self.mean_gap_ns();
        let pairs = self.waits(gap_ns).zip(made.waits(gap_ns)).filter_map(|(one, other)| Some((one?, other?)));
        let (sum, count) = pairs.fold((0.0, 0.0), |(sum, count), (one, other)| {
            let apart = libm::log(other / one);
            (sum + apart * apart, count + 1.0)
        });
        if count > 0.0 { sum / count } else { 0.0 }
    }
}

/// Searches the arrivals that make requests wait as the trace's do; a Poisson process where bursts
/// are no nearer.
pub(super) fn fitted(trace: &Queues, seed: u64) -> Result<Arrivals, SpecError> {
    let mean_ns = trace.mean_gap_ns();
    if mean_ns == 0 {
        return Ok(Arrivals::AtOnce);
    }
    let mean_gap = Nanoseconds(mean_ns);
    let poisson = Arrivals::Poisson { mean_gap };
    let mut best = (distance(trace, &poisson, seed)?, poisson);
    for power in 0..GAPS {
        let burst_gap = Nanoseconds(mean_ns / GAP_STEP.pow(power + 1));
        let mut burst = BURST_STEP;
        while burst <= BURST_MOST.min(trace.requests as f64) && burst_gap.0 > 0 {
            let arrivals = Arrivals::Bursty { mean_gap, burst_gap, burst: (burst * 100.0).round() / 100.0 };
            let apart = distance(trace, &arrivals, seed)?;
            if apart < best.0 {
                best = (apart, arrivals);
            }
            burst *= BURST_STEP;
        }
    }
    Ok(best.1)
}

fn distance(trace: &Queues, arrivals: &Arrivals, seed: u64) -> Result<f64, SpecError> {
    let requests = trace.requests.min(COMPARED);
    let spec = GeneratorSpec { requests, arrivals: arrivals.clone(), ..GeneratorSpec::default() };
    let mut made = Queues::default();
    generate(&spec, seed)?.for_each(|record| made.observe(record.time_ns));
    Ok(trace.distance(&made))
}
