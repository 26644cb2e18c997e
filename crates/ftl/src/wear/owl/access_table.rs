//! OWL's block access table: how often each of the logical blocks that were written last has been
//! written.
//!
//! Two lists over the same records. In the *main list* they stand in the order of their last write,
//! and the one in front makes room for a new one. In the *ghost list* they stand in the order of
//! their frequencies: after each write a record is pushed towards the end, past those that were
//! written less often. So the place of a record from the head of the ghost list is its rank, and
//! nothing is ever sorted.

use std::collections::BTreeMap;

use flash::Lbn;

use crate::linked_lists::LinkedLists;

/// Bytes of a record: its entry in the hash table, its frequency, its link in the ghost list (Wang
/// 2013 4.4).
const RECORD_BYTES: u64 = 12;

#[derive(Clone, Copy, Debug)]
struct Record {
    lbn: Lbn,
    frequency: u32,
}

/// The block access table.
#[derive(Clone, Debug)]
pub struct AccessTable {
    size: u32,
    /// Where a logical block has its record.
    places: BTreeMap<Lbn, u32>,
    records: Vec<Record>,
    main: LinkedLists,
    ghost: LinkedLists,
}

impl AccessTable {
    /// A table without records that has room for `size` of them, 1 or more.
    pub fn new(size: u32) -> Self {
        let links = || LinkedLists::new(size as usize, 1);
        Self { size, places: BTreeMap::new(), records: Vec::new(), main: links(), ghost: links() }
    }

    /// Bytes of RAM that it takes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.size) * RECORD_BYTES
    }

    /// A logical block is written once.
    pub fn on_write(&mut self, lbn: Lbn) {
        if let Some(&record) = self.places.get(&lbn) {
            let frequency = &mut self.records[record as usize].frequency;
            *frequency = frequency.saturating_add(1);
            self.main.move_back(0, record);
            self.push_forward(record);
            return;
        }
        let record = self.vacant();
        let fresh = Record { lbn, frequency: 1 };
        if record as usize == self.records.len() {
            self.records.push(fresh);
        } else {
            self.records[record as usize] = fresh;
        }
        self.places.insert(lbn, record);
        self.main.push_back(0, record);
        match self.ghost.front(0) {
            Some(head) => self.ghost.insert_before(head, record),
            None => self.ghost.push_back(0, record),
        }
    }

    /// A record that nobody has: the next one, or that of the logical block whose last write is the
    /// longest ago.
    fn vacant(&mut self) -> u32 {
        let oldest = self.main.front(0).filter(|_| self.records.len() as u32 == self.size);
        let Some(record) = oldest else { return self.records.len() as u32 };
        self.main.remove(record);
        self.ghost.remove(record);
        self.places.remove(&self.records[record as usize].lbn);
        record
    }

    /// Moves a record towards the end of the ghost list, past those with a lower frequency.
    fn push_forward(&mut self, record: u32) {
        let frequency = self.records[record as usize].frequency;
        let is_lower = |&other: &u32| self.records[other as usize].frequency < frequency;
        let Some(first) = self.ghost.after(record).filter(is_lower) else { return };
        let mut stop = self.ghost.after(first);
        while let Some(next) = stop.filter(is_lower) {
            stop = self.ghost.after(next);
        }
        self.ghost.remove(record);
        match stop {
            Some(next) => self.ghost.insert_before(next, record),
            None => self.ghost.push_back(0, record),
        }
    }

    /// The rank of a logical block, from 0: the place of its record from the head of the ghost
    /// list. One without a record has the lowest.
    pub fn rank(&self, lbn: Lbn) -> u32 {
        let place = self.places.get(&lbn).and_then(|&record| self.ghost.iter(0).position(|other| other == record));
        place.unwrap_or_default() as u32
    }

    /// Algorithm 1: which of this many free blocks, the youngest first, a logical block is merged
    /// into.
    pub fn place(&self, lbn: Lbn, free: usize) -> usize {
        let colder = u64::from(self.size - self.rank(lbn));
        (colder * free as u64 / u64::from(self.size)) as usize
    }

    /// The records in the order of the ghost list, as logical block and frequency.
    #[cfg(test)]
    pub fn by_frequency(&self) -> Vec<(Lbn, u32)> {
        let record = |record: u32| self.records[record as usize];
        self.ghost.iter(0).map(record).map(|Record { lbn, frequency }| (lbn, frequency)).collect()
    }
}
