//! Emptying any block of a log-buffer scheme, at any moment.
//!
//! A data block is emptied by a full merge of its logical block. A log block leaves the log before its turn: each logical block with a newest
//! page in it is merged. A page in it that says what was trimmed speaks for older copies in older log blocks, which would come back
//! without it; so those leave before it, oldest first.

use std::collections::BTreeMap;

use flash::{Lpn, Pbn};

use crate::api::relocate::RelocateOutcome;
use crate::engines::log_buffer::machine::LogBuffer;
use crate::engines::log_buffer::policy::LogScheme;
use crate::engines::log_buffer::space::{LogSpace, Slot};
use crate::port::cause::Cause;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::tally::Note;
use crate::port::timing::Device;

impl<S: LogScheme> LogBuffer<S> {
    /// Empties a block, whatever it holds.
    pub(super) fn empty<D: Device>(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        if let Some(known) = self.blocks.needs_no_emptying(pbn) {
            return Ok(known);
        }
        flash.note(Note::Evacuation);
        flash.with_cause(Cause::WearLeveling, |flash| match (self.data.owner_of(pbn), self.log.slot_of(pbn)) {
            (Some(lbn), _) => self.merge_block(flash, lbn, None),
            (None, Some(slot)) => self.make_leave(flash, slot),
            (None, None) => unreachable!("I4: {pbn} is in use, so it is a data block or a log block"),
        })?;
        Ok(self.blocks.fate_of(pbn))
    }

    /// Has a log block leave, and before it those that must.
    fn make_leave<D: Device>(&mut self, flash: &mut FlashPort<D>, slot: Slot) -> Result<(), FtlError> {
        leaving_with(&self.log, flash, slot).into_iter().try_for_each(|slot| self.merge_away(flash, slot))
    }
}

/// The log blocks that leave when one does, oldest first.
fn leaving_with<D: Device>(log: &LogSpace, flash: &FlashPort<D>, slot: Slot) -> Vec<Slot> {
    let age = |slot: Slot| log.block(slot).map_or(0, |block| block.opened);
    let mut leaving = BTreeMap::from([(age(slot), slot)]);
    let mut before = u64::MAX;
    while let Some((&opened, &slot)) = leaving.range(..before).next_back() {
        before = opened;
        let trims = log.trims_in(slot);
        if !trims.is_empty() {
            let is_trimmed = |lpn: Lpn| trims.iter().any(|&(first, extent)| lpn.get().wrapping_sub(first) < extent);
            let older = log.holding(flash, is_trimmed).into_iter().map(|slot| (age(slot), slot));
            leaving.extend(older.filter(|&(age, _)| age < opened));
        }
    }
    leaving.into_values().collect()
}
