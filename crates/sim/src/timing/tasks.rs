//! What has been issued and has not ended, and what follows what.
//!
//! An entry is an operation, a stretch of controller time, or the last of several ends. It knows
//! who follows it: a list through the followers themselves, of which each can be in two lists,
//! since it follows at most two others. Numbers are used again as soon as an entry has ended; a
//! generation tells whether a number still means the same.

use ftl::{Cause, Moment, Nanos, Task};

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A flash operation.
    Operation,
    /// A read and the program of what it read, inside a plane; the entry's task is the program.
    CopyBack,
    /// The last of several ends.
    Join,
    /// The end of what a request did, and of what makes room for it in another one.
    Room,
    /// Time of the controller.
    Delay,
    /// A stay at a station of the front end; which one stands where an operation's die does.
    Stay,
}

/// Something that has not ended: one line of the processor's cache.
#[repr(align(64))]
pub(super) struct Entry {
    pub(super) task: Task,
    /// Its place in the order of issue.
    pub(super) issue: u64,
    /// When its die took it up, and later by as much as it was suspended; of controller time and
    /// of a stay, how long it lasts.
    pub(super) start: u64,
    pub(super) kind: Kind,
    /// How much of what it follows has not ended.
    pub(super) missing: u8,
    /// Whom to tell when it ends.
    pub(super) ticket: u32,
    /// Behind it in the queue that it is in.
    pub(super) next: u32,
    /// Where the time of its request is split, [`NONE`] for nowhere.
    pub(super) account: u32,
    generation: u32,
    /// The first of those that follow it, and what stands behind it in the lists that it is in: an
    /// entry's number, and in the lowest bit which of its two lists goes on.
    first_follower: u32,
    links: [u32; 2],
}

/// What is known of an entry beyond that, where somebody watches or the device can do more than
/// the plain model.
#[derive(Clone)]
pub(super) struct Details {
    /// When it could begin: when all that it follows had ended.
    pub(super) ready: u64,
    /// Its place among all that was queued for dies: by round, then by issue.
    pub(super) turn: u64,
    /// When its die took it up last: at first, or after a suspension.
    pub(super) taken: u64,
    /// When its page began to move.
    pub(super) transfer: u64,
    /// When it ends, where it is on a plane beside the first.
    pub(super) ends: u64,
    /// The cause of the read of a copy-back.
    pub(super) read_cause: Cause,
}

impl Details {
    const NONE: Self = Self { ready: 0, turn: 0, taken: 0, transfer: 0, ends: 0, read_cause: Cause::Host };
}

impl Entry {
    /// Reads, programs, erases and copy-backs, from 0 to 3.
    #[inline]
    pub(super) fn class(&self) -> usize {
        if self.kind == Kind::CopyBack { 3 } else { self.task.op as usize }
    }

    /// Whether the host waits for it.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        self.task.chain == 0
    }
}

