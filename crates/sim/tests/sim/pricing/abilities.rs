//! What a device can do beyond the plain model: scenarios worked out by hand, with the start and
//! end of every operation.
//!
//! One character of a drawing is 25 ns where nothing else is said. `r` senses, `t` transfers, `p`
//! programs, `e` erases.

use flash::{Geometry, Pbn, Shape};
use ftl::{Cause, FlashOp, Nanos, Task, Timing};
use sim::{Abilities, Pricing, Suspend, TimelineFacts, Window};

use super::{LATENCIES, Lists};

const READ: FlashOp = FlashOp::Read;
const PROGRAM: FlashOp = FlashOp::Program;
const ERASE: FlashOp = FlashOp::Erase;
/// Blocks of a plane.
const BLOCKS: u32 = 4;

/// A device of two planes a die whose operations are recorded.
struct Scenario {
    pricing: Pricing,
    dies_per_channel: u32,
}

/// A block by its die and plane.
fn block(die: u32, plane: u32, number: u32) -> Pbn {
    Pbn::new((2 * die + plane) * BLOCKS + number)
}

impl Scenario {
    fn new(channels: u32, dies_per_channel: u32, abilities: Abilities) -> Self {
        let shape = Shape {
            channels,
            dies_per_channel,
            planes_per_die: 2,
            blocks_per_plane: BLOCKS,
            pages_per_block: 4,
            page_size_bytes: 4096,
        };
        let geometry = Geometry::new(shape).expect("a shape");
        let window = Window { from_ns: 0, to_ns: u64::MAX };
        Self { pricing: Pricing::able(&geometry, LATENCIES, abilities).recorded(window), dies_per_channel }
    }

    fn perform(&mut self, task: Task, at: u64) -> (u64, u64) {
        let span = self.pricing.perform(task, Nanos(at));
        (span.start.0, span.end.0)
    }

    /// An operation that a request waits for.
    fn host(&mut self, op: FlashOp, pbn: Pbn, at: u64) -> (u64, u64) {
        let die = pbn.get() / (2 * BLOCKS);
        self.perform(Task::new(op, Cause::Host, pbn, die), at)
    }

    /// An operation of a collection that nobody waits for.
    fn collection(&mut self, chain: u32, op: FlashOp, pbn: Pbn, at: u64) -> (u64, u64) {
        let die = pbn.get() / (2 * BLOCKS);
        self.perform(Task { chain, ..Task::new(op, Cause::Collection, pbn, die) }, at)
    }

    /// A page moved by a collection: the ends of its read and of its program.
    fn copy(&mut self, chain: u32, from: Pbn, to: Pbn, at: u64) -> (u64, u64) {
        let (_, read) = self.collection(chain, READ, from, at);
        (read, self.program(chain, to, read, true).1)
    }

    /// A program of a collection.
    fn program(&mut self, chain: u32, to: Pbn, at: u64, copies: bool) -> (u64, u64) {
        let die = to.get() / (2 * BLOCKS);
        self.perform(Task { chain, copies, ..Task::new(PROGRAM, Cause::Collection, to, die) }, at)
    }

    /// All operations as (die, operation, cause, start, end), in order of time; also checks that no
    /// resource does two things at once.
    fn timeline(&mut self) -> Vec<(u32, &'static str, &'static str, u64, u64)> {
        let facts = self.pricing.timeline().expect("recorded");
        let mut transfers: Vec<_> = (0..facts.op.len())
            .filter_map(|i| facts.transfer_ns[i].map(|at| (facts.die[i] / self.dies_per_channel, at)))
            .collect();
        transfers.sort_unstable();
        let meets = |pair: &[(u32, u64)]| pair[0].0 == pair[1].0 && pair[0].1 + LATENCIES.transfer_ns > pair[1].1;
        assert!(!transfers.windows(2).any(meets), "two transfers on a channel: {transfers:?}");
        let early = (0..facts.op.len()).find(|&i| facts.start_ns[i] < facts.ready_ns[i]);
        assert_eq!(early, None, "begins before what it follows is done");
        rows(&facts)
    }
}

