//! The log map and the log blocks against a model: what was appended to each block, and which copy
//! is the newest.

use std::collections::{BTreeMap, BTreeSet};

use random::SeededRng;

use super::*;
use crate::api::wear::{AllocRequest, Purpose};
use crate::testing::{TestDevice, device, layout};

const BLOCKS: u32 = 16;
const PAGES: u32 = 4;
const LOGICAL_PAGES: u32 = 18;

/// A log block as the model knows it.
struct Written {
    pbn: Pbn,
    group: u32,
    pages: Vec<Lpn>,
    /// Whether it may still become a data block, if it is in place.
    may_switch: bool,
}

struct Model {
    flash: FlashPort<TestDevice>,
    log: LogSpace,
    data: DataBlocks,
    blocks: BlockManager,
    written: BTreeMap<Slot, Written>,
    /// The newest copy of a page, as slot and offset.
    newest: BTreeMap<Lpn, (Slot, u32)>,
    rng: SeededRng,
}

impl Model {
    fn new(seed: u64) -> Self {
        let layout = layout(BLOCKS, PAGES, LOGICAL_PAGES);
        let spares = DataBlocks::require(&layout, "log", 3, "three log blocks").expect("room");
        Self {
            flash: device(BLOCKS, PAGES),
            log: LogSpace::new(&layout, LogCounting::Associativity),
            data: DataBlocks::new(&layout),
            blocks: BlockManager::new(&layout, spares),
            written: BTreeMap::new(),
            newest: BTreeMap::new(),
            rng: SeededRng::new(seed),
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.rng.bits() % limit as u64) as usize
    }

    fn any_slot(&mut self, of: impl Fn(&Written) -> bool) -> Option<Slot> {
        let slots: Vec<_> = self.written.iter().filter(|(_, block)| of(block)).map(|(&slot, _)| slot).collect();
        (!slots.is_empty()).then(|| slots[self.below(slots.len())])
    }

    fn open(&mut self) {
        let Some(pbn) = self.blocks.take(AllocRequest::new(Purpose::Log)) else { return };
        let group = self.below(3) as u32;
        let slot = self.log.open(pbn, group);
        let block = Written { pbn, group, pages: Vec::new(), may_switch: true };
        assert!(self.written.insert(slot, block).is_none(), "slot {slot} is taken");
    }

    fn append(&mut self, lpn: Lpn) {
        let Some(slot) = self.any_slot(|block| block.pages.len() < PAGES as usize) else { return };
        let spaces = (&mut self.data, &mut self.blocks);
        let page = (Role::RandomLog, &Content::New(()));
        let at = self.log.append(&mut self.flash, spaces, (slot, lpn), page).expect("flash that does not fail");
        self.log.set_newest(lpn, Some(at));
        let Some(block) = self.written.get_mut(&slot) else { return };
        self.newest.insert(lpn, (slot, block.pages.len() as u32));
        block.pages.push(lpn);
    }

    fn forget(&mut self, lpn: Lpn) {
        self.log.set_newest(lpn, None);
        self.newest.remove(&lpn);
    }

    fn leave(&mut self) {
        let Some(slot) = self.any_slot(|_| true) else { return };
        for lpn in self.log.newest_in(&self.flash, slot) {
            self.forget(lpn);
        }
        let left = self.log.remove(slot).expect("it was there");
        let block = self.written.remove(&slot).expect("it was there");
        assert_eq!((left.pbn, left.group), (block.pbn, block.group));
        self.data.retire(&mut self.flash, &mut self.blocks, left.pbn).expect("erased");
    }

    fn step(&mut self) {
        let lpn = Lpn::at(self.below(LOGICAL_PAGES as usize));
        match self.below(20) {
            0..=2 if self.written.len() < 6 => self.open(),
            3 => self.leave(),
            4 => self.forget(lpn),
            5 => {
                let (lbn, _) = self.log.geometry().split_logical(lpn);
                self.log.never_switch(lbn);
                let owner = |block: &Written| self.log.geometry().split_logical(block.pages[0]).0;
                for block in self.written.values_mut().filter(|block| !block.pages.is_empty()) {
                    block.may_switch &= owner(block) != lbn || !in_place(block);
                }
            }
            // Runs from a block's first page, so that some log blocks are in place.
            6 => (0..PAGES).for_each(|offset| self.append(Lpn::new(lpn.get() / PAGES * PAGES % 16 + offset))),
            _ => self.append(lpn),
        }
        self.check();
    }

