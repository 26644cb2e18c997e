//! Where pages go: over all dies in turn, or into one block until that is full, and in either case
//! next to their neighbours in a page of the flash.

use crate::kit::{PromisingDies, page, priced, untimed};
use flash::{CellMode, ChipOptions, Lpn, Pbn};
use ftl::{AnyDevice, Cause, Drive, FlashOp, FlashPort, Layout, Request, Stack, registry};
use random::SeededRng;
use testkit::TestFlash;

const FLASH: TestFlash = TestFlash::new(16, 8).channels(2).dies_per_channel(2);
const LOGICAL_PAGES: u32 = 256;

fn bench(settings: &[(&str, &str)]) -> (FlashPort<AnyDevice>, Drive<AnyDevice>) {
    let chip = FLASH.chip();
    let layout = Layout::of(&chip, LOGICAL_PAGES, 1);
    let ftl = registry::create(&Stack::with("dftl", settings.iter().copied()), &layout).expect("accepted");
    (FlashPort::new(untimed(chip)), ftl)
}

/// Pages programmed in each block that was touched, in order of address.
fn filled(flash: &FlashPort<AnyDevice>) -> Vec<(u32, u32)> {
    let geometry = *flash.geometry();
    let blocks = (0..geometry.blocks()).map(Pbn::new).map(|pbn| (geometry.die_of(pbn), flash.chip().next_page(pbn)));
    blocks.filter(|&(_, pages)| pages > 0).collect()
}

fn write(flash: &mut FlashPort<AnyDevice>, ftl: &mut Drive<AnyDevice>, lpn: u32) {
    ftl.write(flash, &Request::new(Lpn::new(lpn), 1), &[page(lpn)]).expect("written");
}

#[test]
fn a_single_block_is_filled_before_the_next_is_begun_and_stripes_fill_all_dies_alike() {
    // All entries are cached, so no translation page is written.
    for (placement, expected) in [("single", vec![8, 4]), ("striped", vec![3, 3, 3, 3])] {
        let (mut flash, mut ftl) = bench(&[("placement", placement), ("cmt", "4KiB")]);
        (0..12).for_each(|lpn| write(&mut flash, &mut ftl, lpn));
        let mut pages: Vec<u32> = filled(&flash).into_iter().map(|(_, pages)| pages).collect();
        pages.sort_unstable_by_key(|&pages| std::cmp::Reverse(pages));
        assert_eq!(pages, expected, "{placement}");
    }
}

#[test]
fn translation_pages_of_a_single_placement_have_one_block_of_their_own() {
    let (mut flash, mut ftl) = bench(&[("placement", "single"), ("cmt", "64"), ("cmt_policy", "lru")]);
    (0..16).for_each(|lpn| write(&mut flash, &mut ftl, 128 * (lpn % 2) + lpn));
    let open = filled(&flash).into_iter().filter(|&(_, pages)| pages < FLASH.shape().pages_per_block).count();
    assert!(open <= 2, "one block of data and one of translation pages: {:?}", filled(&flash));
    ftl.check(&flash).expect("invariants hold");
}

#[test]
fn a_single_block_is_filled_first_though_flash_pages_hold_several_units() {
    let (chip, dies) = (FLASH.chip(), PromisingDies::new([1, 1, 1]));
    let layout = Layout { units_per_page: 4, ..Layout::of(&chip, LOGICAL_PAGES, 1) };
    let stack = Stack::with("dftl", [("placement", "single"), ("cmt", "4KiB")]);
    let mut ftl = registry::create(&stack, &layout).expect("accepted");
    let mut flash = FlashPort::new(priced(chip, dies.clone()));
    let mut rng = SeededRng::new(1);
    (0..LOGICAL_PAGES).for_each(|lpn| write(&mut flash, &mut ftl, lpn));
    let (mut before, mut begun) = (None, 0);
    for _ in 0..6000 {
        write(&mut flash, &mut ftl, rng.below_u32(LOGICAL_PAGES));
        let done = dies.take_performed().into_iter().map(|(task, _)| task);
        let of_host = done.filter(|task| (task.op, task.cause) == (FlashOp::Program, Cause::Host));
        for task in of_host {
            if let Some(before) = before.filter(|&before| before != task.pbn) {
                let pages = flash.chip().next_page(before);
                assert!([0, 8].contains(&pages), "{before} was left with {pages} pages for {}", task.pbn);
                begun += 1;
            }
            before = Some(task.pbn);
        }
    }
    assert!(begun > 500, "{begun} blocks were begun");
}

#[test]
fn units_of_the_pslc_cache_fill_a_flash_page_before_the_die_changes() {
    let flash = TestFlash::new(16, 24).channels(2);
    let chip = flash.chip_with(&ChipOptions { pslc_pages: 8, ..ChipOptions::default() });
    let (dies, layout) = (PromisingDies::new([1, 1, 1]), Layout::of(&chip, LOGICAL_PAGES, 1));
    let layout = Layout { units_per_page: 4, ..layout };
    let mut ftl = registry::create(&Stack::with("page", [("pslc_static", "8KiB")]), &layout).expect("accepted");
    let mut flash = FlashPort::new(priced(chip, dies.clone()));
    (0..16).for_each(|lpn| write(&mut flash, &mut ftl, lpn));
    let programmed: Vec<_> = dies.take_performed().into_iter().map(|(task, _)| (task.mode, task.die)).collect();
    let expected: Vec<_> = (0..16).map(|lpn| (CellMode::Pslc, lpn / 4 % 2)).collect();
    assert_eq!(programmed, expected);
}

#[test]
fn mappings_of_eight_bytes_take_twice_the_translation_pages() {
    for (mapping_bytes, pages) in [("4", 2), ("8", 4)] {
        let (_, ftl) = bench(&[("mapping_bytes", mapping_bytes)]);
        let footprint = ftl.footprint();
        assert_eq!(footprint.flash_bytes(), pages * 512, "{mapping_bytes} bytes a mapping of 256");
    }
}
