//! What has left RAM of late: the numbers of pages, the one that left longest ago is forgotten
//! first.

use std::collections::{BTreeMap, VecDeque};

use flash::Lpn;

/// Numbers of pages that have left.
#[derive(Clone, Debug)]
pub(super) struct Ghosts {
    capacity: usize,
    /// In the order in which they left; some have been found or have left again since.
    queue: VecDeque<(Lpn, u64)>,
    /// When each left.
    left: BTreeMap<Lpn, u64>,
    clock: u64,
}

impl Ghosts {
    /// None, with room for so many, at least one.
    pub(super) fn none(capacity: usize) -> Self {
        Self { capacity, queue: VecDeque::new(), left: BTreeMap::new(), clock: 0 }
    }

    /// Remembers a page or entry that leaves its part.
    pub(super) fn add(&mut self, lpn: Lpn) {
        self.clock += 1;
        self.left.insert(lpn, self.clock);
        self.queue.push_back((lpn, self.clock));
        while self.left.len() > self.capacity
            && let Some((oldest, at)) = self.queue.pop_front()
        {
            if self.left.get(&oldest) == Some(&at) {
                self.left.remove(&oldest);
            }
        }
        if self.queue.len() > 2 * self.capacity + 16 {
            let Self { queue, left, .. } = self;
            queue.retain(|(lpn, at)| left.get(lpn) == Some(at));
        }
    }

    /// A page comes back: tells whether it was here, and forgets it.
    pub(super) fn take(&mut self, lpn: Lpn) -> bool {
        self.left.remove(&lpn).is_some()
    }

    /// Whether a page left of late.
    pub(super) fn contains(&self, lpn: Lpn) -> bool {
        self.left.contains_key(&lpn)
    }
}

#[cfg(test)]
mod tests {

    use random::SeededRng;

    use super::*;

    #[test]
    fn ghosts_agree_with_a_list_from_which_the_oldest_is_dropped() {
        let (mut ghosts, mut list, mut rng) = (Ghosts::none(5), Vec::new(), SeededRng::new(99));
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
