//! Queues of entries, which are lists through the entries themselves.

use crate::timing::tails::NONE;
use crate::timing::tasks::Tasks;

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

    /// How many there are.
    pub(super) fn count(self, tasks: &Tasks) -> u32 {
        let behind = |&number: &u32| Some(tasks.get(number).next).filter(|&next| next != NONE);
        std::iter::successors(self.first(), behind).count() as u32
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

    /// Asks for the first entry, which is far away where much waits.
    #[inline]
    pub(super) fn prefetch_first(self, tasks: &Tasks) {
        tasks.prefetch(self.first);
    }

    /// As `push`, where entries are taken out of the middle, too: each knows the one before it.
    pub(super) fn push_linked(&mut self, tasks: &mut Tasks, number: u32) {
        tasks.details_mut(number).before = if self.is_empty() { NONE } else { self.last };
        self.push(tasks, number);
    }

    /// Takes an entry out, wherever it stands, where each knows the one before it.
    pub(super) fn take_out(&mut self, tasks: &mut Tasks, number: u32) {
        let (before, next) = (tasks.details(number).before, tasks.get(number).next);
        if before == NONE {
            self.first = next;
        } else {
            tasks.get_mut(before).next = next;
        }
        if next == NONE {
            self.last = before;
        } else {
            tasks.details_mut(next).before = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use flash::Pbn;
    use ftl::{Cause, FlashOp, Task};

    use super::*;
    use crate::timing::priced_task::{Price, PricedTask};
    use crate::timing::tasks::Kind;

    #[test]
    fn whoever_is_taken_out_leaves_the_others_in_their_order() {
        let mut tasks = Tasks::new();
        let task = Task::new(FlashOp::Read, Cause::Host, Pbn::new(0), 0);
        let numbers: Vec<u32> =
            (0..6).map(|_| tasks.issue(PricedTask::new(&task, Price(0)), Kind::Operation)).collect();
        for taken in [vec![0], vec![5], vec![2, 3], vec![5, 4], vec![0, 1, 5], vec![3, 0, 5, 1, 4, 2]] {
            let mut fifo = Fifo::EMPTY;
            for &number in &numbers {
                fifo.push_linked(&mut tasks, number);
            }
            for &number in &taken {
                fifo.take_out(&mut tasks, number);
            }
            // It is used as before, wherever somebody was taken out.
            fifo.push_linked(&mut tasks, taken[0]);
            let left = numbers.iter().copied().filter(|number| !taken.contains(number));
            let expected: Vec<u32> = left.chain([taken[0]]).collect();
            let pop = || {
                let number = fifo.first()?;
                fifo.take_out(&mut tasks, number);
                Some(number)
            };
            assert_eq!(std::iter::from_fn(pop).collect::<Vec<_>>(), expected, "without {taken:?}");
        }
    }
}
