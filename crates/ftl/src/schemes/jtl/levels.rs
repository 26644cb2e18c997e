//! Entries of the map in levels that double in size.
//!
//! ```text
//!   level 0  ▢            newest
//!         1  ▢▢
//!         2  ▢▢▢▢ ─ one that is drawn goes down, for the one that comes from above
//! ```
//!
//! Which of a level is pushed is drawn, and no cache of a processor holds the lower levels: each
//! push would wait for two lines of memory a level, who is drawn and where that one is. So the
//! numbers are drawn one push ahead. After a push the next members are asked for
//! ([`Levels::draw`]), and when a request is near, what they point to
//! ([`Levels::prefetch_push`]). The numbers are those that would have been drawn later.

use flash::{Lpn, long_array_of};
use random::SeededRng;

use crate::engines::demand::entry_cache::{EntryCache, EntrySlot};
use crate::engines::demand::policy::MapCache;
use crate::prefetch::prefetch;

/// An entry, and its place in the cache.
pub(super) type Member = (Lpn, EntrySlot);

/// The first level that is worth asking for. All above it have 32 KiB of members, which a processor
/// keeps near anyway.
const FIRST_FAR: usize = 12;

/// The levels.
pub(super) struct Levels {
    members: Vec<Vec<Member>>,
    /// Where each place of the cache is: its position in its level, beside the bit that is the
    /// room of that; 0 for nowhere.
    position_of: Vec<u32>,
    /// Where those were that were pushed last, level by level.
    pushed_from: Vec<usize>,
    /// Numbers drawn for the next push, one a level, beginning somewhere and going round.
    numbers: Vec<u64>,
    begin: usize,
    rng: SeededRng,
}

impl Levels {
    /// This many empty levels.
    pub(super) fn none(levels: usize, seed: u64) -> Self {
        let mut rng = SeededRng::new(seed);
        let numbers = (0..levels).map(|_| rng.bits()).collect();
        Self {
            members: (0..levels).map(|level| long_array_of(1 << level)).collect(),
            position_of: long_array_of((1 << levels) - 1),
            pushed_from: Vec::new(),
            numbers,
            begin: 0,
            rng,
        }
    }

    /// How many levels there are.
    pub(super) fn count(&self) -> usize {
        self.members.len()
    }

    /// The members of each level.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[Member]> {
        self.members.iter().map(Vec::as_slice)
    }

    /// The level of an entry.
    pub(super) fn level_of(&self, place: EntrySlot) -> Option<usize> {
        self.position_of.get(place.0 as usize)?.checked_ilog2().map(|level| level as usize)
    }

    /// Draws who is pushed down from each level before the end, up to the first with room.
    pub(super) fn draw(&mut self, end: usize, pushed: &mut Vec<Member>) {
        pushed.clear();
        pushed.extend((0..end).map_while(|level| self.drawn(level)));
        let mut pushed_from = std::mem::take(&mut self.pushed_from);
        pushed_from.clear();
        pushed_from.extend((0..pushed.len()).map(|level| self.place_drawn(level)));
        self.pushed_from = pushed_from;
        for (_, place) in &*pushed {
            prefetch(&self.position_of, place.0 as usize);
        }
        for _ in 0..pushed.len() {
            self.numbers[self.begin] = self.rng.bits();
            self.begin = (self.begin + 1) % self.numbers.len();
        }
        (FIRST_FAR..self.count()).for_each(|level| prefetch(&self.members[level], self.place_drawn(level)));
    }

    /// Who is pushed next from a level, if it is full. A full level has as many as its room, a
    /// power of two.
    fn drawn(&self, level: usize) -> Option<Member> {
        let members = &self.members[level];
        (members.len() == 1 << level).then(|| members[self.place_drawn(level)])
    }

    /// The position of who is pushed next from a full level.
    fn place_drawn(&self, level: usize) -> usize {
        let place = self.begin + level;
        let place = if place < self.numbers.len() { place } else { place - self.numbers.len() };
        self.numbers[place] as usize & ((1 << level) - 1)
    }

    /// Asks for what the next push will touch, and for where the entry of a page is.
    pub(super) fn prefetch_push(&self, cache: &EntryCache, lpn: Lpn) {
        if let Some(place) = cache.find(lpn) {
            prefetch(&self.position_of, place.0 as usize);
        }
        for (_, place) in (FIRST_FAR..self.count()).map_while(|level| self.drawn(level)) {
            prefetch(&self.position_of, place.0 as usize);
        }
        // Of the one that leaves the last level it is asked whether it is cached.
        if let Some((last, _)) = self.count().checked_sub(1).and_then(|last| self.drawn(last)) {
            cache.prefetch_slot(last);
        }
    }

    /// Brings an entry to level 0, for which one of each level is pushed down.
    pub(super) fn bring_up(&mut self, member: Member, pushed: &[Member]) {
        self.take(member.1);
        for (level, &down) in pushed.iter().enumerate().rev() {
            // The place of the last one, which has left, may be the newcomer's by now.
            if level + 1 < self.count() {
                let at = self.pushed_from[level];
                // Where it was drawn is known without a look at `position_of`.
                if self.members[level].get(at) == Some(&down) {
                    self.take_at(level, at);
                } else {
                    self.take(down.1);
                }
                self.put(down, level + 1);
            }
        }
        self.put(member, 0);
    }

    /// Puts an entry into a level with room.
    fn put(&mut self, (lpn, place): Member, level: usize) {
        let at = place.0 as usize;
        if at >= self.position_of.len() {
            self.position_of.resize(at + 1, 0);
        }
        self.position_of[at] = 1 << level | self.members[level].len() as u32;
        self.members[level].push((lpn, place));
    }

    /// Takes an entry out of its level, if it is in one.
    pub(super) fn take(&mut self, place: EntrySlot) {
        let Some(position) = self.position_of.get_mut(place.0 as usize).map(std::mem::take) else { return };
        let Some(level) = position.checked_ilog2() else { return };
        self.take_at(level as usize, position as usize & !(1 << level));
    }

    /// Takes a member out of a level.
    fn take_at(&mut self, level: usize, at: usize) {
        let members = &mut self.members[level];
        members.swap_remove(at);
        if let Some((_, moved)) = members.get(at) {
            self.position_of[moved.0 as usize] = 1 << level | at as u32;
        }
    }
}
