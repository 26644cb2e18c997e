//! The owner against a model: a set of free blocks with their erase counts, blocks in use, blocks
//! that fail.

use std::collections::{BTreeMap, BTreeSet};

use flash::{Flash, Ppn, Role};
use proptest::prelude::*;

use super::*;
use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::{Wear, WearScheme};
use crate::api::parameter::Values;
use crate::api::wear::Order;
use crate::port::label::Label;
use crate::testing::{TestDevice, device, layout};

const BLOCKS: u32 = 9;
const SPARES: Spares = Spares { total: 2, used: 0 };

/// Takes the block at a place that a test chooses, from those in order of wear.
#[derive(Debug)]
struct Ranked(usize);

impl WearPolicy for Ranked {
    fn order(&self) -> Order {
        Order::LeastWorn
    }

    fn place(&mut self, alloc: AllocRequest, free: usize) -> usize {
        assert!(free > 0, "asked for {alloc:?} although nothing is free");
        self.0
    }
}

impl WearScheme for Ranked {
    const ENTRY: Entry = Entry {
        name: "ranked",
        family: "wear",
        source: "test",
        capabilities: Capabilities::NONE,
        memory: Memory::NONE,
        parameters: &[],
        header: "",
    };

    fn new(layout: &Layout, _values: &Values) -> Self {
        Self(layout.seed as usize)
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Take,
    /// Gives a block in use back, once programmed.
    GiveBack(usize),
    /// Gives a block in use back as it is.
    Put(usize),
    Fail(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Take),
        4 => any::<usize>().prop_map(Step::GiveBack),
        1 => any::<usize>().prop_map(Step::Put),
        1 => any::<usize>().prop_map(Step::Fail),
    ];
    proptest::collection::vec(step, 1..200)
}

struct Model {
    flash: FlashPort<TestDevice>,
    blocks: BlockManager,
    /// In the order in which they were freed.
    free: Vec<Pbn>,
    used: Vec<Pbn>,
    failed: BTreeSet<Pbn>,
    bad: BTreeSet<Pbn>,
    erases: BTreeMap<Pbn, u32>,
    /// The place that the policy names, if it goes by wear.
    place: Option<usize>,
}

impl Model {
    fn new(place: Option<usize>) -> Self {
        let mut layout = layout(BLOCKS, 4, 8);
        if let Some(place) = place {
            layout.wear = Some(Wear::of::<Ranked>(Values::none()));
            layout.seed = place as u64;
        }
        let free = layout.good_blocks.clone();
        let erases = free.iter().map(|&pbn| (pbn, 0)).collect();
        let (used, failed, bad) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let blocks = BlockManager::new(&layout, SPARES);
        Self { flash: device(BLOCKS, 4), blocks, free, used, failed, bad, erases, place }
    }

    /// What is to be taken next.
    fn next(&self) -> Option<Pbn> {
        let mut free = self.free.clone();
        if self.place.is_some() {
            free.sort_by_key(|pbn| self.erases[pbn]);
        }
        let last = free.len().checked_sub(1)?;
        Some(free[self.place.unwrap_or(0).min(last)])
    }

