//! What a device can do beyond the plain rules, one ability after the other.

use ftl::{FlashOp, Moment, Nanos, Timing};
use sim::{Abilities, SchedulingPolicy, Suspension};

use super::{COLLECTION, ERASE, HOST, PROGRAM, READ, Row, Scenario, block, now};

const BOTH: &[FlashOp] = &[PROGRAM, ERASE];

/// Dies that serve by a policy.
fn by(scheduling: SchedulingPolicy) -> Abilities {
    Abilities { scheduling, ..Abilities::default() }
}

/// Reads suspend operations of some kinds.
fn suspending(ops: &[FlashOp]) -> Abilities {
    let suspension = Suspension { suspend_ns: 20, resume_ns: 30, at_most: None };
    by(ops.iter().fold(SchedulingPolicy::FIFO, |policy, &op| policy.with_suspension(op, suspension)))
}

#[test]
fn a_copy_inside_a_plane_leaves_the_bus_to_others() {
    //          0    125  225       425
    // die 0    rpppppppp                       copy inside plane 0, then its erase
    // die 1    rtttt                           a host read of the same channel
    let mut device = Scenario::new(1, 2, Abilities { copy_back: true, ..Abilities::default() });
    let copied = device.copy(1, block(0, 0, 0), block(0, 0, 1), now());
    device.collection(1, ERASE, block(0, 0, 0), copied);
    device.host(READ, block(1, 0, 0), 0);
    assert_eq!(
        device.rows(),
        [
            (0, "read", COLLECTION, 0, 25),
            (1, "read", HOST, 0, 125),
            (0, "program", COLLECTION, 25, 225),
            (0, "erase", COLLECTION, 225, 1725),
        ]
    );
    assert_eq!(device.timing.channel_busy_ns().collect::<Vec<_>>(), [100]);
    assert_eq!(device.timing.die_busy_ns().collect::<Vec<_>>(), [1725, 125]);
}

#[test]
fn a_copy_to_another_plane_or_die_goes_over_the_bus() {
    for to in [block(0, 1, 1), block(1, 0, 1)] {
        let mut device = Scenario::new(1, 2, Abilities { copy_back: true, ..Abilities::default() });
        device.copy(1, block(0, 0, 0), to, now());
        let die = to.get() / 8;
        assert_eq!(device.rows(), [(0, "read", COLLECTION, 0, 125), (die, "program", COLLECTION, 125, 425)]);
    }
}

#[test]
fn a_copy_inside_a_plane_waits_for_the_erase_of_its_target() {
    let mut device = Scenario::new(2, 1, Abilities { copy_back: true, ..Abilities::default() });
    device.collection(1, ERASE, block(0, 0, 1), now());
    device.copy(2, block(0, 0, 0), block(0, 0, 1), now());
    let expected = [
        (0, "erase", COLLECTION, 0, 1500),
        (0, "read", COLLECTION, 1500, 1525),
        (0, "program", COLLECTION, 1525, 1725),
    ];
    assert_eq!(device.rows(), expected);
}

#[test]
fn planes_program_side_by_side_and_take_turns_on_the_bus() {
    //          0   100 200 300 400         700
    // plane 0  ttttpppppppp
    // plane 1  ....ttttpppppppp
    // plane 0                  ttttpppppppp    its plane is busy
    let mut device = Scenario::new(1, 1, Abilities { multi_plane: true, ..Abilities::default() });
    for pbn in [block(0, 0, 0), block(0, 1, 0), block(0, 0, 1)] {
        device.host(PROGRAM, pbn, 0);
    }
    let expected = [(0, "program", HOST, 0, 300), (0, "program", HOST, 0, 400), (0, "program", HOST, 400, 700)];
    assert_eq!(device.rows(), expected);
    assert_eq!(device.timing.die_busy_ns().collect::<Vec<_>>(), [700]);
}

