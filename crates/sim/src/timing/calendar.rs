//! What happens next: the next event of each die, and the few events that belong to none.
//!
//! Operations of one kind take the same time, or one of a few, so their ends come nearly in the
//! order in which they are set. Each kind has a lane, sorted by time, which is filled from the
//! back: an event goes past the few that it comes before. One that would have to pass many waits in
//! a heap instead, as do events of no kind. So an event costs little, and never more than the heap
//! does. Nothing is taken out before its time: an event that has been superseded is known by its
//! owner when it comes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Never.
pub(super) const NEVER: u64 = u64::MAX;

/// Lanes, one for each kind of operation.
pub(super) const LANES: usize = 4;

/// How many events one may go past.
const MOST_PASSED: usize = 12;

/// Room of a lane at first, a power of two.
const ROOM: usize = 16;

/// Events nearly in order, in a ring.
#[derive(Clone)]
struct Lane {
    /// Time, and the setter's own data; sorted from `first` on. Their number is a power
    /// of two.
    events: Box<[(u64, u64)]>,
    /// Events taken out, and events set, ever.
    first: usize,
    end: usize,
    /// The latest time of any event ever: where none is left, that is past.
    latest: u64,
}

impl Default for Lane {
    fn default() -> Self {
        Self { events: vec![(NEVER, 0); ROOM].into(), first: 0, end: 0, latest: 0 }
    }
}

impl Lane {
    /// Adds an event; whether there was a place near the end.
    #[expect(clippy::inline_always, reason = "one more call for every flash operation")]
    #[inline(always)]
    fn add(&mut self, time: u64, what: u64) -> bool {
        if self.end - self.first == self.events.len() {
            self.grow();
        }
        if time < self.latest {
            return self.pass(time, what);
        }
        let mask = self.events.len() - 1;
        self.events[self.end & mask] = (time, what);
        (self.end, self.latest) = (self.end + 1, time);
        true
    }

    /// Adds an event that comes before others.
    #[inline(never)]
    fn pass(&mut self, time: u64, what: u64) -> bool {
        let mask = self.events.len() - 1;
        let last = self.end.wrapping_sub(MOST_PASSED + 1);
        if self.end - self.first > MOST_PASSED && self.events[last & mask].0 > time {
            return false;
        }
        let mut place = self.end;
        while place != self.first && self.events[(place - 1) & mask].0 > time {
            self.events[place & mask] = self.events[(place - 1) & mask];
            place -= 1;
        }
        self.events[place & mask] = (time, what);
        self.end += 1;
        true
    }

    #[cold]
    fn grow(&mut self) {
        let (old, events) = (self.events.len() - 1, vec![(NEVER, 0); 2 * self.events.len()].into());
        let old_events = std::mem::replace(&mut self.events, events);
        let mask = self.events.len() - 1;
        for place in self.first..self.end {
            self.events[place & mask] = old_events[place & old];
        }
    }

    /// When the first event is.
    #[inline]
    fn next(&self) -> u64 {
        let first = self.events[self.first & (self.events.len() - 1)].0;
        if self.first == self.end { NEVER } else { first }
    }

    /// Takes the first event out.
    #[inline]
    fn take(&mut self) -> u64 {
        let what = self.events[self.first & (self.events.len() - 1)].1;
        self.first += 1;
        what
    }
}

/// All events to come.
pub(super) struct Calendar {
    lanes: [Lane; LANES],
    /// When the first event of each lane is, and of the heap.
    next: [u64; LANES + 1],
    /// Of equal times, the least number comes first.
    heap: BinaryHeap<Reverse<(u64, u64, u64)>>,
}

impl Calendar {
    pub(super) fn new() -> Self {
        Self { lanes: Default::default(), next: [NEVER; LANES + 1], heap: BinaryHeap::new() }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Sets an event of a kind.
    #[expect(clippy::inline_always, reason = "one more call for every flash operation")]
    #[inline(always)]
    pub(super) fn add(&mut self, lane: usize, time: u64, what: u64) {
        if self.lanes[lane].add(time, what) {
            self.next[lane] = self.next[lane].min(time);
        } else {
            self.add_any(time, u64::MAX, what);
        }
    }

    /// Sets an event of no kind; of equal times, the least `order` comes first.
    #[inline(never)]
    pub(super) fn add_any(&mut self, time: u64, order: u64, what: u64) {
        self.heap.push(Reverse((time, order, what)));
        self.next[LANES] = self.next[LANES].min(time);
    }

    /// When the next event is.
    #[inline]
    pub(super) fn next_time(&self) -> u64 {
        let [a, b, c, d, other] = self.next;
        a.min(b).min(c.min(d)).min(other)
    }

    /// Takes out an event that is at a moment, if that is the next.
    #[inline]
    pub(super) fn take(&mut self, time: u64) -> Option<u64> {
        for (lane, next) in self.lanes.iter_mut().zip(&mut self.next) {
            if *next == time {
                let what = lane.take();
                *next = lane.next();
                return Some(what);
            }
        }
        if self.next[LANES] == time { self.take_any() } else { None }
    }

    #[cold]
    fn take_any(&mut self) -> Option<u64> {
        let Reverse((_, _, what)) = self.heap.pop()?;
        self.next[LANES] = self.heap.peek().map_or(NEVER, |Reverse((time, ..))| *time);
        Some(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_in_order_of_time_as_from_a_list() {
        let mut random = 7_u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        // Nearly in order, and not at all.
        for disorder in [3, 40, 1000] {
            let (mut calendar, mut list) = (Calendar::new(), Vec::new());
            let (mut now, mut set) = (0, 0);
            for _ in 0..3000 {
                for _ in 0..draw(3) {
                    let (lane, time) = (draw(1 + LANES as u64) as usize, now + draw(disorder));
                    match lane {
                        LANES => calendar.add_any(time, draw(3), set),
                        _ => calendar.add(lane, time, set),
                    }
                    list.push((time, set));
                    set += 1;
                }
                let next = list.iter().map(|&(time, _)| time).min().unwrap_or(NEVER);
                assert_eq!(calendar.next_time(), next);
                if next == NEVER {
                    continue;
                }
                now = next;
                let mut taken: Vec<_> = std::iter::from_fn(|| calendar.take(now)).collect();
                taken.sort_unstable();
                let mut expected: Vec<_> = list.iter().filter(|event| event.0 == now).map(|event| event.1).collect();
                expected.sort_unstable();
                assert_eq!(taken, expected, "at {now}");
                list.retain(|event| event.0 != now);
            }
        }
    }

    #[test]
    fn events_of_no_kind_come_in_order_of_time_and_then_of_issue() {
        let mut calendar = Calendar::new();
        calendar.add(0, 10, 0);
        for (time, order, what) in [(20, 2, 5), (5, 9, 6), (20, 1, 7)] {
            calendar.add_any(time, order, what);
        }
        assert_eq!((calendar.next_time(), calendar.take(4)), (5, None));
        assert_eq!((calendar.take(5), calendar.take(5)), (Some(6), None));
        assert_eq!((calendar.next_time(), calendar.take(10)), (10, Some(0)));
        assert_eq!([calendar.take(20), calendar.take(20)], [Some(7), Some(5)]);
        assert_eq!(calendar.next_time(), NEVER);
    }
}
