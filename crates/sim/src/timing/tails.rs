//! Operations that follow one another, beside each other in memory.
//!
//! A collection or a merge issues hundreds of operations at once, and many collections may be under
//! way. What waits in their tails is too much for the processor's first caches, so an operation
//! takes as few bytes as it can: what few of them have stands elsewhere ([`Rare`]). A tail is a
//! list of short stretches of one long array, and a stretch that becomes free is the next that is
//! handed out, so the array is as long as what waits, and its memory is near.

use flash::Pbn;
use ftl::Cause;

use crate::timing::priced_task::{CourseId, PricedTask};

/// Stands where a number could, and means that there is none.
pub(super) const NONE: u32 = u32::MAX;

/// Operations of a stretch: half a kilobyte. A power of two.
const STRETCH: u32 = 32;

/// Dies that an operation in a tail can name.
pub(super) const MOST_DIES: u32 = u16::MAX as u32;

/// An operation that follows the one before it.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    pub(super) pbn: Pbn,
    /// The low half of its place in the order of issue.
    issue: u32,
    /// Where the rest stands that few have; [`NONE`] for nowhere.
    rare: u32,
    die: u16,
    pub(super) cause: Cause,
    pub(super) course: CourseId,
}

/// What few operations of a tail have.
#[derive(Clone, Copy)]
pub(super) struct Rare {
    pub(super) first_follower: u32,
    /// Whom to tell when it ends.
    pub(super) ticket: u32,
    /// What was done to its block before it, if that was under way when it was issued.
    pub(super) before: Event,
    /// The program or the erase of its block that becomes ready no sooner than it; [`NONE`] for
    /// none.
    pub(super) next_in_block: u32,
}

impl Rare {
    pub(super) const NONE: Self = Self { first_follower: NONE, ticket: NONE, before: Event::NONE, next_in_block: NONE };
}

/// An operation by its entry and by which of the entry's operations it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) number: u32,
    pub(super) generation: u32,
}

impl Event {
    pub(super) const NONE: Self = Self { number: NONE, generation: 0 };
}

impl Pending {
    /// An operation by its place in the order of issue, on one of the first [`MOST_DIES`] dies.
    #[inline]
    pub(super) fn new(task: &PricedTask, issue: u64) -> Self {
        let &PricedTask { pbn, die, cause, course, .. } = task;
        debug_assert!(die < MOST_DIES, "die {die} is named by an operation in a tail");
        Self { pbn, issue: issue as u32, rare: NONE, die: die as u16, cause, course }
    }

    #[inline]
    pub(super) fn die(&self) -> u32 {
        u32::from(self.die)
    }

    /// Whether it has what few have.
    #[inline]
    pub(super) fn is_rare(&self) -> bool {
        self.rare != NONE
    }

    /// Its place in the order of issue, by that of one that was issued before it and is under way.
    #[inline]
    pub(super) fn issue_after(&self, before: u64) -> u64 {
        before + u64::from(self.issue.wrapping_sub(before as u32))
    }
}

/// One tail: where its operations begin and end in the long array, and how many there are.
#[derive(Clone, Copy)]
struct Tail {
    /// The place of the first.
    first: u32,
    /// The place behind the last; a new stretch is needed there if it is the end of one.
    end: u32,
    len: u32,
}

impl Tail {
    const EMPTY: Self = Self { first: 0, end: 0, len: 0 };
}

/// All tails, by number.
#[derive(Default)]
pub(super) struct Tails {
    each: Vec<Tail>,
    unused: Vec<u32>,
    /// Stretch after stretch.
    operations: Vec<Pending>,
    /// Which stretch is behind which: in its tail, or among the free ones.
    next: Vec<u32>,
    free: Option<u32>,
    rare: Vec<Rare>,
    free_rare: Vec<u32>,
}

impl Tails {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// A new tail.
    #[inline]
    pub(super) fn begin(&mut self) -> u32 {
        let number = self.unused.pop().unwrap_or(self.each.len() as u32);
        match self.each.get_mut(number as usize) {
            Some(tail) => *tail = Tail::EMPTY,
            None => self.each.push(Tail::EMPTY),
        }
        number
    }

    /// How many operations wait in a tail; none in one that is [`NONE`].
    #[inline]
    pub(super) fn len(&self, number: u32) -> u32 {
        self.each.get(number as usize).map_or(0, |tail| tail.len)
    }

    /// Adds an operation at a place, if that is the end; whether it is.
    #[expect(clippy::inline_always, reason = "one more call for every flash operation")]
    #[inline(always)]
    pub(super) fn push(&mut self, number: u32, place: u32, pending: Pending) -> bool {
        let mut tail = &mut self.each[number as usize];
        if tail.len != place {
            return false;
        }
        if tail.end.is_multiple_of(STRETCH) {
            self.add_stretch(number);
            tail = &mut self.each[number as usize];
        }
        self.operations[tail.end as usize] = pending;
        tail.end += 1;
        tail.len += 1;
        true
    }

    #[inline(never)]
    fn add_stretch(&mut self, number: u32) {
        let stretch = self.free.unwrap_or(self.next.len() as u32);
        if let Some(&behind) = self.next.get(stretch as usize) {
            self.free = (behind != NONE).then_some(behind);
        } else {
            self.next.push(NONE);
            let blank = Pending::new(&PricedTask::at_station(0), 0);
            self.operations.resize(self.next.len() * STRETCH as usize, blank);
        }
        self.next[stretch as usize] = NONE;
        let tail = &mut self.each[number as usize];
        if tail.len == 0 {
            tail.first = stretch * STRETCH;
        } else {
            self.next[(tail.end / STRETCH - 1) as usize] = stretch;
        }
        tail.end = stretch * STRETCH;
    }

