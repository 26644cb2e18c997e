//! When operations begin and end: small scenarios worked out by hand, by the rules of
//! `docs/timing.md`.
//!
//! One character of a drawing is 25 ns where nothing else is said. `r` senses, `t` transfers, `p`
//! programs, `e` erases, `.` waits.

mod abilities;
mod copies;
mod front_end;
mod overlapping;
mod page_types;
mod pslc;
mod retries;
mod scheduling;

use flash::{Geometry, Pbn, Shape};
use ftl::{Cause, FlashOp, Moment, Nanos, Task, Timing};
use sim::{Abilities, EventTiming, FrontEnd, Latencies, Model, Window};

const LATENCIES: Latencies = Latencies::of_slc([25, 200, 1500, 100]);
const READ: FlashOp = FlashOp::Read;
const PROGRAM: FlashOp = FlashOp::Program;
const ERASE: FlashOp = FlashOp::Erase;
const HOST: &str = "host";
const COLLECTION: &str = "collection";
/// Blocks of a plane.
const BLOCKS: u32 = 4;

/// A device of two planes per die whose operations are recorded.
struct Scenario {
    timing: EventTiming,
    dies_per_channel: u32,
    transfer_ns: u64,
}

/// An operation as it lay: die, operation, cause, begin and end.
type Row = (u32, &'static str, &'static str, u64, u64);

/// A block by its die and plane.
fn block(die: u32, plane: u32, number: u32) -> Pbn {
    Pbn::new((2 * die + plane) * BLOCKS + number)
}

fn geometry(channels: u32, dies_per_channel: u32) -> Geometry {
    let (planes_per_die, pages_per_block, page_size_bytes) = (2, 16, 4096);
    let shape = Shape {
        channels,
        dies_per_channel,
        planes_per_die,
        blocks_per_plane: BLOCKS,
        pages_per_block,
        page_size_bytes,
    };
    Geometry::new(shape).expect("a shape")
}

impl Scenario {
    fn new(channels: u32, dies_per_channel: u32, abilities: Abilities) -> Self {
        Self::with(channels, dies_per_channel, LATENCIES, abilities)
    }

    fn with(channels: u32, dies_per_channel: u32, latencies: Latencies, abilities: Abilities) -> Self {
        let geometry = geometry(channels, dies_per_channel);
        let timing = EventTiming::new(&geometry, latencies, Model::Parallel, abilities);
        let window = Window { from_ns: 0, to_ns: u64::MAX };
        Self { timing: timing.recorded(window), dies_per_channel, transfer_ns: latencies.transfer_ns }
    }

    /// The same behind a link and a controller.
    fn behind(self, front_end: FrontEnd) -> Self {
        Self { timing: self.timing.behind(front_end), ..self }
    }

    /// An operation that a request waits for, which follows a moment.
    fn host_after(&mut self, op: FlashOp, pbn: Pbn, after: Moment) -> Moment {
        self.timing.perform(Task::new(op, Cause::Host, pbn, pbn.get() / (2 * BLOCKS)), after)
    }

    /// An operation that a request waits for, which begins at a moment.
    fn host(&mut self, op: FlashOp, pbn: Pbn, at: u64) -> Moment {
        self.timing.pass_until(Nanos(at));
        self.host_after(op, pbn, Moment::at(Nanos(at)))
    }

    /// An operation of a collection that nobody waits for.
    fn collection(&mut self, chain: u32, op: FlashOp, pbn: Pbn, after: Moment) -> Moment {
        let task = Task::new(op, Cause::Collection, pbn, pbn.get() / (2 * BLOCKS));
        self.timing.perform(Task { chain, ..task }, after)
    }

    /// A page moved by a collection.
    fn copy(&mut self, chain: u32, from: Pbn, to: Pbn, after: Moment) -> Moment {
        let read = self.collection(chain, READ, from, after);
        let task = Task::new(PROGRAM, Cause::Collection, to, to.get() / (2 * BLOCKS));
        self.timing.perform(Task { chain, copies: true, ..task }, read)
    }

