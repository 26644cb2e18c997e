//! The device below a scheme under test: flash that is sound, recorded or failing.
//!
//! It is one type for all three, and for operations that take time and those that take none: every
//! scheme is compiled once for each type of device, which takes longer than all else in this crate
//! together.

use std::sync::Arc;

use flash::{
    Cell, CellMode, Chip, Exposure, Faulty, Flash, FlashError, Full, Geometry, Operations, Page, Pbn, Ppn,
    ProgramOrder, Scan, Tag,
};
use ftl::{FlashOp, Moment, Nanos, Task, Timed, Timing};

use crate::Stamp;
use crate::inject::tracing_chip::FaultTracingChip;
use crate::report::black_box::{self, Log, Target};
use crate::report::recorder::Recorder;

/// The device below a scheme under test.
pub type CheckedDevice = Timed<CheckedFlash, FixedTimes>;

/// Flash that is sound, recorded or failing, as the case asks.
pub struct CheckedFlash {
    kind: Kind,
    /// What it was asked for, while a case is explained.
    log: Option<Log>,
}

enum Kind {
    Sound(Chip<Full<Stamp>>),
    Recorded(Recorder),
    Failing(FaultTracingChip),
}

impl CheckedFlash {
    /// Flash with a plan of faults, of which no record is kept.
    pub fn faulty(flash: Faulty<Stamp>) -> Self {
        Recorder::onto(flash, None).into()
    }

    /// The fault injector and its chip, of flash that is recorded or [`faulty`](Self::faulty).
    pub fn injector(&mut self) -> Option<&mut Faulty<Stamp>> {
        match &mut self.kind {
            Kind::Recorded(recorder) => Some(recorder.flash_mut()),
            Kind::Sound(_) | Kind::Failing(_) => None,
        }
    }

    /// The recorder of flash that was made from one.
    pub(crate) fn recorder(&self) -> &Recorder {
        let Kind::Recorded(recorder) = &self.kind else { unreachable!("the flash is not recorded") };
        recorder
    }

    /// The planned faults and the chip, of flash that was made from them.
    pub(crate) fn frail(&self) -> &FaultTracingChip {
        let Kind::Failing(frail) = &self.kind else { unreachable!("the flash does not fail") };
        frail
    }

    pub(crate) fn frail_mut(&mut self) -> &mut FaultTracingChip {
        let Kind::Failing(frail) = &mut self.kind else { unreachable!("the flash does not fail") };
        frail
    }

    /// What was asked of flash that fails, operation by operation, if that was recorded.
    pub(crate) fn into_record(self) -> Vec<FlashOp> {
        if let Kind::Failing(frail) = self.kind { frail.take_record() } else { Vec::new() }
    }
}

impl CheckedFlash {
    fn of(kind: Kind) -> Self {
        let mut flash = Self { kind, log: None };
        flash.log = black_box::journal(&flash, |ppn| flash.cell(ppn));
        flash
    }

    /// The device that it is, with the time that its operations take.
    pub(crate) fn timed(self, mut timing: FixedTimes) -> CheckedDevice {
        timing.log.clone_from(&self.log);
        Timed { chip: self, timing }
    }

    fn cell(&self, ppn: Ppn) -> Cell<Stamp> {
        let chip = match &self.kind {
            Kind::Sound(chip) => chip,
            Kind::Recorded(recorder) => recorder.flash().chip(),
            Kind::Failing(frail) => frail.chip(),
        };
        chip.store().cell(ppn.index()).clone()
    }

    /// Logs an operation on a page, if that is wanted.
    fn log<T>(&self, op: FlashOp, ppn: Ppn, tag: Option<&Tag>, result: &Result<T, FlashError>) {
        if let Some(log) = &self.log {
            let target = Target { op, pbn: self.geometry().block_of(ppn), ppn: Some(ppn), tag: tag.copied() };
            black_box::log(log, target, result.as_ref().err().cloned(), |ppn| self.cell(ppn));
        }
    }
}

impl From<Chip<Full<Stamp>>> for CheckedFlash {
    fn from(chip: Chip<Full<Stamp>>) -> Self {
        Self::of(Kind::Sound(chip))
    }
}

impl From<Recorder> for CheckedFlash {
    fn from(recorder: Recorder) -> Self {
        Self::of(Kind::Recorded(recorder))
    }
}

impl From<FaultTracingChip> for CheckedFlash {
    fn from(frail: FaultTracingChip) -> Self {
        Self::of(Kind::Failing(frail))
    }
}

/// The same call of whichever flash there is.
macro_rules! ask {
    ($flash:expr, $method:ident($($argument:expr),*)) => {
        match $flash {
            Kind::Sound(chip) => chip.$method($($argument),*),
            Kind::Recorded(recorder) => recorder.$method($($argument),*),
            Kind::Failing(frail) => frail.$method($($argument),*),
        }
    };
}

impl Flash for CheckedFlash {
    type Data = Stamp;

    #[inline]
    fn geometry(&self) -> &Geometry {
        ask!(&self.kind, geometry())
    }

