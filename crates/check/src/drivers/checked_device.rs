//! The device below a scheme under test: flash that is sound, recorded or failing.
//!
//! It is one type for all three, and for operations that take time and those that take none: every
//! scheme is compiled once for each type of device, which takes longer than all else in this crate
//! together.

use std::sync::Arc;

use flash::{Chip, Faulty, Flash, FlashError, Full, Geometry, Operations, Page, Pbn, Ppn, ProgramOrder, Scan, Tag};
use ftl::{FlashOp, Moment, Nanos, Task, Timed, Timing};

use crate::Stamp;
use crate::inject::tracing_chip::FaultTracingChip;
use crate::report::recorder::Recorder;

/// The device below a scheme under test.
pub type CheckedDevice = Timed<CheckedFlash, FixedTimes>;

/// Flash that is sound, recorded or failing, as the case asks.
pub struct CheckedFlash(Kind);

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
        match &mut self.0 {
            Kind::Recorded(recorder) => Some(recorder.flash_mut()),
            Kind::Sound(_) | Kind::Failing(_) => None,
        }
    }

    /// The recorder of flash that was made from one.
    pub(crate) fn recorder(&self) -> &Recorder {
        let Kind::Recorded(recorder) = &self.0 else { unreachable!("the flash is not recorded") };
        recorder
    }

    /// The planned faults and the chip, of flash that was made from them.
    pub(crate) fn frail(&self) -> &FaultTracingChip {
        let Kind::Failing(frail) = &self.0 else { unreachable!("the flash does not fail") };
        frail
    }

    pub(crate) fn frail_mut(&mut self) -> &mut FaultTracingChip {
        let Kind::Failing(frail) = &mut self.0 else { unreachable!("the flash does not fail") };
        frail
    }

    /// What was asked of flash that fails, operation by operation, if that was recorded.
    pub(crate) fn into_record(self) -> Vec<FlashOp> {
        if let Kind::Failing(frail) = self.0 { frail.take_record() } else { Vec::new() }
    }
}

impl From<Chip<Full<Stamp>>> for CheckedFlash {
    fn from(chip: Chip<Full<Stamp>>) -> Self {
        Self(Kind::Sound(chip))
    }
}

impl From<Recorder> for CheckedFlash {
    fn from(recorder: Recorder) -> Self {
        Self(Kind::Recorded(recorder))
    }
}

impl From<FaultTracingChip> for CheckedFlash {
    fn from(frail: FaultTracingChip) -> Self {
        Self(Kind::Failing(frail))
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
        ask!(&self.0, geometry())
    }

    fn read(&mut self, ppn: Ppn) -> Result<Page<Stamp>, FlashError> {
        ask!(&mut self.0, read(ppn))
    }

    fn program(&mut self, ppn: Ppn, tag: &Tag, data: Stamp) -> Result<(), FlashError> {
        ask!(&mut self.0, program(ppn, tag, data))
    }

    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        ask!(&mut self.0, erase(pbn))
    }

    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FlashError> {
        ask!(&mut self.0, scan(ppn))
    }

    fn mark_bad(&mut self, pbn: Pbn) {
        ask!(&mut self.0, mark_bad(pbn));
    }

    #[inline]
    fn peek(&self, ppn: Ppn) -> Option<u32> {
        ask!(&self.0, peek(ppn))
    }

    fn tag(&self, ppn: Ppn) -> Option<Tag> {
        ask!(&self.0, tag(ppn))
    }

    fn load(&mut self, ppn: Ppn, bytes: &[u8]) {
        ask!(&mut self.0, load(ppn, bytes));
    }

    fn loaded(&self, ppn: Ppn) -> Option<Arc<[u8]>> {
        ask!(&self.0, loaded(ppn))
    }

    #[inline]
    fn next_page(&self, pbn: Pbn) -> u32 {
        ask!(&self.0, next_page(pbn))
    }

    #[inline]
    fn erase_count(&self, pbn: Pbn) -> u32 {
        ask!(&self.0, erase_count(pbn))
    }

    fn is_bad(&self, pbn: Pbn) -> bool {
        ask!(&self.0, is_bad(pbn))
    }

    fn program_order(&self) -> ProgramOrder {
        ask!(&self.0, program_order())
    }

    fn operations(&self) -> Operations {
        ask!(&self.0, operations())
    }
}

/// Each kind of operation takes as long as the next one of its kind, and waits for nothing.
#[derive(Default)]
pub struct FixedTimes {
    takes: [u64; 3],
    now: Nanos,
    last_end: Nanos,
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
    #[inline]
    fn perform(&mut self, task: Task, after: Moment) -> Moment {
        let end = after.earliest + self.estimate(task, after);
        self.last_end = end.max(self.last_end);
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
