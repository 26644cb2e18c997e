//! Which page moves when over a channel's bus.
//!
//! A bus serves pages in the order in which they ask for it, and when a page will ask is known as
//! soon as its die takes the operation up: at once for a program, after sensing for a read. So the
//! page is booked then, and the operation has its end, without an event when it asks or when the
//! bus is free. Two can come before somebody who is booked: a program that begins while others
//! sense, and a read of a page that is sensed faster. Who was booked then begins later, and so does
//! whoever is behind.

use std::cmp::Ordering;

use ftl::Cause;

/// How many pages a bus lists, beside those that its dies can hold, before it forgets some. With
/// 64, and four dies, the lists of eight buses would take 32 KiB, as much as many first caches.
const FORGOTTEN: usize = 16;

/// The order in which pages ask for a bus: by moment, by round of that moment, by issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    pub(super) asks: u64,
    pub(super) round: u32,
    pub(super) issue: u64,
}

impl Turn {
    #[inline]
    fn is_before(&self, other: &Self) -> bool {
        self.asks < other.asks || self.asks == other.asks && (self.round, self.issue) < (other.round, other.issue)
    }
}

/// A page that moves, has moved, or will.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) turn: Turn,
    /// How many units it moves.
    pub(super) units: u32,
    /// When it begins, as far as is known now.
    pub(super) starts: u64,
    /// From the end of the transfer to the next event of its operation.
    pub(super) then_ns: u64,
    pub(super) entry: u32,
    pub(super) die: u32,
    pub(super) cause: Cause,
}

impl Transfer {
    /// When it has moved, where a unit takes so long.
    #[inline]
    fn moved_at(&self, transfer_ns: u64) -> u64 {
        self.starts + u64::from(self.units) * transfer_ns
    }
}

/// A channel's bus.
#[derive(Clone)]
pub(super) struct Bus {
    /// Pages in the order in which they move; the first of them may have moved.
    booked: Vec<Transfer>,
    /// How many of those that have moved are kept, to tell what others waited for.
    kept: usize,
    /// How many are listed before some are forgotten.
    most: usize,
    /// What a unit takes.
    transfer_ns: u64,
    /// Units booked ever.
    pub(super) transfers: u64,
}

impl Bus {
    /// An idle bus of a channel whose dies can hold this many pages.
    pub(super) fn new(transfer_ns: u64, pages: u32) -> Self {
        let kept = pages as usize;
        Self { booked: Vec::new(), kept, most: 2 * kept + FORGOTTEN, transfer_ns, transfers: 0 }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.booked.clear();
        self.transfers = 0;
    }

    /// Books a page, if it comes after all others; returns when it begins to move.
    #[expect(clippy::inline_always, reason = "a page is then written where it is listed, and nowhere before")]
    #[inline(always)]
    pub(super) fn book_last(&mut self, transfer: Transfer, now: u64) -> Option<u64> {
        if self.booked.len() > self.most {
            self.forget(now);
        }
        let mut starts = transfer.turn.asks;
        if let Some(last) = self.booked.last() {
            if !last.turn.is_before(&transfer.turn) {
                return None;
            }
            starts = starts.max(last.moved_at(self.transfer_ns));
        }
        self.transfers += u64::from(transfer.units);
        self.booked.push(Transfer { starts, ..transfer });
        Some(starts)
    }

    /// Books a page, and tells `delayed` of each that moves later because of it. Returns when the
    /// page begins to move.
    #[inline]
    pub(super) fn book(&mut self, transfer: Transfer, now: u64, delayed: impl FnMut(&Transfer, u64)) -> u64 {
        self.book_last(transfer, now).unwrap_or_else(|| self.squeeze_in(transfer, delayed))
    }

    /// Forgets pages that have moved, but for the last of them.
    #[cold]
    fn forget(&mut self, now: u64) {
        let over = self.booked.partition_point(|page| page.moved_at(self.transfer_ns) <= now);
        self.booked.drain(..over.saturating_sub(self.kept));
    }

    /// Books a page that comes before others, and tells `delayed` of each that moves later, with
    /// when it would have moved.
    pub(super) fn squeeze_in(&mut self, transfer: Transfer, mut delayed: impl FnMut(&Transfer, u64)) -> u64 {
        let Self { booked, transfer_ns, transfers, .. } = self;
        *transfers += u64::from(transfer.units);
        let mut place = booked.len();
        while place > 0 && booked[place - 1].turn > transfer.turn {
            place -= 1;
        }
        let free = place.checked_sub(1).map_or(0, |before| booked[before].moved_at(*transfer_ns));
        let starts = transfer.turn.asks.max(free);
        booked.insert(place, Transfer { starts, ..transfer });
        let mut free = booked[place].moved_at(*transfer_ns);
        for later in &mut booked[place + 1..] {
            if later.starts >= free {
                break;
            }
            let before = std::mem::replace(&mut later.starts, free);
            free = later.moved_at(*transfer_ns);
            delayed(later, before);
        }
        starts
    }

    /// How many of the booked pages have begun to move, at a moment of which this many rounds are
    /// over.
    fn begun(&self, now: u64, rounds: u32) -> usize {
        let has_begun = |page: &Transfer| match page.starts.cmp(&now) {
            Ordering::Less => true,
            Ordering::Equal => page.turn.asks < now && rounds > 0 || page.turn.asks == now && page.turn.round < rounds,
            Ordering::Greater => false,
        };
        self.booked.iter().rposition(has_begun).map_or(0, |last| last + 1)
    }

    /// Booked units that have not begun to move, and until when the last page moves that has.
    pub(super) fn to_move(&self, now: u64, rounds: u32) -> (u64, u64) {
        let begun = self.begun(now, rounds);
        let busy_until = begun.checked_sub(1).map_or(0, |last| self.booked[last].moved_at(self.transfer_ns));
        (self.booked[begun..].iter().map(|page| u64::from(page.units)).sum(), busy_until)
    }

