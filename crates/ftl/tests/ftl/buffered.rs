//! bdb's buffers by hand (BDB 4-6, figs. 1-6): which page goes where, when, and what the request
//! waits for, with the prices of BDB's table 1.

use std::collections::BTreeSet;

use crate::kit::{PromisingDies, empty, page, priced};
use flash::{Lpn, Pbn, Ppn, Role};
use ftl::{AnyDevice, Drive, FlashOp, FlashPort, Layout, Nanos, Note, Request, Stack, registry};
use testkit::TestFlash;

const FLASH: TestFlash = TestFlash::new(16, 16).channels(8);
const LOGICAL_PAGES: u32 = 800;

const PROGRAM_US: u64 = 200;

struct Bench {
    dies: PromisingDies,
    flash: FlashPort<AnyDevice>,
    ftl: Drive<AnyDevice>,
    now: Nanos,
}

impl Bench {
    fn new(settings: &[(&str, &str)]) -> Self {
        // The times of BDB's table 1, without a bus.
        let dies = PromisingDies::new([25, PROGRAM_US, 1500]);
        let chip = FLASH.chip();
        let layout = Layout::of(&chip, LOGICAL_PAGES, 1);
        let ftl = registry::create(&Stack::with("bdb", settings.iter().copied()), &layout).expect("accepted");
        Self { flash: FlashPort::new(priced(chip, dies.clone())), dies, ftl, now: Nanos::ZERO }
    }

    /// Writes a page when all is idle; returns its response in microseconds.
    fn write(&mut self, lpn: u32) -> u64 {
        self.now += Nanos(1_000_000_000);
        self.write_at(lpn, self.now)
    }

    fn write_at(&mut self, lpn: u32, at: Nanos) -> u64 {
        self.flash.begin(at);
        self.ftl.write(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &[page(1000 + lpn)]).expect("written");
        self.flash.wait().since(at).0 / 1000
    }

    fn read(&mut self, lpn: u32) -> (u32, u64) {
        self.now += Nanos(1_000_000_000);
        self.flash.begin(self.now);
        let mut out = empty(1);
        self.ftl.read(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &mut out).expect("read");
        (out[0].number() as u32, self.flash.wait().since(self.now).0 / 1000)
    }

    fn programmed(&mut self) -> Vec<u32> {
        let programs = self.dies.take_performed().into_iter().filter(|(task, _)| task.op == FlashOp::Program);
        programs.map(|(task, _)| task.die).collect()
    }

    /// Where data pages lie.
    fn places(&self) -> Vec<(u32, Ppn)> {
        let chip = self.flash.chip();
        let data =
            |page| chip.tag(Ppn::at(page)).filter(|tag| tag.role == Role::Data).map(|tag| (tag.logical, Ppn::at(page)));
        (0..chip.geometry().pages() as usize).filter_map(data).collect()
    }
}

/// Pages far from each other: every tenth.
fn random_page(i: u32) -> u32 {
    10 * (i * 37 % 80)
}

#[test]
fn eight_random_pages_go_to_eight_channels_at_once_and_only_the_ninth_write_waits() {
    let mut bench = Bench::new(&[]);
    // A register is written; from the second page on the one before moves from register to
    // register.
    let responses: Vec<_> = (0..9).map(|i| bench.write(random_page(i))).collect();
    assert_eq!(responses, [1, 3, 3, 3, 3, 3, 3, 3, 3 + 1 + PROGRAM_US]);
    let channels: BTreeSet<_> = bench.programmed().into_iter().collect();
    assert_eq!(channels.len(), 8);
    bench.ftl.check(&bench.flash).expect("invariants hold");
}

