//! `SepBIT`: pages that are inferred to die at the same time share blocks.
//!
//! Source: Wang 2022 (FAST '22), algorithm 1. A write of a page that lived shorter than ℓ will live
//! short, too (class 0; else 1). What survives of class 0 has class 2; what survives elsewhere has
//! class 3, 4 or 5 by its age, with bounds of 4 ℓ and 16 ℓ. ℓ is the mean time between the opening
//! and the collection of the last 16 blocks of class 0, and endless at first.
//!
//! Departure: the time of a page's last write is known exactly, where the paper finds recent pages
//! in a queue of ℓ writes.

use crate::api::classifier::{Classifier, ReclaimedUnit, RelocatedPage, WrittenPage};

/// Blocks of class 0 over which ℓ is the mean.
const MEAN_OVER: u32 = 16;

#[derive(Debug)]
pub(super) struct SepBit {
    /// ℓ.
    lifespan: f64,
    reclaimed: u32,
    lifespans: u64,
}

impl Default for SepBit {
    fn default() -> Self {
        Self { lifespan: f64::INFINITY, reclaimed: 0, lifespans: 0 }
    }
}

impl Classifier for SepBit {
    fn classes(&self) -> usize {
        6
    }

    fn host_classes(&self) -> usize {
        2
    }

    fn uses_hints(&self) -> bool {
        false
    }

    fn relocates(&self) -> bool {
        true
    }

    fn classify(&mut self, page: &WrittenPage) -> Result<usize, String> {
        let lives_short = page.age.is_some_and(|age| (age as f64) < self.lifespan);
        Ok(usize::from(!lives_short))
    }

    fn relocate(&mut self, page: &RelocatedPage) -> Result<usize, String> {
        let age = page.age.map_or(f64::INFINITY, |age| age as f64);
        Ok(match page.from {
            0 => 2,
            _ if age < 4.0 * self.lifespan => 3,
            _ if age < 16.0 * self.lifespan => 4,
            _ => 5,
        })
    }

    fn on_reclaimed(&mut self, unit: &ReclaimedUnit) -> Result<(), String> {
        if unit.class == 0 {
            self.reclaimed += 1;
            self.lifespans += unit.age;
            if self.reclaimed == MEAN_OVER {
                self.lifespan = self.lifespans as f64 / f64::from(MEAN_OVER);
                (self.reclaimed, self.lifespans) = (0, 0);
            }
        }
        Ok(())
    }

    fn ram_bytes(&self) -> u64 {
        24
    }
}

#[cfg(test)]
mod tests {
    use flash::Lpn;
    use host::Hint;

    use super::*;

    fn written(age: Option<u64>) -> WrittenPage {
        WrittenPage { lpn: Lpn::new(1), request_pages: 1, hint: Hint::NONE, age, dies_in: None }
    }

    fn relocated(age: u64, from: usize) -> RelocatedPage {
        RelocatedPage { lpn: Lpn::new(1), age: Some(age), from, dies_in: None }
    }

    #[test]
    fn classes_follow_the_mean_lifespan_of_sixteen_blocks_of_class_zero() {
        let mut sepbit = SepBit::default();
        assert_eq!([Some(1_000_000), None].map(|age| sepbit.classify(&written(age))), [Ok(0), Ok(1)]);
        assert_eq!(sepbit.relocate(&relocated(1_000_000, 1)), Ok(3));
        let unit = |class, age| ReclaimedUnit { class, opened_at: 0, age, valid_pages: 0, pages: 4 };
        for age in 93..93 + 15 {
            assert_eq!(sepbit.on_reclaimed(&unit(0, age)), Ok(()));
            assert_eq!(sepbit.on_reclaimed(&unit(1, 9_999)), Ok(()));
        }
        assert_eq!(sepbit.classify(&written(Some(101))), Ok(0), "fifteen blocks are too few");
        assert_eq!(sepbit.on_reclaimed(&unit(0, 100)), Ok(()));
        assert_eq!([99, 100].map(|age| sepbit.classify(&written(Some(age)))), [Ok(0), Ok(1)]);
        assert_eq!(
            [(1, 0), (1599, 5), (1600, 1), (399, 3), (400, 3)]
                .map(|(age, from)| sepbit.relocate(&relocated(age, from))),
            [Ok(2), Ok(4), Ok(5), Ok(3), Ok(4)]
        );
    }
}
