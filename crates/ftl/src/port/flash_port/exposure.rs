//! Flash without a capacitor: what has to be programmed before a block may be erased, and before a
//! flush is over.

use flash::{FlashError, Pbn, Ppn, Role, Rule, Violation};

use super::FlashPort;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::exposed_pages::FillUp;
use crate::port::label::Label;
use crate::port::timing::{FlashOp, Timing};

impl<D: Device> FlashPort<D> {
    /// Whether a power cut may take pages whose programs have ended.
    #[inline]
    pub fn exposes_pages(&self) -> bool {
        self.exposed.is_some()
    }

    /// What has to be programmed before a block may be erased: each block up to a page offset.
    pub fn to_fill_before_erase(&self, pbn: Pbn) -> Vec<FillUp> {
        self.exposed.as_ref().map_or_else(Vec::new, |exposed| exposed.before_erase(pbn))
    }

    /// What has to be programmed until a power cut takes no page of the host's.
    pub fn to_fill(&self) -> Vec<FillUp> {
        self.exposed.as_ref().map_or_else(Vec::new, |exposed| exposed.all())
    }

    /// Waits for the programs that have made pages safe, whichever request they were of: until they
    /// end, a power cut takes those pages still.
    pub fn await_completed(&mut self) {
        let ends = self.exposed.as_mut().map_or_else(Vec::new, |exposed| exposed.take_completed());
        for end in ends {
            self.cursor = self.device.timing_mut().wait_beside(self.cursor, end);
        }
    }

    /// Programs a page without content, so that a power cut takes none before it.
    pub fn program_padding(&mut self, ppn: Ppn) -> Result<(), FtlError> {
        let label = Label::new(self.geometry().block_of(ppn).get(), Role::Padding);
        self.with_cause(Cause::UnitPadding, |flash| flash.program(ppn, label, D::Data::default()))
    }

    /// A page was programmed on a device that exposes pages.
    #[inline(never)]
    pub(super) fn on_programmed(&mut self, ppn: Ppn, label: Label, copies: bool) {
        let geometry = *self.geometry();
        let (pbn, offset) = geometry.split(ppn);
        let end = self.cursor;
        if let Some(exposed) = &mut self.exposed {
            exposed.on_programmed((ppn, pbn, offset), label, (copies, end), |ppn| geometry.block_of(ppn));
        }
    }

    /// A page failed, which completes what it is programmed with as any other does.
    pub(super) fn on_program_failed(&mut self, ppn: Ppn) {
        let (pbn, offset) = self.geometry().split(ppn);
        let end = self.cursor;
        if let Some(exposed) = &mut self.exposed {
            exposed.on_filled(pbn, offset, end);
        }
    }

    /// Refuses to give up a block that holds what an exposed page replaces; else forgets it.
    #[inline(never)]
    pub(super) fn give_up(&mut self, pbn: Pbn) -> Result<(), FtlError> {
        if let Some((other, end)) = self.to_fill_before_erase(pbn).first() {
            let operation = FlashOp::Erase.name();
            let state =
                format!("a power cut takes what replaces them in {other}, unless that is filled up to page {end}");
            let violation = Violation { rule: Rule::EraseWhatIsReplaced, operation, block: pbn, page: None, state };
            return Err(self.stop(FlashError::Violation(Box::new(violation))));
        }
        self.forget_exposed(pbn);
        Ok(())
    }

    /// Nobody needs the pages of a block any more.
    pub(super) fn forget_exposed(&mut self, pbn: Pbn) {
        if let Some(exposed) = &mut self.exposed {
            exposed.forget(pbn);
        }
    }
}
