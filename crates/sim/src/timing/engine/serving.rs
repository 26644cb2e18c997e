//! How dies and buses serve: what waits is queued, taken up, suspended and resumed, and told to who
//! watches.

use ftl::FlashOp;

use super::{
    COPY_BACK, Course, DELAY_ENDS, EventTiming, GENERAL, More, OF_OPERATION, PLAIN, PROGRAM, Phase, READ, TOLD, event,
};
use crate::observe::timeline::Placed;
use crate::timing::bus::{Transfer, Turn};
use crate::timing::calendar::NEVER;
use crate::timing::fifo::Fifo;
use crate::timing::program_buffer::ProgramBuffer;
use crate::timing::scheduling::{HOST_READS, STANDINGS, Suspension};
use crate::timing::tails::NONE;
use crate::timing::tasks::{Details, Entry, Kind};

impl EventTiming {
    /// Dies and buses take up what waits for them.
    #[inline]
    pub(super) fn take_up_what_waits<const MODE: u8>(&mut self) {
        self.is_unsettled = false;
        let is_quiet = self.ready_now.is_empty() && self.free_dies.is_empty() && self.asked_now.is_empty();
        let is_settled = self.buffer.as_ref().is_none_or(ProgramBuffer::is_settled);
        if is_quiet && is_settled && self.stations.is_none() {
            self.rounds += 1;
            return;
        }
        self.sort_ready();
        for place in 0..self.ready_now.len() {
            let number = self.ready_now[place];
            self.queue::<MODE>(number);
        }
        self.ready_now.clear();
        for place in 0..self.free_dies.len() {
            let index = self.free_dies[place] as usize;
            if self.dies[index].phase == Phase::Idle {
                self.take_up::<MODE>(index);
            } else if MODE == GENERAL {
                self.take_up_behind(index);
            }
        }
        self.free_dies.clear();
        if MODE != PLAIN {
            self.tell_bus_waits();
        }
        if self.stations.is_some() {
            self.serve_at_stations();
        }
        if !is_settled {
            self.give_places();
        }
        self.rounds += 1;
    }

    /// Sorts what became ready at this moment by issue.
    #[inline]
    fn sort_ready(&mut self) {
        let tasks = &self.tasks;
        let issue = |&number: &u32| tasks.get(number).issue;
        if let [one, other] = &mut self.ready_now[..] {
            if issue(other) < issue(one) {
                std::mem::swap(one, other);
            }
        } else if self.ready_now.len() > 2 {
            self.ready_now.sort_unstable_by_key(issue);
        }
    }

    /// Stations of the front end serve this round's arrivals in the order of issue.
    fn serve_at_stations(&mut self) {
        let Self { stations: Some(stations), tasks, calendar, now, .. } = self else { return };
        let mut came = std::mem::take(&mut stations.came);
        came.sort_unstable_by_key(|&number| tasks.get(number).issue);
        for number in came.drain(..) {
            let entry = tasks.get(number);
            let end = stations.serve(entry.task.die as usize, *now, entry.start);
            calendar.add_any(end, entry.issue, event(DELAY_ENDS, number));
        }
        stations.came = came;
    }

    /// Puts an operation that is ready into its die's queue, or has the die begin it at once.
    #[inline]
    fn queue<const MODE: u8>(&mut self, number: u32) {
        let entry = self.tasks.get(number);
        let index = entry.task.die as usize;
        let die = &mut self.dies[index];
        let is_idle = die.phase == Phase::Idle;
        if MODE == GENERAL {
            return self.queue_by_standing(number, is_idle);
        }
        if is_idle && die.queue.is_empty() {
            self.tasks.prefetch_follower(number);
            return self.begin_on_plain_die::<MODE>(index, number);
        }
        if MODE == TOLD {
            let is_next = !is_idle && die.queue.is_empty();
            self.tell_wait_for_die(index, number, is_next);
        }
        self.wait_in_queue(index, number);
        if is_idle {
            self.free_dies.push(index as u32);
        }
    }

