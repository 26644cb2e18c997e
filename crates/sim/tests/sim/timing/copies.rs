//! Which copy of a translation page a miss reads, on a priced device: RFTL fig. 3 with the times of
//! RFTL tab. 5, and an erase behind an idle bus.
//!
//! The scheme has one entry in RAM, so that every look-up misses; the copies of a translation page
//! lie on two channels of two dies each.

use flash::{Chip, ChipOptions, Flash, Full, Geometry, Lpn, Pbn, Role, Shape};
use ftl::engines::demand::machine::DemandPaged;
use ftl::schemes::{dftl::Dftl, rftl::Rftl};
use ftl::{Cause, Drive, FlashOp, FlashPort, Layout, Mapping, Moment, Nanos, Request, Scheme, Task, Timed, Timing};
use sim::{Abilities, EventTiming, Latencies, Model, SchedulingPolicy, Suspension};

/// One type for all tests here that need one of their own: schemes are compiled for it once more.
type PricedDevice = Timed<Chip<Full<u32>>, EventTiming>;

/// RFTL tab. 5, in nanoseconds.
const LATENCIES: Latencies = Latencies::of_slc([25_000, 200_000, 1_500_000, 100_000]);
const READ_US: u64 = 125;
const SHAPE: Shape = Shape {
    channels: 2,
    dies_per_channel: 2,
    planes_per_die: 1,
    blocks_per_plane: 16,
    pages_per_block: 8,
    page_size_bytes: 512,
};
const LOGICAL_PAGES: u32 = 256;

struct Bench {
    flash: FlashPort<PricedDevice>,
    ftl: Drive<PricedDevice>,
}

impl Bench {
    /// A device with a translation page of 128 entries in use, idle at time zero.
    fn new<S>(settings: &[(&str, &str)], abilities: Abilities) -> Self
    where
        S: Scheme + Mapping<PricedDevice> + 'static,
    {
        let geometry = Geometry::new(SHAPE).expect("valid");
        let chip = Chip::new(geometry, &ChipOptions::default());
        let layout = Layout::of(&chip, LOGICAL_PAGES, 1);
        let settings = [&[("cmt", "64"), ("cmt_policy", "lru")], settings].concat();
        let ftl = testkit::drive_of::<S, _>(&settings, &layout).expect("accepted");
        let timing = EventTiming::new(&geometry, LATENCIES, Model::Parallel, abilities);
        let mut bench = Self { flash: FlashPort::new(Timed { chip, timing }), ftl };
        for lpn in 0..LOGICAL_PAGES {
            bench.ftl.write(&mut bench.flash, &Request::new(Lpn::new(lpn), 1), &[lpn]).expect("written");
        }
        // What leaves the cache from now on is clean.
        (0..16).for_each(|lpn| assert_eq!(bench.read(LOGICAL_PAGES - 1 - lpn, 0).0, LOGICAL_PAGES - 1 - lpn));
        bench.flash.restart();
        bench
    }

    /// What a page holds, and when it was read.
    fn read(&mut self, lpn: u32, at_us: u64) -> (u32, u64) {
        let mut out = [0];
        self.flash.begin(Nanos(1000 * at_us));
        self.ftl.read(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &mut out).expect("read");
        (out[0], self.flash.wait().0 / 1000)
    }

    /// Dies of the copies of the translation page of LPN 0, in the order of their first
    /// programming.
    fn dies_of_copies(&self) -> Vec<u32> {
        let chip = &self.flash.device().chip;
        let geometry = *chip.geometry();
        let pages = (0..geometry.blocks()).flat_map(|pbn| (0..SHAPE.pages_per_block).map(move |page| (pbn, page)));
        let copies = pages.filter_map(|(pbn, page)| {
            let tag = chip.tag(geometry.page(Pbn::new(pbn), page))?;
            (tag.role == Role::Translation && tag.logical == 0).then_some((tag.seq, geometry.die_of(Pbn::new(pbn))))
        });
        let mut copies: Vec<_> = copies.collect();
        copies.sort_unstable();
        copies.into_iter().map(|(_, die)| die).collect()
    }

    /// Something else keeps a die at work from time zero on.
    fn occupy(&mut self, die: u32, ops: &[FlashOp]) {
        for &op in ops {
            let task = Task::new(op, Cause::Collection, Pbn::new(die * SHAPE.blocks_per_plane), die);
            self.flash.device_mut().timing.perform(task, Moment::ZERO);
        }
    }

    /// The die that holds a data page.
    fn die_of_data(&self, lpn: u32) -> u32 {
        let chip = &self.flash.device().chip;
        let geometry = *chip.geometry();
        let pages = (0..geometry.blocks()).flat_map(|pbn| (0..SHAPE.pages_per_block).map(move |page| (pbn, page)));
        let mut holding = pages.filter(|&(pbn, page)| {
            chip.tag(geometry.page(Pbn::new(pbn), page)).is_some_and(|tag| tag.role == Role::Data && tag.logical == lpn)
        });
        geometry.die_of(Pbn::new(holding.next().expect("written once").0))
    }
}

