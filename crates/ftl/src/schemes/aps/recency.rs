//! One part of the RAM in the order of use, with the end that a step less would cost it.
//!
//! ```text
//!   leaves next ─▶ [ tail: as many as a step has room for ][ the rest ] ◀─ used last
//! ```
//!
//! The tail is full, or the rest is empty. So what is found in the tail is what a part smaller by a
//! step would have missed.

use crate::linked_lists::LinkedLists;
use crate::prefetch::PrefetchStage;

const TAIL: u32 = 0;
const REST: u32 = 1;

/// The order of use of what a part holds, by places.
#[derive(Clone, Debug)]
pub(super) struct Recency {
    lists: LinkedLists,
    tail: usize,
    capacity: usize,
}

impl Recency {
    /// Nothing, in an order of this many places whose tail has room for this many.
    pub(super) fn none(places: usize, capacity: usize) -> Self {
        Self { lists: LinkedLists::new(places, 2), tail: 0, capacity }
    }

    /// Whether something is at a place.
    pub(super) fn contains(&self, place: u32) -> bool {
        self.lists.chain_of(place).is_some()
    }

    /// Whether what is at a place is in the tail.
    pub(super) fn is_in_tail(&self, place: u32) -> bool {
        self.lists.chain_of(place) == Some(TAIL)
    }

    /// Something comes to a place.
    pub(super) fn enter(&mut self, place: u32) {
        self.lists.push_back(REST, place);
        self.fill_tail();
    }

    /// What is at a place is used; whether it was in the tail.
    pub(super) fn touch(&mut self, place: u32) -> bool {
        let was_in_tail = self.leave(place);
        self.enter(place);
        was_in_tail
    }

    /// What is at a place leaves; whether it was in the tail.
    pub(super) fn leave(&mut self, place: u32) -> bool {
        let was_in_tail = self.is_in_tail(place);
        self.lists.remove(place);
        if was_in_tail {
            self.tail -= 1;
            self.fill_tail();
        }
        was_in_tail
    }

    /// What was used longest ago.
    pub(super) fn first(&self) -> Option<u32> {
        self.lists.front(TAIL).or_else(|| self.lists.front(REST))
    }

    /// What was used longest ago but for what is at a place, if that was used longest ago.
    pub(super) fn after(&self, place: u32) -> Option<u32> {
        self.lists.after(place).or_else(|| self.lists.front(REST))
    }

    /// Asks for the links of a place, or, when these have arrived, for those of its neighbours.
    pub(super) fn prefetch(&self, place: u32, stage: PrefetchStage) {
        match stage {
            PrefetchStage::Far => {}
            PrefetchStage::Near => self.lists.prefetch(place),
            PrefetchStage::Next => self.lists.prefetch_neighbours(place),
        }
    }

    fn fill_tail(&mut self) {
        while self.tail < self.capacity
            && let Some(place) = self.lists.front(REST)
        {
            self.lists.move_back(TAIL, place);
            self.tail += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use random::SeededRng;

    use super::*;

    #[test]
    fn the_tail_is_the_end_of_a_list_in_the_order_of_use() {
        for capacity in [0, 1, 5, 40] {
            let mut recency = Recency::none(30, capacity);
            let mut list: Vec<u32> = Vec::new();
            let mut rng = SeededRng::new(9);
            for _ in 0..5_000 {
                let drawn = rng.bits();
                let place = (drawn >> 40) as u32 % 30;
                let at = list.iter().position(|&other| other == place);
                assert_eq!(recency.contains(place), at.is_some());
                match at {
                    None => {
                        recency.enter(place);
                        list.push(place);
                    }
                    Some(at) => {
                        let leaves = drawn.is_multiple_of(3);
                        let was_in_tail = if leaves { recency.leave(place) } else { recency.touch(place) };
                        assert_eq!(was_in_tail, at < capacity, "{place} of {list:?}, tail of {capacity}");
                        list.remove(at);
                        list.extend((!leaves).then_some(place));
                    }
                }
                assert_eq!(recency.first(), list.first().copied());
            }
        }
    }
}
