//! Which collections may be under way at the same time, on a device that limits their channels.
//!
//! They get their turn in the order in which they were issued, so that none waits for a later one:
//! a program waits for the erase of its block, which an earlier collection does.

use std::collections::VecDeque;

use ftl::{Task, Work};

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

/// All such work that has not ended, in the order of issue.
pub(super) struct Collections {
    /// How many channels may have some.
    most: u32,
    list: VecDeque<Collection>,
    /// Background work of which more may be issued, and whether it counts here.
    open: Vec<(u32, bool)>,
}

impl Collections {
    pub(super) fn new(most: u32) -> Self {
        Self { most, list: VecDeque::new(), open: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.open.clear();
    }

    /// An operation of background work is issued; whether it waits for the turn of a collection.
    pub(super) fn issued(&mut self, task: &Task, channel: u32, number: u32) -> bool {
        let chain = task.chain;
        if self.open.iter().all(|&(open, _)| open != chain) {
            let outer = self.open.iter().rev().find(|&&(_, counts)| counts).map(|&(outer, _)| outer);
            let moves_data = task.cause.work() == Work::Moving;
            self.open.push((chain, outer.is_some() || moves_data));
            match outer {
                Some(outer) => self.find(outer).into_iter().for_each(|collection| collection.chains.push(chain)),
                None if moves_data => self.list.push_back(Collection {
                    chains: vec![chain],
                    channel,
                    waiting: Vec::new(),
                    has_begun: false,
                    under_way: 0,
                    is_all_issued: false,
                }),
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

    /// All operations of background work have been issued.
    pub(super) fn all_issued(&mut self, chain: u32) {
        self.open.retain(|&(open, _)| open != chain);
        if let Some(collection) = self.find(chain)
            && collection.chains[0] == chain
        {
            collection.is_all_issued = true;
        }
        self.drop_ended();
    }

    /// An operation of background work has ended.
    pub(super) fn operation_ended(&mut self, chain: u32) {
        if let Some(collection) = self.find(chain) {
            collection.under_way -= 1;
        }
        self.drop_ended();
    }

    /// The operations that wait for the turn of the next collection, if one may begin.
    pub(super) fn next_to_begin(&mut self) -> Option<Vec<u32>> {
        let place = self.list.iter().position(|collection| !collection.has_begun)?;
        let own = self.list[place].channel;
        let mut others: Vec<u32> =
            self.list.iter().filter(|other| other.has_begun).map(|other| other.channel).collect();
        others.sort_unstable();
        others.dedup();
        let others = others.into_iter().filter(|&channel| channel != own).count();
        if others >= self.most as usize {
            return None;
        }
        let next = &mut self.list[place];
        next.has_begun = true;
        Some(std::mem::take(&mut next.waiting))
    }

    fn find(&mut self, chain: u32) -> Option<&mut Collection> {
        self.list.iter_mut().rev().find(|collection| collection.chains.contains(&chain))
    }

    fn drop_ended(&mut self) {
        self.list.retain(|collection| !collection.is_all_issued || collection.under_way > 0);
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
            assert_eq!(collections.list.len(), left);
        }
    }
}
