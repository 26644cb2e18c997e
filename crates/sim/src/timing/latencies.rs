//! What single flash operations take.

use ftl::FlashOp;
use serde::{Deserialize, Serialize};

/// What operations take, in nanoseconds, each at most [`Latencies::MAX_NS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    /// Sensing a page (tR).
    pub read_ns: u64,
    /// Programming a page (tPROG).
    pub program_ns: u64,
    /// Erasing a block (tBERS).
    pub erase_ns: u64,
    /// Moving one page over the channel, command included.
    pub transfer_ns: u64,
}

impl Latencies {
    /// One minute: far above any flash, far below what could overflow a 64-bit clock within a run.
    pub const MAX_NS: u64 = 60_000_000_000;

    /// What an operation takes on an idle device, in nanoseconds.
    pub(crate) fn alone_ns(&self, op: FlashOp) -> u64 {
        match op {
            FlashOp::Read => self.read_ns + self.transfer_ns,
            FlashOp::Program => self.transfer_ns + self.program_ns,
            FlashOp::Erase => self.erase_ns,
        }
    }
}