fn rows(facts: &TimelineFacts) -> Vec<(u32, &'static str, &'static str, u64, u64)> {
    let row = |i: usize| (facts.die[i], facts.op[i], facts.cause[i], facts.start_ns[i], facts.end_ns[i]);
    (0..facts.op.len()).map(row).collect()
}

const COLLECTION: &str = "collection";
const HOST: &str = "host";

#[test]
fn a_copy_inside_a_plane_leaves_the_channel_to_others() {
    //          0    125  225       425
    // die 0    rpppppppp                       copy inside plane 0
    // die 1    rtttt                           a host read of the same channel
    // channel   tttt
    let abilities = Abilities { copy_back: true, ..Abilities::default() };
    let mut device = Scenario::new(1, 2, abilities);
    // The read is told with its transfer, since nobody knows yet where the page goes.
    assert_eq!(device.copy(1, block(0, 0, 0), block(0, 0, 1), 0), (125, 225));
    assert_eq!(device.host(READ, block(1, 0, 0), 0), (0, 125));
    // The block is erased when its last page is copied.
    assert_eq!(device.collection(1, ERASE, block(0, 0, 0), 225), (225, 1725));
    assert_eq!(
        device.timeline(),
        [
            (0, "read", COLLECTION, 0, 25),
            (1, "read", HOST, 0, 125),
            (0, "program", COLLECTION, 25, 225),
            (0, "erase", COLLECTION, 225, 1725),
        ]
    );
    assert_eq!(device.pricing.channel_busy_ns().collect::<Vec<_>>(), [100]);
    assert_eq!(device.pricing.die_busy_ns().collect::<Vec<_>>(), [1725, 125]);
}

#[test]
fn a_copy_to_another_plane_or_die_goes_over_the_channel() {
    //          0    125  225       425
    // plane 0  rtttt
    // plane 1       ttttpppppppp
    for (to, end) in [(block(0, 1, 1), 425), (block(1, 0, 1), 425)] {
        let mut device = Scenario::new(1, 2, Abilities { copy_back: true, ..Abilities::default() });
        assert_eq!(device.copy(1, block(0, 0, 0), to, 0), (125, end));
        let die = to.get() / (2 * BLOCKS);
        let expected = [(0, "read", COLLECTION, 0, 125), (die, "program", COLLECTION, 125, end)];
        assert_eq!(device.timeline(), expected);
    }
}

#[test]
fn a_page_that_left_the_register_or_is_new_is_not_copied_back() {
    //          0    125  250       550
    // die 0    rttttrtttttttttpppppppp          a host read took the register in between
    let mut device = Scenario::new(1, 1, Abilities { copy_back: true, ..Abilities::default() });
    let (_, read) = device.collection(1, READ, block(0, 0, 0), 0);
    assert_eq!(device.host(READ, block(0, 0, 1), 0), (125, 250));
    assert_eq!(device.program(1, block(0, 0, 2), read, true), (250, 550));
    //          0    125      425
    // die 0    rtttttttttpppppppp               the program holds something else than what was read
    let mut device = Scenario::new(1, 1, Abilities { copy_back: true, ..Abilities::default() });
    let (_, read) = device.collection(1, READ, block(0, 0, 0), 0);
    assert_eq!(device.program(1, block(0, 0, 2), read, false), (125, 425));
}

#[test]
fn planes_program_side_by_side_and_take_turns_on_the_channel() {
    //          0   100 200 300 400         700
    // plane 0  ttttpppppppp
    // plane 1      ttttpppppppp
    // plane 0                  ttttpppppppp    its plane is busy
    // channel  tttttttt        tttt
    let mut device = Scenario::new(1, 1, Abilities { multi_plane: true, ..Abilities::default() });
    assert_eq!(device.host(PROGRAM, block(0, 0, 0), 0), (0, 300));
    assert_eq!(device.host(PROGRAM, block(0, 1, 0), 0), (100, 400));
    assert_eq!(device.host(PROGRAM, block(0, 0, 1), 0), (400, 700));
    let expected = [(0, "program", HOST, 0, 300), (0, "program", HOST, 100, 400), (0, "program", HOST, 400, 700)];
    assert_eq!(device.timeline(), expected);
    assert_eq!(device.pricing.die_busy_ns().collect::<Vec<_>>(), [700]);
}

