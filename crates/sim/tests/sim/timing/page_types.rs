//! Cells of several bits: pages of a block take the times of their types. Scenarios by hand; pages
//! 0, 6 and 12 of a block are a lower, a centre and an upper one of TLC.

use flash::{CellType, Chip, ChipOptions, Full, Geometry, Pbn, Ppn, Role, Shape};
use ftl::{Cause, FlashOp, FlashPort, Label, Moment, Nanos, Task, Timed, Timing};
use sim::{Abilities, EventTiming, Latencies, Model, PageTimes, Programming, SchedulingPolicy, Suspension, Units};

use super::{COLLECTION, HOST, LATENCIES, PROGRAM, READ, Scenario, block, now};

/// A lower, a centre and an upper page.
const LOWER: u32 = 0;
const CENTRE: u32 = 6;
const UPPER: u32 = 12;

fn by_type(times_ns: [u64; 3]) -> PageTimes {
    PageTimes::by_type(&times_ns).expect("three times")
}

fn tlc() -> Latencies {
    let (read_ns, program_ns) = (by_type([25, 50, 100]), by_type([200, 400, 800]));
    Latencies { cell: CellType::Tlc, read_ns, program_ns, ..LATENCIES }
}

/// An operation on a page, by its die, its plane and its offset in a block.
fn task(op: FlashOp, [die, plane, page]: [u32; 3]) -> Task {
    Task { page, ..Task::new(op, Cause::Host, block(die, plane, 0), die) }
}

/// When operations begin and end, in that order, on two dies of a channel.
fn times(abilities: Abilities, operations: &[(FlashOp, [u32; 3], u64)]) -> Vec<(u32, u64, u64)> {
    let mut device = Scenario::with(1, 2, tlc(), abilities);
    for &(op, place, at) in operations {
        device.timing.pass_until(Nanos(at));
        device.timing.perform(task(op, place), Moment::at(Nanos(at)));
    }
    device.rows().iter().map(|row| (row.0, row.3, row.4)).collect()
}

/// The times of FEMU's TLC, through the port that schemes use.
#[test]
fn tlc_pages_take_exactly_the_times_of_their_types() {
    let (channels, dies_per_channel, planes_per_die, blocks_per_plane) = (1, 1, 1, 2);
    let (pages_per_block, page_size_bytes) = (32, 512);
    let shape =
        Shape { channels, dies_per_channel, planes_per_die, blocks_per_plane, pages_per_block, page_size_bytes };
    let geometry = Geometry::new(shape).expect("a shape");
    let (reads, programs) = ([56_500, 77_500, 106_000], [820_500, 2_225_000, 5_734_000]);
    let latencies = Latencies {
        cell: CellType::Tlc,
        read_ns: by_type(reads),
        program_ns: by_type(programs),
        ..Latencies::of_slc([0, 0, 3_000_000, 0])
    };
    let timing = EventTiming::new(&geometry, latencies, Model::Parallel, Abilities::default());
    let chip = Chip::<Full<u32>>::new(geometry, &ChipOptions::default());
    let mut flash = FlashPort::new(Timed { chip, timing });
    let mut took = |work: &mut dyn FnMut(&mut FlashPort<_>)| {
        let begin = flash.wait();
        work(&mut flash);
        flash.wait().0 - begin.0
    };
    for (page, page_type) in "00000011001122001122001122001122".chars().enumerate() {
        let (ppn, page_type) = (Ppn::new(32 + page as u32), page_type.to_digit(10).expect("a digit") as usize);
        let label = Label::new(page as u32, Role::Data);
        assert_eq!(
            took(&mut |flash| flash.program(ppn, label, 7).expect("erased")),
            programs[page_type],
            "page {page}"
        );
        assert_eq!(took(&mut |flash| _ = flash.read(ppn).expect("programmed")), reads[page_type], "page {page}");
        let mut estimates = Vec::new();
        took(&mut |flash| {
            estimates = vec![flash.estimate_read(ppn).0];
            estimates.extend(FlashOp::ALL.map(|op| flash.estimate(op, Pbn::new(1)).0));
        });
        assert_eq!(estimates, [reads[page_type], reads[2], programs[2], 3_000_000], "page {page}");
    }
    assert_eq!(took(&mut |flash| flash.erase(Pbn::new(1)).expect("good")), 3_000_000);
}

