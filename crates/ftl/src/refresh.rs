//! Refresh: a block whose content decays is relocated before reads fail, once for all mappings.
//!
//! The flash port predicts how many bits of a block are wrong, and names a block for which they
//! are too many ([`BitErrors`](crate::BitErrors)). One block at most is moved for each run of pages
//! that the host reads or writes, behind it, so refreshing never goes on for ever. What is done for
//! it stands under [`Cause::Refresh`].
//!
//! Limits: nothing is refreshed in idle time, whose length nobody knows to be enough for a block.

use crate::api::mapping::Mapping;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::wear::relocation::relocate;

/// Refreshes a block, if one is due.
pub(crate) fn refresh<D: Device>(mapping: &mut dyn Mapping<D>, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
    let Some(pbn) = flash.next_to_refresh() else { return Ok(()) };
    let outcome = flash.relocating_for(Cause::Refresh, |flash| relocate(mapping, flash, pbn))?;
    flash.on_refreshed(pbn, outcome);
    Ok(())
}
