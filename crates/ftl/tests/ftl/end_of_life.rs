//! Devices that are worn out: they use their spares before they refuse writes, and lose no data
//! then.

use crate::kit::{empty, page, untimed};
use flash::{ChipOptions, Lpn, PastEndurance, Pbn};
use ftl::{FlashPort, FtlError, Layout, Request};
use random::SeededRng;
use testkit::TestFlash;

const BLOCKS: u32 = 128;
const PAGES_PER_BLOCK: u32 = 16;
const PAGES: u32 = BLOCKS * PAGES_PER_BLOCK * 4 / 5;

/// What became of a device.
struct Life {
    /// Blocks that could fail.
    spares: u32,
    /// Blocks that were bad in the end.
    bad: u32,
}

/// Nine tenths of the writes go to a tenth of the pages until the device, whose blocks survive 60
/// erases, refuses one.
fn live(stack: &str, dies: u32, seed: u64) -> Life {
    let options = ChipOptions { endurance: Some(60), past_endurance: PastEndurance::Fails, ..ChipOptions::default() };
    let chip = TestFlash::new(BLOCKS / dies, PAGES_PER_BLOCK).channels(dies).chip_with(&options);
    let layout = Layout::of(&chip, PAGES, seed);
    let mut ftl = testkit::drive(stack, &layout);
    let mut flash = FlashPort::new(untimed(chip));
    let mut rng = SeededRng::new(seed);
    let mut below = |limit: u32| rng.below_u32(limit);
    let mut held = vec![0; PAGES as usize];
    let mut writes = 0_u32;
    loop {
        let lpn = match writes {
            filled if filled < PAGES => filled,
            _ if below(10) > 0 => below(PAGES / 10) * 10,
            _ => below(PAGES),
        };
        match ftl.write(&mut flash, &Request::new(Lpn::new(lpn), 1), &[page(writes + 1)]) {
            Ok(()) => held[lpn as usize] = writes + 1,
            Err(FtlError::ReadOnly { .. }) => break,
            Err(error) => panic!("{stack:?}, seed {seed}: {error}"),
        }
        writes += 1;
    }
    for (lpn, &written) in (0..).zip(&held) {
        let mut found = empty(1);
        ftl.read(&mut flash, &Request::new(Lpn::new(lpn), 1), &mut found).expect("a read");
        assert_eq!(found, [page(written)], "{stack:?}, seed {seed}: page {lpn}");
    }
    let bad = (0..BLOCKS).filter(|&block| flash.chip().is_bad(Pbn::new(block))).count() as u32;
    Life { spares: ftl.spares().total, bad }
}

/// One erase that fails ends no life. Several in a row may, before the spares are used: each takes
/// a free block of those that collections need.
#[test]
fn no_device_is_read_only_before_half_of_its_spares_are_used() {
    for stack in ["page", "page+dynamic", "page+static", "page:gc_threshold=2", "dftl", "fast"] {
        for dies in [1, 2] {
            for seed in 1..=8 {
                let Life { spares, bad } = live(stack, dies, seed);
                println!("{stack}, {dies} dies, seed {seed}: {bad} blocks bad, {spares} spares");
                assert!(2 * bad > spares, "{stack}, {dies} dies, seed {seed}: {bad} blocks bad, {spares} spares");
            }
        }
    }
}
