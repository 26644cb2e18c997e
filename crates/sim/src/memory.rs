//! Memory that a study will take, estimated before it is allocated.
//!
//! The large structures grow with the device: what a run keeps of it (`held.rs`), once for every
//! run that is under way, and what the dense numbering keeps of each page touched. What is left out
//! (histograms, requests under way) is small beside them. The limit is below what the machine has,
//! since the estimate may be some percent too low.

use std::cmp::Reverse;
use std::fs;
use std::ops::RangeInclusive;

use trace::units::rounded;

use crate::SimError;

/// Bytes that the dense numbering keeps of each page touched, half of its table being empty after
/// it has grown.
const DENSE_PAGE_BYTES: u64 = 34;

/// Bytes of a flash operation that waits, and of one whose request is explained as well: 16.7
/// million single reads that waited took 4.3 GB, and the accounts of their requests 8.6 GB more.
const OPERATION_BYTES: u64 = 256;
const EXPLAINED_OPERATION_BYTES: u64 = 768;
/// Flash operations that may wait on any machine, and at most.
const WAITING_OPERATIONS: RangeInclusive<u64> = 1 << 16..=1 << 24;

/// The most bytes of a workload that are kept: some 20 million requests. More would serve longer
/// ones, but as many studies as there are cores may run at once.
const KEPT_BYTES: u64 = 256 << 20;
/// Of what a study may take, one part in this many is the most that is kept of its workload.
const KEPT_PART: u64 = 16;

/// Share of the memory available now that a study may take, unless it says otherwise.
const SHARE: f64 = 0.8;

/// What a study may take, and why that much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    bytes: u64,
    is_asked: bool,
}

impl Limit {
    /// What the study says, else a share of what is available; without end where that cannot be
    /// told.
    pub(crate) fn of(asked: Option<u64>) -> Self {
        let share = |bytes: u64| (bytes as f64 * SHARE) as u64;
        Self { bytes: asked.or_else(|| available().map(share)).unwrap_or(u64::MAX), is_asked: asked.is_some() }
    }

    /// Refuses runs on this many physical pages, if those under way at once would take more. Each
    /// takes this many bytes; the largest may be under way together.
    pub(crate) fn check_runs(
        self,
        pages: u32,
        mut run_bytes: Vec<u64>,
        at_once: usize,
        is_verified: bool,
    ) -> Result<(), SimError> {
        run_bytes.sort_unstable_by_key(|&bytes| Reverse(bytes));
        // Other sharers of the limit count as runs of the same study.
        let others = at_once.saturating_sub(run_bytes.len()) as u64 * run_bytes.first().copied().unwrap_or(0);
        let needed = run_bytes.iter().take(at_once).sum::<u64>().saturating_add(others);
        if needed <= self.bytes {
            return Ok(());
        }
        let verify = if is_verified { ", leave run.verify out (a seventh or less)" } else { "" };
        let fewer = if at_once > 1 { ", run fewer at once (threads)" } else { "" };
        Err(SimError::study(format!(
            "device: {at_once} {} at once on {pages} physical pages would take about {}, but {}. Use a smaller \
             device.capacity or a larger device.page_size{verify}{fewer}; where the workload touches little of its \
             address range, set workload.addresses = \"dense\"; or raise run.memory_limit",
            if at_once == 1 { "run" } else { "runs" },
            rounded(needed),
            self.says()
        )))
    }

    /// Flash operations that may wait in each of several runs at once.
    pub(crate) fn most_under_way(self, is_explained: bool, at_once: usize) -> usize {
        let operation_bytes = if is_explained { EXPLAINED_OPERATION_BYTES } else { OPERATION_BYTES };
        let most = self.bytes / (operation_bytes * at_once.max(1) as u64);
        most.clamp(*WAITING_OPERATIONS.start(), *WAITING_OPERATIONS.end()) as usize
    }

    /// The most bytes of a workload that may be kept in memory.
    pub(crate) fn kept_bytes(self) -> usize {
        KEPT_BYTES.min(self.bytes / KEPT_PART) as usize
    }

    /// Refuses a dense numbering of this many pages, if it would take more.
    pub(crate) fn check_dense(self, pages: u64) -> Result<(), SimError> {
        let needed = pages.saturating_mul(DENSE_PAGE_BYTES);
        if needed <= self.bytes {
            return Ok(());
        }
        Err(SimError::study(format!(
            "workload.addresses = \"dense\": numbering {pages} pages touched takes {}, but {}. Take fewer requests, use a larger \
             device.page_size, or raise run.memory_limit",
            rounded(needed),
            self.says()
        )))
    }

    fn says(self) -> String {
        if self.is_asked {
            format!("run.memory_limit allows {}", rounded(self.bytes))
        } else {
            format!("{} may be used ({:.0} % of what is available now)", rounded(self.bytes), SHARE * 100.0)
        }
    }
}

/// Bytes of memory that could be had now, where the system tells.
fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| meminfo(&text))?;
    let number = |path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let (most, used) = (number("/sys/fs/cgroup/memory.max"), number("/sys/fs/cgroup/memory.current"));
    let group = most.map(|most| most.saturating_sub(used.unwrap_or(0)));
    Some(group.map_or(machine, |group| group.min(machine)))
}

/// `MemAvailable` of Linux, in bytes.
fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_refused_with_numbers_and_advice() {
        let limit = Limit::of(Some(1 << 30));
        assert!(limit.check_runs(9, vec![1 << 30], 1, false).is_ok() && limit.check_dense(1 << 24).is_ok());
        let (runs, half) = (vec![1 << 28, 3 << 28, 1 << 28], vec![1 << 29; 5]);
        assert!(limit.check_runs(9, runs.clone(), 2, false).is_ok() && limit.check_runs(9, runs, 3, false).is_err());
        assert!(limit.check_runs(9, half.clone(), 2, false).is_ok() && limit.check_runs(9, half, 3, false).is_err());
        let error = limit.check_runs(1 << 26, vec![15 << 30; 2], 2, true).expect_err("30 GiB").to_string();
        for part in
            ["2 runs at once on 67108864", "30.0 GiB", "run.memory_limit allows 1.0 GiB", "run.verify", "threads"]
        {
            assert!(error.contains(part), "{error}");
        }
        assert!(limit.check_dense(1 << 26).expect_err("2.1 GiB").to_string().contains("2.1 GiB"));
        let small =
            Limit::of(Some(1)).check_runs(1 << 15, vec![9], 1, false).expect_err("more than a byte").to_string();
        assert!(small.contains("but run.memory_limit allows 1 B") && !small.contains("0.0"), "{small}");
    }

    #[test]
    fn fewer_operations_may_wait_where_memory_is_less() {
        let limit = Limit::of(Some(3 << 30));
        assert_eq!(limit.most_under_way(true, 1), 1 << 22);
        assert_eq!(limit.most_under_way(true, 4), 1 << 20);
        assert_eq!(limit.most_under_way(false, 1), 3 << 22);
        assert_eq!(Limit::of(Some(1)).most_under_way(true, 1), 1 << 16);
        assert_eq!(Limit::of(Some(u64::MAX)).most_under_way(true, 1), 1 << 24);
    }

    #[test]
    fn what_is_available_is_read_from_the_system() {
        assert_eq!(meminfo("MemTotal: 9 kB\nMemAvailable:   16 kB\n"), Some(16 << 10));
        assert_eq!(meminfo("MemTotal: 9 kB\n"), None);
        let unasked = Limit::of(None);
        assert!(unasked.bytes > 0 && !unasked.is_asked);
    }
}
