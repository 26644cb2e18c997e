//! Two lists of items, the oldest first, with a word for each item.
//!
//! A linked list takes three words an item, and to move an item touches the lines of four. Here an
//! item's word says in which list it is, and when it came to its end: the stamp of each move is
//! higher than all before. Who is first is asked less often than items move, and one answer serves
//! many: a pass over all items finds the first thousands of a list, which are queued. Those that
//! have moved since are passed over; items moved later come after them all.
//!
//! A pass looks at every item in groups, and not into groups of which none is in a list, so it
//! takes about as long as it takes to read the words of those that are.

use flash::long_array;

use crate::prefetch::prefetch;

/// Items that are counted together.
const GROUP: usize = 64;

/// Words that are compared at once.
const AT_ONCE: usize = 8;

/// The fewest items that a pass queues if there are more: on a small device one pass is then shared
/// by all that leave for a long time, and the queues still fit into a processor's caches.
const FEWEST: usize = 1 << 16;

/// For how many items a pass queues one: with fewer, queues take more memory beside the words; with
/// more, passes take more of a run (7 % of one of dftl with 48).
const SHARE: usize = 48;

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
    /// Items that a pass queues at least, if there are this many.
    batch: usize,
}

impl StampedLists {
    /// The highest stamp.
    const LAST: u32 = u32::MAX / 2;

    /// The most items that may be in lists: as many moves later, stamps are given anew.
    pub const MOST: u32 = 1 << 30;

    /// Two empty lists for items `0..items`.
    pub fn new(items: usize) -> Self {
        Self {
            words: long_array(0, items.next_multiple_of(GROUP)),
            groups: vec![0; items.div_ceil(GROUP)],
            lengths: [0; 2],
            last: 0,
            queues: Default::default(),
            batch: (items / SHARE).max(FEWEST),
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
                if let Some(&soon) = queue.items.len().checked_sub(AHEAD).and_then(|at| queue.items.get(at)) {
                    prefetch(&self.words, soon as usize);
                }
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

    /// Finds the first items of a list, in order.
    #[inline(never)]
    fn fill_queue(&mut self, list: usize) {
        // First, so that there is never more memory than what is found takes.
        self.queues[list].items = Vec::new();
        let most = self.batch + self.batch / 2 + 1;
        let mut found: Vec<u64> = Vec::with_capacity((most + AT_ONCE).min(self.lengths[list]));
        let mut limit = u32::MAX;
        for (group, _) in self.groups.iter().enumerate().filter(|&(_, &members)| members > 0) {
            let firsts = (group * GROUP..).step_by(AT_ONCE);
            for (first, words) in firsts.zip(self.words[group * GROUP..][..GROUP].chunks_exact(AT_ONCE)) {
                // A word of 0 becomes the highest of all.
                let is_early = |word: u32| word.wrapping_sub(1) < limit;
                if !words.iter().fold(false, |any, &word| any | is_early(word)) {
                    continue;
                }
                let early = (first as u64..).zip(words).filter(|&(_, &word)| is_early(word));
                found.extend(
                    early.filter(|&(_, word)| word & 1 == list as u32).map(|(item, &word)| stamped(word, item)),
                );
                if found.len() >= most {
                    let (_, &mut last, _) = found.select_nth_unstable(self.batch - 1);
                    found.truncate(self.batch);
                    limit = word_of(last);
                }
            }
        }
        sort(&mut found);
        self.queues[list] = Queue {
            limit: found.last().map_or(0, |&last| word_of(last)),
            items: found.iter().rev().map(|&both| both as u32).collect(),
        };
    }

    /// Gives all items new stamps from 1 on, in the same order.
    #[cold]
    #[inline(never)]
    fn stamp_anew(&mut self) {
        let here = (0_u64..).zip(&self.words).filter(|&(_, &word)| word != 0);
        let mut order: Vec<u64> = here.map(|(item, &word)| stamped(word, item)).collect();
        order.sort_unstable();
        for (stamp, both) in (1..).zip(&order) {
            let word = &mut self.words[*both as u32 as usize];
            *word = 2 * stamp + (*word & 1);
        }
        self.last = order.len() as u32;
        self.queues = Default::default();
    }
}

/// An item with its word, in the order of the words.
#[inline]
fn stamped(word: u32, item: u64) -> u64 {
    u64::from(word) << 32 | item
}

#[inline]
fn word_of(stamped: u64) -> u32 {
    (stamped >> 32) as u32
}

/// Sorts items by their words. Many are sorted digit by digit: their words are neighbours, so two
/// digits do, and to compare them took a tenth of a run of dftl.
fn sort(items: &mut Vec<u64>) {
    const DIGIT_BITS: u32 = 11;
    const DIGITS: usize = 1 << DIGIT_BITS;
    if items.len() < 2 * DIGITS {
        return items.sort_unstable();
    }
    let words = || items.iter().map(|&item| word_of(item));
    let least = words().min().unwrap_or(0);
    let range = words().max().unwrap_or(0) - least;
    let mut sorted = vec![0; items.len()];
    for shift in (0..u32::BITS - range.leading_zeros()).step_by(DIGIT_BITS as usize) {
        let digit = |item: u64| ((word_of(item) - least) >> shift) as usize % DIGITS;
        let mut places = [0_u32; DIGITS];
        for &item in items.iter() {
            places[digit(item)] += 1;
        }
        let mut before = 0;
        for place in &mut places {
            before += std::mem::replace(place, before);
        }
        for &item in items.iter() {
            let place = &mut places[digit(item)];
            sorted[*place as usize] = item;
            *place += 1;
        }
        std::mem::swap(items, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use random::SeededRng;

    use super::*;

    /// Moves items at random, and compares who is first with the obvious lists.
    fn agrees_with_plain_lists(mut lists: StampedLists, items: u32, steps: usize) {
        let (mut plain, mut rng) = ([VecDeque::new(), VecDeque::new()], SeededRng::new(7));
        for step in 0..steps {
            let (item, list) = (rng.below_u32(items), rng.below_u32(2) as usize);
            let before = plain.iter().position(|plain| plain.contains(&item));
            assert_eq!(lists.list_of(item), before, "step {step}");
            for plain in &mut plain {
                plain.retain(|&other| other != item);
            }
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
            agrees_with_plain_lists(StampedLists { batch, ..StampedLists::new(150) }, 150, 6000);
        }
    }

    #[test]
    fn many_items_are_sorted_as_few_are() {
        for (bits, count) in [(32, 9000), (23, 9000), (14, 5000), (30, 50)] {
            let mut rng = SeededRng::new(bits);
            let mut items: Vec<_> = (0..count).map(|item| stamped((rng.bits() >> (64 - bits)) as u32, item)).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|&item| word_of(item));
            sort(&mut items);
            let words = |items: &[u64]| items.iter().map(|&item| word_of(item)).collect::<Vec<_>>();
            assert_eq!(words(&items), words(&expected), "{count} words of {bits} bits");
            items.sort_unstable();
            expected.sort_unstable();
            assert_eq!(items, expected);
        }
    }

    #[test]
    fn the_order_survives_when_stamps_come_to_an_end() {
        for left in [0, 1, 50] {
            let mut lists = StampedLists { batch: 4, ..StampedLists::new(70) };
            lists.last = StampedLists::LAST - left;
            agrees_with_plain_lists(lists, 70, 300);
        }
    }
}