/// All entries.
#[derive(Default)]
pub(super) struct Tasks {
    entries: Vec<Entry>,
    details: Vec<Details>,
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
        for (number, entry) in self.entries.iter_mut().enumerate().rev() {
            entry.generation = entry.generation.wrapping_add(1);
            (entry.first_follower, entry.next) = (NONE, self.free);
            self.free = number as u32;
        }
        self.under_way = 0;
        self.issued = 0;
    }

    /// How many have not ended.
    #[inline]
    pub(super) fn under_way(&self) -> usize {
        self.under_way
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
    pub(super) fn issue(&mut self, task: Task, kind: Kind) -> u32 {
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
        let Task { op, cause, pbn, die, chain, copies } = task;
        (entry.task.op, entry.task.cause, entry.task.copies) = (op, cause, copies);
        (entry.task.pbn, entry.task.die, entry.task.chain) = (pbn, die, chain);
        (entry.kind, entry.issue) = (kind, issue);
        (entry.missing, entry.ticket, entry.account) = (0, NONE, NONE);
        number
    }

    #[cold]
    fn push(&mut self, task: Task, kind: Kind, issue: u64) -> u32 {
        self.entries.push(Entry {
            task,
            issue,
            start: 0,
            kind,
            missing: 0,
            ticket: NONE,
            next: NONE,
            account: NONE,
            generation: 0,
            first_follower: NONE,
            links: [NONE; 2],
        });
        self.details.push(Details::NONE);
        (self.entries.len() - 1) as u32
    }

    /// The end of an entry, at the earliest at `earliest`.
    #[inline]
    pub(super) fn end_of(&self, number: u32, earliest: u64) -> Moment {
        Moment::end_of(number, self.get(number).generation, Nanos(earliest))
    }

    /// The entry whose end a moment is, if it has not ended.
    #[inline]
    pub(super) fn awaited(&self, moment: Moment) -> Option<u32> {
        let (number, generation) = moment.event();
        let entry = self.entries.get(number as usize)?;
        (entry.generation == generation).then_some(number)
    }

    /// Lets an entry follow another one; `side` is 0 for what it follows first, 1 for the second.
    #[inline]
    pub(super) fn follow(&mut self, number: u32, side: u32, followed: u32) {
        let behind = std::mem::replace(&mut self.get_mut(followed).first_follower, number << 1 | side);
        let entry = self.get_mut(number);
        entry.links[side as usize] = behind;
        entry.missing += 1;
    }

    /// The last entry issued, if nothing follows it.
    #[inline]
    pub(super) fn has_followers(&self, number: u32) -> bool {
        self.get(number).first_follower != NONE
    }

    /// Asks for what follows an entry, which is far away where much is under way.
    #[inline]
    pub(super) fn prefetch_follower(&self, number: u32) {
        flash::prefetch(&self.entries, (self.get(number).first_follower >> 1) as usize);
    }

    /// Ends an entry: its number is free, and the first of those that followed it is returned.
    #[inline]
    pub(super) fn end(&mut self, number: u32) -> u32 {
        self.under_way -= 1;
        let free = self.free;
        let entry = self.get_mut(number);
        entry.generation = entry.generation.wrapping_add(1);
        entry.next = free;
        let first = std::mem::replace(&mut entry.first_follower, NONE);
        self.free = number;
        first
    }

    /// The follower that a link means, which of its two lists that is, and the link behind.
    #[inline]
    pub(super) fn follower(&self, link: u32) -> (u32, u32, u32) {
        let (number, side) = (link >> 1, link & 1);
        (number, side, self.get(number).links[side as usize])
    }
}

/// Entries in the order in which they came.
#[derive(Clone, Copy)]
pub(super) struct Fifo {
    first: u32,
    last: u32,
}

impl Fifo {
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE };

    #[inline]
    pub(super) fn first(self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.first == NONE
    }

    #[inline]
    pub(super) fn push(&mut self, tasks: &mut Tasks, number: u32) {
        tasks.get_mut(number).next = NONE;
        if self.first == NONE {
            self.first = number;
        } else {
            tasks.get_mut(self.last).next = number;
        }
        self.last = number;
    }

    /// Takes out the first entry, unless it still follows something.
    #[inline]
    pub(super) fn pop_ready(&mut self, tasks: &Tasks) -> Option<u32> {
        let first = self.first()?;
        let entry = tasks.get(first);
        if entry.missing > 0 {
            return None;
        }
        self.first = entry.next;
        Some(first)
    }

    /// Takes out the first entry that passes, wherever it stands.
    pub(super) fn take(&mut self, tasks: &mut Tasks, passes: impl Fn(&Entry) -> bool) -> Option<u32> {
        let (mut before, mut number) = (NONE, self.first);
        while number != NONE {
            let entry = tasks.get(number);
            let next = entry.next;
            if passes(entry) {
                if before == NONE {
                    self.first = next;
                } else {
                    tasks.get_mut(before).next = next;
                }
                if self.last == number {
                    self.last = before;
                }
                return Some(number);
            }
            (before, number) = (number, next);
        }
        None
    }
}
