//! Which cached item leaves next: least recently used, segmented or not, or the clock's
//! approximation of it.
//!
//! Segmented LRU is two lists: an item enters the *probationary* one, a hit moves it to the
//! *protected* one, and what overflows there falls back to the probationary list's recent end. With
//! no protected part this is plain LRU. A clock keeps a bit an item, set by a hit; its hand passes
//! over set bits, clearing them, and stops at the first that is not set. A clock that sees no hits
//! is first in, first out.

use crate::api::parameter::{Kind, Parameter, Values};
use crate::linked_lists::LinkedLists;

const PROBATIONARY: u32 = 0;
const PROTECTED: u32 = 1;

/// The parameters by which schemes choose how entries leave their cache.
pub const PARAMETERS: [Parameter; 2] = [
    Parameter {
        name: "cmt_policy",
        kind: Kind::Choice { of: &["segmented-lru", "lru", "clock", "fifo"] },
        default: "segmented-lru",
        meaning: "Which cached entry leaves; clock is lru at a bit an entry, fifo sees no hits.",
        source: "Gupta 2009",
    },
    Parameter {
        name: "protected",
        kind: Kind::Ratio { min: 0.0, max: 0.99 },
        default: "0.5",
        meaning: "Share of the CMT that segmented-lru keeps for entries used more than once; 0 is lru.",
        source: "ftlkit",
    },
];

/// The order in which items `0..capacity` leave.
#[derive(Clone, Debug)]
pub enum Recency {
    /// Segmented LRU: items that are hit move to a protected list.
    Lists {
        /// Items used once, then items used more often; each list is oldest first.
        lists: LinkedLists,
        /// Items in the protected one.
        protected: usize,
        /// The most items that may be protected: one less than all, so that one can leave.
        limit: usize,
    },
    /// The clock: a hand passes over items that were hit.
    Clock {
        /// Items that were hit since the hand passed; empty if hits do not count.
        hit: Vec<bool>,
        /// Items that entered.
        items: u32,
        /// Where the hand stands.
        hand: u32,
    },
}

impl Recency {
    /// Segmented LRU of up to `capacity` items, of which up to `protected` are protected.
    pub fn segmented(capacity: usize, protected: usize) -> Self {
        let limit = protected.min(capacity.saturating_sub(1));
        debug_assert!(limit < capacity.max(1), "{limit} of {capacity} items are protected, and none can leave");
        Self::Lists { lists: LinkedLists::new(capacity, 2), protected: 0, limit }
    }

    /// A clock of up to `capacity` items.
    pub fn clock(capacity: usize) -> Self {
        Self::Clock { hit: vec![false; capacity], items: 0, hand: 0 }
    }

    /// First in, first out.
    pub fn fifo() -> Self {
        Self::clock(0)
    }

    /// What [`PARAMETERS`] ask for.
    pub fn from_values(values: &Values, capacity: usize) -> Self {
        match values.word("cmt_policy") {
            "clock" => Self::clock(capacity),
            "fifo" => Self::fifo(),
            "lru" => Self::segmented(capacity, 0),
            _ => Self::segmented(capacity, (capacity as f64 * values.ratio("protected")) as usize),
        }
    }

    /// An item enters; of a clock, the items enter in order of their numbers before any leaves.
    #[inline]
    pub fn enter(&mut self, item: u32) {
        match self {
            Self::Lists { lists, .. } => lists.push_back(PROBATIONARY, item),
            Self::Clock { hit, items, .. } => {
                debug_assert!(item <= *items, "item {item} enters before item {items}");
                *items = (*items).max(item + 1);
                if let Some(hit) = hit.get_mut(item as usize) {
                    *hit = false;
                }
            }
        }
    }

    /// An item was used.
    #[inline]
    pub fn touch(&mut self, item: u32) {
        match self {
            Self::Clock { hit, .. } => {
                if let Some(hit) = hit.get_mut(item as usize) {
                    *hit = true;
                }
            }
            Self::Lists { lists, limit: 0, .. } => lists.move_back(PROBATIONARY, item),
            Self::Lists { lists, protected, limit } => {
                debug_assert!(lists.chain_of(item).is_some(), "item {item} is used, but not here");
                if lists.chain_of(item) == Some(PROBATIONARY) {
                    debug_assert!(*protected <= *limit, "{protected} items are protected, of at most {limit}");
                    if protected == limit {
                        if let Some(demoted) = lists.front(PROTECTED) {
                            lists.move_back(PROBATIONARY, demoted);
                        }
                    } else {
                        *protected += 1;
                    }
                }
                lists.move_back(PROTECTED, item);
            }
        }
    }

