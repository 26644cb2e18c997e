//! Timelines worked out by hand, and the same rules carried out with plain lists.

mod abilities;
mod copies;

use flash::Pbn;
use ftl::{Cause, FlashOp, Nanos, Task, Timing};
use sim::{Latencies, Model, Pricing};

const LATENCIES: Latencies = Latencies { read_ns: 25, program_ns: 200, erase_ns: 1500, transfer_ns: 100 };

fn pricing(channels: u32, dies_per_channel: u32) -> Pricing {
    Pricing::new(Model::Parallel, channels, dies_per_channel, LATENCIES)
}

fn perform(pricing: &mut Pricing, op: FlashOp, die: u32, at: u64) -> (u64, u64) {
    let task = Task::new(op, Cause::Host, Pbn::new(die), die);
    let span = pricing.perform(task, Nanos(at));
    (span.start.0, span.end.0)
}

#[test]
fn two_reads_of_one_channel_sense_side_by_side_and_take_turns_on_the_channel() {
    //          0    25                 125                225
    // die 0    |sense|===== transfer ====|
    // die 1    |sense|...... waits ......|===== transfer ===|
    // channel        |===== transfer ====|===== transfer ===|
    let mut pricing = pricing(1, 2);
    assert_eq!(perform(&mut pricing, FlashOp::Read, 0, 0), (0, 125));
    assert_eq!(perform(&mut pricing, FlashOp::Read, 1, 0), (0, 225));
    assert_eq!(pricing.die_busy_ns().collect::<Vec<_>>(), [125, 225]);
    assert_eq!(pricing.channel_busy_ns().collect::<Vec<_>>(), [200]);
    assert_eq!(pricing.idle_at(), Nanos(225));
}

#[test]
fn two_programs_of_one_channel_overlap_but_for_their_transfers() {
    //          0            100           200           300          400
    // die 0    |= transfer =|======== program ==========|
    // die 1                 |= transfer =|======== program ==========|
    let mut pricing = pricing(1, 2);
    assert_eq!(perform(&mut pricing, FlashOp::Program, 0, 0), (0, 300));
    assert_eq!(perform(&mut pricing, FlashOp::Program, 1, 0), (100, 400));
}

#[test]
fn dies_of_different_channels_do_not_meet() {
    let mut pricing = pricing(2, 1);
    assert_eq!(perform(&mut pricing, FlashOp::Program, 0, 0), (0, 300));
    assert_eq!(perform(&mut pricing, FlashOp::Program, 1, 0), (0, 300));
    assert_eq!(pricing.channel_idle_from(1, Nanos(20)), Nanos(300));
    assert_eq!(pricing.channel_idle_from(1, Nanos(320)), Nanos(320));
}

#[test]
fn one_die_works_in_order() {
    //          0                 1500  1525         1625          1725              1925
    // die 0    |===== erase ======|sense|= transfer =|= transfer =|===== program =====|
    let mut pricing = pricing(1, 1);
    assert_eq!(perform(&mut pricing, FlashOp::Erase, 0, 0), (0, 1500));
    assert_eq!(perform(&mut pricing, FlashOp::Read, 0, 10), (1500, 1625));
    assert_eq!(perform(&mut pricing, FlashOp::Program, 0, 20), (1625, 1925));
}

#[test]
fn a_read_that_waits_for_its_die_does_not_hold_the_channel() {
    //          0       25          125                      1500  1525       1625
    // die 0    |====================== erase ================|sense|= transfer =|
    // die 1    |= sense |= transfer =|
    let mut pricing = pricing(1, 2);
    assert_eq!(perform(&mut pricing, FlashOp::Erase, 0, 0), (0, 1500));
    assert_eq!(perform(&mut pricing, FlashOp::Read, 0, 0), (1500, 1625));
    assert_eq!(perform(&mut pricing, FlashOp::Read, 1, 0), (0, 125));
}

#[test]
fn work_at_the_end_of_a_chain_does_not_block_its_die_before() {
    //          0                               5000        5300
    // die 1    ...... idle: room for others ......| program |
    let mut pricing = pricing(1, 2);
    assert_eq!(perform(&mut pricing, FlashOp::Program, 1, 5000), (5000, 5300));
    assert_eq!(perform(&mut pricing, FlashOp::Program, 1, 10), (10, 310));
    assert_eq!(perform(&mut pricing, FlashOp::Program, 1, 20), (310, 610));
    // What does not fit before it goes behind it: 4000 + 1500 > 5000.
    assert_eq!(perform(&mut pricing, FlashOp::Erase, 1, 4000), (5300, 6800));
    assert_eq!(perform(&mut pricing, FlashOp::Erase, 1, 3500), (3500, 5000));
    // The rest of the gap, 610..3500, is still there.
    assert_eq!(perform(&mut pricing, FlashOp::Erase, 1, 0), (610, 2110));
    pricing.reset();
    assert_eq!(perform(&mut pricing, FlashOp::Program, 1, 20), (20, 320));
    assert_eq!(pricing.die_busy_ns().collect::<Vec<_>>(), [0, 300]);
}