#[test]
fn one_die_takes_the_time_of_each_page() {
    let of = |op, page, at| (op, [0, 0, page], at);
    let reads = [of(READ, LOWER, 0), of(READ, CENTRE, 0), of(READ, UPPER, 0)];
    assert_eq!(times(Abilities::default(), &reads), [(0, 0, 125), (0, 125, 275), (0, 275, 475)]);
    let programs = [of(PROGRAM, LOWER, 0), of(PROGRAM, CENTRE, 0), of(PROGRAM, UPPER, 0)];
    assert_eq!(times(Abilities::default(), &programs), [(0, 0, 300), (0, 300, 800), (0, 800, 1700)]);
}

#[test]
fn a_page_that_is_sensed_faster_comes_to_the_bus_before() {
    //          0   50  100 175  275
    // die 0    rrrr...tttt            an upper page
    // die 1      rtttt                a lower page, read later
    let reads = [(READ, [0, 0, UPPER], 0), (READ, [1, 0, LOWER], 50)];
    assert_eq!(times(Abilities::default(), &reads), [(0, 0, 275), (1, 50, 175)]);
}

#[test]
fn planes_sense_pages_of_their_own_types() {
    let planes = Abilities { multi_plane: true, ..Abilities::default() };
    //          0   25   125  225  325
    // plane 0  rrrr.....tttt          an upper page
    // plane 1  rtttt                  a lower page
    // die                  r....tttt
    let [upper, lower] = [(READ, [0, 0, UPPER], 0), (READ, [0, 1, LOWER], 0)];
    assert_eq!(times(planes, &[upper, lower]), [(0, 0, 125), (0, 0, 225)]);
    assert_eq!(times(planes, &[upper, lower, (READ, [0, 0, LOWER], 60)])[2], (0, 225, 350));
    // With second registers, both leave the first ones when the upper page is sensed.
    let both = Abilities { cache_read: true, ..planes };
    for pair in [[upper, lower], [lower, upper]] {
        assert_eq!(times(both, &pair), [(0, 0, 200), (0, 0, 300)]);
        assert_eq!(times(both, &[pair[0], pair[1], (READ, [0, 0, CENTRE], 0)])[2], (0, 100, 400));
    }
    let programs = [(PROGRAM, [0, 0, UPPER], 0), (PROGRAM, [0, 1, LOWER], 0)];
    assert_eq!(times(planes, &programs), [(0, 0, 400), (0, 0, 900)]);
}

#[test]
fn pages_that_are_programmed_at_once_are_estimated_as_one_program() {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 2,
        pages_per_block: 32,
        page_size_bytes: 512,
    };
    let geometry = Geometry::new(shape).expect("a shape");
    let programs = |units: Units| {
        let latencies = Latencies::of_slc([25, 200, 1500, 40]);
        let timing = EventTiming::of_units(&geometry, units, latencies, Model::Parallel, Abilities::default());
        let chip = Chip::<Full<u32>>::new(geometry, &ChipOptions::default());
        let flash = FlashPort::new(Timed { chip, timing });
        [1, 8, 9].map(|pages| flash.estimate_programs(pages, Pbn::new(0)).0)
    };
    assert_eq!(programs(Units::PAGES), [240, 8 * 240, 9 * 240]);
    // One more where others may wait already.
    assert_eq!(programs(Units::of_a_page(4, Programming::Shadow)), [2 * 240, 3 * 240, 4 * 240]);
}

