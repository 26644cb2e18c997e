//! How dies and buses serve: what waits is queued, taken up, suspended and resumed, and told to who
//! watches.

use ftl::{FlashOp, Task};

use super::{Die, EventTiming, HELD_TO_ORDER, IN_GROUP, PASSING_READS, Phase, YIELDING};
use crate::observe::probe::Probe;
use crate::observe::timeline::Placed;
use crate::timing::calendar::NEVER;
use crate::timing::latencies::Latencies;
use crate::timing::tasks::{Entry, Fifo, Kind, NONE};

impl EventTiming {
    /// Dies and buses take up what waits for them.
    #[inline]
    pub(super) fn take_up_what_waits(&mut self) {
        self.is_unsettled = false;
        if self.ready_now.len() > 1 {
            let tasks = &self.tasks;
            self.ready_now.sort_unstable_by_key(|&number| tasks.get(number).issue);
        }
        for place in 0..self.ready_now.len() {
            let number = self.ready_now[place];
            self.queue(number);
        }
        self.ready_now.clear();
        for place in 0..self.free_dies.len() {
            let index = self.free_dies[place] as usize;
            self.take_up(index);
        }
        self.free_dies.clear();
        if self.asking.len() > 1 {
            let tasks = &self.tasks;
            self.asking.sort_unstable_by_key(|&number| tasks.get(number).issue);
        }
        for place in 0..self.asking.len() {
            let number = self.asking[place];
            self.ask_for_bus(number);
        }
        self.asking.clear();
        for place in 0..self.free_buses.len() {
            let bus = self.free_buses[place] as usize;
            self.serve_bus(bus);
        }
        self.free_buses.clear();
    }

    /// Puts an operation that is ready into its die's queue, or has the die begin it at once.
    #[inline]
    fn queue(&mut self, number: u32) {
        let Task { op, die, chain, .. } = self.tasks.get(number).task;
        let index = die as usize;
        let mut standing = HELD_TO_ORDER;
        if self.has_precedence {
            if op == FlashOp::Read && chain == 0 {
                standing = PASSING_READS;
                self.suspend_for_read(index);
            } else if self.abilities.yields(op, chain != 0) {
                standing = YIELDING;
            }
            self.turns += 1;
            self.tasks.get_mut(number).turn = self.turns;
        }
        let now = self.now;
        if chain == 0
            && let Some(breakdown) = self.breakdown()
        {
            breakdown.waits_for_die(number, index, now);
        }
        let die = &mut self.dies[index];
        let is_idle = die.phase == Phase::Idle;
        if is_idle && self.serves_in_order && die.queues[HELD_TO_ORDER].is_empty() {
            return self.begin(index, number, true);
        }
        die.queues[standing].push(&mut self.tasks, number);
        if is_idle {
            self.free_dies.push(index as u32);
        }
    }

    /// Puts an operation that asks for its bus into the bus' queue, or moves its page at once.
    #[inline]
    fn ask_for_bus(&mut self, number: u32) {
        let Task { die, chain, .. } = self.tasks.get(number).task;
        let (index, now) = (self.bus_of[die as usize] as usize, self.now);
        if chain == 0
            && let Some(breakdown) = self.breakdown()
        {
            breakdown.waits_for_bus(number, index, now);
        }
        let bus = &mut self.buses[index];
        let is_next = bus.queue.is_empty();
        if is_next && bus.busy_until <= now {
            return self.move_page(index, number);
        }
        bus.queue.push(&mut self.tasks, number);
        if is_next {
            // It is looked at again when it is free.
            self.calendar.set(self.dies.len() + index, bus.busy_until);
        }
    }

    /// Suspends what a die is at for a read that has become ready, if it can.
    fn suspend_for_read(&mut self, index: usize) {
        let die = &self.dies[index];
        if die.phase == Phase::Working && !die.is_group && self.lets_itself_suspend(index, die.ends - self.now) {
            self.stop(index);
        }
    }