#[test]
fn planes_sense_and_erase_side_by_side_but_not_different_things() {
    //          0   100 200 225        1725
    // plane 0  rtttt
    // plane 1  r....tttt
    // plane 0           eeeee ... e
    // plane 1           eeeee ... e
    // plane 1                     ttttpppppppp
    let mut device = Scenario::new(1, 1, Abilities { multi_plane: true, ..Abilities::default() });
    for (op, pbn, at) in [
        (READ, block(0, 0, 0), 0),
        (READ, block(0, 1, 0), 0),
        (ERASE, block(0, 0, 1), 0),
        (ERASE, block(0, 1, 1), 10),
        (PROGRAM, block(0, 1, 2), 10),
    ] {
        device.host(op, pbn, at);
    }
    assert_eq!(
        device.rows(),
        [
            (0, "read", HOST, 0, 125),
            (0, "read", HOST, 0, 225),
            (0, "erase", HOST, 225, 1725),
            (0, "erase", HOST, 225, 1725),
            (0, "program", HOST, 1725, 2025),
        ]
    );
    // Ready only after the other began: too late to run beside it.
    let mut device = Scenario::new(1, 1, Abilities { multi_plane: true, ..Abilities::default() });
    device.host(ERASE, block(0, 0, 1), 0);
    device.host(ERASE, block(0, 1, 1), 10);
    assert_eq!(device.rows(), [(0, "erase", HOST, 0, 1500), (0, "erase", HOST, 1500, 3000)]);
}

#[test]
fn a_read_suspends_an_erase_whoever_waits_for_it() {
    // s: suspending (20 ns), R: resuming (30 ns)
    //          0     100 120   245 275
    // die      eeee  s   rtttt R   eeee
    for cause in [COLLECTION, HOST] {
        let mut device = Scenario::new(1, 1, suspending(&[ERASE]));
        match cause {
            HOST => device.host(ERASE, block(0, 0, 0), 0),
            _ => device.collection(1, ERASE, block(0, 0, 0), now()),
        };
        device.host(READ, block(0, 0, 1), 100);
        let expected = [(0, "erase", cause, 0, 100), (0, "read", HOST, 120, 245), (0, "erase", cause, 245, 1675)];
        assert_eq!(device.rows(), expected);
        assert_eq!(device.timing.die_busy_ns().collect::<Vec<_>>(), [1675]);
    }
}

#[test]
fn suspended_work_is_resumed_when_no_read_is_ready_and_can_be_suspended_again() {
    // The second read comes while the first is served, the third in the middle of the resuming: it
    // waits for its end, and for the suspension.
    //          0   100  120   245   370  400  420   545  575
    // die      eee s    read  read  R    s    read  R    eee
    let mut device = Scenario::new(1, 1, suspending(BOTH));
    device.collection(1, ERASE, block(0, 0, 0), now());
    for at in [100, 200, 380] {
        device.host(READ, block(0, 0, 1), at);
    }
    assert_eq!(
        device.rows(),
        [
            (0, "erase", COLLECTION, 0, 100),
            (0, "read", HOST, 120, 245),
            (0, "read", HOST, 245, 370),
            (0, "erase", COLLECTION, 370, 400),
            (0, "read", HOST, 420, 545),
            (0, "erase", COLLECTION, 545, 545 + 30 + 1400),
        ]
    );
}

#[test]
fn work_that_a_group_of_reads_suspended_can_be_suspended_again() {
    //          0   100  120          345  375    400  420
    // die      eee s    reads of two planes R ee s    read ...
    let mut device = Scenario::new(1, 1, Abilities { multi_plane: true, ..suspending(&[ERASE]) });
    device.collection(1, ERASE, block(0, 0, 0), now());
    device.host(READ, block(0, 0, 1), 100);
    device.host(READ, block(0, 1, 1), 100);
    device.host(READ, block(0, 0, 1), 400);
    let ends: Vec<_> = device.rows().into_iter().filter(|row| row.1 == "read").map(|row| (row.3, row.4)).collect();
    assert_eq!(ends, [(120, 245), (120, 345), (420, 545)]);
}

