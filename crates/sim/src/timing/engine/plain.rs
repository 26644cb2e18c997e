//! How dies serve that do one operation after the other, in the order in which they come: most
//! devices, and nearly all of a run.
//!
//! A collection or a merge is hundreds of operations in a row, many of them on one die. What ends
//! then is followed by the next of its tail, at the same moment and on the same die, so that *goes
//! on* ([`EventTiming::go_on`]): its die begins it at once, unless others wait for that die or
//! something else became ready at that moment.

use super::{COPY_BACK, Course, EventTiming, OF_DIE, PROGRAM, Phase, READ, TOLD, event};
use crate::timing::bus::{Transfer, Turn};
use crate::timing::calendar::NEVER;
use crate::timing::tails::NONE;

impl EventTiming {
    /// The operation of a die that serves in order is done.
    #[inline]
    pub(super) fn finish_on_plain_die<const MODE: u8>(&mut self, index: usize) {
        let Self { now, dies, tasks, times_ns, idle_at, .. } = self;
        let number = dies[index].current;
        let entry = tasks.get(number);
        if !entry.goes_on() {
            return self.end_on_plain_die::<MODE>(index, number);
        }
        times_ns[entry.task.cause as usize][entry.class()] += *now - entry.start;
        *idle_at = *now;
        if MODE == TOLD && entry.account != NONE {
            self.tell_plain_end(number);
        }
        let Self { tasks, going_on, .. } = self;
        let next = tasks.go_on(number);
        let (is_ready, next_in_block) = (next.missing == 0, next.next);
        if is_ready && next.task.die as usize == index {
            going_on.push(number);
            if !self.dies[index].queue.is_empty() {
                self.free_dies.push(index as u32);
            }
        } else {
            self.release_plain_die::<MODE>(index);
            if is_ready {
                self.ready_now.push(number);
            }
        }
        if is_ready && next_in_block != NONE {
            self.let_block_go_on(number);
        }
    }

    /// An operation is done that is the last of its tail, or that others care for.
    #[inline]
    fn end_on_plain_die<const MODE: u8>(&mut self, index: usize, number: u32) {
        self.release_plain_die::<MODE>(index);
        let account = self.count(number);
        let is_told = MODE == TOLD && account != NONE;
        if is_told {
            self.tell_plain_end(number);
        }
        if is_told || self.tasks.is_awaited(number) {
            self.end(number);
        } else if self.tasks.end(number) && self.tasks.get(number).missing == 0 {
            self.becomes_ready(number);
        }
    }

    /// Tells the account of an operation that ends now.
    #[expect(clippy::inline_always, reason = "one more call for every operation that is waited for")]
    #[inline(always)]
    fn tell_plain_end(&mut self, number: u32) {
        let entry = self.tasks.get(number);
        let (class, alone_ns) = (entry.class(), self.prices.course(entry.task.course).alone_ns);
        let (account, cause) = (entry.account, entry.task.cause);
        if class == COPY_BACK {
            return self.tell_end(number);
        }
        if class == READ && self.now - entry.start > alone_ns {
            self.tell_bus_wait(number);
        }
        if let Some(breakdown) = &mut self.breakdown {
            breakdown.served_until(account, cause, alone_ns, self.now);
        }
    }

    /// A die that serves in order is free.
    #[expect(clippy::inline_always, reason = "one more call for every flash operation")]
    #[inline(always)]
    fn release_plain_die<const MODE: u8>(&mut self, index: usize) {
        let die = &mut self.dies[index];
        (die.current, die.phase) = (NONE, Phase::Idle);
        die.busy_ns += self.now - die.held_since;
        die.held_since = NEVER;
        if !die.queue.is_empty() {
            self.free_dies.push(index as u32);
        }
        if MODE == TOLD
            && let Some(breakdown) = &mut self.breakdown
        {
            die.holder = None;
            breakdown.die_released(index, self.now);
        }
    }

