//! The zone against a map of what was appended.

use std::collections::BTreeMap;

use random::SeededRng;

use super::*;
use crate::api::request::Request;
use crate::testing::layout;

/// Six logical blocks of four pages, the last one with three.
const LOGICAL_PAGES: u32 = 23;

fn zone(capacity: u64) -> BufferZone {
    BufferZone::new(&layout(16, 4, LOGICAL_PAGES), capacity)
}

#[test]
fn it_knows_what_was_appended_moved_and_removed() {
    let mut zone = zone(1 << 20);
    let mut model: BTreeMap<Lpn, (Ppn, bool)> = BTreeMap::new();
    let mut rng = SeededRng::new(16);
    for step in 0..4000_u32 {
        let lpn = Lpn::new((rng.bits() % u64::from(LOGICAL_PAGES)) as u32);
        let (place, dirty) = (Ppn::new(step), rng.bits().is_multiple_of(2));
        match rng.bits() % 4 {
            0 => assert_eq!(zone.remove(lpn), model.remove(&lpn).map(|(at, _)| at)),
            1 => {
                let from = model.get(&lpn).map_or(Ppn::new(step + 1), |&(at, _)| at);
                assert_eq!(zone.on_moved(lpn, from, place), model.contains_key(&lpn));
                model.entry(lpn).and_modify(|(at, _)| *at = place);
            }
            _ => assert_eq!(zone.append(lpn, place, dirty), model.insert(lpn, (place, dirty)).map(|(at, _)| at)),
        }
        assert_eq!(zone.iter().collect::<Vec<_>>(), model.iter().map(|(&lpn, &(at, _))| (lpn, at)).collect::<Vec<_>>());
        assert!(model.iter().all(|(&lpn, &(_, dirty))| zone.is_dirty(lpn) == dirty));
        for lbn in (0..6).map(Lbn::new) {
            let of = || model.iter().filter(|(lpn, _)| lpn.get() / 4 == lbn.get());
            let node = zone.node(lbn);
            assert_eq!(node.pages as usize, of().count());
            assert_eq!(node.dirty as usize, of().filter(|(_, (_, dirty))| *dirty).count());
        }
    }
    let used = zone.appended;
    assert!(used > 1000 && !zone.is_full());
    for &lpn in model.keys() {
        assert!(zone.remove(lpn).is_some());
    }
    zone.begin_anew();
    assert_eq!((zone.appended, zone.blocks()), (0, Vec::new()));
}

#[test]
fn it_is_full_when_its_room_is_used_whatever_is_still_needed() {
    let mut zone = zone(3);
    for step in 0..3 {
        assert!(!zone.is_full());
        zone.append(Lpn::new(5), Ppn::new(step), true);
    }
    assert!(zone.is_full());
    assert_eq!((zone.blocks(), zone.pages), (vec![Lbn::new(1)], 1));
}

/// WAFTL III.C.1: "Sequentially accessing multiple pages of a block is treated as one block
/// access".
#[test]
fn a_run_over_a_block_is_one_access_and_so_is_its_continuation() {
    let mut zone = zone(100);
    let geometry = zone.geometry;
    // Pages 2 to 5, then 6 and 7 go on in block 1; then 4 again, and 1 twice.
    for (first, pages) in [(2, 4), (6, 2), (4, 1), (1, 1), (1, 1)] {
        Request::new(Lpn::new(first), pages).block_runs(&geometry).for_each(|run| zone.on_accessed(&run));
    }
    assert_eq!([0, 1, 2].map(|lbn| zone.node(Lbn::new(lbn)).popularity), [3, 2, 0]);
    for lpn in [1, 4, 8] {
        zone.append(Lpn::new(lpn), Ppn::new(lpn), true);
    }
    assert_eq!(zone.most_popular(2), [Lbn::new(0), Lbn::new(1)]);
    zone.on_accessed(&Request::new(Lpn::new(7), 1).block_runs(&geometry).next().expect("a run"));
    assert_eq!(zone.most_popular(1), [Lbn::new(0)], "of equally popular blocks the lower");
}
