//! Data blocks against a model: which logical pages are current, and in which block.

use std::collections::{BTreeMap, BTreeSet};

use random::SeededRng;

use super::*;
use crate::testing::{device, layout};

const PAGES: u32 = 4;
const LOGICAL_PAGES: u32 = 18;

/// Appends where the order allows it, copies the block where it does not, and gives blocks back: as
/// the block-mapped scheme does, but with a model that says what must be current.
#[test]
fn blocks_that_are_remapped_keep_their_current_pages_in_place() {
    let (mut flash, layout) = (device(8, PAGES), layout(8, PAGES, LOGICAL_PAGES));
    let spares = DataBlocks::require(&layout, "block", 1, "one to copy into").expect("room");
    let (mut data, mut blocks) = (DataBlocks::new(&layout), BlockManager::new(&layout, spares));
    let mut current = BTreeSet::new();
    let mut rng = SeededRng::new(9);
    let (mut in_place, mut copied) = (0, 0);
    for step in 0..3_000 {
        let lpn = Lpn::new((rng.bits() % u64::from(LOGICAL_PAGES)) as u32);
        let (lbn, offset) = data.geometry().split_logical(lpn);
        if step % 5 == 0 {
            data.set_current(lpn, false);
            current.remove(&lpn);
        } else {
            let home = data.block(lbn).filter(|&pbn| data.fits_in_place(&flash, pbn, offset));
            let copies = home.is_none();
            let to =
                home.unwrap_or_else(|| blocks.take(AllocRequest::of(Purpose::Data, lbn)).expect("one is always free"));
            let pages: Vec<_> = data.pages_of(lbn).collect();
            for (at, page) in pages {
                if page == lpn || copies && current.contains(&page) {
                    let (label, page) = (data_label(page, lbn), Content::New(()));
                    let put = data.program(&mut flash, &mut blocks, (to, at), label, &page, &|_, _| None);
                    assert_eq!(put.expect("in order"), to);
                }
            }
            *(if copies { &mut copied } else { &mut in_place }) += 1;
            data.set_current(lpn, true);
            current.insert(lpn);
            if let Some(old) = data.remap(lbn, Some(to)).filter(|&old| old != to) {
                data.retire(&mut flash, &mut blocks, old).expect("erased");
            }
        }
        data.check(&flash, &blocks, "pages", "blocks").expect("invariants");
        assert_eq!(data.mapped_blocks() + blocks.free(), 8, "no block is lost");
        for lpn in (0..LOGICAL_PAGES).map(Lpn::new) {
            assert_eq!(data.newest(lpn).is_some(), current.contains(&lpn), "{lpn}");
        }
    }
    assert!(in_place > 50 && copied > 50, "{in_place} in place, {copied} copied");
}

/// The last logical block may be shorter, and pages behind the end of the device are nobody's.
#[test]
fn a_short_last_block_has_only_its_pages() {
    let data = DataBlocks::new(&layout(8, PAGES, LOGICAL_PAGES));
    let pages: BTreeMap<_, _> = (0..5).map(|lbn| (lbn, data.pages_of(Lbn::new(lbn)).count())).collect();
    assert_eq!(pages.into_values().collect::<Vec<_>>(), [4, 4, 4, 4, 2]);
    assert_eq!(data.page_at(Lbn::new(4), 1), Some(Lpn::new(17)));
    assert_eq!(data.page_at(Lbn::new(4), 2), None);
}