    /// Tells the account of an operation, if it has one, that it waits for its die; whether it is
    /// next.
    #[expect(clippy::inline_always, reason = "most operations have no account")]
    #[inline(always)]
    pub(super) fn tell_wait_for_die(&mut self, index: usize, number: u32, is_next: bool) {
        let account = self.tasks.get(number).account;
        if account != NONE
            && let Some(breakdown) = &mut self.breakdown
        {
            breakdown.waits_for_die(account, index, self.now, is_next);
        }
    }

    /// An operation that is ready waits for its die behind all others. On a serial device it stood
    /// there before.
    #[inline]
    pub(super) fn wait_in_queue(&mut self, index: usize, number: u32) {
        let Self { dies, tasks, prices, die_mask, .. } = self;
        let (course, die) = (prices.course(tasks.get(number).task.course), &mut dies[index]);
        die.queued_ns += course.alone_ns;
        die.queued_units += course.moves;
        if *die_mask != 0 {
            die.queue.push(tasks, number);
        }
    }

    /// The same where the device can do more than the plain model, or somebody watches.
    fn queue_by_standing(&mut self, number: u32, is_idle: bool) {
        let entry = self.tasks.get(number);
        let (op, cause, is_awaited) = (entry.task.course.op(), entry.task.cause, entry.is_awaited());
        let index = entry.task.die as usize;
        if self.probe.is_some() {
            self.tasks.details_mut(number).ready = self.now;
        }
        if is_idle && self.serves_in_order() && self.dies[index].queue.is_empty() {
            return self.begin(index, number, true);
        }
        let mut standing = 0;
        if self.rules.has_precedence {
            standing = self.abilities.scheduling.standing(op, cause, is_awaited);
            if op != FlashOp::Read {
                standing = self.stand_behind_block(number, standing);
            } else if is_awaited {
                self.suspend_for_read(index);
            }
        }
        if self.rules.has_precedence || self.planes.is_some() {
            self.turns += 1;
            self.tasks.details_mut(number).turn = self.turns;
        }
        let serves_in_order = self.serves_in_order();
        let Self { breakdown, dies, tasks, prices, now, .. } = self;
        let (die, entry) = (&mut dies[index], tasks.get(number));
        if let Some(breakdown) = breakdown
            && entry.account != NONE
        {
            let is_next = !is_idle && serves_in_order && die.queue.is_empty();
            breakdown.waits_for_die(entry.account, index, *now, is_next);
        }
        let course = prices.course(entry.task.course);
        die.queued_ns += course.alone_ns;
        die.queued_units += course.moves;
        if !self.is_serial() {
            self.push(index, number, standing);
        }
        if is_idle || self.may_take_up_behind(index).is_some() {
            self.free_dies.push(index as u32);
        }
    }

    /// A program or an erase stands no further ahead than the one before it in its block.
    fn stand_behind_block(&mut self, number: u32, own: usize) -> usize {
        let (event, block) = (self.tasks.event(number), self.block_of(&self.tasks.get(number).task));
        let before = std::mem::replace(&mut self.queued_in_block[block], event);
        let is_under_way = self.tasks.is_under_way(before);
        let standing = if is_under_way { own.max(self.tasks.details(before.number).standing) } else { own };
        self.tasks.details_mut(number).standing = standing;
        standing
    }

    /// Suspends what a die is at for a read that has become ready, if it can.
    fn suspend_for_read(&mut self, index: usize) {
        let (die, more) = (&self.dies[index], &self.more[index]);
        let left_ns = die.ends.saturating_sub(self.now);
        let works_alone =
            matches!(die.phase, Phase::Working | Phase::Programming) && !more.is_group && more.behind.is_empty();
        if works_alone && self.lets_itself_suspend(index, left_ns) {
            self.stop(index);
        }
    }

    /// Whether the work in hand with so much left can be suspended.
    fn lets_itself_suspend(&self, index: usize, left_ns: u64) -> bool {
        let op = self.tasks.get(self.dies[index].current).task.course.op();
        self.abilities.scheduling.suspension(op).is_some_and(|suspension| left_ns > suspension.suspend_ns)
    }

