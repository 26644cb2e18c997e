//! Two lists of items, the oldest first, with a word for each item.
//!
//! A linked list takes three words an item, and to move an item touches the lines of four. Here an
//! item's word says in which list it is, and when it came to its end: the stamp of each move is
//! higher than all before. Who is first is asked less often than items move, and one answer serves
//! many: a pass over all items finds the first thousands of a list, which are queued. Those that
//! have moved since are passed over; whoever moved later comes after them all.
//!
//! A pass looks at every item in groups, and not into groups of which none is in a list, so it
//! takes about as long as it takes to read the words of those that are.

use flash::long_array;

use crate::prefetch::prefetch;

/// Items that are counted together.
const GROUP: usize = 64;

/// The fewest items that a pass queues if there are more: a pass over the groups of a large map of
/// which few items are in a list is then shared by so many.
const FEWEST: usize = 4096;

/// Of how many items a pass queues one: a queue is a small part of the words, and a pass over all
/// is shared by many.
const SHARE: usize = 32;

/// How far ahead of its turn a queued item is asked for.
const AHEAD: usize = 8;

/// The first items of a list, as far as a pass has found them.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// The first of the list at the end; some have moved since.
    items: Vec<u32>,
    /// The word of the last one. Items that moved since have higher words.
    limit: u32,
}

/// Lists 0 and 1.
#[derive(Clone, Debug)]
pub struct StampedLists {
    /// Twice the stamp of an item, plus its list; 0 if it is in none.
    words: Vec<u32>,
    /// How many of each group are in a list.
    groups: Vec<u8>,
    lengths: [usize; 2],
    /// The stamp given last.
    last: u32,
    queues: [Queue; 2],
    /// Items that a pass queues at least, if there are so many.
    batch: usize,
}

impl StampedLists {
    /// The highest stamp.
    const LAST: u32 = u32::MAX / 2;

    /// The most items that may be in lists: as many moves later, stamps are given anew.
    pub const MOST: u32 = Self::LAST / 2;

    /// Two empty lists for items `0..items`, of which about `capacity` will be in one of them.
    pub fn new(items: usize, capacity: usize) -> Self {
        Self {
            words: long_array(0, items),
            groups: vec![0; items.div_ceil(GROUP)],
            lengths: [0; 2],
            last: 0,
            queues: Default::default(),
            batch: (capacity / SHARE).max(FEWEST),
        }
    }

    /// The list that an item is in.
    #[inline]
    pub fn list_of(&self, item: u32) -> Option<usize> {
        let word = self.words[item as usize];
        (word != 0).then_some((word & 1) as usize)
    }

    /// Items of a list.
    #[inline]
    pub fn length(&self, list: usize) -> usize {
        self.lengths[list]
    }

    /// Asks for the memory of an item.
    #[inline]
    pub fn prefetch(&self, item: u32) {
        prefetch(&self.words, item as usize);
    }

    #[inline]
    fn next_word(&mut self, list: usize) -> u32 {
        if self.last == Self::LAST {
            self.stamp_anew();
        }
        self.last += 1;
        2 * self.last + list as u32
    }

    /// Puts an item that is in no list to the end of one.
    #[inline]
    pub fn push_back(&mut self, list: usize, item: u32) {
        debug_assert!(self.list_of(item).is_none(), "item {item} is in a list already");
        self.words[item as usize] = self.next_word(list);
        self.groups[item as usize / GROUP] += 1;
        self.lengths[list] += 1;
    }

    /// Takes an item out of its list.
    #[inline]
    pub fn remove(&mut self, item: u32) {
        let word = std::mem::take(&mut self.words[item as usize]);
        debug_assert!(word != 0, "item {item} is in no list");
        self.groups[item as usize / GROUP] -= 1;
        self.lengths[(word & 1) as usize] -= 1;
    }

    /// Moves an item that is in a list to the end of one.
    #[inline]
    pub fn move_back(&mut self, list: usize, item: u32) {
        let word = self.next_word(list);
        let before = std::mem::replace(&mut self.words[item as usize], word);
        debug_assert!(before != 0, "item {item} is in no list");
        self.lengths[(before & 1) as usize] -= 1;
        self.lengths[list] += 1;
    }

