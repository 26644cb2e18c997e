//! Set association: groups of N logical blocks, each with at most K log blocks that its members
//! share.
//!
//! A group that has K log blocks merges its oldest to get another; when the log space is used up,
//! the group that has not been written for the longest time gives up its oldest.

use flash::Lbn;

use crate::api::report::Gauge;
use crate::engines::log_buffer::groups::LogGroups;
use crate::engines::log_buffer::policy::{LogPage, LogPolicy, LogTarget};
use crate::engines::log_buffer::space::{LogSpace, Slot};

/// Gauges of how many groups there are of 1, 2 to 3, 4 to 7 … logical blocks; the last takes all
/// that are larger.
const SIZES: [&str; 9] = [
    "groups_of_1",
    "groups_of_2",
    "groups_of_4",
    "groups_of_8",
    "groups_of_16",
    "groups_of_32",
    "groups_of_64",
    "groups_of_128",
    "groups_of_256",
];

/// N : N + K mapping.
pub struct LogSets {
    /// Which logical blocks share which log blocks.
    pub groups: LogGroups,
    /// K of the paper: the most log blocks of a group.
    group_limit: u32,
    limit: u32,
}

impl LogSets {
    /// At most `group_limit` log blocks for each group, and `limit` for all together.
    pub fn new(groups: LogGroups, group_limit: u32, limit: u32) -> Self {
        debug_assert!(group_limit > 0, "groups share {group_limit} log blocks each, of {limit}");
        Self { groups, group_limit, limit }
    }

    /// The log block that has to leave because a group has as many as it may have.
    pub fn over_group_limit(&self, group: u32) -> Option<Slot> {
        self.groups.oldest(group).filter(|_| self.groups.count(group) >= self.group_limit)
    }

    /// From now on there may be this many log blocks; those that are too many stay until they are
    /// asked to leave.
    pub fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// How many log blocks there may be.
    #[inline]
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Whether the log space is used up.
    pub fn is_full(&self) -> bool {
        self.groups.total() >= self.limit
    }
}

impl LogPolicy for LogSets {
    fn place(&mut self, log: &mut LogSpace, page: LogPage) -> LogTarget {
        let group = self.groups.of(page.lbn);
        let youngest = self.groups.youngest(group);
        let serves = youngest.and_then(|slot| log.block(slot)).is_none_or(|block| block.group == group);
        debug_assert!(serves, "slot {youngest:?} takes pages of group {group}, and serves another");
        youngest.filter(|&slot| log.has_room(slot)).map_or(LogTarget::New(group), LogTarget::In)
    }

    fn victim(&mut self, _log: &mut LogSpace, group: u32) -> Option<Slot> {
        debug_assert!(!self.groups.members(group).is_empty(), "there is no group {group} to make room for");
        let of_the_least_recent = || self.groups.oldest(self.groups.least_recent()?);
        self.over_group_limit(group).or_else(|| if self.is_full() { of_the_least_recent() } else { None })
    }

    fn on_opened(&mut self, log: &LogSpace, slot: Slot) {
        debug_assert!(log.block(slot).is_some(), "slot {slot} is free, and was opened");
        if let Some(block) = log.block(slot) {
            self.groups.on_opened(block.group, slot);
        }
    }

    fn on_appended(&mut self, _log: &LogSpace, _slot: Slot, page: LogPage) {
        self.groups.on_written(self.groups.of(page.lbn));
    }

    fn on_left(&mut self, log: &LogSpace, slot: Slot) {
        debug_assert!(log.block(slot).is_some(), "slot {slot} is free, and leaves");
        if let Some(block) = log.block(slot) {
            self.groups.on_left(block.group, slot);
        }
    }

    fn dedicated(&self, lbn: Lbn, except: Option<Slot>) -> Option<Slot> {
        let group = self.groups.of(lbn);
        let alone = self.groups.members(group).len() == 1;
        debug_assert!(self.groups.members(group).contains(&lbn.get()), "{lbn} is of group {group}, which has it not");
        self.groups.log_blocks(group).find(|&slot| alone && except != Some(slot))
    }

    fn recovered_group(&self, lbn: Option<Lbn>) -> u32 {
        lbn.map_or(0, |lbn| self.groups.of(lbn))
    }

    /// Only where all log blocks are one queue.
    fn place_of_trims(&self, log: &LogSpace) -> Option<LogTarget> {
        let youngest = || self.groups.youngest(0).filter(|&slot| log.has_room(slot));
        self.groups.right_of(0).is_none().then(|| youngest().map_or(LogTarget::New(0), LogTarget::In))
    }

    fn gauges(&self, _log: &LogSpace) -> Vec<Gauge> {
        let mut counts = [0.0; SIZES.len()];
        for size in self.groups.sizes() {
            counts[(size.ilog2() as usize).min(SIZES.len() - 1)] += 1.0;
        }
        let all = Gauge { name: "groups", value: counts.iter().sum() };
        let by_size = SIZES.into_iter().zip(counts).map(|(name, value)| Gauge { name, value });
        std::iter::once(all).chain(by_size).collect()
    }
}
