//! How operations are issued: what follows what, and what a scheme is told of time.

use std::ops::Range;

use ftl::{Cause, FlashOp, Moment, Nanos, Task, Timing, TracedTask};

use super::{Course, Die, EventTiming, More, OVER, PricedTask, event, has_tails};
use crate::observe::flash_trace::FlashTrace;
use crate::observe::probe::Probe;
use crate::timing::bus::Bus;
use crate::timing::calendar::NEVER;
use crate::timing::front_end::{Place, Stations};
use crate::timing::overtaking::Line;
use crate::timing::priced_task::{COPY_BACK, CourseId, Price, READ};
use crate::timing::program_units::ProgramUnits;
use crate::timing::tails::Event;
use crate::timing::tasks::Kind;

impl EventTiming {
    /// A new entry that follows a moment.
    pub(super) fn issue_after(&mut self, kind: Kind, after: Moment, lasts_ns: u64) -> u32 {
        let number = self.tasks.issue(PricedTask::at_station(0), kind);
        self.tasks.get_mut(number).start = lasts_ns;
        self.follow(number, 0, after);
        if self.tasks.get(number).missing == 0 {
            self.becomes_ready(number);
        }
        number
    }

    /// Lets an entry follow a moment.
    #[inline]
    fn follow(&mut self, number: u32, side: u32, moment: Moment) {
        if let Some(followed) = self.tasks.awaited(moment) {
            self.tasks.follow(number, side, followed);
            return;
        }
        let entry = self.tasks.get_mut(number);
        if side == 0
            && let Some(breakdown) = &mut self.breakdown
            && entry.is_awaited()
        {
            entry.account = breakdown.open(self.now);
        }
        if moment.is_known() && moment.earliest.0 > self.now {
            entry.missing += 1;
            self.calendar.add_any(moment.earliest.0, entry.issue, event(OVER, number << 1 | side));
        }
    }

    /// A stay at a station of the front end, and so much time on the way from there.
    fn stay(&mut self, place: Place, after: Moment, (service_ns, way_ns): (u64, u64)) -> Moment {
        let number = self.tasks.issue(PricedTask::at_station(place as u32), Kind::Stay);
        self.tasks.get_mut(number).start = service_ns;
        self.follow(number, 0, after);
        if self.tasks.get(number).missing == 0 {
            self.becomes_ready(number);
        }
        self.tasks.end_of(number, after.earliest.0.max(self.now) + service_ns + way_ns)
    }

    /// Makes a read and the program of what it read one operation inside the plane.
    fn copy_back(&mut self, task: &PricedTask, after: Moment) -> Option<Moment> {
        let number = self.tasks.awaited(after)?.number;
        let read = self.tasks.get(number);
        let plane = |task: &PricedTask| (task.die, task.pbn.get() / self.blocks_per_plane % self.planes_per_die);
        let is_it = read.kind == Kind::Operation && read.class() == READ && read.task.chain == task.chain;
        if !is_it || plane(&read.task) != plane(task) || self.tasks.has_followers(number) {
            return None;
        }
        let is_ready = read.missing == 0;
        self.tasks.details_mut(number).read_cause = self.tasks.get(number).task.cause;
        let entry = self.tasks.get_mut(number);
        let read = entry.task.course;
        let course = CourseId::new(COPY_BACK, Price::of_copy_back(read.price(), task.course.price()));
        (entry.task, entry.kind) = (PricedTask { course, ..*task }, Kind::CopyBack);
        let issue = entry.issue;
        if let Some(flash_trace) = self.probe.as_deref_mut().and_then(Probe::flash_trace_mut) {
            flash_trace.is_copied_back(issue);
        }
        if self.stand_in_block(number) && is_ready {
            self.ready_now.retain(|&ready| ready != number);
        }
        let read_alone_ns = self.prices.course(read).alone_ns;
        let earliest = after.earliest.0 - read_alone_ns + self.prices.course(course).alone_ns;
        Some(self.tasks.end_of(number, earliest))
    }

    /// Issues an operation whose die is known.
    #[expect(clippy::inline_always, reason = "its task stays in registers")]
    #[inline(always)]
    pub(super) fn perform_on_die(&mut self, task: Task, after: Moment) -> Moment {
        if self.program_units.is_some() {
            self.perform_in_units(task, after)
        } else {
            self.perform_on_flash(task, self.prices.of(&task), after)
        }
    }