    /// How work that stops or goes on is suspended.
    fn suspension_of(&self, number: u32) -> Suspension {
        let op = self.tasks.get(number).task.course.op();
        self.abilities.scheduling.suspension(op).expect("only what can be suspended is")
    }

    /// The work in hand stops, to be taken up again.
    fn stop(&mut self, index: usize) {
        let now = self.now;
        let (die, more) = (&mut self.dies[index], &mut self.more[index]);
        (more.left_ns, more.stopped_at) = (die.ends - now, now);
        more.suspended = std::mem::replace(&mut die.current, NONE);
        (more.active, more.ahead) = (0, 0);
        die.phase = Phase::Stopping;
        let suspended = more.suspended;
        if self.probe.is_some() {
            self.show_part(suspended);
        }
        let account = self.tasks.get(suspended).account;
        if let Some(breakdown) = &mut self.breakdown
            && account != NONE
        {
            breakdown.waits_for_die(account, index, now, false);
        }
        // The end of what stops does not count any more.
        self.more[index].serial = (self.more[index].serial + 1) % (1 << 30);
        self.set_end(index, READ, now + self.suspension_of(suspended).suspend_ns);
    }

    /// The phase in hand of a die ends then.
    #[inline]
    pub(super) fn set_end(&mut self, index: usize, lane: usize, time: u64) {
        self.dies[index].ends = time;
        let event = self.event_of(index);
        self.calendar.add(lane, time, event);
    }

    /// A die that is free takes up what is first.
    #[inline]
    fn take_up<const MODE: u8>(&mut self, index: usize) {
        if MODE == GENERAL {
            return self.take_up_by_standing(index);
        }
        let Self { breakdown, dies, tasks, prices, now, .. } = self;
        let die = &mut dies[index];
        let Some(number) = die.queue.pop_ready(tasks) else { return };
        tasks.prefetch_follower(number);
        let entry = tasks.get(number);
        let course = prices.course(entry.task.course);
        die.queued_ns -= course.alone_ns;
        die.queued_units -= course.moves;
        if MODE == TOLD
            && entry.account != NONE
            && let Some(breakdown) = breakdown
        {
            breakdown.wait_for_die_ended(entry.account, index, *now);
        }
        self.begin_on_plain_die::<MODE>(index, number);
    }

    /// The same where the device can do more than the plain model, or somebody watches.
    fn take_up_by_standing(&mut self, index: usize) {
        let Some((number, standing)) = self.first(index, |_| true) else {
            if self.more[index].suspended != NONE {
                return self.resume(index);
            }
            let die = &mut self.dies[index];
            if die.held_since != NEVER {
                die.busy_ns += self.now - die.held_since;
                die.held_since = NEVER;
                if let Some(breakdown) = &mut self.breakdown {
                    breakdown.die_released(index, self.now);
                }
            }
            return;
        };
        self.take_up_with_others(index, number, standing);
    }

    /// A die takes up an operation, and what may run beside it.
    pub(super) fn take_up_with_others(&mut self, index: usize, number: u32, standing: usize) {
        self.begin(index, number, true);
        if self.planes.is_some() && self.tasks.get(number).kind == Kind::Operation {
            self.take_up_beside(index, number, standing);
        }
    }

    /// Takes the operation out of a die's queues that it takes up next, if that may be taken up.
    #[inline]
    pub(super) fn first(&mut self, index: usize, may_be: impl Fn(&Entry) -> bool) -> Option<(u32, usize)> {
        let standing = if self.rules.has_precedence { self.standing_of_first(index)? } else { 0 };
        let Self { dies, more, tasks, planes, .. } = self;
        let queue = queue_of(&mut dies[index].queue, &mut more[index], standing);
        let first = queue.first().filter(|&number| may_be(tasks.get(number)))?;
        if planes.is_some() {
            self.take_out(index, first, standing);
        } else {
            queue.pop_ready(tasks)?;
        }
        self.leaves_queue(index, first);
        Some((first, standing))
    }

