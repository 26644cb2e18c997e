//! The sequential area against a list of its blocks, the least recently written first.

use flash::{Lpn, Role};
use host::Hint;
use random::SeededRng;

use super::*;
use crate::api::wear::{AllocRequest, Purpose};
use crate::blocks::data_blocks::DataBlocks;
use crate::blocks::manager::BlockManager;
use crate::engines::log_buffer::space::LogCounting;
use crate::port::flash_port::FlashPort;
use crate::port::label::Content;
use crate::testing::{TestDevice, device, layout};

const BLOCKS: u32 = 24;
const PAGES: u32 = 4;
const LOGICAL_BLOCKS: u32 = 8;
const THRESHOLD: u32 = 1;

/// A block of the area as the model knows it.
#[derive(Clone, Copy)]
struct ModelBlock {
    slot: Slot,
    lbn: Lbn,
    filled: u32,
    in_place: bool,
}

struct Model {
    flash: FlashPort<TestDevice>,
    log: LogSpace,
    data: DataBlocks,
    blocks: BlockManager,
    area: SequentialArea,
    admits: AdmissionRule,
    /// The least recently written first.
    known: Vec<ModelBlock>,
    limit: u32,
    /// Blocks that left because a new one was opened, and because the area became smaller; of the
    /// latter those in place.
    left: [u32; 3],
}

impl Model {
    fn new(admits: AdmissionRule) -> Self {
        let layout = layout(BLOCKS, PAGES, LOGICAL_BLOCKS * PAGES);
        let spares = DataBlocks::require(&layout, "log", 5, "five log blocks").expect("room");
        Self {
            flash: device(BLOCKS, PAGES),
            log: LogSpace::new(&layout, LogCounting::Nothing),
            data: DataBlocks::new(&layout),
            blocks: BlockManager::new(&layout, spares),
            area: SequentialArea::new(&layout, admits, 2, THRESHOLD),
            admits,
            known: Vec::new(),
            limit: 2,
            left: [0; 3],
        }
    }

    fn of(&self, lbn: Lbn) -> Option<usize> {
        self.known.iter().position(|known| known.lbn == lbn)
    }

    /// Whether the area takes a page of a long request, and the block that has room for it.
    fn expected(&self, page: LogPage) -> (bool, Option<Slot>) {
        let block = self.of(page.lbn).map(|at| self.known[at]).filter(|known| known.filled < PAGES);
        match self.admits {
            AdmissionRule::AnyPage => (true, block.map(|known| known.slot)),
            AdmissionRule::InPlace => {
                let next = block.filter(|known| known.in_place && known.filled == page.offset);
                (next.is_some() || page.offset == 0, next.map(|known| known.slot))
            }
        }
    }

    fn on_evict(&mut self, slot: Slot, why: usize) {
        let at = self.known.iter().position(|known| known.slot == slot).expect("a block of the area");
        self.known.remove(at);
        self.area.on_left(&self.log, slot);
        let pbn = self.log.remove(slot).expect("in the log").pbn;
        self.blocks.give_back(&mut self.flash, pbn).expect("erased");
        self.left[why] += 1;
    }

    fn write(&mut self, first: u32, pages: u32) {
        self.area.request(pages);
        for lpn in (first..first + pages).map(Lpn::new) {
            let (lbn, offset) = self.log.geometry().split_logical(lpn);
            let page = LogPage { lpn, lbn, offset, moved: false, hint: Hint::NONE };
            let (is_taken, in_block) = self.expected(page);
            let is_taken = is_taken && pages > THRESHOLD && self.limit > 0;
            let Some(place) = self.area.place(&mut self.log, page) else {
                assert!(!is_taken, "{page:?} was not taken");
                continue;
            };
            assert!(is_taken, "{page:?} was taken");
            let slot = match (place, in_block) {
                (LogTarget::In(slot), Some(expected)) => {
                    assert_eq!(slot, expected);
                    slot
                }
                (LogTarget::New(group), None) => self.open(group, lbn),
                other => panic!("{page:?}: {other:?}"),
            };
            self.append(slot, page);
        }
    }

    fn open(&mut self, group: u32, lbn: Lbn) -> Slot {
        while let Some(victim) = self.area.victim(&mut self.log, group) {
            let expected = self.of(lbn).unwrap_or(0);
            assert_eq!(victim, self.known[expected].slot, "its own block, else the least recently written one");
            self.on_evict(victim, 0);
        }
        assert!(self.area.len() < self.limit);
        let pbn = self.blocks.take(AllocRequest::new(Purpose::Log)).expect("a free block");
        let slot = self.log.open(pbn, group);
        self.area.on_opened(&self.log, slot);
        self.known.push(ModelBlock { slot, lbn, filled: 0, in_place: true });
        slot
    }

    fn append(&mut self, slot: Slot, page: LogPage) {
        let spaces = (&mut self.data, &mut self.blocks);
        let content = Content::New(());
        self.log.append(&mut self.flash, spaces, (slot, page.lpn), (Role::RandomLog, &content)).expect("appended");
        self.area.on_appended(&self.log, slot, page);
        let at = self.known.iter().position(|known| known.slot == slot).expect("a block of the area");
        let mut known = self.known.remove(at);
        known.in_place &= known.filled == page.offset;
        known.filled += 1;
        self.known.push(known);
    }

    fn resize(&mut self, limit: u32) {
        self.limit = limit;
        self.area.set_limit(limit);
        while self.area.len() > limit {
            let cost = |known: &&ModelBlock| (!known.in_place, known.filled < PAGES);
            let expected = *self.known.iter().min_by_key(cost).expect("a block");
            assert_eq!(self.area.cheapest(&self.log), Some(expected.slot));
            self.on_evict(expected.slot, if expected.in_place { 2 } else { 1 });
        }
    }

    fn check(&self) {
        assert_eq!((self.area.len() as usize, self.area.is_empty()), (self.known.len(), self.known.is_empty()));
        for lbn in (0..LOGICAL_BLOCKS).map(Lbn::new) {
            let slot = self.of(lbn).map(|at| self.known[at].slot);
            assert_eq!(self.area.dedicated(lbn, None), slot);
            assert_eq!(self.area.dedicated(lbn, slot), None);
        }
    }
}

#[test]
fn it_keeps_one_block_for_each_logical_block_and_no_more_than_it_may() {
    for admits in [AdmissionRule::AnyPage, AdmissionRule::InPlace] {
        let mut model = Model::new(admits);
        let mut rng = SeededRng::new(3);
        let mut below = |limit: u32| (rng.bits() % u64::from(limit)) as u32;
        for _ in 0..4000 {
            if below(20) == 0 {
                model.resize(below(6));
            }
            // Half of the requests begin where a logical block does.
            let first = if below(2) == 0 { PAGES * below(LOGICAL_BLOCKS) } else { below(LOGICAL_BLOCKS * PAGES) };
            let pages = 1 + below((LOGICAL_BLOCKS * PAGES - first).min(6));
            model.write(first, pages);
            model.check();
        }
        let [replaced, out_of_place, in_place] = model.left;
        assert!(replaced > 500 && in_place > 50, "{admits:?}: {:?}", model.left);
        assert_eq!(out_of_place > 20, admits == AdmissionRule::AnyPage, "{admits:?}: {:?}", model.left);
    }
}
