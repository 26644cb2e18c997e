//! The order of programs and erases of a block, and programs that are one with a read.

use ftl::{FlashOp, Moment, Task, Timing};

use super::{Node, Operation, Queues, What};
use crate::referee::rules::{Kind, plane_of};

impl Queues {
    /// What a program or an erase of a block waits for there: the end of an erase, before a
    /// program, and otherwise until the operation before it is ready.
    pub(super) fn before_in_block(&self, task: &Task, die: usize) -> Option<Moment> {
        let before = *self.changes.get(&(task.pbn.get(), die)).filter(|_| task.op != FlashOp::Read)?.last()?;
        let Operation { kind, readiness, .. } = *self.operation(before);
        let is_erased = kind == Kind::Erase && task.op == FlashOp::Program;
        let awaited = if is_erased { before } else { readiness.expect("it changes its block") };
        self.things[awaited].ended_at.is_none().then(|| self.moment(awaited, 0))
    }

    /// A program or an erase stands behind those of its block.
    pub(super) fn stand_in_block(&mut self, node: Node) {
        let Operation { to_block, die, kind, .. } = *self.operation(node);
        if kind != Kind::Read {
            self.changes.entry((to_block.get(), die)).or_default().push(node);
        }
    }

    /// Those that became ready in this round let reads pass if one before them in their block does
    /// that has not ended, and have no place in the order of classes before its.
    pub(super) fn settle_standings(&mut self) {
        let waiting = self.dies.iter().flat_map(|die| die.waiting.iter().copied());
        let is_new = |node: &Node| {
            let operation = self.operation(*node);
            operation.ready_in == self.round && operation.kind != Kind::Read
        };
        let mut new: Vec<_> = waiting.filter(is_new).collect();
        new.sort_unstable_by_key(|&node| self.operation(node).number);
        for node in new {
            let Operation { to_block, die, .. } = *self.operation(node);
            let before = self.changes[&(to_block.get(), die)].iter().take_while(|&&other| other != node);
            let open = before.filter(|&&other| self.things[other].ended_at.is_none());
            let open: Vec<_> = open.map(|&other| self.operation(other)).collect();
            let yields = open.iter().any(|other| self.yields(other));
            let place = open.iter().map(|other| self.place_in_order(other)).max().unwrap_or(0);
            let operation = self.operation_mut(node);
            (operation.yields_in_block, operation.place_in_block) = (yields, place);
        }
    }

    /// The read that a program makes one operation with: of the page that it copies, in the same
    /// plane, that nothing else follows yet.
    pub(super) fn copied_read(&self, task: &Task, after: Moment) -> Option<Node> {
        let copies = self.rules.copy_back && task.copies && task.op == FlashOp::Program;
        let read = Some(after).filter(|&after| copies && !self.is_over(after) && !after.is_known())?.event().0 as usize;
        let What::Operation(Operation { kind: Kind::Read, task: from, .. }) = &self.things[read].what else {
            return None;
        };
        let same_plane = plane_of(&self.geometry, from.pbn) == plane_of(&self.geometry, task.pbn);
        let is_followed = !self.things[read].followers.is_empty();
        (same_plane && from.chain == task.chain && !is_followed).then_some(read)
    }

    /// Makes a read and the program that follows it one operation.
    pub(super) fn copy_back(&mut self, read: Node, task: &Task, after: Moment) -> Moment {
        let read_alone = self.operation(read).alone(&self.rules);
        let readiness = self.add(What::Readiness, &[]);
        let is_ready = self.things[read].missing == 0;
        let die = self.operation(read).die;
        let before = self.before_in_block(task, die);
        let operation = self.operation_mut(read);
        (operation.kind, operation.to, operation.to_block) = (Kind::Copy, task.page, task.pbn);
        operation.readiness = Some(readiness);
        if let Some(before) = before {
            self.dies[die].waiting.retain(|&other| other != read);
            self.follow(read, before);
        } else if is_ready {
            self.end(readiness);
        }
        self.stand_in_block(read);
        self.moment(read, after.earliest.0 - read_alone + self.operation(read).alone(&self.rules))
    }
}
