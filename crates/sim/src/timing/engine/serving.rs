//! How dies and buses serve: what waits is queued, taken up and served, and told to who watches.

use ftl::FlashOp;

use super::{
    COPY_BACK, Course, DELAY_ENDS, EventTiming, GENERAL, OF_OPERATION, PLAIN, PROGRAM, Phase, READ, TOLD, event,
};
use crate::observe::timeline::Placed;
use crate::timing::bus::{Transfer, Turn};
use crate::timing::calendar::NEVER;
use crate::timing::program_buffer::ProgramBuffer;
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
            tasks.sort_by_issue(&mut self.ready_now);
        }
    }

    /// Stations of the front end serve this round's arrivals in the order of issue.
    fn serve_at_stations(&mut self) {
        let Self { stations: Some(stations), tasks, calendar, now, .. } = self else { return };
        let mut came = std::mem::take(&mut stations.came);
        tasks.sort_by_issue(&mut came);
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
        die.queue.prefetch_first(tasks);
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

    /// A die begins an operation, the first or one on a plane beside it.
    pub(super) fn begin(&mut self, index: usize, number: u32, is_first: bool) {
        let now = self.now;
        self.tasks.prefetch_follower(number);
        let entry = self.tasks.get_mut(number);
        entry.start = now;
        let (class, issue, cause, course) = (entry.class(), entry.issue, entry.task.cause, entry.task.course);
        if !self.queued_in_block.is_empty() {
            self.tasks.details_mut(number).has_begun = true;
        }
        if self.overlaps[class] {
            return self.begin_overlapping(index, number, is_first);
        }
        let Course { alone_ns, moves, asks_after_ns, mut then_ns } = *self.prices.course(course);
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
    pub(super) fn show_part(&mut self, number: u32) {
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