    /// All operations in order of time; also checks that no bus moves two pages at once.
    fn rows(&mut self) -> Vec<Row> {
        let facts = self.timing.timeline().expect("recorded");
        let mut transfers: Vec<_> = (0..facts.op.len())
            .filter_map(|i| facts.transfer_ns[i].map(|at| (facts.die[i] / self.dies_per_channel, at)))
            .collect();
        transfers.sort_unstable();
        let meets = |pair: &[(u32, u64)]| pair[0].0 == pair[1].0 && pair[0].1 + self.transfer_ns > pair[1].1;
        assert!(!transfers.windows(2).any(meets), "two transfers on a channel: {transfers:?}");
        let early = (0..facts.op.len()).find(|&i| facts.start_ns[i] < facts.ready_ns[i]);
        assert_eq!(early, None, "begins before what it follows is done");
        let row = |i: usize| (facts.die[i], facts.op[i], facts.cause[i], facts.start_ns[i], facts.end_ns[i]);
        (0..facts.op.len()).map(row).collect()
    }
}

fn plain(channels: u32, dies_per_channel: u32) -> Scenario {
    Scenario::new(channels, dies_per_channel, Abilities::default())
}

fn now() -> Moment {
    Moment::ZERO
}

#[test]
fn two_reads_of_one_channel_sense_side_by_side_and_take_turns_on_the_bus() {
    //          0    25       125      225
    // die 0    rtttt
    // die 1    r....tttt
    let mut device = plain(1, 2);
    device.host(READ, block(0, 0, 0), 0);
    device.host(READ, block(1, 0, 0), 0);
    assert_eq!(device.rows(), [(0, "read", HOST, 0, 125), (1, "read", HOST, 0, 225)]);
    assert_eq!(device.timing.die_busy_ns().collect::<Vec<_>>(), [125, 225]);
    assert_eq!(device.timing.channel_busy_ns().collect::<Vec<_>>(), [200]);
    assert_eq!(device.timing.idle_at(), Nanos(225));
    assert_eq!(device.timing.time_ns(Cause::Host, READ), 350);
}

#[test]
fn two_programs_of_one_channel_overlap_but_for_their_transfers() {
    //          0   100 200 300 400
    // die 0    ttttpppppppp
    // die 1    ....ttttpppppppp
    let mut device = plain(1, 2);
    device.host(PROGRAM, block(0, 0, 0), 0);
    device.host(PROGRAM, block(1, 0, 0), 0);
    assert_eq!(device.rows(), [(0, "program", HOST, 0, 300), (1, "program", HOST, 0, 400)]);
}

#[test]
fn one_die_works_in_the_order_of_readiness() {
    // 100 ns a character: the program is issued before the read and ready after it.
    //          0              1500 1625    1925
    // die      eeeeeeeeeeeeeeerttppp
    let mut device = plain(1, 1);
    device.host(ERASE, block(0, 0, 0), 0);
    let late = device.timing.delay(now(), Nanos(20));
    device.timing.perform(Task::new(PROGRAM, Cause::Host, block(0, 0, 1), 0), late);
    device.host(READ, block(0, 0, 2), 10);
    assert_eq!(
        device.rows(),
        [(0, "erase", HOST, 0, 1500), (0, "read", HOST, 1500, 1625), (0, "program", HOST, 1625, 1925)]
    );
}

#[test]
fn a_bus_never_idles_before_a_transfer_that_is_to_come() {
    // Die 0's second read asks for the bus at 350 only; die 1's, issued later, asks at 325, and
    // gets it.
    //          0    125  200 300  350  425
    // die 0    rtttt            r....tttt
    // die 1               ....rtttt
    let mut device = plain(1, 2);
    let first = device.host(READ, block(0, 0, 0), 0);
    let pause = device.timing.delay(first, Nanos(200));
    device.timing.perform(Task::new(READ, Cause::Host, block(0, 0, 1), 0), pause);
    device.host(READ, block(1, 0, 0), 300);
    assert_eq!(device.rows(), [(0, "read", HOST, 0, 125), (1, "read", HOST, 300, 425), (0, "read", HOST, 325, 525)]);
}

#[test]
fn a_program_waits_for_the_erase_of_its_block_and_no_other() {
    // 100 ns a character
    //          0 125            1625 1925
    // die      rteeeeeeeeeeeeeeettpp             a collection, and the program into its block
    let mut device = plain(1, 1);
    let read = device.collection(1, READ, block(0, 0, 0), now());
    device.collection(1, ERASE, block(0, 0, 0), read);
    device.timing.perform(Task::new(PROGRAM, Cause::Host, block(0, 0, 0), 0), now());
    device.timing.perform(Task::new(PROGRAM, Cause::Host, block(0, 1, 0), 0), now());
    assert_eq!(
        device.rows(),
        [
            (0, "read", COLLECTION, 0, 125),
            (0, "program", HOST, 125, 425),
            (0, "erase", COLLECTION, 425, 1925),
            (0, "program", HOST, 1925, 2225),
        ]
    );
}

