//! The canary uses idle time: it collects a block when the prices of the operations say that there
//! is time for it.

use flash::Pbn;
use ftl::{Cause, Device, FlashOp, FlashPort, FtlError, Nanos};

use super::{Bug, Canary};
use crate::Stamp;

impl Canary {
    /// Collects one block, if that gains anything and is done in time.
    pub(super) fn use_idle_time<D: Device<Data = Stamp>>(
        &mut self,
        flash: &mut FlashPort<D>,
        budget: Nanos,
    ) -> Result<(), FtlError> {
        // A free block is left for the next collection. The other bugs are to be found without
        // this.
        let uses_it = matches!(self.bug, Bug::None | Bug::IdleLosesPage | Bug::IdleOverruns);
        let Some(victim) = (uses_it && self.free.len() > 1).then(|| self.take_victim()).flatten() else {
            return Ok(());
        };
        if self.cost(flash, victim) > budget && self.bug != Bug::IdleOverruns {
            self.closed.push(victim);
            return Ok(());
        }
        if self.bug == Bug::IdleLosesPage
            && let Some(lost) = self.valid_in(victim).pop()
        {
            self.forget(lost);
        }
        flash.with_cause(Cause::Collection, |flash| self.empty(flash, victim)).map(drop)
    }

    fn cost<D: Device>(&self, flash: &mut FlashPort<D>, victim: Pbn) -> Nanos {
        let [read, program, erase] = FlashOp::ALL.map(|op| flash.estimate(op, victim).0);
        Nanos(self.valid_in(victim).len() as u64 * (read + program) + erase)
    }
}