    /// The first item of a list.
    #[inline]
    pub fn front(&mut self, list: usize) -> Option<u32> {
        loop {
            let queue = &mut self.queues[list];
            while let Some(&item) = queue.items.last() {
                let word = self.words[item as usize];
                if word != 0 && word <= queue.limit && (word & 1) as usize == list {
                    return Some(item);
                }
                queue.items.pop();
            }
            if self.lengths[list] == 0 {
                return None;
            }
            self.fill_queue(list);
        }
    }

    /// The item that is queued behind the first one, which may have moved since.
    #[inline]
    pub fn queued_next(&self, list: usize) -> Option<u32> {
        self.queues[list].items.iter().rev().nth(1).copied()
    }

    /// Asks for the memory of an item that will be first soon.
    #[inline]
    pub fn prefetch_front(&self, list: usize) {
        let items = &self.queues[list].items;
        if let Some(&item) = items.len().checked_sub(AHEAD).and_then(|at| items.get(at)) {
            self.prefetch(item);
        }
    }

    /// Finds the first items of a list, in order.
    #[inline(never)]
    fn fill_queue(&mut self, list: usize) {
        let most = 2 * self.batch;
        let mut found: Vec<u64> = Vec::with_capacity(most.min(self.lengths[list]));
        let mut limit = u32::MAX;
        for (group, _) in self.groups.iter().enumerate().filter(|&(_, &members)| members > 0) {
            let first = group * GROUP;
            let words = &self.words[first..(first + GROUP).min(self.words.len())];
            for (item, &word) in (first as u64..).zip(words) {
                if word != 0 && word <= limit && (word & 1) as usize == list {
                    found.push(u64::from(word) << 32 | item);
                    if found.len() == most {
                        let (_, &mut last, _) = found.select_nth_unstable(self.batch - 1);
                        found.truncate(self.batch);
                        limit = (last >> 32) as u32;
                    }
                }
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        let queue = &mut self.queues[list];
        queue.limit = found.first().map_or(0, |last| (last >> 32) as u32);
        queue.items.clear();
        queue.items.extend(found.iter().map(|&both| both as u32));
    }

    /// Gives all items new stamps from 1 on, in the same order.
    #[cold]
    #[inline(never)]
    fn stamp_anew(&mut self) {
        let here = (0_u64..).zip(&self.words).filter(|&(_, &word)| word != 0);
        let mut order: Vec<u64> = here.map(|(item, &word)| u64::from(word) << 32 | item).collect();
        order.sort_unstable();
        for (stamp, both) in (1..).zip(&order) {
            let word = &mut self.words[*both as u32 as usize];
            *word = 2 * stamp + (*word & 1);
        }
        self.last = order.len() as u32;
        self.queues = Default::default();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use random::SeededRng;

    use super::*;

    /// Moves items at random, and compares who is first with the obvious lists.
    fn agrees_with_plain_lists(mut lists: StampedLists, steps: usize) {
        let items = lists.words.len() as u32;
        let (mut plain, mut rng) = ([VecDeque::new(), VecDeque::new()], SeededRng::new(7));
        for step in 0..steps {
            let (item, list) = (rng.below_u32(items), rng.below_u32(2) as usize);
            let before = plain.iter().position(|plain| plain.contains(&item));
            assert_eq!(lists.list_of(item), before, "step {step}");
            plain.iter_mut().for_each(|plain| plain.retain(|&other| other != item));
            match (before, rng.below_u32(3)) {
                (Some(_), 0) => lists.remove(item),
                (Some(_), _) => lists.move_back(list, item),
                (None, _) => lists.push_back(list, item),
            }
            if lists.list_of(item).is_some() {
                plain[list].push_back(item);
            }
            for list in [0, 1].into_iter().filter(|_| step % 3 == 0) {
                assert_eq!(lists.front(list), plain[list].front().copied(), "list {list}, step {step}");
                assert_eq!(lists.length(list), plain[list].len());
            }
        }
    }

    #[test]
    fn who_is_first_is_found_in_passes_of_every_size() {
        for batch in [1, 2, 7, 1000] {
            agrees_with_plain_lists(StampedLists { batch, ..StampedLists::new(150, 100) }, 6000);
        }
    }

    #[test]
    fn the_order_survives_when_stamps_come_to_an_end() {
        for left in [0, 1, 50] {
            let mut lists = StampedLists { batch: 4, ..StampedLists::new(70, 70) };
            lists.last = StampedLists::LAST - left;
            agrees_with_plain_lists(lists, 300);
        }
    }
}
