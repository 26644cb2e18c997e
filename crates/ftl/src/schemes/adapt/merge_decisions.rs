//! What becomes of the pages that adapt had merged instead of moving them on.
//!
//! A prediction is right in two ways: what moved on is written again, and what was merged is not.
//! For the second, a round counts: the time in which as many pages come to the log as it has. A
//! page of whose logical block another one was merged before was not decided on, and is not counted
//! here.

use flash::{Lpn, long_array};

/// The pages that were merged because no prediction spoke for them.
#[derive(Clone, Debug)]
pub(super) struct MergeDecisions {
    /// How many pages had come to the log, itself included, when a page was merged; 0 if it was
    /// written since or was never merged.
    merged_at: Vec<u32>,
    appended: u32,
    decisions: u64,
    rewritten: u64,
}

impl MergeDecisions {
    /// None, on a device with this many pages.
    pub(super) fn none(logical_pages: u32) -> Self {
        Self { merged_at: long_array(0, logical_pages as usize), appended: 1, decisions: 0, rewritten: 0 }
    }

    /// A page of a leaving block is merged.
    pub(super) fn on_merged(&mut self, lpn: Lpn) {
        self.decisions += 1;
        self.merged_at[lpn.index()] = self.appended;
    }

    /// A page comes to the log, which has so many pages; whether the host wrote it.
    #[inline]
    pub(super) fn on_appended(&mut self, lpn: Lpn, is_hosts: bool, round: u32) {
        if is_hosts {
            let merged_at = std::mem::take(&mut self.merged_at[lpn.index()]);
            let is_in_round = self.appended.wrapping_sub(merged_at) < round;
            self.rewritten += u64::from(merged_at != 0 && is_in_round);
        }
        self.appended = self.appended.wrapping_add(1).max(1);
    }

    /// How many there were.
    pub(super) fn decisions(&self) -> u64 {
        self.decisions
    }

    /// How many of these the host wrote within a round of the log.
    pub(super) fn rewritten(&self) -> u64 {
        self.rewritten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merged_page_is_rewritten_only_within_a_round_of_the_log() {
        let [early, late, never] = [1, 2, 3].map(Lpn::new);
        let mut merges = MergeDecisions::none(5);
        for lpn in [early, late, never] {
            merges.on_merged(lpn);
        }
        merges.on_appended(early, false, 4);
        assert_eq!(merges.rewritten(), 0, "a copy is no write of the host's");
        merges.on_appended(early, true, 4);
        merges.on_appended(early, true, 4);
        merges.on_appended(Lpn::new(0), true, 4);
        assert_eq!(merges.rewritten(), 1, "once for each decision");
        merges.on_appended(late, true, 4);
        assert_eq!((merges.decisions(), merges.rewritten()), (3, 1), "four pages came between");
    }
}
