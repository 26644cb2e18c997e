//! Blocks of the zone that hold last copies of trimmed pages: what has to be placed when they are
//! emptied goes to two streams.

use flash::{Lpn, Ppn};

use super::*;
use crate::api::parameter::Settings;
use crate::api::wear::{AllocRequest, Deferred};
use crate::testing::{TestDevice, device, layout};

const PAGES_PER_BLOCK: u32 = 4;
/// What one logical block, a zone of five and the map need when no block may fail.
const BLOCKS: u32 = 14;

struct Model {
    flash: FlashPort<TestDevice>,
    waftl: Waftl,
}

impl Model {
    /// A device of which this many blocks may fail.
    fn new(spares: u32) -> Self {
        let settings: Settings = [("gc_threshold", "1"), ("gc_free", "0"), ("zone_blocks", "5")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let values = Values::check("waftl", Waftl::ENTRY.parameters, &settings).expect("valid");
        let layout = layout(BLOCKS + spares, PAGES_PER_BLOCK, PAGES_PER_BLOCK);
        let waftl = Waftl::format(&layout, &values).expect("fits");
        assert_eq!(waftl.pages.blocks.spares().total, spares);
        Self { flash: device(BLOCKS + spares, PAGES_PER_BLOCK), waftl }
    }

    fn write(&mut self, lpn: u32) {
        self.waftl.write(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &[()]).expect("written");
    }

    fn trim(&mut self, lpn: u32) {
        self.waftl.trim(&mut self.flash, &Request::new(Lpn::new(lpn), 1)).expect("trimmed");
    }

    /// Has the last copies of a page replaced when they are erased, since older ones may come back.
    fn guard(&mut self, lpn: u32) {
        self.write(lpn);
        self.trim(lpn);
        Mapping::flush(&mut self.waftl, &mut self.flash).expect("written down");
        self.write(lpn);
    }

    fn free(&self) -> usize {
        self.waftl.pages.blocks.free()
    }

    fn in_zone(&self, lpn: u32) -> Option<Ppn> {
        self.waftl.pages.foreign_pages.zone.at(Lpn::new(lpn))
    }

    fn block_of(&self, ppn: Ppn) -> Pbn {
        self.flash.geometry().block_of(ppn)
    }

    /// Writes page 0 until the zone has opened a block and only so many are free, and then page 1,
    /// whose trim is pending.
    fn fill(&mut self, free: usize) -> Pbn {
        self.guard(1);
        while self.free() > free {
            self.write(0);
        }
        self.write(1);
        let copy = self.in_zone(1).expect("in the zone");
        self.trim(1);
        let [here, there] = [copy, self.in_zone(0).expect("in the zone")].map(|ppn| self.block_of(ppn));
        assert_eq!(here, there, "one block holds a page and the last copy of another");
        here
    }

    fn relocate(&mut self, pbn: Pbn) -> RelocateOutcome {
        let outcome = self.waftl.relocate_block(&mut self.flash, pbn).expect("emptied or refused");
        self.waftl.check(&self.flash).expect("invariants");
        outcome
    }
}

/// Its page opens a block of the zone and the last copy one of collected pages, but the die had
/// only one.
#[test]
fn block_of_the_zone_with_a_pending_trim_can_be_emptied() {
    let mut model = Model::new(0);
    let pbn = model.fill(1);
    assert_eq!(model.relocate(pbn), RelocateOutcome::Done);
    assert!(model.free() >= 1, "the die keeps its reserve");
    assert!(model.in_zone(0).is_some_and(|ppn| model.block_of(ppn) != pbn), "page 0 has stayed in the zone");
    (0..200).for_each(|lpn| model.write(lpn % PAGES_PER_BLOCK));
    model.waftl.check(&model.flash).expect("invariants");
}

#[test]
fn block_of_the_zone_stays_when_two_blocks_cannot_be_had() {
    let mut model = Model::new(0);
    let pbn = model.fill(1);
    while model.waftl.pages.space.take_fewest_valid_of_all().is_some() {}
    let before = [0, 1].map(|lpn| model.in_zone(lpn));
    assert_eq!(model.relocate(pbn), RelocateOutcome::Deferred(Deferred::NoRoom));
    assert_eq!((model.free(), [0, 1].map(|lpn| model.in_zone(lpn))), (1, before));
}

/// Failures have taken the last free block, and the last copy would find no place: the device must
/// not end for the sake of a block that nobody needs yet.
#[test]
fn spent_block_with_a_pending_trim_waits_for_a_free_block() {
    let mut model = Model::new(1);
    let pbn = model.fill(2);
    while !model.waftl.pages.space.is_pinned(pbn) {
        model.write(0);
    }
    model.waftl.pages.foreign_pages.zone.fill(u64::from(5 * PAGES_PER_BLOCK));
    model.waftl.make_room(&mut model.flash).expect("migrated");
    let blocks = &mut model.waftl.pages.blocks;
    blocks.has_failed(pbn);
    while blocks.take_on(0, AllocRequest::new(Purpose::Reserve)).is_some() {}
    model.waftl.spent = EraseQueue::default();
    model.waftl.spent.add([pbn]);
    model.waftl.online = [usize::MAX, 0];
    model.waftl.collect_online(&mut model.flash).expect("nothing is erased");
    assert!(model.waftl.pages.space.is_spent(pbn), "a collection will take it");
    assert!(model.waftl.pages.blocks.spares().admit().is_ok());
}