    fn read(&mut self, ppn: Ppn) -> Result<Page<Stamp>, FlashError> {
        let result = ask!(&mut self.kind, read(ppn));
        self.log(FlashOp::Read, ppn, None, &result);
        result
    }

    fn program(&mut self, ppn: Ppn, tag: &Tag, data: Stamp) -> Result<(), FlashError> {
        let result = ask!(&mut self.kind, program(ppn, tag, data));
        self.log(FlashOp::Program, ppn, Some(tag), &result);
        result
    }

    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        let result = ask!(&mut self.kind, erase(pbn));
        if let Some(log) = &self.log {
            let target = Target { op: FlashOp::Erase, pbn, ppn: None, tag: None };
            black_box::log(log, target, result.as_ref().err().cloned(), |ppn| self.cell(ppn));
        }
        result
    }

    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FlashError> {
        let result = ask!(&mut self.kind, scan(ppn));
        self.log(FlashOp::Read, ppn, None, &result);
        result
    }

    fn mark_bad(&mut self, pbn: Pbn) {
        ask!(&mut self.kind, mark_bad(pbn));
        if let Some(log) = &self.log {
            log.borrow_mut().bad.insert(pbn);
        }
    }

    #[inline]
    fn peek(&self, ppn: Ppn) -> Option<u32> {
        ask!(&self.kind, peek(ppn))
    }

    fn tag(&self, ppn: Ppn) -> Option<Tag> {
        ask!(&self.kind, tag(ppn))
    }

    fn load(&mut self, ppn: Ppn, bytes: &[u8]) {
        ask!(&mut self.kind, load(ppn, bytes));
    }

    fn loaded(&self, ppn: Ppn) -> Option<Arc<[u8]>> {
        ask!(&self.kind, loaded(ppn))
    }

    #[inline]
    fn next_page(&self, pbn: Pbn) -> u32 {
        ask!(&self.kind, next_page(pbn))
    }

    #[inline]
    fn erase_count(&self, pbn: Pbn) -> u32 {
        ask!(&self.kind, erase_count(pbn))
    }

    fn pslc_erase_count(&self, pbn: Pbn) -> u32 {
        ask!(&self.kind, pslc_erase_count(pbn))
    }

    fn pslc_pages(&self) -> u32 {
        ask!(&self.kind, pslc_pages())
    }

    #[inline]
    fn cell_mode(&self, pbn: Pbn) -> CellMode {
        ask!(&self.kind, cell_mode(pbn))
    }

    fn set_cell_mode(&mut self, pbn: Pbn, mode: CellMode) -> Result<(), FlashError> {
        ask!(&mut self.kind, set_cell_mode(pbn, mode))
    }

    fn is_bad(&self, pbn: Pbn) -> bool {
        ask!(&self.kind, is_bad(pbn))
    }

    fn program_order(&self) -> ProgramOrder {
        ask!(&self.kind, program_order())
    }

    fn exposure(&self) -> Option<&Exposure> {
        ask!(&self.kind, exposure())
    }

    fn operations(&self) -> Operations {
        ask!(&self.kind, operations())
    }
}

/// Each kind of operation takes as long as the next one of its kind, and waits for nothing.
#[derive(Default)]
pub struct FixedTimes {
    takes: [u64; 3],
    now: Nanos,
    last_end: Nanos,
    /// Where it says why operations are done, while a case is explained.
    log: Option<Log>,
}

impl FixedTimes {
    /// What reads, programs and erases take, in nanoseconds. [`default`](Self::default) has them
    /// take none.
    pub(crate) fn new(takes: [u64; 3]) -> Self {
        Self { takes, ..Self::default() }
    }

    /// When the last operation ends, those included that nobody waits for.
    pub(crate) fn last_end(&self) -> Nanos {
        self.last_end
    }
}

impl Timing for FixedTimes {
    ftl::known_ends! { is_traced is_buffered trace join wait_beside delay take_command hand_over slowest_page programmed_at_once end_background }

    #[inline]
    fn perform(&mut self, task: Task, after: Moment) -> Moment {
        let end = after.earliest + self.estimate(task, after);
        self.last_end = end.max(self.last_end);
        if let Some(log) = &self.log {
            log.borrow_mut().charge(task.cause);
        }
        Moment::at(end)
    }

    fn is_over(&self, moment: Moment) -> bool {
        moment.earliest <= self.now
    }

    #[inline]
    fn estimate(&self, task: Task, _from: Moment) -> Nanos {
        Nanos(self.takes[task.op as usize])
    }

    fn busy(&self, _channel: u32, _from: Moment) -> Nanos {
        Nanos::ZERO
    }

    fn now(&self) -> Nanos {
        self.now
    }

    #[inline]
    fn pass_until(&mut self, at: Nanos) {
        self.now = at;
    }

    #[inline]
    fn wait(&mut self, moment: Moment) -> Nanos {
        self.now = moment.earliest;
        self.now
    }

    fn reset(&mut self) {
        self.now = Nanos::ZERO;
    }
}