#[test]
fn seven_sequential_pages_go_into_one_block_page_after_page() {
    let mut bench = Bench::new(&[]);
    let responses: Vec<_> = (100..108).map(|lpn| bench.write(lpn)).collect();
    assert_eq!(responses, [1, 3, 3, 3, 3, 3, 3, 3 + 1 + 7 * PROGRAM_US]);
    let places = bench.places();
    let first = places[0].1;
    assert_eq!(places, (0..7).map(|i| (100 + i, Ppn::new(first.get() + i))).collect::<Vec<_>>());
    // The next run goes on in the same block.
    (300..316).for_each(|lpn| {
        bench.write(lpn);
    });
    let dies: BTreeSet<_> = bench.programmed().into_iter().collect();
    assert_eq!(dies.len(), 2, "21 pages: a block of 16, and the next one: {dies:?}");
}

#[test]
fn small_requests_in_a_row_are_sequential_and_the_rest_of_the_stream_is_not() {
    let mut bench = Bench::new(&[("sequential_buffer", "2"), ("max_valid_channels", "2")]);
    for lpn in [10, 11, 12, 50, 51, 7, 8, 9] {
        bench.write(lpn);
    }
    // Sequential: 10 11 | 50 7 |; random: 12 51 |; 8 and 9 wait.
    let geometry = *bench.flash.geometry();
    let block_of = |lpn: u32| -> Option<Pbn> {
        bench.places().iter().find(|(logical, _)| *logical == lpn).map(|&(_, ppn)| geometry.block_of(ppn))
    };
    let run = block_of(10);
    assert!(run.is_some() && [11, 50, 7].iter().all(|&lpn| block_of(lpn) == run));
    let random: BTreeSet<_> = [12, 51].iter().map(|&lpn| block_of(lpn).map(|pbn| geometry.die_of(pbn))).collect();
    assert!(random.len() == 2 && !random.contains(&None), "{random:?}");
    assert_eq!((block_of(8), block_of(9)), (None, None));
    assert_eq!(bench.ftl.buffered().pages, 2);
}

#[test]
fn what_waits_is_read_from_its_register_and_what_does_not_from_flash() {
    let mut bench = Bench::new(&[]);
    (0..9).for_each(|i| {
        bench.write(random_page(i));
    });
    assert_eq!(bench.read(random_page(8)), (1000 + random_page(8), 1));
    assert_eq!(bench.read(random_page(0)), (1000 + random_page(0), 25));
    assert_eq!(bench.flash.tally().controller_ns(), 1000 * (9 + 8 * 2 + 8 + 1), "9 come, 8 move, 8 leave, 1 is read");
}

#[test]
fn a_channel_that_collects_takes_no_part() {
    let mut bench = Bench::new(&[]);
    bench.flash.begin(Nanos(5_000_000));
    bench.flash.on_collected(3);
    for i in 0..8 {
        bench.write_at(random_page(i), Nanos::ZERO);
    }
    // Seven channels are valid, so seven pages are enough.
    let channels: BTreeSet<_> = bench.programmed().into_iter().collect();
    assert_eq!(channels, BTreeSet::from([0, 1, 2, 4, 5, 6, 7]));
    for i in 8..16 {
        bench.write_at(random_page(i), Nanos(6_000_000));
    }
    assert_eq!(bench.programmed().into_iter().collect::<BTreeSet<_>>().len(), 8, "the collection is over");
}

#[test]
fn a_page_that_comes_again_while_it_waits_is_programmed_once() {
    let mut bench = Bench::new(&[]);
    for _ in 0..100 {
        bench.write(42);
    }
    bench.ftl.flush(&mut bench.flash).expect("flushed");
    assert_eq!(bench.programmed().len(), 1);
    assert_eq!(bench.flash.tally().note(Note::AbsorbedPage), 99);
    assert_eq!(bench.read(42).0, 1042);
}

#[test]
fn the_buffers_of_table_1_take_17_pages_of_ram_on_eight_channels() {
    let bench = Bench::new(&[]);
    let footprint = bench.ftl.footprint();
    let buffer = footprint.structures.iter().find(|structure| structure.name == "write buffer").expect("a buffer");
    // Seven, eight and two registers, each with the LPN of its page.
    assert_eq!(buffer.ram_bytes, (7 + 8 + 2) * (512 + 4));
    assert_eq!(bench.ftl.buffered().capacity_pages, 7 + 8 + 1);
}
