//! The space against a model: where the newest copy of each page must lie, however it was moved.

use std::collections::BTreeMap;
#[cfg(debug_assertions)]
use std::panic::{AssertUnwindSafe, catch_unwind};

use flash::{Flash, Lpn, Role};
use random::SeededRng;

use super::*;
use crate::api::layout::{Wear, WearScheme};
use crate::api::parameter::{Settings, Values};
use crate::blocks::victims::Policy;
use crate::port::cause::Cause;
use crate::recovery::trims::Trims;
use crate::testing::{TestDevice, device, layout};
use crate::wear::static_levelling::StaticLevelling;

const PAGES: u32 = 4;
const STREAMS: &[Purpose] = &[Purpose::Data, Purpose::Collected];

struct Model {
    flash: FlashPort<TestDevice>,
    space: PageSpace,
    blocks: BlockManager,
    at: BTreeMap<u32, Ppn>,
    collections: u32,
}

impl Model {
    fn new(blocks: u32, valid: u32, threshold: usize, policy: Policy) -> Self {
        let (flash, layout) = (device(blocks, PAGES), layout(blocks, PAGES, valid));
        let summaries = Summaries::none(layout.geometry);
        let valid = valid.into();
        let needs = SpaceNeeds {
            streams: STREAMS,
            classes: ClassNeeds::default(),
            policy,
            threshold,
            valid,
            summaries,
            pslc: None,
            least_step: None,
        };
        let (space, blocks) = PageSpace::format(&layout, "page", needs).expect("room");
        Self { flash, space, blocks, at: BTreeMap::new(), collections: 0 }
    }

    fn collect(&mut self, die: u32) {
        let victim =
            self.space.take_victim(&self.blocks, die).expect("a choice").expect("a closed block with an invalid page");
        let mut pages = Vec::new();
        self.space.list_valid(victim, &mut pages);
        for &from in &pages {
            let lpn = self.flash.chip().peek(from).expect("a valid page is programmed");
            let label = Label::new(lpn, Role::Collected);
            let (flash, blocks, page) = (&mut self.flash, &mut self.blocks, (label, &Content::New(())));
            let to = self.space.program_moved(flash, blocks, die, (COLLECTED, Hint::NONE), page, &Trims::default());
            assert_eq!(self.at.insert(lpn, to.expect("the last free block is kept for this")), Some(from));
        }
        self.space.finish(&mut self.flash, &mut self.blocks, victim, pages, Ok(())).expect("erased");
        self.collections += 1;
    }

    fn write(&mut self, lpn: u32) {
        let die = self.space.take_turn(HOST);
        if !self.space.has_room(die, HOST) {
            while self.space.is_short(&self.blocks, die) {
                self.collect(die);
            }
        }
        let label = Label::new(lpn, Role::Data);
        let (flash, blocks) = (&mut self.flash, &mut self.blocks);
        let to = self.space.program(flash, blocks, die, (HOST, Hint::NONE), label, Content::New(())).expect("room");
        if let Some(old) = self.at.insert(lpn, to.expect("nothing fails")) {
            self.space.release(old);
        }
    }

    fn reclaim_empty(&mut self, trims: &Trims) -> Option<u32> {
        self.space.reclaim_empty(&mut self.flash, &mut self.blocks, trims).expect("nothing fails")
    }

    fn holds(&self) {
        self.space.check(&self.flash, &self.blocks, "space").expect("invariants");
        assert_eq!(self.space.valid_pages(), self.at.len() as u64);
        for (&lpn, &ppn) in &self.at {
            assert!(self.space.is_valid(ppn) && self.flash.chip().peek(ppn) == Some(lpn), "{lpn} at {ppn}");
        }
    }
}