    /// The page of an entry, if it waited for the bus or will from a moment on.
    #[inline]
    fn that_waits(&self, entry: u32, since: u64) -> Option<usize> {
        let place = self.booked.iter().rposition(|page| page.entry == entry)?;
        (self.booked[place].starts > since).then_some(place)
    }

    /// Tells what the page of an entry waits for on the bus from a moment on, and how long, when
    /// that is known for good: from when it asks, or from when it waits for a register out of which
    /// others ask. While nobody is known to move, it waits for no cause: a page that is sensed
    /// before that of the other plane asks when both are.
    #[inline]
    pub(super) fn waited(&self, entry: u32, since: u64, mut behind: impl FnMut(Option<Cause>, u64)) {
        let Some(place) = self.that_waits(entry, since) else { return };
        let mut starts = self.booked[place].starts;
        for before in self.booked[..place].iter().rev() {
            if starts <= since {
                return;
            }
            let free = before.moved_at(self.transfer_ns).max(since);
            if free < starts {
                behind(None, starts - free);
                starts = free;
            }
            let from = before.starts.max(since);
            behind(Some(before.cause), starts - from);
            starts = from;
        }
        if starts > since {
            behind(None, starts - since);
        }
    }

    /// When the page of an entry moves, if that is not long ago.
    pub(super) fn moves_at(&self, entry: u32) -> Option<u64> {
        self.booked.iter().rfind(|page| page.entry == entry).map(|page| page.starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(entry: u32, asks: u64) -> Transfer {
        let turn = Turn { asks, round: 0, issue: u64::from(entry) };
        Transfer { turn, units: 1, starts: 0, then_ns: 0, entry, die: entry, cause: Cause::Host }
    }

    /// Begins of all, as from a list sorted by turn.
    fn sorted(pages: &[Transfer], transfer_ns: u64) -> Vec<(u32, u64)> {
        let mut pages = pages.to_vec();
        pages.sort_by_key(|page| page.turn);
        let mut free = 0;
        let begin = |page: &Transfer| {
            let starts = page.turn.asks.max(free);
            free = starts + u64::from(page.units) * transfer_ns;
            (page.entry, starts)
        };
        pages.iter().map(begin).collect()
    }

    #[test]
    fn pages_move_in_the_order_in_which_they_ask_whenever_they_are_booked() {
        let mut random = 5_u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..200 {
            let (mut bus, mut pages, mut begins) = (Bus::new(3, 4), Vec::new(), Vec::new());
            let mut now = 0;
            for entry in 0..200 {
                now += draw(9);
                // As dies do it: programs ask at once, reads later, by their type of page.
                let page = page(entry, now + [0, 0, 25, 40][draw(4) as usize]);
                // One in eight moves two units: more would come faster than they move.
                let page = Transfer { units: 1 + u32::from(draw(8) == 0), ..page };
                begins.push((entry, 0));
                let starts = bus.book(page, now, |late, _| begins[late.entry as usize].1 = late.starts);
                begins[entry as usize].1 = starts;
                pages.push(page);
            }
            let mut expected = sorted(&pages, 3);
            expected.sort_unstable();
            assert_eq!(begins, expected);
            assert!(bus.booked.len() <= 2 * 4 + FORGOTTEN + 1, "what has moved is forgotten");
        }
    }

    #[test]
    fn what_has_begun_is_told_by_moment_and_round() {
        let mut bus = Bus::new(10, 4);
        for (entry, asks) in [(0, 0), (1, 3), (2, 10), (3, 30)] {
            bus.book(page(entry, asks), 0, |_, _| {});
        }
        // They begin at 0, 10, 20 and 30.
        let told = [(5, 1), (10, 0), (10, 1), (25, 1), (29, 1), (30, 0), (30, 1)];
        let expected = [(3, 10), (3, 10), (2, 20), (1, 30), (1, 30), (1, 30), (0, 40)];
        assert_eq!(told.map(|(now, rounds)| bus.to_move(now, rounds)), expected);
    }

    #[test]
    fn a_page_waits_behind_those_that_move_after_it_has_asked() {
        let mut bus = Bus::new(10, 4);
        for (entry, asks, cause) in [(0, 0, Cause::Collection), (1, 1, Cause::Mapping), (2, 4, Cause::Host)] {
            bus.book(Transfer { cause, ..page(entry, asks) }, 0, |_, _| {});
        }
        let mut behind = Vec::new();
        bus.waited(2, 4, |cause, ns| behind.push((cause, ns)));
        assert_eq!(behind, [(Some(Cause::Mapping), 10), (Some(Cause::Collection), 6)]);
        behind.clear();
        bus.waited(2, 1, |cause, ns| behind.push((cause, ns)));
        let expected = [(Some(Cause::Mapping), 10), (Some(Cause::Collection), 9)];
        assert_eq!(behind, expected, "it waited for a register before");
        assert_eq!((bus.moves_at(2), bus.moves_at(3)), (Some(20), None));
    }

    #[test]
    fn a_page_that_asks_late_waits_for_nobody_while_none_moves() {
        let mut bus = Bus::new(10, 4);
        bus.book(page(0, 70), 0, |_, _| {});
        let mut behind = Vec::new();
        bus.waited(0, 50, |cause, ns| behind.push((cause, ns)));
        assert_eq!(behind, [(None, 20)], "it is the first");
        bus.book(page(1, 100), 0, |_, _| {});
        behind.clear();
        bus.waited(1, 75, |cause, ns| behind.push((cause, ns)));
        assert_eq!(behind, [(None, 20), (Some(Cause::Host), 5)], "the first moved until 80");
    }
}
