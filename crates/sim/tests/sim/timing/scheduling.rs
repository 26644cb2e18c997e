//! Which of the operations that wait for a die is next, and how often others overtake one.

use ftl::{Cause, FlashOp, Moment, Nanos, Task, Timing};
use random::SeededRng;
use sim::{Abilities, Class, SchedulingPolicy, Suspension};

use super::{COLLECTION, ERASE, HOST, PROGRAM, READ, Row, Scenario, block};

/// One die that serves by a policy, which reads until 125.
fn reading(scheduling: SchedulingPolicy) -> Scenario {
    let mut device = Scenario::new(1, 1, Abilities { scheduling, ..Abilities::default() });
    device.host(READ, block(0, 0, 0), 0);
    device
}

/// Background work that is ready at a moment.
fn background(device: &mut Scenario, op: FlashOp, cause: Cause, number: u32, at: u64) {
    device.timing.pass_until(Nanos(at));
    let task = Task { chain: 1 + at as u32, ..Task::new(op, cause, block(0, 0, number), 0) };
    device.timing.perform(task, Moment::at(Nanos(at)));
}

/// What follows the first read.
fn rest(mut device: Scenario) -> Vec<Row> {
    device.rows().split_off(1)
}

#[test]
fn classes_go_in_their_order_and_those_not_named_by_readiness() {
    use Class::{Collection, Erase, HostRead, HostWrite, Refresh};

    let at_a_busy_die = |classes: &[Class]| {
        let mut device = reading(SchedulingPolicy::in_order(classes));
        background(&mut device, PROGRAM, Cause::Refresh, 0, 10);
        background(&mut device, ERASE, Cause::Collection, 1, 20);
        background(&mut device, PROGRAM, Cause::Collection, 2, 30);
        device.host(PROGRAM, block(0, 0, 3), 40);
        device.host(READ, block(0, 0, 0), 50);
        rest(device)
    };
    let (read, write) = (("read", HOST), ("program", HOST));
    let (moved, erase, refresh) = (("program", COLLECTION), ("erase", COLLECTION), ("program", "refresh"));
    for (classes, expected) in [
        (&[] as &[_], [refresh, erase, moved, write, read]),
        (&[HostRead], [read, refresh, erase, moved, write]),
        (&[HostRead, HostWrite], [read, write, refresh, erase, moved]),
        (&[HostWrite, HostRead, Erase, Collection, Refresh], [write, read, erase, moved, refresh]),
        (&[Collection, Refresh], [moved, refresh, erase, write, read]),
    ] {
        let rows = at_a_busy_die(classes);
        let found: Vec<_> = rows.iter().map(|row| (row.1, row.2)).collect();
        assert_eq!(found, expected, "{classes:?}");
        assert_eq!(rows.last().map(|row| row.4), Some(125 + 300 + 1500 + 300 + 300 + 125), "no time is lost");
    }
}

#[test]
fn no_order_of_classes_changes_that_of_a_block() {
    // The collection's second program goes before the host's, its first one is of the same block.
    let mut device = reading(SchedulingPolicy::in_order(&[Class::Collection]));
    device.host(PROGRAM, block(0, 0, 1), 10);
    background(&mut device, PROGRAM, Cause::Collection, 1, 20);
    background(&mut device, PROGRAM, Cause::Collection, 2, 30);
    let expected =
        [(0, "program", COLLECTION, 125, 425), (0, "program", HOST, 425, 725), (0, "program", COLLECTION, 725, 1025)];
    assert_eq!(rest(device), expected);
}

#[test]
fn what_was_overtaken_as_often_as_may_be_is_next() {
    //       0    125  250  375          675  800
    // die   read read read program      read read
    for (policy, begins) in [
        (SchedulingPolicy::reads_first(), 125 + 4 * 125),
        (SchedulingPolicy::reads_first().with_overtakes(2), 375),
        (SchedulingPolicy::FIFO.with_yielding_background().with_overtakes(2), 375),
    ] {
        let mut device = reading(policy);
        background(&mut device, PROGRAM, Cause::Collection, 0, 10);
        for at in [20, 30, 40, 50] {
            device.host(READ, block(0, 0, 1), at);
        }
        let rows = rest(device);
        let programs: Vec<_> = rows.iter().filter(|row| row.1 == "program").map(|row| row.3).collect();
        assert_eq!((programs, rows.len()), (vec![begins], 5), "{policy:?}");
    }
}

/// Reads that come to an erase at 100, 110, 120 and 300, or later.
fn at_an_erase(policy: SchedulingPolicy) -> Vec<(&'static str, u64, u64)> {
    let mut device = Scenario::new(1, 1, Abilities { scheduling: policy, ..Abilities::default() });
    background(&mut device, ERASE, Cause::Collection, 0, 0);
    for at in [100, 110, 120, 530] {
        device.host(READ, block(0, 1, 1), at);
    }
    device.rows().into_iter().map(|(_, op, _, begins, ends)| (op, begins, ends)).collect()
}

const ONCE: Suspension = Suspension { suspend_ns: 20, resume_ns: 30, at_most: Some(1) };

