//! Where pages of a demand-paged scheme go: over all dies in turn, or into one block until that is
//! full.

use crate::kit::{page, untimed};
use flash::{Lpn, Pbn};
use ftl::{AnyDevice, Drive, FlashPort, Layout, Request, Stack, registry};
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
fn mappings_of_eight_bytes_take_twice_the_translation_pages() {
    for (mapping_bytes, pages) in [("4", 2), ("8", 4)] {
        let (_, ftl) = bench(&[("mapping_bytes", mapping_bytes)]);
        let footprint = ftl.footprint();
        assert_eq!(footprint.flash_bytes(), pages * 512, "{mapping_bytes} bytes a mapping of 256");
    }
}
