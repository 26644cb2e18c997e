//! Zipf ranks in constant time and constant memory: rank k of 1…n with probability proportional to
//! k^−θ, any θ ≥ 0.
//!
//! Not rejection-inversion (Hörmann and Derflinger 1996), the usual choice: that pays a logarithm
//! and an exponential for every draw and needs special care near θ = 1. Here the ranks are cut into
//! log-linear buckets, the way latency histograms are: single ranks up to 128, then 64 buckets to
//! every octave. An alias table picks a bucket in proportion to its envelope (width × the weight of
//! its first rank), a second number picks a rank inside and accepts it with probability
//! (k/first)^−θ. Inside a bucket that ratio never falls below (1 + 1/64)^−θ, so nearly every draw
//! is accepted by comparing with that bound, and the power is computed only for the 1.5·θ % that
//! fall between. The result is exact (it is rejection sampling, not a histogram approximation), θ =
//! 0 and θ = 1 need no special case, and the tables stay below 4 000 entries, 160 KB, whatever n.
//!
//! It knows ranks only; where a rank lies in the address space is [`super::addresses`]' business.

use random::SeededRng;

use super::draws::Weighted;

/// Ranks up to here have a bucket each. With 64 buckets an octave from there on, no bucket is wider
/// than 1/64 of its first rank; twice as many would halve the powers computed, and double tables
/// that now fit the L1 cache.
const SINGLE_RANKS: u64 = 128;
const BUCKETS_PER_OCTAVE: u64 = 64;

/// The sampler for one n and one θ.
#[derive(Clone, Debug)]
pub(crate) struct ZipfRanks {
    theta: f64,
    envelope: Weighted,
    buckets: Box<[Bucket]>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// First rank, from 1.
    first: u64,
    /// Ranks in the bucket.
    width: u64,
    /// Below this (of 2⁶⁴) every rank of the bucket is accepted: the weight of its last rank over
    /// that of its first.
    squeeze: u64,
}

impl ZipfRanks {
    /// Ranks 1 to `count` (1 ≤ `count` ≤ 2⁵²) with exponent `theta` ≥ 0.
    pub(crate) fn new(count: u64, theta: f64) -> Self {
        let buckets: Vec<Bucket> = bounds(count).map(|(first, width)| bucket(first, width, theta)).collect();
        let weights: Vec<f64> = buckets.iter().map(|b| b.width as f64 * libm::pow(b.first as f64, -theta)).collect();
        Self { theta, envelope: Weighted::new(&weights), buckets: buckets.into_boxed_slice() }
    }

    /// Draws a rank, counted from 0: the most popular is 0.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut SeededRng) -> u64 {
        loop {
            let bucket = self.buckets[self.envelope.draw(stream)];
            // Single ranks take the same way, accepted at once: a branch for them would be
            // mispredicted every other time.
            let (step, rest) = stream.below_with_rest(bucket.width);
            if rest < bucket.squeeze || self.accepts(bucket.first, step, rest) {
                return bucket.first - 1 + step;
            }
        }
    }

    /// The exact test, for the few draws that the bound does not settle.
    #[cold]
    fn accepts(&self, first: u64, step: u64, rest: u64) -> bool {
        let ratio = libm::pow((first + step) as f64 / first as f64, -self.theta);
        (rest as f64) < ratio * 18_446_744_073_709_551_616.0
    }
}

/// The buckets' first ranks and widths, covering 1 to `count` without gap or overlap.
fn bounds(count: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut next = 1;
    std::iter::from_fn(move || {
        if next > count {
            return None;
        }
        let first = next;
        let octave = 1 << first.ilog2();
        let width = if first < SINGLE_RANKS { 1 } else { octave / BUCKETS_PER_OCTAVE };
        next += width;
        Some((first, width.min(count - first + 1)))
    })
}

fn bucket(first: u64, width: u64, theta: f64) -> Bucket {
    let last = (first + width - 1) as f64;
    let squeeze = libm::pow(last / first as f64, -theta) * 18_446_744_073_709_551_616.0;
    Bucket { first, width, squeeze: squeeze as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buckets_cover_every_rank_once() {
        for count in [1, 2, 127, 128, 129, 255, 256, 1000, 4096, 100_003] {
            let mut next = 1;
            for (first, width) in bounds(count) {
                assert_eq!(first, next);
                assert!(width >= 1 && (width == 1 || width * 64 <= first), "{first}+{width}");
                next = first + width;
            }
            assert_eq!(next, count + 1);
        }
        assert!(bounds(1 << 52).count() < 4000);
    }

    /// Pearson's χ² over exact probabilities, the tail pooled so that every cell expects at least
    /// 20 draws.
    fn chi_square(count: u64, theta: f64, draws: u64) -> (f64, f64) {
        let ranks = ZipfRanks::new(count, theta);
        let mut stream = SeededRng::named(11, "zipf test");
        let mut seen = vec![0u64; count as usize];
        (0..draws).for_each(|_| seen[ranks.draw(&mut stream) as usize] += 1);
        let weights: Vec<f64> = (1..=count).map(|k| (k as f64).powf(-theta)).collect();
        let total: f64 = weights.iter().sum();
        let (mut statistic, mut cells, mut expected, mut observed) = (0.0, 0.0, 0.0, 0.0);
        for (weight, seen) in weights.iter().zip(&seen) {
            expected += weight / total * draws as f64;
            observed += *seen as f64;
            if expected >= 20.0 {
                statistic += (observed - expected).powi(2) / expected;
                cells += 1.0;
                (expected, observed) = (0.0, 0.0);
            }
        }
        (statistic, cells - 1.0)
    }

    #[test]
    fn frequencies_agree_with_theory_for_every_theta() {
        for theta in [0.0, 0.3, 0.8, 0.99, 1.0, 1.01, 1.5, 3.0] {
            for count in [1, 2, 100, 1000, 20_000] {
                let (statistic, freedom) = chi_square(count, theta, 1_000_000);
                // For f degrees of freedom χ² has mean f and variance 2f; 4.5 σ is beyond chance
                // for the forty cases here.
                assert!(
                    statistic <= freedom + 4.5 * (2.0 * freedom).sqrt() + 12.0,
                    "θ={theta} n={count}: χ²={statistic} f={freedom}"
                );
            }
        }
    }

    #[test]
    fn a_large_space_keeps_its_head_and_its_tail() {
        // n = 10⁶, θ = 0.99: the exact shares of the first 10 %, 1 % and 0.1 % of the ranks.
        let ranks = ZipfRanks::new(1_000_000, 0.99);
        let mut stream = SeededRng::named(5, "zipf test");
        let weight = |upto: u64| (1..=upto).map(|k| (k as f64).powf(-0.99)).sum::<f64>();
        let draws: Vec<u64> = (0..2_000_000).map(|_| ranks.draw(&mut stream)).collect();
        for upto in [1_000, 10_000, 100_000] {
            let share = draws.iter().filter(|rank| **rank < upto).count() as f64 / draws.len() as f64;
            assert!((share - weight(upto) / weight(1_000_000)).abs() < 0.0015, "{upto}: {share}");
        }
    }
}