    fn check(&self) {
        self.log.check(&self.flash, "I").expect("each carries its number");
        assert_eq!((self.log.len(), self.log.is_empty()), (self.written.len(), self.written.is_empty()));
        let geometry = *self.log.geometry();
        for lpn in (0..LOGICAL_PAGES).map(Lpn::new) {
            let newest = self.newest.get(&lpn).map(|(slot, offset)| geometry.page(self.written[slot].pbn, *offset));
            assert_eq!(self.log.newest(lpn), newest, "{lpn}");
            let holding: Vec<_> =
                self.written.iter().filter(|(_, block)| block.pages.contains(&lpn)).map(|(&slot, _)| slot).collect();
            assert_eq!(self.log.holding(&self.flash, |wanted| wanted == lpn), holding, "{lpn}");
        }
        for (&slot, block) in &self.written {
            let known = self.log.block(slot).expect("it is in the log");
            assert_eq!((known.pbn, known.filled as usize), (block.pbn, block.pages.len()));
            assert_eq!(self.log.slot_of(block.pbn), Some(slot));
            assert_eq!(self.log.has_room(slot), block.pages.len() < PAGES as usize);
            let owner = block.pages.first().map(|&lpn| geometry.split_logical(lpn).0);
            assert_eq!(known.in_place, owner.filter(|_| block.may_switch && in_place(block)), "{:?}", block.pages);
            let is_newest = |&(offset, lpn): &(u32, &Lpn)| self.newest.get(lpn) == Some(&(slot, offset));
            let newest: Vec<_> = (0..).zip(&block.pages).filter(is_newest).map(|(_, &lpn)| lpn).collect();
            assert_eq!(self.log.newest_in(&self.flash, slot), newest);
            let owners: BTreeSet<_> = newest.iter().map(|&lpn| geometry.split_logical(lpn).0).collect();
            assert_eq!(self.log.associativity(slot), owners.len() as u32);
            let pages = |lbn: Lbn| newest.iter().filter(|&&lpn| geometry.split_logical(lpn).0 == lbn).count() as u32;
            let told: BTreeMap<_, _> = self.log.owners(slot).iter().copied().collect();
            assert_eq!(told, owners.into_iter().map(|lbn| (lbn, pages(lbn))).collect());
        }
        let programmed: usize = self.written.values().map(|block| block.pages.len()).sum();
        let share = if programmed == 0 { 1.0 } else { self.newest.len() as f64 / programmed as f64 };
        assert!((self.log.utilisation() - share).abs() < 1e-12, "{} of {share}", self.log.utilisation());
    }
}

/// Whether a block holds the first pages of one logical block in their places, and nothing else.
fn in_place(block: &Written) -> bool {
    let first = block.pages[0].get();
    first.is_multiple_of(PAGES) && (first..).zip(&block.pages).all(|(expected, lpn)| lpn.get() == expected)
}

#[test]
fn the_log_knows_of_every_page_which_copy_is_the_newest() {
    let (mut full, mut placed, mut left) = (0, 0, 0);
    for seed in 0..8 {
        let mut model = Model::new(seed);
        for _ in 0..600 {
            let before = model.written.len();
            model.step();
            full += usize::from(model.written.values().any(|block| block.pages.len() == PAGES as usize));
            placed += usize::from(model.written.values().any(|block| block.pages.len() > 1 && in_place(block)));
            left += usize::from(model.written.len() < before);
        }
    }
    assert!(full > 1_000 && placed > 300 && left > 100, "{full} with a full block, {placed} in place, {left} left");
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "is in the log already")]
fn a_block_that_comes_to_the_log_twice_is_named() {
    let mut model = Model::new(1);
    let pbn = model.blocks.take(AllocRequest::new(Purpose::Log)).expect("a free block");
    model.log.open(pbn, 0);
    model.log.open(pbn, 0);
}
