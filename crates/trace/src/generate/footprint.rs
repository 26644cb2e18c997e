//! Which units hold data: written, and not trimmed since. Trims need it to hit such a unit
//! uniformly.
//!
//! A list of the units in use, and for every unit of the range its place in that list: marking,
//! forgetting and drawing one at random are each O(1). It costs 4 bytes per unit of the range and 4
//! per unit in use, so a generator only keeps it when something trims.

use random::SeededRng;

/// In place of a position: not in use.
const ABSENT: u32 = u32::MAX;

/// The set of units in use.
#[derive(Clone, Debug)]
pub(crate) struct InUse {
    units: Vec<u32>,
    place: Box<[u32]>,
}

impl InUse {
    /// For a range of `units` (at most 2³² − 2), all of them in use or none.
    pub(crate) fn new(units: u64, filled: bool) -> Self {
        let units = units as u32;
        if filled {
            Self { units: (0..units).collect(), place: (0..units).collect() }
        } else {
            Self { units: Vec::new(), place: vec![ABSENT; units as usize].into_boxed_slice() }
        }
    }

    /// Marks `unit` as written.
    #[inline]
    pub(crate) fn mark(&mut self, unit: u64) {
        let place = &mut self.place[unit as usize];
        if *place == ABSENT {
            *place = self.units.len() as u32;
            self.units.push(unit as u32);
        }
    }

    /// Takes out one unit, each equally likely; none when nothing is in use.
    pub(crate) fn take(&mut self, stream: &mut SeededRng) -> Option<u64> {
        if self.units.is_empty() {
            return None;
        }
        let position = stream.below(self.units.len() as u64) as usize;
        let unit = self.units.swap_remove(position);
        self.place[unit as usize] = ABSENT;
        if let Some(moved) = self.units.get(position) {
            self.place[*moved as usize] = position as u32;
        }
        Some(u64::from(unit))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_agrees_with_a_set() {
        let mut stream = SeededRng::named(9, "in use");
        for filled in [false, true] {
            let mut in_use = InUse::new(50, filled);
            let mut model: BTreeSet<u64> = if filled { (0..50).collect() } else { BTreeSet::new() };
            for _ in 0..20_000 {
                if stream.below(2) == 0 {
                    let unit = stream.below(50);
                    in_use.mark(unit);
                    model.insert(unit);
                } else {
                    match in_use.take(&mut stream) {
                        Some(unit) => assert!(model.remove(&unit), "{unit} was not in use"),
                        None => assert!(model.is_empty()),
                    }
                }
                assert_eq!(in_use.units.len(), model.len());
            }
        }
    }
}
