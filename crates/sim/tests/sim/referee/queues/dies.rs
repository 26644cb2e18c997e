//! What a die takes up, serves and suspends.

use ftl::{Cause, FlashOp};

use super::{Event, Node, Operation, Queues};
use crate::referee::rules::{Kind, Rules, plane_of};

#[derive(Default)]
pub(super) struct Die {
    /// Operations that are ready.
    pub(super) waiting: Vec<Node>,
    /// What it has taken up, the older batch first, but for the operation that is suspended.
    pub(super) serving: Vec<Batch>,
    /// The operation that is suspended, and what it still needs.
    pub(super) suspended: Option<(Node, u64)>,
    /// On its way into the suspension, or out of it.
    pub(super) is_changing: bool,
}

/// What a die has taken up together.
pub(super) struct Batch {
    /// Those of its operations that have not ended.
    pub(super) operations: Vec<Node>,
    /// Whether what they have sensed is in the second registers.
    has_left_first_registers: bool,
}

impl Batch {
    fn of(operations: Vec<Node>) -> Self {
        Self { operations, has_left_first_registers: false }
    }
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
        if self.dies[die].is_changing {
            return;
        }
        let allowed = self.allowed(die);
        if let Some(&first) = allowed.first() {
            if self.has_room_for(die, self.operation(first).kind) {
                let group = self.group(first, &allowed);
                self.count_overtaking(die, first);
                for &node in &group {
                    self.begin(node, group.len() == 1);
                }
                self.dies[die].serving.push(Batch::of(group));
            }
        } else if self.dies[die].suspended.is_some() && self.dies[die].serving.is_empty() {
            self.dies[die].is_changing = true;
            let kind = self.dies[die].suspended.map(|(node, _)| self.operation(node).kind).expect("suspended");
            let [_, resume_ns] = self.rules.suspension_ns(kind);
            self.at(self.now + resume_ns, Event::Resumed { die });
        }
    }

    /// Whether a die may take up operations of a kind: if it is free, reads while another batch
    /// moves from the second registers, or programs while it does nothing but program.
    fn has_room_for(&self, die: usize, kind: Kind) -> bool {
        let batch = match &self.dies[die].serving[..] {
            [] => return true,
            [batch] => batch,
            _ => return false,
        };
        let programs = |&node: &Node| {
            let operation = self.operation(node);
            operation.kind == Kind::Program && operation.ends.is_some()
        };
        match kind {
            Kind::Read => batch.has_left_first_registers,
            Kind::Program => self.rules.caches_programs() && batch.operations.iter().all(programs),
            Kind::Erase | Kind::Copy => false,
        }
    }

    /// A read has sensed its page.
    pub(super) fn has_sensed(&mut self, node: Node) {
        if self.rules.caches_reads() {
            self.operation_mut(node).has_sensed = true;
            self.fill_second_registers(self.operation(node).die);
        } else {
            self.ask_bus(node);
        }
    }

    /// What the older batch of a die has sensed leaves the first registers, if all of it has been
    /// sensed. No other is in the second ones then, since the older one would be.
    fn fill_second_registers(&mut self, die: usize) {
        let Some(batch) = self.dies[die].serving.first() else { return };
        let operations = batch.operations.clone();
        if !batch.has_left_first_registers && operations.iter().all(|&node| self.operation(node).has_sensed) {
            self.dies[die].serving[0].has_left_first_registers = true;
            for node in operations {
                self.ask_bus(node);
            }
        }
    }

    /// The page of a program is there. It programs unless an older batch still does.
    pub(super) fn has_come(&mut self, node: Node) {
        if self.dies[self.operation(node).die].serving[0].operations.contains(&node) {
            self.enter_last_phase(node, self.programs_for(node));
        }
    }

    /// How long an operation programs its page.
    pub(super) fn programs_for(&self, node: Node) -> u64 {
        self.rules.program(self.operation(node).to)
    }

    /// An operation that a die has taken up has ended.
    pub(super) fn leave_die(&mut self, node: Node) {
        let die = self.operation(node).die;
        for batch in &mut self.dies[die].serving {
            batch.operations.retain(|&other| other != node);
        }
        let batches = self.dies[die].serving.len();
        self.dies[die].serving.retain(|batch| !batch.operations.is_empty());
        if self.dies[die].serving.len() < batches {
            self.fill_second_registers(die);
            self.program_what_has_come(die);
        }
    }

    /// The older batch of a die has no other before it any more.
    fn program_what_has_come(&mut self, die: usize) {
        let Some(batch) = self.dies[die].serving.first() else { return };
        let waits = |&node: &Node| self.operation(node).kind == Kind::Program && self.operation(node).has_moved;
        for node in batch.operations.iter().copied().filter(waits).collect::<Vec<_>>() {
            self.enter_last_phase(node, self.programs_for(node));
        }
    }

    /// Suspended work goes on.
    pub(super) fn resume(&mut self, die: usize) {
        let (node, left) = self.dies[die].suspended.take().expect("suspended");
        self.dies[die].is_changing = false;
        self.dies[die].serving.push(Batch::of(vec![node]));
        self.enter_last_phase(node, left);
    }

    /// Reads that the host waits for and that are ready.
    fn awaited_reads(&self, die: usize) -> impl Iterator<Item = &Operation> {
        let ready = self.dies[die].waiting.iter().map(|&node| self.operation(node));
        ready.filter(|operation| operation.is_awaited_read())
    }

    /// Suspends what a die does, if that is a single operation, for a read that has become ready in
    /// such a round.
    fn stop_for(&mut self, die: usize, is_such: impl Fn(u64, u64) -> bool) {
        let [batch] = &self.dies[die].serving[..] else { return };
        let &[node] = &batch.operations[..] else { return };
        let Operation { kind, alone, ends: Some(ends), stopped, .. } = *self.operation(node) else { return };
        let (left, [suspend_ns, _]) = (ends.0 - self.now, self.rules.suspension_ns(kind));
        let asked = self.awaited_reads(die).any(|read| is_such(read.ready_in, self.round));
        let may_stop = self.rules.suspensions.is_none_or(|most| stopped < most);
        let may_be_overtaken = !self.dies[die].waiting.iter().chain([&node]).any(|&node| self.is_due(node));
        if asked && alone && self.rules.suspends(kind) && left > suspend_ns && may_stop && may_be_overtaken {
            self.events.remove(&ends);
            self.operation_mut(node).ends = None;
            self.operation_mut(node).stopped += 1;
            self.dies[die].serving.clear();
            self.dies[die].suspended = Some((node, left));
            self.dies[die].is_changing = true;
            self.at(self.now + suspend_ns, Event::Suspended { die });
        }
    }

    /// Whether an operation has been overtaken as often as may be.
    fn is_due(&self, node: Node) -> bool {
        self.rules.overtakes.is_some_and(|most| self.operation(node).overtaken >= most)
    }

    /// A die takes up an operation: it overtakes all that wait there and became ready earlier, and
    /// what is suspended.
    fn count_overtaking(&mut self, die: usize, taken: Node) {
        let before = |node: Node| (self.operation(node).ready_in, self.operation(node).number);
        let waiting = self.dies[die].waiting.iter().copied().filter(|&node| before(node) < before(taken));
        let suspended = self.dies[die].suspended.map(|(node, _)| node);
        for node in waiting.chain(suspended).collect::<Vec<_>>() {
            self.operation_mut(node).overtaken += 1;
        }
    }

    /// Whether an operation lets reads pass that the host waits for.
    pub(super) fn yields(&self, operation: &Operation) -> bool {
        let Rules { reads_first, gc_yields, .. } = self.rules;
        let is_background = operation.task.chain != 0;
        !operation.is_awaited_read()
            && (reads_first
                || gc_yields && is_background
                || self.rules.suspends(operation.kind)
                || operation.yields_in_block)
    }

    /// Which place an operation has in the order of classes: none before one in its block.
    pub(super) fn place_in_order(&self, operation: &Operation) -> usize {
        let class = match (operation.task.op, operation.task.chain, operation.task.cause) {
            (FlashOp::Erase, ..) => "erase",
            (FlashOp::Read, 0, _) if operation.kind == Kind::Read => "host_read",
            (_, 0, _) => "host_write",
            (_, _, Cause::Refresh) => "refresh",
            _ => "collection",
        };
        self.rules.place_in_order(class).max(operation.place_in_block)
    }

    /// Whether a die may take up a ready operation as far as the order of issue is concerned: a
    /// serial device asks that all that were issued before it have ended. None of those behind it
    /// has then, so counting them is enough.
    fn is_its_turn(&self, operation: &Operation) -> bool {
        !self.rules.serial || operation.number == self.ended + 1
    }

    /// What a die may take up as far as its queue is concerned, in the order in which it would.
    fn allowed(&self, die: usize) -> Vec<Node> {
        let read_waits = self.awaited_reads(die).next().is_some();
        let Die { waiting, suspended, .. } = &self.dies[die];
        let mut waiting = waiting.clone();
        waiting.sort_unstable_by_key(|&node| (self.operation(node).ready_in, self.operation(node).number));
        let due = waiting.iter().copied().find(|&node| self.is_due(node));
        if due.is_some() || suspended.is_some_and(|(node, _)| self.is_due(node)) {
            // The one that became ready first, and what may run beside it. Or suspended work.
            let first = due.filter(|_| suspended.is_none());
            waiting.retain(|&node| first.is_some_and(|first| self.standing(node) == self.standing(first)));
            return waiting;
        }
        let places = waiting.iter().map(|&node| self.place_in_order(self.operation(node)));
        let best = places.min().unwrap_or(0);
        let may_begin = |node: &Node| {
            let operation = self.operation(*node);
            let lets_pass = suspended.is_some() || read_waits && self.yields(operation);
            let is_best = !self.rules.has_order() || suspended.is_some() || self.place_in_order(operation) == best;
            self.is_its_turn(operation) && is_best && (operation.is_awaited_read() || !lets_pass)
        };
        waiting.retain(may_begin);
        waiting
    }

    /// Those with the same standing may run side by side: those that let the same pass. In an order
    /// of classes their place there says so. Without one, reads that the host waits for have their
    /// own if any operation lets them pass.
    fn standing(&self, node: Node) -> (Kind, bool, bool, usize) {
        let operation = self.operation(node);
        let has_own = self.rules.has_precedence() && !self.rules.has_order();
        let (is_awaited_read, yields) = (has_own && operation.is_awaited_read(), has_own && self.yields(operation));
        (operation.kind, is_awaited_read, yields, self.place_in_order(operation))
    }

    /// What is taken up together: the first, and of the same kind and standing the first of each
    /// other plane, at its own flash page if planes are aligned. A copy is alone. The first read of
    /// a plane joins only if it senses and the others do, or if it does not and nor do they.
    fn group(&self, first: Node, allowed: &[Node]) -> Vec<Node> {
        let mut group = vec![first];
        if !self.rules.multi_plane || self.operation(first).kind == Kind::Copy {
            return group;
        }
        let plane = |node: Node| self.plane_of(node);
        let mut stays_out = Vec::new();
        for &node in &allowed[1..] {
            let is_other_plane = group.iter().chain(&stays_out).all(|&other| plane(other) != plane(node));
            let may_join = is_other_plane && self.is_aligned(node, first) && self.is_first_of_block(node);
            if self.standing(node) == self.standing(first) && may_join {
                let is_like_first = self.operation(node).only_moves == self.operation(first).only_moves;
                if is_like_first { &mut group } else { &mut stays_out }.push(node);
            }
        }
        group
    }

    /// Whether no earlier program or erase of its block waits, if it is one.
    fn is_first_of_block(&self, node: Node) -> bool {
        let Operation { kind, to_block, number, .. } = *self.operation(node);
        let waiting = self.dies[self.operation(node).die].waiting.iter().map(|&other| self.operation(other));
        let mut changes = waiting.filter(|other| other.kind != Kind::Read && other.to_block == to_block);
        kind == Kind::Read || changes.all(|other| other.number >= number)
    }

    /// The plane that an operation is on. On a superblock it is on all of them, but for a read.
    fn plane_of(&self, node: Node) -> u32 {
        let Operation { task, kind, .. } = self.operation(node);
        if self.rules.superblocks.planes == 1 {
            return plane_of(&self.geometry, task.pbn);
        }
        if *kind == Kind::Read { self.rules.spot(task.page).plane } else { 0 }
    }

    /// Whether two operations may run side by side where planes are aligned: of reads and programs
    /// those at pages of the flash with one number.
    fn is_aligned(&self, node: Node, first: Node) -> bool {
        let units = self.rules.units.map_or(1, |units| units.in_a_page);
        let (one, other) = (self.operation(node), self.operation(first));
        let page = |operation: &Operation| self.rules.spot(operation.task.page).unit / units;
        let is_same_page = page(one) == page(other);
        !self.rules.aligned_planes || one.kind == Kind::Erase || is_same_page
    }

    /// A die takes up an operation.
    fn begin(&mut self, node: Node, alone: bool) {
        let now = self.now;
        let operation = self.operation_mut(node);
        (operation.taken_at, operation.alone) = (Some(now), alone);
        let (kind, die, page) = (operation.kind, operation.die, operation.task.page);
        self.dies[die].waiting.retain(|&other| other != node);
        match kind {
            Kind::Read | Kind::Copy => _ = self.at(now + self.operation(node).sense_ns, Event::Sensed(node)),
            Kind::Erase => self.begin_last_phase(node, self.rules.erases_ns()),
            Kind::Program if self.rules.transfer_ns == 0 => self.begin_last_phase(node, self.rules.program(page)),
            Kind::Program => self.ask_bus(node),
        }
    }
}

impl Operation {
    /// What it takes on an idle device.
    pub(super) fn alone(&self, rules: &Rules) -> u64 {
        let spared_ns = rules.sense(self.task.page) - self.sense_ns;
        rules.alone(self.kind, self.task.page, self.to) - spared_ns
    }

    /// Whether it is a read that the host waits for.
    fn is_awaited_read(&self) -> bool {
        self.kind == Kind::Read && self.task.chain == 0
    }
}
