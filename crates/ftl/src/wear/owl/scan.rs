//! OWL's scan and transfer: finds data that merges leave alone for long, either cold or very hot.
//!
//! The valid block pool has all logical blocks with a data block, in the order in which they got
//! it. What a scan finds stands in front of all others until it is moved, or its turn comes when it
//! is not young and cold any more; then it goes to the end, as what gets another data block does.
//!
//! ```text
//!   found by scans ┆ the others, the one that has its block the longest first
//!     0   2        ┆   1    3    4    5   …
//!     └ next move      └ pt: the first that has pages in the log
//! ```

use flash::Lbn;

use crate::api::wear::BlockFacts;
use crate::linked_lists::LinkedLists;

const FOUND: u32 = 0;
const REST: u32 = 1;

/// Where a scan begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanStart {
    /// Where the last one ended; behind the end of the pool, at its head.
    Onward,
    /// At the head of the pool.
    Head,
}

/// The valid block pool and its scans.
#[derive(Clone, Debug)]
pub struct Scan {
    pool: LinkedLists,
    begin: ScanStart,
    /// What the next scan begins with; none for the head of the pool.
    hand: Option<u32>,
    /// Logical blocks in the pool.
    len: u32,
    /// δ: the share of the pool that a scan looks at.
    share: f64,
    /// Γ: rounds after which what `pt` points at is very hot.
    most_rounds: u64,
    pt: Option<Lbn>,
    /// k: rounds since `pt` was set.
    rounds: u64,
}

impl Scan {
    /// An empty pool, for this many logical blocks.
    pub fn new(logical_blocks: u32, begin: ScanStart, share: f64, most_rounds: u64) -> Self {
        let pool = LinkedLists::new(logical_blocks as usize, 2);
        Self { pool, begin, hand: None, len: 0, share, most_rounds, pt: None, rounds: 0 }
    }

    /// A logical block has got a data block.
    pub fn arrived(&mut self, lbn: Lbn) {
        self.remove(lbn);
        self.pool.push_back(REST, lbn.get());
        self.len += 1;
    }

    fn remove(&mut self, lbn: Lbn) {
        if self.pool.chain_of(lbn.get()).is_some() {
            self.loosen(lbn.get());
            self.len -= 1;
        }
        if self.pt == Some(lbn) {
            self.pt = None;
        }
    }

    fn put(&mut self, chain: u32, lbn: Lbn) {
        self.loosen(lbn.get());
        self.pool.push_back(chain, lbn.get());
    }

    /// The hand passes over what leaves its place.
    fn loosen(&mut self, node: u32) {
        if self.hand == Some(node) {
            self.hand = self.pool.after(node);
        }
        self.pool.remove(node);
    }

    /// One round: the logical block whose data is to be moved, if any.
    pub fn round(&mut self, facts: &dyn BlockFacts) -> Option<Lbn> {
        if self.pt.is_none_or(|lbn| facts.home_of(lbn).is_none()) {
            self.pt = self.pool.iter(REST).map(Lbn::new).find(|&lbn| facts.is_in_log(lbn));
            self.rounds = 0;
        }
        self.rounds += 1;
        let total = total_erases(facts);
        if let Some(found) = self.first_found(facts, total) {
            return Some(found);
        }
        self.scan(facts, total);
        if let Some(found) = self.first_found(facts, total) {
            return Some(found);
        }
        if self.rounds > self.most_rounds { self.pt.take() } else { None }
    }

    /// The first of those that scans have found and that still is what they look for.
    fn first_found(&mut self, facts: &dyn BlockFacts, total: u64) -> Option<Lbn> {
        while let Some(first) = self.pool.front(FOUND).map(Lbn::new) {
            match facts.home_of(first) {
                None => self.remove(first),
                Some(_) if !is_cold_and_young(facts, total, first) => self.put(REST, first),
                Some(_) => return Some(first),
            }
        }
        None
    }

    /// Looks at a share of the pool, as far as its end.
    fn scan(&mut self, facts: &dyn BlockFacts, total: u64) {
        if self.begin == ScanStart::Head {
            self.hand = None;
        }
        let looks = (f64::from(self.len) * self.share).ceil() as usize;
        let mut next = self.hand.or_else(|| self.pool.front(REST));
        for _ in 0..looks {
            let Some(lbn) = next.map(Lbn::new) else { break };
            next = self.pool.after(lbn.get());
            if facts.home_of(lbn).is_none() {
                self.remove(lbn);
            } else if is_cold_and_young(facts, total, lbn) {
                self.put(FOUND, lbn);
            }
        }
        self.hand = next;
    }

    /// The pool, those that were found first; and what `pt` points at.
    #[cfg(test)]
    pub fn state(&self) -> (Vec<u32>, Vec<u32>, Option<u32>) {
        (self.pool.iter(FOUND).collect(), self.pool.iter(REST).collect(), self.pt.map(Lbn::get))
    }
}

/// Erases of all blocks that are not bad, and of those that were until they were.
fn total_erases(facts: &dyn BlockFacts) -> u64 {
    (0..facts.blocks()).map(|pbn| u64::from(facts.erases(flash::Pbn::new(pbn)))).sum()
}

/// Whether a logical block has no page in the log, and its data block was erased less than half as
/// often as blocks are on average.
fn is_cold_and_young(facts: &dyn BlockFacts, total: u64, lbn: Lbn) -> bool {
    let is_young = |pbn| 2 * u64::from(facts.erases(pbn)) * u64::from(facts.blocks()) < total;
    facts.home_of(lbn).is_some_and(is_young) && !facts.is_in_log(lbn)
}
