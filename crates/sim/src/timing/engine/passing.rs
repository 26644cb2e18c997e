//! How time passes: from one moment at which something ends to the next, and what ends or becomes
//! ready then.

use ftl::{Cause, FlashOp, Nanos};

use super::{
    DELAY_ENDS, Ended, EventTiming, GENERAL, OF_DIE, OF_OPERATION, OVER, PLAIN, PROGRAM, Phase, PricedTask, READ, TOLD,
    event,
};
use crate::timing::calendar::NEVER;
use crate::timing::collections::Collections;
use crate::timing::front_end::Place;
use crate::timing::tails::NONE;
use crate::timing::tasks::{Entry, Kind};

impl EventTiming {
    /// Lets time pass until a request has ended, or nothing is under way.
    #[inline]
    pub(crate) fn pass_until_end(&mut self) {
        if self.ended.is_empty() {
            self.steps(NEVER - 1, false);
        }
    }

    /// Lets time pass until nothing is under way, or until a moment; whether the former came first.
    pub(crate) fn pass_until_idle_before(&mut self, limit: Nanos) -> bool {
        while self.tasks.under_way() > 0 {
            if self.now >= limit.0 || !self.step(limit.0) {
                return false;
            }
        }
        self.now < limit.0
    }

    /// Lets time pass until the next moment at which something ends, if that is not after `limit`;
    /// whether there was one.
    pub fn pass_until_next(&mut self, limit: Nanos) -> bool {
        self.step(limit.0.min(NEVER - 1))
    }

    /// Lets everything under way end.
    pub(crate) fn pass_until_idle(&mut self) {
        while self.step(NEVER - 1) {}
    }

    /// Goes on to the next moment at which something ends, if that is not after `limit`; whether
    /// there was one.
    #[inline]
    pub(super) fn step(&mut self, limit: u64) -> bool {
        self.steps(limit, true)
    }

    /// Goes on to one such moment, or until a request has ended, in the way that this device takes.
    #[inline]
    fn steps(&mut self, limit: u64, is_one: bool) -> bool {
        match (self.rules.is_plain, self.breakdown.is_some()) {
            (true, false) => self.steps_as::<PLAIN>(limit, is_one),
            (true, true) => self.steps_as::<TOLD>(limit, is_one),
            (false, _) => self.steps_as::<GENERAL>(limit, is_one),
        }
    }

    /// The same, in one of the three ways.
    fn steps_as<const MODE: u8>(&mut self, limit: u64, is_one: bool) -> bool {
        while self.step_as::<MODE>(limit) {
            if is_one || !self.ended.is_empty() {
                return true;
            }
        }
        false
    }

    #[expect(clippy::inline_always, reason = "it is called in one place")]
    #[inline(always)]
    fn step_as<const MODE: u8>(&mut self, limit: u64) -> bool {
        if self.is_unsettled {
            self.take_up_what_waits::<MODE>();
        }
        let next = self.calendar.next_time();
        if next > limit {
            return false;
        }
        self.go_to(next);
        while let Some(event) = self.calendar.take(next) {
            let number = event as u32;
            match event >> 62 {
                OF_DIE => self.die_event::<MODE>(event),
                OVER => self.moment_is_over(number),
                DELAY_ENDS => self.end(number),
                _ => self.operation_event(number),
            }
        }
        if MODE != GENERAL {
            self.go_on::<MODE>();
        }
        self.is_unsettled = true;
        true
    }

    /// It is now so late.
    #[inline]
    pub(super) fn go_to(&mut self, moment: u64) {
        if moment > self.now {
            (self.now, self.rounds) = (moment, 0);
        }
    }

    #[inline]
    fn die_event<const MODE: u8>(&mut self, event: u64) {
        let index = event as u32 as usize;
        if MODE == GENERAL && event != self.event_of(index) {
            return;
        }
        let die = &mut self.dies[index];
        if die.ends > self.now {
            // Its page was moved on, or it senses another one for longer.
            let lane = if die.current == NONE { READ } else { self.tasks.get(die.current).class() };
            return self.calendar.add(lane, die.ends, event);
        }
        match die.phase {
            Phase::Working if MODE != GENERAL => self.finish_on_plain_die::<MODE>(index),
            Phase::Working | Phase::Programming => {
                let current = std::mem::replace(&mut die.current, NONE);
                self.finish(index, current);
            }
            Phase::Leading => self.begin_work(index),
            Phase::Stopping => {
                die.phase = Phase::Idle;
                self.free_dies.push(index as u32);
            }
            Phase::Sensing => self.has_sensed(index),
            Phase::Idle | Phase::Holding | Phase::Emptying => unreachable!("a die that waits has no event"),
        }
    }

