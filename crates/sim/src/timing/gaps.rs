//! The gaps of a die: stretches before its last promise in which it has nothing to do.
//!
//! They come about when an operation is priced that is ready only later, because it waits for
//! others elsewhere: a copy to this die waits for its read on another one, an update of the mapping
//! waits for the collection whose last step it is. They are kept in order of time. Those that are
//! over are dropped; when there are still too many, the shortest goes, since fewest operations fit
//! in it.

/// Gaps remembered for a die. What matters are the few long ones, in front of an operation at the
/// end of a long chain. More would lengthen the search and change little.
const REMEMBERED: usize = 32;

/// Room for gaps: with twice as much as is used, dropping the earliest is a step forward, and gaps
/// move only every so often.
const ROOM: usize = 2 * REMEMBERED;

/// Gaps whose ends are compared side by side: eight ends are a line of memory.
const ROW: usize = 8;

/// Searches side by side for the shortest gap.
const LANES: usize = 4;

/// Gaps of one die, ascending.
#[derive(Clone, Copy)]
pub(crate) struct Gaps {
    /// When each ends; behind the last gap [`u64::MAX`], so that a search need not know how many
    /// there are.
    ends: [u64; ROOM + REMEMBERED],
    starts: [u64; ROOM],
    first: usize,
    len: usize,
    /// No gap is shorter than this: one that is not longer is refused without a look at the others.
    least: u64,
}

