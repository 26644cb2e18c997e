//! What cache reads and cache programs overlap, and what they do not.
//!
//! In the drawings, `+` is a page that waits for the second register or for the programs before.

use ftl::{Cause, FlashOp, Moment, Nanos, Task, Timing};
use sim::{Abilities, Latencies, PageTimes, SchedulingPolicy, Superblocks, Suspension};

use super::{COLLECTION, ERASE, HOST, LATENCIES, PROGRAM, READ, Row, Scenario, block, now};

const READS: Abilities = Abilities { cache_read: true, ..PLAIN };
const PROGRAMS: Abilities = Abilities { cache_program: true, ..PLAIN };
const PLAIN: Abilities = Abilities {
    copy_back: false,
    multi_plane: false,
    aligned_planes: false,
    cache_read: false,
    cache_program: false,
    scheduling: SchedulingPolicy::FIFO,
    gc_channels: None,
    superblocks: Superblocks::BLOCKS,
};

/// The same where reads suspend operations of a kind.
fn suspending(op: FlashOp, resume_ns: u64, abilities: Abilities) -> Abilities {
    let suspension = Suspension { suspend_ns: 20, resume_ns, at_most: None };
    Abilities { scheduling: SchedulingPolicy::FIFO.with_suspension(op, suspension), ..abilities }
}

/// Operations of the host on die 0 of one, each with its plane and when it is ready.
fn rows(abilities: Abilities, latencies: Latencies, operations: &[(FlashOp, u32, u64)]) -> Vec<Row> {
    let mut device = Scenario::with(1, 1, latencies, abilities);
    for &(op, plane, at) in operations {
        device.host(op, block(0, plane, 0), at);
    }
    device.rows()
}

/// Begins and ends alone.
fn times(abilities: Abilities, latencies: Latencies, operations: &[(FlashOp, u32, u64)]) -> Vec<(u64, u64)> {
    rows(abilities, latencies, operations).into_iter().map(|row| (row.3, row.4)).collect()
}

#[test]
fn pages_are_sensed_while_others_move() {
    //          0    125  225  325
    // read 0   rtttt
    // read 1    r++++tttt
    // read 2        r++++tttt      of another plane: the second registers are the die's
    let reads = [(READ, 0, 0), (READ, 0, 0), (READ, 1, 0)];
    assert_eq!(times(READS, LATENCIES, &reads), [(0, 125), (25, 225), (125, 325)]);
    assert_eq!(times(PLAIN, LATENCIES, &reads), [(0, 125), (125, 250), (250, 375)]);
    // Where sensing takes longer, it never stops.
    //          0    100 125 200 225 300
    // read 0   rrrrt
    // read 1       rrrrt
    // read 2           rrrrt
    let slow = Latencies { read_ns: PageTimes::one(100), transfer_ns: 25, ..LATENCIES };
    assert_eq!(times(READS, slow, &reads), [(0, 125), (100, 225), (200, 325)]);
    // Equal times, and sensing that takes none, in rounds of one moment.
    let equal = Latencies { read_ns: PageTimes::one(100), ..LATENCIES };
    assert_eq!(times(READS, equal, &reads), [(0, 200), (100, 300), (200, 400)]);
    let at_once = Latencies { read_ns: PageTimes::one(0), ..LATENCIES };
    assert_eq!(times(READS, at_once, &reads), [(0, 100), (0, 200), (100, 300)]);
    // A gap: the third comes while the second moves, and the fourth when nothing does.
    let late = [(READ, 0, 0), (READ, 0, 0), (READ, 0, 150), (READ, 0, 400)];
    assert_eq!(times(READS, LATENCIES, &late), [(0, 125), (25, 225), (150, 325), (400, 525)]);
}

