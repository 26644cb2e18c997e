//! Where the requests of a look-alike go: a few numbers, and the parts that they make.
//!
//! Small requests go to popular places, in several runs at a time. Large ones do so too or go on
//! with a run of their own over data that is nearly cold; a share says how many do which. What a
//! size or a share is worth in locality is a fit's business ([`crate::fit`]).

use super::spec::{Part, Pattern, WeightedSize, Zipf};
use crate::units::Bytes;

/// Requests from here on are large, bytes (thesis, table 5.1).
const LARGE: u64 = 16 << 10;

/// Cold data are weakly skewed over extents of a megabyte, as files are copied or scanned.
const COLD_THETA: f64 = 0.6;
const COLD_EXTENT: Bytes = Bytes(1 << 20);

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaceShape {
    /// As in [`Zipf::theta`], of popular places.
    pub theta: f64,
    /// As in [`Zipf::extent`], of popular places.
    pub extent: Bytes,
    /// As in [`Zipf::theta_inside`].
    pub theta_inside: f64,
    /// As in [`Zipf::drift`].
    pub drift: u64,
    /// Runs at a time in popular places.
    pub runs: u32,
    /// Share of the requests to popular places that go on with a run.
    pub sequential_share: f64,
    /// Share of the large requests that go to popular places: 0 keeps sizes and popularity
    /// independent, 1 gives all sizes one popularity.
    pub joined: f64,
    /// Share of the other large requests that go on where the last of them ended.
    pub cold_sequential_share: f64,
}

impl PlaceShape {
    /// The parts for requests of these sizes, whose weights the parts' are the sums of. `hot_set`
    /// as in [`Zipf::hot_set`], `starts` as in [`Part::starts`] with [`Part::starts_kept`].
    pub(crate) fn parts(
        &self,
        sizes: &[WeightedSize],
        write_share: Option<f64>,
        hot_set: u64,
        starts: Option<(&[f64], f64)>,
    ) -> Vec<Part> {
        let share = |size: &WeightedSize| if size.size.0 >= LARGE { self.joined } else { 1.0 };
        let weighted = |share: &dyn Fn(&WeightedSize) -> f64| -> Vec<WeightedSize> {
            let sizes = sizes.iter().map(|size| WeightedSize { weight: size.weight * share(size), ..*size });
            sizes.filter(|size| size.weight > 0.0).collect()
        };
        let (theta_inside, drift) = (self.theta_inside, self.drift);
        let popular = Zipf { theta_inside, hot_set, drift, ..Zipf::of(self.theta, self.extent) };
        let cold = Zipf { hot_set, ..Zipf::of(COLD_THETA, COLD_EXTENT) };
        let part = |sizes: Vec<WeightedSize>, zipf: Zipf, sequential_share: f64, runs: u32| Part {
            write_share,
            sequential_share: Some(sequential_share),
            runs: (runs > 1).then_some(runs),
            starts: starts.map(|(weights, _)| weights.to_vec()),
            starts_kept: starts.map(|(_, kept)| kept),
            ..Part::of(sizes, Pattern::Zipf(zipf))
        };
        let parts = [
            part(weighted(&share), popular, self.sequential_share, self.runs),
            part(weighted(&|size| 1.0 - share(size)), cold, self.cold_sequential_share, 1),
        ];
        parts.into_iter().filter(|part| part.weight > 0.0).collect()
    }
}
