//! Doubly linked lists over numbered nodes: every node is in at most one of several lists.
//!
//! Recency orders, queues of blocks and sets that are walked are all this. The links live in one
//! array indexed by node, so moving a node costs no allocation and touches its neighbours only.

use flash::long_array;

use crate::prefetch::prefetch;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Links {
    previous: u32,
    next: u32,
    chain: u32,
}

const LOOSE: Links = Links { previous: NONE, next: NONE, chain: NONE };

/// Lists `0..chains` over nodes `0..nodes`.
#[derive(Clone, Debug)]
pub struct LinkedLists {
    links: Vec<Links>,
    ends: Vec<(u32, u32)>,
}

impl LinkedLists {
    /// Bytes of memory per node.
    pub const NODE_BYTES: usize = size_of::<Links>();

    /// This many empty lists over this many nodes.
    pub fn new(nodes: usize, chains: usize) -> Self {
        Self { links: long_array(LOOSE, nodes), ends: long_array((NONE, NONE), chains) }
    }

    /// The list that a node is in.
    #[inline]
    pub fn chain_of(&self, node: u32) -> Option<u32> {
        let chain = self.links[node as usize].chain;
        (chain != NONE).then_some(chain)
    }

    /// Asks for the memory of a node's links.
    #[inline]
    pub fn prefetch(&self, node: u32) {
        prefetch(&self.links, node as usize);
    }

    /// Asks for the memory of the ends of a list.
    #[inline]
    pub fn prefetch_ends(&self, chain: u32) {
        prefetch(&self.ends, chain as usize);
    }

    /// Asks for the memory of the neighbours of a node whose own links have arrived.
    #[inline]
    pub fn prefetch_neighbours(&self, node: u32) {
        let Links { previous, next, .. } = self.links[node as usize];
        self.prefetch(previous);
        self.prefetch(next);
    }

    /// The node that follows one in its list.
    #[inline]
    pub fn after(&self, node: u32) -> Option<u32> {
        let next = self.links[node as usize].next;
        (next != NONE).then_some(next)
    }

    /// The first node of a list.
    #[inline]
    pub fn front(&self, chain: u32) -> Option<u32> {
        let front = self.ends[chain as usize].0;
        (front != NONE).then_some(front)
    }

    /// The last node of a list.
    #[inline]
    pub fn back(&self, chain: u32) -> Option<u32> {
        let back = self.ends[chain as usize].1;
        (back != NONE).then_some(back)
    }

    /// The nodes of a list, first to last.
    pub fn iter(&self, chain: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.front(chain), |&node| self.after(node))
    }

    /// Appends a loose node to a list.
    #[inline]
    pub fn push_back(&mut self, chain: u32, node: u32) {
        debug_assert!(self.chain_of(node).is_none(), "node {node} is in a list already");
        self.link_back(chain, node);
    }

    #[inline]
    fn link_back(&mut self, chain: u32, node: u32) {
        let (front, back) = self.ends[chain as usize];
        self.links[node as usize] = Links { previous: back, next: NONE, chain };
        if back == NONE {
            self.ends[chain as usize] = (node, node);
        } else {
            self.links[back as usize].next = node;
            self.ends[chain as usize] = (front, node);
        }
    }

    /// Puts a loose node into a list, before one that is in it.
    pub fn insert_before(&mut self, next: u32, node: u32) {
        debug_assert!(self.chain_of(node).is_none(), "node {node} is in a list already");
        let Links { previous, chain, .. } = self.links[next as usize];
        debug_assert!(chain != NONE, "node {next} is in no list");
        self.links[node as usize] = Links { previous, next, chain };
        self.links[next as usize].previous = node;
        if previous == NONE {
            self.ends[chain as usize].0 = node;
        } else {
            self.links[previous as usize].next = node;
        }
    }

    /// Takes a node out of its list.
    #[inline]
    pub fn remove(&mut self, node: u32) {
        self.unlink(node);
        self.links[node as usize] = LOOSE;
    }

    /// Takes a node out from between its neighbours, and leaves its own links as they were.
    #[inline]
    fn unlink(&mut self, node: u32) {
        let Links { previous, next, chain } = self.links[node as usize];
        debug_assert!(chain != NONE, "node {node} is in no list");
        if previous == NONE {
            self.ends[chain as usize].0 = next;
        } else {
            self.links[previous as usize].next = next;
        }
        if next == NONE {
            self.ends[chain as usize].1 = previous;
        } else {
            self.links[next as usize].previous = previous;
        }
    }

    /// Moves a node to the end of a list.
    #[inline]
    pub fn move_back(&mut self, chain: u32, node: u32) {
        self.unlink(node);
        self.link_back(chain, node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_behave_like_queues_and_nodes_move_between_them() {
        let mut chains = LinkedLists::new(6, 2);
        for node in [3, 1, 4] {
            chains.push_back(0, node);
        }
        chains.push_back(1, 5);
        chains.move_back(1, 1);
        chains.move_back(0, 3);
        assert_eq!(chains.iter(0).collect::<Vec<_>>(), [4, 3]);
        assert_eq!(chains.iter(1).collect::<Vec<_>>(), [5, 1]);
        assert_eq!((chains.chain_of(1), chains.chain_of(0), chains.back(0)), (Some(1), None, Some(3)));
        chains.insert_before(4, 0);
        chains.insert_before(3, 2);
        assert_eq!(chains.iter(0).collect::<Vec<_>>(), [0, 4, 2, 3]);
        assert_eq!((chains.front(0), chains.back(0), chains.chain_of(2)), (Some(0), Some(3), Some(0)));
        for node in [4, 0, 2, 3] {
            chains.remove(node);
        }
        assert_eq!((chains.front(0), chains.back(0)), (None, None));
    }
}
