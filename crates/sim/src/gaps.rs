//! The gaps of a die: stretches before its last promise in which it has nothing to do.
//!
//! They come about when an operation is priced that is ready only later, because it waits for others elsewhere: a copy to
//! this die waits for its read on another one. They are kept in order of time; when there are too many, the oldest is
//! forgotten, since virtual time moves on and nothing will be ready before it.

/// Gaps remembered for a die. The end of a collection leaves one on each die that it updates the mapping on; a chain of
/// copies between two dies leaves one a page, of which those further back than this are lost to others. More would make the
/// search longer, and the memory of 32 dies larger than the first-level cache.
const REMEMBERED: usize = 32;

/// Gaps of one die, ascending.
#[derive(Clone, Copy)]
pub(crate) struct Gaps {
    ring: [(u64, u64); REMEMBERED],
    oldest: usize,
    len: usize,
}

impl Gaps {
    pub(crate) fn new() -> Self {
        Self { ring: [(0, 0); REMEMBERED], oldest: 0, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Start and end of the gap at a position, counted from the oldest.
    #[inline]
    pub(crate) fn get(&self, position: usize) -> (u64, u64) {
        self.ring[(self.oldest + position) % REMEMBERED]
    }

    #[inline]
    fn set(&mut self, position: usize, gap: (u64, u64)) {
        self.ring[(self.oldest + position) % REMEMBERED] = gap;
    }

    /// Adds the latest gap.
    #[inline]
    pub(crate) fn push(&mut self, start: u64, end: u64) {
        if self.len == REMEMBERED {
            self.oldest = (self.oldest + 1) % REMEMBERED;
            self.len -= 1;
        }
        self.set(self.len, (start, end));
        self.len += 1;
    }

    /// The position of the first gap that ends at `end` or later.
    pub(crate) fn first_ending_at(&self, end: u64) -> usize {
        let mut position = self.len;
        while position > 0 && self.get(position - 1).1 >= end {
            position -= 1;
        }
        position
    }

    /// End of the latest gap, 0 for none.
    pub(crate) fn last_end(&self) -> u64 {
        if self.len == 0 { 0 } else { self.get(self.len - 1).1 }
    }

    /// Takes `start..end` out of the gap at a position; what is left of it counts if it is at least `shortest` long.
    pub(crate) fn split(&mut self, position: usize, start: u64, end: u64, shortest: u64) {
        let (from, until) = self.get(position);
        let (before, after) = (start - from >= shortest, until - end >= shortest);
        match (before, after) {
            (true, true) => self.insert(position, (from, start), (end, until)),
            (true, false) => self.set(position, (from, start)),
            (false, true) => self.set(position, (end, until)),
            (false, false) => {
                for later in position + 1..self.len {
                    self.set(later - 1, self.get(later));
                }
                self.len -= 1;
            }
        }
    }

    /// Puts two gaps in the place of one. Where there is no room, the oldest of all is forgotten.
    fn insert(&mut self, position: usize, first: (u64, u64), second: (u64, u64)) {
        if self.len == REMEMBERED {
            for earlier in 1..=position {
                self.set(earlier - 1, self.get(earlier));
            }
            if position > 0 {
                self.set(position - 1, first);
            }
        } else {
            for later in (position + 1..self.len).rev() {
                self.set(later + 1, self.get(later));
            }
            self.len += 1;
            self.set(position, first);
            self.set(position + 1, second);
            return;
        }
        self.set(position, second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(gaps: &Gaps) -> Vec<(u64, u64)> {
        (0..gaps.len()).map(|position| gaps.get(position)).collect()
    }

    fn three() -> Gaps {
        let mut gaps = Gaps::new();
        [(0, 100), (200, 300), (400, 500)].into_iter().for_each(|(start, end)| gaps.push(start, end));
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
            assert_eq!(list(&gaps), expected);
        }
    }

    #[test]
    fn the_search_finds_the_earliest_gap_that_reaches_far_enough() {
        let gaps = three();
        let positions = [0, 100, 101, 300, 301, 500, 501].map(|end| gaps.first_ending_at(end));
        assert_eq!(positions, [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!((gaps.last_end(), Gaps::new().last_end()), (500, 0));
    }

    #[test]
    fn the_oldest_gap_gives_way() {
        let full = || {
            let mut gaps = Gaps::new();
            (0..40).for_each(|i| gaps.push(i * 100, i * 100 + 50));
            gaps
        };
        assert_eq!((full().len(), full().get(0)), (32, (800, 850)));
        let mut gaps = full();
        gaps.split(5, 1310, 1320, 10);
        assert_eq!(list(&gaps)[..7], [(900, 950), (1000, 1050), (1100, 1150), (1200, 1250), (1300, 1310), (1320, 1350), (1400, 1450)]);
        let mut gaps = full();
        gaps.split(0, 810, 820, 10);
        assert_eq!((gaps.len(), list(&gaps)[0], list(&gaps)[1]), (32, (820, 850), (900, 950)));
    }
}