#[test]
fn pages_move_while_others_are_programmed() {
    //            0   100 200 300     500     700
    // program 0  ttttpppppppp
    // program 1      tttt++++pppppppp
    // program 2              tttt++++pppppppp
    let programs = [(PROGRAM, 0, 0), (PROGRAM, 0, 0), (PROGRAM, 1, 0)];
    assert_eq!(times(PROGRAMS, LATENCIES, &programs), [(0, 300), (100, 500), (300, 700)]);
    assert_eq!(times(PLAIN, LATENCIES, &programs), [(0, 300), (300, 600), (600, 900)]);
    //            0   100 150 200 250 300 350
    // program 0  ttttpp
    // program 1      ttttpp
    // program 2          ttttpp
    let fast = Latencies { program_ns: PageTimes::one(50), ..LATENCIES };
    assert_eq!(times(PROGRAMS, fast, &programs), [(0, 150), (100, 250), (200, 350)]);
    let equal = Latencies { program_ns: PageTimes::one(100), ..LATENCIES };
    assert_eq!(times(PROGRAMS, equal, &programs), [(0, 200), (100, 300), (200, 400)]);
    let at_once = Latencies { program_ns: PageTimes::one(0), ..LATENCIES };
    assert_eq!(times(PROGRAMS, at_once, &programs), [(0, 100), (100, 200), (200, 300)]);
    // One that comes while the first is programmed, and one whose page comes late.
    let late = [(PROGRAM, 0, 0), (PROGRAM, 0, 270), (PROGRAM, 0, 310)];
    assert_eq!(times(PROGRAMS, LATENCIES, &late), [(0, 300), (270, 570), (370, 770)]);
}

#[test]
fn each_overlaps_its_own_kind_alone_and_keeps_the_order() {
    let both = Abilities { cache_program: true, ..READS };
    for (abilities, operations, expected) in [
        // An erase waits for the second registers, and what is behind it for the erase.
        (both, [(READ, 0, 0), (ERASE, 0, 0), (READ, 0, 0)], [(0, 125), (125, 1625), (1625, 1750)]),
        (both, [(READ, 0, 0), (READ, 0, 0), (ERASE, 0, 0)], [(0, 125), (25, 225), (225, 1725)]),
        // Reads and programs do not overlap one another.
        (both, [(READ, 0, 0), (PROGRAM, 0, 0), (READ, 0, 0)], [(0, 125), (125, 425), (425, 550)]),
        (both, [(PROGRAM, 0, 0), (READ, 0, 0), (PROGRAM, 0, 0)], [(0, 300), (300, 425), (425, 725)]),
        (both, [(PROGRAM, 0, 0), (PROGRAM, 0, 0), (ERASE, 0, 0)], [(0, 300), (100, 500), (500, 2000)]),
        // What is not switched on does not overlap.
        (READS, [(PROGRAM, 0, 0), (PROGRAM, 0, 0), (READ, 0, 0)], [(0, 300), (300, 600), (600, 725)]),
        (PROGRAMS, [(READ, 0, 0), (READ, 0, 0), (PROGRAM, 0, 0)], [(0, 125), (125, 250), (250, 550)]),
    ] {
        assert_eq!(times(abilities, LATENCIES, &operations), expected, "{operations:?}");
    }
}

#[test]
fn what_planes_do_together_goes_through_second_registers_together() {
    // Both pages of the first two have moved before those of the next go to the second registers.
    let reads = [(READ, 0, 0), (READ, 1, 0), (READ, 0, 0), (READ, 1, 0)];
    let planes = Abilities { multi_plane: true, ..READS };
    assert_eq!(times(planes, LATENCIES, &reads), [(0, 125), (0, 225), (25, 325), (25, 425)]);
    //          0   100 200 300 400     600
    // plane 0  ttttpppppppp
    // plane 1  ....ttttpppppppp
    // plane 0          tttt++++pppppppp     once both pages have come
    // plane 1          ....ttttpppppppp
    let programs = [(PROGRAM, 0, 0), (PROGRAM, 1, 0), (PROGRAM, 0, 0), (PROGRAM, 1, 0)];
    let planes = Abilities { multi_plane: true, ..PROGRAMS };
    assert_eq!(times(planes, LATENCIES, &programs), [(0, 300), (0, 400), (200, 600), (200, 600)]);
    // One behind two, and two behind one.
    assert_eq!(times(planes, LATENCIES, &programs[..3]), [(0, 300), (0, 400), (200, 600)]);
    let late = [(PROGRAM, 0, 0), (PROGRAM, 0, 10), (PROGRAM, 1, 10), (PROGRAM, 1, 10)];
    assert_eq!(times(planes, LATENCIES, &late), [(0, 300), (100, 500), (100, 500), (300, 700)]);
}

