//! When groups of logical blocks are split and joined (A-SAST III.C).
//!
//! A group is split if its log blocks have pages of too many data blocks; neighbours are joined if
//! they hardly use theirs. When to look at a group is the policy's business.

use crate::engines::log_buffer::groups::LogGroups;
use crate::engines::log_buffer::space::LogSpace;

/// When a group is split, and when two are joined.
#[derive(Clone, Copy, Debug)]
pub struct RegroupingRules {
    /// Neighbours are joined if both use less than this share of their pages,
    pub alpha: f64,
    /// which are those of their data blocks instead of their log blocks,
    pub by_data_pages: bool,
    /// and if no log block of theirs has this associativity or more.
    pub beta: u32,
    /// A group is split if its last written log block has more than this associativity.
    pub gamma: u32,
}

impl RegroupingRules {
    /// Splits a group whose last written log block has many owners. Tells whether it did.
    pub fn split_if_random(&self, groups: &mut LogGroups, log: &mut LogSpace, group: u32) -> bool {
        debug_assert!(!groups.members(group).is_empty(), "there is no group {group} to be split");
        let last_written = groups.youngest(group);
        if last_written.is_none_or(|slot| log.associativity(slot) <= self.gamma) {
            return false;
        }
        let Some(right) = groups.split(group) else { return false };
        for slot in groups.log_blocks(group).collect::<Vec<_>>() {
            let pages = |of_right: bool| {
                let half = log.owners(slot).iter().filter(|(lbn, _)| (lbn.get() >= right) == of_right);
                half.map(|&(_, pages)| pages).sum::<u32>()
            };
            if pages(true) > pages(false) {
                groups.reassign(group, right, slot);
                log.assign(slot, right);
            }
        }
        true
    }

    /// Joins a group with its right or its left neighbour if both are idle. Tells whether it did.
    pub fn join_if_idle(&self, groups: &mut LogGroups, log: &mut LogSpace, group: u32) -> bool {
        if !self.is_idle(groups, log, group) {
            return false;
        }
        let right = groups.right_of(group).map(|right| (group, right));
        let left = groups.left_of(group).map(|left| (left, group));
        let idle = |&(one, other): &(u32, u32)| self.is_idle(groups, log, if one == group { other } else { one });
        let Some((left, right)) = right.filter(idle).or_else(|| left.filter(idle)) else { return false };
        debug_assert_eq!(
            groups.members(left).end,
            right,
            "groups {left} and {right} are joined, and are no neighbours"
        );
        let own_youngest = groups.youngest(left);
        for slot in groups.log_blocks(right).collect::<Vec<_>>() {
            groups.reassign(right, left, slot);
            log.assign(slot, left);
        }
        // Of the two that were last, one with room stays the last.
        if let Some(slot) = own_youngest.filter(|&slot| log.has_room(slot)) {
            groups.reassign(left, left, slot);
        }
        groups.join_right(left);
        true
    }

    /// A-SAST III.C: little of its log is used, and no log block has many owners.
    fn is_idle(&self, groups: &LogGroups, log: &LogSpace, group: u32) -> bool {
        let blocks = || groups.log_blocks(group).filter_map(|slot| log.block(slot));
        debug_assert!(blocks().all(|block| block.group == group), "a log block of group {group} serves another");
        let used: u32 = blocks().map(|block| block.filled).sum();
        let allocated = if self.by_data_pages { groups.members(group).len() as u32 } else { groups.count(group) };
        let pages = f64::from(allocated) * f64::from(log.geometry().pages_per_block());
        let few_owners = groups.log_blocks(group).all(|slot| log.associativity(slot) < self.beta);
        f64::from(used) < self.alpha * pages.max(1.0) && few_owners
    }
}
