//! Seeded random numbers: one master seed, and for every consumer of randomness a seed of its own,
//! derived from what it is called.
//!
//! Counting seeds up (`seed++`) ties every stream to how many came before it, so that adding one
//! consumer changes all the others. A name does not move.
//!
//! All of this is fixed for ever, since saved results and replay lines are only repeatable while it
//! holds. The derivation is FNV-1a over the name's bytes, then two rounds of `SplitMix64`'s
//! finaliser that fold in the master seed. It is a hash, not a cipher: it keeps streams apart, it
//! does not hide anything. The streams are xoshiro256++, whose output its authors' definition
//! fixes, not a library's version.
//!
//! Invariant: nothing here reads a clock or the system's entropy.

mod number_map;

pub use number_map::{NumberHasher, NumberMap};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The seed of the consumer called `name` under the master seed. The same pair always gives the
/// same seed.
pub fn derive(master: u64, name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(mix(hash).wrapping_add(mix(master)))
}

/// Scatters a number over all 64 bits. This is `SplitMix64`: the step by the golden ratio, then the
/// finaliser, which is a bijection.
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One stream of random numbers, fixed by its seed.
#[derive(Clone, Debug)]
pub struct SeededRng(Xoshiro256PlusPlus);

impl SeededRng {
    /// The stream of this very seed, for a consumer whose seed has been derived already.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The stream of the consumer called `name` under the master seed.
    pub fn named(master: u64, name: &str) -> Self {
        Self::new(derive(master, name))
    }

    /// Goes on 2¹⁹² numbers further: for a second stream of a seed that another has already, which
    /// then shares no number with it.
    #[must_use]
    pub fn far_apart(mut self) -> Self {
        self.0.long_jump();
        self
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `limit`, by the high half of a 128-bit product; 0 when the limit is 0. The
    /// bias against any one number is at most `limit`/2⁶⁴, which for an address space of 2⁴⁰ units
    /// no run could ever see.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        self.below_with_rest(limit).0
    }

    /// As [`SeededRng::below`], and the low half of the product: given the number, it is nearly
    /// uniform over 64 bits, and stands in for a second draw.
    #[inline]
    pub fn below_with_rest(&mut self, limit: u64) -> (u64, u64) {
        let product = u128::from(self.bits()) * u128::from(limit);
        ((product >> 64) as u64, product as u64)
    }

    /// A number below `limit`; 0 when the limit is 0. Only the upper 32 bits of a draw count, so
    /// about one in 2³²/`limit` numbers differs from that of [`SeededRng::below`].
    #[inline]
    pub fn below_u32(&mut self, limit: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// A number from 1 to `most`; 1 when that is 0.
    pub fn up_to(&mut self, most: u32) -> u32 {
        1 + self.below_u32(most.max(1))
    }

    /// True in this many of 100 cases.
    pub fn percent(&mut self, chance: u32) -> bool {
        self.below_u32(100) < chance
    }

    /// A number in (0, 1], in steps of 2⁻⁵³; never 0, so its logarithm is finite.
    #[inline]
    pub fn unit_interval(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// An exponential variate of mean 1. `libm`'s logarithm is the same on every platform; the
    /// standard library's is not.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit_interval())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivation_and_streams_never_change() {
        // Written down once. If this fails, every published seed has changed its meaning.
        assert_eq!(derive(0, ""), 0x5905_c3be_d5e4_a7a7);
        assert_eq!(derive(1, "addresses"), 0xb2b7_e354_9975_9f82);
        assert_eq!(derive(u64::MAX, "phase 0/part 0/places"), 0x900b_1338_df6f_4159);
    }

    #[test]
    fn names_and_masters_keep_streams_apart() {
        let mut seeds: Vec<u64> = Vec::new();
        for master in 0..100 {
            for name in ["", "a", "b", "ab", "ba", "addresses", "addresses ", "part 0/addresses", "part 1/addresses"] {
                seeds.push(derive(master, name));
            }
        }
        let count = seeds.len();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), count);
    }

    #[test]
    fn draws_stay_below_their_limit_and_reach_all_of_it() {
        let mut rng = SeededRng::named(1, "limits");
        let (mut wide, mut narrow, mut counted) = ([0_u32; 7], [0_u32; 7], [0_u32; 8]);
        for _ in 0..70_000 {
            wide[rng.below(7) as usize] += 1;
            narrow[rng.below_u32(7) as usize] += 1;
            counted[rng.up_to(7) as usize] += 1;
        }
        let is_even = |counts: &[u32]| counts.iter().all(|count| (9_500..10_500).contains(count));
        assert!(is_even(&wide) && is_even(&narrow) && is_even(&counted[1..]), "{wide:?} {narrow:?} {counted:?}");
        assert_eq!((counted[0], rng.below(0), rng.below_u32(0), rng.up_to(0)), (0, 0, 0, 1));
    }

    #[test]
    fn exponentials_are_positive_and_of_mean_one() {
        let mut rng = SeededRng::named(7, "test");
        let draws: Vec<f64> = (0..400_000).map(|_| rng.exponential()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!(draws.iter().all(|x| x.is_finite() && *x >= 0.0));
        assert!((mean - 1.0).abs() < 0.006, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
    }
}
