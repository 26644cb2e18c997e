//! Copies of many pages, one after the other, as merges and collections make them.
//!
//! Where the pages go is known before the first of them is read. So what is the same for all of
//! them is found out once: block, die and mode of the target, and those of a source as long as the
//! pages come from one block.

use flash::{Page, Pbn, Ppn};

use super::FlashPort;
use crate::port::cause::Cause;
use crate::port::error::FtlError;
use crate::port::label::Label;
use crate::port::timing::{Device, FlashOp, Task};

/// Why copies ended before the last one.
pub enum Interrupted<D> {
    /// The next page was read, and cannot be corrected.
    Unreadable,
    /// The next page was read, and its program failed.
    NotProgrammed(Page<D>),
    /// Anything else.
    Error(FtlError),
}

/// A page that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCopy {
    /// Where it lies.
    pub from: Ppn,
    /// The offset in the block to which it is copied.
    pub offset: u32,
}

/// A block as tasks tell of it.
struct Spot {
    first: u32,
    task: Task,
}

impl<D: Device> FlashPort<D> {
    /// Copies pages into a block, in order, as if by [`read_for_copy`](Self::read_for_copy) and
    /// [`put`](Self::put); returns how many were copied, and what ended that before the last one.
    /// Their programs may have another cause than their reads. They are copied for no page of the
    /// request in hand, so none of them is padding.
    pub fn copy_pages(
        &mut self,
        pages: impl IntoIterator<Item = PageCopy>,
        (to, cause): (Pbn, Option<Cause>),
        mut label: impl FnMut(&PageCopy, &Page<D::Data>) -> Label,
    ) -> (usize, Result<(), Interrupted<D::Data>>) {
        debug_assert!(self.padding.is_empty() || self.cause != Cause::Host, "pages are copied as padding");
        let pages_per_block = self.device.geometry().pages_per_block();
        let mut target = self.spot(FlashOp::Program, to);
        target.task.cause = cause.unwrap_or(self.cause);
        let mut source = self.spot(FlashOp::Read, to);
        let mut done = 0;
        for copy in pages {
            let from = copy.from;
            if from.get().wrapping_sub(source.first) >= pages_per_block {
                source = self.spot(FlashOp::Read, self.device.geometry().block_of(from));
            }
            let page = match self.device.read(from) {
                Ok(page) => page,
                Err(error) => {
                    let error = self.failed(FlashOp::Read, source.task.pbn, from.get(), error);
                    let is_lost = error.is_uncorrectable();
                    return (done, Err(if is_lost { Interrupted::Unreadable } else { Interrupted::Error(error) }));
                }
            };
            self.account_task(Task { page: from.get() - source.first, ..source.task }, from.get());
            let label = label(&copy, &page);
            if let Err((page, error)) = self.program_copied(&target, copy.offset, label, page) {
                let has_failed = error.is_program_failure();
                let why = if has_failed { Interrupted::NotProgrammed(page) } else { Interrupted::Error(error) };
                return (done, Err(why));
            }
            done += 1;
        }
        (done, Ok(()))
    }

    #[expect(clippy::inline_always, reason = "one more call for every page that is copied")]
    #[inline(always)]
    fn program_copied(
        &mut self,
        target: &Spot,
        offset: u32,
        label: Label,
        page: Page<D::Data>,
    ) -> Result<(), (Page<D::Data>, FtlError)> {
        let to = Ppn::new(target.first + offset);
        self.seq += 1;
        let tag = label.tag(self.seq, page.version, page.hint);
        match self.device.program(to, &tag, page.data.clone()) {
            Ok(()) => {
                self.account_task(Task { page: offset, ..target.task }, to.get());
                if self.exposed.is_some() {
                    self.on_programmed(to, label, true);
                }
                Ok(())
            }
            Err(error) => {
                let failed = |flash: &mut Self| flash.failed(FlashOp::Program, target.task.pbn, to.get(), error);
                Err((page, self.with_cause(target.task.cause, failed)))
            }
        }
    }

    #[inline]
    fn spot(&self, op: FlashOp, pbn: Pbn) -> Spot {
        let task = self.task(op, (pbn, 0), op == FlashOp::Program);
        Spot { first: self.device.geometry().page(pbn, 0).get(), task }
    }
}
