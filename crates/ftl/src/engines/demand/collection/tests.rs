//! Room for the whole table after a power cut, on devices as full as they may be.

use flash::{Chip, Fault, FaultPlan, Faulty, Flash, Full, Tear};
use random::SeededRng;
use testkit::TestFlash;

use super::*;
use crate::api::layout::Layout;
use crate::api::mapping::{Mapping, Scheme};
use crate::api::parameter::{Settings, Values};
use crate::api::request::Request;
use crate::port::device::Timed;
use crate::port::error::RecoverError;
use crate::port::timing::Untimed;
use crate::schemes::dftl::Dftl;

type Tested = Timed<Faulty<u64>, Untimed>;

/// A device as full as it may be, of which the power fails again and again.
struct Model {
    flash: FlashPort<Tested>,
    layout: Layout,
    values: Values,
    scheme: DemandPaged<Dftl>,
    /// What each page holds.
    held: Vec<u64>,
    stamp: u64,
    rng: SeededRng,
}

impl Model {
    /// All entries are cached, so hardly any of the table lies on flash before the first cut, whose
    /// six pages need two blocks of four then.
    fn full(dies: u32, victim: &str, seed: u64) -> Self {
        let chip: Chip<Full<u64>> = TestFlash::new(96 / dies, 4).dies_per_channel(dies).chip();
        let settings: Settings = [("cmt", "64KiB"), ("mapping_bytes", "8"), ("gc_threshold", "1"), ("victim", victim)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let values = Values::check("dftl", DemandPaged::<Dftl>::ENTRY.parameters, &settings).expect("valid");
        let fits = |&pages: &u32| DemandPaged::<Dftl>::format(&Layout::of(&chip, pages, seed), &values).is_ok();
        let pages = (1..chip.geometry().pages()).rev().find(fits).expect("some fit");
        let layout = Layout::of(&chip, pages, seed);
        let scheme = DemandPaged::format(&layout, &values).expect("fits");
        let flash = FlashPort::new(Timed { chip: Faulty::new(chip, FaultPlan::default()), timing: Untimed });
        let rng = SeededRng::new(seed);
        let mut model = Self { flash, layout, values, scheme, held: vec![0; pages as usize], stamp: 0, rng };
        (0..pages).for_each(|lpn| model.write(lpn).expect("written"));
        model
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.rng.bits() % limit
    }

    fn write(&mut self, lpn: u32) -> Result<(), FtlError> {
        self.stamp += 1;
        self.scheme.write(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &[self.stamp])?;
        self.held[lpn as usize] = self.stamp;
        Ok(())
    }

    /// Writes until the power fails at some operation; the last page has been written then or not.
    fn write_until_cut(&mut self) -> u32 {
        let (after, tear) = (self.below(1000), Tear::ALL[self.below(4) as usize]);
        self.flash.device_mut().chip.inject(after, Fault::Cut(tear));
        loop {
            let lpn = self.below(self.held.len() as u64) as u32;
            match self.write(lpn) {
                Ok(()) => {}
                Err(error) if error.is_power_cut() => return lpn,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Mounts the device; the power may fail meanwhile, and it is mounted again. Returns how many
    /// blocks were collected on the way.
    fn mount(&mut self) -> u64 {
        let mut collected = 0;
        loop {
            let plan = match self.below(2) {
                0 => FaultPlan::default(),
                _ => FaultPlan::cut(self.below(400), Tear::ALL[self.below(4) as usize]),
            };
            self.flash.device_mut().chip.restore_power(plan);
            self.flash.restart();
            let before = self.flash.tally().note(Note::Collection);
            let recovered = DemandPaged::recover(&self.layout, &self.values, &mut self.flash);
            collected += self.flash.tally().note(Note::Collection) - before;
            match recovered {
                Ok(scheme) => {
                    self.scheme = scheme;
                    self.flash.device_mut().chip.restore_power(FaultPlan::default());
                    return collected;
                }
                Err(RecoverError::Ftl(error)) if error.is_power_cut() => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Everything is there, but for a page that was being written.
    fn holds(&mut self, case: &str, doubtful: u32) {
        self.scheme.check(&self.flash).expect("invariants");
        assert!(self.scheme.blocks.spares().admit().is_ok(), "{case}: read-only without a failed block");
        for lpn in 0..self.held.len() as u32 {
            let ppn = self.scheme.table.entry(Lpn::new(lpn)).expect("mapped");
            let found = self.flash.device_mut().chip.read(ppn).expect("a page").data;
            if lpn == doubtful && found == self.stamp {
                self.held[lpn as usize] = found;
            }
            assert_eq!(found, self.held[lpn as usize], "{case}: page {lpn}");
        }
    }
}

/// Nothing has failed, so the device must be mounted for writing, whenever the power fails: what is
/// collected to make room for the table must write no translation pages, and what writes the table
/// must not use up what later collections count on.
#[test]
fn a_full_device_is_mounted_with_room_for_its_whole_table() {
    let mut collected = 0;
    for (dies, victim) in [1, 2, 4].into_iter().flat_map(|dies| [(dies, "random"), (dies, "greedy")]) {
        for seed in 0..8 {
            let mut model = Model::full(dies, victim, seed);
            for cut in 0..4 {
                let doubtful = model.write_until_cut();
                collected += model.mount();
                model.holds(&format!("{dies} dies, {victim}, seed {seed}, cut {cut}"), doubtful);
            }
        }
    }
    assert!(collected > 100, "{collected} collections made room");
}

/// Room for what a collection moves is looked for where it moves it.
#[test]
fn translation_pages_go_to_translation_blocks() {
    let found = [0, COLLECTED, TRANSLATION].map(|from| Model::full(2, "greedy", 1).scheme.destination(from));
    assert_eq!(found, [COLLECTED, COLLECTED, TRANSLATION]);
}