    fn pick(&mut self, at: usize) -> Option<Pbn> {
        if self.used.is_empty() { None } else { Some(self.used.remove(at % self.used.len())) }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Take => {
                let expected = self.next();
                assert_eq!(self.blocks.take(AllocRequest::new(Purpose::Log)), expected);
                let Some(pbn) = expected else {
                    let error = self.blocks.out_of_space("a block");
                    let is_bug = self.failed.is_empty() && self.blocks.spares().used == 0;
                    assert_eq!(matches!(error, FtlError::OutOfSpace { .. }), is_bug, "{error}");
                    return;
                };
                self.free.retain(|&free| free != pbn);
                self.used.push(pbn);
            }
            Step::GiveBack(at) => {
                let Some(pbn) = self.pick(at) else { return };
                let at = Ppn::at(self.flash.geometry().page_indices(pbn).start);
                if self.flash.chip().next_page(pbn) == 0 {
                    self.flash.program(at, Label::new(0, Role::Data), ()).expect("an erased page");
                }
                self.blocks.give_back(&mut self.flash, pbn).expect("flash that does not fail");
                if self.failed.contains(&pbn) {
                    self.bad.insert(pbn);
                } else {
                    self.erases.entry(pbn).and_modify(|erases| *erases += 1);
                    self.free.push(pbn);
                }
            }
            Step::Put(at) => {
                let Some(pbn) = self.pick(at) else { return };
                if self.flash.chip().next_page(pbn) > 0 || self.failed.contains(&pbn) {
                    return self.used.push(pbn);
                }
                self.blocks.put(pbn);
                self.free.push(pbn);
            }
            Step::Fail(at) => {
                let Some(pbn) = self.pick(at) else { return };
                self.used.push(pbn);
                self.blocks.has_failed(pbn);
                self.failed.insert(pbn);
            }
        }
        self.holds();
    }

    fn holds(&mut self) {
        self.blocks.check(&self.flash, "free").expect("free blocks are erased");
        assert_eq!(self.blocks.free(), self.free.len());
        let spares = self.blocks.spares();
        let is_over = spares.used > spares.total;
        assert!(spares.used == self.failed.len() as u32 || is_over, "{spares:?}, but {:?} failed", self.failed);
        let good = self.blocks.accounted_for(BLOCKS as usize);
        assert_eq!(good, (!is_over).then(|| BLOCKS as usize - self.bad.len()));
        for pbn in (0..BLOCKS).map(Pbn::new) {
            let used = if self.bad.contains(&pbn) {
                BlockUse::Bad
            } else if self.free.contains(&pbn) {
                BlockUse::Free
            } else {
                BlockUse::InUse(Purpose::Log)
            };
            assert_eq!((self.blocks.use_of(pbn), self.blocks.erases[pbn.index()]), (used, self.erases[&pbn]), "{pbn}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_owner_is_its_model(steps in steps(), place in proptest::option::of(0..BLOCKS as usize)) {
        let mut model = Model::new(place);
        for step in steps {
            model.step(step);
        }
    }
}

/// A second failure of the same block costs nothing, and a bad block that is given back stays bad.
#[test]
fn a_block_fails_once() {
    let mut model = Model::new(None);
    let pbn = model.blocks.take(AllocRequest::new(Purpose::Data)).expect("all are free");
    model.blocks.has_failed(pbn);
    model.blocks.has_failed(pbn);
    assert_eq!(model.blocks.spares(), Spares { used: 1, ..SPARES });
    for _ in 0..2 {
        model.blocks.give_back(&mut model.flash, pbn).expect("flash that does not fail");
        assert_eq!((model.blocks.accounted_for(9), model.blocks.free()), (Some(8), 8));
    }
}

/// Wants one very block for merges.
#[derive(Debug)]
struct Choosy;

impl WearPolicy for Choosy {
    fn wants(&mut self, alloc: AllocRequest) -> Option<Pbn> {
        (alloc.purpose == Purpose::Merge).then_some(Pbn::new(7))
    }
}

impl WearScheme for Choosy {
    const ENTRY: Entry = Entry {
        name: "choosy",
        family: "wear",
        source: "test",
        capabilities: Capabilities::NONE,
        memory: Memory::NONE,
        parameters: &[],
        header: "",
    };

    fn new(_layout: &Layout, _values: &Values) -> Self {
        Self
    }
}

#[test]
fn a_policy_gets_the_very_block_that_it_wants_while_it_is_free() {
    let mut layout = layout(BLOCKS, 4, 8);
    layout.wear = Some(Wear::of::<Choosy>(Values::none()));
    let mut blocks = BlockManager::new(&layout, SPARES);
    let merge = || AllocRequest::of(Purpose::Merge, flash::Lbn::new(1));
    let taken = [blocks.take(AllocRequest::new(Purpose::Log)), blocks.take(merge()), blocks.take_on(0, merge())];
    assert_eq!(taken, [0, 7, 1].map(|pbn| Some(Pbn::new(pbn))));
    assert_eq!(blocks.free(), BLOCKS as usize - 3);
    blocks.put(Pbn::new(7));
    assert_eq!(blocks.take_on(0, AllocRequest::new(Purpose::Data)), Some(Pbn::new(2)));
    assert_eq!(blocks.use_of(Pbn::new(7)), BlockUse::Free);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "PBN 0 is free, and given back")]
fn a_free_block_that_is_given_back_is_named() {
    let mut model = Model::new(None);
    model.blocks.give_back(&mut model.flash, Pbn::new(0)).expect("flash that does not fail");
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "is marked bad but has not failed")]
fn a_whole_block_that_is_marked_bad_is_named() {
    let mut model = Model::new(None);
    let pbn = model.blocks.take(AllocRequest::new(Purpose::Data)).expect("all are free");
    model.blocks.mark_bad(&mut model.flash, pbn);
}