#[test]
fn planes_sense_and_erase_side_by_side_but_not_different_things() {
    //          0   100 200 225        1725
    // plane 0  rtttt
    // plane 1  rttttttttt  (waits for the channel)
    // plane 0           eeeee ... e
    // plane 1           eeeee ... e
    // plane 1                     pppp         a program beside an erase is not possible
    let mut device = Scenario::new(1, 1, Abilities { multi_plane: true, ..Abilities::default() });
    assert_eq!(device.host(READ, block(0, 0, 0), 0), (0, 125));
    assert_eq!(device.host(READ, block(0, 1, 0), 0), (0, 225));
    assert_eq!(device.host(ERASE, block(0, 0, 1), 0), (225, 1725));
    assert_eq!(device.host(ERASE, block(0, 1, 1), 10), (225, 1725));
    assert_eq!(device.host(PROGRAM, block(0, 1, 2), 10), (1725, 2025));
    // Ready only after the others began: too late to join them.
    let mut device = Scenario::new(1, 1, Abilities { multi_plane: true, ..Abilities::default() });
    assert_eq!(device.host(ERASE, block(0, 0, 1), 0), (0, 1500));
    assert_eq!(device.host(ERASE, block(0, 1, 1), 10), (1500, 3000));
}

#[test]
fn a_read_suspends_an_erase_and_the_rest_goes_where_it_fits() {
    // 100 ns a character, s: suspending (20 ns), R: resuming (30 ns)
    //          0 1                1675   1975              3380
    // erase    es   eeeeeeeeeeeeee                           first planned from 245 to 1675
    // read      rt  rt                                       at 100 and 300
    // program                     tpp                        promised at 200, behind it: stays
    // erase                              eeeeeeeeeeeee       the rest no longer fits before it
    let abilities = Abilities { suspend: Suspend::Erase, suspend_ns: 20, resume_ns: 30, ..Abilities::default() };
    let mut device = Scenario::new(1, 1, abilities);
    assert_eq!(device.collection(1, ERASE, block(0, 0, 0), 0), (0, 1500));
    assert_eq!(device.host(READ, block(0, 0, 1), 100), (120, 245));
    assert_eq!(device.host(PROGRAM, block(0, 0, 2), 200), (1675, 1975));
    assert_eq!(device.host(READ, block(0, 0, 1), 300), (320, 445));
    // 100 ns were erased until 100, and 25 from 275 to 300; 1375 are left.
    assert_eq!(
        device.timeline(),
        [
            (0, "erase", COLLECTION, 0, 120),
            (0, "read", HOST, 120, 245),
            (0, "erase", COLLECTION, 245, 320),
            (0, "read", HOST, 320, 445),
            (0, "program", HOST, 1675, 1975),
            (0, "erase", COLLECTION, 1975, 1975 + 30 + 1375),
        ]
    );
}

#[test]
fn a_program_is_suspended_when_its_page_has_come() {
    //          0   100  120  245  275     455
    // program  tttts         Rppppppppp          R: resuming
    // read          rtttt                        at 50, in the middle of the transfer
    let abilities = Abilities { suspend: Suspend::Program, suspend_ns: 20, resume_ns: 30, ..Abilities::default() };
    let mut device = Scenario::new(1, 1, abilities);
    assert_eq!(device.collection(1, PROGRAM, block(0, 0, 0), 0), (0, 300));
    assert_eq!(device.host(READ, block(0, 0, 1), 50), (120, 245));
    let expected =
        [(0, "program", COLLECTION, 0, 120), (0, "read", HOST, 120, 245), (0, "program", COLLECTION, 245, 475)];
    assert_eq!(device.timeline(), expected);
}

#[test]
fn what_is_not_to_be_suspended_is_waited_for() {
    let on = |suspend| Abilities { suspend, suspend_ns: 20, resume_ns: 30, ..Abilities::default() };
    // Only programs are; the request itself waits for the erase; it is over before it could be
    // suspended.
    let mut device = Scenario::new(1, 1, on(Suspend::Program));
    device.collection(1, ERASE, block(0, 0, 0), 0);
    assert_eq!(device.host(READ, block(0, 0, 1), 100), (1500, 1625));
    let mut device = Scenario::new(1, 1, on(Suspend::Both));
    device.host(ERASE, block(0, 0, 0), 0);
    assert_eq!(device.host(READ, block(0, 0, 1), 100), (1500, 1625));
    let mut device = Scenario::new(1, 1, on(Suspend::Both));
    device.collection(1, ERASE, block(0, 0, 0), 0);
    assert_eq!(device.host(READ, block(0, 0, 1), 1485), (1500, 1625));
}

