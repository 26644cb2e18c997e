//! Whether data that were taken for cold rest on the worn blocks that they were given.
//!
//! A worn block under data that are not cold comes back soon, is worn still, and gets the next data
//! at once: the most worn blocks wear fastest so. How long it rested tells. In the mean a block is
//! erased once in as many erases as there are blocks, and a shorter rest was none. After it cold
//! data are treated like others for a while: once, after another failure 3 times, then 7.

use flash::Pbn;

/// Failures after which backing off takes no longer than before: then 1 023 chances are passed, and
/// more would be for ever.
const MOST_FAILURES: u8 = 10;

/// When worn blocks began to rest under data that were taken for cold.
#[derive(Clone, Debug)]
pub struct RestTimes {
    /// Erases of all blocks so far, from 1 on.
    clock: u64,
    /// When each block began to rest; 0 if it does not.
    since: Vec<u64>,
}

impl RestTimes {
    /// Bytes of memory per block.
    pub const BYTES: usize = size_of::<u64>();

    /// Of a device of this many blocks, none of which rests.
    pub fn none(blocks: u32) -> Self {
        Self { clock: 1, since: vec![0; blocks as usize] }
    }

    /// Data that were taken for cold come to a worn block.
    pub fn begin(&mut self, pbn: Pbn) {
        self.since[pbn.index()] = self.clock;
    }

    /// A block is erased: whether its rest was too short, if it rested.
    pub fn on_erased(&mut self, pbn: Pbn) -> Option<bool> {
        self.on_erased_within(pbn, self.since.len() as f64)
    }

    /// The same where rests are too short below this many erases.
    pub fn on_erased_within(&mut self, pbn: Pbn, least: f64) -> Option<bool> {
        self.clock += 1;
        let since = std::mem::take(&mut self.since[pbn.index()]);
        (since > 0).then(|| ((self.clock - since) as f64) < least)
    }

    /// Ends the rest of the block whose turn it is, one per erase, if that rest has lasted; tells
    /// whether it did. So cold data count though their block is never erased.
    pub fn end_lasting(&mut self) -> bool {
        let blocks = self.since.len() as u64;
        let since = &mut self.since[(self.clock % blocks) as usize];
        let lasts = *since > 0 && self.clock - *since >= blocks;
        if lasts {
            *since = 0;
        }
        lasts
    }
}

/// How often data that are taken for cold are treated like others, since rests were too short.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackOff {
    failures: u8,
    passes: u16,
}

impl BackOff {
    /// A rest was too short.
    pub fn on_short_rest(&mut self) {
        self.failures = (self.failures + 1).min(MOST_FAILURES);
        self.pass_again();
    }

    /// A rest lasted: one failure is forgotten.
    pub fn on_long_rest(&mut self) {
        self.failures = self.failures.saturating_sub(1);
        self.pass_again();
    }

    /// From here on as many chances are passed as the failures ask for.
    pub fn pass_again(&mut self) {
        self.passes = (1 << self.failures) - 1;
    }

    /// Whether this chance is passed.
    pub fn passes(&mut self) -> bool {
        let passes = self.passes > 0;
        self.passes -= u16::from(passes);
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_is_short_below_as_many_erases_as_there_are_blocks() {
        let mut rests = RestTimes::none(4);
        let mut after = |erases: u32| {
            rests.begin(Pbn::new(0));
            assert!((1..erases).all(|_| rests.on_erased(Pbn::new(1)).is_none()), "block 1 does not rest");
            rests.on_erased(Pbn::new(0))
        };
        assert_eq!([1, 3, 4, 9].map(&mut after), [Some(true), Some(true), Some(false), Some(false)]);
    }

    #[test]
    fn a_rest_lasts_though_its_block_is_not_erased() {
        let mut rests = RestTimes::none(4);
        rests.begin(Pbn::new(2));
        let mut lasting = |erases: u32| {
            let others = (0..erases).map(|_| rests.on_erased(Pbn::new(1)).is_none() && rests.end_lasting());
            others.filter(|&lasts| lasts).count()
        };
        assert_eq!([4, 4, 8].map(&mut lasting), [0, 1, 0], "once, in the round after as many erases as blocks");
        assert_eq!(rests.on_erased(Pbn::new(2)), None, "its rest has ended");
    }

    #[test]
    fn each_failure_doubles_the_chances_that_are_passed_and_a_long_rest_halves_them() {
        let mut back_off = BackOff::default();
        let mut chances = |is_short: bool| {
            if is_short {
                back_off.on_short_rest();
            } else {
                back_off.on_long_rest();
            }
            std::iter::from_fn(|| back_off.passes().then_some(())).count()
        };
        assert_eq!([true, true, true, false, false, false, false].map(&mut chances), [1, 3, 7, 3, 1, 0, 0]);
        assert_eq!((0..20).map(|_| chances(true)).max(), Some(1_023));
    }
}