/// An LPN of the first translation page whose data lie on neither of two dies.
fn lpn_apart(bench: &Bench, dies: &[u32]) -> u32 {
    (0..100).find(|&lpn| !dies.contains(&bench.die_of_data(lpn))).expect("pages lie on all dies")
}

#[test]
fn a_miss_does_not_wait_for_what_keeps_the_other_copy_busy() {
    // RFTL fig. 3: W, R and E are under way on the channel of the translation page. On one die they
    // take 300 + 125 + 1500 µs.
    let (ops, busy_us) = ([FlashOp::Program, FlashOp::Read, FlashOp::Erase], 1925);
    let mut bench = Bench::new::<DemandPaged<Dftl>>(&[], Abilities::default());
    let &[.., only] = bench.dies_of_copies().as_slice() else { panic!("it was written") };
    bench.occupy(only, &ops);
    let lpn = lpn_apart(&bench, &[only]);
    assert_eq!(bench.read(lpn, 0), (lpn, busy_us + READ_US + READ_US), "fig. 3a: the miss waits for all three");
    for choice in ["first_done", "idle_channel"] {
        for busy in 0..2 {
            let mut bench = Bench::new::<DemandPaged<Rftl>>(&[("copy_choice", choice)], Abilities::default());
            let &[.., original, copy] = bench.dies_of_copies().as_slice() else { panic!("there are two copies") };
            assert_ne!(original / 2, copy / 2, "on different channels");
            bench.occupy([original, copy][busy], &ops);
            let lpn = lpn_apart(&bench, &[original, copy]);
            assert_eq!(
                bench.read(lpn, 0),
                (lpn, READ_US + READ_US),
                "fig. 3b, {choice}: the other copy is read at once"
            );
        }
    }
}

#[test]
fn a_miss_that_reads_the_original_waits_for_it_alone() {
    for (busy, waits_us) in [(0, 1500), (1, 0)] {
        let mut bench = Bench::new::<DemandPaged<Rftl>>(&[("copy_choice", "original")], Abilities::default());
        let &[.., original, copy] = bench.dies_of_copies().as_slice() else { panic!("there are two copies") };
        bench.occupy([original, copy][busy], &[FlashOp::Erase]);
        let lpn = lpn_apart(&bench, &[original, copy]);
        assert_eq!(bench.read(lpn, 0), (lpn, waits_us + 2 * READ_US));
    }
}

#[test]
fn a_die_that_erases_behind_an_idle_bus_is_busy() {
    //                0        125      250                    1500 µs
    // original  die  |================= erase ===============|
    //           bus  ..................... idle ..................
    // copy      die  |= read =|
    let suspends_programs = SchedulingPolicy::FIFO.with_suspension(FlashOp::Program, Suspension::default());
    for scheduling in [SchedulingPolicy::FIFO, suspends_programs] {
        for choice in ["first_done", "idle_channel"] {
            let mut bench = Bench::new::<DemandPaged<Rftl>>(
                &[("copy_choice", choice)],
                Abilities { scheduling, ..Abilities::default() },
            );
            let &[.., original, copy] = bench.dies_of_copies().as_slice() else { panic!("there are two copies") };
            bench.occupy(original, &[FlashOp::Erase]);
            let lpn = lpn_apart(&bench, &[original, copy]);
            assert_eq!(bench.read(lpn, 0), (lpn, 2 * READ_US), "{choice}, {scheduling:?}");
        }
    }
}

#[test]
fn an_erase_beside_the_copy_makes_the_channel_busy_but_not_the_read_late() {
    // The other die of the original's channel erases. By the paper's rule that channel is busy; the
    // read would be done as soon.
    for (choice, reads_original) in [("first_done", true), ("idle_channel", false)] {
        let mut bench = Bench::new::<DemandPaged<Rftl>>(&[("copy_choice", choice)], Abilities::default());
        let &[.., original, copy] = bench.dies_of_copies().as_slice() else { panic!("there are two copies") };
        bench.occupy(original ^ 1, &[FlashOp::Erase]);
        let busy = |bench: &Bench| bench.flash.device().timing.die_busy_ns().collect::<Vec<_>>();
        let before = busy(&bench);
        let lpn = lpn_apart(&bench, &[original, original ^ 1, copy]);
        assert_eq!(bench.read(lpn, 0), (lpn, 2 * READ_US));
        let chosen = if reads_original { original } else { copy } as usize;
        assert_eq!(busy(&bench)[chosen] - before[chosen], 1000 * READ_US, "{choice}");
    }
}

#[test]
fn a_write_that_misses_waits_only_if_it_is_told_to() {
    for (write_misses, done_us) in [("wait", READ_US + 300), ("background", 300)] {
        let mut bench = Bench::new::<DemandPaged<Dftl>>(&[("write_misses", write_misses)], Abilities::default());
        bench.flash.begin(Nanos::ZERO);
        bench.ftl.write(&mut bench.flash, &Request::new(Lpn::new(0), 1), &[7]).expect("written");
        let done = bench.flash.wait().0 / 1000;
        assert!((done_us..done_us + 125).contains(&done), "{write_misses}: {done} µs");
        assert_eq!(bench.read(0, 10_000).0, 7);
        bench.ftl.check(&bench.flash).expect("invariants hold");
    }
}