#[test]
fn a_collection_lets_reads_pass_between_its_operations() {
    // 50 ns a character, c: copies of the collection, R: reads, P: a program of the host
    //          0     425  550 675  975           2475  2775          4275
    // planned  rrtccccccrrtccccccceeeeeeeeeeeeeee
    // R at 150          RR
    // then              ..rrtccccccceeeeeeeeeeeeeeee
    // P at 160                                   PPPPPP           behind it all: stays
    // R at 500            RR
    // then                  rrtccccccc                 eeeeeeeeeeeeeee  no longer fits before P
    let mut device = Scenario::new(1, 1, Abilities { gc_yields: true, ..Abilities::default() });
    assert_eq!(device.copy(1, block(0, 0, 0), block(0, 0, 1), 0), (125, 425));
    assert_eq!(device.copy(1, block(0, 0, 0), block(0, 0, 1), 425), (550, 850));
    assert_eq!(device.collection(1, ERASE, block(0, 0, 0), 850), (850, 2350));
    assert_eq!(device.host(READ, block(0, 0, 3), 150), (425, 550));
    assert_eq!(device.host(PROGRAM, block(0, 0, 2), 160), (2475, 2775));
    assert_eq!(device.host(READ, block(0, 0, 3), 500), (550, 675));
    assert_eq!(
        device.timeline(),
        [
            (0, "read", COLLECTION, 0, 125),
            (0, "program", COLLECTION, 125, 425),
            (0, "read", HOST, 425, 550),
            (0, "read", HOST, 550, 675),
            (0, "read", COLLECTION, 675, 800),
            (0, "program", COLLECTION, 800, 1100),
            (0, "program", HOST, 2475, 2775),
            (0, "erase", COLLECTION, 2775, 4275),
        ]
    );
}

#[test]
fn what_follows_a_moved_operation_on_another_die_moves_along() {
    //          0   125   250        550
    // die 0    R                             a read comes at 0 and goes first
    //               rrtt                     the copy's read
    // die 1              ttpppppppp          its program follows, though its own die was idle
    let mut device = Scenario::new(2, 1, Abilities { gc_yields: true, ..Abilities::default() });
    assert_eq!(device.copy(1, block(0, 0, 0), block(1, 0, 0), 0), (125, 425));
    assert_eq!(device.host(READ, block(0, 0, 1), 0), (0, 125));
    let expected = [(0, "read", HOST, 0, 125), (0, "read", COLLECTION, 125, 250), (1, "program", COLLECTION, 250, 550)];
    assert_eq!(device.timeline(), expected);
}

#[test]
fn a_collection_waits_until_another_channel_has_done_collecting() {
    // 100 ns a character
    //            0      425            1925    2350          3850
    // channel 0  cccccc eeeeeeeeeeeeeee                           the first collection
    // channel 1                        cccccc eeeeeeeeeeeeeee     ready at 10, waits for it
    // channel 0               ccccc                               joins its channel's permission
    for (most, begins) in [(Some(1), 1925), (Some(2), 10), (None, 10)] {
        let gc_channels = most;
        let mut device =
            Scenario::new(2, 2, Abilities { gc_channels, copy_back: false, gc_yields: true, ..Abilities::default() });
        assert_eq!(device.copy(1, block(0, 0, 0), block(0, 0, 1), 0), (125, 425));
        assert_eq!(device.collection(1, ERASE, block(0, 0, 0), 425), (425, 1925));
        assert_eq!(device.collection(2, READ, block(2, 0, 0), 10), (begins, begins + 125));
        assert_eq!(device.collection(2, PROGRAM, block(2, 0, 1), begins + 125), (begins + 125, begins + 425));
        // Host operations need no permission, nor does background work that is no collection.
        assert_eq!(device.host(READ, block(3, 0, 0), 10).0, 10);
    }
}

