//! What a scheme may ask, answered from the queues as they are.

use std::collections::BTreeMap;
use std::ops::Range;

use ftl::{FlashOp, Moment, Nanos, Task};

use super::dies::Die;
use super::{Operation, Queues};
use crate::referee::rules::{Kind, Rules};

impl Queues {
    /// How long an operation would take from a moment on.
    pub(super) fn estimate_from(&self, task: &Task, from: Moment) -> Nanos {
        let (die, channel) = self.rules.place(&self.geometry, task);
        let [sense, program] = [self.rules.sense(task.page), self.rules.program(task.page)];
        let moves = self.rules.moves_ns(Kind::of(task.op));
        let ahead = from.earliest.since(Nanos(self.now)).0;
        let needs = self.die_needs(die).saturating_sub(ahead);
        let bus = self.bus_needs(channel).saturating_sub(ahead);
        Nanos(match task.op {
            FlashOp::Read => (needs + sense).max(bus) + moves,
            FlashOp::Program => needs.max(bus) + moves + program,
            FlashOp::Erase => needs + self.rules.erases_ns(),
        })
    }

    /// How long idle dies take to read units of superblocks and to program some: each page of the
    /// flash is sensed once.
    pub(super) fn estimate_side_by_side(&self, reads: &[Task], programmed: u64) -> Nanos {
        let Rules { multi_plane, aligned_planes, superblocks, units, .. } = self.rules;
        let in_a_page = units.map_or(1, |units| units.in_a_page);
        let spots: Vec<_> =
            reads.iter().map(|read| (self.rules.spot(read.page), self.rules.sense(read.page))).collect();
        let die_reads = |die: u32| {
            let on_die = || spots.iter().filter(move |(spot, _)| spot.die == die);
            let plane_senses = |plane: Option<u32>| {
                let own = on_die().filter(|(spot, _)| plane.is_none_or(|plane| spot.plane == plane));
                let pages: BTreeMap<_, _> =
                    own.map(|(spot, sense)| ((spot.plane, spot.unit / in_a_page), *sense)).collect();
                pages.values().sum::<u64>()
            };
            let senses = if multi_plane && !aligned_planes {
                (0..superblocks.planes).map(|plane| plane_senses(Some(plane))).max().unwrap_or(0)
            } else {
                plane_senses(None)
            };
            senses + on_die().count() as u64 * self.rules.moves_ns(Kind::Read)
        };
        let (reads, at_once) =
            ((0..superblocks.dies).map(die_reads).max().unwrap_or(0), u64::from(self.rules.at_once()));
        let in_turns = (programmed.div_ceil(at_once) + 1).div_ceil(superblocks.dies.into());
        let slowest = self.rules.slowest_page(FlashOp::Program, self.geometry.pages_per_block());
        Nanos(reads + in_turns * self.rules.alone(Kind::Program, slowest, slowest))
    }

    /// How long a channel stays busy from a moment on.
    pub(super) fn busy_from(&self, channel: u32, from: Moment) -> Nanos {
        let of_group = self.rules.superblocks.dies as usize;
        let first = if self.buses.len() == 1 { 0 } else { channel as usize * of_group };
        let dies = (first..first + of_group).flat_map(|channel| self.dies_of(channel));
        let buses = (first..first + of_group).map(|channel| self.still_moves(channel));
        let needs = dies.map(|die| self.die_needs(die)).chain(buses);
        let ahead = from.earliest.since(Nanos(self.now));
        Nanos(needs.max().unwrap_or(0)).since(ahead)
    }

    /// What a die has taken up or could take up.
    fn under_way(&self, die: usize) -> impl Iterator<Item = &Operation> {
        let Die { waiting, serving, suspended, .. } = &self.dies[die];
        let suspended = suspended.as_ref().map(|(node, _)| node);
        let taken = serving.iter().flat_map(|batch| &batch.operations);
        waiting.iter().chain(taken).chain(suspended).map(|&node| self.operation(node))
    }

    /// The time that a die needs: what is ready, one after the other, behind what it has taken up.
    fn die_needs(&self, die: usize) -> u64 {
        let alone = |operation: &Operation| operation.alone(&self.rules);
        let ready = self.under_way(die).filter(|operation| operation.taken_at.is_none()).map(alone);
        let remains = |operation: &Operation| Some((operation.taken_at? + alone(operation)).saturating_sub(self.now));
        let taken = self.under_way(die).filter_map(remains);
        ready.sum::<u64>() + taken.max().unwrap_or(0)
    }

    /// What the transfer under way on a bus still takes.
    fn still_moves(&self, bus: usize) -> u64 {
        self.buses[bus].moving.map_or(0, |(_, until)| until - self.now)
    }

    fn dies_of(&self, channel: usize) -> Range<usize> {
        let dies = self.dies.len() / self.buses.len();
        channel * dies..(channel + 1) * dies
    }

    /// The time that a bus needs for all pages that still have to move.
    fn bus_needs(&self, bus: usize) -> u64 {
        let to_move = self.dies_of(bus).flat_map(|die| self.under_way(die));
        let is_moving = |operation: &Operation| {
            self.buses[bus].moving.is_some_and(|(node, _)| self.operation(node).number == operation.number)
        };
        let to_begin = to_move.filter(|operation| !operation.has_moved && !is_moving(operation));
        to_begin.map(|operation| self.rules.moves_ns(operation.kind)).sum::<u64>() + self.still_moves(bus)
    }
}