#[test]
fn aligned_planes_work_at_equal_pages_alone() {
    let planes = Abilities { multi_plane: true, aligned_planes: true, ..Abilities::default() };
    let upper = (READ, [0, 0, UPPER], 0);
    let [beside, other] = [UPPER, LOWER].map(|page| (READ, [0, 1, page], 0));
    assert_eq!(times(planes, &[upper, beside]), [(0, 0, 200), (0, 0, 300)]);
    assert_eq!(times(planes, &[upper, other]), [(0, 0, 200), (0, 200, 325)]);
    // What cannot join stays in its place, and the next that can joins.
    assert_eq!(times(planes, &[upper, other, beside]), [(0, 0, 200), (0, 0, 300), (0, 300, 425)]);
    let [upper, beside, other] = [upper, beside, other].map(|(_, at, when)| (PROGRAM, at, when));
    assert_eq!(times(planes, &[upper, other]), [(0, 0, 900), (0, 900, 1200)]);
    assert_eq!(times(planes, &[upper, beside])[1].1, 0);
}

#[test]
fn pages_that_wait_for_a_second_register_keep_their_types() {
    let programs = [(PROGRAM, [0, 0, UPPER], 0), (PROGRAM, [0, 0, LOWER], 0)];
    let cached = Abilities { cache_program: true, ..Abilities::default() };
    assert_eq!(times(cached, &programs), [(0, 0, 900), (0, 100, 1100)]);
}

#[test]
fn a_suspended_program_of_an_upper_page_has_its_own_time_left() {
    // 100 ns a character
    //          0    500 625  1025
    // die      tppppr.pppp
    let operations = [(PROGRAM, [0, 0, UPPER], 0), (READ, [0, 0, LOWER], 500)];
    let scheduling = SchedulingPolicy::FIFO.with_suspension(FlashOp::Program, Suspension::default());
    let suspends = Abilities { scheduling, ..Abilities::default() };
    assert_eq!(times(suspends, &operations), [(0, 0, 500), (0, 500, 625), (0, 625, 1025)]);
}

#[test]
fn a_copy_back_senses_one_type_and_programs_another() {
    let copies = Abilities { copy_back: true, ..Abilities::default() };
    let mut device = Scenario::with(1, 1, tlc(), copies);
    let collection = |op, page, copies| Task { cause: Cause::Collection, copies, ..task(op, [0, 0, page]) };
    let read = device.timing.perform(collection(READ, UPPER, false), now());
    let program = device.timing.perform(collection(PROGRAM, CENTRE, true), read);
    assert_eq!(program.earliest, Nanos(100 + 400));
    assert_eq!(device.rows(), [(0, "read", COLLECTION, 0, 100), (0, "program", COLLECTION, 100, 500)]);
    let times = [READ, PROGRAM].map(|op| device.timing.time_ns(Cause::Collection, op));
    assert_eq!(times, [100, 400]);
}

#[test]
fn estimates_know_the_page_and_a_serial_device_its_transfers() {
    let mut device = Scenario::with(1, 2, tlc(), Abilities::default());
    device.timing.perform(task(READ, [0, 0, UPPER]), now());
    let estimate = |device: &Scenario, op, page| device.timing.estimate(task(op, [0, 0, page]), now()).0;
    assert_eq!([LOWER, CENTRE, UPPER].map(|page| estimate(&device, READ, page)), [325, 350, 400]);
    assert_eq!([LOWER, CENTRE, UPPER].map(|page| estimate(&device, PROGRAM, page)), [500, 700, 1100]);
    assert_eq!([READ, PROGRAM].map(|op| device.timing.slowest_page(op)), [UPPER, UPPER]);
    assert_eq!(device.rows(), [(0, "read", HOST, 0, 200)]);
    let mut timing = EventTiming::new(&super::geometry(1, 1), tlc(), Model::Serial, Abilities::default());
    let read = timing.perform(task(READ, [0, 0, UPPER]), now());
    let program = timing.perform(task(PROGRAM, [0, 0, CENTRE]), read);
    assert_eq!((timing.wait(read), timing.wait(program)), (Nanos(200), Nanos(700)));
}