#[test]
fn the_permission_moves_with_the_collection_that_has_it() {
    // 100 ns a character
    //            0      150   425   550            2050
    // channel 0  ccccccccc    R     eeeeeeeeeeeeeee         a read passes the erase at 150
    // channel 1                                    rt       planned for 1925, waits for the erase
    let mut device = Scenario::new(2, 1, Abilities { gc_channels: Some(1), gc_yields: true, ..Abilities::default() });
    device.copy(1, block(0, 0, 0), block(0, 0, 1), 0);
    device.collection(1, ERASE, block(0, 0, 0), 425);
    assert_eq!(device.collection(2, READ, block(1, 0, 0), 10), (1925, 2050));
    assert_eq!(device.host(READ, block(0, 0, 3), 150), (425, 550));
    assert_eq!(
        device.timeline(),
        [
            (0, "read", COLLECTION, 0, 125),
            (0, "program", COLLECTION, 125, 425),
            (0, "read", HOST, 425, 550),
            (0, "erase", COLLECTION, 550, 2050),
            (1, "read", COLLECTION, 2050, 2175),
        ]
    );
}

/// A stream of pseudo-random numbers.
fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[test]
fn whatever_moves_promises_to_requests_are_kept_and_no_resource_does_two_things() {
    let all = |suspend, gc_channels| Abilities {
        copy_back: true,
        multi_plane: false,
        suspend,
        suspend_ns: 20,
        resume_ns: 30,
        gc_channels,
        gc_yields: true,
    };
    for (seed, abilities) in
        [(1, all(Suspend::Both, None)), (2, all(Suspend::Erase, Some(1))), (3, all(Suspend::Off, Some(2)))]
    {
        let mut device = Scenario::new(2, 2, abilities);
        let mut draw = dice(seed);
        let (mut now, mut told, mut works) = (0, Vec::new(), 0);
        for chain in 1..=400 {
            now += draw(2500);
            device.pricing.begin(Nanos(now));
            let (die, mut at) = (draw(4) as u32, now);
            for _ in 0..draw(3) {
                let (from, to) = (block(die, 0, draw(4) as u32), block(die, draw(2) as u32, draw(4) as u32));
                at = device.copy(chain, from, to, at).1;
                works += 2;
            }
            device.collection(chain, ERASE, block(die, 0, 0), at);
            works += 1;
            let mut cursor = now;
            for _ in 0..=draw(3) {
                let op = if draw(3) == 0 { PROGRAM } else { READ };
                let pbn = block(draw(4) as u32, draw(2) as u32, draw(4) as u32);
                let (start, end) = device.host(op, pbn, cursor);
                told.push((pbn.get() / (2 * BLOCKS), op.name(), HOST, start, end));
                cursor = end;
                works += 1;
            }
        }
        let rows = device.timeline();
        told.sort_unstable_by_key(|row| (row.3, row.0, row.4));
        let kept: Vec<_> = rows.iter().filter(|row| row.2 == HOST).copied().collect();
        assert_eq!(kept, told, "seed {seed}: what requests were told");
        let mut dies: Vec<_> = rows.iter().map(|row| (row.0, row.3, row.4)).collect();
        dies.sort_unstable();
        let meets = |pair: &[(u32, u64, u64)]| pair[0].0 == pair[1].0 && pair[0].2 > pair[1].1;
        assert!(!dies.windows(2).any(meets), "seed {seed}: a die does two things at once");
        let parts = rows.len() - works;
        assert_eq!(parts > 0, abilities.suspend != Suspend::Off, "seed {seed}: {parts} suspensions");
        // Nothing is lost: a suspended erase costs its two delays more, each time.
        let erases: Vec<_> = rows.iter().filter(|row| row.1 == "erase").collect();
        let held: u64 = erases.iter().map(|row| row.4 - row.3).sum();
        assert_eq!(held, 400 * LATENCIES.erase_ns + 50 * (erases.len() as u64 - 400), "seed {seed}");
    }
}

