//! What has been issued and has not ended, and what follows what.
//!
//! An entry is an operation, a stretch of controller time, or the last of several ends. It knows
//! who follows it: a list through the followers themselves, of which each can be in two lists,
//! since it follows at most two others. Numbers are used again as soon as an entry has ended; a
//! generation tells whether a number still means the same.
//!
//! A collection or a merge issues hundreds of operations at once, each of which follows the one
//! before. They stand in the *tail* of the first of them, in the order of issue ([`Tails`]). When
//! the operation of an entry ends, the first of its tail becomes the entry's operation, under the
//! next generation.

use ftl::{Cause, Moment, Nanos};

use crate::timing::priced_task::{ERASE, PricedTask};
use crate::timing::tails::{Event, NONE, Pending, Rare, Tails};

/// What ends when an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A read, a program or an erase, as the task says.
    Operation,
    /// A read and the program of what it read, inside a plane; the entry's task is the program.
    CopyBack,
    /// Several entries that it follows: it ends with the last of them.
    Join,
    /// The end of what a request did, and of what makes room for it in another one.
    Room,
    /// A stretch of time at the controller, which occupies no die.
    Delay,
    /// A stay at a station of the front end; which one stands where an operation's die does.
    Stay,
    /// A unit of the host that asks for a place in the program buffer.
    Place,
}

/// Something that has not ended: one line of the processor's cache.
#[repr(align(64))]
pub(super) struct Entry {
    pub(super) task: PricedTask,
    /// Its place in the order of issue.
    pub(super) issue: u64,
    /// When its die took it up, and later by as much as it was suspended; of controller time and
    /// of a stay, how long it lasts.
    pub(super) start: u64,
    pub(super) kind: Kind,
    /// Whether somebody is told when it ends.
    is_asked_for: bool,
    /// How much of what it follows has not ended.
    pub(super) missing: u16,
    /// What follows it in turn, by its place among the tails; [`NONE`] for nothing.
    tail: u32,
    /// The entry behind it in the queue that it is in. Before it is ready: the program or the erase
    /// of its block that becomes ready no sooner than it.
    pub(super) next: u32,
    /// Where the time of its request is split, [`NONE`] for nowhere.
    pub(super) account: u32,
    generation: u32,
    /// The first of those that follow it, and what stands behind it in the lists that it is in: an
    /// entry's number, and in the lowest bit which of its two lists goes on.
    first_follower: u32,
    links: [u32; 2],
}

/// Optional data of an entry, needed if somebody watches or the device can do more than
/// the plain model.
#[derive(Clone)]
pub(super) struct Details {
    /// When it could begin: when all that it follows had ended.
    pub(super) ready: u64,
    /// Its place among all that was queued for dies: by round, then by issue.
    pub(super) turn: u64,
    /// The entry before it in its queue, where it may be taken out of the middle of that.
    pub(super) before: u32,
    /// Where it stands among what waits for its die, where some let others pass.
    pub(super) standing: usize,
    /// The plane of its die that it is done on, where that is asked.
    pub(super) plane: u32,
    /// When its die took it up last: at first, or after a suspension.
    pub(super) taken: u64,
    /// When its page began to move.
    pub(super) transfer: u64,
    /// When its next event is, where it is not the only operation of its die.
    pub(super) ends: u64,
    /// The flash page of its block that it is done to, where planes are aligned; of an erase 0.
    pub(super) page: u32,
    /// What is done to its block before it, and whether it has begun, where that is asked.
    pub(super) behind: Event,
    pub(super) has_begun: bool,
    /// Whether the page of a program has come, where that has an event.
    pub(super) has_come: bool,
    /// The cause of the read of a copy-back.
    pub(super) read_cause: Cause,
}

/// An operation under way: an entry's, or one in its tail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Followed {
    pub(super) number: u32,
    /// How many of the entry's operations come before it.
    place: u32,
}

impl Details {
    const NONE: Self = Self {
        ready: 0,
        turn: 0,
        before: NONE,
        standing: 0,
        plane: 0,
        taken: 0,
        transfer: 0,
        ends: 0,
        page: 0,
        behind: Event::NONE,
        has_begun: false,
        has_come: false,
        read_cause: Cause::Host,
    };
}

impl Entry {
    /// Reads, programs, erases and copy-backs, from 0 to 3.
    #[inline]
    pub(super) fn class(&self) -> usize {
        self.task.course.class()
    }

