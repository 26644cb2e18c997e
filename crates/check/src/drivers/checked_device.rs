//! The device below a scheme under test: flash that is sound, recorded or failing, and what keeps
//! its time.

use flash::{Cell, Chip, Flash, FlashError, Full, Page, PageData, Pbn, Ppn, Scan, Tag};
use ftl::{AnyDevice, FlashOp, Moment, Nanos, Task, Timing};

use crate::drivers::budget::Budget;
use crate::inject::tracing_chip::FaultTracingChip;
use crate::report::black_box::{self, Log, Target};
use crate::report::recorder::Recorder;
use crate::stamp::Stamp;

/// Flash of stamps that can be looked into.
pub(crate) trait Cells: Flash<Data = Stamp> {
    /// The chip, whatever stands in front of it.
    fn cells(&self) -> &Chip<Full<Stamp>>;
}

impl Cells for Chip<Full<Stamp>> {
    fn cells(&self) -> &Chip<Full<Stamp>> {
        self
    }
}

impl Cells for Recorder {
    fn cells(&self) -> &Chip<Full<Stamp>> {
        self.flash().chip()
    }
}

impl Cells for FaultTracingChip {
    fn cells(&self) -> &Chip<Full<Stamp>> {
        self.chip()
    }
}

/// Flash below a scheme under test.
pub(crate) struct CheckedFlash<F> {
    flash: F,
    /// What it was asked for, while a case is explained.
    log: Option<Log>,
    budget: Budget,
}

impl<F: Cells + Send + 'static> CheckedFlash<F> {
    /// Flash with nothing in front of it.
    pub(crate) fn new(flash: F) -> Self {
        let log = black_box::journal(&flash, |ppn| cell(&flash, ppn));
        Self { flash, log, budget: Budget::default() }
    }

    /// The same, with operations that end when a budget is spent.
    pub(crate) fn within(self, budget: &Budget) -> Self {
        Self { budget: budget.clone(), ..self }
    }

    /// What it was made of.
    pub(crate) fn flash(&self) -> &F {
        &self.flash
    }

    /// What it was made of.
    pub(crate) fn flash_mut(&mut self) -> &mut F {
        &mut self.flash
    }

    /// The device that it is, with the time that its operations take.
    pub(crate) fn timed(self, mut timing: FixedTimes) -> AnyDevice {
        timing.log.clone_from(&self.log);
        AnyDevice::new(self, timing)
    }

    /// Logs an operation on a page, if that is wanted.
    fn log<T>(&self, op: FlashOp, ppn: Ppn, tag: Option<&Tag>, result: &Result<T, FlashError>) {
        if let Some(log) = &self.log {
            let target = Target { op, pbn: self.geometry().block_of(ppn), ppn: Some(ppn), tag: tag.copied() };
            black_box::log(log, target, result.as_ref().err().cloned(), |ppn| cell(&self.flash, ppn));
        }
    }
}

fn cell(flash: &impl Cells, ppn: Ppn) -> Cell<Stamp> {
    flash.cells().store().cell(ppn.index()).clone()
}

impl<F: Cells + Send + 'static> Flash for CheckedFlash<F> {
    type Data = PageData;

    flash::pass_on_flash!(flash);

    fn read(&mut self, ppn: Ppn) -> Result<Page<PageData>, FlashError> {
        self.budget.spend()?;
        let result = self.flash.read(ppn);
        self.log(FlashOp::Read, ppn, None, &result);
        let Page { logical, version, hint, data } = result?;
        Ok(Page { logical, version, hint, data: data.into() })
    }

    fn program(&mut self, ppn: Ppn, tag: &Tag, data: PageData) -> Result<(), FlashError> {
        self.budget.spend()?;
        let result = self.flash.program(ppn, tag, data.number());
        self.log(FlashOp::Program, ppn, Some(tag), &result);
        result
    }

    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        self.budget.spend()?;
        let result = self.flash.erase(pbn);
        if let Some(log) = &self.log {
            let target = Target { op: FlashOp::Erase, pbn, ppn: None, tag: None };
            black_box::log(log, target, result.as_ref().err().cloned(), |ppn| cell(&self.flash, ppn));
        }
        result
    }

    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FlashError> {
        self.budget.spend()?;
        let result = self.flash.scan(ppn);
        self.log(FlashOp::Read, ppn, None, &result);
        result
    }

    fn mark_bad(&mut self, pbn: Pbn) {
        self.flash.mark_bad(pbn);
        if let Some(log) = &self.log {
            log.borrow_mut().bad.insert(pbn);
        }
    }
}

/// Each kind of operation takes as long as the next one of its kind, and waits for nothing.
#[derive(Default)]
pub(crate) struct FixedTimes {
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
    ftl::known_ends! { is_traced is_buffered trace join wait_beside delay take_command hand_over estimate_moves slowest_page programmed_at_once keep_order join_programs end_background }

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