    /// In which of its queues stands what a die takes up next, if anything may be taken up. While
    /// something is suspended, reads of the host alone are.
    fn standing_of_first(&self, index: usize) -> Option<usize> {
        let More { others, suspended, .. } = &self.more[index];
        let queue = |standing: usize| if standing == 0 { self.dies[index].queue } else { others[standing - 1] };
        let standings = if *suspended == NONE { 0..STANDINGS } else { HOST_READS..HOST_READS + 1 };
        let waiting: u8 = standings.map(|standing| u8::from(!queue(standing).is_empty()) << standing).sum();
        let turn = |standing| queue(standing).first().map_or(NEVER, |number| self.tasks.details(number).turn);
        self.abilities.scheduling.next(waiting, turn)
    }

    /// An operation does not wait in a die's queue any more.
    #[inline]
    pub(super) fn leaves_queue(&mut self, index: usize, number: u32) {
        let Self { breakdown, dies, tasks, prices, now, .. } = self;
        let (entry, die) = (tasks.get(number), &mut dies[index]);
        let course = prices.course(entry.task.course);
        die.queued_ns -= course.alone_ns;
        die.queued_units -= course.moves;
        if let Some(breakdown) = breakdown
            && entry.account != NONE
        {
            breakdown.wait_for_die_ended(entry.account, index, *now);
        }
    }

    /// A die begins an operation, the first or one on a plane beside it.
    pub(super) fn begin(&mut self, index: usize, number: u32, is_first: bool) {
        let now = self.now;
        self.tasks.prefetch_follower(number);
        let entry = self.tasks.get_mut(number);
        entry.start = now;
        let (class, issue, cause) = (entry.class(), entry.issue, entry.task.cause);
        if let Some(programs) = &mut self.programs
            && matches!(class, PROGRAM | COPY_BACK)
        {
            programs.begin(entry.task.pbn.get() as usize);
        }
        if self.overlaps[class] {
            return self.begin_overlapping(index, number, is_first);
        }
        let Course { alone_ns, moves, asks_after_ns, mut then_ns } = *self.prices.course(entry.task.course);
        let die = &mut self.dies[index];
        die.alone_until = die.alone_until.max(now + alone_ns);
        die.held_since = die.held_since.min(now);
        if is_first {
            (die.current, die.phase) = (number, Phase::Working);
        }
        let more = &mut self.more[index];
        more.active += 1;
        more.is_group = !is_first;
        if self.is_watched() {
            self.tell_begin(index, number, is_first);
        }
        let mut ends = now + alone_ns;
        if moves > 0 {
            if class == PROGRAM && self.abilities.scheduling.suspension(FlashOp::Program).is_some() {
                let program_ns = self.prices.program_ns(&self.tasks.get(number).task);
                if is_first {
                    self.dies[index].phase = Phase::Leading;
                    self.more[index].left_ns = program_ns;
                } else {
                    then_ns = program_ns;
                }
            }
            let asks = now + asks_after_ns;
            let round = if asks > now { 0 } else { self.rounds + u32::from(class == READ) };
            let turn = Turn { asks, round, issue };
            let transfer = Transfer { turn, units: moves, starts: 0, then_ns, entry: number, die: index as u32, cause };
            ends = self.book(transfer) + self.prices.moves_ns(moves) + then_ns;
        } else if class == COPY_BACK {
            let entry = self.tasks.get(number);
            self.dies[index].phase = Phase::Leading;
            self.more[index].left_ns = self.prices.program_ns(&entry.task);
            ends = now + self.prices.sense_ns(&entry.task);
        } else if is_first && self.rules.has_precedence && class != READ {
            self.more[index].left_ns = alone_ns;
            return self.begin_work(index);
        }
        if is_first {
            self.set_end(index, class, ends);
        } else {
            self.tasks.details_mut(number).ends = ends;
            self.calendar.add_any(ends, issue, event(OF_OPERATION, number));
        }
    }

