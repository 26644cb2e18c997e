//! Which cached item leaves next: least recently used, segmented or not, or the clock's
//! approximation of it.
//!
//! Segmented LRU is two lists: an item enters the *probationary* one, a hit moves it to the
//! *protected* one, and what overflows there falls back to the probationary list's recent end. With
//! no protected part this is plain LRU. A clock keeps a bit an item, set by a hit; its hand passes
//! over set bits, clearing them, and stops at the first that is not set. A clock that sees no hits
//! is first in, first out.

use flash::long_array;

use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::demand::stamped_lists::StampedLists;
use crate::prefetch::prefetch;

const PROBATIONARY: usize = 0;
const PROTECTED: usize = 1;

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

/// The order in which items leave.
#[derive(Clone, Debug)]
pub enum Recency {
    /// Segmented LRU: items that are hit move to a protected list.
    Lists {
        /// Items used once, then items used more often.
        lists: StampedLists,
        /// The most items that may be protected: one less than all, so that one can leave.
        limit: usize,
    },
    /// The clock: a hand passes over items that were hit.
    Clock(Clock),
}

/// Items in a circle.
#[derive(Clone, Debug)]
pub struct Clock {
    states: Vec<State>,
    circle: Vec<u32>,
    /// Where the hand stands.
    hand: usize,
    /// The place of an item that has left, for the one that enters next.
    vacant: Option<usize>,
    counts_hits: bool,
}

/// What a clock knows of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Absent,
    Here,
    Hit,
}

impl Recency {
    /// Segmented LRU of up to `capacity` of the items `0..items`, of which up to `protected` are
    /// protected.
    pub fn segmented(items: usize, capacity: usize, protected: usize) -> Self {
        let limit = protected.min(capacity.saturating_sub(1));
        debug_assert!(limit < capacity.max(1), "{limit} of {capacity} items are protected, and none can leave");
        Self::Lists { lists: StampedLists::new(items), limit }
    }

    /// A clock of some of the items `0..items`.
    pub fn clock(items: usize) -> Self {
        Self::Clock(Clock::new(items, true))
    }

    /// First in, first out, of the items `0..items`.
    pub fn fifo(items: usize) -> Self {
        Self::Clock(Clock::new(items, false))
    }

    /// What [`PARAMETERS`] ask for, for up to `capacity` of the items `0..items`.
    pub fn from_values(values: &Values, items: usize, capacity: usize) -> Self {
        match values.word("cmt_policy") {
            "clock" => Self::clock(items),
            "fifo" => Self::fifo(items),
            "lru" => Self::segmented(items, capacity, 0),
            _ => Self::segmented(items, capacity, (capacity as f64 * values.ratio("protected")) as usize),
        }
    }

    /// Whether an item has entered and not left.
    #[inline]
    pub fn contains(&self, item: u32) -> bool {
        match self {
            Self::Lists { lists, .. } => lists.list_of(item).is_some(),
            Self::Clock(clock) => clock.states[item as usize] != State::Absent,
        }
    }

    /// An item enters.
    #[inline]
    pub fn enter(&mut self, item: u32) {
        match self {
            Self::Lists { lists, .. } => lists.push_back(PROBATIONARY, item),
            Self::Clock(clock) => clock.enter(item),
        }
    }

    /// An item was used.
    #[inline]
    pub fn touch(&mut self, item: u32) {
        debug_assert!(self.contains(item), "item {item} is used, but not here");
        match self {
            Self::Clock(clock) => {
                if clock.counts_hits {
                    clock.states[item as usize] = State::Hit;
                }
            }
            Self::Lists { lists, limit: 0 } => lists.move_back(PROBATIONARY, item),
            Self::Lists { lists, limit } => {
                let is_promoted = lists.list_of(item) == Some(PROBATIONARY);
                if is_promoted
                    && lists.length(PROTECTED) == *limit
                    && let Some(demoted) = lists.front(PROTECTED)
                {
                    lists.move_back(PROBATIONARY, demoted);
                }
                lists.move_back(PROTECTED, item);
                debug_assert!(lists.length(PROTECTED) <= *limit, "more than {limit} items are protected");
            }
        }
    }

    /// The item that leaves next. Asked again without a hit between, it is the same.
    #[inline]
    pub fn victim(&mut self) -> Option<u32> {
        match self {
            Self::Lists { lists, .. } => lists.front(PROBATIONARY).or_else(|| lists.front(PROTECTED)),
            Self::Clock(clock) => clock.victim(),
        }
    }

    /// The victim leaves.
    #[inline]
    pub fn leave(&mut self, item: u32) {
        debug_assert!(self.contains(item), "item {item} leaves, and is not here");
        match self {
            Self::Lists { lists, .. } => lists.remove(item),
            Self::Clock(clock) => clock.leave(item),
        }
    }

    /// The victim after the next one, as far as that is known.
    #[inline]
    pub fn follower(&self) -> Option<u32> {
        match self {
            Self::Lists { lists, .. } => lists.queued_next(PROBATIONARY),
            Self::Clock(clock) => clock.circle.get(clock.after_hand()).copied(),
        }
    }

    /// Asks for the memory that using an item touches.
    #[inline]
    pub fn prefetch(&self, item: u32) {
        match self {
            Self::Lists { lists, .. } => lists.prefetch(item),
            Self::Clock(clock) => prefetch(&clock.states, item as usize),
        }
    }
}

impl Clock {
    fn new(items: usize, counts_hits: bool) -> Self {
        Self { states: long_array(State::Absent, items), circle: Vec::new(), hand: 0, vacant: None, counts_hits }
    }

    fn after_hand(&self) -> usize {
        if self.hand + 1 == self.circle.len() { 0 } else { self.hand + 1 }
    }

    fn enter(&mut self, item: u32) {
        match self.vacant.take() {
            Some(place) => self.circle[place] = item,
            None => self.circle.push(item),
        }
        self.states[item as usize] = State::Here;
    }

    fn victim(&mut self) -> Option<u32> {
        loop {
            let item = *self.circle.get(self.hand)?;
            if self.states[item as usize] != State::Hit {
                return Some(item);
            }
            self.states[item as usize] = State::Here;
            self.hand = self.after_hand();
        }
    }

    fn leave(&mut self, item: u32) {
        debug_assert_eq!(self.circle.get(self.hand), Some(&item), "the hand does not point to the item that leaves");
        debug_assert!(self.vacant.is_none(), "item {item} leaves before another one has entered");
        self.states[item as usize] = State::Absent;
        self.vacant = Some(self.hand);
        self.hand = self.after_hand();
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
            let (mut recency, mut model) = (Recency::segmented(40, capacity, limit), Model::default());
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
        let mut fifo = Recency::fifo(4);
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
