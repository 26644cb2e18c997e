//! Units that wait in the controller until they are programmed, and the places of the host's.

use std::collections::BTreeSet;

use ftl::{FlashOp, Moment, Task, Timing};

use super::{Event, Node, Queues, What};
use crate::referee::rules::moves_data;

/// The program buffer.
#[derive(Default)]
pub(super) struct Buffer {
    /// Places that units of the host have.
    pub(super) taken: i64,
    /// Who asks in this round.
    pub(super) asking: Vec<Node>,
    /// Who asked before.
    pub(super) line: Vec<Node>,
    /// Who has no place yet.
    pub(super) without: BTreeSet<Node>,
}

impl Queues {
    /// Whether a task programs a unit for the host, which answers when that is in the buffer.
    pub(super) fn is_of_host(&self, task: &Task) -> bool {
        let is_awaited = task.chain == 0 && !moves_data(task.cause);
        self.rules.buffered.is_some() && task.op == FlashOp::Program && is_awaited
    }

    /// When a unit that comes at a moment has a place in the buffer.
    pub(super) fn take_place(&mut self, comes: Moment) -> Moment {
        let nobody_waits = self.buffer.asking.is_empty() && self.buffer.line.is_empty();
        let others = i64::from(!self.buffer.without.is_empty());
        if self.is_over(comes) && nobody_waits && self.free_places() > others {
            self.buffer.taken += 1;
            return comes;
        }
        let node = self.add(What::Place, &[comes]);
        self.buffer.without.insert(node);
        self.moment(node, comes.earliest.0.max(self.now))
    }

    fn free_places(&self) -> i64 {
        self.rules.buffered.map_or(0, |places| places.cast_signed() - self.buffer.taken)
    }

    /// Who asked in this round stands in line, in the order of issue. Then places are given away,
    /// the last free one to who was issued first: one more than there are if nothing else will
    /// happen.
    pub(super) fn give_places(&mut self) {
        let mut asking = std::mem::take(&mut self.buffer.asking);
        asking.sort_unstable();
        self.buffer.line.extend(asking);
        while let Some(&front) = self.buffer.line.first() {
            let (free, is_stuck) = (self.free_places(), self.events.is_empty());
            let eldest = self.buffer.without.first().copied().filter(|node| self.buffer.line.contains(node));
            let next = if free > 1 { Some(front) } else { eldest.filter(|_| free == 1 || is_stuck) };
            let Some(node) = next.or_else(|| is_stuck.then_some(front)) else { return };
            self.buffer.line.retain(|&other| other != node);
            self.buffer.without.remove(&node);
            self.buffer.taken += 1;
            self.at(self.now, Event::Alarm(node));
        }
    }

    /// Whether an operation is over without the flash: it puts a unit into the buffer, or reads one
    /// there.
    pub(super) fn is_done_in_buffer(&mut self, task: &Task, after: Moment, has_place: bool) -> bool {
        let buffered = self.buffered.entry(task.pbn.get()).or_default();
        match task.op {
            FlashOp::Read => buffered.iter().any(|&(unit, ..)| unit == task.page),
            FlashOp::Program if (task.page + 1).is_multiple_of(self.rules.at_once()) => false,
            FlashOp::Program => {
                buffered.push((task.page, after, has_place));
                true
            }
            FlashOp::Erase => false,
        }
    }

    /// When the data come that a program takes out of the buffer, and how many places they have.
    /// What is erased leaves its places, too, and nothing waits for its data.
    pub(super) fn data_of(&mut self, task: &Task) -> (Vec<Moment>, i64) {
        let buffered = self.buffered.get_mut(&task.pbn.get()).filter(|_| task.op != FlashOp::Read);
        let units = buffered.map(std::mem::take).unwrap_or_default();
        let places = units.iter().filter(|&&(_, _, has_place)| has_place).count();
        let comes = units.into_iter().map(|(_, comes, _)| comes);
        (comes.filter(|_| task.op == FlashOp::Program).collect(), places.cast_signed() as i64)
    }

    /// Whether a read finds its flash page in the register of its die, since the die was to read
    /// another unit of it last, for the same command or work.
    pub(super) fn is_in_register(&mut self, task: &Task, die: usize) -> bool {
        let Some(units) = self.rules.units.filter(|_| self.rules.at_once() > 1) else { return false };
        let before = self.registers.remove(&die);
        if task.op != FlashOp::Read {
            return false;
        }
        let whom = (self.commands, task.chain);
        self.registers.insert(die, (task.pbn, task.page, whom));
        before.is_some_and(|(pbn, unit, other)| {
            let is_same_page = (pbn, unit / units.in_a_page) == (task.pbn, task.page / units.in_a_page);
            is_same_page && unit != task.page && whom == other
        })
    }
}
