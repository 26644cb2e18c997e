//! A list in order of time that is used up from its begin and mostly grows at its end.
//!
//! It is searched more often than anything else, mostly for one place after the other. So its
//! entries lie side by side, unlike those of a ring, and a search starts where the one before
//! ended. What is used up is moved out of the way when it is half of the list.

use std::cell::Cell;

#[derive(Clone)]
pub(super) struct Queue<T> {
    entries: Vec<T>,
    /// How many at the begin are used up.
    used: usize,
    /// What the last search found.
    near: Cell<usize>,
}

impl<T: Copy> Queue<T> {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), used: 0, near: Cell::new(0) }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.used = 0;
    }

    pub(super) fn list(&self) -> &[T] {
        &self.entries[self.used..]
    }

    pub(super) fn list_mut(&mut self) -> &mut [T] {
        &mut self.entries[self.used..]
    }

    /// How many entries at the begin are before something; they are before all others.
    pub(super) fn count(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let list = self.list();
        let near = self.near.get().min(list.len());
        let count = match list.get(near) {
            Some(entry) if is_before(entry) => upwards(list, near + 1, is_before),
            _ => downwards(&list[..near], is_before),
        };
        self.near.set(count);
        count
    }

    /// Puts an entry behind as many others. The shorter side moves; if that is the begin and
    /// nothing is used up, room is made there for some more to come.
    pub(super) fn insert(&mut self, position: usize, entry: T) {
        let length = self.list().len();
        if position >= length / 2 {
            return self.entries.insert(self.used + position, entry);
        }
        if self.used == 0 {
            let room = length / 4 + 1;
            self.entries.splice(..0, std::iter::repeat_n(entry, room));
            self.used = room;
        }
        self.entries.copy_within(self.used..self.used + position, self.used - 1);
        self.used -= 1;
        self.entries[self.used + position] = entry;
    }

    pub(super) fn remove(&mut self, position: usize) {
        self.entries.remove(self.used + position);
    }

    /// Takes as many entries from the begin.
    pub(super) fn use_up(&mut self, entries: usize) {
        self.used += entries;
        self.near.set(self.near.get().saturating_sub(entries));
        if 2 * self.used >= self.entries.len() {
            self.entries.drain(..self.used);
            self.used = 0;
        }
    }

    /// Takes out what is not to stay.
    pub(super) fn retain(&mut self, stays: impl Fn(&T) -> bool) {
        self.entries.drain(..self.used);
        self.used = 0;
        self.entries.retain(stays);
    }
}

/// How many entries are before something, if the first `low` are: looks further and further ahead.
fn upwards<T>(list: &[T], mut low: usize, is_before: impl Fn(&T) -> bool) -> usize {
    let (mut high, mut step) = (low, 1);
    while list.get(high).is_some_and(&is_before) {
        low = high + 1;
        high = low + step;
        step *= 2;
    }
    let high = high.min(list.len());
    low + list[low..high].partition_point(is_before)
}

/// How many entries are before something: looks further and further back from the end.
fn downwards<T>(list: &[T], is_before: impl Fn(&T) -> bool) -> usize {
    let (mut high, mut step) = (list.len(), 1);
    while high > 0 {
        let probe = high.saturating_sub(step);
        if is_before(&list[probe]) {
            return probe + 1 + list[probe + 1..high].partition_point(is_before);
        }
        high = probe;
        step *= 2;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_an_ordinary_list_does() {
        let (mut queue, mut list) = (Queue::new(), Vec::new());
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..20_000 {
            // It grows, then shrinks; new entries come at its begin, in its middle and at its end.
            let entry = match draw(3) {
                0 => list.last().map_or(0, |last| last + draw(3)),
                1 => list.first().map_or(0, |first| first + draw(3)),
                _ => list.first().map_or(0, |first| first + draw(1 + list.last().unwrap_or(first) - first)),
            };
            let position = list.partition_point(|&other| other < entry);
            assert_eq!(queue.count(|&other| other < entry), position, "round {round}");
            match draw(if round < 10_000 { 3 } else { 2 }) {
                0 if !list.is_empty() => {
                    let over = draw(1 + list.len().min(3) as u64) as usize;
                    queue.use_up(over);
                    list.drain(..over);
                }
                1 if position < list.len() => {
                    queue.remove(position);
                    list.remove(position);
                }
                _ => {
                    queue.insert(position, entry);
                    list.insert(position, entry);
                }
            }
            if draw(500) == 0 {
                let stays = |entry: &u64| !entry.is_multiple_of(3);
                queue.retain(stays);
                list.retain(stays);
            }
            assert_eq!(queue.list(), list, "round {round}");
        }
    }
}
