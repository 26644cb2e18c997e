//! What was programmed and waits to be handed to the operating system.
//!
//! Neighbouring pages are handed over in one call, and so are neighbouring slots. A call for each
//! page and each slot takes twice the time of the copies themselves.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::page_tags::SLOT_BYTES;

/// Slots that wait at most, and so pages: a few requests of ordinary size, or a block that is
/// collected.
const MOST_SLOTS: usize = 512;
/// Bytes of pages that wait at most, however large pages are.
const MOST_BYTES: usize = 4 << 20;

/// What waits to be handed over: data before slots, since a slot says that the data are there.
#[derive(Default)]
pub(super) struct Waiting {
    /// In the order in which they were made.
    slots: Vec<(usize, [u8; SLOT_BYTES])>,
    /// Contents of data areas, by page.
    data: BTreeMap<usize, Bytes>,
    data_bytes: usize,
}

/// Neighbours: the first page, and what follows each other from there on.
pub(super) struct Run<T> {
    pub(super) first: usize,
    pub(super) content: T,
}

impl Waiting {
    /// Adds a page's slot.
    pub(super) fn add_slot(&mut self, page: usize, slot: [u8; SLOT_BYTES]) {
        self.slots.push((page, slot));
    }

    /// Adds the content of a page's data area.
    pub(super) fn add_data(&mut self, page: usize, data: Bytes) {
        self.data_bytes += data.len();
        self.data.insert(page, data);
    }

    /// The newest slot of a page, if one waits.
    pub(super) fn slot(&self, page: usize) -> Option<&[u8; SLOT_BYTES]> {
        self.slots.iter().rev().find(|(waiting, _)| *waiting == page).map(|(_, slot)| slot)
    }

    /// The content of a page's data area, if it waits.
    pub(super) fn data(&self, page: usize) -> Option<&Bytes> {
        self.data.get(&page)
    }

    /// Whether no more should wait.
    pub(super) fn is_full(&self) -> bool {
        self.slots.len() >= MOST_SLOTS || self.data_bytes >= MOST_BYTES
    }

    /// Takes all contents of data areas in runs. A page of `page_bytes` that is not filled ends its
    /// run.
    pub(super) fn take_data(&mut self, page_bytes: usize) -> Vec<Run<Vec<Bytes>>> {
        self.data_bytes = 0;
        let mut runs: Vec<Run<Vec<Bytes>>> = Vec::new();
        for (page, data) in std::mem::take(&mut self.data) {
            match runs.last_mut() {
                Some(Run { first, content })
                    if *first + content.len() == page
                        && content.last().is_some_and(|before| before.len() == page_bytes) =>
                {
                    content.push(data);
                }
                _ => runs.push(Run { first: page, content: vec![data] }),
            }
        }
        runs
    }

    /// Takes all slots in runs. Of two slots of one page the later one counts.
    pub(super) fn take_slots(&mut self) -> Vec<Run<Vec<u8>>> {
        // Sorting keeps the order of those of one page.
        self.slots.sort_by_key(|(page, _)| *page);
        let mut runs: Vec<Run<Vec<u8>>> = Vec::new();
        for (page, slot) in self.slots.drain(..) {
            match runs.last_mut() {
                Some(Run { first, content }) if *first + content.len() / SLOT_BYTES == page => content.extend(slot),
                Some(Run { first, content }) if *first + content.len() / SLOT_BYTES == page + 1 => {
                    content.truncate(content.len() - SLOT_BYTES);
                    content.extend(slot);
                }
                _ => runs.push(Run { first: page, content: slot.to_vec() }),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_runs_and_later_slots_count() {
        let mut waiting = Waiting::default();
        for (page, byte) in [(7, 1), (3, 2), (4, 3), (7, 4), (8, 5), (3, 6)] {
            waiting.add_slot(page, [byte; SLOT_BYTES]);
        }
        assert_eq!(waiting.slot(7).map(|slot| slot[0]), Some(4));
        let runs = waiting.take_slots().into_iter();
        let runs: Vec<_> =
            runs.map(|run| (run.first, run.content.chunks(SLOT_BYTES).map(|slot| slot[0]).collect())).collect();
        assert_eq!(runs, [(3, vec![6, 3]), (7, vec![4, 5])]);
        assert!(waiting.slot(7).is_none());
    }

    #[test]
    fn a_page_that_is_not_filled_ends_its_run() {
        let mut waiting = Waiting::default();
        for (page, length) in [(2, 4), (1, 4), (3, 2), (4, 4), (6, 4)] {
            waiting.add_data(page, vec![page as u8; length].into());
        }
        assert_eq!(waiting.data(3).map(Bytes::len), Some(2));
        let runs: Vec<_> = waiting.take_data(4).iter().map(|run| (run.first, run.content.len())).collect();
        assert_eq!(runs, [(1, 3), (4, 1), (6, 1)]);
        assert!(waiting.data(3).is_none());
    }

    #[test]
    fn many_slots_or_many_bytes_are_enough() {
        let mut waiting = Waiting::default();
        (0..MOST_SLOTS).for_each(|page| {
            assert!(!waiting.is_full());
            waiting.add_slot(page, [0; SLOT_BYTES]);
        });
        assert!(waiting.is_full());
        let mut waiting = Waiting::default();
        waiting.add_data(0, vec![0; MOST_BYTES].into());
        assert!(waiting.is_full());
        waiting.take_data(4096);
        assert!(!waiting.is_full());
    }
}
