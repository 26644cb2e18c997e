//! What a case that passed amounts to, whichever way it was run.

use ftl::{FlashOp, Tally};

/// What a passed case amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Hash of every flash operation of one run.
    pub event_hash: u64,
    /// Operations by cause, and events, of one run.
    pub tally: Tally,
    /// Host pages written in one run.
    pub pages_written: u64,
}

impl Outcome {
    /// Flash operations of one run.
    pub fn flash_operations(&self) -> u64 {
        FlashOp::ALL.iter().map(|&op| self.tally.total(op)).sum()
    }
}