    /// Issues an operation on flash.
    #[expect(clippy::inline_always, reason = "its task stays in registers")]
    #[inline(always)]
    pub(super) fn perform_on_flash(&mut self, task: Task, price: Price, after: Moment) -> Moment {
        let (op, priced) = (task.op, PricedTask::new(&task, price));
        let earliest = after.earliest.0.max(self.now) + self.prices.course(priced.course).alone_ns;
        if self.rules.has_tails && op != FlashOp::Erase {
            let block = self.block_of(&priced);
            let before = if op == FlashOp::Program { self.last_in_block[block] } else { Event::NONE };
            if let Some(event) = self.tasks.issue_behind(&priced, after, before) {
                if op == FlashOp::Program {
                    self.last_in_block[block] = event;
                }
                return Moment::end_of(event.number, event.generation, Nanos(earliest));
            }
        }
        self.perform_alone(&task, &priced, after, earliest)
    }

    /// Issues an operation that stands in no tail.
    #[inline(never)]
    pub(super) fn perform_alone(&mut self, task: &Task, priced: &PricedTask, after: Moment, earliest: u64) -> Moment {
        if self.is_stopped {
            return after;
        }
        if task.copies
            && self.abilities.copy_back
            && let Some(end) = self.copy_back(priced, after)
        {
            return end;
        }
        let &Task { op, chain, .. } = task;
        let die = task.die & self.die_mask;
        let number = self.tasks.issue(PricedTask { die, ..*priced }, Kind::Operation);
        if self.planes.is_some() {
            self.set_place(number, task);
        }
        if self.is_serial() {
            self.dies[0].queue.push(&mut self.tasks, number);
        }
        self.follow(number, 0, after);
        // A serial device serves in the order of issue, whatever is ready.
        if op != FlashOp::Read && !self.is_serial() {
            self.stand_in_block(number);
        }
        if chain != 0
            && let Some(collections) = &mut self.collections
        {
            let channel = die / self.dies_per_channel;
            if collections.issued(task, channel, number) {
                // The turn is one more thing that it waits for.
                self.tasks.get_mut(number).missing += 1;
                self.let_collections_begin();
                return self.tasks.end_of(number, earliest);
            }
        }
        if self.tasks.get(number).missing == 0 {
            self.becomes_ready(number);
        }
        self.tasks.end_of(number, earliest)
    }

    /// A program or an erase takes its place behind what is done to its block before it; tells
    /// whether it has to wait for that.
    fn stand_in_block(&mut self, number: u32) -> bool {
        let entry = self.tasks.get(number);
        let block = self.block_of(&entry.task);
        let before = std::mem::replace(&mut self.last_in_block[block], self.tasks.event(number));
        let Some(awaited) = self.tasks.wait_in_block(number, before) else { return false };
        // An operation of the host that is not ready waits for the same.
        if awaited.cause != Cause::Host {
            self.blocks_others[block] = awaited.cause;
        }
        true
    }

    fn dies_of(&self, bus: u32) -> Range<usize> {
        let first = (bus * self.dies_per_channel) as usize;
        first..first + self.dies_per_channel as usize
    }

    /// How long a channel of the chip is busy behind a moment, as far as is known.
    fn busy_ns(&self, channel: u32, until: u64) -> u64 {
        let (_, busy_until) = self.buses[channel as usize].to_move(self.now, self.rounds);
        let longest = self.dies_of(channel).map(|die| self.backlog_ns(die, until)).max().unwrap_or(0);
        longest.max(busy_until.saturating_sub(until))
    }

    /// What a die still needs, at a moment, for what it has taken up and what is ready now.
    fn backlog_ns(&self, index: usize, at: u64) -> u64 {
        let die = &self.dies[index];
        let ready = self.ready_now.iter().map(|&number| self.tasks.get(number));
        let ready = ready.filter(|entry| entry.task.die as usize == index);
        let ready_ns = ready.map(|entry| self.prices.course(entry.task.course).alone_ns).sum::<u64>();
        (die.alone_until.max(self.now) + die.queued_ns + ready_ns).saturating_sub(at)
    }
}

