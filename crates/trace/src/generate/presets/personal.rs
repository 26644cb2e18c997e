//! A personal computer's workload: small writes to places that are hot for a while, and large ones in streams.
//!
//! The publication says which programs ran and how large the requests were; the rest is assumed, and each preset's description says what.

use super::super::spec::{Arrivals, GeneratorSpec, HotCold, Part, Pattern, Phase};
use super::choice;
use crate::units::Bytes;

/// A workload of A-SAST's section IV.
#[derive(Clone, Copy, Debug)]
pub(super) struct Personal {
    pub(super) write_share: f64,
    /// Percentage of the requests that are small.
    pub(super) small_percent: f64,
    /// KiB and weight.
    pub(super) small_kib: &'static [(u64, f64)],
    /// Share of the data that is hot for small requests, and share of these that go there.
    pub(super) hot: (f64, f64),
    /// KiB and weight.
    pub(super) large_kib: &'static [(u64, f64)],
    pub(super) large_sequential_share: f64,
}

/// The log space of the publication is 256 blocks of 128 KiB: 3 % of this.
const SPAN: Bytes = Bytes(1 << 30);

/// The smallest request that it names.
const UNIT: Bytes = Bytes(1024);

/// Four blocks of the publication's device: hot places are files, larger than a block.
const HOT_EXTENT: Bytes = Bytes(512 << 10);

/// Long enough for the log to be turned over a few times in each.
const PHASE_REQUESTS: u64 = 50_000;

/// Places that are hot in turn.
const HOT_SETS: u64 = 8;

const REQUESTS: u64 = 400_000;

impl Personal {
    pub(super) fn spec(&self) -> GeneratorSpec {
        let phase = |hot_set| Phase {
            requests: PHASE_REQUESTS,
            pattern: Pattern::Mixed(self.parts(hot_set)),
            arrivals: None,
            write_share: None,
            trim_share: None,
            sequential_share: None,
            sizes: None,
            stream: None,
        };
        GeneratorSpec {
            requests: REQUESTS,
            span: SPAN,
            unit: UNIT,
            arrivals: Arrivals::AtOnce,
            pattern: Pattern::Phases((0..HOT_SETS).map(phase).collect()),
            write_share: Some(self.write_share),
            ..GeneratorSpec::default()
        }
    }

    fn parts(&self, hot_set: u64) -> Vec<Part> {
        let part = |weight, pattern, sequential_share, sizes: &[(u64, f64)]| Part {
            weight,
            pattern,
            region: None,
            write_share: None,
            trim_share: None,
            sequential_share: Some(sequential_share),
            sizes: Some(choice(sizes)),
            stream: None,
        };
        let (hot_data_share, hot_request_share) = self.hot;
        let extent = Some(HOT_EXTENT);
        let hot = Pattern::HotCold(HotCold { hot_data_share, hot_request_share, extent, scatter: true, hot_set });
        let mut parts = vec![part(self.small_percent, hot, 0.0, self.small_kib)];
        if !self.large_kib.is_empty() {
            let large = 100.0 - self.small_percent;
            parts.push(part(large, Pattern::Uniform, self.large_sequential_share, self.large_kib));
        }
        parts
    }
}
