//! What waits for a die, what it takes up next, and what stops for that, where a device can do more
//! than the plain model. [`SchedulingPolicy`](crate::timing::scheduling::SchedulingPolicy) decides.

use ftl::FlashOp;

use super::{EventTiming, More, Phase, READ};
use crate::timing::calendar::NEVER;
use crate::timing::fifo::Fifo;
use crate::timing::scheduling::{HOST_READS, STANDINGS, Suspension};
use crate::timing::tails::NONE;
use crate::timing::tasks::{Entry, Kind};

impl EventTiming {
    /// Puts an operation that is ready into a queue of its die, or has the die begin it at once.
    pub(super) fn queue_by_standing(&mut self, number: u32, is_idle: bool) {
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
            if op == FlashOp::Read && is_awaited {
                self.suspend_for_read(index);
            }
        }
        if op != FlashOp::Read && !self.queued_in_block.is_empty() {
            standing = self.stand_behind_block(number, standing);
        }
        if self.rules.has_precedence || self.planes.is_some() {
            self.turns += 1;
            let details = self.tasks.details_mut(number);
            (details.turn, details.standing) = (self.turns, standing);
        }
        if let Some(line) = self.lines.get_mut(index) {
            line.push(self.turns, number);
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
        let details = self.tasks.details_mut(number);
        (details.behind, details.has_begun) = (before, false);
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
    pub(super) fn lets_itself_suspend(&self, index: usize, left_ns: u64) -> bool {
        let op = self.tasks.get(self.dies[index].current).task.course.op();
        let Some(suspension) = self.abilities.scheduling.suspension(op) else { return false };
        let may_stop = suspension.at_most.is_none_or(|most| self.more[index].stops < most);
        left_ns > suspension.suspend_ns && may_stop && !self.is_bound(index, true)
    }

    /// Whether something that waits for a die has been overtaken as often as may be, or its work in
    /// hand has that stops, if that counts.
    fn is_bound(&self, index: usize, is_work_counted: bool) -> bool {
        let (Some(line), Some(most)) = (self.lines.get(index), self.abilities.scheduling.overtakes) else {
            return false;
        };
        line.overtaken() >= most || is_work_counted && self.more[index].overtaken >= most
    }

    /// How work that stops or goes on is suspended.
    fn suspension_of(&self, number: u32) -> Suspension {
        let op = self.tasks.get(number).task.course.op();
        self.abilities.scheduling.suspension(op).expect("only what can be suspended is")
    }

    /// The work in hand stops, to be taken up again.
    pub(super) fn stop(&mut self, index: usize) {
        let now = self.now;
        let (die, more) = (&mut self.dies[index], &mut self.more[index]);
        (more.left_ns, more.stopped_at) = (die.ends - now, now);
        more.suspended = std::mem::replace(&mut die.current, NONE);
        (more.active, more.ahead, more.stops) = (0, 0, more.stops + 1);
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

    /// A free die takes up what is next, goes on with what it suspended, or waits.
    pub(super) fn take_up_by_standing(&mut self, index: usize) {
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
        self.leaves_queue(index, first, true);
        Some((first, standing))
    }

    /// In which of its queues stands what a die takes up next, if anything may be taken up. While
    /// something is suspended, reads of the host alone are.
    fn standing_of_first(&self, index: usize) -> Option<usize> {
        let More { others, suspended, .. } = &self.more[index];
        if self.is_bound(index, *suspended != NONE) {
            let first = self.lines[index].first().filter(|_| *suspended == NONE)?;
            return Some(self.tasks.details(first).standing);
        }
        let queue = |standing: usize| if standing == 0 { self.dies[index].queue } else { others[standing - 1] };
        let standings = if *suspended == NONE { 0..STANDINGS } else { HOST_READS..HOST_READS + 1 };
        let waiting: u8 = standings.map(|standing| u8::from(!queue(standing).is_empty()) << standing).sum();
        let turn = |standing| queue(standing).first().map_or(NEVER, |number| self.tasks.details(number).turn);
        self.abilities.scheduling.next(waiting, turn)
    }

    /// An operation does not wait in a die's queue any more: it is what the die takes up, or runs
    /// beside that.
    #[inline]
    pub(super) fn leaves_queue(&mut self, index: usize, number: u32, is_first: bool) {
        let (more, line) = (&mut self.more[index], self.lines.get_mut(index));
        let overtaken = line.map_or(0, |line| line.take_out(self.tasks.details(number).turn, is_first));
        if is_first {
            let is_new = more.suspended == NONE;
            (more.stops, more.overtaken) = if is_new { (0, overtaken) } else { (more.stops, more.overtaken + 1) };
        }
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
}

/// The queue of a die in which operations of a standing wait.
pub(super) fn queue_of<'a>(queue: &'a mut Fifo, more: &'a mut More, standing: usize) -> &'a mut Fifo {
    if standing == 0 { queue } else { &mut more.others[standing - 1] }
}