    /// Whether the work in hand with so much left can be suspended.
    fn lets_itself_suspend(&self, index: usize, left_ns: u64) -> bool {
        let die = &self.dies[index];
        let op = self.tasks.get(die.current).task.op;
        self.abilities.suspend.covers(op) && left_ns > self.abilities.suspend_ns
    }

    /// The work in hand stops, to be taken up again.
    fn stop(&mut self, index: usize) {
        let now = self.now;
        let die = &mut self.dies[index];
        (die.left_ns, die.stopped_at) = (die.ends - now, now);
        (die.suspended, die.current, die.active) = (die.current, NONE, 0);
        die.phase = Phase::Stopping;
        let suspended = die.suspended;
        if self.probe.as_deref().is_some_and(Probe::sees_operations) {
            self.show_part(suspended);
        }
        let is_awaited = self.tasks.get(suspended).task.chain == 0;
        if is_awaited && let Some(breakdown) = self.breakdown() {
            breakdown.waits_for_die(suspended, index, now);
        }
        self.calendar.set(index, now + self.abilities.suspend_ns);
    }

    /// A die that is free takes up what is first.
    fn take_up(&mut self, index: usize) {
        let die = &mut self.dies[index];
        if die.phase != Phase::Idle {
            return;
        }
        let Some((number, standing)) = self.first(index) else {
            if self.dies[index].suspended != NONE {
                return self.resume(index);
            }
            let die = &mut self.dies[index];
            if die.held_since != NEVER {
                die.busy_ns += self.now - die.held_since;
                die.held_since = NEVER;
                let now = self.now;
                if let Some(breakdown) = self.breakdown() {
                    breakdown.die_released(index, now);
                }
            }
            return;
        };
        self.begin(index, number, true);
        if self.abilities.multi_plane && self.tasks.get(number).kind == Kind::Operation {
            self.take_up_beside(index, number, standing);
        }
    }

    /// Takes the operation out of a die's queues that it takes up next.
    #[inline]
    fn first(&mut self, index: usize) -> Option<(u32, usize)> {
        let Self { dies, tasks, has_precedence, .. } = self;
        let Die { queues, suspended, .. } = &mut dies[index];
        if !*has_precedence {
            return queues[HELD_TO_ORDER].pop(tasks).map(|number| (number, HELD_TO_ORDER));
        }
        let (one, other) = match (queues[PASSING_READS].is_empty(), *suspended == NONE) {
            (true, false) => return None,
            (false, false) => (PASSING_READS, PASSING_READS),
            (false, true) => (PASSING_READS, HELD_TO_ORDER),
            (true, true) => (HELD_TO_ORDER, YIELDING),
        };
        let turn = |queue: &Fifo| queue.first().map_or(NEVER, |number| tasks.get(number).turn);
        let standing = if turn(&queues[other]) < turn(&queues[one]) { other } else { one };
        queues[standing].pop(tasks).map(|number| (number, standing))
    }

    /// Ready operations of the same kind and standing on other planes run beside the first.
    fn take_up_beside(&mut self, index: usize, first: u32, standing: usize) {
        let plane = |entry: &Entry| entry.task.pbn.get() / self.blocks_per_plane % self.planes_per_die;
        let op = self.tasks.get(first).task.op;
        let mut planes = vec![plane(self.tasks.get(first))];
        let mut beside = Vec::new();
        while let Some(number) = self.dies[index].queues[standing].take(&mut self.tasks, |entry| {
            entry.task.op == op && entry.kind == Kind::Operation && !planes.contains(&plane(entry))
        }) {
            planes.push(plane(self.tasks.get(number)));
            beside.push(number);
        }
        self.dies[index].is_group = !beside.is_empty();
        for number in beside {
            self.begin(index, number, false);
        }
    }

