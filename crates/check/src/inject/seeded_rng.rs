//! Random numbers of a case: one stream a consumer, seeded by the case's seed and the consumer's
//! name.
//!
//! A name does not move when another consumer is added, so a replay line keeps its meaning. The
//! stream is xoshiro256++, fixed by its authors' definition; the seed is FNV-1a over the name,
//! mixed with the case's seed by `SplitMix64`.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The seed of the consumer called `name` in a case with this seed.
pub(crate) fn derive(seed: u64, name: &str) -> u64 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    mix(mix(hash).wrapping_add(mix(seed)))
}

/// Scatters a number over all 64 bits (`SplitMix64`).
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One stream of random numbers, fixed by its seed.
#[derive(Clone, Debug)]
pub(crate) struct SeededRng(Xoshiro256PlusPlus);

impl SeededRng {
    /// The stream of the consumer called `name`.
    pub(crate) fn named(seed: u64, name: &str) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(derive(seed, name)))
    }

    /// A number below `limit`; 0 when the limit is 0.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        (((self.0.next_u64() >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// A number from 1 to `most`; 1 when that is 0.
    pub(crate) fn up_to(&mut self, most: u32) -> u32 {
        1 + self.below(most.max(1))
    }

    /// True in so many of 100 cases.
    pub(crate) fn percent(&mut self, chance: u32) -> bool {
        self.below(100) < chance
    }
}
