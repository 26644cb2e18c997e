//! Groups of neighbouring logical blocks, each with log blocks of its own.
//!
//! A group is named by its first logical block. Its log blocks are known oldest first, and the
//! groups that have any by when they were written last. Groups may be joined with their right
//! neighbour and split.

use std::ops::Range;

use flash::Lbn;

use crate::api::layout::Layout;
use crate::engines::log_buffer::space::Slot;
use crate::linked_lists::LinkedLists;

/// The groups of a device and their log blocks.
#[derive(Clone, Debug)]
pub struct LogGroups {
    group_of: Vec<u32>,
    sizes: Vec<u32>,
    /// For each group, its log blocks, oldest first.
    log_blocks: LinkedLists,
    counts: Vec<u32>,
    /// Groups with log blocks, the least recently written first.
    recency: LinkedLists,
    total: u32,
}

impl LogGroups {
    /// Groups of `size` logical blocks, the last one perhaps of fewer.
    pub fn new(layout: &Layout, size: u32) -> Self {
        let blocks = layout.logical_blocks();
        debug_assert!(size > 0, "groups of no logical block, of {blocks}");
        let first = |lbn: u32| lbn - lbn % size;
        let sizes = (0..blocks).map(|lbn| if first(lbn) == lbn { size.min(blocks - lbn) } else { 0 });
        Self {
            group_of: (0..blocks).map(first).collect(),
            sizes: sizes.collect(),
            log_blocks: LinkedLists::new(layout.geometry.blocks() as usize, blocks as usize),
            counts: vec![0; blocks as usize],
            recency: LinkedLists::new(blocks as usize, 1),
            total: 0,
        }
    }

    /// The group of a logical block: the number of its first member.
    #[inline]
    pub fn of(&self, lbn: Lbn) -> u32 {
        debug_assert!(lbn.index() < self.group_of.len(), "there is no {lbn} of {}", self.group_of.len());
        self.group_of[lbn.index()]
    }

    /// The logical blocks of a group; none of a number that names no group.
    pub fn members(&self, group: u32) -> Range<u32> {
        debug_assert!((group as usize) < self.sizes.len(), "there is no group {group} of {}", self.sizes.len());
        group..group + self.sizes[group as usize]
    }

    /// The group of the next higher logical blocks, if there is one.
    pub fn right_of(&self, group: u32) -> Option<u32> {
        self.group_of.get(self.members(group).end as usize).copied()
    }

    /// The group of the next lower logical blocks, if there is one.
    pub fn left_of(&self, group: u32) -> Option<u32> {
        self.group_of.get(group.checked_sub(1)? as usize).copied()
    }