    /// A die begins an operation, the first or one on a plane beside it.
    #[inline]
    fn begin(&mut self, index: usize, number: u32, is_first: bool) {
        let now = self.now;
        let Latencies { read_ns, transfer_ns, .. } = self.latencies;
        let entry = self.tasks.get_mut(number);
        (entry.start, entry.taken, entry.transfer) = (now, now, NEVER);
        let (op, kind, cause, in_background) = (entry.task.op, entry.kind, entry.task.cause, entry.task.chain != 0);
        let alone_ns = self.alone_ns(self.tasks.get(number));
        let die = &mut self.dies[index];
        die.queued_ns -= alone_ns;
        die.alone_until = die.alone_until.max(now + alone_ns);
        die.held_since = die.held_since.min(now);
        die.active += 1;
        if is_first {
            (die.current, die.is_group) = (number, false);
        }
        if let Some(breakdown) = self.breakdown() {
            if !in_background {
                breakdown.wait_for_die_ended(number, index, now);
            }
            if is_first {
                breakdown.die_held(index, cause, now);
            }
        }
        let work = |left_ns: u64| (Phase::Working, Some(left_ns));
        let (phase, event) = match (kind, op) {
            (Kind::CopyBack, _) => {
                self.dies[index].left_ns = self.latencies.program_ns;
                (Phase::Leading, Some(read_ns))
            }
            (_, FlashOp::Read) if transfer_ns > 0 => (Phase::Sensing, Some(read_ns)),
            (_, FlashOp::Program) if transfer_ns > 0 => {
                self.asking.push(number);
                (Phase::Asking, None)
            }
            (_, op) if is_first && self.has_precedence && op != FlashOp::Read => {
                self.dies[index].left_ns = self.latencies.alone_ns(op);
                self.dies[index].phase = Phase::Leading;
                return self.begin_work(index);
            }
            (_, op) => work(self.latencies.alone_ns(op)),
        };
        if is_first {
            let die = &mut self.dies[index];
            die.phase = phase;
            if let Some(ns) = event {
                die.ends = now + ns;
                self.calendar.set(index, now + ns);
            }
        } else if let Some(ns) = event {
            let issue = self.tasks.get(number).issue;
            self.calendar.add(now + ns, issue, IN_GROUP << 32 | u64::from(number));
        }
    }

    /// The work proper of what a die is at begins: it ends when what is left is done, or stops at
    /// once for a read that waits.
    pub(super) fn begin_work(&mut self, index: usize) {
        let die = &mut self.dies[index];
        (die.phase, die.ends) = (Phase::Working, self.now + die.left_ns);
        let (left_ns, reads_wait) = (die.left_ns, !die.queues[PASSING_READS].is_empty());
        if reads_wait && !die.is_group && self.lets_itself_suspend(index, left_ns) {
            return self.stop(index);
        }
        self.calendar.set(index, self.now + left_ns);
    }

    /// A die goes on with what it suspended.
    fn resume(&mut self, index: usize) {
        let now = self.now;
        let die = &mut self.dies[index];
        (die.current, die.suspended) = (die.suspended, NONE);
        (die.active, die.is_group) = (1, false);
        let entry = self.tasks.get_mut(die.current);
        entry.start += now - die.stopped_at;
        entry.taken = now;
        let (current, cause, is_awaited) = (die.current, entry.task.cause, entry.task.chain == 0);
        die.phase = Phase::Leading;
        let resume_ns = self.abilities.resume_ns;
        if let Some(breakdown) = self.breakdown() {
            if is_awaited {
                breakdown.resumes(current, index, cause, (now, resume_ns));
            }
            breakdown.die_held(index, cause, now);
        }
        if resume_ns == 0 {
            return self.begin_work(index);
        }
        self.calendar.set(index, now + resume_ns);
    }

    /// A bus that is free takes up what is first.
    fn serve_bus(&mut self, index: usize) {
        let bus = &mut self.buses[index];
        debug_assert!(bus.busy_until <= self.now, "who waits is served when the page before has moved");
        if let Some(number) = bus.queue.pop(&self.tasks) {
            let has_more = !bus.queue.is_empty();
            self.move_page(index, number);
            if has_more {
                self.calendar.set(self.dies.len() + index, self.buses[index].busy_until);
            }
        }
    }