#[test]
fn pages_of_several_dies_take_turns_on_the_bus() {
    // programs   0   100 200 300 400 500 600
    // die 0      ttttpppppppp
    // die 1      ....ttttpppppppp
    // die 0          ....ttttpppppppp            asks at 100, when its first page has come
    // die 1              ....ttttpppppppp        asks at 200
    let mut device = Scenario::new(1, 2, PROGRAMS);
    for die in [0, 1, 0, 1] {
        device.host(PROGRAM, block(die, 0, 0), 0);
    }
    let expected = [
        (0, "program", HOST, 0, 300),
        (1, "program", HOST, 0, 400),
        (0, "program", HOST, 100, 500),
        (1, "program", HOST, 200, 600),
    ];
    assert_eq!(device.rows(), expected);
    assert_eq!(device.timing.die_busy_ns().collect::<Vec<_>>(), [500, 600]);
    assert_eq!(device.timing.channel_busy_ns().collect::<Vec<_>>(), [400]);
    assert_eq!(device.timing.time_ns(Cause::Host, PROGRAM), 300 + 400 + 400 + 400);
    // reads      0    25   125  225  325  425
    // die 0      rtttt
    // die 1      r....tttt
    // die 0       r++++....tttt                  in the second register at 125, behind die 1's
    // die 1       r++++++++....tttt
    let mut device = Scenario::new(1, 2, READS);
    for die in [0, 1, 0, 1] {
        device.host(READ, block(die, 0, 0), 0);
    }
    let ends: Vec<_> = device.rows().into_iter().map(|row| (row.0, row.3, row.4)).collect();
    assert_eq!(ends, [(0, 0, 125), (1, 0, 225), (0, 25, 325), (1, 25, 425)]);
    assert_eq!(device.timing.die_busy_ns().collect::<Vec<_>>(), [325, 425]);
}

#[test]
fn reads_that_pass_are_first_and_end_the_overlap_of_programs() {
    let operations = [(PROGRAM, 0, 0), (PROGRAM, 0, 40), (READ, 0, 50)];
    assert_eq!(times(PROGRAMS, LATENCIES, &operations), [(0, 300), (100, 500), (500, 625)]);
    let first = Abilities { scheduling: SchedulingPolicy::reads_first(), cache_read: true, ..PROGRAMS };
    assert_eq!(times(first, LATENCIES, &operations), [(0, 300), (300, 425), (425, 725)]);
    // Behind a read, those that pass overlap, and what they pass does not stand in their way.
    let operations = [(READ, 0, 0), (PROGRAM, 0, 10), (READ, 0, 20)];
    assert_eq!(times(READS, LATENCIES, &operations), [(0, 125), (125, 425), (425, 550)]);
    assert_eq!(times(first, LATENCIES, &operations), [(0, 125), (25, 225), (225, 525)]);
}

#[test]
fn a_program_is_not_suspended_while_pages_of_another_are_there() {
    let suspend = suspending(PROGRAM, 30, PROGRAMS);
    // s: suspending, R: resuming
    //            0   100  150 170  295 325   475
    // program 0  ttttpp   s    read    R  pppp
    let mut device = Scenario::new(1, 1, suspend);
    device.collection(1, PROGRAM, block(0, 0, 0), now());
    device.host(READ, block(0, 0, 1), 150);
    let expected =
        [(0, "program", COLLECTION, 0, 150), (0, "read", HOST, 170, 295), (0, "program", COLLECTION, 295, 475)];
    assert_eq!(device.rows(), expected);
    //            0   100 200 300 320  445 475    675
    // program 0  ttttpppppppp
    // program 1      tttt++++s   read    R pppppppp     alone, it stops before it begins
    let mut device = Scenario::new(1, 1, suspend);
    device.collection(1, PROGRAM, block(0, 0, 0), now());
    device.collection(2, PROGRAM, block(0, 0, 0), now());
    device.host(READ, block(0, 0, 1), 150);
    assert_eq!(
        device.rows(),
        [
            (0, "program", COLLECTION, 0, 300),
            (0, "program", COLLECTION, 100, 300),
            (0, "read", HOST, 320, 445),
            (0, "program", COLLECTION, 445, 675),
        ]
    );
    assert_eq!(device.timing.die_busy_ns().collect::<Vec<_>>(), [675]);
    // Once it has been resumed, at 325, the page of the next one comes while it is programmed.
    for resume_ns in [30, 0] {
        let mut device = Scenario::new(1, 1, suspending(PROGRAM, resume_ns, PROGRAMS));
        device.collection(1, PROGRAM, block(0, 0, 0), now());
        device.host(READ, block(0, 0, 1), 150);
        device.collection(2, PROGRAM, block(0, 0, 0), Moment::at(Nanos(200)));
        let ends = 295 + resume_ns + 150;
        let expected = [
            (0, "program", COLLECTION, 0, 150),
            (0, "read", HOST, 170, 295),
            (0, "program", COLLECTION, 295, ends),
            (0, "program", COLLECTION, 295 + resume_ns, ends + 200),
        ];
        assert_eq!(device.rows(), expected);
    }
}

