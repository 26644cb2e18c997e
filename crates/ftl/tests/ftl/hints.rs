//! A hint that a scheme keeps lasts: in the tags of what is collected, and over power cuts.

use std::collections::{BTreeMap, BTreeSet};

use crate::kit::{TestDevice as Device, untimed};
use flash::{Flash, Lpn};
use ftl::{Cause, Drive, FlashOp, FlashPort, Hint, Layout, Request, Stack, registry};
use testkit::TestFlash;

/// Logical pages; the stream of a page is its number modulo 3.
const PAGES: u32 = 120;

fn stack() -> Stack {
    Stack::with("page", [("streams", "hints"), ("hint_streams", "3")])
}

fn device() -> (FlashPort<Device>, Layout) {
    let chip = TestFlash::new(24, 4).channels(2).chip();
    let layout = Layout::of(&chip, PAGES, 1);
    (FlashPort::new(untimed(chip)), layout)
}

/// Overwrites at random, each page with the hint of its stream, or of a higher one for the last.
fn write(ftl: &mut Drive<Device>, flash: &mut FlashPort<Device>, writes: u32) {
    let mut next = 7_u64;
    for stamp in 0..writes {
        next = next * 48_271 % 2_147_483_647;
        let lpn = (next % u64::from(PAGES)) as u32;
        let stream = [0, 1, 77][lpn as usize % 3];
        let request = Request { hint: Hint::of_stream(stream), ..Request::new(Lpn::new(lpn), 1) };
        ftl.write(flash, &request, &[stamp]).expect("written");
    }
}

/// Holds every page to its hint, and returns the streams that each block holds pages of.
fn streams_of_blocks(flash: &FlashPort<Device>) -> BTreeMap<u32, BTreeSet<u8>> {
    let chip = &flash.device().chip;
    let mut streams: BTreeMap<u32, BTreeSet<u8>> = BTreeMap::new();
    for page in 0..chip.geometry().pages() as usize {
        if let Some(tag) = chip.tag(flash::Ppn::at(page)) {
            assert_eq!(u32::from(tag.hint), tag.logical % 3, "{tag:?}");
            streams.entry(chip.geometry().block_of(flash::Ppn::at(page)).get()).or_default().insert(tag.hint);
        }
    }
    streams
}

#[test]
fn streams_stay_apart_through_collections_and_power_cuts() {
    let (mut flash, layout) = device();
    let mut ftl = registry::create::<Device>(&stack(), &layout).expect("fits");
    write(&mut ftl, &mut flash, 2_000);
    for cut in 0..4 {
        assert!(flash.tally().count(Cause::Collection, FlashOp::Program) > 500, "hardly anything was collected");
        let blocks = streams_of_blocks(&flash);
        assert!(blocks.values().all(|streams| streams.len() == 1), "after {cut} cuts: {blocks:?}");
        let all: BTreeSet<u8> = blocks.values().flatten().copied().collect();
        assert_eq!(all.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
        ftl.check(&flash).expect("invariants");
        flash = FlashPort::new(flash.into_device());
        ftl = registry::recover::<Device>(&stack(), &layout.in_use(), &mut flash).expect("recovered");
        write(&mut ftl, &mut flash, 2_000);
    }
}

/// What waits in a write buffer is written down by hint, so that neighbours of different streams
/// stay apart.
#[test]
fn streams_stay_apart_behind_a_write_buffer() {
    for buffer in ["lru:ram=4KiB", "fab:ram=16KiB"] {
        let (mut flash, layout) = device();
        let stack: Stack = format!("{}+{buffer}", stack()).parse().expect("a spelling");
        let mut ftl = registry::create::<Device>(&stack, &layout).expect("fits");
        write(&mut ftl, &mut flash, 4_000);
        ftl.flush(&mut flash).expect("flushed");
        let blocks = streams_of_blocks(&flash);
        assert!(blocks.len() > 20 && blocks.values().all(|streams| streams.len() == 1), "{buffer}: {blocks:?}");
    }
}

#[test]
fn summaries_which_list_no_hints_are_refused_with_the_reason() {
    let stack: Stack = "page:streams=hints:checkpoint=summaries".parse().expect("a spelling");
    let refused = registry::create::<Device>(&stack, &device().1).err().expect("refused").to_string();
    assert!(refused.contains("summaries do not list hints") && refused.contains("checkpoint = none"), "{refused}");
}
