//! What a die takes up, serves and suspends.

use super::{Event, Node, Operation, Queues};
use crate::referee::rules::{Kind, Rules, plane_of};

#[derive(Default)]
pub(super) struct Die {
    /// Operations that are ready.
    pub(super) waiting: Vec<Node>,
    /// Operations that it has taken up, but the suspended one.
    pub(super) serving: Vec<Node>,
    /// The operation that is suspended, and what it still needs.
    pub(super) suspended: Option<(Node, u64)>,
    /// On its way into the suspension, or out of it.
    pub(super) is_changing: bool,
}

impl Queues {
    /// An operation programs, or erases, for so long.
    fn begin_last_phase(&mut self, node: Node, time: u64) {
        let ends = self.at(self.now + time, Event::Done(node));
        self.operation_mut(node).ends = Some(ends);
    }

    /// The same in the first step of a round. A read that has become ready in an earlier round
    /// stops it at once.
    pub(super) fn enter_last_phase(&mut self, node: Node, time: u64) {
        self.begin_last_phase(node, time);
        self.stop_for(self.operation(node).die, |ready_in, round| ready_in < round);
    }

    pub(super) fn serve_die(&mut self, die: usize) {
        self.stop_for(die, |ready_in, round| ready_in == round);
        if self.dies[die].is_changing || !self.dies[die].serving.is_empty() {
            return;
        }
        let allowed = self.allowed(die);
        if let Some(&first) = allowed.first() {
            let group = self.group(first, &allowed);
            for &node in &group {
                self.begin(node, group.len() == 1);
            }
        } else if self.dies[die].suspended.is_some() {
            self.dies[die].is_changing = true;
            self.at(self.now + self.rules.resume_ns, Event::Resumed { die });
        }
    }

    /// Reads that the host waits for and that are ready.
    fn awaited_reads(&self, die: usize) -> impl Iterator<Item = &Operation> {
        let ready = self.dies[die].waiting.iter().map(|&node| self.operation(node));
        ready.filter(|operation| operation.is_awaited_read())
    }

    /// Suspends what a die does, for a read that has become ready in such a round.
    fn stop_for(&mut self, die: usize, is_such: impl Fn(u64, u64) -> bool) {
        let &[node] = &self.dies[die].serving[..] else { return };
        let Operation { kind, alone, ends: Some(ends), .. } = *self.operation(node) else { return };
        let left = ends.0 - self.now;
        let asked = self.awaited_reads(die).any(|read| is_such(read.ready_in, self.round));
        if asked && alone && self.rules.suspends(kind) && left > self.rules.suspend_ns {
            self.events.remove(&ends);
            self.operation_mut(node).ends = None;
            self.dies[die].serving.clear();
            self.dies[die].suspended = Some((node, left));
            self.dies[die].is_changing = true;
            self.at(self.now + self.rules.suspend_ns, Event::Suspended { die });
        }
    }

    /// Whether an operation lets reads pass that the host waits for.
    fn yields(&self, operation: &Operation) -> bool {
        let Rules { reads_first, gc_yields, .. } = self.rules;
        let is_background = operation.task.chain != 0;
        !operation.is_awaited_read()
            && (reads_first || gc_yields && is_background || self.rules.suspends(operation.kind))
    }

    /// Whether a die may take up a ready operation as far as the order of issue is concerned: a
    /// serial device asks that all that were issued before it have ended. None of those behind it
    /// has then, so counting them is enough.
    fn is_its_turn(&self, operation: &Operation) -> bool {
        !self.rules.serial || operation.number == self.ended + 1
    }

    /// What a free die may take up, in the order in which it would.
    fn allowed(&self, die: usize) -> Vec<Node> {
        let read_waits = self.awaited_reads(die).next().is_some();
        let is_suspended = self.dies[die].suspended.is_some();
        let may_begin = |node: &Node| {
            let operation = self.operation(*node);
            let lets_pass = is_suspended || read_waits && self.yields(operation);
            self.is_its_turn(operation) && (operation.is_awaited_read() || !lets_pass)
        };
        let mut allowed: Vec<_> = self.dies[die].waiting.iter().copied().filter(may_begin).collect();
        allowed.sort_unstable_by_key(|&node| (self.operation(node).ready_in, self.operation(node).number));
        allowed
    }

    /// What is taken up together: the first, and of the same kind and standing the first of each
    /// other plane. A copy is alone.
    fn group(&self, first: Node, allowed: &[Node]) -> Vec<Node> {
        let mut group = vec![first];
        if !self.rules.multi_plane || self.operation(first).kind == Kind::Copy {
            return group;
        }
        let plane = |node: Node| plane_of(&self.geometry, self.operation(node).task.pbn);
        let standing = |node: Node| {
            let operation = self.operation(node);
            (operation.kind, self.rules.has_precedence() && operation.is_awaited_read(), self.yields(operation))
        };
        for &node in &allowed[1..] {
            let is_other_plane = group.iter().all(|&other| plane(other) != plane(node));
            if standing(node) == standing(first) && is_other_plane {
                group.push(node);
            }
        }
        group
    }

    /// A die takes up an operation.
    fn begin(&mut self, node: Node, alone: bool) {
        let now = self.now;
        let operation = self.operation_mut(node);
        (operation.taken_at, operation.alone) = (Some(now), alone);
        let (kind, die) = (operation.kind, operation.die);
        self.dies[die].waiting.retain(|&other| other != node);
        self.dies[die].serving.push(node);
        match kind {
            Kind::Read | Kind::Copy => _ = self.at(now + self.rules.read_ns, Event::Sensed(node)),
            Kind::Erase => self.begin_last_phase(node, self.rules.erase_ns),
            Kind::Program if self.rules.transfer_ns == 0 => self.begin_last_phase(node, self.rules.program_ns),
            Kind::Program => self.ask_bus(node),
        }
    }
}

impl Operation {
    /// Whether it is a read that the host waits for.
    fn is_awaited_read(&self) -> bool {
        self.kind == Kind::Read && self.task.chain == 0
    }
}