#[test]
fn one_resource_costs_latency_plus_transfer_and_overlaps_nothing() {
    let mut pricing = Pricing::new(Model::Serial, 4, 2, LATENCIES);
    assert_eq!(perform(&mut pricing, FlashOp::Read, 0, 0), (0, 125));
    assert_eq!(perform(&mut pricing, FlashOp::Program, 7, 0), (125, 425));
    assert_eq!(perform(&mut pricing, FlashOp::Erase, 3, 1000), (1000, 2500));
    assert_eq!(perform(&mut pricing, FlashOp::Read, 5, 400), (425, 550));
    assert_eq!(pricing.die_busy_ns().collect::<Vec<_>>(), [2050]);
    assert!(!pricing.has_channels());
    assert_eq!(pricing.channel_idle_from(2, Nanos(0)), Nanos(550), "between two operations");
    assert_eq!(pricing.channel_idle_from(2, Nanos(1000)), Nanos(2500));
}

/// Twice the shortest operation, a read.
const SHORTEST_GAP_NS: u64 = 250;

/// The rules of the header of `timing/model.rs` with complete lists: all busy stretches of every
/// die and channel.
struct Lists {
    /// Shorter ones are not used.
    shortest_gap_ns: u64,
    dies_per_channel: usize,
    dies: Vec<Vec<(u64, u64)>>,
    channels: Vec<Vec<(u64, u64)>>,
}

impl Lists {
    fn new(channels: u32, dies_per_channel: u32, shortest_gap_ns: u64) -> Self {
        Self {
            shortest_gap_ns,
            dies_per_channel: dies_per_channel as usize,
            dies: vec![Vec::new(); (channels * dies_per_channel) as usize],
            channels: vec![Vec::new(); channels as usize],
        }
    }

    fn perform(&mut self, op: FlashOp, die: u32, at: u64) -> (u64, u64) {
        let die = die as usize;
        let channel = die / self.dies_per_channel;
        let mut from = 0;
        let mut gaps = Vec::new();
        for &(start, end) in &self.dies[die] {
            gaps.push((from, start));
            from = end;
        }
        gaps.push((from, u64::MAX));
        gaps.retain(|&(from, until)| until - from >= self.shortest_gap_ns);
        for (from, until) in gaps {
            let from = from.max(at);
            let (start, transfer, end) = match op {
                FlashOp::Read => {
                    let transfer = self.first_gap(channel, from + LATENCIES.read_ns);
                    (from, Some(transfer), transfer + LATENCIES.transfer_ns)
                }
                FlashOp::Program => {
                    let transfer = self.first_gap(channel, from);
                    (transfer, Some(transfer), transfer + LATENCIES.transfer_ns + LATENCIES.program_ns)
                }
                FlashOp::Erase => (from, None, from + LATENCIES.erase_ns),
            };
            if end <= until {
                self.dies[die].push((start, end));
                self.dies[die].sort_unstable();
                if let Some(transfer) = transfer {
                    self.channels[channel].push((transfer, transfer + LATENCIES.transfer_ns));
                    self.channels[channel].sort_unstable();
                }
                return (start, end);
            }
        }
        unreachable!("the last gap has no end")
    }

    /// Forgets what is over, but for the last of it: it says where the gap behind it begins.
    fn forget_before(&mut self, now: u64) {
        for busy in self.dies.iter_mut().chain(&mut self.channels) {
            let over = busy.iter().take_while(|&&(_, end)| end <= now).count();
            busy.drain(..over.saturating_sub(1));
        }
    }

    fn first_gap(&self, channel: usize, from: u64) -> u64 {
        let mut start = from;
        for &(began, end) in &self.channels[channel] {
            if began < start + LATENCIES.transfer_ns && end > start {
                start = end;
            }
        }
        start
    }
}

#[test]
fn timelines_agree_with_complete_lists() {
    for (channels, dies_per_channel) in [(1, 1), (1, 3), (2, 2), (3, 1)] {
        let dies = channels * dies_per_channel;
        let mut pricing = pricing(channels, dies_per_channel);
        let mut lists = Lists::new(channels, dies_per_channel, SHORTEST_GAP_NS);
        let mut random = 7_u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let mut now = 0;
        for request in 0..20_000 {
            // Half a load, so that no die has more gaps than are remembered.
            now += draw(9000 / u64::from(dies));
            pricing.begin(Nanos(now));
            lists.forget_before(now);
            let mut cursor = now;
            // A request is a chain of operations on any dies, each ready when the one before it is
            // done.
            for step in 0..=draw(6) {
                let op = FlashOp::ALL[draw(3) as usize];
                let die = draw(u64::from(dies)) as u32;
                let expected = lists.perform(op, die, cursor);
                let would_end = pricing.would_end(Task::new(op, Cause::Host, Pbn::new(die), die), Nanos(cursor));
                assert_eq!(would_end.0, expected.1, "request {request}, step {step}: told before it is promised");
                let found = perform(&mut pricing, op, die, cursor);
                assert_eq!(
                    found, expected,
                    "{channels}x{dies_per_channel}, request {request}, step {step}: {op:?} on die {die} at {cursor}"
                );
                cursor = found.1;
            }
        }
    }
}
