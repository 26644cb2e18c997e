//! Relocation of a block that the host does not wait for, under any mapping: wear levelling asks
//! for it, and refresh.

use flash::Pbn;

use crate::api::mapping::Mapping;
use crate::api::wear::{Deferred, RelocateOutcome};
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;

/// Has a block emptied behind what the host waits for.
pub fn relocate<D: Device>(
    mapping: &mut dyn Mapping<D>,
    flash: &mut FlashPort<D>,
    pbn: Pbn,
) -> Result<RelocateOutcome, FtlError> {
    match flash.in_background(|flash| mapping.relocate_block(flash, pbn)) {
        // What the host asked is done, and the next write says so.
        Err(FtlError::ReadOnly { .. }) => Ok(RelocateOutcome::Deferred(Deferred::ReadOnly)),
        outcome => outcome,
    }
}