impl Timing for EventTiming {
    #[expect(clippy::inline_always, reason = "its task stays in registers")]
    #[inline(always)]
    fn perform(&mut self, task: Task, after: Moment) -> Moment {
        if self.layout.is_some() {
            return self.perform_in_superblock(task, after);
        }
        self.perform_on_die(task, after)
    }

    #[inline]
    fn is_traced(&self) -> bool {
        self.probe.as_deref().and_then(Probe::flash_trace).is_some_and(FlashTrace::is_at_work)
    }

    fn is_buffered(&self, read: Task) -> bool {
        self.program_units
            .as_ref()
            .is_some_and(|units| units.waits(read.pbn.get() as usize, read.page) || units.was_in_register())
    }

    fn trace(&mut self, traced: &TracedTask, notes: &[u64]) {
        let issued = self.tasks.issued();
        if let Some(flash_trace) = self.probe.as_deref_mut().and_then(Probe::flash_trace_mut) {
            flash_trace.record(*traced, notes, issued);
        }
    }

    fn join(&mut self, one: Moment, other: Moment) -> Moment {
        let later = if other.earliest > one.earliest { other } else { one };
        match (self.tasks.awaited(one), self.tasks.awaited(other)) {
            (None, None) => later,
            (Some(_), None) if !other.is_known() || other.earliest.0 <= self.now => one,
            (None, Some(_)) if !one.is_known() || one.earliest.0 <= self.now => other,
            _ => {
                let number = self.issue_after(Kind::Join, one, 0);
                self.follow(number, 1, other);
                self.tasks.end_of(number, later.earliest.0)
            }
        }
    }

    fn wait_beside(&mut self, own: Moment, other: Moment) -> Moment {
        if self.is_over(other) {
            return own;
        }
        let number = self.tasks.issue(PricedTask::at_station(0), Kind::Room);
        self.follow(number, 0, own);
        self.follow(number, 1, other);
        self.tasks.end_of(number, own.earliest.max(other.earliest).0)
    }

    fn delay(&mut self, after: Moment, time: Nanos) -> Moment {
        if time == Nanos::ZERO || self.is_stopped {
            return after;
        }
        // Where places are given in time, controller time is something that is under way.
        if self.tasks.awaited(after).is_none() && self.buffer.is_none() {
            let known = if after.is_known() { after.earliest.0.max(self.now) } else { self.now };
            return Moment::at(Nanos(known + time.0));
        }
        let number = self.issue_after(Kind::Delay, after, time.0);
        self.tasks.end_of(number, after.earliest.0 + time.0)
    }

    fn take_command(&mut self, after: Moment, bytes: u64) -> Moment {
        if let Some(units) = &mut self.program_units {
            units.take_command();
        }
        let Some(Stations { front_end, .. }) = self.stations.as_deref() else { return after };
        let (front_end, mut moment) = (*front_end, after);
        if front_end.link_ns > 0 || (front_end.link_bytes_per_s.is_some() && bytes > 0) {
            moment = self.stay(Place::LinkIn, moment, (front_end.transfer_ns(bytes), front_end.link_ns));
        }
        if front_end.core_ns > 0 {
            moment = self.stay(Place::Controller, moment, (front_end.core_ns, 0));
        }
        moment
    }

    fn hand_over(&mut self, after: Moment, bytes: u64) -> Moment {
        match self.stations.as_deref() {
            Some(Stations { front_end, .. }) if front_end.link_bytes_per_s.is_some() && bytes > 0 => {
                let transfer_ns = front_end.transfer_ns(bytes);
                self.stay(Place::LinkOut, after, (transfer_ns, 0))
            }
            _ => after,
        }
    }

    fn is_over(&self, moment: Moment) -> bool {
        if moment.is_known() { moment.earliest.0 <= self.now } else { self.tasks.awaited(moment).is_none() }
    }