    /// Books a page on its bus; returns when it begins to move. A page that moves later because of
    /// it ends later.
    pub(super) fn book(&mut self, transfer: Transfer) -> u64 {
        let Self { dies, buses, tasks, prices, now, .. } = self;
        let bus = &mut buses[dies[transfer.die as usize].bus as usize];
        bus.book(transfer, *now, |late, _| {
            let ends = late.starts + prices.moves_ns(late.units) + late.then_ns;
            let die = &mut dies[late.die as usize];
            if die.current == late.entry {
                die.ends = ends;
            } else {
                tasks.details_mut(late.entry).ends = ends;
            }
        })
    }

    /// The work proper of what a die is at begins: it ends when what is left is done, or stops at
    /// once for a read that waits.
    pub(super) fn begin_work(&mut self, index: usize) {
        let (die, more) = (&mut self.dies[index], &self.more[index]);
        let class = self.tasks.get(die.current).class();
        let phase = if self.overlaps[class] { Phase::Programming } else { Phase::Working };
        (die.phase, die.ends) = (phase, self.now + more.left_ns);
        let (left_ns, ends) = (more.left_ns, die.ends);
        if !die.queue.is_empty() && !more.is_group && self.lets_itself_suspend(index, left_ns) {
            return self.stop(index);
        }
        self.set_end(index, class, ends);
        if phase == Phase::Programming {
            self.free_dies.push(index as u32);
        }
    }

    /// A die goes on with what it suspended.
    fn resume(&mut self, index: usize) {
        let now = self.now;
        let (die, more) = (&mut self.dies[index], &mut self.more[index]);
        let number = std::mem::replace(&mut more.suspended, NONE);
        (die.current, die.phase) = (number, Phase::Leading);
        (more.active, more.is_group) = (1, false);
        let entry = self.tasks.get_mut(number);
        more.ahead = u32::from(self.overlaps[entry.class()]);
        entry.start += now - more.stopped_at;
        let (account, cause) = (entry.account, entry.task.cause);
        self.tasks.details_mut(number).taken = now;
        let resume_ns = self.suspension_of(number).resume_ns;
        if let Some(breakdown) = &mut self.breakdown {
            if account != NONE {
                breakdown.wait_for_die_ended(account, index, now);
                breakdown.waited_for_die(account, cause, resume_ns);
            }
            breakdown.die_held(index, cause, now);
        }
        self.set_end(index, READ, now + resume_ns);
    }

    /// Tells who watches of an operation that begins now.
    pub(super) fn tell_begin(&mut self, index: usize, number: u32, is_first: bool) {
        let entry = self.tasks.get(number);
        if is_first && let Some(breakdown) = &mut self.breakdown {
            breakdown.die_held(index, entry.task.cause, self.now);
        }
        let (class, is_seen) = (entry.class(), entry.account != NONE || self.probe.is_some());
        if is_seen && class == PROGRAM && self.prices.course(entry.task.course).moves > 0 {
            self.asked_now.push(number);
        }
        if self.probe.is_some() {
            let details = self.tasks.details_mut(number);
            (details.taken, details.transfer) = (self.now, NEVER);
        }
    }

    /// Tells who watches what the programs waited for that asked for a bus in this round: none that
    /// comes later moves them on.
    fn tell_bus_waits(&mut self) {
        for place in 0..self.asked_now.len() {
            let number = self.asked_now[place];
            self.tell_bus_wait(number);
        }
        self.asked_now.clear();
    }

    #[inline]
    pub(super) fn tell_bus_wait(&mut self, number: u32) {
        let Self { buses, dies, tasks, prices, breakdown, probe, .. } = self;
        let entry = tasks.get(number);
        let (account, bus) = (entry.account, &buses[dies[entry.task.die as usize].bus as usize]);
        if let Some(breakdown) = breakdown
            && account != NONE
        {
            let since = entry.start + prices.course(entry.task.course).asks_after_ns;
            bus.waited(number, since, |cause, ns| match cause {
                Some(cause) => breakdown.waited_for_bus(account, cause, ns),
                None => breakdown.waited_for_die(account, entry.task.cause, ns),
            });
        }
        if probe.is_some() {
            tasks.details_mut(number).transfer = bus.moves_at(number).unwrap_or(NEVER);
        }
    }

