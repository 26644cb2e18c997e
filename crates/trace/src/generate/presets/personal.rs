//! The workloads of A-SAST: a personal computer, whose popular places drift among streams, and
//! Iozone, which tests file after file.
//!
//! The publication says which programs ran and how large the requests were; the rest is assumed,
//! and each preset's description says what.

use super::super::spec::{Arrivals, GeneratorSpec, HotCold, Part, Pattern, Phase, WeightedSize};
use crate::units::Bytes;

/// A workload of A-SAST's section IV.
#[derive(Clone, Copy, Debug)]
pub(super) struct Personal {
    pub(super) write_share: f64,
    /// Percentage of the requests that are small.
    pub(super) small_percent: f64,
    /// KiB and weight.
    pub(super) small_kib: &'static [(u64, f64)],
    /// KiB and weight.
    pub(super) large_kib: &'static [(u64, f64)],
    pub(super) places: PersonalAddresses,
}

/// Where its requests go.
#[derive(Clone, Copy, Debug)]
pub(super) enum PersonalAddresses {
    /// Small ones to popular places, large ones in streams.
    Drifting {
        /// Share of the data that is popular, and share of the small requests that go there.
        hot: (f64, f64),
        /// Streams at a time.
        streams: u32,
        /// Share of a stream's requests that go on where its last one ended.
        sequential_share: f64,
    },
    /// One file after another: small records anywhere in it, large ones from its start to its end.
    Files {
        /// Requests to each file.
        requests: u64,
    },
}

/// The log space of the publication is 256 blocks of 128 KiB: 3 % of this.
const SPAN: Bytes = Bytes(1 << 30);

/// The smallest request that it names.
const UNIT: Bytes = Bytes(1024);

/// Eight blocks of the publication's device, which finds that groups of eight are best for its
/// trace.
const HOT_EXTENT: Bytes = Bytes(1 << 20);

/// Small requests until one popular place has become another: all hundred in 51 000.
const DRIFT: u64 = 500;

/// Files of 256 MiB, one beside the other.
const FILES: u32 = 4;

const REQUESTS: u64 = 400_000;

impl Personal {
    pub(super) fn spec(&self) -> GeneratorSpec {
        let phases = match self.places {
            PersonalAddresses::Drifting { hot, streams, sequential_share } => {
                vec![phase(REQUESTS, self.drifting(hot, streams, sequential_share))]
            }
            PersonalAddresses::Files { requests } => (0..FILES).map(|file| phase(requests, self.file(file))).collect(),
        };
        GeneratorSpec {
            requests: REQUESTS,
            span: SPAN,
            unit: UNIT,
            arrivals: Arrivals::AtOnce,
            pattern: Pattern::Phases(phases),
            write_share: Some(self.write_share),
            aligned: matches!(self.places, PersonalAddresses::Files { .. }),
            ..GeneratorSpec::default()
        }
    }

    fn drifting(
        &self,
        (hot_data_share, hot_request_share): (f64, f64),
        streams: u32,
        sequential_share: f64,
    ) -> Vec<Part> {
        let extent = Some(HOT_EXTENT);
        let hot = HotCold { hot_data_share, hot_request_share, extent, scatter: true, hot_set: 0, drift: DRIFT };
        let stream = Part {
            sequential_share: Some(sequential_share),
            ..part((100.0 - self.small_percent) / f64::from(streams), Pattern::Uniform, self.large_kib)
        };
        let mut parts = vec![part(self.small_percent, Pattern::HotCold(hot), self.small_kib)];
        parts.extend((0..streams).map(|_| stream.clone()));
        parts
    }

    fn file(&self, file: u32) -> Vec<Part> {
        let share = |file: u32| f64::from(file) / f64::from(FILES);
        let inside = |part: Part| Part { region: Some([share(file), share(file + 1)]), ..part };
        let mut parts = vec![inside(part(self.small_percent, Pattern::Uniform, self.small_kib))];
        if !self.large_kib.is_empty() {
            parts.push(inside(part(100.0 - self.small_percent, Pattern::Sequential, self.large_kib)));
        }
        parts
    }
}

fn phase(requests: u64, parts: Vec<Part>) -> Phase {
    Phase::inheriting(requests, Pattern::Mixed(parts), None)
}

fn part(weight: f64, pattern: Pattern, sizes: &[(u64, f64)]) -> Part {
    Part { weight, ..Part::of(WeightedSize::of_kib(sizes), pattern) }
}