#[test]
fn an_erase_is_suspended_as_often_as_may_be_and_no_more() {
    // s: suspending (20 ns), R: resuming (30 ns)
    //       0   100  120  245  370  495  525
    // die   eee s    read read read R    eeee
    let expected = |erase_ends: u64| {
        let reads = [("read", 120, 245), ("read", 245, 370), ("read", 370, 495)];
        let last = [("erase", 495, erase_ends), ("read", erase_ends, erase_ends + 125)];
        [[("erase", 0, 100)].as_slice(), &reads, &last].concat()
    };
    let policy = SchedulingPolicy::FIFO.with_suspension(ERASE, ONCE);
    assert_eq!(at_an_erase(policy), expected(495 + 30 + 1400));
    // A program's costs are its own.
    assert_eq!(at_an_erase(policy.with_suspension(PROGRAM, Suspension::default())), expected(495 + 30 + 1400));
    let twice = at_an_erase(SchedulingPolicy::FIFO.with_suspension(ERASE, Suspension { at_most: Some(2), ..ONCE }));
    assert_eq!(twice[4..6], [("erase", 495, 530), ("read", 550, 675)]);
}

#[test]
fn reads_overtake_a_suspended_erase_no_more_than_they_may() {
    //       0   100  120  245  370  400
    // die   eee s    read read R    eeee       two reads wait until its end
    let policy = SchedulingPolicy::FIFO.with_suspension(ERASE, Suspension { at_most: None, ..ONCE });
    let expected = [
        ("erase", 0, 100),
        ("read", 120, 245),
        ("read", 245, 370),
        ("erase", 370, 1800),
        ("read", 1800, 1925),
        ("read", 1925, 2050),
    ];
    assert_eq!(at_an_erase(policy.with_overtakes(2)), expected);
}

/// Some order of classes, or what lets reads pass.
fn policy(draw: &mut SeededRng) -> SchedulingPolicy {
    let suspension = |draw: &mut SeededRng| {
        let at_most = (draw.below_u32(2) > 0).then(|| 1 + draw.below_u32(3));
        Suspension { suspend_ns: draw.below(40), resume_ns: draw.below(40), at_most }
    };
    let mut classes = vec![Class::HostRead, Class::HostWrite, Class::Collection, Class::Erase, Class::Refresh];
    let mut policy = match draw.below_u32(3) {
        0 => {
            let named = 1 + draw.below_u32(5);
            let order: Vec<_> =
                (0..named).map(|_| classes.remove(draw.below_u32(classes.len() as u32) as usize)).collect();
            return SchedulingPolicy::in_order(&order);
        }
        1 => SchedulingPolicy::reads_first(),
        _ => SchedulingPolicy::FIFO.with_yielding_background(),
    };
    for op in [PROGRAM, ERASE] {
        if draw.below_u32(2) > 0 {
            policy = policy.with_suspension(op, suspension(draw));
        }
    }
    policy
}

/// How often the operation was overtaken that was most often, of a die that falls behind. What
/// became ready later has begun before it had ended: its die does one thing at a time.
fn most_overtaken(scheduling: SchedulingPolicy, seed: u64) -> usize {
    let mut draw = SeededRng::new(seed);
    let mut device = Scenario::new(1, 1, Abilities { scheduling, ..Abilities::default() });
    let mut at = 0;
    for _ in 0..300 {
        at += 1 + draw.below(400);
        // Nothing waits for an erase of its block, so all is ready at once.
        let (op, plane) =
            [(READ, 0), (READ, 0), (READ, 0), (PROGRAM, 0), (PROGRAM, 0), (ERASE, 1)][draw.below_u32(6) as usize];
        let (cause, chain) = [(Cause::Host, 0), (Cause::Host, 0), (Cause::Collection, 1), (Cause::Refresh, 1)]
            [draw.below_u32(4) as usize];
        device.timing.pass_until(Nanos(at));
        let task = Task { chain: chain * at as u32, ..Task::new(op, cause, block(0, plane, draw.below_u32(4)), 0) };
        device.timing.perform(task, Moment::at(Nanos(at)));
    }
    let facts = device.timing.timeline().expect("recorded");
    // An operation that was suspended has a row for each part.
    let mut operations = std::collections::BTreeMap::new();
    for i in 0..facts.op.len() {
        let (begins, ends) = operations.entry(facts.ready_ns[i]).or_insert((u64::MAX, 0));
        (*begins, *ends) = (facts.start_ns[i].min(*begins), facts.end_ns[i].max(*ends));
    }
    assert_eq!(operations.len(), 300);
    let overtakers = |(&ready, &(_, ends)): (&u64, &(u64, u64))| {
        operations.range(ready + 1..).filter(|&(_, &(begins, _))| begins < ends).count()
    };
    operations.iter().map(overtakers).max().unwrap_or(0)
}

#[test]
fn no_operation_is_overtaken_more_often_than_the_bound() {
    let (mut draw, mut reached) = (SeededRng::new(1), 0);
    for seed in 0..200 {
        let (policy, most) = (policy(&mut draw), [1, 2, 3, 8, 20][draw.below_u32(5) as usize]);
        let found = most_overtaken(policy.with_overtakes(most), seed);
        assert!(found <= most as usize, "{found} times, at most {most} under {policy:?}, seed {seed}");
        reached += usize::from(found == most as usize && most_overtaken(policy, seed) > found);
    }
    assert!(reached > 100, "the bound matters in {reached} of 200 cases");
}
