//! Where requests go: one sampler per pattern, in units of the part's region. It knows neither
//! bytes nor lengths.

use random::{SeededRng, derive, mix};

use super::permutation::Permutation;
use super::plan::{AddressPlan, ExtentsPlan, PartPlan};

use super::draws::Chance;
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
    /// For one part; `master` is the workload's seed, `name` the part's, for what is the part's
    /// alone.
    pub(crate) fn new(plan: &PartPlan, master: u64, name: &str) -> Self {
        match &plan.places {
            AddressPlan::Uniform => Self::Uniform { units: plan.units },
            AddressPlan::Permutation { same } => {
                Self::Permutation(Passes::new(plan.units, *same, derive(master, &format!("{name}/permutation"))))
            }
            AddressPlan::Zipf { theta, theta_inside, extents } => Self::Zipf {
                ranks: ZipfRanks::new(extents.count, *theta),
                inside: (*theta_inside > 0.0).then(|| ZipfRanks::new(extents.units_per_extent, *theta_inside)),
                extents: Extents::new(extents, plan.units, master),
            },
            AddressPlan::HotCold { hot_extents, hot_request_share, extents } => Self::HotCold {
                hot: *hot_extents,
                hot_chance: Chance::of(*hot_request_share),
                extents: Extents::new(extents, plan.units, master),
            },
            AddressPlan::Sequential => Self::Sequential,
        }
    }

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
    fn new(units: u64, same: bool, key: u64) -> Self {
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
    count: u64,
    units_per_extent: u64,
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
    fn new(plan: &ExtentsPlan, units: u64, master: u64) -> Self {
        // Named after the hot set alone, so that parts which agree on it share their popular
        // places.
        let scatter = plan.hot_set.map(|set| Permutation::new(plan.count, derive(master, &format!("hot set {set}"))));
        Self {
            count: plan.count,
            units_per_extent: plan.units_per_extent,
            units,
            scatter,
            drift: Drift::new(plan.drift),
        }
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
