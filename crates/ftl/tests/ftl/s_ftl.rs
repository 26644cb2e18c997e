//! s-ftl by hand: what a packed map spares, what the dirty buffer puts off, and what has no room.

use crate::bench::{Bench, FLASH, LOGICAL_PAGES};
use crate::kit::NumberChip;
use ftl::{Cause, FlashOp, Layout, Note, Stack, registry};
use random::SeededRng;

/// Translation pages of 128 entries.
const TRANSLATION_PAGES: u64 = LOGICAL_PAGES.div_ceil(128) as u64;

#[test]
fn a_map_written_in_order_is_in_ram_as_a_whole() {
    let misses = [("s-ftl", 0), ("dftl", 2000), ("tpftl", 20)].map(|(mapping, least)| {
        let mut bench = Bench::new(mapping, &[("cmt", "2KiB")]);
        bench.write(0..LOGICAL_PAGES);
        bench.flush();
        let before = bench.note(Note::MappingMiss);
        bench.read_all();
        let misses = bench.note(Note::MappingMiss) - before;
        assert!(misses >= least, "{mapping}: {misses} misses");
        misses
    });
    assert_eq!(misses[0], 0, "no page has left: {misses:?}");
    let mut bench = Bench::new("s-ftl", &[("cmt", "2KiB")]);
    bench.write(0..LOGICAL_PAGES);
    assert_eq!(bench.gauge("cached_translation_pages"), TRANSLATION_PAGES);
    // One is unpacked. Each of the others has a bit per entry, and a run per block.
    let [packed, unpacked] = [8 + 128 / 8, 8 + 128 * 4];
    let least = unpacked + (TRANSLATION_PAGES - 1) * (packed + 4);
    let used = bench.gauge("map_bytes");
    assert!((least..least + (TRANSLATION_PAGES - 1) * 2 * 4).contains(&used), "{used} B, at least {least}");
}

#[test]
fn sparse_updates_wait_until_they_are_many() {
    let written = ["0", "0.3"].map(|share| {
        let mut bench = Bench::new("s-ftl", &[("cmt", "1200"), ("dirty_buffer", share)]);
        bench.write(0..LOGICAL_PAGES);
        bench.flush();
        let before = bench.count(Cause::Mapping, FlashOp::Program);
        // A page here, a page there: hardly two of a translation page.
        let mut rng = SeededRng::new(3);
        bench.write((0..600).map(|_| rng.below_u32(LOGICAL_PAGES)));
        bench.flush();
        bench.read_all();
        bench.count(Cause::Mapping, FlashOp::Program) - before
    });
    assert!(written[0] > 400 && written[1] * 3 < written[0] * 2, "{written:?}");
}

#[test]
fn random_requests_read_back_and_keep_every_invariant() {
    for settings in [&[("cmt", "1KiB"), ("dirty_buffer", "0.45")], &[("cmt", "2KiB"), ("sparse_entries", "4")]] {
        let mut bench = Bench::new("s-ftl", settings);
        let mut rng = SeededRng::new(9);
        for step in 0..20_000 {
            let first = rng.below_u32(LOGICAL_PAGES - 8);
            if step % 50 == 0 {
                bench.trim(first, 1 + first % 8);
            } else {
                bench.write(first..first + 1 + u32::from(step % 5 == 0) * 7);
            }
            if step % 500 == 0 {
                bench.flush();
            }
            if step > 16_000 {
                bench.ftl.check(&bench.flash).expect("RAM is within its size after each request");
            }
        }
        assert!(bench.note(Note::Collection) > 300);
        bench.read_all();
    }
}

#[test]
fn ram_without_room_for_a_page_is_refused() {
    let chip: NumberChip = FLASH.chip();
    let layout = Layout::of(&chip, LOGICAL_PAGES, 1);
    let refused = registry::create(&Stack::with("s-ftl", [("cmt", "1KiB"), ("dirty_buffer", "0.5")]), &layout)
        .err()
        .expect("small");
    assert!(refused.0.contains("do not hold one translation page of 520 bytes; give more"), "{}", refused.0);
}
