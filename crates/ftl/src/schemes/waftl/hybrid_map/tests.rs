//! The hybrid map against a list model, and recovery from given blocks.

use random::SeededRng;

use super::*;
use crate::api::mapping::Scheme;
use crate::api::parameter::Settings;
use crate::api::wear::Purpose;
use crate::blocks::victims::Policy;
use crate::engines::page_map::space::{ClassNeeds, SpaceNeeds};
use crate::recovery::summary::Summaries;
use crate::schemes::waftl::Waftl;
use crate::testing::layout;

/// Six logical blocks of four pages, the last one with three, on sixteen blocks.
fn map() -> (HybridMap, PageSpace) {
    let layout = layout(16, 4, 23);
    let values = Values::check("waftl", Waftl::ENTRY.parameters, &Settings::new()).expect("defaults");
    let summaries = Summaries::none(layout.geometry);
    let streams = &[Purpose::Data, Purpose::Collected, Purpose::Translation, Purpose::Log];
    let needs = SpaceNeeds {
        streams,
        classes: ClassNeeds::default(),
        policy: Policy::Greedy,
        threshold: 2,
        valid: 23,
        summaries,
        pslc: None,
        least_step: None,
    };
    let (space, _) = PageSpace::format(&layout, "waftl", needs).expect("room");
    (HybridMap::new(&layout, &values, &space), space)
}

#[test]
fn it_counts_what_is_mapped_how() {
    let (mut map, _) = map();
    let mut model = [BlockMapping::Absent; 6];
    let mut rng = SeededRng::new(3);
    for _ in 0..1000 {
        let lbn = (rng.bits() % 6) as usize;
        let home = match rng.bits() % 3 {
            0 => BlockMapping::Absent,
            1 => BlockMapping::PageMapped,
            _ => BlockMapping::Block(Pbn::new(lbn as u32 + 6 * (rng.bits() % 2) as u32)),
        };
        map.set_home(Lbn::new(lbn as u32), home);
        model[lbn] = home;
        assert!((0..).zip(model).all(|(lbn, home)| map.home(Lbn::new(lbn)) == home));
        let blocks = |home: &&BlockMapping| matches!(home, BlockMapping::Block(_));
        let counts = [
            model.iter().filter(|&&home| home == BlockMapping::PageMapped).count(),
            model.iter().filter(blocks).count(),
        ];
        assert_eq!(map.counts().map(|count| count as usize), counts);
        for pbn in (0..16).map(Pbn::new) {
            let owner =
                (0..).zip(model).find(|&(_, home)| home == BlockMapping::Block(pbn)).map(|(lbn, _)| Lbn::new(lbn));
            assert_eq!(map.block_of(pbn), owner);
        }
    }
    assert_eq!(map.pages_of(Lbn::new(5)).map(|(offset, lpn)| (offset, lpn.get())).last(), Some((2, 22)));
}

/// A page of a logical block at a place: block, offset, and whether its tag names the logical
/// block.
type Found = (u32, u32, bool);

/// What becomes of logical block 1 if these of its pages, from the first on, are found, each at a
/// place.
fn settled(pages: &[Found], trimmed: bool) -> BlockMapping {
    let (mut map, mut space) = map();
    for (lpn, &(block, offset, is_owned)) in (4..).zip(pages) {
        let ppn = map.geometry.page(Pbn::new(block), offset);
        let owner = is_owned.then_some(Lbn::new(1));
        let tag = Tag { logical: lpn, extent: 1, role: Role::Data, owner, seq: 9, version: 9, hint: 0 };
        assert!(map.on_found(tag, ppn));
        space.pin(Pbn::new(block));
        space.validate([ppn]);
        space.unpin(Pbn::new(block));
    }
    let mut trims = Trims::default();
    if trimmed {
        trims.on_write(7, 1, Ppn::new(60), 30);
    }
    let by_page = map.settle(&mut space, &trims);
    match map.home(Lbn::new(1)) {
        BlockMapping::Block(pbn) => assert!(by_page.is_empty() && space.is_pinned(pbn)),
        _ => assert_eq!(by_page.len(), pages.len()),
    }
    map.home(Lbn::new(1))
}

#[test]
fn recovery_maps_a_logical_block_as_a_whole_if_one_block_claims_it_and_has_everything() {
    let whole = [(3, 0, true), (3, 1, true), (3, 2, true)];
    assert_eq!(settled(&whole, false), BlockMapping::Block(Pbn::new(3)));
    assert_eq!(settled(&whole, true), BlockMapping::PageMapped, "a trim has to be remembered");
    assert_eq!(settled(&[(3, 0, true), (4, 1, true)], false), BlockMapping::PageMapped, "two blocks");
    assert_eq!(settled(&[(3, 0, true), (3, 2, true)], false), BlockMapping::PageMapped, "another offset");
    assert_eq!(settled(&[(3, 0, true), (3, 1, false)], false), BlockMapping::PageMapped, "nobody's page");
    assert_eq!(settled(&[], false), BlockMapping::Absent);
}

#[test]
fn recovery_leaves_what_lies_in_the_zone_there() {
    let (mut map, mut space) = map();
    let ppn = map.geometry.page(Pbn::new(2), 3);
    let tag = Tag { logical: 9, extent: 1, role: ZONE_ROLE, owner: None, seq: 9, version: 9, hint: 0 };
    assert!(map.on_found(tag, ppn) && map.settle(&mut space, &Trims::default()).is_empty());
    assert_eq!((map.zone.at(Lpn::new(9)), map.home(Lbn::new(2))), (Some(ppn), BlockMapping::Absent));
    assert!(map.zone.is_dirty(Lpn::new(9)), "nobody knows whether it lies outside as well");
}

#[test]
fn a_zone_that_does_not_fit_is_refused_by_its_name() {
    let layout = layout(16, 4, 23);
    for (key, value, words) in
        [("zone", "1", "zone = 1 makes it 6 blocks, 24"), ("zone_blocks", "9", "zone_blocks = 9 makes it 9 blocks, 36")]
    {
        let settings = Settings::from([(key.to_owned(), value.to_owned())]);
        let values = Values::check("waftl", Waftl::ENTRY.parameters, &settings).expect("in range");
        let refused = Waftl::format(&layout, &values).err().expect("refused").to_string();
        assert!(refused.contains("raise device.spare") && refused.contains(words), "{refused}");
    }
}
