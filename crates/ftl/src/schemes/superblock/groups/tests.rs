//! Superblocks against a model: where the newest copy of each page must lie.

use std::collections::BTreeMap;

use flash::{Flash, Lpn, Role};
use random::SeededRng;

use super::*;
use crate::testing::{TestDevice, device, layout};

const PAGES: u32 = 4;
const LOGICAL_PAGES: u32 = 24;

/// A device, its superblocks, and where each logical page lies.
struct Model {
    flash: FlashPort<TestDevice>,
    superblocks: Superblocks,
    blocks: BlockManager,
    at: BTreeMap<u32, Ppn>,
}

impl Model {
    fn new(physical: u32, size: u32, most_extra: u32, extra_limit: u32) -> Self {
        let layout = layout(physical, PAGES, LOGICAL_PAGES);
        let spares = Superblocks::require(&layout, "superblock", extra_limit).expect("room");
        let superblocks = Superblocks::new(&layout, size, most_extra, extra_limit);
        let blocks = BlockManager::new(&layout, spares);
        Self { flash: device(physical, PAGES), superblocks, blocks, at: BTreeMap::new() }
    }

    fn put(&mut self, superblock: u32, stream: Stream, lpn: u32) -> Ppn {
        let page = (Label::new(lpn, Role::Data), &Content::New(()));
        let put = self.superblocks.program(&mut self.flash, &mut self.blocks, superblock, stream, page);
        let to = put.expect("room").expect("nothing fails");
        if let Some(old) = self.at.insert(lpn, to) {
            self.superblocks.release(old);
        }
        to
    }

    fn write(&mut self, lpn: u32) {
        let superblock = self.superblocks.of_page(Lpn::new(lpn)).0;
        while let Step::Collect(victim) =
            self.superblocks.prepare(&mut self.blocks, superblock, Hint::NONE).expect("there is always a victim")
        {
            let owner = self.superblocks.owner(victim);
            for from in self.superblocks.begin_emptying(victim) {
                let moved = self.flash.chip().peek(from).expect("a valid page is programmed");
                self.put(owner, Stream::Cold, moved);
            }
            self.superblocks.reclaim(&mut self.flash, &mut self.blocks, victim).expect("erased");
        }
        self.put(superblock, Stream::Hot, lpn);
        self.superblocks.on_written(superblock);
    }

    fn holds(&self) {
        self.superblocks.check(&self.flash, &self.blocks, "free", "bounds").expect("invariants");
        assert_eq!(self.superblocks.valid_pages(), self.at.len() as u64);
        for (&lpn, &ppn) in &self.at {
            assert!(self.superblocks.is_valid(ppn) && self.flash.chip().peek(ppn) == Some(lpn), "{}", Lpn::new(lpn));
            let pbn = self.superblocks.geometry.block_of(ppn);
            assert_eq!(self.superblocks.owner(pbn), self.superblocks.of_page(Lpn::new(lpn)).0, "{pbn}");
        }
    }
}

#[test]
fn pages_stay_in_their_superblock_and_room_never_runs_out() {
    for (size, most_extra, extra_limit) in [(1, 1, 1), (1, 2, 3), (2, 1, 2), (3, 2, 2), (4, 1, 1), (6, 3, 3)] {
        let mut model = Model::new(LOGICAL_PAGES / PAGES + extra_limit + 1, size, most_extra, extra_limit);
        let mut rng = SeededRng::new(u64::from(size));
        for lpn in 0..LOGICAL_PAGES {
            model.write(lpn);
        }
        for step in 0..2_000 {
            // Half of the pages are hot, so that blocks end up without valid pages and with all.
            let range = if step % 4 == 0 { LOGICAL_PAGES } else { LOGICAL_PAGES / 2 };
            model.write((rng.bits() % u64::from(range)) as u32);
            if step % 16 == 0 {
                model.holds();
            }
        }
        model.holds();
        assert!(model.superblocks.extra() <= extra_limit, "{} extra blocks", model.superblocks.extra());
    }
}

#[test]
fn what_leaves_a_block_does_not_land_in_it_again() {
    let mut model = Model::new(10, 1, 2, 3);
    let open = model.put(0, Stream::Cold, 0);
    let victim = model.superblocks.geometry.block_of(open);
    assert_eq!(model.superblocks.begin_emptying(victim), [open]);
    let to = model.put(0, Stream::Cold, 0);
    assert_ne!(model.superblocks.geometry.block_of(to), victim);
    model.superblocks.reclaim(&mut model.flash, &mut model.blocks, victim).expect("erased");
    model.holds();
}

/// A superblock of one logical block, found in as many blocks as it has pages: the programs of all
/// others had failed, and the power was cut before any was emptied.
#[test]
fn a_superblock_that_was_found_in_too_many_blocks_loses_them_and_gets_no_more() {
    let mut model = Model::new(14, 1, 1, 1);
    let pages: Vec<_> = (0..PAGES).map(|lpn| (lpn, model.superblocks.geometry.page(Pbn::new(lpn), 0))).collect();
    for &(lpn, ppn) in &pages {
        model.flash.put(ppn, Label::new(lpn, Role::Data), Content::New(())).expect("erased");
        model.at.insert(lpn, ppn);
    }
    let layout = layout(14, PAGES, LOGICAL_PAGES);
    let valid = pages.iter().map(|&(_, ppn)| (ppn, 0));
    model.superblocks.adopt(&mut model.flash, &mut model.blocks, &layout, valid).expect("nothing fails");
    let mut most = model.superblocks.all[0].blocks.len();
    assert_eq!(most, PAGES as usize);
    for step in 0..200 {
        model.write(if step % 3 == 0 { step % LOGICAL_PAGES } else { step % PAGES });
        model.holds();
        let now = model.superblocks.all[0].blocks.len();
        assert!(now <= most.max(3), "{now} blocks after {most}");
        most = now;
    }
    assert!(most <= 2, "{most} blocks");
}
