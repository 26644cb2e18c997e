//! Which collections may be under way at the same time, on a device that limits their channels.
//!
//! They get their turn in the order in which they were issued, so that none waits for a later one:
//! a program waits for the erase of its block, which an earlier collection does.

use std::collections::VecDeque;

use ftl::{Task, WorkKind};
use random::NumberMap;

/// Background work that moves data to make room, and what is started within it.
struct Collection {
    chains: Vec<u32>,
    channel: u32,
    /// Operations that wait for its turn.
    waiting: Vec<u32>,
    has_begun: bool,
    under_way: u32,
    is_all_issued: bool,
}

/// All such work that has not ended.
pub(super) struct Collections {
    /// How many channels may have some.
    most: u32,
    /// By its chain.
    each: NumberMap<u32, Collection>,
    /// The chain of the work that a chain belongs to.
    of_chain: NumberMap<u32, u32>,
    /// Chains of those that have not begun, in the order of issue.
    to_begin: VecDeque<u32>,
    /// By channel, how many have begun; and the channels where some have.
    begun: Vec<u32>,
    channels: u32,
    /// Background work of which more may be issued, and whether it counts here.
    open: Vec<(u32, bool)>,
}

impl Collections {
    pub(super) fn new(most: u32) -> Self {
        Self {
            most,
            each: NumberMap::default(),
            of_chain: NumberMap::default(),
            to_begin: VecDeque::new(),
            begun: Vec::new(),
            channels: 0,
            open: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.most);
    }

    /// An operation of background work is issued; whether it waits for the turn of a collection.
    pub(super) fn issued(&mut self, task: &Task, channel: u32, number: u32) -> bool {
        let chain = task.chain;
        if self.open.iter().all(|&(open, _)| open != chain) {
            let outer = self.open.iter().rev().find(|&&(_, counts)| counts).map(|&(outer, _)| outer);
            let moves_data = task.cause.work() == WorkKind::Moving;
            self.open.push((chain, outer.is_some() || moves_data));
            match outer {
                Some(outer) => self.add_chain(outer, chain),
                None if moves_data => self.add(chain, channel),
                None => {}
            }
        }
        let Some(collection) = self.find(chain) else { return false };
        collection.under_way += 1;
        if !collection.has_begun {
            collection.waiting.push(number);
        }
        !collection.has_begun
    }

    /// A collection is issued.
    fn add(&mut self, chain: u32, channel: u32) {
        let (chains, waiting) = (vec![chain], Vec::new());
        let collection = Collection { chains, channel, waiting, has_begun: false, under_way: 0, is_all_issued: false };
        self.each.insert(chain, collection);
        self.of_chain.insert(chain, chain);
        self.to_begin.push_back(chain);
        let channels = self.begun.len().max(channel as usize + 1);
        self.begun.resize(channels, 0);
    }

    /// Background work is started within other work, and goes with it.
    fn add_chain(&mut self, outer: u32, chain: u32) {
        if let Some(&own) = self.of_chain.get(&outer)
            && let Some(collection) = self.each.get_mut(&own)
        {
            collection.chains.push(chain);
            self.of_chain.insert(chain, own);
        }
    }

    /// All operations of background work have been issued.
    pub(super) fn all_issued(&mut self, chain: u32) {
        self.open.retain(|&(open, _)| open != chain);
        if let Some(collection) = self.each.get_mut(&chain) {
            collection.is_all_issued = true;
            self.drop_if_ended(chain);
        }
    }

    /// An operation of background work has ended.
    pub(super) fn operation_ended(&mut self, chain: u32) {
        if let Some(collection) = self.find(chain) {
            collection.under_way -= 1;
            let own = collection.chains[0];
            self.drop_if_ended(own);
        }
    }

    /// The operations that wait for the turn of the next collection, if one may begin.
    pub(super) fn next_to_begin(&mut self) -> Option<Vec<u32>> {
        let next = self.each.get_mut(self.to_begin.front()?)?;
        let begun = &mut self.begun[next.channel as usize];
        let others = self.channels - u32::from(*begun > 0);
        if others >= self.most {
            return None;
        }
        self.to_begin.pop_front();
        self.channels = others + 1;
        *begun += 1;
        next.has_begun = true;
        Some(std::mem::take(&mut next.waiting))
    }

    fn find(&mut self, chain: u32) -> Option<&mut Collection> {
        self.each.get_mut(self.of_chain.get(&chain)?)
    }

    fn drop_if_ended(&mut self, chain: u32) {
        let has_ended = |collection: &Collection| collection.is_all_issued && collection.under_way == 0;
        if !self.each.get(&chain).is_some_and(has_ended) {
            return;
        }
        let Some(Collection { chains, channel, has_begun, .. }) = self.each.remove(&chain) else { return };
        for chain in chains {
            self.of_chain.remove(&chain);
        }
        if has_begun {
            let begun = &mut self.begun[channel as usize];
            *begun -= 1;
            self.channels -= u32::from(*begun == 0);
        } else {
            self.to_begin.retain(|&waiting| waiting != chain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flash::Pbn;
    use ftl::{Cause, FlashOp};

    fn task(chain: u32, cause: Cause) -> Task {
        Task { chain, ..Task::new(FlashOp::Read, cause, Pbn::new(0), 0) }
    }

    #[test]
    fn a_collection_begins_when_few_enough_other_channels_collect() {
        let mut collections = Collections::new(1);
        for (chain, channel) in [(1, 0), (2, 1), (3, 0)] {
            assert!(collections.issued(&task(chain, Cause::Collection), channel, 10 * chain));
            collections.all_issued(chain);
        }
        assert_eq!((collections.next_to_begin(), collections.next_to_begin()), (Some(vec![10]), None));
        collections.operation_ended(1);
        assert_eq!((collections.next_to_begin(), collections.next_to_begin()), (Some(vec![20]), None), "in order");
        collections.operation_ended(2);
        assert_eq!(collections.next_to_begin(), Some(vec![30]));
    }

    #[test]
    fn work_within_a_collection_goes_with_it_and_work_that_makes_no_room_needs_no_turn() {
        let mut collections = Collections::new(1);
        assert!(!collections.issued(&task(1, Cause::Mapping), 0, 1), "no collection");
        assert!(collections.issued(&task(2, Cause::Merge), 0, 2));
        assert!(collections.issued(&task(3, Cause::Collection), 1, 3), "within the merge");
        collections.all_issued(3);
        assert_eq!((collections.next_to_begin(), collections.next_to_begin()), (Some(vec![2, 3]), None));
        assert!(!collections.issued(&task(2, Cause::Merge), 0, 4), "it has begun");
        collections.all_issued(2);
        for (chain, left) in [(2, 1), (2, 1), (3, 0)] {
            collections.operation_ended(chain);
            assert_eq!(collections.each.len(), left);
        }
    }
}
