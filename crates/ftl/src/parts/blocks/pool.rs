//! Free blocks, die by die, oldest freed first.
//!
//! First in, first out is the order that spreads erases over the free blocks without looking at wear. The pool knows
//! neither what a block was used for nor who may take the last one: reserves are its callers' business.

use std::collections::VecDeque;

use flash::{Geometry, Pbn};

/// Erased blocks that nobody uses.
#[derive(Clone, Debug)]
pub struct FreePool {
    dies: Vec<VecDeque<Pbn>>,
    geometry: Geometry,
    order: Vec<u32>,
    next: usize,
    len: usize,
    /// Dies with good blocks that have no free one.
    emptied: usize,
    has_good: Vec<bool>,
}

impl FreePool {
    /// A pool of these blocks.
    pub fn new(geometry: Geometry, blocks: &[Pbn]) -> Self {
        let mut pool = Self::empty(geometry, blocks);
        for &pbn in blocks {
            pool.put(pbn);
        }
        pool
    }

    /// An empty pool of a device with these good blocks.
    pub fn empty(geometry: Geometry, good_blocks: &[Pbn]) -> Self {
        let mut has_good = vec![false; geometry.dies() as usize];
        for &pbn in good_blocks {
            has_good[geometry.die_of(pbn) as usize] = true;
        }
        let emptied = has_good.iter().filter(|&&has_good| has_good).count();
        let dies = vec![VecDeque::new(); geometry.dies() as usize];
        Self { dies, geometry, order: channels_first(&geometry), next: 0, len: 0, emptied, has_good }
    }

    /// Free blocks of the device.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is free.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Free blocks of one die.
    #[inline]
    pub fn len_on(&self, die: u32) -> usize {
        self.dies[die as usize].len()
    }

    /// Whether a die with good blocks has no free one.
    #[inline]
    pub fn has_emptied_die(&self) -> bool {
        self.emptied > 0
    }

    /// All free blocks, for checks.
    pub fn iter(&self) -> impl Iterator<Item = Pbn> + '_ {
        self.dies.iter().flatten().copied()
    }

    /// Returns an erased block.
    pub fn put(&mut self, pbn: Pbn) {
        let die = self.geometry.die_of(pbn) as usize;
        self.emptied -= usize::from(self.has_good[die] && self.dies[die].is_empty());
        self.dies[die].push_back(pbn);
        self.len += 1;
    }

    /// Takes a block of one die.
    pub fn take_on(&mut self, die: u32) -> Option<Pbn> {
        let pbn = self.dies[die as usize].pop_front()?;
        self.len -= 1;
        self.emptied += usize::from(self.has_good[die as usize] && self.dies[die as usize].is_empty());
        Some(pbn)
    }

    /// Takes a block of the next die in turn that has one, so that blocks taken one after another lie on different channels.
    pub fn take(&mut self) -> Option<Pbn> {
        for _ in 0..self.order.len() {
            let die = self.order[self.next];
            self.next = (self.next + 1) % self.order.len();
            if let Some(pbn) = self.take_on(die) {
                return Some(pbn);
            }
        }
        None
    }
}

/// Dies in an order in which neighbours lie on different channels, where there are several.
pub fn channels_first(geometry: &Geometry) -> Vec<u32> {
    let per_channel = geometry.dies() / geometry.channels();
    (0..per_channel).flat_map(|die| (0..geometry.channels()).map(move |channel| channel * per_channel + die)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flash::Shape;

    #[test]
    fn blocks_come_from_channels_in_turn_and_oldest_first() {
        let geometry = Geometry::new(Shape {
            channels: 2,
            dies_per_channel: 2,
            planes_per_die: 1,
            blocks_per_plane: 2,
            pages_per_block: 4,
            page_size_bytes: 512,
        })
        .expect("valid");
        let blocks: Vec<_> = (0..8).map(Pbn::new).collect();
        let mut pool = FreePool::new(geometry, &blocks);
        let taken: Vec<_> = std::iter::from_fn(|| pool.take()).map(Pbn::get).collect();
        assert_eq!(taken, [0, 4, 2, 6, 1, 5, 3, 7]);
        assert!(pool.is_empty());
        assert!(pool.has_emptied_die());
        pool.put(Pbn::new(3));
        pool.put(Pbn::new(2));
        assert!(pool.has_emptied_die(), "dies 0, 2 and 3 have none");
        assert_eq!((pool.len_on(1), pool.take_on(0), pool.take_on(1)), (2, None, Some(Pbn::new(3))));
    }
}