/// Collections whose copies go to any die, and requests of several pages, at random; returns the
/// promises of requests.
fn load(device: &mut Scenario, dies: u64, seed: u64) -> Vec<(u32, &'static str, &'static str, u64, u64)> {
    let mut draw = dice(seed);
    let (mut now, mut told) = (0, Vec::new());
    for chain in 1..=300 {
        now += draw(4000);
        device.pricing.begin(Nanos(now));
        let (die, mut at) = (draw(dies) as u32, now);
        for _ in 0..draw(4) {
            let to = if draw(3) == 0 { draw(dies) as u32 } else { die };
            at = device.copy(chain, block(die, draw(2) as u32, 0), block(to, draw(2) as u32, 1), at).1;
        }
        device.collection(chain, ERASE, block(die, 0, 0), at);
        let mut cursor = now;
        for _ in 0..=draw(3) {
            let op = if draw(3) == 0 { PROGRAM } else { READ };
            let pbn = block(draw(dies) as u32, draw(2) as u32, 2);
            let (start, end) = device.host(op, pbn, cursor);
            told.push((pbn.get() / (2 * BLOCKS), op.name(), HOST, start, end));
            cursor = if draw(2) == 0 { now } else { end };
        }
    }
    told
}

#[test]
fn what_moves_takes_along_what_follows_it_on_whatever_channel() {
    for seed in 0..40 {
        let (channels, dies_per_channel) = [(1, 2), (2, 1), (2, 2), (4, 1)][seed as usize % 4];
        let abilities = Abilities {
            multi_plane: seed / 4 % 2 == 0,
            suspend: [Suspend::Off, Suspend::Both][seed as usize / 8 % 2],
            suspend_ns: 20,
            resume_ns: 30,
            gc_channels: [None, Some(1)][seed as usize / 16 % 2],
            gc_yields: true,
            ..Abilities::default()
        };
        let mut device = Scenario::new(channels, dies_per_channel, abilities);
        let mut told = load(&mut device, u64::from(channels * dies_per_channel), seed);
        device.timeline();
        let facts = device.pricing.timeline().expect("recorded");
        let mut kept: Vec<_> = rows(&facts).into_iter().filter(|row| row.2 == HOST).collect();
        kept.sort_unstable();
        told.sort_unstable();
        assert_eq!(kept, told, "seed {seed}: what requests were told");
        // A copy is ready when its page has been read, wherever that came to lie. With the read,
        // all before it in the chain moved.
        let works = |op, i: usize| facts.op[i] == op && facts.cause[i] == COLLECTION;
        let all = 0..facts.op.len();
        let reads: Vec<u64> = all.clone().filter(|&i| works("read", i)).map(|i| facts.end_ns[i]).collect();
        let early = all.clone().find(|&i| works("program", i) && !reads.contains(&facts.ready_ns[i]));
        assert_eq!(
            early.map(|i| facts.ready_ns[i]),
            None,
            "seed {seed}: a page is programmed that was read at another time"
        );
        for (i, row) in rows(&facts).iter().enumerate() {
            let mut others = rows(&facts).into_iter().skip(i + 1).filter(|other| other.0 == row.0 && other.3 < row.4);
            let meets = others.find(|other| !abilities.multi_plane || other.1 != row.1);
            assert_eq!(meets, None, "seed {seed}: on the die together with {row:?}");
        }
    }
}

#[test]
fn without_need_the_planner_does_what_complete_lists_do() {
    // As many channels may collect as there are: nothing differs from the plain model but that no
    // gap is too short.
    let (channels, dies_per_channel) = (2, 2);
    let mut device =
        Scenario::new(channels, dies_per_channel, Abilities { gc_channels: Some(2), ..Abilities::default() });
    let mut lists = Lists::new(channels, dies_per_channel, 0);
    let (mut draw, mut now) = (dice(9), 0);
    for request in 0..3000_u32 {
        now += draw(1500);
        device.pricing.begin(Nanos(now));
        lists.forget_before(now);
        let mut cursor = now;
        for step in 0..=draw(6) {
            let op = FlashOp::ALL[draw(3) as usize];
            let die = draw(4) as u32;
            let expected = lists.perform(op, die, cursor);
            let found = match request % 2 {
                0 => device.host(op, block(die, 0, 0), cursor),
                _ => device.collection(request, op, block(die, 0, 0), cursor),
            };
            assert_eq!(found, expected, "request {request}, step {step}: {op:?} on die {die} at {cursor}");
            cursor = found.1;
        }
    }
}
