//! What happens next: the next event of each die and each bus, and the earliest of all.
//!
//! A die is at one operation and a bus moves one page, so each has at most one event to come: a
//! tournament of dies and buses, whose winner stands at the root. A change costs one comparison a
//! level, and memory does not grow with what is queued. The few events that belong to no die and no
//! bus (controller time, planes beside the first) wait in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;

/// Never.
pub(super) const NEVER: u64 = u64::MAX;

/// A time, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    time: u64,
    owner: u64,
}

/// The next events of a fixed number of owners, and of the heap.
pub(super) struct Calendar {
    /// The tournament: the winner of 2i and 2i + 1 stands at i, owners from `first_leaf` on.
    entries: Vec<Entry>,
    first_leaf: usize,
    /// The owner whose event was taken and stands in the tournament still, in case it has another
    /// one at once; [`NOBODY`] for none.
    taken: usize,
    extra: BinaryHeap<Reverse<(u64, u64, u64)>>,
}

/// No owner.
const NOBODY: usize = usize::MAX;

impl Calendar {
    pub(super) fn new(owners: usize) -> Self {
        let first_leaf = owners.next_power_of_two();
        let entry = |owner: usize| Entry { time: NEVER, owner: owner as u64 };
        let entries = (0..2 * first_leaf).map(|place| entry(place.saturating_sub(first_leaf))).collect();
        Self { entries, first_leaf, taken: NOBODY, extra: BinaryHeap::new() }
    }

    pub(super) fn clear(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.time = NEVER);
        self.taken = NOBODY;
        self.extra.clear();
    }

    /// Sets the next event of an owner.
    #[inline]
    pub(super) fn set(&mut self, owner: usize, time: u64) {
        self.taken = if self.taken == owner { NOBODY } else { self.taken };
        let entries = self.entries.as_mut_slice();
        let mut place = self.first_leaf + owner;
        let mut winner = Entry { time, owner: owner as u64 };
        entries[place] = winner;
        while place > 1 {
            // Which of the two comes first is anybody's guess, so nothing may branch on it.
            let other = entries[place ^ 1];
            let wins = other.time < winner.time;
            winner.time = select_unpredictable(wins, other.time, winner.time);
            winner.owner = select_unpredictable(wins, other.owner, winner.owner);
            place /= 2;
            entries[place] = winner;
        }
    }

    /// Takes the event of whoever has one at a moment, if it is the next of all.
    #[inline]
    pub(super) fn take(&mut self, time: u64) -> Option<usize> {
        if self.taken != NOBODY {
            if self.next_beside(self.taken) > time {
                return None;
            }
            self.set(self.taken, NEVER);
        }
        let Entry { time: next, owner } = self.entries[1];
        if next != time {
            return None;
        }
        self.taken = owner as usize;
        Some(owner as usize)
    }

    /// When the next event of all others is.
    #[inline]
    fn next_beside(&self, owner: usize) -> u64 {
        let (mut place, mut next) = (self.first_leaf + owner, NEVER);
        while place > 1 {
            next = next.min(self.entries[place ^ 1].time);
            place /= 2;
        }
        next
    }

    /// Adds an event of no owner; of equal times, the least `order` comes first.
    pub(super) fn add(&mut self, time: u64, order: u64, what: u64) {
        self.extra.push(Reverse((time, order, what)));
    }

    /// When the next event is.
    #[inline]
    pub(super) fn next_time(&self) -> u64 {
        let extra = self.extra.peek().map_or(NEVER, |Reverse((time, ..))| *time);
        let owned = if self.taken == NOBODY { self.entries[1].time } else { self.next_beside(self.taken) };
        owned.min(extra)
    }

    /// Takes an event of no owner out that is at a moment.
    #[inline]
    pub(super) fn take_extra(&mut self, time: u64) -> Option<u64> {
        let Reverse((next, _, what)) = *self.extra.peek()?;
        if next != time {
            return None;
        }
        self.extra.pop();
        Some(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_in_order_of_time_as_from_a_list() {
        for owners in [1, 2, 3, 8, 13] {
            let (mut calendar, mut list) = (Calendar::new(owners), vec![NEVER; owners]);
            let mut random = 7_u64;
            let mut draw = |below: u64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) % below
            };
            let mut now = 0;
            for _ in 0..3000 {
                for _ in 0..draw(3) {
                    let (owner, time) = (draw(owners as u64) as usize, now + draw(6));
                    calendar.set(owner, time);
                    list[owner] = time;
                }
                let next = *list.iter().min().expect("owners");
                assert_eq!(calendar.next_time(), next);
                if next == NEVER {
                    continue;
                }
                now = next;
                while let Some(owner) = calendar.take(now) {
                    assert_eq!(std::mem::replace(&mut list[owner], NEVER), now);
                    // Some have another event, some of these at once.
                    if draw(2) == 0 {
                        list[owner] = now + draw(4);
                        calendar.set(owner, list[owner]);
                    }
                }
                assert!(list.iter().all(|&time| time > now), "{list:?} at {now}");
            }
        }
    }

    #[test]
    fn events_of_no_owner_come_in_order_of_time_and_then_of_issue() {
        let mut calendar = Calendar::new(2);
        calendar.set(0, 10);
        for (time, order, what) in [(20, 2, 5), (5, 9, 6), (20, 1, 7)] {
            calendar.add(time, order, what);
        }
        assert_eq!((calendar.next_time(), calendar.take(5)), (5, None));
        assert_eq!((calendar.take_extra(5), calendar.take_extra(5)), (Some(6), None));
        assert_eq!((calendar.next_time(), calendar.take(10)), (10, Some(0)));
        assert_eq!([calendar.take_extra(20), calendar.take_extra(20)], [Some(7), Some(5)]);
        assert_eq!(calendar.next_time(), NEVER);
    }
}