#[test]
fn what_follows_several_ends_begins_with_the_last_of_them() {
    let mut device = plain(2, 1);
    let (one, other) = (device.host(READ, block(0, 0, 0), 0), device.host(PROGRAM, block(1, 0, 0), 0));
    let both = device.timing.join(one, other);
    device.timing.perform(Task::new(READ, Cause::Host, block(0, 0, 1), 0), both);
    assert!(!device.timing.is_over(both));
    assert_eq!(device.timing.wait(both), Nanos(300));
    assert!(device.timing.is_over(both) && device.timing.is_over(one));
    assert_eq!(device.rows().last(), Some(&(0, "read", HOST, 300, 425)));
}

#[test]
fn one_resource_costs_latency_plus_transfer_and_overlaps_nothing() {
    let mut timing = EventTiming::new(&geometry(4, 2), LATENCIES, Model::Serial, Abilities::default());
    let task = |op, die| Task::new(op, Cause::Host, block(die, 0, 0), die);
    let ends: Vec<_> = [task(READ, 0), task(PROGRAM, 7), task(READ, 5)]
        .into_iter()
        .map(|task| timing.perform(task, Moment::ZERO))
        .collect();
    assert_eq!(timing.busy(2, Moment::ZERO), Nanos(550));
    let ends = ends.into_iter().map(|end| timing.wait(end).0).collect::<Vec<_>>();
    assert_eq!(ends, [125, 425, 550]);
    assert_eq!((timing.die_busy_ns().collect::<Vec<_>>(), timing.has_channels()), (vec![550], false));
}

#[test]
fn what_a_scheme_is_told_is_what_is_queued() {
    let mut device = plain(2, 2);
    let estimate = |device: &Scenario, op, die| {
        device.timing.estimate(Task::new(op, Cause::Host, block(die, 0, 0), die), Moment::at(device.timing.now())).0
    };
    assert_eq!([READ, PROGRAM, ERASE].map(|op| estimate(&device, op, 0)), [125, 300, 1500]);
    assert_eq!(device.timing.busy(0, now()), Nanos::ZERO);
    device.host(ERASE, block(0, 0, 0), 0);
    device.host(READ, block(0, 0, 1), 0);
    // The die erases and reads, 1625 ns; the bus is asked for once.
    assert_eq!([READ, PROGRAM, ERASE].map(|op| estimate(&device, op, 0)), [1750, 1925, 3125]);
    assert_eq!([READ, PROGRAM, ERASE].map(|op| estimate(&device, op, 1)), [200, 400, 1500]);
    assert_eq!((device.timing.busy(0, now()), device.timing.busy(1, now())), (Nanos(1625), Nanos::ZERO));
    device.timing.pass_until(Nanos(1000));
    assert_eq!(estimate(&device, READ, 0), 750);
    // Asked for later, what is queued is taken to be worked off until then.
    let later = Moment::at(Nanos(1600));
    assert_eq!(
        (device.timing.busy(0, later), device.timing.busy(0, Moment::at(Nanos(1700)))),
        (Nanos(25), Nanos::ZERO)
    );
}

#[test]
fn a_device_that_is_reset_is_idle_and_knows_nothing() {
    let mut device = plain(1, 1);
    let erase = device.host(ERASE, block(0, 0, 0), 50);
    device.timing.reset();
    assert!(device.timing.is_over(erase));
    assert_eq!((device.timing.now(), device.timing.under_way()), (Nanos::ZERO, 0));
    device.host(PROGRAM, block(0, 0, 0), 0);
    assert_eq!(device.rows(), [(0, "program", HOST, 0, 300)]);
    assert_eq!(device.timing.die_busy_ns().collect::<Vec<_>>(), [300]);
}

#[test]
fn what_ends_with_controller_time_ends_then_and_not_with_the_next_event() {
    // A request reads a page of flash until 125, and one in RAM until 300: nothing else happens at
    // 300 that could end it.
    let mut device = Scenario::new(1, 1, Abilities::default());
    let in_flash = device.host(READ, block(0, 0, 0), 0);
    let in_ram = device.timing.delay(Moment::ZERO, Nanos(300));
    let both = device.timing.join(in_flash, in_ram);
    device.timing.tell_when_over(both, 7);
    device.timing.pass_until(Nanos(300));
    assert!(device.timing.is_over(both));
    assert_eq!(device.timing.drain_ended().collect::<Vec<_>>(), [(7, Nanos(300))]);
}
