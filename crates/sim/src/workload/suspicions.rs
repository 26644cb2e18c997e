//! What in a workload hints that a trace was read otherwise than it is meant: requests off the page
//! grid of the device that one offset would put on it, and rows that repeat a request.

use trace::{HostOp, Record};

use crate::result::{Misalignment, RepeatedRequests};

const SECTOR_BYTES: u64 = 512;
/// Requests that an offset puts on whole pages are worth a word from this share on, and if they are
/// at least this many times as many as without it.
const ALIGNED_SHARE: f64 = 0.25;
const ALIGNED_GAIN: u64 = 2;
/// A row repeats a request of the last so many that arrived within so long.
const WINDOW: usize = 8;
const WINDOW_NS: u64 = 1_000_000;
/// Repeated rows are worth a word from this share on: two rows for each request are half, and a
/// recorded disk repeated 18 % of its requests by itself.
const REPEATED_SHARE: f64 = 0.25;

/// Counts what is suspicious, record by record.
pub(crate) struct Suspicions {
    page_bytes: u64,
    addressed: u64,
    /// Requests of whole pages in length by the sectors from a page's start to theirs.
    whole_pages: Vec<u64>,
    last: [Option<Record>; WINDOW],
    place: usize,
    repeated: u64,
}

impl Suspicions {
    pub(crate) fn new(page_bytes: u64) -> Self {
        let sectors = (page_bytes / SECTOR_BYTES).max(1) as usize;
        Self { page_bytes, addressed: 0, whole_pages: vec![0; sectors], last: [None; WINDOW], place: 0, repeated: 0 }
    }

    pub(crate) fn add(&mut self, record: &Record) {
        if record.op == HostOp::Flush {
            return;
        }
        self.addressed += 1;
        if record.offset.is_multiple_of(SECTOR_BYTES) && u64::from(record.length).is_multiple_of(self.page_bytes) {
            self.whole_pages[(record.offset % self.page_bytes / SECTOR_BYTES) as usize] += 1;
        }
        let is_repeat = self.last.iter().flatten().any(|other| {
            (other.op, other.offset, other.length, other.device)
                == (record.op, record.offset, record.length, record.device)
                && record.time_ns.saturating_sub(other.time_ns) <= WINDOW_NS
        });
        self.repeated += u64::from(is_repeat);
        self.last[self.place] = Some(*record);
        self.place = (self.place + 1) % WINDOW;
    }

    /// The offset that would put many more requests on whole pages; `shift_bytes` are added to
    /// every address already.
    pub(crate) fn misalignment(&self, shift_bytes: u64) -> Option<Misalignment> {
        let best = (0..self.whole_pages.len()).max_by_key(|&sectors| self.whole_pages[sectors])?;
        let (now, then) = (self.whole_pages[0], self.whole_pages[best]);
        let share = |count: u64| count as f64 / self.addressed.max(1) as f64;
        let more_bytes = (self.page_bytes - best as u64 * SECTOR_BYTES) % self.page_bytes;
        (share(then) >= ALIGNED_SHARE && then >= ALIGNED_GAIN * now && best > 0).then(|| Misalignment {
            aligned: share(now),
            align_offset_bytes: (shift_bytes + more_bytes) % self.page_bytes,
            aligned_with_offset: share(then),
        })
    }

    /// Rows that repeat a request, where they are many.
    pub(crate) fn repeats(&self) -> Option<RepeatedRequests> {
        let share = self.repeated as f64 / self.addressed.max(1) as f64;
        (share >= REPEATED_SHARE).then_some(RepeatedRequests { requests: self.repeated, within_ns: WINDOW_NS })
    }
}

#[cfg(test)]
mod tests {
    use trace::{HostOp, Record};

    use super::Suspicions;

    fn write(time_ns: u64, offset: u64, length: u32) -> Record {
        Record { time_ns, op: HostOp::Write, offset, length, device: 0, hint: trace::Hint::default() }
    }

    fn suspicions(records: impl IntoIterator<Item = Record>) -> Suspicions {
        let mut suspicions = Suspicions::new(4096);
        records.into_iter().for_each(|record| suspicions.add(&record));
        suspicions
    }

    #[test]
    fn an_old_partition_offset_is_found() {
        let off = suspicions((0..100).map(|page| write(page * 2_000_000, page * 4096 + 7 * 512, 8192)));
        let misalignment = off.misalignment(0).unwrap();
        assert_eq!(
            (misalignment.aligned, misalignment.align_offset_bytes, misalignment.aligned_with_offset),
            (0.0, 512, 1.0)
        );
        // An offset that was given is part of the one that is advised.
        assert_eq!(off.misalignment(1024).unwrap().align_offset_bytes, 1536);
        assert!(off.repeats().is_none());
    }

    #[test]
    fn requests_on_the_page_grid_or_off_every_grid_have_no_offset() {
        assert!(suspicions((0..100).map(|page| write(page, page * 4096, 4096))).misalignment(0).is_none());
        assert!(suspicions((0..100).map(|page| write(page, page * 4096 + 512, 1024))).misalignment(0).is_none());
        assert!(suspicions((0..100).map(|page| write(page, page * 4096 + 7, 4096))).misalignment(0).is_none());
        assert!(suspicions([]).misalignment(0).is_none());
    }

    #[test]
    fn rows_of_the_same_request_are_counted() {
        let doubled =
            (0..100).flat_map(|page| [0, 60_000].map(|later| write(page * 1_000_000 + later, page * 4096, 4096)));
        assert_eq!(suspicions(doubled).repeats().unwrap().requests, 100);
        // The same place again after a while is the workload's own.
        let rewritten = (0..100).map(|time| write(time * 2_000_000, 4096, 4096));
        assert!(suspicions(rewritten).repeats().is_none());
    }
}
