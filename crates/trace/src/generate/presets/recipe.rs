//! What a preset says, and how a workload is made from it.

use super::super::place_shape::PlaceShape;
use super::super::spec::{Arrivals, GeneratorSpec, HotCold, Part, Pattern, Sizes, WeightedSize, Zipf};
use super::personal::Personal;
use crate::units::{Bytes, Nanoseconds};

/// Requests a preset makes unless told otherwise: enough that every published figure is met within
/// sampling error.
const DEFAULT_REQUESTS: u64 = 1_000_000;

/// A named workload.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name, as a user types it.
    pub name: &'static str,
    /// The publication and table that its figures are from.
    pub source: &'static str,
    /// What it looks like.
    pub description: &'static str,
    /// What is assumed of this one alone.
    pub assumed: &'static [&'static str],
    /// What is assumed of all of its kind.
    pub assumed_of_kind: &'static [&'static str],
    /// The figures it meets.
    pub published: Published,
    /// Where its requests go, if that was fitted to recorded traces; else its recipe says so.
    pub places: Option<PlaceShape>,
    pub(super) recipe: Recipe,
}

/// What a publication prints of a trace; what it leaves out is none. Percentages are of all
/// requests unless they say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Published {
    /// Mean size of a request, in KiB.
    pub mean_request_kib: Option<f64>,
    /// Share of requests that write, in per cent.
    pub write_percent: Option<f64>,
    /// Requests that start where the one before them ended, %.
    pub sequential_percent: Option<f64>,
    /// Mean time between two arrivals, ms.
    pub mean_gap_ms: Option<f64>,
    /// Requests of at most 4 KiB, of less than 16 KiB, and of more, %.
    pub size_class_percents: Option<[f64; 3]>,
    /// Writes that touch one page of 2 KiB, % of writes.
    pub one_page_write_percent: Option<f64>,
    /// Writes longer than 64 KiB, % of writes.
    pub over_64_kib_write_percent: Option<f64>,
    /// The shortest and the longest write, KiB.
    pub write_range_kib: Option<[u64; 2]>,
    /// Page hits of a 64 MB buffer, % (thesis, table 6.2, column Tree). The locality of the
    /// look-alike is calibrated to it, with a plain LRU of the pages of all requests; without
    /// fitted places of those of writes that are not large. The thesis' buffer is another one, so
    /// this is a guide.
    pub buffer_hit_percent: Option<f64>,
}

impl Published {
    /// Nothing; a preset names what is printed.
    pub(super) const NOTHING: Self = Self {
        mean_request_kib: None,
        write_percent: None,
        sequential_percent: None,
        mean_gap_ms: None,
        size_class_percents: None,
        one_page_write_percent: None,
        over_64_kib_write_percent: None,
        write_range_kib: None,
        buffer_hit_percent: None,
    };
}

/// How a preset is made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recipe {
    /// One part: Zipf over extents, with runs.
    Enterprise(Enterprise),
    /// Two parts: requests below 16 KiB over popular extents, and runs of large ones.
    Server(Server),
    /// Phases in which the popular places move, as programs and files come and go.
    Personal(Personal),
}

/// A workload of WAFTL's table III.
#[derive(Clone, Copy, Debug)]
pub(super) struct Enterprise {
    pub(super) span_gib: u64,
    pub(super) write_share: f64,
    pub(super) sequential_share: f64,
    pub(super) mean_gap_ns: u64,
    /// Mean requests in a burst; 1 is Poisson.
    pub(super) burst: f64,
    pub(super) theta: f64,
    pub(super) extent_kib: u64,
    /// KiB and weight.
    pub(super) sizes: &'static [(u64, f64)],
}

/// A workload of the thesis' tables 4.2 and 5.1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server {
    pub(super) span_gib: u64,
    pub(super) runs: SmallRuns,
    pub(super) write_share: f64,
    pub(super) mean_gap_ns: u64,
    pub(super) popularity: Popularity,
    /// KiB and weight, below 16 KiB. Together with `large` the weights are percentages of all
    /// requests.
    pub(super) small_and_medium: &'static [(u64, f64)],
    /// KiB and weight, from 16 KiB.
    pub(super) large: &'static [(u64, f64)],
}

/// How a server's requests below 16 KiB follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct SmallRuns {
    /// Streams at a time, alike in everything.
    pub(super) streams: u32,
    /// Share of a stream's requests that go on where its last one ended.
    pub(super) sequential_share: f64,
}

/// How a server's requests below 16 KiB spread over extents of 64 KiB.
#[derive(Clone, Copy, Debug)]
pub(super) enum Popularity {
    Zipf { theta: f64 },
    HotCold { hot_data_share: f64, hot_request_share: f64 },
}

impl Preset {
    /// What it looks like, and what of it is an assumption.
    pub fn full_description(&self) -> String {
        let assumed = [self.assumed, self.assumed_of_kind].concat().join(", ");
        format!("{} Assumed: {assumed}.", self.description)
    }