    /// The event of a die that counts.
    #[inline]
    pub(super) fn event_of(&self, index: usize) -> u64 {
        u64::from(self.more[index].serial) << 32 | event(OF_DIE, index as u32)
    }

    /// An operation that is not the only one of its die is done, or its page has come, unless that
    /// was moved on.
    fn operation_event(&mut self, number: u32) {
        let (entry, details) = (self.tasks.get(number), self.tasks.details(number));
        let (ends, class, index) = (details.ends, entry.class(), entry.task.die as usize);
        if ends > self.now {
            self.calendar.add_any(ends, entry.issue, event(OF_OPERATION, number));
        } else if class == PROGRAM && self.overlaps[PROGRAM] && !details.has_come {
            self.page_has_come(index, number);
        } else {
            self.finish(index, number);
        }
    }

    /// An operation is done; its die may be free.
    pub(super) fn finish(&mut self, index: usize, number: u32) {
        let more = &mut self.more[index];
        more.active -= 1;
        let is_free = more.active == 0;
        if self.overlaps[self.tasks.get(number).class()] {
            self.one_ahead_has_ended(index);
        }
        if is_free {
            self.dies[index].phase = Phase::Idle;
            self.free_dies.push(index as u32);
        }
        self.count(number);
        if self.is_watched() {
            self.tell_end(number);
        }
        let chain = self.tasks.get(number).task.chain;
        if chain != 0
            && let Some(collections) = &mut self.collections
        {
            collections.operation_ended(chain);
            self.let_collections_begin();
        }
        self.end(number);
    }

    /// Counts the time of an operation that is done; tells where the time of its request is split.
    #[inline]
    pub(super) fn count(&mut self, number: u32) -> u32 {
        let entry = self.tasks.get(number);
        let (PricedTask { cause, course, gives_back, .. }, held_ns) = (entry.task, self.now - entry.start);
        let account = entry.account;
        if entry.kind == Kind::CopyBack {
            self.count_copy_back(number, held_ns);
        } else {
            self.times_ns[cause as usize][course.class()] += held_ns;
        }
        self.idle_at = self.now;
        if gives_back > 0
            && let Some(buffer) = &mut self.buffer
        {
            buffer.give_back(gives_back);
            self.is_unsettled = true;
        }
        account
    }

    #[cold]
    fn count_copy_back(&mut self, number: u32, held_ns: u64) {
        let (entry, read_cause) = (self.tasks.get(number), self.tasks.details(number).read_cause);
        let (cause, read_ns) = (entry.task.cause, self.prices.sense_ns(&entry.task));
        self.times_ns[read_cause as usize][FlashOp::Read as usize] += read_ns;
        self.times_ns[cause as usize][FlashOp::Program as usize] += held_ns - read_ns;
    }

    /// An entry ends, and whatever ends or becomes ready with it.
    #[inline]
    pub(super) fn end(&mut self, number: u32) {
        self.end_one(number);
        self.end_joined();
    }

    /// Whatever has no time of its own ends with the last of what it follows.
    #[inline]
    fn end_joined(&mut self) {
        while let Some(number) = self.ending.pop() {
            self.end_one(number);
        }
    }

    #[inline]
    fn end_one(&mut self, number: u32) {
        let mut link = self.tasks.first_follower(number);
        if let Some(ticket) = self.tasks.ticket(number) {
            let account = self.tasks.get(number).account;
            self.ended.push(Ended { ticket, at: Nanos(self.now), account });
        }
        if self.breakdown.is_some() {
            self.hand_on(number, link);
        }
        if self.tasks.end(number) && self.tasks.get(number).missing == 0 {
            self.becomes_ready(number);
        }
        while link != NONE {
            let behind = self.tasks.follower(link).2;
            self.over(link >> 1);
            link = behind;
        }
    }

