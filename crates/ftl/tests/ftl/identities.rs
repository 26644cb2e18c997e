//! Schemes that must be the same under certain parameters: after each request, every flash
//! operation so far was the same, at the same place and for the same cause.

use crate::kit::{NumberChip, empty, untimed};
use flash::{ChipOptions, Lpn, Pbn, ProgramOrder};
use ftl::{AnyDevice, Drive, FlashOp, FlashPort, Layout, Request, Stack, registry};
use random::SeededRng;
use testkit::TestFlash;

struct Instance {
    flash: FlashPort<AnyDevice>,
    ftl: Drive<AnyDevice>,
}

/// A scheme's name and its settings.
type Named<'a> = (&'a str, &'a [(&'a str, &'a str)]);

impl Instance {
    fn new((scheme, of): Named<'_>, chip: NumberChip, logical_pages: u32) -> Self {
        let layout = Layout::of(&chip, logical_pages, 7);
        let ftl = registry::create(&Stack::with(scheme, of.iter().copied()), &layout)
            .unwrap_or_else(|error| panic!("{scheme}: {error}"));
        Self { flash: FlashPort::new(untimed(chip)), ftl }
    }

    /// After a power cut.
    fn recovered(self, (scheme, of): Named<'_>, logical_pages: u32) -> Self {
        let mut flash = FlashPort::new(self.flash.into_device());
        let layout = Layout::of(flash.chip(), logical_pages, 7);
        let ftl = registry::recover(&Stack::with(scheme, of.iter().copied()), &layout, &mut flash)
            .expect("a recoverable device");
        Self { flash, ftl }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u32, u32),
    Trim(u32, u32),
    Flush,
}

/// One-page updates here and there, streams that are broken off, large and small requests, trims
/// and flushes.
fn steps(logical_pages: u32, pages_per_block: u32, seed: u64) -> Vec<Step> {
    let mut rng = SeededRng::new(seed);
    let mut below = move |limit: u32| rng.below_u32(limit);
    let (mut at, mut steps) = (0, Vec::new());
    for _ in 0..1000 {
        let (first, pages) = match seed % 4 {
            0 => (below(logical_pages), 1),
            1 => {
                at = if below(9) == 0 { below(logical_pages) } else { (at + 1) % logical_pages };
                (at, 1)
            }
            2 => {
                at = if below(3) == 0 { at / pages_per_block * pages_per_block } else { below(logical_pages) };
                (at, 1 + below(3))
            }
            _ => (below(logical_pages), 1 + below(2 * pages_per_block)),
        };
        let pages = pages.min(logical_pages - first);
        steps.push(match below(30) {
            0 => Step::Trim(first, pages),
            1 => Step::Flush,
            _ => Step::Write(first, pages),
        });
    }
    steps
}

fn apply(instance: &mut Instance, step: Step) {
    let Instance { flash, ftl } = instance;
    match step {
        Step::Write(first, pages) => ftl.write(flash, &Request::new(Lpn::new(first), pages), &empty(pages)),
        Step::Trim(first, pages) => ftl.trim(flash, &Request::new(Lpn::new(first), pages)),
        Step::Flush => ftl.flush(flash),
    }
    .unwrap_or_else(|error| panic!("{step:?}: {error}"));
}

fn same(one: Named<'_>, other: Named<'_>) {
    let mut erases = 0;
    for (blocks, pages_per_block, logical_blocks) in [(16, 4, 6), (60, 8, 40), (40, 1, 20), (30, 65, 12)] {
        for (order, seed) in [ProgramOrder::Ascending, ProgramOrder::Any].into_iter().zip([0, 4]) {
            for seed in seed..seed + 4 {
                let device = TestFlash::new(blocks / 2, pages_per_block).channels(2);
                let options = ChipOptions { program_order: order, ..ChipOptions::default() };
                let chip = || device.chip_with(&options);
                let pages = logical_blocks * pages_per_block;
                let mut instances = [one, other].map(|named| Instance::new(named, chip(), pages));
                let steps = steps(pages, pages_per_block, seed);
                let (before, after) = steps.split_at(steps.len() * 3 / 4);
                erases += run_both(
                    &mut instances,
                    before,
                    &format!("{one:?} and {other:?}, {device:?}, {order:?}, seed {seed}"),
                );
                let [first, second] = instances;
                let mut instances = [first.recovered(one, pages), second.recovered(other, pages)];
                run_both(
                    &mut instances,
                    after,
                    &format!("{one:?} and {other:?} after a power cut, {device:?}, seed {seed}"),
                );
            }
        }
    }
    assert!(erases > 4_000, "{one:?} and {other:?}: only {erases} erases");
}