    /// Whether the host waits for it.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        self.task.chain == 0
    }

    /// Whether the end of its operation means something to the next of its tail alone.
    #[inline]
    pub(super) fn goes_on(&self) -> bool {
        let concerns_others = self.is_asked_for || self.first_follower != NONE || self.task.gives_back > 0;
        self.tail != NONE && !concerns_others && self.class() != ERASE
    }
}

/// The entries by number, with their tails; numbers of those that have ended are used again.
#[derive(Default)]
pub(super) struct Tasks {
    entries: Vec<Entry>,
    details: Vec<Details>,
    /// Whom to tell when an entry ends.
    tickets: Vec<u32>,
    tails: Tails,
    free: u32,
    under_way: usize,
    issued: u64,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Self { free: NONE, ..Self::default() }
    }

    /// Forgets all. Numbers given before mean nothing any more.
    pub(super) fn clear(&mut self) {
        self.free = NONE;
        for number in (0..self.entries.len()).rev() {
            let pending = self.tails.len(self.get(number as u32).tail);
            let entry = &mut self.entries[number];
            entry.generation = entry.generation.wrapping_add(1 + pending);
            (entry.first_follower, entry.tail, entry.next) = (NONE, NONE, self.free);
            self.free = number as u32;
        }
        self.tails.clear();
        self.under_way = 0;
        self.issued = 0;
    }

    /// How many have not ended.
    #[inline]
    pub(super) fn under_way(&self) -> usize {
        self.under_way
    }

    /// How many have been issued so far.
    pub(super) fn issued(&self) -> u64 {
        self.issued
    }

    /// Sorts numbers by issue. Compiled once, not for each mode of the engine.
    #[inline(never)]
    pub(super) fn sort_by_issue(&self, numbers: &mut [u32]) {
        numbers.sort_unstable_by_key(|&number| self.get(number).issue);
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &Entry {
        &self.entries[number as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> &mut Entry {
        &mut self.entries[number as usize]
    }

    #[inline]
    pub(super) fn details(&self, number: u32) -> &Details {
        &self.details[number as usize]
    }

    #[inline]
    pub(super) fn details_mut(&mut self, number: u32) -> &mut Details {
        &mut self.details[number as usize]
    }

    /// A new entry that follows nothing yet.
    #[inline]
    pub(super) fn issue(&mut self, task: PricedTask, kind: Kind) -> u32 {
        self.under_way += 1;
        let issue = self.issued;
        self.issued += 1;
        let number = self.free;
        if number == NONE {
            return self.push(task, kind, issue);
        }
        self.free = self.entries[number as usize].next;
        flash::prefetch(&self.entries, self.free as usize);
        let entry = &mut self.entries[number as usize];
        // Field by field: as a whole it is read back while its parts are still being written, which
        // the processor waits for.
        let PricedTask { pbn, die, chain, cause, course, gives_back } = task;
        (entry.task.pbn, entry.task.die, entry.task.chain) = (pbn, die, chain);
        (entry.task.cause, entry.task.course, entry.task.gives_back) = (cause, course, gives_back);
        (entry.kind, entry.issue) = (kind, issue);
        (entry.missing, entry.is_asked_for, entry.account, entry.next) = (0, false, NONE, NONE);
        number
    }

    #[cold]
    fn push(&mut self, task: PricedTask, kind: Kind, issue: u64) -> u32 {
        self.entries.push(Entry {
            task,
            issue,
            start: 0,
            kind,
            is_asked_for: false,
            missing: 0,
            tail: NONE,
            next: NONE,
            account: NONE,
            generation: 0,
            first_follower: NONE,
            links: [NONE; 2],
        });
        self.details.push(Details::NONE);
        self.tickets.push(NONE);
        (self.entries.len() - 1) as u32
    }

    /// A new operation that follows another one, if that is the last of its entry and the host
    /// waits for both or for neither: it stands in the entry's tail. It also waits for what is done
    /// to its block before it, if that is not [`Event::NONE`].
    #[expect(clippy::inline_always, reason = "one more call for every flash operation")]
    #[inline(always)]
    pub(super) fn issue_behind(&mut self, task: &PricedTask, after: Moment, before: Event) -> Option<Event> {
        let (number, generation) = after.event();
        let Self { entries, tails, issued, under_way, .. } = self;
        let entry = entries.get_mut(number as usize)?;
        if entry.kind != Kind::Operation || (entry.task.chain == 0) != (task.chain == 0) {
            return None;
        }
        let place = generation.wrapping_sub(entry.generation);
        if entry.tail == NONE {
            if place != 0 {
                return None;
            }
            entry.tail = tails.begin();
        }
        let tail = entry.tail;
        if !tails.push(tail, place, Pending::new(task, *issued)) {
            return None;
        }
        *issued += 1;
        *under_way += 1;
        // What stands before it in its own tail is before it in any case.
        if before.number != number && self.is_under_way(before) {
            self.tails.wait_in_block(tail, before);
        }
        Some(Event { number, generation: generation.wrapping_add(1) })
    }

    /// The end of an entry that has no tail, at the earliest at `earliest`.
    #[inline]
    pub(super) fn end_of(&self, number: u32, earliest: u64) -> Moment {
        Moment::end_of(number, self.get(number).generation, Nanos(earliest))
    }

    /// What a moment is the end of, if that has not ended.
    #[inline]
    pub(super) fn awaited(&self, moment: Moment) -> Option<Followed> {
        let (number, generation) = moment.event();
        self.under_way_as(Event { number, generation })
    }

    /// An operation that has not ended.
    #[inline]
    fn under_way_as(&self, Event { number, generation }: Event) -> Option<Followed> {
        let entry = self.entries.get(number as usize)?;
        let place = generation.wrapping_sub(entry.generation);
        (place <= self.tails.len(entry.tail)).then_some(Followed { number, place })
    }

    /// Whether an operation has not ended.
    #[inline]
    pub(super) fn is_under_way(&self, event: Event) -> bool {
        self.under_way_as(event).is_some()
    }

    /// The operation of an entry that is under way.
    #[inline]
    pub(super) fn event(&self, number: u32) -> Event {
        Event { number, generation: self.get(number).generation }
    }

    /// Lets a program or an erase wait for what is done to its block before it: for the end of an
    /// erase, and until a program is ready. Returns the task of the entry that it waits for.
    #[inline]
    pub(super) fn wait_in_block(&mut self, number: u32, before: Event) -> Option<PricedTask> {
        let followed = self.under_way_as(before)?;
        debug_assert_ne!(followed.number, number, "what stands in one tail is in order");
        let (earlier, own) = (self.get(followed.number), self.get(number).class());
        let task = earlier.task;
        let is_erased = followed.place == 0 && earlier.class() == ERASE;
        if is_erased && own != ERASE {
            self.follow(number, 1, followed);
            return Some(task);
        }
        if followed.place == 0 && earlier.missing == 0 {
            return None;
        }
        let next_in_block = match followed.place {
            0 => &mut self.get_mut(followed.number).next,
            place => {
                let tail = self.get(followed.number).tail;
                &mut self.tails.rare_mut(tail, place - 1).next_in_block
            }
        };
        debug_assert_eq!(*next_in_block, NONE, "one operation of a block is the next");
        *next_in_block = number;
        self.get_mut(number).missing += 1;
        Some(task)
    }

    /// Lets an entry follow an operation; `side` is 0 for what it follows first, 1 for the second.
    #[inline]
    pub(super) fn follow(&mut self, number: u32, side: u32, followed: Followed) {
        let first_follower = match followed.place {
            0 => &mut self.entries[followed.number as usize].first_follower,
            place => &mut self.tails.rare_mut(self.entries[followed.number as usize].tail, place - 1).first_follower,
        };
        let behind = std::mem::replace(first_follower, number << 1 | side);
        let entry = self.get_mut(number);
        entry.links[side as usize] = behind;
        entry.missing += 1;
    }

    /// Whether operations stand in the tail of an entry.
    #[inline]
    pub(super) fn has_tail(&self, number: u32) -> bool {
        self.get(number).tail != NONE
    }

    /// Asks to be told of an end.
    pub(super) fn ask_for(&mut self, followed: Followed, ticket: u32) {
        if followed.place == 0 {
            self.entries[followed.number as usize].is_asked_for = true;
            self.tickets[followed.number as usize] = ticket;
        } else {
            let tail = self.get(followed.number).tail;
            self.tails.rare_mut(tail, followed.place - 1).ticket = ticket;
        }
    }

    /// Asks to be told of the end of an entry that has no tail.
    pub(super) fn ask_for_entry(&mut self, number: u32, ticket: u32) {
        self.ask_for(Followed { number, place: 0 }, ticket);
    }

    /// Under which ticket the end of an entry's operation was asked for.
    #[inline]
    pub(super) fn ticket(&self, number: u32) -> Option<u32> {
        self.get(number).is_asked_for.then(|| self.tickets[number as usize])
    }

    /// Whether anything outside its tail follows the operation of an entry, or somebody asked for
    /// its end.
    #[inline]
    pub(super) fn is_awaited(&self, number: u32) -> bool {
        let entry = self.get(number);
        entry.is_asked_for || entry.first_follower != NONE
    }

    /// Whether anything outside its tail follows the operation of an entry.
    #[inline]
    pub(super) fn has_followers(&self, number: u32) -> bool {
        self.get(number).first_follower != NONE
    }

    /// The first of those outside its tail that follow the operation of an entry.
    #[inline]
    pub(super) fn first_follower(&self, number: u32) -> u32 {
        self.get(number).first_follower
    }

    /// Asks for an entry; [`NONE`] is ignored.
    #[inline]
    pub(super) fn prefetch(&self, number: u32) {
        flash::prefetch(&self.entries, number as usize);
    }

    /// Asks for what follows an entry's operation, which is far away where much is under way: the
    /// next of its tail, or who follows it.
    #[inline]
    pub(super) fn prefetch_follower(&self, number: u32) {
        flash::prefetch(&self.entries, (self.get(number).first_follower >> 1) as usize);
        self.tails.prefetch_first(self.get(number).tail);
    }

    /// Ends the operation of an entry. The next of its tail takes its place; whether there is one.
    /// Otherwise the number is free.
    #[expect(clippy::inline_always, reason = "one more call for every flash operation")]
    #[inline(always)]
    pub(super) fn end(&mut self, number: u32) -> bool {
        let Self { entries, free, under_way, .. } = self;
        let entry = &mut entries[number as usize];
        if entry.tail != NONE {
            self.go_on(number);
            return true;
        }
        *under_way -= 1;
        entry.generation = entry.generation.wrapping_add(1);
        (entry.first_follower, entry.issue) = (NONE, u64::MAX);
        entry.next = *free;
        *free = number;
        false
    }

    /// Ends the operation of an entry that has a tail: the next of that takes its place.
    #[expect(clippy::inline_always, reason = "one more call for every flash operation")]
    #[inline(always)]
    pub(super) fn go_on(&mut self, number: u32) -> &Entry {
        self.under_way -= 1;
        let entry = &mut self.entries[number as usize];
        entry.generation = entry.generation.wrapping_add(1);
        let (pending, is_over) = self.tails.take(entry.tail);
        if is_over {
            entry.tail = NONE;
        }
        (entry.task.cause, entry.task.course, entry.task.gives_back) = (pending.cause, pending.course, 0);
        (entry.task.pbn, entry.task.die) = (pending.pbn, pending.die());
        entry.issue = pending.issue_after(entry.issue);
        (entry.first_follower, entry.is_asked_for, entry.next) = (NONE, false, NONE);
        if pending.is_rare() {
            self.take_rare(number, &pending);
        }
        &self.entries[number as usize]
    }

    /// What few operations have goes over to an entry with one that has it.
    #[cold]
    fn take_rare(&mut self, number: u32, pending: &Pending) {
        let Rare { first_follower, ticket, before, next_in_block } = self.tails.take_rare(pending);
        let entry = self.get_mut(number);
        (entry.first_follower, entry.is_asked_for, entry.next) = (first_follower, ticket != NONE, next_in_block);
        if ticket != NONE {
            self.tickets[number as usize] = ticket;
        }
        self.wait_in_block(number, before);
    }

    /// The follower that a link means, which of its two lists that is, and the link behind.
    #[inline]
    pub(super) fn follower(&self, link: u32) -> (u32, u32, u32) {
        let (number, side) = (link >> 1, link & 1);
        (number, side, self.get(number).links[side as usize])
    }
}

#[cfg(test)]
mod tests {
    use flash::Pbn;
    use ftl::{FlashOp, Task};

    use super::*;
    use crate::timing::priced_task::Price;

    const STRETCH: u32 = 7;

    fn task(op: FlashOp, pbn: u32) -> PricedTask {
        let task = Task { chain: STRETCH, ..Task::new(op, Cause::Collection, Pbn::new(pbn), 0) };
        PricedTask::new(&task, Price(pbn as u8 % 4))
    }

    /// An entry with a tail of programs in blocks 1, 2, ... and the moments at which they end.
    fn with_tail(tasks: &mut Tasks, length: u32, before: Event) -> (u32, Vec<Moment>) {
        let number = tasks.issue(task(FlashOp::Read, 0), Kind::Operation);
        let mut ends = vec![tasks.end_of(number, 0)];
        for pbn in 1..=length {
            let behind = tasks.issue_behind(&task(FlashOp::Program, pbn), ends[pbn as usize - 1], before);
            let Event { number, generation } = behind.expect("it follows the last of its own stretch");
            ends.push(Moment::end_of(number, generation, Nanos(0)));
        }
        (number, ends)
    }

    #[test]
    fn operations_of_a_tail_end_one_after_the_other_under_their_own_moments() {
        let mut tasks = Tasks::new();
        let (number, ends) = with_tail(&mut tasks, 3, Event::NONE);
        assert_eq!(tasks.under_way(), 4);
        for ended in 0..4_u32 {
            let entry = tasks.get(number);
            assert_eq!((entry.task.pbn.get(), entry.issue), (ended, u64::from(ended)));
            assert_eq!(entry.task.course.price(), Price(ended as u8 % 4));
            let awaited: Vec<bool> = ends.iter().map(|&end| tasks.awaited(end).is_some()).collect();
            assert_eq!(awaited, (0..4).map(|place| place >= ended).collect::<Vec<_>>());
            assert_eq!(tasks.end(number), ended < 3);
        }
        assert!(ends.iter().all(|&end| tasks.awaited(end).is_none()));
        assert_eq!(tasks.under_way(), 0);
        // The number is used again, and its tail's place, too.
        assert_eq!(with_tail(&mut tasks, 2, Event::NONE).0, number);
    }

    #[test]
    fn only_the_next_that_the_host_waits_for_alike_joins_a_tail() {
        let mut tasks = Tasks::new();
        let (_, ends) = with_tail(&mut tasks, 2, Event::NONE);
        let program = task(FlashOp::Program, 9);
        assert_eq!(tasks.issue_behind(&program, ends[1], Event::NONE), None, "the last of the tail is another one");
        let of_host = PricedTask { chain: 0, ..program };
        assert_eq!(tasks.issue_behind(&of_host, ends[2], Event::NONE), None, "the host waits for it");
        let of_another_step = PricedTask { chain: STRETCH + 1, ..program };
        assert!(tasks.issue_behind(&of_another_step, ends[2], Event::NONE).is_some());
        assert_eq!(tasks.issue_behind(&program, Moment::at(Nanos(5)), Event::NONE), None, "a known moment");
        let delay = tasks.issue(program, Kind::Delay);
        let end = tasks.end_of(delay, 0);
        assert_eq!(tasks.issue_behind(&program, end, Event::NONE), None, "controller time");
    }

    #[test]
    fn whoever_follows_or_asks_for_one_of_a_tail_waits_for_that_one() {
        let mut tasks = Tasks::new();
        let (number, ends) = with_tail(&mut tasks, 2, Event::NONE);
        let followed = tasks.awaited(ends[1]).expect("it has not ended");
        let follower = tasks.issue(task(FlashOp::Erase, 0), Kind::Operation);
        tasks.follow(follower, 0, followed);
        tasks.ask_for(followed, 42);
        assert_eq!((tasks.ticket(number), tasks.has_followers(number)), (None, false));
        assert!(tasks.end(number));
        assert_eq!((tasks.ticket(number), tasks.first_follower(number) >> 1), (Some(42), follower));
        assert!(tasks.end(number));
        assert_eq!((tasks.ticket(number), tasks.has_followers(number)), (None, false));
    }

    #[test]
    fn a_program_of_a_tail_waits_for_the_erase_of_its_block_while_that_is_under_way() {
        for has_ended in [false, true] {
            let mut tasks = Tasks::new();
            let erase = tasks.issue(task(FlashOp::Erase, 1), Kind::Operation);
            let before = tasks.event(erase);
            let (number, _) = with_tail(&mut tasks, 1, before);
            if has_ended {
                assert!(!tasks.end(erase));
                // Another erase of that block under the same number, issued later.
                assert_eq!(tasks.issue(task(FlashOp::Erase, 1), Kind::Operation), erase);
            }
            assert!(tasks.end(number));
            assert_eq!(tasks.get(number).missing, u16::from(!has_ended));
            assert_eq!(tasks.has_followers(erase), !has_ended);
        }
    }

    #[test]
    fn what_has_been_forgotten_is_not_awaited_any_more() {
        let mut tasks = Tasks::new();
        let (number, ends) = with_tail(&mut tasks, 3, Event::NONE);
        tasks.clear();
        assert!(ends.iter().all(|&end| tasks.awaited(end).is_none()));
        let (again, new_ends) = with_tail(&mut tasks, 3, Event::NONE);
        assert_eq!(again, number);
        assert!(ends.iter().all(|&end| tasks.awaited(end).is_none()));
        assert!(new_ends.iter().all(|&end| tasks.awaited(end).is_some()));
    }
}
