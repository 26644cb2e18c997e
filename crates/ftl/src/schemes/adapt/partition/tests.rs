//! The division of the log by hand: Wang 2013's equations and algorithm 2, interval by interval.

use super::*;
use crate::engines::log_buffer::sequential::AdmissionRule;
use crate::testing::layout;

const RULES: PartitionRules =
    PartitionRules { interval: 10, kappa: 0.9, flip_below: 0.1, thresholds_pages: [2, 32], most: 3 };

struct Intervals {
    partition: Partition,
    area: SequentialArea,
}

impl Intervals {
    fn new(rules: PartitionRules) -> Self {
        let area = SequentialArea::new(&layout(16, 4, 32), AdmissionRule::AnyPage, 1, rules.thresholds_pages[0]);
        Self { partition: Partition::new(rules), area }
    }

    /// An interval with this many allocated sequential blocks, this many of them merged in place,
    /// and full merges of this many pages. Tells how many blocks the sequential area may have, and
    /// the threshold for requests.
    fn pass(&mut self, allocated: u32, in_place: u32, full: &[u32]) -> (u32, u32) {
        let before = (self.area.limit(), self.area.threshold_pages());
        (0..allocated).for_each(|_| self.partition.on_allocated());
        (0..in_place).for_each(|_| self.partition.on_merged(Area::Sequential, LogBlockMerge::InPlace));
        for &pages in full {
            self.partition.on_merged(Area::Shared, LogBlockMerge::Fully(pages));
        }
        // Neither counts.
        self.partition.on_merged(Area::Sequential, LogBlockMerge::Fully(3));
        self.partition.on_merged(Area::Shared, LogBlockMerge::InPlace);
        for _ in 1..10 {
            self.partition.request(&mut self.area);
            assert_eq!((self.area.limit(), self.area.threshold_pages()), before, "an interval has ten requests");
        }
        self.partition.request(&mut self.area);
        (self.area.limit(), self.area.threshold_pages())
    }

    fn close(&self, delta: [f64; 2], phi: [f64; 2]) {
        let Partition { delta: d, phi: p, .. } = &self.partition;
        for (got, expected) in [d.value, d.threshold, p.value, p.threshold].into_iter().zip([delta, phi].concat()) {
            assert!((got - expected).abs() < 1e-12, "{got} is not {expected}: {d:?} {p:?}");
        }
    }
}

/// Eq. 5.2 with δ of 0.5, 0.25 and 1: Δ of the fourth interval is κ·1 + (1 − κ)·κ·0.25 +
/// (1 − κ)²·κ·0.5.
#[test]
fn the_thresholds_are_exponential_moving_averages() {
    let mut log = Intervals::new(RULES);
    log.pass(4, 2, &[5, 7]);
    log.close([0.5, 0.0], [6.0, 0.0]);
    log.pass(4, 1, &[2]);
    log.close([0.25, 0.45], [2.0, 5.4]);
    log.pass(4, 4, &[]);
    log.close([1.0, 0.9 * 0.25 + 0.1 * 0.45], [0.0, 0.9 * 2.0 + 0.1 * 5.4]);
    log.pass(4, 3, &[8]);
    log.close([0.75, 0.9 + 0.1 * 0.9 * 0.25 + 0.01 * 0.9 * 0.5], [8.0, 0.01 * 0.9 * 6.0 + 0.1 * 0.9 * 2.0]);
}

#[test]
fn the_sequential_area_grows_with_delta_and_shrinks_with_phi() {
    let mut log = Intervals::new(RULES);
    assert_eq!(log.pass(4, 2, &[5]), (2, 2), "0.5 is above no average");
    assert_eq!(log.pass(4, 3, &[9]), (3, 2), "delta comes before phi");
    assert_eq!(log.pass(4, 4, &[9]), (3, 2), "three blocks are the most");
    assert_eq!(log.pass(4, 2, &[3]), (3, 2), "neither delta nor phi is above its average");
    assert_eq!(log.pass(4, 2, &[6]), (2, 2), "phi is");
    assert_eq!(log.pass(4, 1, &[6]), (1, 2));
    assert_eq!(log.pass(8, 1, &[7]), (1, 2), "one block is the least");
}

/// Wang 2013 5.2: a δ below 0.1 changes the threshold for requests, in either direction.
#[test]
fn a_sequential_area_without_effect_has_its_threshold_changed() {
    let mut log = Intervals::new(RULES);
    assert_eq!(log.pass(10, 1, &[4]).1, 2, "0.1 is not below 0.1");
    assert_eq!(log.pass(20, 1, &[4]).1, 32);
    assert_eq!(log.pass(4, 2, &[4]).1, 32);
    assert_eq!(log.pass(0, 0, &[4]).1, 2, "no block was asked for");
    let mut fixed = Intervals::new(PartitionRules { thresholds_pages: [2, 2], ..RULES });
    assert_eq!((fixed.pass(4, 0, &[]).1, fixed.pass(4, 0, &[]).1), (2, 2));
    let mut never = Intervals::new(PartitionRules { interval: 0, ..RULES });
    assert_eq!(never.pass(4, 4, &[]), (1, 2));
}

#[test]
fn delta_is_at_most_one_when_blocks_of_earlier_intervals_leave() {
    let mut log = Intervals::new(RULES);
    log.pass(1, 5, &[]);
    log.close([1.0, 0.0], [0.0, 0.0]);
}
