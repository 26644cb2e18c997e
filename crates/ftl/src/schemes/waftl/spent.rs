//! Blocks that wait to be erased.

use std::collections::{BTreeSet, VecDeque};

use flash::Pbn;

/// Blocks that were let go with nothing in them, in that order and each once; some may have been collected since.
#[derive(Clone, Debug, Default)]
pub(super) struct EraseQueue {
    queue: VecDeque<Pbn>,
    queued: BTreeSet<Pbn>,
}

impl EraseQueue {
    pub(super) fn add(&mut self, blocks: impl IntoIterator<Item = Pbn>) {
        for pbn in blocks {
            if self.queued.insert(pbn) {
                self.queue.push_back(pbn);
            }
        }
    }

    pub(super) fn next(&self) -> Option<Pbn> {
        self.queue.front().copied()
    }

    pub(super) fn take(&mut self) -> Option<Pbn> {
        let pbn = self.queue.pop_front()?;
        self.queued.remove(&pbn);
        Some(pbn)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Pbn> + '_ {
        self.queue.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block that is erased and spent again while nobody takes it from the queue stands there once, so the queue is no longer than the device.
    #[test]
    fn a_block_is_queued_once_until_it_is_taken() {
        let mut spent = EraseQueue::default();
        let [a, b] = [4, 2].map(Pbn::new);
        spent.add([a, b, a]);
        assert_eq!((spent.next(), spent.iter().collect::<Vec<_>>()), (Some(a), vec![a, b]));
        assert_eq!(spent.take(), Some(a));
        spent.add([a, b]);
        assert_eq!([spent.take(), spent.take(), spent.take()], [Some(b), Some(a), None]);
    }
}
