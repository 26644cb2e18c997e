//! The oracle on failing flash: what pages hold, which were hit, and which blocks have failed.

use std::collections::{BTreeMap, BTreeSet};

use flash::{Lpn, Pbn};

use crate::case::operation::{Effect, Operation};
use crate::inject::tracing_chip::Hit;
use crate::oracle::crash_oracle::CrashOracle;
use crate::oracle::exact::{Mismatch, Oracle};
use crate::stamp::{Stamp, page_of};

/// What the host knows.
pub(crate) struct FaultOracle {
    pub(crate) allowed: CrashOracle,
    /// Pages whose newest content was hit; true once the host was told.
    pub(crate) hit: BTreeMap<Lpn, bool>,
    /// The request being served, and what it writes.
    operation: Option<Operation>,
    in_flight: Vec<Stamp>,
    /// Hits that are known.
    seen: usize,
    /// Whether a write was refused since the power came on.
    pub(crate) read_only: bool,
    pub(crate) failed_blocks: BTreeSet<Pbn>,
    /// Blocks that had failed when the power last came on: no spares of the scheme that stands now.
    pub(crate) failed_before: usize,
    /// Whether a fresh scheme would not have taken the blocks that were left when the power last
    /// came on.
    too_few_blocks: bool,
    /// Programs and erases that failed of late: half of them are forgotten with each request in
    /// which none fails and a block is erased.
    pub(crate) recent_failures: u32,
}

impl FaultOracle {
    pub(crate) fn new(logical_pages: u32, buffer_pages: u32) -> Self {
        Self {
            allowed: CrashOracle::new(logical_pages, buffer_pages),
            hit: BTreeMap::new(),
            operation: None,
            in_flight: Vec::new(),
            seen: 0,
            read_only: false,
            failed_blocks: BTreeSet::new(),
            failed_before: 0,
            too_few_blocks: false,
            recent_failures: 0,
        }
    }

    /// Hits that are known.
    pub(crate) fn hits(&self) -> usize {
        self.seen
    }

    /// Learns from the list of all hits which ones are new.
    pub(crate) fn learn(&mut self, hits: &[Hit]) {
        let new = &hits[self.seen..];
        self.seen = hits.len();
        for hit in new {
            self.failed_blocks.extend(hit.failed);
            if let Some(stamp) = hit.lost {
                let lpn = Lpn::new(page_of(stamp));
                if self.in_flight.contains(&stamp) || self.compare(lpn, stamp).is_ok() {
                    self.hit.entry(lpn).or_insert(false);
                }
            }
        }
        self.recent_failures += new.iter().filter(|hit| hit.failed.is_some()).count() as u32;
    }

    /// The power comes on with these of the failed blocks marked bad; any other is tried again.
    pub(crate) fn power_on(&mut self, marked: BTreeSet<Pbn>, too_few_blocks: bool) {
        self.failed_before = marked.len();
        self.failed_blocks = marked;
        (self.too_few_blocks, self.read_only) = (too_few_blocks, false);
    }

    /// Spares that must have been used since the power came on.
    pub(crate) fn failed(&self) -> u32 {
        (self.failed_blocks.len() - self.failed_before) as u32 + u32::from(self.too_few_blocks)
    }
}

impl Oracle for FaultOracle {
    fn begin(&mut self, operation: Operation) -> Vec<Stamp> {
        self.operation = Some(operation);
        self.in_flight = self.allowed.begin(operation);
        self.in_flight.clone()
    }

    fn acknowledge(&mut self) {
        if let Some(Effect::Writes(extent) | Effect::Trims(extent)) = self.operation.map(|operation| operation.effect())
        {
            extent.lpns().for_each(|lpn| {
                self.hit.remove(&lpn);
            });
        }
        self.allowed.acknowledge();
    }

    fn compare(&self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch> {
        self.allowed.compare(lpn, got)
    }
}
