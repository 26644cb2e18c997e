//! Books: what a host knows of its pages, whatever may happen to them.

use flash::Lpn;

use crate::case::operation::Operation;
use crate::oracle::exact::{ExactOracle, Mismatch, Stamp};

/// What a host knows of its pages.
pub(crate) trait Oracle {
    /// A request begins; returns the stamps of a write.
    fn begin(&mut self, operation: Operation) -> Vec<Stamp>;

    /// The request that began is acknowledged.
    fn acknowledge(&mut self);

    /// Compares what a read returned with what it must return now.
    fn compare(&self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch>;
}

/// Where nothing fails, a request is as good as done when it begins.
impl Oracle for ExactOracle {
    fn begin(&mut self, operation: Operation) -> Vec<Stamp> {
        match operation {
            Operation::Write(extent) => extent.lpns().map(|lpn| self.stamp_for_write(lpn)).collect(),
            Operation::Trim(extent) => {
                extent.lpns().for_each(|lpn| self.trim(lpn));
                Vec::new()
            }
            Operation::Read(_)
            | Operation::Flush
            | Operation::Idle
            | Operation::RelocateBlock(_)
            | Operation::FileEvent(..) => Vec::new(),
        }
    }

    fn acknowledge(&mut self) {}

    fn compare(&self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch> {
        ExactOracle::compare(self, lpn, got)
    }
}
