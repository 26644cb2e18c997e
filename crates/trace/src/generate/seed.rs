//! Seeds by name: one master seed, and for every consumer of randomness a seed of its own, derived
//! from what it is called.
//!
//! Counting seeds up (`seed++`) ties every stream to how many came before it, so that adding one
//! consumer changes all the others. A name does not move. The function is fixed for ever, since
//! saved results are only repeatable while it holds: FNV-1a over the name's bytes, then two rounds
//! of `SplitMix64`'s finaliser that fold in the master seed. It is a hash, not a cipher: it keeps
//! streams apart, it does not hide anything.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The seed of the consumer called `name` under the master seed. The same pair always gives the
/// same seed.
pub fn derive(master: u64, name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(mix(hash).wrapping_add(mix(master)))
}

/// `SplitMix64`: the step by the golden ratio, then the finaliser, which is a bijection on 64 bits.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One stream of random numbers: xoshiro256++, whose output is fixed by its authors' definition,
/// not by a library's version.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream called `name` under the master seed.
    pub fn named(master: u64, name: &str) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(derive(master, name)))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `limit` (which is at least 1), by the high half of a 128-bit product. The
    /// bias against any one number is at most `limit`/2⁶⁴, which for an address space of 2⁴⁰ units
    /// no run could ever see.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        self.below_with_rest(limit).0
    }

    /// As [`Stream::below`], and the low half of the product: given the number, it is nearly
    /// uniform over 64 bits, and stands in for a second draw.
    #[inline]
    pub(crate) fn below_with_rest(&mut self, limit: u64) -> (u64, u64) {
        let product = u128::from(self.bits()) * u128::from(limit);
        ((product >> 64) as u64, product as u64)
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

/// A probability, prepared so that asking costs one comparison, and nothing at all (not even a
/// random number) when the answer is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// Probability 0.
    Never,
    /// Probability 1.
    Always,
    /// Yes when 64 random bits are below this.
    Below(u64),
}

impl Chance {
    /// From a probability; what lies outside [0, 1] counts as the nearer end.
    pub(crate) fn of(probability: f64) -> Self {
        if probability <= 0.0 {
            Self::Never
        } else if probability >= 1.0 {
            Self::Always
        } else {
            Self::Below((probability * 18_446_744_073_709_551_616.0) as u64)
        }
    }

    /// Draws once, unless the answer is certain.
    #[inline]
    pub(crate) fn hit(self, stream: &mut Stream) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Below(threshold) => stream.bits() < threshold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivation_never_changes() {
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
    fn chances_at_the_ends_draw_nothing() {
        let mut stream = Stream::named(1, "test");
        let mut untouched = stream.clone();
        assert!(!Chance::of(0.0).hit(&mut stream));
        assert!(Chance::of(1.0).hit(&mut stream));
        assert_eq!(stream.bits(), untouched.bits());
        let hits = (0..100_000).filter(|_| Chance::of(0.3).hit(&mut stream)).count();
        assert!((29_500..30_500).contains(&hits), "{hits}");
    }

    #[test]
    fn exponentials_are_positive_and_of_mean_one() {
        let mut stream = Stream::named(7, "test");
        let draws: Vec<f64> = (0..400_000).map(|_| stream.exponential()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!(draws.iter().all(|x| x.is_finite() && *x >= 0.0));
        assert!((mean - 1.0).abs() < 0.006, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
    }
}