#[test]
fn pages_keep_their_place_through_collections_up_to_the_stated_capacity() {
    for (blocks, threshold, policy) in
        [(6, 1, Policy::Greedy), (12, 1, Policy::Fifo), (12, 3, Policy::CostBenefit), (9, 2, Policy::Random)]
    {
        // Every block but those set aside: one open for each stream, and the free ones. Random
        // victims may gain nothing for long on a full device, so there one block more is left.
        let full = blocks - 2 - threshold as u32 - u32::from(policy == Policy::Random);
        let mut model = Model::new(blocks, full * PAGES, threshold, policy);
        let mut rng = SeededRng::new(u64::from(blocks));
        (0..full * PAGES).for_each(|lpn| model.write(lpn));
        for step in 0..2_000 {
            model.write((rng.bits() % u64::from(full * PAGES)) as u32);
            if step % 16 == 0 {
                model.holds();
            }
        }
        model.holds();
        assert!(model.collections > 400, "{} collections", model.collections);
    }
}

#[test]
fn a_page_more_than_the_capacity_is_refused_with_advice() {
    let (valid, layout) = ((6 - 3) * PAGES + 1, layout(6, PAGES, 13));
    let summaries = Summaries::none(layout.geometry);
    let needs = SpaceNeeds {
        streams: STREAMS,
        classes: ClassNeeds::default(),
        policy: Policy::Greedy,
        threshold: 1,
        valid: valid.into(),
        summaries,
        pslc: None,
        least_step: None,
    };
    let refused = PageSpace::format(&layout, "page", needs).expect_err("a page too many").to_string();
    assert!(refused.contains("page needs 13 pages") && refused.contains("raise device.spare"), "{refused}");
}

#[test]
fn what_levelling_moves_has_an_open_block_more_and_the_refusal_says_for_whom() {
    let mut layout = layout(6, PAGES, 12);
    let values = Values::check("static", StaticLevelling::ENTRY.parameters, &Settings::new()).expect("defaults");
    layout.wear = Some(Wear::of::<StaticLevelling>(values));
    let summaries = Summaries::none(layout.geometry);
    let of = |valid| SpaceNeeds {
        streams: STREAMS,
        classes: ClassNeeds::default(),
        policy: Policy::Greedy,
        threshold: 1,
        valid,
        summaries,
        pslc: None,
        least_step: None,
    };
    let (space, _) = PageSpace::format(&layout, "page", of(8)).expect("2 blocks beside 3 open ones and a free one");
    let refused = PageSpace::format(&layout, "page", of(9)).expect_err("fits without levelling").to_string();
    assert!(
        refused.contains("keeps 3 open and 1 free blocks (one of the open ones for what static moves)"),
        "{refused}"
    );
    let to = |from, why| space.destination(from, why, COLLECTED);
    let [levelled, elsewhere] = [Cause::WearLevelling, Cause::Collection].map(|why| to(HOST, why));
    assert_eq!((levelled, elsewhere, to(levelled, Cause::Collection)), (2, COLLECTED, levelled));
}

#[test]
fn an_empty_block_is_had_without_room_unless_it_holds_a_last_copy_of_a_pending_trim() {
    let mut model = Model::new(6, 2 * PAGES, 1, Policy::Greedy);
    let mut trims = Trims::default();
    assert_eq!(model.reclaim_empty(&trims), None, "nothing is closed yet");
    (0..PAGES).for_each(|lpn| model.write(lpn));
    let copy = model.at[&0];
    (0..PAGES).for_each(|lpn| model.write(lpn));
    assert_eq!(model.reclaim_empty(&trims), None, "nothing has failed");
    model.blocks.has_failed(Pbn::new(5));
    trims.guard(Lpn::new(0));
    trims.on_trimmed_at(Lpn::new(0), copy);
    assert_eq!(model.reclaim_empty(&trims), None, "{copy} must last");
    trims.on_overwritten(Lpn::new(0));
    let free = model.blocks.free();
    assert_eq!(model.reclaim_empty(&trims), Some(0));
    assert_eq!(model.blocks.free(), free + 1);
    model.holds();
}