    /// The item that leaves next. Asked again without a hit between, it is the same.
    #[inline]
    pub fn victim(&mut self) -> Option<u32> {
        match self {
            Self::Lists { lists, .. } => lists.front(PROBATIONARY).or_else(|| lists.front(PROTECTED)),
            Self::Clock { items: 0, .. } => None,
            Self::Clock { hit, items, hand } => {
                while hit.get_mut(*hand as usize).is_some_and(std::mem::take) {
                    *hand = (*hand + 1) % *items;
                }
                Some(*hand)
            }
        }
    }

    /// The victim leaves; another item with its number may enter.
    #[inline]
    pub fn leave(&mut self, item: u32) {
        match self {
            Self::Lists { lists, protected, .. } => {
                let is_protected = lists.chain_of(item) == Some(PROTECTED);
                debug_assert!(lists.chain_of(item).is_some(), "item {item} leaves, and is in no list");
                debug_assert!(!is_protected || *protected > 0, "item {item} is protected, and none is counted");
                *protected -= usize::from(is_protected);
                lists.remove(item);
            }
            Self::Clock { items, hand, .. } => {
                debug_assert!(item < *items, "item {item} leaves a clock of {items} items");
                *hand = (item + 1) % *items;
            }
        }
    }

    /// The victim after this one, as far as that is known.
    #[inline]
    pub fn after(&self, item: u32) -> Option<u32> {
        match self {
            Self::Lists { lists, .. } => lists.after(item),
            Self::Clock { items, .. } => Some((item + 1) % items),
        }
    }

    /// Asks for the memory that using an item touches.
    #[inline]
    pub fn prefetch(&self, item: u32) {
        if let Self::Lists { lists, .. } = self {
            lists.prefetch(item);
        }
    }

    /// Asks for the neighbours of an item whose own place has arrived.
    #[inline]
    pub fn prefetch_neighbours(&self, item: u32) {
        if let Self::Lists { lists, .. } = self {
            lists.prefetch_neighbours(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use random::SeededRng;

    use super::*;

    /// The obvious model of segmented LRU, oldest first.
    #[derive(Default)]
    struct Model {
        probationary: VecDeque<u32>,
        protected: VecDeque<u32>,
    }

    impl Model {
        /// Uses an item; returns what leaves for it.
        fn access(&mut self, item: u32, capacity: usize, limit: usize) -> Option<u32> {
            let hit = self.probationary.contains(&item) || self.protected.contains(&item);
            self.probationary.retain(|&x| x != item);
            self.protected.retain(|&x| x != item);
            if hit && limit > 0 {
                self.protected.push_back(item);
                if self.protected.len() > limit {
                    let demoted = self.protected.pop_front().expect("not empty");
                    self.probationary.push_back(demoted);
                }
                return None;
            }
            let full = !hit && self.probationary.len() + self.protected.len() == capacity;
            let left = full.then(|| self.probationary.pop_front().or_else(|| self.protected.pop_front())).flatten();
            self.probationary.push_back(item);
            left
        }
    }

    #[test]
    fn segmented_and_plain_lru_agree_with_the_obvious_model() {
        for (capacity, limit) in [(4, 2), (5, 0), (8, 7), (1, 0), (8, 3)] {
            let (mut recency, mut model) = (Recency::segmented(40, limit), Model::default());
            let (mut inside, mut rng) = (Vec::new(), SeededRng::new(12_345));
            for _ in 0..20_000 {
                let drawn = rng.bits();
                let item = ((drawn >> 33) % 40).min((drawn >> 50) % 40) as u32;
                let expected = model.access(item, capacity, limit);
                if inside.contains(&item) {
                    recency.touch(item);
                    continue;
                }
                let victim = (inside.len() == capacity).then(|| recency.victim().expect("full"));
                assert_eq!(victim, expected, "capacity {capacity}, limit {limit}");
                if let Some(victim) = victim {
                    recency.leave(victim);
                    inside.retain(|&x| x != victim);
                }
                recency.enter(item);
                inside.push(item);
            }
        }
    }

    #[test]
    fn first_in_first_out_sees_no_hits() {
        let mut fifo = Recency::fifo();
        (0..3).for_each(|item| fifo.enter(item));
        let mut left = Vec::new();
        for _ in 0..5 {
            fifo.touch(0);
            let victim = fifo.victim().expect("full");
            fifo.leave(victim);
            fifo.enter(victim);
            left.push(victim);
        }
        assert_eq!(left, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn the_hand_of_a_clock_passes_over_what_was_hit() {
        let mut clock = Recency::clock(4);
        assert_eq!(clock.victim(), None);
        (0..4).for_each(|item| clock.enter(item));
        clock.touch(0);
        clock.touch(2);
        let mut left = Vec::new();
        for _ in 0..5 {
            let victim = clock.victim().expect("full");
            assert_eq!(clock.victim(), Some(victim), "asking changes nothing");
            clock.leave(victim);
            clock.enter(victim);
            left.push(victim);
        }
        // 0 and 2 were hit and are passed over once.
        assert_eq!(left, [1, 3, 0, 1, 2]);
    }
}