impl Gaps {
    pub(crate) fn new() -> Self {
        Self { ends: [u64::MAX; ROOM + REMEMBERED], starts: [0; ROOM], first: 0, len: 0, least: u64::MAX }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Start and end of the gap at a position.
    #[inline]
    pub(crate) fn at(&self, position: usize) -> (u64, u64) {
        (self.starts[self.first + position], self.ends[self.first + position])
    }

    /// Adds the latest gap, when nothing can begin before `now` any more.
    pub(crate) fn push(&mut self, gap: (u64, u64), now: u64) {
        while self.len > 0 && self.ends[self.first] <= now {
            self.remove(0);
        }
        self.insert(self.len, gap);
    }

    /// The position of the first gap that ends at `end` or later.
    #[inline]
    pub(crate) fn first_ending_at(&self, end: u64) -> usize {
        let ends: &[u64; REMEMBERED] = self.ends[self.first..].first_chunk().expect("room behind the last gap");
        // Often it is the first, and the processor need not wait for a search to know.
        if ends[0] >= end {
            return 0;
        }
        // Two steps of comparisons that do not wait for each other; halving takes five steps that
        // do.
        let earlier = |ends: &[u64]| ends.iter().map(|&each| usize::from(each < end)).sum::<usize>();
        let row = ROW * earlier(&[ends[ROW - 1], ends[2 * ROW - 1], ends[3 * ROW - 1]]);
        row + earlier(&ends[row..row + ROW])
    }

    /// The first moment from `at` on that lies in a gap.
    pub(crate) fn first_moment(&self, at: u64) -> Option<u64> {
        let position = self.first_ending_at(at + 1);
        (position < self.len).then(|| self.at(position).0.max(at))
    }

    /// End of the latest gap, 0 for none.
    pub(crate) fn last_end(&self) -> u64 {
        if self.len == 0 { 0 } else { self.ends[self.first + self.len - 1] }
    }

    /// Takes `start..end` out of the gap at a position; what is left of it counts if it is at least
    /// `shortest` long.
    pub(crate) fn split(&mut self, position: usize, start: u64, end: u64, shortest: u64) {
        let gap = self.at(position);
        let (before, after) = ((gap.0, start), (end, gap.1));
        match (length(before) >= shortest, length(after) >= shortest) {
            (false, false) => self.remove(position),
            (true, false) => self.shorten(position, before),
            (false, true) => self.shorten(position, after),
            (true, true) => {
                self.shorten(position, before);
                self.insert(position + 1, after);
            }
        }
    }

    fn shorten(&mut self, position: usize, gap: (u64, u64)) {
        self.set(self.first + position, gap);
        self.least = self.least.min(length(gap));
    }

    fn set(&mut self, at: usize, (start, end): (u64, u64)) {
        (self.starts[at], self.ends[at]) = (start, end);
    }

    fn remove(&mut self, position: usize) {
        if position == 0 {
            self.first += 1;
        } else {
            self.copy(self.first + position + 1, self.first + position);
            self.ends[self.first + self.len - 1] = u64::MAX;
        }
        self.len -= 1;
    }

    /// Moves the gaps from `from` on to `to`.
    fn copy(&mut self, from: usize, to: usize) {
        let until = self.first + self.len;
        self.starts.copy_within(from..until, to);
        self.ends.copy_within(from..until, to);
    }

    fn insert(&mut self, mut position: usize, gap: (u64, u64)) {
        if self.len == REMEMBERED {
            if length(gap) <= self.least {
                return;
            }
            let shortest = self.shortest();
            self.least = length(self.at(shortest));
            if length(gap) <= self.least {
                return;
            }
            self.remove(shortest);
            position -= usize::from(shortest < position);
        }
        self.least = self.least.min(length(gap));
        if self.first + self.len == ROOM {
            self.copy(self.first, 0);
            self.first = 0;
            self.ends[self.len..ROOM].fill(u64::MAX);
        }
        let at = self.first + position;
        self.copy(at, at + 1);
        self.set(at, gap);
        self.len += 1;
    }

    /// The position of the shortest of [`REMEMBERED`] gaps; of the latest, where several are.
    fn shortest(&self) -> usize {
        // Four searches side by side, each for the least of length and position in one number: none
        // waits for another.
        let all = self.first..self.first + REMEMBERED;
        let (starts, ends) = (self.starts[all.clone()].chunks_exact(LANES), self.ends[all].chunks_exact(LANES));
        let mut least = [u64::MAX; LANES];
        for (row, (starts, ends)) in starts.zip(ends).enumerate() {
            for (lane, (&start, &end)) in starts.iter().zip(ends).enumerate() {
                let later_is_less = (REMEMBERED - 1 - (row * LANES + lane)) as u64;
                let key = (end - start).min(u64::MAX / REMEMBERED as u64 - 1) * REMEMBERED as u64 + later_is_less;
                least[lane] = least[lane].min(key);
            }
        }
        let key = least.into_iter().min().unwrap_or(0);
        REMEMBERED - 1 - (key % REMEMBERED as u64) as usize
    }

    /// All, as start and end.
    #[cfg(test)]
    fn list(&self) -> Vec<(u64, u64)> {
        (0..self.len).map(|position| self.at(position)).collect()
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
    fn a_long_run_remembers_what_a_plain_list_does() {
        let (mut gaps, mut list, mut random) = (Gaps::new(), Vec::<(u64, u64)>::new(), 3_u64);
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let add = |list: &mut Vec<(u64, u64)>, position: usize, gap: (u64, u64)| {
            list.insert(position, gap);
            if list.len() > REMEMBERED {
                let others = (0..list.len()).filter(|&at| at != position);
                let shortest = others.min_by_key(|&at| (length(list[at]), usize::MAX - at)).expect("many");
                list.remove(if length(gap) <= length(list[shortest]) { position } else { shortest });
            }
        };
        let mut end = 0;
        for step in 0..20_000 {
            let gap = (end + 1 + draw(5), end + 6 + draw(60));
            end = gap.1;
            let now = end.saturating_sub(1500 + draw(900));
            list.retain({
                let mut over = true;
                move |gap| {
                    over &= gap.1 <= now;
                    !over
                }
            });
            let last = list.len();
            add(&mut list, last, gap);
            gaps.push(gap, now);
            let position = draw(list.len() as u64) as usize;
            let (from, until) = list[position];
            let start = from + draw(until - from);
            let stop = start + 1 + draw(until - start);
            gaps.split(position, start, stop, 5);
            let (before, after) = ((from, start), (stop, until));
            list.remove(position);
            let kept: Vec<_> = [before, after].into_iter().filter(|&part| length(part) >= 5).collect();
            if let Some(&first) = kept.first() {
                list.insert(position, first);
            }
            if let Some(&second) = kept.get(1) {
                add(&mut list, position + 1, second);
            }
            assert_eq!(gaps.list(), list, "step {step}");
            for end in [start, stop, until, until + 1, now, u64::MAX] {
                assert_eq!(gaps.first_ending_at(end), list.partition_point(|gap| gap.1 < end), "step {step}");
            }
        }
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