    /// The account of an entry whose operation ends goes on to those that follow it: to the first
    /// of them, or to the waiter for its end, the account itself, and copies to others. Who
    /// waited for its block to be erased, or for room, has an account already. Background work,
    /// which has none, may have been in the way, or have brought data of a program unit.
    fn hand_on(&mut self, number: u32, first_link: u32) {
        let Self { breakdown: Some(breakdown), tasks, now, program_units, .. } = self else { return };
        let &Entry { account, kind, task, .. } = tasks.get(number);
        if account == NONE && first_link == NONE {
            return;
        }
        if account != NONE {
            match kind {
                Kind::Stay if task.die != Place::Controller as u32 => breakdown.link_until(account, *now),
                Kind::Delay | Kind::Stay => breakdown.controller_until(account, *now),
                Kind::Place => breakdown.waited_until(account, Cause::Host, *now),
                _ => {}
            }
        }
        let mut is_taken = tasks.ticket(number).is_some() || account == NONE;
        if tasks.has_tail(number) && account != NONE {
            let taken = if is_taken { breakdown.copy(account) } else { account };
            is_taken = true;
            breakdown.set_since(taken, *now);
            tasks.get_mut(number).account = taken;
        }
        let mut link = first_link;
        while link != NONE {
            let (follower, side, behind) = tasks.follower(link);
            link = behind;
            let entry = tasks.get_mut(follower);
            if entry.kind == Kind::Join && program_units.is_some() {
                entry.task.cause = task.cause;
            }
            if side == 1 && entry.kind != Kind::Join {
                if entry.account != NONE && entry.missing == 1 {
                    breakdown.waited_until(entry.account, task.cause, *now);
                }
            } else if entry.is_awaited() && account != NONE {
                let taken = if is_taken { breakdown.copy(account) } else { account };
                is_taken = true;
                breakdown.set_since(taken, *now);
                breakdown.close(std::mem::replace(&mut entry.account, taken));
            }
        }
        if !is_taken {
            breakdown.close(account);
        }
    }

    /// A known moment that an entry follows has come.
    fn moment_is_over(&mut self, link: u32) {
        let Self { breakdown, tasks, now, .. } = self;
        let entry = tasks.get(link >> 1);
        if let Some(breakdown) = breakdown
            && entry.account != NONE
            && (entry.kind != Kind::Join || entry.missing == 1)
        {
            breakdown.controller_until(entry.account, *now);
        }
        self.over(link >> 1);
        self.end_joined();
    }

    /// One of what an entry follows is over.
    #[inline]
    fn over(&mut self, number: u32) {
        let entry = self.tasks.get_mut(number);
        entry.missing -= 1;
        if entry.missing == 0 {
            self.becomes_ready(number);
        }
    }

    /// All that an entry follows is over.
    #[inline]
    pub(super) fn becomes_ready(&mut self, number: u32) {
        let now = self.now;
        let entry = self.tasks.get(number);
        match entry.kind {
            Kind::Operation | Kind::CopyBack => {
                let next_in_block = entry.next;
                self.ready_now.push(number);
                self.is_unsettled = true;
                if next_in_block != NONE && !self.is_serial() {
                    self.let_block_go_on(number);
                }
            }
            Kind::Join | Kind::Room => self.ending.push(number),
            Kind::Delay => self.calendar.add_any(now + entry.start, entry.issue, event(DELAY_ENDS, number)),
            Kind::Place => {
                let buffer = self.buffer.as_mut().expect("only a device with a buffer has places in it");
                buffer.ask(number);
                self.is_unsettled = true;
            }
            Kind::Stay => {
                let stations = self.stations.as_mut().expect("only a device with stations has stays at them");
                stations.came.push(number);
                self.is_unsettled = true;
            }
        }
    }

    /// An operation is ready, and so are those of its block that waited for nothing else.
    #[inline(never)]
    pub(super) fn let_block_go_on(&mut self, number: u32) {
        let cause = self.blocks_others[self.block_of(&self.tasks.get(number).task)];
        let mut next = std::mem::replace(&mut self.tasks.get_mut(number).next, NONE);
        while next != NONE {
            let entry = self.tasks.get_mut(next);
            entry.missing -= 1;
            if entry.missing > 0 {
                return;
            }
            if let Some(breakdown) = &mut self.breakdown
                && entry.account != NONE
            {
                breakdown.waited_until(entry.account, cause, self.now);
            }
            self.ready_now.push(next);
            next = std::mem::replace(&mut entry.next, NONE);
        }
    }

    pub(super) fn let_collections_begin(&mut self) {
        while let Some(waiting) = self.collections.as_mut().and_then(Collections::next_to_begin) {
            for number in waiting {
                self.over(number);
            }
        }
    }
}
