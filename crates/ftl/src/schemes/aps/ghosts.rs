//! What has left RAM of late: the numbers of pages, the one that left longest ago is forgotten
//! first.

use std::collections::VecDeque;

use flash::{Lpn, long_array};

use crate::prefetch::prefetch;

/// Numbers of pages that have left.
#[derive(Clone, Debug)]
pub(super) struct Ghosts {
    capacity: usize,
    /// In the order in which they left; some have been found or have left again since.
    queue: VecDeque<(Lpn, u32)>,
    /// When each left, by logical page, 0 for those that are not here; how many are.
    left: Vec<u32>,
    here: usize,
    clock: u32,
}

impl Ghosts {
    /// None, with room for this many, at least one, of this many logical pages.
    pub(super) fn none(capacity: usize, logical_pages: u32) -> Self {
        Self { capacity, queue: VecDeque::new(), left: long_array(0, logical_pages as usize), here: 0, clock: 0 }
    }

    /// Remembers a page or entry that leaves its part.
    pub(super) fn add(&mut self, lpn: Lpn) {
        // Each ghost is queued under its moment, so moments may be reused.
        self.clock = self.clock.wrapping_add(1).max(1);
        let before = std::mem::replace(&mut self.left[lpn.index()], self.clock);
        self.here += usize::from(before == 0);
        self.queue.push_back((lpn, self.clock));
        while self.here > self.capacity
            && let Some((oldest, at)) = self.queue.pop_front()
        {
            if self.left[oldest.index()] == at {
                self.take(oldest);
            }
        }
        if self.queue.len() > 2 * self.capacity + 16 {
            let Self { queue, left, .. } = self;
            queue.retain(|(lpn, at)| left[lpn.index()] == *at);
        }
    }

    /// A page comes back: tells whether it was here, and forgets it.
    pub(super) fn take(&mut self, lpn: Lpn) -> bool {
        if std::mem::take(&mut self.left[lpn.index()]) == 0 {
            return false;
        }
        self.here -= 1;
        true
    }

    /// Asks for the memory of a page.
    pub(super) fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.left, lpn.index());
    }

    /// Whether a page left of late.
    pub(super) fn contains(&self, lpn: Lpn) -> bool {
        self.left[lpn.index()] != 0
    }
}

#[cfg(test)]
mod tests {

    use random::SeededRng;

    use super::*;

    #[test]
    fn ghosts_agree_with_a_list_from_which_the_oldest_is_dropped() {
        let (mut ghosts, mut list, mut rng) = (Ghosts::none(5, 12), Vec::new(), SeededRng::new(99));
        for _ in 0..20_000 {
            let drawn = rng.bits();
            let lpn = Lpn::new((drawn >> 33) as u32 % 12);
            assert_eq!(ghosts.contains(lpn), list.contains(&lpn));
            let was_there = list.contains(&lpn);
            list.retain(|&other| other != lpn);
            if drawn >> 62 == 0 {
                assert_eq!(ghosts.take(lpn), was_there);
            } else {
                ghosts.add(lpn);
                list.push(lpn);
                list.drain(..list.len().saturating_sub(5));
            }
            assert!(ghosts.queue.len() <= 40, "{} are queued", ghosts.queue.len());
        }
    }
}
