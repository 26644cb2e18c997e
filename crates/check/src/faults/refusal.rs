//! Judging a device that refuses: it must have a reason, and must have lost nothing.

use flash::Flash;
use ftl::FtlError;

use super::Trial;
use crate::failure::Fault;
use crate::operation::{Extent, Operation};

impl Trial<'_> {
    /// The device says that it is read-only: it must have a reason, and must have lost nothing.
    pub(super) fn refused(&mut self, operation: Operation, error: &FtlError) -> Result<(), Fault> {
        self.keep_books();
        let spares = self.scheme.spares();
        let failed = self.failed() + u32::from(self.too_few_blocks);
        if spares.used <= spares.total {
            return Err(Fault::ReadOnly(format!("{error}, but only {} of {} are used", spares.used, spares.total)));
        }
        if failed <= spares.total {
            if !self.may_be_early() {
                return Err(Fault::ReadOnly(format!("{error}, but only {failed} blocks have failed")));
            }
            self.endured.early = true;
        }
        (self.read_only, self.endured.read_only) = (true, true);
        let recoveries = self.endured.recoveries;
        let mut trimmed = Vec::new();
        for lpn in operation.extent().into_iter().flat_map(Extent::lpns) {
            // A lost page may have been written before the request stopped.
            self.hit.entry(lpn).and_modify(|told| *told = false);
            let Some(got) = self.fetch(lpn)? else { continue };
            match (self.allowed.compare(lpn, got), operation) {
                // This page of the request was not served.
                (Ok(()), _) => {}
                (Err(_), Operation::Trim(_)) if got == 0 => trimmed.push(lpn),
                (Err(_), Operation::Write(_)) => self.allowed.observe_refused(lpn, got).map_err(Fault::WrongContent)?,
                (Err(mismatch), _) => return Err(Fault::WrongContent(mismatch)),
            }
        }
        self.allowed.forget_request();
        if self.endured.recoveries > recoveries {
            // The power was cut while this was found out. What holds since then is known already.
            return Ok(());
        }
        for lpn in trimmed {
            self.allowed.begin(Operation::Trim(Extent { first: lpn.get(), pages: 1 }));
            self.allowed.acknowledge();
        }
        Ok(())
    }

    /// Whether a device may be read-only although spares are left. Each failure costs a die its last free block until that is
    /// restored: a second one at once, or a cut before that, may find every die without.
    pub(super) fn may_be_early(&self) -> bool {
        let dies = self.door().device().geometry().dies();
        let is_all_dies = self.failed_before > 0 && self.failed_blocks.len() as u32 >= dies;
        self.recent_failures >= 2 || dies == 1 || is_all_dies
    }

    pub(super) fn failed(&self) -> u32 {
        (self.failed_blocks.len() - self.failed_before) as u32
    }
}
