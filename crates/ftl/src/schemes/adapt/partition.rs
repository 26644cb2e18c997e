//! How the log blocks are divided between the two areas while running (Wang 2013 5.2).
//!
//! Interval by interval it measures δ, the share of the sequential area's new blocks that end as
//! data blocks, and φ, the pages that a shared block has to have merged when it leaves. Each is
//! compared with its exponential moving average over the intervals before.

use crate::engines::log_buffer::areas::Area;
use crate::engines::log_buffer::policy::LogBlockMerge;
use crate::engines::log_buffer::sequential::SequentialArea;

/// What the partition goes by.
#[derive(Clone, Copy, Debug)]
pub struct PartitionRules {
    /// Write requests between two decisions; 0 for none ever.
    pub interval: u64,
    /// κ: the weight of the last interval in the thresholds.
    pub kappa: f64,
    /// With a δ below this, the threshold for requests changes.
    pub flip_below: f64,
    /// The two thresholds for requests, in pages.
    pub thresholds_pages: [u32; 2],
    /// The most blocks that the sequential area may have; the least is one.
    pub most: u32,
}

/// A figure of the last interval, with the average of those before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// What was measured in the last interval.
    pub value: f64,
    /// What it was compared with: Δ or Φ.
    pub threshold: f64,
    /// What the next one is compared with.
    next: f64,
}

impl Measured {
    /// Another interval is over. Eq. 5.1.
    fn take(&mut self, value: f64, kappa: f64) {
        let threshold = self.next;
        *self = Self { value, threshold, next: kappa * value + (1.0 - kappa) * threshold };
    }
}

/// The division of the log, with what it is decided by.
#[derive(Clone, Debug)]
pub struct Partition {
    rules: PartitionRules,
    requests: u64,
    allocations: u32,
    in_place: u32,
    full_merges: u32,
    merged_pages: u64,
    /// δ of the last interval, and Δ, its average.
    pub delta: Measured,
    /// φ of the last interval, and Φ, its average.
    pub phi: Measured,
}

impl Partition {
    /// Nothing has been measured; the averages are zero.
    pub fn new(rules: PartitionRules) -> Self {
        let (delta, phi) = (Measured::default(), Measured::default());
        Self { rules, requests: 0, allocations: 0, in_place: 0, full_merges: 0, merged_pages: 0, delta, phi }
    }

    /// A block was opened in the sequential area.
    pub fn on_allocated(&mut self) {
        self.allocations += 1;
    }

    /// A block of an area leaves in this way. A shared block that happens to become a data block
    /// counts for neither figure, and neither does a full merge of a sequential one.
    pub fn on_merged(&mut self, area: Area, how: LogBlockMerge) {
        match (area, how) {
            (Area::Sequential, LogBlockMerge::InPlace) => self.in_place += 1,
            (Area::Shared, LogBlockMerge::Fully(pages)) => {
                self.full_merges += 1;
                self.merged_pages += u64::from(pages);
            }
            _ => {}
        }
    }

    /// A write request begins.
    #[inline]
    pub fn request(&mut self, sequential: &mut SequentialArea) {
        self.requests += 1;
        if self.requests == self.rules.interval {
            self.decide(sequential);
        }
    }

    /// Algorithm 2, the threshold for requests, and a new interval. A ratio of nothing is zero.
    fn decide(&mut self, sequential: &mut SequentialArea) {
        let ratio = |part: f64, of: u32| if of == 0 { 0.0 } else { part / f64::from(of) };
        // Blocks that were opened in earlier intervals may leave in this one.
        self.delta.take(ratio(f64::from(self.in_place), self.allocations).min(1.0), self.rules.kappa);
        self.phi.take(ratio(self.merged_pages as f64, self.full_merges), self.rules.kappa);
        let blocks = sequential.limit();
        if self.delta.value > self.delta.threshold {
            sequential.set_limit((blocks + 1).min(self.rules.most));
        } else if self.phi.value >= self.phi.threshold {
            sequential.set_limit((blocks - 1).max(1));
        }
        if self.delta.value < self.rules.flip_below {
            let [low, high] = self.rules.thresholds_pages;
            sequential.set_threshold_pages(if sequential.threshold_pages() == low { high } else { low });
        }
        let (delta, phi) = (self.delta, self.phi);
        *self = Self { delta, phi, ..Self::new(self.rules) };
    }
}

#[cfg(test)]
mod tests;