    /// The operation that was added last waits for what is done to its block before it.
    #[inline(never)]
    pub(super) fn wait_in_block(&mut self, number: u32, before: Event) {
        let place = self.len(number) - 1;
        self.rare_mut(number, place).before = before;
    }

    /// Takes the first operation out; a tail that is empty then is no more. Tells whether it is.
    #[expect(clippy::inline_always, reason = "one more call for every flash operation")]
    #[inline(always)]
    pub(super) fn take(&mut self, number: u32) -> (Pending, bool) {
        let tail = &mut self.each[number as usize];
        let pending = self.operations[tail.first as usize];
        tail.first += 1;
        tail.len -= 1;
        let is_over = tail.len == 0;
        if is_over || tail.first.is_multiple_of(STRETCH) {
            self.free_stretch(number, is_over);
        }
        (pending, is_over)
    }

    #[inline(never)]
    fn free_stretch(&mut self, number: u32, is_over: bool) {
        let tail = &mut self.each[number as usize];
        let stretch = (tail.first - 1) / STRETCH;
        let behind = std::mem::replace(&mut self.next[stretch as usize], self.free.unwrap_or(NONE));
        self.free = Some(stretch);
        if is_over {
            self.unused.push(number);
        } else {
            tail.first = behind * STRETCH;
        }
    }

    /// What few have, of an operation that was taken out and has it.
    pub(super) fn take_rare(&mut self, pending: &Pending) -> Rare {
        self.free_rare.push(pending.rare);
        self.rare[pending.rare as usize]
    }

    /// Asks for the first operation.
    #[inline]
    pub(super) fn prefetch_first(&self, number: u32) {
        if let Some(tail) = self.each.get(number as usize) {
            flash::prefetch(&self.operations, tail.first as usize);
        }
    }

    /// What few have, of the operation at a place, counted from 0.
    pub(super) fn rare_mut(&mut self, number: u32, place: u32) -> &mut Rare {
        let Self { each, operations, next, rare, free_rare, .. } = self;
        let tail = &each[number as usize];
        let (first, taken) = (tail.first / STRETCH, tail.first % STRETCH);
        let place = taken + place;
        let stretch = if place / STRETCH == (taken + tail.len - 1) / STRETCH {
            (tail.end - 1) / STRETCH
        } else {
            (0..place / STRETCH).fold(first, |stretch, _| next[stretch as usize])
        };
        let pending = &mut operations[(stretch * STRETCH + place % STRETCH) as usize];
        if pending.rare == NONE {
            pending.rare = free_rare.pop().unwrap_or(rare.len() as u32);
            match rare.get_mut(pending.rare as usize) {
                Some(place) => *place = Rare::NONE,
                None => rare.push(Rare::NONE),
            }
        }
        &mut rare[pending.rare as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use ftl::{FlashOp, Task};

    use super::*;
    use crate::timing::priced_task::Price;

    fn pending(issue: u64) -> Pending {
        let (op, pbn) = (FlashOp::ALL[issue as usize % 3], Pbn::new(issue as u32 / 2));
        let task = Task::new(op, Cause::Collection, pbn, issue as u32 % 9);
        Pending::new(&PricedTask::new(&task, Price(issue as u8 % 4)), issue)
    }

    #[test]
    fn an_operation_takes_sixteen_bytes_and_says_what_was_said() {
        assert_eq!(size_of::<Pending>(), 16);
        let first = u64::from(u32::MAX) - 3;
        for issue in first..first + 9 {
            let pending = pending(issue);
            let said = (pending.course.op(), pending.course.price(), pending.die(), pending.pbn.get());
            let op = FlashOp::ALL[issue as usize % 3];
            assert_eq!(said, (op, Price(issue as u8 % 4), issue as u32 % 9, issue as u32 / 2));
            assert_eq!(pending.issue_after(first), issue);
        }
    }

    #[test]
    fn tails_are_taken_in_order_as_from_lists() {
        let mut random = 3_u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let (mut tails, mut lists) = (Tails::default(), Vec::<(u32, VecDeque<(u64, u32)>)>::new());
        let mut most = 0;
        for issue in 0..20_000 {
            let ours = draw(9) as usize;
            if ours >= lists.len() {
                lists.push((tails.begin(), VecDeque::new()));
            }
            let place = ours.min(lists.len() - 1);
            let (number, list) = &mut lists[place];
            // Now they grow, and now they shrink.
            if list.is_empty() || draw(100) < if issue / 1000 % 2 == 0 { 70 } else { 30 } {
                assert!(tails.push(*number, list.len() as u32, pending(issue)));
                list.push_back((issue, NONE));
            } else if draw(4) == 0 {
                let asked = draw(list.len() as u64) as usize;
                list[asked].1 = issue as u32;
                tails.rare_mut(*number, asked as u32).ticket = issue as u32;
            } else {
                let (pending, is_over) = tails.take(*number);
                let rare = if pending.is_rare() { tails.take_rare(&pending) } else { Rare::NONE };
                let expected = list.pop_front().expect("it is not empty");
                assert_eq!((pending.issue_after(0), rare.ticket), expected);
                assert_eq!(is_over, list.is_empty());
                if is_over {
                    lists.swap_remove(place);
                }
            }
            assert!(lists.iter().all(|(number, list)| tails.len(*number) as usize == list.len()));
            most = most.max(lists.iter().map(|(_, list)| list.len() / STRETCH as usize + 2).sum());
        }
        assert!(tails.next.len() <= most, "stretches are used again: {} for {most}", tails.next.len());
    }
}
