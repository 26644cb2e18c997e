//! A device that remembers how each program and erase found it.
//!
//! Before an operation changes anything, the recorder takes a copy of the whole chip. A power cut
//! at that operation can then be staged from the copy, in each of its four tears, without running
//! anything again: exploring n operations costs n copies. An operation at which no cut is to be
//! tried is only counted. It is made for chips of a few hundred pages. What a case that passed
//! amounts to is its [`Outcome`].

use flash::{Chip, FaultPlan, Faulty, Flash, FlashError, Full, Page, Pbn, Ppn, Scan, Tag, Tear};
use ftl::{FlashOp, Tally};

use crate::inject::cut_sampler::CutSampler;
use crate::report::black_box::Target;
use crate::shared::Shared;
use crate::stamp::Stamp;

/// A program or an erase.
#[derive(Clone, Debug)]
enum Mutation {
    Program(Ppn, Tag, Stamp),
    Erase(Pbn),
}

/// One operation and the chip that it found.
pub(crate) struct Step {
    before: Faulty<Stamp>,
    mutation: Mutation,
}

impl Step {
    /// What the operation is done to.
    pub(crate) fn target(&self) -> Target {
        match &self.mutation {
            Mutation::Program(ppn, tag, _) => {
                let pbn = self.before.geometry().block_of(*ppn);
                Target { op: FlashOp::Program, pbn, ppn: Some(*ppn), tag: Some(*tag) }
            }
            Mutation::Erase(pbn) => Target { op: FlashOp::Erase, pbn: *pbn, ppn: None, tag: None },
        }
    }

    /// The chip after a power cut at this operation, with the power on again. The operation goes
    /// through the fault injector, so the referee's rules hold for it as for any other.
    pub(crate) fn cut(&self, tear: Tear) -> Faulty<Stamp> {
        let mut flash = self.before.clone();
        flash.restore_power(FaultPlan::cut(0, tear));
        // The answer is the cut itself.
        let _ = match &self.mutation {
            Mutation::Program(ppn, tag, stamp) => flash.program(*ppn, tag, *stamp),
            Mutation::Erase(pbn) => flash.erase(*pbn),
        };
        flash.restore_power(FaultPlan::default());
        flash
    }
}

/// The operations recorded so far; the recorder writes, the explorer takes.
#[derive(Clone)]
pub(crate) struct Tape(Shared<Reel>);

struct Reel {
    sampler: CutSampler,
    one_in: u32,
    next: u32,
    steps: Vec<(u32, Step)>,
}

impl Tape {
    /// An empty tape that keeps the operations at which a sampler takes a cut, if one in this many
    /// is tried.
    pub(crate) fn new(sampler: CutSampler, one_in: u32) -> Self {
        Self(Shared::new(Reel { sampler, one_in, next: 0, steps: Vec::new() }))
    }

    /// From now on one in this many is tried.
    pub(crate) fn try_one_in(&self, one_in: u32) {
        self.0.borrow_mut().one_in = one_in;
    }

    /// Forgets all and counts from 0.
    pub(crate) fn rewind(&self) {
        self.take();
        self.0.borrow_mut().next = 0;
    }

    /// Programs and erases counted so far, kept or not.
    pub(crate) fn counted(&self) -> u32 {
        self.0.borrow().next
    }

    /// What was kept since the last taking: the cuts to make at each operation.
    pub(crate) fn take(&self) -> Vec<(u32, Step)> {
        std::mem::take(&mut self.0.borrow_mut().steps)
    }

    fn record(&self, step: impl FnOnce() -> Step) {
        let Reel { sampler, one_in, next, steps } = &mut *self.0.borrow_mut();
        let operation = *next;
        *next += 1;
        if sampler.at(operation, *one_in).next().is_some() {
            steps.push((operation, step()));
        }
    }
}

/// A chip whose programs and erases are recorded.
pub(crate) struct Recorder {
    flash: Faulty<Stamp>,
    tape: Tape,
}

impl Recorder {
    /// A recorder around a fresh chip.
    pub(crate) fn new(chip: Chip<Full<Stamp>>, tape: Tape) -> Self {
        Self::onto(Faulty::new(chip, FaultPlan::default()), tape)
    }

    /// A recorder around a chip as it is.
    pub(crate) fn onto(flash: Faulty<Stamp>, tape: Tape) -> Self {
        Self { flash, tape }
    }

    /// The flash as it is now.
    pub(crate) fn flash(&self) -> &Faulty<Stamp> {
        &self.flash
    }

    fn record(&self, mutation: impl FnOnce() -> Mutation) {
        self.tape.record(|| Step { before: self.flash.clone(), mutation: mutation() });
    }
}

impl Flash for Recorder {
    type Data = Stamp;

    flash::pass_on_flash!(flash);

    fn mark_bad(&mut self, pbn: Pbn) {
        self.flash.mark_bad(pbn);
    }

    fn read(&mut self, ppn: Ppn) -> Result<Page<Stamp>, FlashError> {
        self.flash.read(ppn)
    }

    fn program(&mut self, ppn: Ppn, tag: &Tag, data: Stamp) -> Result<(), FlashError> {
        self.record(|| Mutation::Program(ppn, *tag, data));
        self.flash.program(ppn, tag, data)
    }

    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        self.record(|| Mutation::Erase(pbn));
        self.flash.erase(pbn)
    }

    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FlashError> {
        self.flash.scan(ppn)
    }
}

/// What a passed case amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Hash of every flash operation of one run.
    pub event_hash: u64,
    /// Operations by cause, and events, of one run.
    pub tally: Tally,
    /// Host pages written in one run.
    pub pages_written: u64,
}

impl Outcome {
    /// Flash operations of one run.
    pub fn flash_operations(&self) -> u64 {
        FlashOp::ALL.iter().map(|&op| self.tally.total(op)).sum()
    }
}