/// A last copy of a pending trim takes a page, too: a block without a valid page but with three of
/// them fits less than one with a single valid page.
#[test]
fn a_reserve_is_restored_by_a_block_whose_valid_pages_and_last_copies_fit() {
    let mut model = Model::new(6, 2 * PAGES, 1, Policy::Greedy);
    (0..2 * PAGES).for_each(|lpn| model.write(lpn));
    let [first, second] = [0, PAGES].map(|lpn| model.at[&lpn]);
    (0..2 * PAGES - 1).for_each(|lpn| model.write(lpn));
    let mut trims = Trims::default();
    for offset in 0..3 {
        trims.guard(Lpn::new(100 + offset));
        trims.on_trimmed_at(Lpn::new(100 + offset), Ppn::new(first.get() + offset));
    }
    let (space, blocks, flash) = (&mut model.space, &mut model.blocks, &mut model.flash);
    for lpn in [200, 201] {
        let label = Label::new(lpn, Role::Collected);
        space.program(flash, blocks, 0, (COLLECTED, Hint::NONE), label, Content::New(())).expect("room");
    }
    while blocks.take_on(0, AllocRequest::new(Purpose::Reserve)).is_some() {}
    let mut take = |trims: &Trims| space.take_victim_for_reserve(blocks, &[COLLECTED; 2], 1, trims);
    let [first, second] = [first, second].map(|ppn| (0, Pbn::new(ppn.get() / PAGES)));
    assert_eq!(take(&trims), Some(second), "two pages are left in the open block");
    assert_eq!(take(&trims), None);
    trims.on_settled(100, 1);
    assert_eq!(take(&trims), Some(first));
}

#[test]
fn a_page_of_a_soft_stream_joins_another_rather_than_take_the_last_free_block() {
    let (mut flash, layout) = (device(8, PAGES), layout(8, PAGES, 2 * PAGES));
    let needs = SpaceNeeds {
        streams: STREAMS,
        classes: ClassNeeds { between: &[Purpose::Data], are_soft: true, are_counted: false },
        policy: Policy::Greedy,
        threshold: 1,
        valid: (2 * PAGES).into(),
        summaries: Summaries::none(layout.geometry),
        pslc: None,
        least_step: None,
    };
    assert!(PageSpace::format(&layout, "page", SpaceNeeds { valid: needs.valid + 1, ..needs }).is_err());
    let (mut space, mut blocks) = PageSpace::format(&layout, "page", needs).expect("3 open and 3 free blocks");
    let mut stream_of_program = |space: &mut PageSpace, blocks: &mut BlockManager, lpn, stream| {
        let label = Label::new(lpn, Role::Collected);
        let to = (stream, Hint::NONE);
        let ppn = space.program(&mut flash, blocks, 0, to, label, Content::New(())).expect("room").expect("no failure");
        (space.stream_of(space.block_of(ppn)), space.class_of(space.stream_of(space.block_of(ppn))))
    };
    assert_eq!(stream_of_program(&mut space, &mut blocks, 0, HOST), (HOST, Some(0)));
    assert_eq!(stream_of_program(&mut space, &mut blocks, 1, COLLECTED), (COLLECTED, Some(2)));
    while blocks.free_on(0) > 1 {
        blocks.take_on(0, AllocRequest::new(Purpose::Reserve)).expect("free");
    }
    for lpn in 2..2 * PAGES {
        assert_ne!(stream_of_program(&mut space, &mut blocks, lpn, 2).0, 2, "LPN {lpn} took the last free block");
    }
    assert_eq!(stream_of_program(&mut space, &mut blocks, 2 * PAGES, 2), (2, Some(1)), "none has room");
    assert_eq!(blocks.free_on(0), 0);
}