    /// Dies go on with what follows what they have done, in the order of issue, as in a round: of
    /// operations that end at the same moment, the one that began first ends first. Whatever is
    /// issued later at this moment comes behind it, and what became ready otherwise is sorted
    /// together with it.
    #[inline]
    pub(super) fn go_on<const MODE: u8>(&mut self) {
        if self.going_on.len() > 1 {
            self.tasks.sort_by_issue(&mut self.going_on);
        }
        let is_alone = self.ready_now.is_empty();
        for place in 0..self.going_on.len() {
            let number = self.going_on[place];
            let index = self.tasks.get(number).task.die as usize;
            if is_alone && self.dies[index].queue.is_empty() {
                self.begin_on_plain_die::<MODE>(index, number);
                continue;
            }
            // It takes something up at this very moment, so it stays held.
            let die = &mut self.dies[index];
            (die.current, die.phase) = (NONE, Phase::Idle);
            if is_alone {
                if MODE == TOLD {
                    self.tell_wait_for_die(index, number, false);
                }
                self.wait_in_queue(index, number);
            } else {
                self.ready_now.push(number);
            }
        }
        self.going_on.clear();
    }

    /// A die that serves in order begins an operation.
    #[expect(clippy::inline_always, reason = "one more call for every flash operation")]
    #[inline(always)]
    pub(super) fn begin_on_plain_die<const MODE: u8>(&mut self, index: usize, number: u32) {
        let Self { now, rounds, dies, buses, tasks, prices, breakdown, .. } = self;
        let (now, rounds) = (*now, *rounds);
        let entry = tasks.get_mut(number);
        entry.start = now;
        let (class, issue, cause) = (entry.class(), entry.issue, entry.task.cause);
        let &Course { alone_ns, moves, asks_after_ns, then_ns } = prices.course(entry.task.course);
        let die = &mut dies[index];
        (die.current, die.phase) = (number, Phase::Working);
        (die.alone_until, die.held_since) = (now + alone_ns, die.held_since.min(now));
        if MODE == TOLD
            && die.holder != Some(cause)
            && let Some(breakdown) = breakdown
        {
            die.holder = Some(cause);
            breakdown.die_held(index, cause, now);
        }
        let mut ends = now + alone_ns;
        if moves > 0 {
            let asks = now + asks_after_ns;
            let round = if asks_after_ns > 0 { 0 } else { rounds + u32::from(class == READ) };
            let turn = Turn { asks, round, issue };
            let transfer = Transfer { turn, units: moves, starts: 0, then_ns, entry: number, die: index as u32, cause };
            let is_told = MODE == TOLD && class == PROGRAM && entry.account != NONE;
            let starts = match buses[die.bus as usize].book_last(transfer, now) {
                Some(starts) => starts,
                None => self.squeeze_in::<MODE>(transfer),
            };
            if is_told && starts > asks {
                self.asked_now.push(number);
            }
            ends = starts + self.prices.moves_ns(moves) + then_ns;
        } else if class == COPY_BACK {
            die.phase = Phase::Leading;
            self.more[index].left_ns = prices.program_ns(&entry.task);
            ends = now + prices.sense_ns(&entry.task);
        }
        self.dies[index].ends = ends;
        self.calendar.add(class, ends, event(OF_DIE, index as u32));
    }

    /// Books a page that comes before others on its bus. A page that moves later because of it ends
    /// later; a program that begins to wait because of it is told so in this round.
    fn squeeze_in<const MODE: u8>(&mut self, transfer: Transfer) -> u64 {
        let Self { now, dies, buses, tasks, prices, asked_now, .. } = self;
        let bus = &mut buses[dies[transfer.die as usize].bus as usize];
        bus.squeeze_in(transfer, |late, before| {
            dies[late.die as usize].ends = late.starts + prices.moves_ns(late.units) + late.then_ns;
            let entry = tasks.get(late.entry);
            let begins_to_wait = late.turn.asks == *now && before == *now;
            if MODE == TOLD && begins_to_wait && entry.class() == PROGRAM && entry.account != NONE {
                asked_now.push(late.entry);
            }
        })
    }
}
