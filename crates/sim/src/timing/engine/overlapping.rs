//! How a die overlaps what it takes up: reads that it senses with pages in its second registers
//! (`cache_read`), and programs with pages of the next ones (`cache_program`).
//!
//! At most two batches are on a die, each of one operation, or of several on different planes: the
//! one *ahead*, reads in the second registers or the programs taken up first, and the one *behind*.
//! Waiting for a die is charged to the first operation ahead, and of a sensed page to the bus.

use ftl::FlashOp;

use super::{Course, EventTiming, OF_OPERATION, PROGRAM, Phase, READ, event};
use crate::timing::bus::{Transfer, Turn};
use crate::timing::fifo::Fifo;
use crate::timing::tails::NONE;
use crate::timing::tasks::Kind;

impl EventTiming {
    /// What a die may take up behind what it is at, if anything.
    #[inline]
    pub(super) fn may_take_up_behind(&self, index: usize) -> Option<FlashOp> {
        match self.dies[index].phase {
            Phase::Emptying => Some(FlashOp::Read),
            Phase::Programming if self.more[index].behind.is_empty() => Some(FlashOp::Program),
            _ => None,
        }
    }

    /// A die takes up what is first, if that may be behind what it is at.
    #[inline]
    pub(super) fn take_up_behind(&mut self, index: usize) {
        let Some(op) = self.may_take_up_behind(index) else { return };
        let taken = self.first(index, |entry| entry.task.course.op() == op && entry.kind == Kind::Operation);
        if let Some((number, standing)) = taken {
            self.take_up_with_others(index, number, standing);
        }
    }

    /// A die begins a read or a program that goes through second registers.
    pub(super) fn begin_overlapping(&mut self, index: usize, number: u32, is_first: bool) {
        let Self { now, dies, more, tasks, prices, .. } = self;
        let (entry, die, more) = (tasks.get(number), &mut dies[index], &mut more[index]);
        let (Course { alone_ns, moves: units, .. }, sense_ns) =
            (*prices.course(entry.task.course), prices.sense_ns(&entry.task));
        let (class, cause, issue) = (entry.class(), entry.task.cause, entry.issue);
        die.alone_until = die.alone_until.max(*now + alone_ns);
        die.held_since = die.held_since.min(*now);
        more.active += 1;
        let is_alone = more.active == 1;
        if class == READ {
            // It counts among the pages that wait for the bus until it is booked there.
            die.queued_units += units;
            more.behind.push(tasks, number);
        } else if die.phase == Phase::Programming {
            more.behind.push(tasks, number);
        } else {
            (die.phase, die.current) = (Phase::Leading, NONE);
            more.ahead += 1;
            more.coming += 1;
            more.is_group = !is_first;
        }
        if self.is_watched() {
            self.tell_begin(index, number, is_alone);
        }
        if class == PROGRAM {
            let turn = Turn { asks: self.now, round: self.rounds, issue };
            self.tasks.details_mut(number).has_come = false;
            let die = index as u32;
            self.book_overlapping(Transfer { turn, units, starts: 0, then_ns: 0, entry: number, die, cause });
        } else if is_first {
            self.dies[index].phase = Phase::Sensing;
            self.set_end(index, READ, self.now + sense_ns);
        } else {
            // Pages that are sensed together leave the registers with the last of them.
            let die = &mut self.dies[index];
            die.ends = die.ends.max(self.now + sense_ns);
        }
    }

    /// Books a page, and sets its operation's event for when it has moved.
    fn book_overlapping(&mut self, transfer: Transfer) {
        let number = transfer.entry;
        let ends = self.book(transfer) + self.prices.moves_ns(transfer.units);
        self.set_operation_end(number, ends);
    }

    /// The next event of an operation is then.
    fn set_operation_end(&mut self, number: u32, ends: u64) {
        self.tasks.details_mut(number).ends = ends;
        let lane = self.tasks.get(number).class();
        self.calendar.add(lane, ends, event(OF_OPERATION, number));
    }

    /// A die has sensed reads: they go to its second registers as soon as those are empty.
    pub(super) fn has_sensed(&mut self, index: usize) {
        if self.more[index].ahead > 0 {
            self.dies[index].phase = Phase::Holding;
        } else {
            self.fill_second_registers(index);
        }
    }

    /// What a die has sensed goes to its second registers and asks for the bus.
    fn fill_second_registers(&mut self, index: usize) {
        let mut sensed = std::mem::replace(&mut self.more[index].behind, Fifo::EMPTY);
        while let Some(number) = sensed.pop_ready(&self.tasks) {
            let entry = self.tasks.get(number);
            let (cause, turn) = (entry.task.cause, Turn { asks: self.now, round: self.rounds, issue: entry.issue });
            self.more[index].ahead += 1;
            let units = self.prices.course(entry.task.course).moves;
            self.dies[index].queued_units -= units;
            let die = index as u32;
            self.book_overlapping(Transfer { turn, units, starts: 0, then_ns: 0, entry: number, die, cause });
        }
        self.dies[index].phase = Phase::Emptying;
        self.free_dies.push(index as u32);
    }

    /// The page of a program has come.
    pub(super) fn page_has_come(&mut self, index: usize, number: u32) {
        self.tasks.details_mut(number).has_come = true;
        if self.dies[index].phase != Phase::Programming {
            return self.program(index, number);
        }
        let account = self.tasks.get(number).account;
        if let Some(breakdown) = &mut self.breakdown
            && account != NONE
        {
            breakdown.waits_for_die(account, index, self.now, false);
        }
    }

    /// A die programs a page that has come, of those taken up first.
    fn program(&mut self, index: usize, number: u32) {
        let (more, program_ns) = (&mut self.more[index], self.prices.program_ns(&self.tasks.get(number).task));
        more.coming -= 1;
        if !more.is_group {
            more.left_ns = program_ns;
            self.dies[index].current = number;
            return self.begin_work(index);
        }
        if more.coming == 0 {
            self.dies[index].phase = Phase::Programming;
            self.free_dies.push(index as u32);
        }
        self.set_operation_end(number, self.now + program_ns);
    }

    /// One of the operations ahead has ended. With the last of them, those behind go on.
    pub(super) fn one_ahead_has_ended(&mut self, index: usize) {
        let Self { now, dies, more, tasks, breakdown, .. } = self;
        let more = &mut more[index];
        more.ahead -= 1;
        if more.ahead > 0 {
            return;
        }
        let Some(first) = more.behind.first() else { return };
        if let Some(breakdown) = breakdown {
            breakdown.die_held(index, tasks.get(first).task.cause, *now);
        }
        match dies[index].phase {
            Phase::Holding => self.fill_second_registers(index),
            Phase::Programming => self.program_those_behind(index),
            _ => {}
        }
    }

    /// The programs ahead have all ended: those behind are now ahead.
    fn program_those_behind(&mut self, index: usize) {
        let Self { dies, more, tasks, .. } = self;
        let more = &mut more[index];
        let mut behind = std::mem::replace(&mut more.behind, Fifo::EMPTY);
        (dies[index].phase, dies[index].current) = (Phase::Leading, NONE);
        more.ahead = behind.count(tasks);
        (more.coming, more.is_group) = (more.ahead, more.ahead > 1);
        while let Some(number) = behind.pop_ready(&self.tasks) {
            if !self.tasks.details(number).has_come {
                continue;
            }
            let account = self.tasks.get(number).account;
            if let Some(breakdown) = &mut self.breakdown
                && account != NONE
            {
                breakdown.wait_for_die_ended(account, index, self.now);
            }
            self.program(index, number);
        }
    }
}
