//! The buffer of the controller in which data of the host wait for their programs.
//!
//! A unit of the host asks for a place when it has come, gets one in the order of asking, and is
//! answered then. It gives the place back when it has been programmed. So a full buffer holds the
//! host to the rate of the flash. What collections move waits elsewhere: see `program_units.rs`.
//!
//! The last free place is for the unit that was issued first of those without one. It may have yet
//! to come, because its data are being read, and units that came meanwhile may have to wait for its
//! program. All that it waits for was issued before it, so some unit with a place can always be
//! programmed, unless program units of several units are open.

use std::collections::BTreeMap;

use crate::timing::tasks::Tasks;

/// Places for units of the host.
#[derive(Default)]
pub(super) struct ProgramBuffer {
    places: i64,
    /// Places that are taken. A block that is erased gives back those of units that have yet to
    /// come, so it may be below zero for a while.
    taken: i64,
    most_taken: i64,
    /// Entries that ask in this round.
    asking: Vec<u32>,
    /// Those that wait, with their place in the order of issue, by that in the order of asking.
    waiting: BTreeMap<u64, (u64, u32)>,
    asked: u64,
    /// All without a place in the order of issue, with their place in that of asking if they ask.
    unplaced: BTreeMap<u64, Option<u64>>,
}

impl ProgramBuffer {
    /// An empty one.
    pub(super) fn new(places: u64) -> Self {
        Self { places: places.cast_signed(), ..Self::default() }
    }

    /// Takes a place for a unit that has come, if there is one for it and nobody asks; whether
    /// there was.
    pub(super) fn take_at_once(&mut self) -> bool {
        let spared = i64::from(!self.unplaced.is_empty());
        let is_free = self.is_settled() && self.places - self.taken > spared;
        if is_free {
            self.take();
        }
        is_free
    }

    fn take(&mut self) {
        self.taken += 1;
        self.most_taken = self.most_taken.max(self.taken);
    }

    /// An entry will ask for a place, by its place in the order of issue.
    pub(super) fn announce(&mut self, issue: u64) {
        self.unplaced.insert(issue, None);
    }

    /// An entry asks for its place.
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
        for number in self.asking.drain(..) {
            let issue = tasks.get(number).issue;
            self.waiting.insert(self.asked, (issue, number));
            self.unplaced.insert(issue, Some(self.asked));
            self.asked += 1;
        }
    }

    /// The next entry that gets a place: the first that asked, or for the last place the one issued
    /// first. Where nothing else is under way, so that none will become free, one of them gets a
    /// place all the same.
    pub(super) fn next(&mut self, is_stuck: bool) -> Option<u32> {
        let free = self.places - self.taken;
        let (&first_asked, _) = self.waiting.first_key_value()?;
        let (_, first_issued) = self.unplaced.first_key_value()?;
        let asked = match *first_issued {
            _ if free > 1 => first_asked,
            Some(asked) if free == 1 || is_stuck => asked,
            None if is_stuck => first_asked,
            _ => return None,
        };
        let (issue, number) = self.waiting.remove(&asked)?;
        self.unplaced.remove(&issue);
        self.take();
        Some(number)
    }

    /// The clock starts anew with this many units in the buffer.
    pub(super) fn restart(&mut self, units: u64) {
        let units = units.cast_signed();
        *self = Self { places: self.places, taken: units, most_taken: units, ..Self::default() };
    }

    /// Units that it has room for, or held if that was more.
    pub(super) fn most_units(&self) -> u64 {
        self.places.max(self.most_taken).unsigned_abs()
    }
}
