//! How many full merges log blocks cost, and where.

use flash::Lbn;

use crate::api::report::Gauge;

/// Gauges of the full merges in each sixteenth of the logical space.
const REGIONS: [&str; 16] = [
    "full_merges_in_01",
    "full_merges_in_02",
    "full_merges_in_03",
    "full_merges_in_04",
    "full_merges_in_05",
    "full_merges_in_06",
    "full_merges_in_07",
    "full_merges_in_08",
    "full_merges_in_09",
    "full_merges_in_10",
    "full_merges_in_11",
    "full_merges_in_12",
    "full_merges_in_13",
    "full_merges_in_14",
    "full_merges_in_15",
    "full_merges_in_16",
];

/// Counts over the life of a device.
#[derive(Clone, Debug)]
pub struct MergeCounts {
    logical_blocks: u32,
    left: u64,
    for_leaving: u64,
    by_region: [u64; REGIONS.len()],
}

impl MergeCounts {
    /// Nothing was merged yet.
    pub fn new(logical_blocks: u32) -> Self {
        Self { logical_blocks: logical_blocks.max(1), left: 0, for_leaving: 0, by_region: [0; REGIONS.len()] }
    }

    /// A logical block was fully merged, perhaps because a log block leaves.
    pub fn merged(&mut self, lbn: Lbn, leaving: bool) {
        let region = u64::from(lbn.get()) * REGIONS.len() as u64 / u64::from(self.logical_blocks);
        self.by_region[region as usize] += 1;
        self.for_leaving += u64::from(leaving);
    }

    /// A log block left that could not become a data block.
    pub fn left(&mut self) {
        self.left += 1;
    }

    /// `associativity` is the mean number of full merges that a leaving log block cost: A(L) of A-SAST eq. 1.
    pub fn gauges(&self) -> Vec<Gauge> {
        let associativity = self.for_leaving as f64 / self.left.max(1) as f64;
        let by_region = REGIONS.into_iter().zip(self.by_region);
        std::iter::once(Gauge { name: "associativity", value: associativity })
            .chain(by_region.map(|(name, merges)| Gauge { name, value: merges as f64 }))
            .collect()
    }
}
