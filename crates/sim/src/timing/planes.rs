//! Which operations that wait for a die could run beside one another on its planes.
//!
//! They are listed by what has to be equal, and then by plane, so that who comes first on each
//! plane is known however many wait.

use std::collections::VecDeque;

use random::NumberMap;

/// What is equal for operations that run beside one another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Alike(u64);

impl Alike {
    /// Of a die, a class of operations, one of the die's queues, and a flash page of the block,
    /// where planes are aligned; otherwise 0.
    #[inline]
    pub(super) fn new(die: u32, class: usize, queue: u64, page: u32) -> Self {
        debug_assert!(die < 1 << 28 && class < 4 && queue < 4, "they have 28, 2 and 2 bits");
        Self(u64::from(die) << 36 | u64::from(page) << 4 | (class as u64) << 2 | queue)
    }
}

/// Operations that wait for dies whose planes work together.
pub(super) struct Planes {
    planes_per_die: usize,
    /// Plane by plane, in the order in which they came.
    waiting: NumberMap<Alike, Box<[VecDeque<u32>]>>,
}

impl Planes {
    /// Nobody waits for dies of so many planes.
    pub(super) fn new(planes_per_die: u32) -> Self {
        Self { planes_per_die: planes_per_die as usize, waiting: NumberMap::default() }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// An operation begins to wait.
    #[inline]
    pub(super) fn push(&mut self, alike: Alike, plane: u32, number: u32) {
        let nobody = || vec![VecDeque::new(); self.planes_per_die].into();
        self.waiting.entry(alike).or_insert_with(nobody)[plane as usize].push_back(number);
    }

    /// An operation waits no longer, which came first on its plane.
    pub(super) fn pop(&mut self, alike: Alike, plane: u32) -> Option<u32> {
        self.waiting.get_mut(&alike)?[plane as usize].pop_front()
    }

    /// Who comes first on each plane, where somebody waits.
    pub(super) fn firsts(&self, alike: Alike) -> impl Iterator<Item = u32> + '_ {
        let planes = self.waiting.get(&alike).into_iter().flatten();
        planes.filter_map(|waiting| waiting.front().copied())
    }
}