    fn estimate(&self, task: Task, from: Moment) -> Nanos {
        let until = from.earliest.0.max(self.now);
        let index = self.die_of(&task) as usize;
        let transfer_ns = self.prices.transfer_ns;
        let &Course { alone_ns, asks_after_ns, .. } = self.prices.course_of(task.op, self.prices.of(&task));
        let die_ns = self.backlog_ns(index, until);
        let bus = self.dies[index].bus;
        let (booked, busy_until) = self.buses[bus as usize].to_move(self.now, self.rounds);
        let queued: u32 = self.dies_of(bus).map(|die| self.dies[die].queued_units).sum();
        let ready = self.ready_now.iter().map(|&number| self.tasks.get(number));
        let ready = ready.filter(|entry| self.dies[entry.task.die as usize].bus == bus);
        let ready: u64 = ready.map(|entry| u64::from(self.prices.course(entry.task.course).moves)).sum();
        let to_move = booked + u64::from(queued) + ready;
        let bus_ns = (busy_until.max(self.now) + to_move * transfer_ns).saturating_sub(until);
        Nanos(match task.op {
            FlashOp::Read => (die_ns + asks_after_ns).max(bus_ns) + transfer_ns,
            FlashOp::Program => die_ns.max(bus_ns) + alone_ns,
            FlashOp::Erase => die_ns + alone_ns,
        })
    }

    fn estimate_moves(&self, reads: &[Task], programmed: u64) -> Option<Nanos> {
        self.estimate_side_by_side(reads, programmed)
    }

    fn slowest_page(&self, op: FlashOp) -> u32 {
        self.prices.slowest_page(op)
    }

    fn programmed_at_once(&self) -> u32 {
        self.program_units.as_ref().map_or(1, ProgramUnits::size)
    }

    fn busy(&self, channel: u32, from: Moment) -> Nanos {
        let until = from.earliest.0.max(self.now);
        let (channel, channels) = (channel & self.die_mask, self.abilities.superblocks.dies);
        let of_group = channel * channels..(channel + 1) * channels;
        Nanos(of_group.map(|channel| self.busy_ns(channel, until)).max().unwrap_or(0))
    }

    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.now)
    }

    fn keep_order(&mut self, chain: u32) {
        self.moves.in_order = chain;
    }

    fn join_programs(&mut self, chain: u32, after: Moment) -> Moment {
        let (last, programmed) = self.moves.programmed;
        if chain == last { self.join(after, programmed) } else { after }
    }

    fn end_background(&mut self, chain: u32) {
        if let Some(collections) = &mut self.collections {
            collections.all_issued(chain);
            self.let_collections_begin();
        }
    }

    fn pass_until(&mut self, at: Nanos) {
        while self.now < at.0 {
            if !self.step(at.0) {
                self.go_to(at.0);
            }
        }
    }

    fn wait(&mut self, moment: Moment) -> Nanos {
        if moment.is_known() {
            self.pass_until(moment.earliest);
            return moment.earliest.max(Nanos(self.now));
        }
        while !self.is_over(moment) && self.step(NEVER - 1) {}
        Nanos(self.now)
    }

    fn reset(&mut self) {
        self.dies.iter_mut().for_each(|die| *die = Die::idle(die.bus));
        self.more.fill(More::NONE);
        self.lines.fill(Line::default());
        self.buses.iter_mut().for_each(Bus::clear);
        self.tasks.clear();
        if let Some(planes) = &mut self.planes {
            planes.clear();
        }
        self.calendar.clear();
        self.last_in_block.fill(Event::NONE);
        self.queued_in_block.fill(Event::NONE);
        self.moves.clear();
        if let Some(units) = &mut self.program_units {
            units.restart();
        }
        self.restart_buffer();
        for list in [&mut self.ready_now, &mut self.free_dies, &mut self.asked_now] {
            list.clear();
        }
        self.ended.clear();
        (self.now, self.rounds, self.turns, self.is_unsettled, self.idle_at) = (0, 0, 0, false, 0);
        (self.is_stopped, self.rules.has_tails) = (false, has_tails(self.die_mask, self.dies.len(), self.abilities));
        self.times_ns = [[0; 4]; Cause::COUNT];
        if let Some(collections) = &mut self.collections {
            collections.clear();
        }
        if let Some(stations) = &mut self.stations {
            stations.clear();
        }
        if let Some(probe) = &mut self.probe {
            probe.clear();
        }
        if let Some(breakdown) = &mut self.breakdown {
            breakdown.clear();
        }
    }
}
