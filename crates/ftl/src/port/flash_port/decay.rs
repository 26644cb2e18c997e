//! Flash whose bits decay: reads that are tried again, and blocks that are to be refreshed.

use flash::Pbn;

use super::FlashPort;
use crate::api::wear::RelocateOutcome;
use crate::port::bit_errors::BitErrors;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::timing::{FlashOp, Task, Timing};

impl<D: Device> FlashPort<D> {
    /// The same port to flash whose bits decay.
    #[must_use]
    pub fn with_bit_errors(self, bit_errors: Option<BitErrors>) -> Self {
        Self { bit_errors: bit_errors.map(Box::new), ..self }
    }

    /// A new port to the same flash, whose power was cut: its bits go on decaying.
    #[must_use]
    pub fn power_cycled(self) -> Self {
        Self { bit_errors: self.bit_errors, ..Self::new(self.device) }
    }

    /// The bit errors of reads, where they are modelled.
    #[inline]
    pub fn bit_errors(&self) -> Option<&BitErrors> {
        self.bit_errors.as_deref()
    }

    /// A block whose content is to be moved before it decays, if there is one.
    pub(crate) fn next_to_refresh(&mut self) -> Option<Pbn> {
        let now = self.device.timing().now();
        self.bit_errors.as_mut()?.next_to_refresh(self.device.chip(), now)
    }

    /// What became of that block.
    pub(crate) fn on_refreshed(&mut self, pbn: Pbn, outcome: RelocateOutcome) {
        if let Some(bit_errors) = &mut self.bit_errors {
            bit_errors.on_refreshed(pbn, outcome);
        }
    }

    /// Has a block relocated for a cause of its own: what a mapping then charges to
    /// [`Cause::WearLevelling`] stands under that.
    pub(crate) fn relocating_for<R>(&mut self, cause: Cause, relocate: impl FnOnce(&mut Self) -> R) -> R {
        self.relocation_cause = cause;
        let result = relocate(self);
        self.relocation_cause = Cause::WearLevelling;
        result
    }

    /// An operation changes how many bits of its block are wrong. A read is tried again until few
    /// enough are: each retry is a read of its own to the device's timing, and follows the try
    /// before it. To the counts and the hash it is part of its read. A page that waits in a buffer
    /// of the device is read there, where no bit decays.
    #[inline(never)]
    pub(super) fn decay(&mut self, task: Task, address: u32) {
        let now = self.device.timing().now();
        let Some(bit_errors) = &mut self.bit_errors else { return };
        match task.op {
            FlashOp::Program => bit_errors.on_programmed(task.pbn, now),
            FlashOp::Erase => bit_errors.on_erased(task.pbn),
            FlashOp::Read if self.device.timing().is_buffered(task) => {}
            FlashOp::Read => {
                let retry_latency = bit_errors.retry_latency();
                for _ in 0..bit_errors.on_read(self.device.chip(), task.pbn, now) {
                    self.spend(retry_latency);
                    self.cursor = self.device.timing_mut().perform(task, self.cursor);
                    if self.device.timing().is_traced() {
                        self.trace(task, address);
                    }
                }
            }
        }
    }
}
