//! A device that fails as planned, and remembers which faults took effect and what they destroyed.
//!
//! A plan may name operations that a fault does not fit; those do nothing. What did take effect is
//! the run's replay line, and tells the host which pages may be lost and which blocks have failed.
//! The scheme sees none of this.

use flash::{
    Cell, Chip, Fault, FaultPlan, Faulty, Flash, FlashError, Full, MediaEvent, Page, Pbn, Ppn, Role, Scan, Tag,
};
use ftl::FlashOp;

use crate::case::fault::InjectedFault;
use crate::shared::Shared;
use crate::stamp::Stamp;

/// A fault that took effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// When, and what.
    pub(crate) injected: InjectedFault,
    /// For a failed read: the data that were lost, if they were the host's.
    pub(crate) lost: Option<Stamp>,
    /// For a failed program or erase: the block.
    pub(crate) failed: Option<Pbn>,
}

/// The faults that took effect so far; shared with callers that need them even after the scheme
/// has panicked.
pub(crate) type Hits = Shared<Vec<Hit>>;

/// A chip with a plan of faults.
pub(crate) struct FaultTracingChip {
    flash: Faulty<Stamp>,
    plan: FaultPlan,
    /// Operations before the power was last turned on.
    before: u64,
    hits: Hits,
    /// What was asked for, if that is recorded.
    record: Option<Vec<FlashOp>>,
}

impl FaultTracingChip {
    pub(crate) fn new(chip: Chip<Full<Stamp>>, plan: FaultPlan, hits: Hits, records: bool) -> Self {
        let flash = Faulty::new(chip, plan.clone());
        Self { flash, plan, before: 0, hits, record: records.then(Vec::new) }
    }

    /// The chip, to look at.
    pub(crate) fn chip(&self) -> &Chip<Full<Stamp>> {
        self.flash.chip()
    }

    /// Takes out what was asked for, operation by operation.
    pub(crate) fn take_record(&mut self) -> Vec<FlashOp> {
        self.record.take().unwrap_or_default()
    }

    /// Reads that were corrected.
    pub(crate) fn corrected_reads(&self) -> u64 {
        self.flash.corrected_reads()
    }

    /// Turns the power on again; the rest of the plan stays.
    pub(crate) fn restore_power(&mut self) {
        self.before += self.flash.operation();
        let rest = self.plan.at.range(self.before..).map(|(&at, &fault)| (at - self.before, fault)).collect();
        self.flash.restore_power(FaultPlan { at: rest });
    }

    fn operation(&self) -> u64 {
        self.before + self.flash.operation()
    }

    fn record(&mut self, op: FlashOp) {
        if let Some(record) = &mut self.record {
            record.push(op);
        }
    }

    fn hit(&mut self, operation: u64, fault: Fault, lost: Option<Stamp>, failed: Option<Pbn>) {
        self.hits.borrow_mut().push(Hit { injected: InjectedFault { operation, fault }, lost, failed });
    }

    /// Notes what an operation's answer tells of faults.
    fn watch<T>(&mut self, operation: u64, result: Result<T, FlashError>) -> Result<T, FlashError> {
        match result.as_ref().err().and_then(FlashError::media_event) {
            Some(MediaEvent::ProgramFailed(ppn)) => {
                let pbn = self.geometry().block_of(ppn);
                self.hit(operation, Fault::ProgramFails, None, Some(pbn));
            }
            Some(MediaEvent::EraseFailed(pbn)) => self.hit(operation, Fault::EraseFails, None, Some(pbn)),
            Some(MediaEvent::PowerCut) => {
                if let Some(&cut @ Fault::Cut(_)) = self.plan.at.get(&operation) {
                    self.hit(operation, cut, None, None);
                }
            }
            Some(MediaEvent::Uncorrectable(_)) | None => {}
        }
        result
    }
}

impl Flash for FaultTracingChip {
    type Data = Stamp;

    flash::pass_on_flash!(flash);

    fn mark_bad(&mut self, pbn: Pbn) {
        self.flash.mark_bad(pbn);
    }

    fn read(&mut self, ppn: Ppn) -> Result<Page<Stamp>, FlashError> {
        self.record(FlashOp::Read);
        let (operation, corrected) = (self.operation(), self.flash.corrected_reads());
        let held = match self.chip().store().cell(ppn.index()) {
            Cell::Programmed(tag, stamp) if tag.role != Role::Lost => Some((*tag, *stamp)),
            _ => None,
        };
        let result = self.flash.read(ppn);
        if self.flash.corrected_reads() > corrected {
            self.hit(operation, Fault::ReadCorrected, None, None);
        }
        if let (Some((tag, stamp)), Err(FlashError::Media(MediaEvent::Uncorrectable(_)))) = (held, &result) {
            let is_data = !tag.role.is_translation() && tag.role != Role::Trimmed;
            self.hit(operation, Fault::ReadFails, is_data.then_some(stamp), None);
        }
        self.watch(operation, result)
    }

    fn program(&mut self, ppn: Ppn, tag: &Tag, data: Stamp) -> Result<(), FlashError> {
        self.record(FlashOp::Program);
        let operation = self.operation();
        let result = self.flash.program(ppn, tag, data);
        self.watch(operation, result)
    }

    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        self.record(FlashOp::Erase);
        let operation = self.operation();
        let result = self.flash.erase(pbn);
        self.watch(operation, result)
    }

    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FlashError> {
        self.record(FlashOp::Read);
        let operation = self.operation();
        let result = self.flash.scan(ppn);
        self.watch(operation, result)
    }
}