    /// The description to generate from. Every field may be changed afterwards (`span` keeps the
    /// shape of the locality), at the price that the published figures may no longer hold.
    pub fn spec(&self) -> GeneratorSpec {
        match &self.places {
            Some(places) => self.with_places(places),
            None => self.recipe.spec(),
        }
    }

    /// The same with other places: its sizes, shares and gaps, as a fit needs them.
    pub fn with_places(&self, places: &PlaceShape) -> GeneratorSpec {
        let pattern = Pattern::Mixed(places.parts(&self.recipe.sizes(), None, 0, None));
        GeneratorSpec { pattern, sequential_share: 0.0, sizes: None, ..self.recipe.spec() }
    }
}

impl Recipe {
    fn spec(&self) -> GeneratorSpec {
        match self {
            Self::Enterprise(recipe) => recipe.spec(),
            Self::Server(recipe) => recipe.spec(),
            Self::Personal(recipe) => recipe.spec(),
        }
    }

    /// The sizes of all requests.
    fn sizes(&self) -> Vec<WeightedSize> {
        let lists = match self {
            Self::Enterprise(recipe) => [recipe.sizes, &[]],
            Self::Server(recipe) => [recipe.small_and_medium, recipe.large],
            Self::Personal(recipe) => [recipe.small_kib, recipe.large_kib],
        };
        WeightedSize::of_kib(&lists.concat())
    }
}

impl Enterprise {
    fn spec(&self) -> GeneratorSpec {
        GeneratorSpec {
            requests: DEFAULT_REQUESTS,
            span: Bytes(self.span_gib << 30),
            // The page of the paper's device, so that its requests touch whole pages there.
            unit: Bytes(4096),
            arrivals: arrivals(self.mean_gap_ns, self.burst),
            pattern: popular_extents(self.theta, self.extent_kib),
            write_share: Some(self.write_share),
            sequential_share: self.sequential_share,
            sizes: Some(Sizes::Choice(WeightedSize::of_kib(self.sizes))),
            ..GeneratorSpec::default()
        }
    }
}

impl Server {
    fn spec(&self) -> GeneratorSpec {
        let part = |sizes: &[(u64, f64)], pattern: Pattern, sequential_share: f64| Part {
            sequential_share: Some(sequential_share),
            ..Part::of(WeightedSize::of_kib(sizes), pattern)
        };
        let small = part(self.small_and_medium, self.popularity.pattern(), self.runs.sequential_share);
        let one = Part { weight: small.weight / f64::from(self.runs.streams), ..small };
        let mut parts = vec![one; self.runs.streams as usize];
        if !self.large.is_empty() {
            parts.push(part(self.large, popular_extents(LARGE_THETA, LARGE_EXTENT_KIB), LARGE_SEQUENTIAL_SHARE));
        }
        GeneratorSpec {
            requests: DEFAULT_REQUESTS,
            span: Bytes(self.span_gib << 30),
            unit: Bytes(2048),
            arrivals: arrivals(self.mean_gap_ns, BURST),
            pattern: Pattern::Mixed(parts),
            write_share: Some(self.write_share),
            ..GeneratorSpec::default()
        }
    }
}

impl Popularity {
    fn pattern(self) -> Pattern {
        match self {
            Self::Zipf { theta } => popular_extents(theta, SERVER_EXTENT_KIB),
            Self::HotCold { hot_data_share, hot_request_share } => Pattern::HotCold(HotCold {
                hot_data_share,
                hot_request_share,
                extent: Some(Bytes(SERVER_EXTENT_KIB << 10)),
                scatter: true,
                hot_set: 0,
                drift: 0,
            }),
        }
    }
}

/// Half a flash block of the thesis' device: spatial locality that a hybrid mapping can use, but
/// not a whole merge's worth.
const SERVER_EXTENT_KIB: u64 = 64;

/// Large requests of a server come as files are copied or scanned: weakly skewed over extents of a
/// megabyte, and half of them go on where the last large one ended. The thesis takes all of them to
/// be sequential.
const LARGE_THETA: f64 = 0.6;
const LARGE_EXTENT_KIB: u64 = 1024;
const LARGE_SEQUENTIAL_SHARE: f64 = 0.5;

/// Mean requests in a burst of a real system's look-alike. Longer bursts would be truer to some
/// servers, but then a million requests no longer pin the mean gap to a percent.
const BURST: f64 = 8.0;
/// Inside a burst requests come this many times faster than on average.
const BURST_SPEEDUP: u64 = 10;

fn arrivals(mean_gap_ns: u64, burst: f64) -> Arrivals {
    let mean_gap = Nanoseconds(mean_gap_ns);
    if burst > 1.0 {
        Arrivals::Bursty { mean_gap, burst_gap: Nanoseconds(mean_gap_ns / BURST_SPEEDUP), burst }
    } else {
        Arrivals::Poisson { mean_gap }
    }
}

fn popular_extents(theta: f64, extent_kib: u64) -> Pattern {
    Pattern::Zipf(Zipf::of(theta, Bytes(extent_kib << 10)))
}