    /// A page begins to move.
    #[inline]
    fn move_page(&mut self, bus: usize, number: u32) {
        let now = self.now;
        let Latencies { program_ns, transfer_ns, .. } = self.latencies;
        let moving = &mut self.buses[bus];
        moving.busy_until = now + transfer_ns;
        moving.transfers += 1;
        moving.to_move -= 1;
        let entry = self.tasks.get_mut(number);
        entry.transfer = now;
        let (op, index, cause, issue) = (entry.task.op, entry.task.die as usize, entry.task.cause, entry.issue);
        let is_awaited = entry.task.chain == 0;
        if let Some(breakdown) = self.breakdown() {
            breakdown.page_moves(is_awaited.then_some(number), bus, cause, (now, now + transfer_ns));
        }
        let after_ns = if op == FlashOp::Program { program_ns } else { 0 };
        let die = &mut self.dies[index];
        if die.current != number {
            let event = IN_GROUP << 32 | u64::from(number);
            return self.calendar.add(now + transfer_ns + after_ns, issue, event);
        }
        if op == FlashOp::Program && self.abilities.suspend.covers(op) {
            (die.phase, die.left_ns) = (Phase::Leading, program_ns);
            return self.calendar.set(index, now + transfer_ns);
        }
        (die.phase, die.ends) = (Phase::Working, now + transfer_ns + after_ns);
        self.calendar.set(index, die.ends);
    }

    /// Tells who watches of an operation that ends now.
    #[inline(never)]
    pub(super) fn tell_end(&mut self, number: u32) {
        let Self { tasks, latencies, probe, now, .. } = self;
        let Some(probe) = probe.as_deref_mut() else { return };
        let entry = tasks.get(number);
        let task = entry.task;
        let Latencies { read_ns, program_ns, .. } = *latencies;
        let service_ns = if entry.kind == Kind::CopyBack { program_ns } else { latencies.alone_ns(task.op) };
        if task.chain == 0
            && let Some(breakdown) = &mut probe.breakdown
        {
            if entry.kind == Kind::CopyBack {
                breakdown.served(number, entry.read_cause, read_ns);
            }
            breakdown.served(number, task.cause, service_ns);
        }
        if !probe.sees_operations() {
            return;
        }
        let Entry { taken, start, ready, transfer, .. } = *entry;
        // What was suspended is told from when it was taken up again.
        let transfer_ns = (transfer != NEVER && taken == start).then_some(transfer);
        let placed = Placed {
            task,
            die: task.die,
            ready_ns: ready,
            start_ns: taken,
            transfer_ns,
            end_ns: *now,
            service_ns: Some(service_ns),
        };
        if entry.kind == Kind::CopyBack && taken == start {
            let sensed = taken + read_ns;
            probe.see(Placed { task: entry.read_task(), end_ns: sensed, service_ns: Some(read_ns), ..placed });
            probe.see(Placed { ready_ns: sensed, start_ns: sensed, ..placed });
        } else {
            probe.see(placed);
        }
    }

    /// Tells who watches of the part of an operation that is suspended now.
    #[cold]
    #[inline(never)]
    fn show_part(&mut self, number: u32) {
        let Self { tasks, latencies, probe, now, .. } = self;
        let Some(probe) = probe.as_deref_mut() else { return };
        let entry = tasks.get(number);
        let Entry { task, kind, taken, start, ready, transfer, .. } = *entry;
        let transfer_ns = (transfer != NEVER && taken == start).then_some(transfer);
        let part = |task: Task, start_ns, end_ns, service_ns| Placed {
            task,
            die: task.die,
            ready_ns: ready,
            start_ns,
            transfer_ns,
            end_ns,
            service_ns,
        };
        let mut from = taken;
        if kind == Kind::CopyBack && taken == start {
            from += latencies.read_ns;
            probe.see(part(entry.read_task(), taken, from, Some(latencies.read_ns)));
        }
        probe.see(part(task, from, *now, None));
    }
}
