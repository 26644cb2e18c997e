//! One request of a workload, as every reader yields it and every generator makes it, and its time
//! where the workload is served several times.
//!
//! A record is what the host asked of one block device: bytes, not pages. It knows nothing of
//! flash; splitting it into pages is the simulator's business, because the page size belongs to the
//! simulated device.

use host::{Hint, HostOp};

/// One request. `length` may be 0 only for [`HostOp::Flush`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Arrival, nanoseconds since the first request of the trace.
    pub time_ns: u64,
    /// What the host asks for.
    pub op: HostOp,
    /// First byte on its device.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
    /// Device (volume, LUN, disk) within the trace: an index into the reader's table of device
    /// names, 0 for traces of one device.
    pub device: u32,
    /// What the host says of the data, where the source tells.
    pub hint: Hint,
}

impl Record {
    /// A read of nothing, before the first request.
    pub const BLANK: Self = Self { time_ns: 0, op: HostOp::Read, offset: 0, length: 0, device: 0, hint: Hint::NONE };

    /// One past the last byte. Readers refuse records for which this overflows.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// Places the rounds of a workload one after another in time.
///
/// A round begins one mean gap of the first round after the last request of the round before, so
/// that the rate of arrivals stays as it is.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// Rounds that have not begun.
    left: u64,
    begins_ns: u64,
    last_ns: u64,
    /// Requests of the first round so far.
    requests: u64,
    /// Between two requests of the first round, in the mean; none while it lasts.
    gap_ns: Option<u64>,
}

impl Rounds {
    /// This many rounds, of which the first begins at time 0.
    pub fn new(rounds: u64) -> Self {
        Self { left: rounds.saturating_sub(1), begins_ns: 0, last_ns: 0, requests: 0, gap_ns: None }
    }

    /// A request of the present round at its time among all rounds.
    pub fn place(&mut self, record: Record) -> Record {
        self.requests += u64::from(self.gap_ns.is_none());
        self.last_ns = self.begins_ns.saturating_add(record.time_ns);
        Record { time_ns: self.last_ns, ..record }
    }

    /// Ends the present round; whether there is another.
    pub fn begin_next(&mut self) -> bool {
        let gap_ns = *self.gap_ns.get_or_insert(self.last_ns / self.requests.saturating_sub(1).max(1));
        self.begins_ns = self.last_ns.saturating_add(gap_ns);
        let is_there = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::{Hint, HostOp};

    /// When the requests of this many rounds arrive.
    fn times(rounds: u64, round_ns: &[u64]) -> Vec<u64> {
        let (mut rounds, mut times) = (Rounds::new(rounds), Vec::new());
        loop {
            times.extend(round_ns.iter().map(|&time_ns| {
                let record =
                    Record { time_ns, op: HostOp::Read, offset: 0, length: 1, device: 0, hint: Hint::default() };
                rounds.place(record).time_ns
            }));
            if !rounds.begin_next() {
                return times;
            }
        }
    }

    #[test]
    fn each_round_begins_a_mean_gap_after_the_one_before() {
        assert_eq!(times(1, &[0, 10, 60]), [0, 10, 60]);
        assert_eq!(times(3, &[0, 10, 60]), [0, 10, 60, 90, 100, 150, 180, 190, 240]);
        assert_eq!(times(3, &[0]), [0, 0, 0], "one request has no gap");
        assert_eq!(times(2, &[0, u64::MAX - 1]), [0, u64::MAX - 1, u64::MAX, u64::MAX], "at the end of the clock");
    }
}