    /// Tells who watches of an operation that ends now.
    pub(super) fn tell_end(&mut self, number: u32) {
        if self.tasks.get(number).class() == READ && self.prices.transfer_ns > 0 {
            self.tell_bus_wait(number);
        }
        let Self { tasks, prices, breakdown, .. } = self;
        let entry = tasks.get(number);
        if let Some(breakdown) = breakdown
            && entry.account != NONE
        {
            if entry.kind == Kind::CopyBack {
                breakdown.served(entry.account, tasks.details(number).read_cause, prices.sense_ns(&entry.task));
                breakdown.served(entry.account, entry.task.cause, prices.program_ns(&entry.task));
            } else {
                breakdown.served(entry.account, entry.task.cause, prices.course(entry.task.course).alone_ns);
            }
        }
        if self.probe.is_some() {
            self.show_end(number);
        }
    }

    /// Shows where an operation lay that ends now.
    #[cold]
    #[inline(never)]
    fn show_end(&mut self, number: u32) {
        let Self { tasks, prices, probe, now, .. } = self;
        let Some(probe) = probe.as_deref_mut() else { return };
        let entry @ &Entry { task, kind, start, issue, .. } = tasks.get(number);
        let &Details { taken, ready, transfer, read_cause, .. } = tasks.details(number);
        let service_ns = if kind == Kind::CopyBack {
            prices.program_ns(&entry.task)
        } else {
            prices.course(entry.task.course).alone_ns
        };
        // What was suspended is told from when it was taken up again.
        let transfer_ns = (transfer != NEVER && taken == start).then_some(transfer);
        let placed = Placed {
            op: task.course.op(),
            cause: task.cause,
            issue,
            die: task.die,
            ready_ns: ready,
            start_ns: taken,
            transfer_ns,
            end_ns: *now,
            service_ns: Some(service_ns),
        };
        if kind == Kind::CopyBack && taken == start {
            let sense_ns = prices.sense_ns(&entry.task);
            let sensed = taken + sense_ns;
            let (op, cause) = (FlashOp::Read, read_cause);
            probe.see(Placed { op, cause, end_ns: sensed, service_ns: Some(sense_ns), ..placed });
            probe.see(Placed { ready_ns: sensed, start_ns: sensed, ..placed });
        } else {
            probe.see(placed);
        }
    }

    /// Tells who watches of the part of an operation that is suspended now.
    #[cold]
    #[inline(never)]
    fn show_part(&mut self, number: u32) {
        let Self { tasks, prices, probe, now, .. } = self;
        let Some(probe) = probe.as_deref_mut() else { return };
        let entry @ &Entry { task, kind, start, issue, .. } = tasks.get(number);
        let &Details { taken, ready, transfer, read_cause, .. } = tasks.details(number);
        let transfer_ns = (transfer != NEVER && taken == start).then_some(transfer);
        let part = |(cause, op), start_ns, end_ns, service_ns| Placed {
            op,
            cause,
            issue,
            die: task.die,
            ready_ns: ready,
            start_ns,
            transfer_ns,
            end_ns,
            service_ns,
        };
        let mut from = taken;
        if kind == Kind::CopyBack && taken == start {
            let sense_ns = prices.sense_ns(&entry.task);
            from += sense_ns;
            probe.see(part((read_cause, FlashOp::Read), taken, from, Some(sense_ns)));
        }
        probe.see(part((task.cause, task.course.op()), from, *now, None));
    }
}

/// The queue of a die in which operations of a standing wait.
pub(super) fn queue_of<'a>(queue: &'a mut Fifo, more: &'a mut More, standing: usize) -> &'a mut Fifo {
    if standing == 0 { queue } else { &mut more.others[standing - 1] }
}
