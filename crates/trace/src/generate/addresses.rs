//! Where requests go: one sampler per pattern, in units of the part's region. It knows neither
//! bytes nor lengths.

use random::{SeededRng, mix};

use super::draws::Chance;
use super::permutation::Permutation;
use super::zipf::ZipfRanks;

/// Draws the first unit of a request.
#[derive(Clone, Debug)]
pub(crate) enum AddressSampler {
    /// Every unit alike, with replacement.
    Uniform { units: u64 },
    /// Every unit once per pass.
    Permutation(Passes),
    /// Extents by popularity rank; inside, units alike or by a rank of their own.
    Zipf { ranks: ZipfRanks, inside: Option<ZipfRanks>, extents: Extents },
    /// The first `hot` extents (before scattering) against the others.
    HotCold { hot: u64, hot_chance: Chance, extents: Extents },
    /// No sampling: the part goes on where it stopped. Holds nothing, since every part remembers
    /// that anyway.
    Sequential,
}

impl AddressSampler {
    /// Draws a unit. [`AddressSampler::Sequential`] answers 0, where it starts and wraps to.
    #[inline]
    pub(crate) fn draw(&mut self, stream: &mut SeededRng) -> u64 {
        match self {
            Self::Uniform { units } => stream.below(*units),
            Self::Permutation(passes) => passes.next_unit(),
            Self::Zipf { ranks, inside, extents } => {
                let rank = ranks.draw(stream);
                extents.unit_in(rank, inside.as_ref(), stream)
            }
            Self::HotCold { hot, hot_chance, extents } => {
                let rank =
                    if hot_chance.hit(stream) { stream.below(*hot) } else { *hot + stream.below(extents.count - *hot) };
                extents.unit_in(rank, None, stream)
            }
            Self::Sequential => 0,
        }
    }
}

/// Pass after pass over all units, each in a pseudorandom order of its own or all in the same.
#[derive(Clone, Debug)]
pub(crate) struct Passes {
    order: Permutation,
    next: u64,
    key: u64,
    same: bool,
}

impl Passes {
    pub(crate) fn new(units: u64, same: bool, key: u64) -> Self {
        Self { order: Permutation::new(units, key), next: 0, key, same }
    }

    #[inline]
    fn next_unit(&mut self) -> u64 {
        if self.next == self.order.count() {
            self.next = 0;
            if !self.same {
                self.key = mix(self.key);
                self.order = Permutation::new(self.order.count(), self.key);
            }
        }
        self.next += 1;
        self.order.apply(self.next - 1)
    }
}

/// A region cut into extents of equal size (the last may be shorter), in order or scattered by a
/// fixed permutation.
#[derive(Clone, Debug)]
pub(crate) struct Extents {
    pub(crate) count: u64,
    pub(crate) units_per_extent: u64,
    units: u64,
    scatter: Option<Permutation>,
    drift: Option<Drift>,
}

/// Popularity that moves on by one extent after every so many requests.
#[derive(Clone, Debug)]
struct Drift {
    requests: u64,
    left: u64,
    /// How far it has moved, below the number of extents.
    moved: u64,
}

impl Extents {
    /// Extents of a region; popularity moves on after `drift` requests, or never if that is 0.
    pub(crate) fn new(units: u64, units_per_extent: u64, scatter_key: Option<u64>, drift: u64) -> Self {
        let count = units.div_ceil(units_per_extent);
        let scatter = scatter_key.map(|key| Permutation::new(count, key));
        Self { count, units_per_extent, units, scatter, drift: Drift::new(drift) }
    }

    /// A unit of the extent that has this popularity rank, from 0.
    #[inline]
    fn unit_in(&mut self, rank: u64, inside: Option<&ZipfRanks>, stream: &mut SeededRng) -> u64 {
        let rank = match &mut self.drift {
            Some(drift) => drift.rank(rank, self.count),
            None => rank,
        };
        let extent = match &self.scatter {
            Some(permutation) => permutation.apply(rank),
            None => rank,
        };
        if self.units_per_extent == 1 {
            return extent;
        }
        let first = extent * self.units_per_extent;
        let units = self.units_per_extent.min(self.units - first);
        match inside {
            None => first + stream.below(units),
            // The last extent may have fewer units than there are ranks.
            Some(ranks) => first + (mix(extent) % units + ranks.draw(stream)) % units,
        }
    }
}

impl Drift {
    fn new(requests: u64) -> Option<Self> {
        (requests > 0).then_some(Self { requests, left: requests, moved: 0 })
    }

    /// The rank that a place had at first which has this rank now. Counts a request.
    #[inline]
    fn rank(&mut self, rank: u64, count: u64) -> u64 {
        if self.left == 0 {
            self.left = self.requests;
            self.moved = (self.moved + 1) % count;
        }
        self.left -= 1;
        (rank + self.moved) % count
    }
}