/// Bugs of the canary's kinds (`crates/check/src/canary/bug.rs`). Under the suite such a bug shows
/// when the host reads, or when the flash refuses an operation, many operations later. Here the
/// call that makes it is stopped.
#[test]
#[cfg(debug_assertions)]
fn planted_bugs_are_named_by_the_call_that_makes_them() {
    type Bug = fn(&mut Model, Pbn, Vec<Ppn>);
    let forgets_last_page: Bug = |model, victim, mut pages| {
        pages.pop();
        let _ = model.space.finish(&mut model.flash, &mut model.blocks, victim, pages, Ok(()));
    };
    let erases_first: Bug = |model, victim, _| {
        let _ = model.space.finish(&mut model.flash, &mut model.blocks, victim, [], Ok(()));
    };
    let moves_open_block: Bug = |model, _, _| {
        model.write(0);
        let open = model.space.geometry.block_of(model.at[&0]);
        let mut pages = Vec::new();
        model.space.list_valid(open, &mut pages);
        let _ = model.space.finish(&mut model.flash, &mut model.blocks, open, pages, Ok(()));
    };
    let maps_two_to_one: Bug =
        |model, _, pages| model.space.ledger.validate(pages[0], Pbn::new(pages[0].get() / PAGES));
    let releases_twice: Bug = |model, _, pages| {
        model.space.release(pages[0]);
        model.space.release(pages[0]);
    };
    let collects_twice: Bug = |model, victim, _| {
        model.space.leave(victim);
        model.space.leave(victim);
    };
    let frees_a_block_that_is_free: Bug = |model, victim, _| {
        for _ in 0..2 {
            let _ = model.blocks.give_back(&mut model.flash, victim);
        }
    };
    let bugs: [(Bug, &str); 7] = [
        (forgets_last_page, "is erased with valid pages in it"),
        (erases_first, "is erased with valid pages in it"),
        (moves_open_block, "is erased while it is in use"),
        (maps_two_to_one, "is valid already"),
        (releases_twice, "is invalid already"),
        (collects_twice, "is closed already"),
        (frees_a_block_that_is_free, "is free, and given back"),
    ];
    for (bug, expected) in bugs {
        let mut model = Model::new(8, 4 * PAGES, 1, Policy::Greedy);
        (0..4 * PAGES).for_each(|lpn| model.write(lpn));
        (0..3 * PAGES).step_by(2).for_each(|lpn| model.write(lpn));
        let victim =
            model.space.take_victim(&model.blocks, 0).expect("a choice").expect("a closed block with an invalid page");
        let mut pages = Vec::new();
        model.space.list_valid(victim, &mut pages);
        assert!(pages.len() > 1, "{victim} has {pages:?}");
        let stopped = catch_unwind(AssertUnwindSafe(|| bug(&mut model, victim, pages)));
        let message = stopped.expect_err(expected).downcast::<String>().expect("a text with values");
        assert!(
            message.contains(expected) && (message.contains("PBN ") || message.contains("PPN ")),
            "{expected}: {message}"
        );
    }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "is opened on a die with room")]
fn a_second_open_block_of_a_stream_is_named() {
    let mut model = Model::new(8, 8, 1, Policy::Fifo);
    model.write(0);
    let pbn = model.blocks.take(AllocRequest::new(Purpose::Data)).expect("a free block");
    model.space.open_block(pbn, HOST);
}

/// As `gc_threshold` says: a single die with spares collects with two free blocks, not one.
#[test]
fn a_single_die_with_spares_keeps_one_free_block_more() {
    for (valid_blocks, threshold, kept) in [(4, 1, 2), (9, 1, 1), (4, 2, 2)] {
        let Model { space, mut blocks, .. } = Model::new(12, valid_blocks * PAGES, threshold, Policy::Greedy);
        let mut free = 12;
        while !space.is_short(&blocks, 0) {
            blocks.take_on(0, AllocRequest::new(Purpose::Data)).expect("a free block");
            free -= 1;
        }
        assert_eq!(free, kept, "{valid_blocks} blocks of data, gc_threshold = {threshold}");
    }
}
