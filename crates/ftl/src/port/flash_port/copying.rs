//! Copies of many pages, one after the other, as merges and collections make them.
//!
//! Where the pages go is known before the first of them is read. So what is the same for all of
//! them is found out once: block, die and mode of the target, and those of a source as long as the
//! pages come from one block. A chip whose tags are logical numbers alone copies a run of pages at
//! once, and the port only accounts for them. It programs a run of pages that the host writes one
//! by one at once, too.

use flash::{Flash, Lpn, Page, PageCopy, Pbn, Ppn};

use super::{FlashPort, hash_event};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::label::Label;
use crate::port::timing::{FlashOp, Task, Timing};

/// Why copies ended before the last one.
pub enum CopyEnd<D> {
    /// The next page was read, and cannot be corrected.
    Unreadable,
    /// The next page was read, and its program failed.
    NotProgrammed(Page<D>),
    /// Anything else.
    Error(FtlError),
}

/// Pages that are copied at once at most.
const RUN: usize = 64;

/// A block as tasks tell of it.
struct BlockTask {
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
        pages: &[PageCopy],
        (to, cause): (Pbn, Option<Cause>),
        mut label: impl FnMut(&PageCopy, &Page<D::Data>) -> Label,
    ) -> (usize, Result<(), CopyEnd<D::Data>>) {
        debug_assert!(self.padding.is_empty() || self.cause != Cause::Host, "pages are copied as padding");
        let pages_per_block = self.geometry().pages_per_block();
        let mut target = self.spot(FlashOp::Program, to);
        target.task.cause = cause.unwrap_or(self.cause);
        let mut source = self.spot(FlashOp::Read, to);
        let mut done = self.copy_runs(pages, &target, &mut label);
        for copy in &pages[done..] {
            let from = copy.from;
            if from.get().wrapping_sub(source.first) >= pages_per_block {
                source = self.spot(FlashOp::Read, self.geometry().block_of(from));
            }
            let page = match self.device.chip_mut().read(from) {
                Ok(page) => page,
                Err(error) => {
                    let error = self.failed(FlashOp::Read, source.task.pbn, from.get(), error);
                    let is_lost = error.is_uncorrectable();
                    return (done, Err(if is_lost { CopyEnd::Unreadable } else { CopyEnd::Error(error) }));
                }
            };
            self.account_task(Task { page: from.get() - source.first, ..source.task }, from.get());
            let page = if self.retyped.is_some() { self.with_new_type(from, page) } else { page };
            let label = label(copy, &page);
            if let Err((page, error)) = self.program_copied(&target, copy.offset, label, page) {
                let has_failed = error.is_program_failure();
                let why = if has_failed { CopyEnd::NotProgrammed(page) } else { CopyEnd::Error(error) };
                return (done, Err(why));
            }
            done += 1;
        }
        (done, Ok(()))
    }

    /// Whether what is done to pages concerns each of them alone.
    #[inline]
    fn watches_pages(&self) -> bool {
        let is_watched = self.exposed.is_some() || self.retyped.is_some() || self.bit_errors.is_some();
        is_watched || self.device.timing().is_traced()
    }

    /// Programs pages without content and hint, each for a logical page and as data, one after the
    /// other. Returns how many were programmed before the first that has to be programmed alone,
    /// or fails.
    pub fn program_run(&mut self, pages: &[Ppn], lpns: &[Lpn]) -> usize {
        if self.watches_pages() || !self.padding.is_empty() || !self.completion.rests.is_empty() {
            return 0;
        }
        let done = self.device.chip_mut().program_run(pages, lpns);
        let mut hash = self.hash;
        for &ppn in &pages[..done] {
            let (pbn, page) = self.geometry.split(ppn);
            let task = self.task(FlashOp::Program, (pbn, page), false);
            self.cursor = self.device.timing_mut().perform(task, self.cursor);
            hash = hash_event(hash, FlashOp::Program, self.cause, ppn.get());
        }
        self.hash = hash;
        self.seq += done as u64;
        self.tally.add(self.cause, FlashOp::Program, done as u64);
        done
    }

    /// Copies pages in runs, while the chip can and no observer needs single pages.
    #[inline]
    fn copy_runs(
        &mut self,
        pages: &[PageCopy],
        target: &BlockTask,
        label: &mut impl FnMut(&PageCopy, &Page<D::Data>) -> Label,
    ) -> usize {
        let is_watched = self.watches_pages();
        let mut done = 0;
        while !is_watched && done < pages.len() {
            let mut logical = [0; RUN];
            let copied = self.device.chip_mut().copy_run(&pages[done..], target.task.pbn, &mut logical);
            if copied == 0 {
                break;
            }
            let run = &pages[done..done + copied];
            for (copy, &logical) in run.iter().zip(&logical) {
                let label = label(copy, &Page { logical, version: 0, hint: 0, data: D::Data::default() });
                debug_assert_eq!(label.logical, logical, "{} is copied as another page", copy.from);
            }
            self.account_copies(run, target);
            done += copied;
        }
        done
    }

    /// Accounts for pages that were read and programmed one after the other.
    #[inline]
    fn account_copies(&mut self, run: &[PageCopy], target: &BlockTask) {
        let pages_per_block = self.geometry().pages_per_block();
        let (mut source, mut hash) = (self.spot(FlashOp::Read, target.task.pbn), self.hash);
        let (read_by, programmed_by) = (self.cause, target.task.cause);
        for &PageCopy { from, offset } in run {
            if from.get().wrapping_sub(source.first) >= pages_per_block {
                source = self.spot(FlashOp::Read, self.geometry().block_of(from));
            }
            let read = Task { page: from.get() - source.first, ..source.task };
            let program = Task { page: offset, ..target.task };
            let read_at = self.device.timing_mut().perform(read, self.cursor);
            self.cursor = self.device.timing_mut().perform(program, read_at);
            hash = hash_event(hash, FlashOp::Read, read_by, from.get());
            hash = hash_event(hash, FlashOp::Program, programmed_by, target.first + offset);
        }
        self.hash = hash;
        self.seq += run.len() as u64;
        self.tally.add(read_by, FlashOp::Read, run.len() as u64);
        self.tally.add(programmed_by, FlashOp::Program, run.len() as u64);
    }

    #[expect(clippy::inline_always, reason = "one more call for every page that is copied")]
    #[inline(always)]
    fn program_copied(
        &mut self,
        target: &BlockTask,
        offset: u32,
        label: Label,
        page: Page<D::Data>,
    ) -> Result<(), (Page<D::Data>, FtlError)> {
        let to = Ppn::new(target.first + offset);
        self.seq += 1;
        let tag = label.tag(self.seq, page.version, page.hint);
        match self.device.chip_mut().program(to, &tag, page.data.clone()) {
            Ok(()) => {
                self.account_task(Task { page: offset, ..target.task }, to.get());
                if self.exposed.is_some() {
                    self.on_programmed(to, label, true);
                }
                if self.retyped.is_some() {
                    self.tag_is_new(label);
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
    fn spot(&self, op: FlashOp, pbn: Pbn) -> BlockTask {
        let task = self.task(op, (pbn, 0), op == FlashOp::Program);
        BlockTask { first: self.geometry().page(pbn, 0).get(), task }
    }
}

#[cfg(test)]
mod tests {
    use flash::{Blank, Chip, Fault, FaultPlan, Faulty, Flash, Full, Lbn, Lean, Role, Tear};
    use testkit::TestFlash;

    use super::*;
    use crate::port::device::Timed;
    use crate::port::label::Content;
    use crate::port::timing::Untimed;

    type Port = FlashPort<Timed<Faulty<u64>, Untimed>>;

    const fn copy(from: u32, offset: u32) -> PageCopy {
        PageCopy { from: Ppn::new(from), offset }
    }

    /// Pages of two blocks, which are copied to a third with a gap.
    const COPIES: [PageCopy; 5] = [copy(0, 0), copy(6, 1), copy(2, 3), copy(4, 4), copy(3, 5)];

    fn label(offset: u32) -> Label {
        Label::of(90 + offset, Role::Collected, Lbn::new(7))
    }

    /// Twelve pages are programmed; then something fails.
    fn port(at: u64, fault: Fault) -> Port {
        let chip: Chip<Full<u64>> = TestFlash::new(3, 6).chip();
        let plan = FaultPlan { at: [(12 + at, fault)].into() };
        let mut flash = FlashPort::new(Timed { chip: Faulty::new(chip, plan), timing: Untimed });
        for ppn in 0..12 {
            flash.put(Ppn::new(ppn), Label::new(ppn, Role::Data), Content::Hinted(50, 3)).expect("programmed");
        }
        flash
    }

    /// What flash and port say afterwards.
    fn state(flash: &Port) -> impl PartialEq + std::fmt::Debug {
        let tags: Vec<_> = (0..18).map(|ppn| flash.chip().tag(Ppn::new(ppn))).collect();
        (flash.event_hash(), *flash.tally(), flash.last_version(), tags)
    }

    #[test]
    fn copies_in_one_go_are_those_made_one_by_one_whatever_fails() {
        let faults = [Fault::ReadFails, Fault::ProgramFails, Fault::Cut(Tear::After), Fault::ReadCorrected];
        for (at, fault) in (0..11).flat_map(|at| faults.map(|fault| (at, fault))) {
            let (mut one_go, mut one_by_one) = (port(at, fault), port(at, fault));
            let to = Pbn::new(2);
            let by_offset = |copy: &PageCopy, _: &Page<u64>| label(copy.offset);
            let (done, copied) =
                one_go.with_cause(Cause::Merge, |flash| flash.copy_pages(&COPIES, (to, None), by_offset));
            let singles = |flash: &mut Port| {
                COPIES.iter().try_for_each(|&PageCopy { from, offset }| {
                    let page = flash.read(from)?;
                    flash.put(Ppn::new(12 + offset), label(offset), Content::Copy(page))
                })
            };
            let result = one_by_one.with_cause(Cause::Merge, singles);
            assert_eq!(state(&one_go), state(&one_by_one), "{fault:?} at {at}");
            assert_eq!(done, if result.is_ok() { 5 } else { at as usize / 2 }, "{fault:?} at {at}");
            let is_alike = match (copied, result) {
                (Ok(()), Ok(())) => true,
                (Err(CopyEnd::Unreadable), Err(error)) => error.is_uncorrectable(),
                (Err(CopyEnd::NotProgrammed(page)), Err(error)) => error.is_program_failure() && page.data == 50,
                (Err(CopyEnd::Error(error)), Err(other)) => error.is_power_cut() && other.is_power_cut(),
                _ => false,
            };
            assert!(is_alike, "{fault:?} at {at}");
        }
    }

    #[test]
    fn programs_may_have_another_cause_than_their_reads() {
        let mut flash = port(100, Fault::ReadFails);
        let by_offset = |copy: &PageCopy, _: &Page<u64>| label(copy.offset);
        let (done, _) = flash.copy_pages(&COPIES, (Pbn::new(2), Some(Cause::Merge)), by_offset);
        let count = |cause, op| flash.tally().count(cause, op);
        assert_eq!((done, count(Cause::Host, FlashOp::Read), count(Cause::Merge, FlashOp::Program)), (5, 5, 5));
    }

    /// Pages of a chip that keeps numbers alone and of one that keeps all are copied.
    fn copied<S: Blank>(copies: &[PageCopy]) -> String {
        let mut flash = FlashPort::new(Timed { chip: TestFlash::new(4, 80).chip::<S>(), timing: Untimed });
        (0..160).for_each(|ppn| flash.program(Ppn::new(ppn), label(ppn), S::Data::default()).expect("programmed"));
        let to = (Pbn::new(3), Some(Cause::Merge));
        let (done, _) = flash.copy_pages(copies, to, |copy, _| label(copy.from.get()));
        let after = (flash.event_hash(), *flash.tally(), flash.last_version(), flash.chip().operations());
        let pages: Vec<_> = (0..320).map(|ppn| flash.chip().peek(Ppn::new(ppn))).collect();
        format!("{done} {after:?} {pages:?} {}", flash.chip().next_page(to.0))
    }

    #[test]
    fn copies_in_runs_are_those_of_single_pages() {
        let all: Vec<_> = (0..80).map(|offset| copy(offset * 7 % 160, offset)).collect();
        let gap: Vec<_> = (0..70).map(|offset| copy(offset + 50, offset + offset / 30)).collect();
        let erased: Vec<_> = (0..70).map(|offset| copy(offset + 100, offset)).collect();
        let back: Vec<_> = (0..70).map(|offset| copy(offset, offset % 40)).collect();
        let far: Vec<_> = (0..80).map(|offset| copy(offset * 5, offset)).collect();
        for copies in [&all[..], &all[..1], &gap, &erased, &back, &far] {
            assert_eq!(copied::<Lean>(copies), copied::<Full<()>>(copies), "{copies:?}");
        }
    }
}