    /// The sizes of all groups, in order of address.
    pub fn sizes(&self) -> impl Iterator<Item = u32> + '_ {
        self.sizes.iter().copied().filter(|&size| size > 0)
    }

    /// Log blocks of all groups.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Log blocks of a group.
    pub fn count(&self, group: u32) -> u32 {
        let (count, total) = (self.counts[group as usize], self.total);
        debug_assert!(count <= total, "group {group} has {count} of {total} log blocks");
        count
    }

    /// The log blocks of a group, oldest first.
    pub fn log_blocks(&self, group: u32) -> impl Iterator<Item = Slot> + '_ {
        self.log_blocks.iter(group)
    }

    /// The log block of a group that was opened first.
    pub fn oldest(&self, group: u32) -> Option<Slot> {
        self.log_blocks.front(group)
    }

    /// The log block of a group that was opened last.
    #[inline]
    pub fn youngest(&self, group: u32) -> Option<Slot> {
        debug_assert!((group as usize) < self.counts.len(), "there is no group {group} of {}", self.counts.len());
        self.log_blocks.back(group)
    }

    /// Of the groups with log blocks, the one that has not been written for the longest time.
    pub fn least_recent(&self) -> Option<u32> {
        let first = self.recency.front(0);
        debug_assert_eq!(first.is_some(), self.total > 0, "{first:?} was written first, of {} log blocks", self.total);
        first
    }

    /// The oldest log block of each group, the least recently written group first.
    pub fn by_recency(&self) -> impl Iterator<Item = Slot> + '_ {
        self.recency.iter(0).filter_map(|group| self.oldest(group))
    }

    /// A log block was opened for a group.
    pub fn on_opened(&mut self, group: u32, slot: Slot) {
        debug_assert!(self.sizes[group as usize] > 0, "there is no group {group}, and slot {slot} is opened for it");
        self.log_blocks.push_back(group, slot);
        self.counts[group as usize] += 1;
        self.total += 1;
        if self.counts[group as usize] == 1 {
            self.recency.push_back(0, group);
        } else {
            self.on_written(group);
        }
    }

    /// A log block of a group was written.
    #[inline]
    pub fn on_written(&mut self, group: u32) {
        debug_assert!(self.counts[group as usize] > 0, "group {group} has no log block, and is written");
        if self.recency.back(0) != Some(group) {
            self.recency.move_back(0, group);
        }
    }

    /// A log block of a group left.
    pub fn on_left(&mut self, group: u32, slot: Slot) {
        debug_assert!(self.counts[group as usize] > 0, "slot {slot} leaves group {group}, which has none");
        let listed = self.log_blocks.chain_of(slot);
        debug_assert_eq!(listed, Some(group), "slot {slot} leaves group {group}, and is listed elsewhere");
        self.log_blocks.remove(slot);
        self.counts[group as usize] -= 1;
        self.total -= 1;
        if self.counts[group as usize] == 0 {
            self.recency.remove(group);
        }
    }

    /// A group takes over the logical blocks of the one to its right. Its log blocks are older than
    /// those that are moved to it afterwards ([`reassign`](Self::reassign)).
    pub fn join_right(&mut self, group: u32) {
        if let Some(right) = self.right_of(group) {
            debug_assert!(self.sizes[group as usize] > 0, "there is no group {group} to join another");
            let members = self.members(right);
            debug_assert_eq!(self.counts[right as usize], 0, "group {right} is joined, and has log blocks");
            self.sizes[right as usize] = 0;
            self.sizes[group as usize] += members.len() as u32;
            self.group_of[members.start as usize..members.end as usize].fill(group);
        }
    }

    /// The right half of a group of at least two becomes a group of its own, without log blocks.
    pub fn split(&mut self, group: u32) -> Option<u32> {
        let members = self.members(group);
        if members.len() < 2 {
            return None;
        }
        let right = members.start + members.len() as u32 / 2;
        debug_assert_eq!(self.counts[right as usize], 0, "group {group} is split at {right}, which has log blocks");
        self.sizes[group as usize] = right - members.start;
        self.sizes[right as usize] = members.end - right;
        self.group_of[right as usize..members.end as usize].fill(right);
        Some(right)
    }

    /// A log block becomes another group's youngest.
    pub fn reassign(&mut self, from: u32, to: u32, slot: Slot) {
        debug_assert!(self.sizes[to as usize] > 0, "there is no group {to}, and slot {slot} of {from} goes to it");
        self.on_left(from, slot);
        self.on_opened(to, slot);
    }

    /// RAM of the table of groups as a controller would keep it: for each log block its number and
    /// its group.
    pub fn table_bytes(log_blocks: u32) -> u64 {
        8 * u64::from(log_blocks)
    }
}

#[cfg(test)]
mod tests {
    use flash::{Chip, Lean};
    use testkit::TestFlash;

    use super::*;

    fn groups(size: u32) -> LogGroups {
        let chip: Chip<Lean> = TestFlash::new(16, 4).chip();
        LogGroups::new(&Layout::of(&chip, 40, 1), size)
    }

    #[test]
    fn groups_join_and_split_at_their_middle() {
        let mut groups = groups(4);
        assert_eq!(groups.sizes().collect::<Vec<_>>(), [4, 4, 2]);
        assert_eq!((groups.left_of(0), groups.right_of(0), groups.right_of(8)), (None, Some(4), None));
        groups.join_right(4);
        assert_eq!((groups.sizes().collect::<Vec<_>>(), groups.of(Lbn::new(9))), (vec![4, 6], 4));
        assert_eq!(groups.split(4), Some(7));
        assert_eq!((groups.sizes().collect::<Vec<_>>(), groups.of(Lbn::new(9))), (vec![4, 3, 3], 7));
        assert_eq!((groups.split(7), groups.split(7), groups.left_of(7)), (Some(8), None, Some(4)));
    }

    #[test]
    fn log_blocks_are_known_by_age_and_groups_by_use() {
        let mut groups = groups(4);
        for (group, slot) in [(4, 0), (0, 1), (4, 2)] {
            groups.on_opened(group, slot);
        }
        assert_eq!((groups.oldest(4), groups.youngest(4), groups.least_recent()), (Some(0), Some(2), Some(0)));
        groups.on_written(0);
        assert_eq!(groups.least_recent(), Some(4));
        groups.reassign(4, 0, 0);
        assert_eq!((groups.log_blocks(0).collect::<Vec<_>>(), groups.count(4), groups.total()), (vec![1, 0], 1, 3));
        groups.on_left(4, 2);
        assert_eq!((groups.least_recent(), groups.oldest(4)), (Some(0), None));
    }
}