#[test]
fn a_program_is_suspended_when_its_page_has_come() {
    //          0   100  120  245  275     475
    // program  tttts         Rppppppppp
    // read       ..rtttt                         at 50, in the middle of the transfer
    let mut device = Scenario::new(1, 1, suspending(&[PROGRAM]));
    device.collection(1, PROGRAM, block(0, 0, 0), now());
    device.host(READ, block(0, 0, 1), 50);
    let expected =
        [(0, "program", COLLECTION, 0, 100), (0, "read", HOST, 120, 245), (0, "program", COLLECTION, 245, 475)];
    assert_eq!(device.rows(), expected);
}

#[test]
fn what_is_not_to_be_suspended_is_waited_for() {
    // Erases are not among what is suspended; the erase is over before it could be.
    for (ops, at) in [(&[PROGRAM] as &[_], 100), (BOTH, 1485)] {
        let mut device = Scenario::new(1, 1, suspending(ops));
        device.collection(1, ERASE, block(0, 0, 0), now());
        device.host(READ, block(0, 0, 1), at);
        assert_eq!(device.rows(), [(0, "erase", COLLECTION, 0, 1500), (0, "read", HOST, 1500, 1625)]);
    }
}

/// What comes at a busy die: a collection's program, a host's program, and a read.
fn at_a_busy_die(abilities: Abilities) -> Vec<Row> {
    let mut device = Scenario::new(1, 1, abilities);
    device.host(READ, block(0, 0, 0), 0);
    device.collection(1, PROGRAM, block(0, 0, 1), Moment::at(Nanos(10)));
    device.host(PROGRAM, block(0, 1, 1), 20);
    device.host(READ, block(0, 0, 0), 30);
    device.rows()
}

#[test]
fn a_collection_lets_reads_pass_and_the_hosts_order_is_kept() {
    let expected = [
        (0, "read", HOST, 0, 125),
        (0, "program", COLLECTION, 125, 425),
        (0, "program", HOST, 425, 725),
        (0, "read", HOST, 725, 850),
    ];
    assert_eq!(at_a_busy_die(Abilities::default()), expected, "first come, first served");
    let expected = [
        (0, "read", HOST, 0, 125),
        (0, "program", HOST, 125, 425),
        (0, "read", HOST, 425, 550),
        (0, "program", COLLECTION, 550, 850),
    ];
    assert_eq!(at_a_busy_die(by(SchedulingPolicy::FIFO.with_yielding_background())), expected);
    let expected = [
        (0, "read", HOST, 0, 125),
        (0, "read", HOST, 125, 250),
        (0, "program", COLLECTION, 250, 550),
        (0, "program", HOST, 550, 850),
    ];
    assert_eq!(at_a_busy_die(by(SchedulingPolicy::reads_first())), expected);
}

#[test]
fn a_collection_waits_until_another_channel_has_done_collecting() {
    // 100 ns a character
    //            0      425            1925    2350
    // channel 0  cccccc eeeeeeeeeeeeeee                   the first collection
    // channel 1                        cccccc             ready at 0, waits for it
    for (gc_channels, begins) in [(Some(1), 1925), (Some(2), 0), (None, 0)] {
        let mut device = Scenario::new(2, 1, Abilities { gc_channels, ..Abilities::default() });
        let copied = device.copy(1, block(0, 0, 0), block(0, 0, 1), now());
        device.collection(1, ERASE, block(0, 0, 0), copied);
        device.timing.end_background(1);
        device.copy(2, block(1, 0, 0), block(1, 0, 1), now());
        device.timing.end_background(2);
        let second: Vec<_> = device.rows().into_iter().filter(|row| row.0 == 1).collect();
        let expected =
            [(1, "read", COLLECTION, begins, begins + 125), (1, "program", COLLECTION, begins + 125, begins + 425)];
        assert_eq!(second, expected, "{gc_channels:?}");
    }
}

#[test]
fn the_hosts_work_needs_no_turn_to_collect() {
    let mut device = Scenario::new(2, 1, Abilities { gc_channels: Some(1), ..Abilities::default() });
    device.collection(1, ERASE, block(0, 0, 0), now());
    device.timing.end_background(1);
    device.host(READ, block(1, 0, 0), 10);
    assert_eq!(device.rows(), [(0, "erase", COLLECTION, 0, 1500), (1, "read", HOST, 10, 135)]);
}
