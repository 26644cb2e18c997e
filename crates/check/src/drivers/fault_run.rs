//! What a run on failing flash is put through, and what it amounts to; the run itself is in
//! `faults`.

use flash::FaultPlan;
use ftl::FlashOp;

use crate::inject::fault::InjectedFault;
use crate::report::coverage::StateCoverage;

/// What a run on failing flash amounts to.
#[derive(Clone, Debug, Default)]
pub struct FaultRunReport {
    /// Host requests, the prefill's included.
    pub requests: u64,
    /// Faults that took effect.
    pub strikes: Vec<InjectedFault>,
    /// Whether the device became read-only.
    pub read_only: bool,
    /// Whether it did so before the spares were used, because several pages failed while one block
    /// was being collected.
    pub early: bool,
    /// Logical pages that the host found lost.
    pub lost: u64,
    /// Recoveries that were gone through to the end.
    pub recoveries: u64,
    /// Blocks that were marked bad during the run.
    pub grown_bad_blocks: u64,
    /// Host pages written.
    pub pages_written: u64,
    /// Flash operations over the whole run.
    pub flash_operations: u64,
    /// What the scheme went through since the power last came on.
    pub states: StateCoverage,
    /// What the flash was asked for, if that was to be recorded.
    pub operations: Vec<FlashOp>,
}

/// How a run goes besides its case.
#[derive(Clone, Debug, Default)]
pub struct FaultRun {
    /// What fails when.
    pub plan: FaultPlan,
    /// Erases that a block survives; none for no limit.
    pub endurance: Option<u32>,
    /// Whether the operations are recorded.
    pub records: bool,
}
