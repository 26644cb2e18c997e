//! A pseudorandom permutation of 0…n−1 in constant memory: every number once per pass, none stored.
//!
//! Numbers of k bits, where 2^k is the next power of two, go through rounds that are bijections
//! each: XOR with a key, multiply by an odd constant, XOR the high half into the low one, all
//! modulo 2^k. *Cycle walking* makes the whole a permutation of n: a result of n or more is fed
//! back in until it falls below n. Walking follows the bijection's cycle, so it always ends and
//! never meets a number twice; as n is more than half the power of two, it takes fewer than two
//! turns on average.
//!
//! A Feistel network is the better known construction, but with halves of ten bits it needs eight
//! rounds of a full-width product to lose its stripes, which costs three times as much as this.
//!
//! It is a shuffle for simulation, not a cipher: of the n! orders it can produce at most 2⁶⁴, one
//! per key.

use random::mix;

/// Measured by the distances between the images of neighbours (χ² in 64 classes, 100 keys, 2⁸ to
/// 2²² numbers): three rounds leave plain stripes, four do so under some keys, five spread like
/// true shuffles. More would only cost time.
const ROUNDS: usize = 5;

/// Odd, and 5 modulo 8, with few regularities in any number of low bits: a multiplier of Steele and
/// Vigna's for congruential generators modulo powers of two.
const MULTIPLIER: u64 = 0xd134_2543_de82_ef95;

/// One permutation of 0 to n − 1.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    count: u64,
    mask: u64,
    shift: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `count` numbers (1 ≤ `count` ≤ 2⁶³) that `key` names.
    pub(crate) fn new(count: u64, key: u64) -> Self {
        let bits = u64::BITS - (count - 1).leading_zeros();
        let mask = (1 << bits) - 1;
        let mut state = key;
        let keys = std::array::from_fn(|_| {
            state = mix(state);
            state & mask
        });
        // Half the width, rounded up: the high bits, which a multiplication mixes best, go down to
        // the low ones. Never 0, which would turn that XOR into a constant.
        Self { count, mask, shift: bits.div_ceil(2).max(1), keys }
    }

    /// How many numbers it permutes.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Where `index` (below n) goes.
    #[inline]
    pub(crate) fn apply(&self, index: u64) -> u64 {
        let mut value = index;
        loop {
            for key in self.keys {
                value = (value ^ key).wrapping_mul(MULTIPLIER) & self.mask;
                value ^= value >> self.shift;
            }
            if value < self.count {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for count in [1, 2, 3, 4, 5, 7, 64, 100, 1000, 4096, 4097, 65_535, 100_003] {
            for key in 0..20 {
                let permutation = Permutation::new(count, key);
                let mut seen = vec![false; count as usize];
                for index in 0..count {
                    let target = permutation.apply(index) as usize;
                    assert!(!seen[target], "n={count} key={key}: {target} twice");
                    seen[target] = true;
                }
            }
        }
    }

    #[test]
    fn neighbours_land_anywhere() {
        // The distance between the images of neighbours, in 64 classes: uniform for a random
        // permutation.
        for count in [1 << 16, 100_003] {
            for key in 0..40 {
                let permutation = Permutation::new(count, key);
                let mut classes = [0.0f64; 64];
                for index in 1..count {
                    let distance = (permutation.apply(index) + count - permutation.apply(index - 1)) % count;
                    classes[(distance * 64 / count) as usize] += 1.0;
                }
                let expected = (count - 1) as f64 / 64.0;
                let statistic: f64 = classes.iter().map(|seen| (seen - expected).powi(2) / expected).sum();
                assert!(statistic < 63.0 + 5.0 * (126.0f64).sqrt(), "n={count} key={key}: χ²={statistic}");
            }
        }
    }

    #[test]
    fn two_keys_give_unrelated_orders() {
        // Joint distribution of the two images over a 16 × 16 grid: 255 degrees of freedom, uniform
        // if unrelated.
        let count = 1 << 16;
        for key in 0..40 {
            let (one, two) = (Permutation::new(count, mix(key)), Permutation::new(count, mix(key + 1)));
            let mut cells = vec![0.0f64; 256];
            for index in 0..count {
                cells[(one.apply(index) * 16 / count * 16 + two.apply(index) * 16 / count) as usize] += 1.0;
            }
            let expected = count as f64 / 256.0;
            let statistic: f64 = cells.iter().map(|seen| (seen - expected).powi(2) / expected).sum();
            assert!(statistic < 255.0 + 5.0 * (510.0f64).sqrt(), "key={key}: χ²={statistic}");
        }
    }
}