fn run_both(instances: &mut [Instance; 2], steps: &[Step], what: &str) -> u64 {
    for (number, &step) in steps.iter().enumerate() {
        for instance in &mut *instances {
            apply(instance, step);
        }
        let hashes = instances.each_ref().map(|instance| instance.flash.event_hash());
        assert_eq!(hashes[0], hashes[1], "{what}: request {number}, {step:?}");
    }
    let [first, second] = instances;
    assert_eq!(first.flash.tally(), second.flash.tally(), "{what}");
    let erases = |instance: &Instance| {
        let chip = instance.flash.chip();
        (0..chip.geometry().blocks()).map(|pbn| chip.erase_count(Pbn::new(pbn))).collect::<Vec<_>>()
    };
    assert_eq!(erases(first), erases(second), "{what}");
    first.flash.tally().total(FlashOp::Erase)
}

#[test]
fn sast_with_one_data_block_and_one_log_block_a_group_is_bast() {
    for log_blocks in ["1", "2", "5"] {
        let sast = [("log_blocks", log_blocks), ("group_blocks", "1"), ("group_log_blocks", "1")];
        same(("sast", &sast), ("bast", &[("log_blocks", log_blocks)]));
    }
}

#[test]
fn sast_with_one_group_is_the_random_log_of_fast() {
    for log_blocks in ["1", "2", "5"] {
        let sast = [("log_blocks", log_blocks), ("group_blocks", "40"), ("group_log_blocks", "99")];
        same(("sast", &sast), ("fast", &[("log_blocks", log_blocks), ("sequential", "false")]));
    }
}

#[test]
fn kast_with_k_of_all_data_blocks_is_fast() {
    for (log_blocks, sequential) in [("2", "true"), ("5", "true"), ("3", "false")] {
        let fast = [("log_blocks", log_blocks), ("sequential", sequential)];
        same(("kast", &[fast[0], fast[1], ("k", "40")]), ("fast", &fast));
    }
}

#[test]
fn faster_without_a_second_chance_is_fast() {
    for (log_blocks, sequential) in [("2", "true"), ("5", "true"), ("3", "false")] {
        let fast = [("log_blocks", log_blocks), ("sequential", sequential)];
        same(("faster", &[fast[0], fast[1], ("second_chance", "false")]), ("fast", &fast));
    }
}

#[test]
fn a_sast_with_both_mechanisms_off_is_sast() {
    for (log_blocks, n, k) in [("2", "4", "2"), ("5", "4", "2"), ("5", "3", "9"), ("4", "99", "99")] {
        let sast = [("log_blocks", log_blocks), ("group_blocks", n), ("group_log_blocks", k)];
        let a_sast = [sast[0], sast[1], sast[2], ("victim", "group"), ("regroup", "false")];
        same(("a-sast", &a_sast), ("sast", &sast));
    }
}

#[test]
fn adapt_without_its_three_parts_is_faster_or_fast() {
    for log_blocks in ["2", "5"] {
        let [blocks, off, whole] = [("log_blocks", log_blocks), ("partition", "fast"), ("aggregate", "false")];
        same(("adapt", &[blocks, off, whole, ("transfer", "second_chance")]), ("faster", &[blocks]));
        same(("adapt", &[blocks, off, whole, ("transfer", "never")]), ("fast", &[blocks]));
    }
}
