//! The buffer of the controller in which data of the host wait for their programs.
//!
//! A unit of the host asks for a place when it has come, gets one in the order of asking, and is
//! answered then. It gives the place back when it has been programmed. So a full buffer holds the
//! host to the rate of the flash. What collections move waits elsewhere: see `program_units.rs`.

use std::collections::VecDeque;

use crate::timing::tasks::Tasks;

/// Places for units of the host.
pub(super) struct ProgramBuffer {
    places: i64,
    /// Places that are taken. A block that is erased gives back those of units that have yet to
    /// come, so it may be below zero for a while.
    taken: i64,
    most_taken: i64,
    /// Entries that ask in this round, and those that wait, in the order of asking.
    asking: Vec<u32>,
    waiting: VecDeque<u32>,
}

impl ProgramBuffer {
    /// An empty one.
    pub(super) fn new(places: u64) -> Self {
        Self { places: places.cast_signed(), taken: 0, most_taken: 0, asking: Vec::new(), waiting: VecDeque::new() }
    }

    /// Takes a place for a unit that has come, if there is one and nobody asks for it; whether
    /// there was.
    pub(super) fn take_at_once(&mut self) -> bool {
        let is_free = self.asking.is_empty() && self.waiting.is_empty() && self.has_place();
        if is_free {
            self.take();
        }
        is_free
    }

    fn has_place(&self) -> bool {
        self.taken < self.places
    }

    fn take(&mut self) {
        self.taken += 1;
        self.most_taken = self.most_taken.max(self.taken);
    }

    /// An entry asks for a place.
    pub(super) fn ask(&mut self, number: u32) {
        self.asking.push(number);
    }

    /// Units have been programmed.
    pub(super) fn give_back(&mut self, places: u16) {
        self.taken -= i64::from(places);
    }

    /// Whether nothing can change in this round.
    pub(super) fn is_settled(&self) -> bool {
        self.asking.is_empty() && self.waiting.is_empty()
    }

    /// Who asked in this round waits behind the others, in the order of issue.
    pub(super) fn line_up(&mut self, tasks: &Tasks) {
        self.asking.sort_unstable_by_key(|&number| tasks.get(number).issue);
        self.waiting.extend(self.asking.drain(..));
    }

    /// The next entry that gets a place. Where nothing else is under way, so that none will become
    /// free, the first gets one all the same.
    pub(super) fn next(&mut self, is_stuck: bool) -> Option<u32> {
        if !self.has_place() && !is_stuck {
            return None;
        }
        let number = self.waiting.pop_front()?;
        self.take();
        Some(number)
    }

    /// The clock starts anew with this many units in the buffer.
    pub(super) fn restart(&mut self, units: u64) {
        self.asking.clear();
        self.waiting.clear();
        (self.taken, self.most_taken) = (units.cast_signed(), units.cast_signed());
    }

    /// Units that it has room for, or held if that was more.
    pub(super) fn most_units(&self) -> u64 {
        self.places.max(self.most_taken).unsigned_abs()
    }
}
