//! The simulation's rule as it is written down: requests one after another, each operation into the
//! first stretch of its die and its bus that nothing promised before it needs. A stretch of a die
//! that is shorter than two of the shortest operations is not used. All promises are kept for ever.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use ftl::FlashOp;

use super::queues::Times;
use super::stream::{Pace, Stream};

/// The shortest stretch of a die that is used, in shortest operations.
const WORTH_USING: u64 = 2;

/// Stretches that are promised: begin and end.
#[derive(Default)]
struct Promised(BTreeMap<u64, u64>);

impl Promised {
    /// The first moment from `from` on at which `length` fits.
    fn first_gap(&self, from: u64, length: u64) -> u64 {
        let before = self.0.range(..=from).next_back().map_or(0, |(_, &end)| end);
        let mut start = from.max(before);
        for (&begin, &end) in self.0.range(start..) {
            if begin >= start + length {
                break;
            }
            start = start.max(end);
        }
        start
    }

    /// Where a stretch that holds a moment ends, or the next one before `until` does.
    fn end_of_next(&self, from: u64, until: u64) -> Option<u64> {
        let holding = self.0.range(..=from).next_back().filter(|(_, end)| **end > from);
        holding.or_else(|| self.0.range(from..until).next()).map(|(_, &end)| end)
    }
}

/// Response times of all requests of a stream, in nanoseconds.
pub(crate) fn responses(stream: &Stream, channels: usize, dies_per_channel: usize, times: Times) -> Vec<u64> {
    let mut dies: Vec<_> = (0..channels * dies_per_channel).map(|_| Promised::default()).collect();
    let mut buses: Vec<_> = (0..channels).map(|_| Promised::default()).collect();
    let (mut responses, mut outstanding) = (Vec::new(), BinaryHeap::new());
    for steps in &stream.requests {
        let begin = match &stream.pace {
            Pace::Closed(depth) if outstanding.len() < *depth => 0,
            Pace::Closed(_) => outstanding.pop().map_or(0, |Reverse(done)| done),
            Pace::Open(arrivals) => arrivals[responses.len()],
        };
        let mut ends: Vec<u64> = Vec::new();
        let mut done = begin;
        for step in steps {
            let ready = step.after.iter().map(|&step| ends[step]).fold(begin, u64::max);
            let end = promise(&mut dies[step.die], &mut buses[step.die / dies_per_channel], times, step.op, ready);
            ends.push(end);
            if step.awaited {
                done = done.max(end);
            }
        }
        outstanding.push(Reverse(done));
        responses.push(done - begin);
    }
    responses
}

/// Promises an operation; returns when it is done.
fn promise(die: &mut Promised, bus: &mut Promised, times: Times, op: FlashOp, ready: u64) -> u64 {
    let mut from = ready;
    let least = WORTH_USING
        * [FlashOp::Read, FlashOp::Program, FlashOp::Erase]
            .map(|op| times.alone(op))
            .into_iter()
            .fold(u64::MAX, u64::min);
    loop {
        let (start, transfer, end) = match op {
            FlashOp::Read => {
                let transfer = bus.first_gap(from + times.read, times.transfer);
                (from, Some(transfer), transfer + times.transfer)
            }
            FlashOp::Program => {
                let transfer = bus.first_gap(from, times.transfer);
                (transfer, Some(transfer), transfer + times.transfer + times.program)
            }
            FlashOp::Erase => (from, None, from + times.erase),
        };
        let before = die.0.range(..=start).next_back().map_or(0, |(_, &end)| end);
        if let Some((&next, &until)) = die.0.range(start..).next()
            && next.saturating_sub(before) < least
        {
            from = until;
            continue;
        }
        let Some(busy_until) = die.end_of_next(start, end) else {
            die.0.insert(start, end);
            if let Some(transfer) = transfer {
                bus.0.insert(transfer, transfer + times.transfer);
            }
            return end;
        };
        from = busy_until.max(from);
    }
}
