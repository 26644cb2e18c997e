//! The demand-paged machine against a map, and its cache against a list of the pages looked up
//! last.

use std::collections::BTreeMap;

use flash::{Chip, Flash, Full};
use random::SeededRng;
use testkit::TestFlash;

use super::*;
use crate::api::parameter::Settings;
use crate::port::device::Timed;
use crate::port::timing::{FlashOp, Untimed};
use crate::schemes::dftl::Dftl;

type Tested = Timed<Chip<Full<u64>>, Untimed>;

/// Three translation pages of 128 entries.
const LOGICAL_PAGES: u32 = 300;

/// Entries in RAM.
const CACHED: usize = 8;

struct Model {
    flash: FlashPort<Tested>,
    scheme: DemandPaged<Dftl>,
    /// What each page holds.
    held: BTreeMap<Lpn, u64>,
    /// The pages in the cache, the one looked up last at the end.
    cached: Vec<Lpn>,
    hits: u64,
    misses: u64,
    rng: SeededRng,
}

impl Model {
    fn new(seed: u64) -> Self {
        let chip = TestFlash::new(28, 8).dies_per_channel(2).chip();
        let layout = Layout::of(&chip, LOGICAL_PAGES, seed);
        let settings: Settings =
            [("cmt", "64"), ("cmt_policy", "lru")].map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let values = Values::check("dftl", DemandPaged::<Dftl>::ENTRY.parameters, &settings).expect("valid");
        Self {
            flash: FlashPort::new(Timed { chip, timing: Untimed }),
            scheme: DemandPaged::format(&layout, &values).expect("fits"),
            held: BTreeMap::new(),
            cached: Vec::new(),
            hits: 0,
            misses: 0,
            rng: SeededRng::new(seed),
        }
    }

    fn below(&mut self, limit: u32) -> u32 {
        (self.rng.bits() % u64::from(limit)) as u32
    }

    /// A page is looked up: from the list to its end, or in front of it in place of the first.
    fn on_lookup(&mut self, lpn: Lpn) {
        if let Some(place) = self.cached.iter().position(|&cached| cached == lpn) {
            self.cached.remove(place);
            self.hits += 1;
        } else {
            if self.cached.len() == CACHED {
                self.cached.remove(0);
            }
            self.misses += 1;
        }
        self.cached.push(lpn);
    }

    /// Half of the requests go to few pages, so that some are in the cache.
    fn any_page(&mut self) -> Lpn {
        let limit = if self.below(2) == 0 { 12 } else { LOGICAL_PAGES };
        Lpn::new(self.below(limit) * 7 % LOGICAL_PAGES)
    }

    fn step(&mut self, stamp: u64) {
        let lpn = self.any_page();
        let request = Request::new(lpn, 1);
        match self.below(10) {
            0..=5 => {
                self.scheme.write(&mut self.flash, &request, &[stamp]).expect("written");
                self.held.insert(lpn, stamp);
                self.on_lookup(lpn);
            }
            6 | 7 => {
                let mut out = [u64::MAX];
                self.scheme.read(&mut self.flash, &request, &mut out).expect("read");
                assert_eq!(out[0], self.held.get(&lpn).copied().unwrap_or_default(), "{lpn}");
                self.on_lookup(lpn);
            }
            8 => {
                self.scheme.trim(&mut self.flash, &request).expect("trimmed");
                self.held.remove(&lpn);
                self.on_lookup(lpn);
            }
            _ => {
                // Neither looks an entry up.
                self.scheme.flush(&mut self.flash).expect("flushed");
                let pbn = Pbn::new(self.below(self.flash.device().chip.geometry().blocks()));
                self.scheme.relocate_block(&mut self.flash, pbn).expect("emptied");
            }
        }
        let notes = [Note::MappingHit, Note::MappingMiss].map(|note| self.flash.tally().note(note));
        assert_eq!(notes, [self.hits, self.misses], "hits and misses after {stamp} steps");
    }

    /// The map, wherever its entries stand, against the model.
    fn check(&mut self) {
        self.scheme.check(&self.flash).expect("invariants");
        for lpn in (0..LOGICAL_PAGES).map(Lpn::new) {
            assert_eq!(self.scheme.cache.find(lpn).is_some(), self.cached.contains(&lpn), "{lpn} in the cache");
            let ppn = self.scheme.table.entry(lpn);
            assert_eq!(ppn.is_some(), self.held.contains_key(&lpn), "{lpn}");
            if let Some(ppn) = ppn {
                assert_eq!(self.flash.device_mut().chip.read(ppn).expect("a page").data, self.held[&lpn], "{lpn}");
            }
        }
    }
}

#[test]
fn the_map_is_true_wherever_its_entries_stand_and_the_cache_keeps_what_was_used_last() {
    for seed in 0..4 {
        let mut model = Model::new(seed);
        for stamp in 1..3_000 {
            model.step(stamp);
            if stamp % 20 == 0 {
                model.check();
            }
        }
        model.check();
        let tally = model.flash.tally();
        let moved = tally.count(Cause::Collection, FlashOp::Program);
        let evicted = [Note::CleanEviction, Note::DirtyEviction].map(|note| tally.note(note));
        assert_eq!(evicted.iter().sum::<u64>(), model.misses - CACHED as u64, "a miss in a full cache evicts");
        assert!(model.hits > 300 && evicted.iter().all(|&count| count > 100) && moved > 100, "{evicted:?}, {moved}");
    }
}
