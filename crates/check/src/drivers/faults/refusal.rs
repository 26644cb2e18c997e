//! Judging a device that refuses: it must have a reason, and must have lost nothing.

use flash::Flash;
use ftl::FtlError;

use super::Trial;
use crate::case::operation::{Extent, Operation};
use crate::report::failure::Fault;

impl Trial<'_> {
    /// The device says that it is read-only: it must have a reason, and must have lost nothing.
    pub(super) fn refused(&mut self, operation: Operation, error: &FtlError) -> Result<(), Fault> {
        self.keep_books();
        let (spares, failed) = (self.driver.scheme().spares(), self.driver.oracle.failed());
        if spares.used <= spares.total {
            return Err(Fault::ReadOnly(format!("{error}, but only {} of {} are used", spares.used, spares.total)));
        }
        // If a request that was served all the same found it out, that was judged then.
        if failed <= spares.total && !self.report.early {
            if !self.may_be_early() {
                return Err(Fault::ReadOnly(format!("{error}, but only {failed} blocks have failed")));
            }
            self.report.early = true;
        }
        (self.driver.oracle.read_only, self.report.tried.read_only) = (true, 1);
        for lpn in operation.extent().into_iter().flat_map(Extent::lpns) {
            // A lost page may have been written before the request stopped.
            self.driver.oracle.hit.entry(lpn).and_modify(|reported| *reported = false);
            if let Some(got) = self.fetch(lpn)? {
                self.driver.oracle.allowed.observe_refused(lpn, got).map_err(Fault::WrongContent)?;
            }
        }
        self.driver.oracle.allowed.forget_request();
        Ok(())
    }

    /// Whether a device may be read-only although spares are left. Each failure costs a die its
    /// last free block until an erase restores that: a second one or a cut before may find every
    /// die without.
    pub(super) fn may_be_early(&self) -> bool {
        let (oracle, dies) = (&self.driver.oracle, self.frail().geometry().dies());
        let is_all_dies = oracle.failed_before > 0 && oracle.failed_blocks.len() as u32 >= dies;
        oracle.recent_failures >= 2 || dies == 1 || is_all_dies
    }
}
