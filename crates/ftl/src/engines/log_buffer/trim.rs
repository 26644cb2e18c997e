//! How trims of a log-buffer scheme survive a power cut (`docs/recovery.md`).

use flash::Lpn;

use crate::api::hint::Hint;
use crate::api::request::Request;
use crate::engines::log_buffer::machine::LogBuffer;
use crate::engines::log_buffer::policy::{LogPolicy, LogScheme, Place};
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::Content;
use crate::port::timing::Device;
use crate::recovery::trims::Trims;

impl<S: LogScheme> LogBuffer<S> {
    /// Makes pending trims survive a power cut: full merges leave the trimmed pages behind, and either a page of the log says which
    /// copies in older log blocks are void, or those log blocks are merged, too.
    pub(super) fn write_trims_down<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        let runs = self.trims.pending_runs();
        let in_log = self.policy.place_of_trims(&self.log).is_some();
        for &(first, extent) in &runs {
            for run in Request::new(Lpn::new(first), extent).block_runs(self.data.geometry()) {
                if self.data.block(run.lbn).is_some() {
                    self.merge_block(flash, run.lbn, None)?;
                }
                self.log.never_switch(run.lbn);
            }
            if in_log {
                self.append_trim(flash, first, extent)?;
                self.trims.settled(first, extent);
            }
        }
        if in_log {
            return Ok(());
        }
        let trimmed = |lpn: Lpn| {
            let at = runs.partition_point(|&(first, _)| first <= lpn.get());
            at.checked_sub(1).is_some_and(|i| lpn.get() - runs[i].0 < runs[i].1)
        };
        for slot in self.log.holding(flash, trimmed) {
            self.merge_away(flash, slot)?;
        }
        for (first, extent) in runs {
            self.trims.settled(first, extent);
        }
        Ok(())
    }

    fn append_trim<D: Device>(&mut self, flash: &mut FlashPort<D>, first: u32, extent: u32) -> Result<(), FtlError> {
        while let Some(place) = self.policy.place_of_trims(&self.log) {
            match place {
                Place::New(group) => self.make_room(flash, group, Hint::NONE)?,
                Place::In(slot) => {
                    let (label, content) = (Trims::label(first, extent), Content::New(D::Data::default()));
                    let spaces = (&mut self.data, &mut self.blocks);
                    self.log.program(flash, spaces, slot, label, &content, None)?;
                    self.log.holds_trim(slot, first, extent);
                    break;
                }
            }
        }
        Ok(())
    }
}
