//! The gaps of a die: stretches before its last promise in which it has nothing to do.
//!
//! They come about when an operation is priced that is ready only later, because it waits for others elsewhere: a copy to
//! this die waits for its read on another one, an update of the mapping waits for the collection whose last step it is.
//! They are kept in order of time. Those that are over are dropped; when there are still too many, the shortest goes, since
//! fewest operations fit in it.

/// Gaps remembered for a die. What matters are the few long ones, in front of an operation at the end of a long chain.
/// More would lengthen the search and change little.
const REMEMBERED: usize = 32;

/// Room for gaps: with twice as much as is used, dropping the earliest is a step forward, and gaps move only every so often.
const ROOM: usize = 2 * REMEMBERED;

/// Gaps of one die, ascending.
#[derive(Clone, Copy)]
pub(crate) struct Gaps {
    room: [(u64, u64); ROOM],
    first: usize,
    len: usize,
}

impl Gaps {
    pub(crate) fn new() -> Self {
        Self { room: [(0, 0); ROOM], first: 0, len: 0 }
    }

    /// All, as start and end.
    #[inline]
    pub(crate) fn list(&self) -> &[(u64, u64)] {
        &self.room[self.first..self.first + self.len]
    }

    /// Adds the latest gap, when nothing can begin before `now` any more.
    pub(crate) fn push(&mut self, gap: (u64, u64), now: u64) {
        while self.len > 0 && self.list()[0].1 <= now {
            self.remove(0);
        }
        self.insert(self.len, gap);
    }

    /// The position of the first gap that ends at `end` or later.
    pub(crate) fn first_ending_at(&self, end: u64) -> usize {
        // Often it is the first, and the processor need not wait for a search to know.
        if self.list().first().is_some_and(|gap| gap.1 >= end) {
            0
        } else {
            self.list().partition_point(|gap| gap.1 < end)
        }
    }

    /// The first moment from `at` on that lies in a gap.
    pub(crate) fn first_moment(&self, at: u64) -> Option<u64> {
        self.list().get(self.first_ending_at(at + 1)).map(|gap| gap.0.max(at))
    }

    /// End of the latest gap, 0 for none.
    pub(crate) fn last_end(&self) -> u64 {
        self.list().last().map_or(0, |gap| gap.1)
    }

    /// Takes `start..end` out of the gap at a position; what is left of it counts if it is at least `shortest` long.
    pub(crate) fn split(&mut self, position: usize, start: u64, end: u64, shortest: u64) {
        let gap = &mut self.room[self.first + position];
        let (before, after) = ((gap.0, start), (end, gap.1));
        match (length(before) >= shortest, length(after) >= shortest) {
            (false, false) => self.remove(position),
            (true, false) => *gap = before,
            (false, true) => *gap = after,
            (true, true) => {
                *gap = before;
                self.insert(position + 1, after);
            }
        }
    }

    fn remove(&mut self, position: usize) {
        if position == 0 {
            self.first += 1;
        } else {
            self.room.copy_within(self.first + position + 1..self.first + self.len, self.first + position);
        }
        self.len -= 1;
    }

    fn insert(&mut self, mut position: usize, gap: (u64, u64)) {
        if self.len == REMEMBERED {
            let shortest = self.shortest();
            if length(gap) <= length(self.list()[shortest]) {
                return;
            }
            self.remove(shortest);
            position -= usize::from(shortest < position);
        }
        if self.first + self.len == ROOM {
            self.room.copy_within(self.first.., 0);
            self.first = 0;
        }
        let at = self.first + position;
        self.room.copy_within(at..self.first + self.len, at + 1);
        self.room[at] = gap;
        self.len += 1;
    }

    /// The position of the shortest gap; of the latest, where several are.
    fn shortest(&self) -> usize {
        let list = self.list();
        (0..list.len()).rev().min_by_key(|&position| length(list[position])).unwrap_or(0)
    }
}

fn length((start, end): (u64, u64)) -> u64 {
    end - start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Gaps {
        let mut gaps = Gaps::new();
        for gap in [(0, 100), (200, 300), (400, 500)] {
            gaps.push(gap, 0);
        }
        gaps
    }

    #[test]
    fn what_is_left_of_a_gap_counts_if_it_is_long_enough() {
        for (start, end, expected) in [
            (240, 260, vec![(0, 100), (200, 240), (260, 300), (400, 500)]),
            (200, 260, vec![(0, 100), (260, 300), (400, 500)]),
            (205, 260, vec![(0, 100), (260, 300), (400, 500)]),
            (240, 295, vec![(0, 100), (200, 240), (400, 500)]),
            (205, 295, vec![(0, 100), (400, 500)]),
        ] {
            let mut gaps = three();
            gaps.split(1, start, end, 10);
            assert_eq!(gaps.list(), expected);
        }
    }

    #[test]
    fn the_search_finds_the_earliest_gap_that_reaches_far_enough() {
        let gaps = three();
        let positions = [0, 100, 101, 300, 301, 500, 501].map(|end| gaps.first_ending_at(end));
        assert_eq!(positions, [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!((gaps.last_end(), Gaps::new().last_end()), (500, 0));
        let moments = [0, 99, 100, 250, 300, 499, 500].map(|at| gaps.first_moment(at));
        assert_eq!(moments, [Some(0), Some(99), Some(200), Some(250), Some(400), Some(499), None]);
    }

    #[test]
    fn gaps_that_are_over_are_dropped() {
        let mut gaps = three();
        gaps.push((600, 700), 300);
        assert_eq!(gaps.list(), [(400, 500), (600, 700)]);
    }

    #[test]
    fn the_shortest_gap_gives_way_and_the_latest_of_equals() {
        let full = |length: fn(u64) -> u64| {
            let mut gaps = Gaps::new();
            (0..32).for_each(|i| gaps.push((i * 100, i * 100 + length(i)), 0));
            gaps
        };
        let mut gaps = full(|i| 30 - i % 3);
        gaps.push((9000, 9029), 0);
        assert_eq!((gaps.list().len(), gaps.last_end()), (32, 9029));
        assert!(!gaps.list().contains(&(2900, 2928)), "the latest of those of 28 is gone");
        gaps.push((9100, 9110), 0);
        assert_eq!(gaps.last_end(), 9029, "shorter than all others");
        let mut gaps = full(|_| 50);
        gaps.split(5, 510, 520, 5);
        assert_eq!(gaps.list()[4..8], [(400, 450), (520, 550), (600, 650), (700, 750)]);
    }
}
