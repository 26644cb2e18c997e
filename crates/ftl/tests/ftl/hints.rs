//! A hint that a scheme keeps lasts: in the tags of what is collected, and over power cuts.

use std::collections::{BTreeMap, BTreeSet};

use crate::kit::{page, untimed};
use flash::{Lpn, Role};
use ftl::{AnyDevice, Cause, Drive, FlashOp, FlashPort, Hint, Layout, Request, Stack, registry};
use random::SeededRng;
use testkit::TestFlash;

/// Logical pages; the stream of a page is its number modulo 3.
const PAGES: u32 = 120;

fn stack(hint_collection: &str) -> Stack {
    Stack::with("page", [("streams", "hints"), ("hint_streams", "3"), ("hint_collection", hint_collection)])
}

fn device() -> (FlashPort<AnyDevice>, Layout) {
    let chip = TestFlash::new(24, 4).channels(2).chip();
    let layout = Layout::of(&chip, PAGES, 1);
    (FlashPort::new(untimed(chip)), layout)
}

/// Overwrites at random, each page with the hint of its stream, or of a higher one for the last.
fn write(ftl: &mut Drive<AnyDevice>, flash: &mut FlashPort<AnyDevice>, writes: u32) {
    let mut next = 7_u64;
    for stamp in 0..writes {
        next = next * 48_271 % 2_147_483_647;
        let lpn = (next % u64::from(PAGES)) as u32;
        let stream = [0, 1, 77][lpn as usize % 3];
        let request = Request { hint: Hint::of_stream(stream), ..Request::new(Lpn::new(lpn), 1) };
        ftl.write(flash, &request, &[page(stamp)]).expect("written");
    }
}

/// What a page of the host's is: its hint, and whether it was collected.
type Kind = (u8, bool);

/// Holds every page to its hint, and returns the kinds of pages that each block holds.
fn kinds_in_blocks(flash: &FlashPort<AnyDevice>) -> BTreeMap<u32, BTreeSet<Kind>> {
    let chip = flash.chip();
    let mut kinds: BTreeMap<u32, BTreeSet<Kind>> = BTreeMap::new();
    for page in 0..chip.geometry().pages() as usize {
        if let Some(tag) = chip.tag(flash::Ppn::at(page)) {
            assert_eq!(u32::from(tag.hint), tag.logical % 3, "{tag:?}");
            let block = chip.geometry().block_of(flash::Ppn::at(page)).get();
            kinds.entry(block).or_default().insert((tag.hint, tag.role == Role::Collected));
        }
    }
    kinds
}

/// What pages of one block have in common: their hint, collected or not; or their hint, and all
/// collected or none; or else that they are collected.
fn have_in_common(hint_collection: &str, kinds: &BTreeSet<Kind>) -> bool {
    let hints: BTreeSet<u8> = kinds.iter().map(|&(hint, _)| hint).collect();
    match hint_collection {
        "apart" => hints.len() == 1,
        "isolated" => kinds.len() == 1,
        _ => {
            kinds.iter().all(|&(_, is_collected)| is_collected)
                || *kinds == BTreeSet::from([(hints.first().copied().unwrap_or(0), false)])
        }
    }
}

#[test]
fn streams_stay_apart_through_collections_and_power_cuts() {
    for hint_collection in ["apart", "together", "isolated"] {
        let (mut flash, layout) = device();
        let stack = stack(hint_collection);
        let mut ftl = registry::create(&stack, &layout).expect("fits");
        write(&mut ftl, &mut flash, 2_000);
        for cut in 0..4 {
            assert!(flash.tally().count(Cause::Collection, FlashOp::Program) > 500, "hardly anything was collected");
            let blocks = kinds_in_blocks(&flash);
            let is_pinned = blocks.values().all(|kinds| have_in_common(hint_collection, kinds));
            assert!(is_pinned, "{hint_collection}, after {cut} cuts: {blocks:?}");
            let all: BTreeSet<Kind> = blocks.values().flatten().copied().collect();
            assert_eq!(all.len(), 6, "each stream has new pages and collected ones: {all:?}");
            ftl.check(&flash).expect("invariants");
            flash = FlashPort::new(flash.into_device());
            ftl = registry::recover(&stack, &layout.in_use(), &mut flash).expect("recovered");
            write(&mut ftl, &mut flash, 2_000);
        }
    }
}

/// What waits in a write buffer is written down by hint, so that neighbours of different streams
/// stay apart.
#[test]
fn streams_stay_apart_behind_a_write_buffer() {
    for buffer in ["lru:ram=4KiB", "fab:ram=16KiB"] {
        let (mut flash, layout) = device();
        let stack: Stack = format!("{}+{buffer}", stack("together")).parse().expect("a spelling");
        let mut ftl = registry::create(&stack, &layout).expect("fits");
        write(&mut ftl, &mut flash, 4_000);
        ftl.flush(&mut flash).expect("flushed");
        let blocks = kinds_in_blocks(&flash);
        let is_pinned = blocks.values().all(|kinds| have_in_common("together", kinds));
        assert!(blocks.len() > 20 && is_pinned, "{buffer}: {blocks:?}");
    }
}

/// Writes amplified by collections, where nine of ten go to a tenth of the pages and hints say
/// nothing of that. Each die keeps as many blocks from data, open or free.
fn amplification_by_idle_hints(streams: &str, hint_collection: &str, gc_threshold: &str) -> f64 {
    const LOGICAL: u32 = 2 * 84 * 16;
    let chip = TestFlash::new(128, 16).channels(2).chip();
    let layout = Layout::of(&chip, LOGICAL, 1);
    let settings = [("streams", streams), ("hint_streams", "4"), ("hint_collection", hint_collection)];
    let stack = Stack::with("page", [&settings[..], &[("gc_threshold", gc_threshold)]].concat());
    let mut flash = FlashPort::new(untimed(chip));
    let mut ftl = registry::create(&stack, &layout).expect("fits");
    let mut rng = SeededRng::new(4);
    let mut draw = |below: u32| (rng.bits() >> 33) as u32 % below;
    let writes = 20 * LOGICAL;
    for write in 0..LOGICAL + writes {
        let lpn = match write {
            fill if fill < LOGICAL => fill,
            _ if draw(10) > 0 => draw(LOGICAL / 10) * 10,
            _ => draw(LOGICAL),
        };
        let request = Request { hint: Hint::of_stream(draw(4) as u8), ..Request::new(Lpn::new(lpn), 1) };
        ftl.write(&mut flash, &request, &[page(write)]).expect("written");
    }
    1.0 + flash.tally().count(Cause::Collection, FlashOp::Program) as f64 / f64::from(writes)
}

/// Hints that say nothing cost little: what they cost where collected pages join the new ones is
/// that these mix.
#[test]
fn hints_cost_little_where_collected_pages_have_blocks_of_their_own() {
    let none = amplification_by_idle_hints("separate", "together", "6");
    let together = amplification_by_idle_hints("hints", "together", "3");
    let apart = amplification_by_idle_hints("hints", "apart", "4");
    assert!(together < 1.03 * none, "{together} with hints, {none} without");
    assert!(apart > 1.05 * none, "{apart} with hints, {none} without");
}

#[test]
fn summaries_which_list_no_hints_are_refused_with_the_reason() {
    let stack: Stack = "page:streams=hints:checkpoint=summaries".parse().expect("a spelling");
    let refused = registry::create(&stack, &device().1).err().expect("refused").to_string();
    assert!(refused.contains("summaries do not list hints") && refused.contains("checkpoint = none"), "{refused}");
}