#[test]
fn suspended_work_goes_on_when_the_second_registers_are_empty() {
    //          0   100 120  145 245 345 445 475
    // erase    eeees                       R  eeee
    // read 0        rtttt
    // read 1             r+++tttt
    // read 2                   r++tttt             at 300, when only a page moves
    let mut device = Scenario::new(1, 1, suspending(ERASE, 30, READS));
    device.collection(1, ERASE, block(0, 0, 0), now());
    for at in [100, 110, 300] {
        device.host(READ, block(0, 0, 1), at);
    }
    assert_eq!(
        device.rows(),
        [
            (0, "erase", COLLECTION, 0, 100),
            (0, "read", HOST, 120, 245),
            (0, "read", HOST, 145, 345),
            (0, "read", HOST, 300, 445),
            (0, "erase", COLLECTION, 445, 475 + 1400),
        ]
    );
}

#[test]
fn a_copy_inside_a_plane_runs_alone() {
    let both = Abilities { copy_back: true, cache_program: true, ..READS };
    let copy_and = |op, before: bool| {
        let mut device = Scenario::new(1, 1, both);
        if before {
            device.host(op, block(0, 0, 2), 0);
            device.copy(1, block(0, 0, 0), block(0, 0, 1), now());
        } else {
            device.copy(1, block(0, 0, 0), block(0, 0, 1), now());
            device.host(op, block(0, 0, 2), 0);
        }
        device.rows().into_iter().map(|row| (row.3, row.4)).collect::<Vec<_>>()
    };
    assert_eq!(copy_and(READ, true), [(0, 125), (125, 150), (150, 350)]);
    assert_eq!(copy_and(PROGRAM, true), [(0, 300), (300, 325), (325, 525)]);
    assert_eq!(copy_and(READ, false), [(0, 25), (25, 225), (225, 350)]);
    assert_eq!(copy_and(PROGRAM, false), [(0, 25), (25, 225), (225, 525)]);
}

#[test]
fn estimates_know_of_no_overlap() {
    // At 30 the first page moves until 125, the second is sensed, and a third read is ready.
    let mut device = Scenario::new(1, 1, READS);
    for _ in 0..3 {
        device.host(READ, block(0, 0, 0), 0);
    }
    device.timing.pass_until(Nanos(30));
    let estimate = |device: &Scenario, op| device.timing.estimate(Task::new(op, Cause::Host, block(0, 0, 0), 0), now());
    let (die_ns, bus_ns) = ((125 - 5) + 125, (125 - 30) + 2 * 100);
    assert_eq!(device.timing.busy(0, now()), Nanos(die_ns));
    assert_eq!(estimate(&device, READ), Nanos(bus_ns + 100));
    assert_eq!(estimate(&device, PROGRAM), Nanos(bus_ns + 300));
    assert_eq!(estimate(&device, ERASE), Nanos(die_ns + 1500));
    // At 150 the second moves until 225, and the third holds its die.
    device.timing.pass_until(Nanos(150));
    assert_eq!(device.timing.busy(0, now()), Nanos(125 - 25));
    assert_eq!(estimate(&device, PROGRAM), Nanos((225 - 150) + 100 + 300));
    // Of programs, the second's page moves until 200.
    let mut device = Scenario::new(1, 1, PROGRAMS);
    for _ in 0..3 {
        device.host(PROGRAM, block(0, 0, 0), 0);
    }
    device.timing.pass_until(Nanos(150));
    assert_eq!(device.timing.busy(0, now()), Nanos((300 - 50) + 300));
    assert_eq!(estimate(&device, PROGRAM), Nanos((300 - 50) + 300 + 300));
}

#[test]
fn a_device_that_is_reset_in_the_middle_overlaps_nothing_of_before() {
    for at in [10, 60, 130, 160, 210, 310] {
        let mut device = Scenario::new(1, 1, Abilities { cache_program: true, ..READS });
        for op in [READ, READ, PROGRAM, PROGRAM, PROGRAM] {
            device.host(op, block(0, 0, 0), 0);
        }
        device.timing.pass_until(Nanos(at));
        device.timing.reset();
        for op in [PROGRAM, PROGRAM, READ, READ] {
            device.host(op, block(0, 0, 0), 0);
        }
        let ends: Vec<_> = device.rows().into_iter().map(|row| (row.3, row.4)).collect();
        assert_eq!(ends, [(0, 300), (100, 500), (500, 625), (525, 725)], "reset at {at}");
    }
}
