//! Time that goes backwards: refused, held, or sorted within a window.
//!
//! Traces merged from several queues, or stamped on several processors, are a little out of order.
//! Which of the remedies fits cannot be known from here, and each changes the workload, so the user
//! chooses and what was changed is counted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use crate::choices::TimeBackwards;
use crate::error::{Backwards, TraceError};
use crate::read::source::Source;
use crate::record::Record;

/// A request in the sorting window; of equal times, the first in the file goes first.
struct Held {
    key: (u64, u64),
    record: Record,
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// The remedy at work.
pub(crate) struct Order {
    policy: TimeBackwards,
    /// Latest time handed on.
    latest_ns: u64,
    /// Latest time read; differs from `latest_ns` only while sorting.
    latest_read_ns: u64,
    window: BinaryHeap<Reverse<Held>>,
    read: u64,
    is_drained: bool,
    /// Requests held at a later time than their own.
    pub(crate) clamped: u64,
    /// Requests that stood behind a later one.
    pub(crate) sorted: u64,
}

impl Order {
    pub(crate) fn new(policy: TimeBackwards) -> Self {
        Self {
            policy,
            latest_ns: 0,
            latest_read_ns: 0,
            window: BinaryHeap::new(),
            read: 0,
            is_drained: false,
            clamped: 0,
            sorted: 0,
        }
    }

    /// The next request of `source`, no earlier than the one before.
    #[inline]
    pub(crate) fn next(&mut self, source: &mut dyn Source, path: &Path) -> Result<Option<Record>, TraceError> {
        if let TimeBackwards::Sort { window } = self.policy {
            return self.next_sorted(source, window, path);
        }
        let Some(mut record) = source.next()? else { return Ok(None) };
        if record.time_ns < self.latest_ns {
            if self.policy == TimeBackwards::Refuse {
                return Err(self.backwards(source, record.time_ns, None, path));
            }
            record.time_ns = self.latest_ns;
            self.clamped += 1;
        }
        self.latest_ns = record.time_ns;
        Ok(Some(record))
    }

    fn next_sorted(
        &mut self,
        source: &mut dyn Source,
        window: usize,
        path: &Path,
    ) -> Result<Option<Record>, TraceError> {
        // One more than the window is looked at: the earliest of them goes, `window` stay.
        while !self.is_drained && self.window.len() <= window {
            match source.next()? {
                None => self.is_drained = true,
                Some(record) if record.time_ns < self.latest_ns => {
                    return Err(self.backwards(source, record.time_ns, Some(window), path));
                }
                Some(record) => {
                    self.sorted += u64::from(record.time_ns < self.latest_read_ns);
                    self.latest_read_ns = self.latest_read_ns.max(record.time_ns);
                    self.window.push(Reverse(Held { key: (record.time_ns, self.read), record }));
                    self.read += 1;
                }
            }
        }
        let Some(Reverse(Held { record, .. })) = self.window.pop() else { return Ok(None) };
        self.latest_ns = record.time_ns;
        Ok(Some(record))
    }

    #[cold]
    fn backwards(&self, source: &dyn Source, time_ns: u64, window: Option<usize>, path: &Path) -> TraceError {
        let (place, excerpt) = source.place();
        let by_ns = self.latest_ns - time_ns;
        TraceError::Backwards(Box::new(Backwards { path: path.to_owned(), place, by_ns, excerpt, window }))
    }
}

#[cfg(test)]
mod tests {
    use crate::choices::TimeBackwards;
    use crate::error::TraceError;
    use crate::format::Format;
    use crate::options::OpenOptions;
    use crate::trace::{Trace, open_bytes};

    /// A trace whose requests arrive at `times`; each one's sector is its place in the file.
    fn trace(times: &[u64], time_backwards: TimeBackwards) -> Trace {
        let lines: Vec<String> = times.iter().enumerate().map(|(n, time)| format!("{time} 0 {n} 1 0\n")).collect();
        let options = OpenOptions { time_backwards, ..OpenOptions::with_format(Format::Ssdsim) };
        open_bytes("test", lines.concat().into_bytes(), &options).unwrap()
    }

    fn all(trace: &mut Trace) -> Result<Vec<(u64, u64)>, TraceError> {
        trace.map(|record| record.map(|record| (record.time_ns, record.offset / 512))).collect()
    }

    #[test]
    fn backwards_is_refused_with_line_amount_and_remedies() {
        let error = all(&mut trace(&[5_000_000, 7_000_000, 6_000_000], TimeBackwards::Refuse)).unwrap_err().to_string();
        for part in ["test, line 3: time goes back by 1 ms", "`6000000 0 2 1 0`", "sort:4096", "--time-backwards clamp"]
        {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn equal_times_are_in_order() {
        let expected = vec![(0, 0), (0, 1), (1, 2)];
        assert_eq!(all(&mut trace(&[5, 5, 6], TimeBackwards::Refuse)).unwrap(), expected);
        assert_eq!(all(&mut trace(&[5, 5, 6], TimeBackwards::Sort { window: 3 })).unwrap(), expected);
    }

    #[test]
    fn clamping_keeps_the_order_of_the_file_and_counts() {
        let mut trace = trace(&[5, 9, 6, 7, 10], TimeBackwards::Clamp);
        assert_eq!(all(&mut trace).unwrap(), [(0, 0), (4, 1), (4, 2), (4, 3), (5, 4)]);
        assert_eq!((trace.clamped(), trace.sorted()), (2, 0));
    }

    #[test]
    fn sorting_starts_at_the_earliest_and_counts() {
        let mut trace = trace(&[6, 5, 9, 7, 8, 10], TimeBackwards::Sort { window: 2 });
        assert_eq!(all(&mut trace).unwrap(), [(0, 1), (1, 0), (2, 3), (3, 4), (4, 2), (5, 5)]);
        assert_eq!((trace.clamped(), trace.sorted()), (0, 3));
    }

    #[test]
    fn a_window_that_is_too_small_is_an_error_that_says_so() {
        let error = all(&mut trace(&[5, 6, 7, 8, 1], TimeBackwards::Sort { window: 2 })).unwrap_err().to_string();
        assert!(
            error.contains("line 5") && error.contains("window of 2 requests") && error.contains("sort:N"),
            "{error}"
        );
    }
}
