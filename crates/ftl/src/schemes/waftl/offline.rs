//! Offline collection: how much of an idle period is used, told from those before (WAFTL III.D, eqs. 3 and 4).

use crate::port::timing::Nanos;

/// Foretells idle periods.
#[derive(Clone, Debug)]
pub(super) struct IdleErasePolicy {
    /// α of eq. 3: the weight of the last idle period.
    weight: f64,
    predicted_ns: f64,
    /// The shortest time that erasing a block was said to take: without waiting for anything.
    erase_ns: f64,
}

impl IdleErasePolicy {
    pub(super) fn new(weight: f64) -> Self {
        Self { weight, predicted_ns: 0.0, erase_ns: f64::INFINITY }
    }

    /// Eq. 4: blocks to erase in the period that begins.
    pub(super) fn blocks(&mut self, erase: Nanos) -> usize {
        self.erase_ns = self.erase_ns.min(erase.0 as f64);
        if self.erase_ns > 0.0 { (self.predicted_ns / self.erase_ns) as usize } else { usize::MAX }
    }

    /// Whether an erase that would be done in so long would begin before the period of which so much is left ends.
    pub(super) fn would_begin(&self, erase: Nanos, left: Nanos) -> bool {
        (erase.0 as f64 - self.erase_ns) < left.0 as f64
    }

    /// Eq. 3: a period has ended.
    pub(super) fn ended(&mut self, real: Nanos) {
        self.predicted_ns = self.weight * real.0 as f64 + (1.0 - self.weight) * self.predicted_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_foretold_by_their_weighted_mean_and_filled_with_whole_erases() {
        let ms = |ms: f64| Nanos((ms * 1e6) as u64);
        let mut offline = IdleErasePolicy::new(0.5);
        assert_eq!(offline.blocks(ms(1.5)), 0, "nothing is known of idle time yet");
        offline.ended(ms(4.0));
        assert_eq!(offline.blocks(ms(1.5)), 1, "2.0 / 1.5");
        offline.ended(ms(8.0));
        assert_eq!(offline.blocks(ms(1.5)), 3, "5.0 / 1.5");
        assert_eq!(offline.blocks(ms(9.0)), 3, "a busy die says nothing of the erase itself");
        offline.ended(ms(0.0));
        offline.ended(ms(0.0));
        assert_eq!(offline.blocks(ms(1.5)), 0, "1.25 is less than 1.5");
        assert!(offline.would_begin(ms(1.5), ms(0.1)) && !offline.would_begin(ms(1.7), ms(0.1)));
    }
}
