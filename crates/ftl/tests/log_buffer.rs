//! The log-buffer schemes on a few blocks of four pages: the papers' figures, operation by operation.

use std::collections::BTreeMap;

use flash::{Chip, ChipOptions, Geometry, Lean, Lpn, Shape};
use ftl::{Cause, Ftl, Layout, Media, Note, Op, Request, Timed, Untimed, registry};

type Device = Timed<Chip<Lean>, Untimed>;

/// A scheme on one die with blocks of four pages.
struct Scenario {
    media: Media<Device>,
    ftl: Box<dyn Ftl<Device>>,
}

impl Scenario {
    /// So many logical blocks, filled in order, and `spare` blocks beside them.
    fn filled(scheme: &str, settings: &[(&str, &str)], logical_blocks: u32, spare: u32) -> Self {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: logical_blocks + spare,
            pages_per_block: 4,
            page_size_bytes: 512,
        };
        let chip = Chip::new(Geometry::new(shape).expect("a valid shape"), &ChipOptions::default());
        let layout = Layout::of(&chip, 4 * logical_blocks, 7);
        let settings: BTreeMap<_, _> = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let ftl = registry::create(scheme, &settings, &layout).expect("a valid scheme");
        let mut scenario = Self { media: Media::new(Timed { chip, timing: Untimed }), ftl };
        for lpn in 0..4 * logical_blocks {
            scenario.write(&[lpn]);
        }
        scenario
    }

    /// One request for each page.
    fn write(&mut self, pages: &[u32]) {
        for &page in pages {
            self.ftl.write(&mut self.media, &Request::new(Lpn::new(page), 1), &[()]).expect("legal");
            self.ftl.check(&self.media).expect("invariants");
        }
    }

    /// Switch, partial and full merges.
    fn merges(&self) -> [u64; 3] {
        [Note::SwitchMerge, Note::PartialMerge, Note::FullMerge].map(|note| self.media.tally().note(note))
    }

    /// Copies by merges, and erases.
    fn cost(&self) -> (u64, u64) {
        (self.media.tally().count(Cause::Merge, Op::Program), self.media.tally().total(Op::Erase))
    }

    fn gauge(&self, name: &str) -> f64 {
        let gauges = self.ftl.gauges();
        gauges.iter().find(|gauge| gauge.name == name).unwrap_or_else(|| panic!("no gauge {name}")).value
    }
}

/// Two logical blocks, one sequential and one shared log block.
fn fast() -> Scenario {
    Scenario::filled("fast", &[("log_blocks", "2")], 2, 4)
}

/// T fig. 3.1 (a): pages 0 to 3 in order, then another stream: the log block becomes the data block, one erase.
#[test]
fn a_complete_sequential_block_is_switched() {
    let mut fast = fast();
    fast.write(&[0, 1, 2, 3, 4]);
    assert_eq!((fast.merges(), fast.cost()), ([1, 0, 0], (0, 1)));
}

/// T fig. 3.1 (b): pages 0 and 1, then another stream: pages 2 and 3 are copied, one erase.
#[test]
fn an_incomplete_sequential_block_is_completed() {
    let mut fast = fast();
    fast.write(&[0, 1, 4]);
    assert_eq!((fast.merges(), fast.cost()), ([0, 1, 0], (2, 1)));
}

/// T fig. 3.1 (c): updates of both logical blocks share a log block; when it leaves, both are merged: 2 b copies and
/// 2 + 1 erases (A eq. 1 with A(L) = 2).
#[test]
fn a_shared_log_block_costs_a_full_merge_for_each_logical_block() {
    let mut fast = fast();
    fast.write(&[1, 5, 2, 6, 7]);
    assert_eq!((fast.merges(), fast.cost()), ([0, 0, 2], (8, 3)));
}

/// A page of the sequential block is overwritten in the random log, whose block then leaves: the full merge empties the
/// sequential block, which must not come back as a data block.
#[test]
fn a_sequential_block_emptied_by_a_full_merge_is_erased() {
    let mut fast = fast();
    fast.write(&[0, 1, 1, 1, 1, 1, 5]);
    assert_eq!(fast.merges(), [0, 0, 1]);
    assert!((fast.gauge("log_blocks") - 1.0).abs() < f64::EPSILON, "only the shared block is left");
}
