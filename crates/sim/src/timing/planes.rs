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
    /// Of a die, a class of operations, their standing, and a flash page of the block,
    /// where planes are aligned; otherwise 0.
    #[inline]
    pub(super) fn new(die: u32, class: usize, standing: usize, page: u32) -> Self {
        debug_assert!(die < 1 << 27 && class < 4 && standing < 8, "they have 27, 2 and 3 bits");
        Self(u64::from(die) << 37 | u64::from(page) << 5 | (class as u64) << 3 | standing as u64)
    }
}

/// Operations that wait for dies whose planes work together.
pub(super) struct Planes {
    planes_per_die: usize,
    /// Plane by plane, in the order in which they came.
    waiting: NumberMap<Alike, Box<[VecDeque<u32>]>>,
}

impl Planes {
    /// Nobody waits for dies of this many planes.
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

    /// An operation waits no longer; nearly always the one that came first on its plane.
    pub(super) fn take_out(&mut self, alike: Alike, plane: u32, number: u32) {
        let waiting = self.waiting.get_mut(&alike).map(|planes| &mut planes[plane as usize]);
        let place = waiting.as_ref().and_then(|waiting| waiting.iter().position(|&other| other == number));
        let taken = waiting.zip(place).and_then(|(waiting, place)| waiting.remove(place));
        debug_assert_eq!(taken, Some(number), "an operation waits on its plane that was not listed there");
    }

    /// Who comes first on each plane but `own`, of those that may begin.
    pub(super) fn firsts(&self, alike: Alike, own: u32, may_begin: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> {
        let planes = self.waiting.get(&alike).into_iter().flatten().enumerate();
        let others = planes.filter(move |&(plane, _)| plane != own as usize);
        others.filter_map(move |(_, waiting)| waiting.iter().copied().find(|&number| may_begin(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a long queue is searched in full at each operation, without end in an overloaded loop.
    #[test]
    fn nobody_is_searched_for_on_the_plane_that_is_taken() {
        let (mut planes, alike) = (Planes::new(3), Alike::new(0, 1, 0, 0));
        for number in 0..100 {
            planes.push(alike, number % 2, number);
        }
        let asked = |number: u32| number % 2 == 1 || panic!("{number} waits on the plane that is taken");
        assert_eq!(planes.firsts(alike, 0, asked).collect::<Vec<_>>(), [1]);
    }
}
