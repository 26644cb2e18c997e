//! Promise 4: a case on flash that fails as planned.
//!
//! After every request the host holds the scheme to this:
//!
//! - a page whose content was hit by an uncorrectable read may say so, and goes on saying so until
//!   it is written again or trimmed; it never holds anything else, and every other page holds what
//!   it should;
//! - failed programs and erases lose nothing;
//! - a write fails with *read-only* when more blocks have failed than there were spares, and not
//!   before; from then on all writes do, while everything written before can still be read;
//! - the invariants hold, the spares used are the blocks that failed, and what causes are charged
//!   is what the flash counted.
//!
//! A plan may also cut the power. Then the scheme is recovered with the blocks that are not marked
//! bad, and `crash_oracle.rs` says what pages may hold. Pages that have decayed before a cut are no
//! part of that: with the tag gone, nobody can tell whose page it was, so plans have one or the
//! other.
//!
//! Limits: a trim may fail as a write does, for a scheme may have to make room for it.

mod refusal;

use std::cell::Cell;

use flash::{Fault as FlashFault, FaultPlan, Flash, Lpn, Operations, Pbn};
use ftl::{AnyDevice, Drive, FlashOp, FlashPort, FtlError, RecoverError};
use random::derive;

use crate::case::fault::{self, InjectedFault};
use crate::case::operation::{Effect, Extent, Operation};
use crate::case::schedule::FaultSchedule;
use crate::case::test_case::Case;
use crate::drivers::budget::Budget;
use crate::drivers::checked_device::{CheckedFlash, FixedTimes};
use crate::drivers::driver::Driver;
use crate::drivers::session::{create, recover};
use crate::inject::tracing_chip::{FaultTracingChip, Hit, Hits};
use crate::oracle::exact::Oracle;
use crate::oracle::fault_oracle::FaultOracle;
use crate::report::black_box;
use crate::report::coverage::Phase;
use crate::report::failure::{Failure, FailurePoint, Fault, READING_BACK};
use crate::report::recorder::Outcome;
use crate::report::stats::TrialStats;
use crate::stamp::Stamp;

/// Runs a case on flash that fails; `Err` has the faults that took effect in its replay line.
pub fn run_with_faults(case: &Case, fault_run: &FaultRun) -> Result<FaultRunReport, Failure> {
    run(case, fault_run).map(|(report, _)| report)
}

/// Stages the faults that a case names.
pub(crate) fn replay(case: &Case, faults: &[InjectedFault]) -> Result<Outcome, Failure> {
    let fault_run = FaultRun { plan: fault::plan(faults), ..FaultRun::default() };
    run(case, &fault_run).map(|(_, outcome)| outcome)
}

/// Where a run stands, known even when a scheme panics.
struct Trail {
    place: Cell<FailurePoint>,
    hits: Hits,
}

impl Trail {
    /// The faults that took effect, in the request that failed, too.
    fn injected(&self) -> Vec<InjectedFault> {
        self.hits.borrow().iter().map(|hit| hit.injected).collect()
    }
}

fn run(case: &Case, fault_run: &FaultRun) -> Result<(FaultRunReport, Outcome), Failure> {
    let trail = Trail { place: Cell::new(FailurePoint::Format), hits: Hits::default() };
    let whole = || {
        let budget = Budget::of(fault_run.operations);
        let mut trial = Trial::new(case, fault_run, &trail, &budget)?;
        budget.judge(trial.all())?;
        Ok(trial.amounts(&budget))
    };
    Failure::caught(case, &trail.place, whole, || FaultSchedule::Faults(trail.injected()))
}

/// Everything is read after this many requests, and after each request in which something failed.
const READ_EVERYTHING_EVERY: u64 = 16;

struct Trial<'a> {
    case: &'a Case,
    trail: &'a Trail,
    driver: Driver<FaultOracle>,
    report: FaultRunReport,
    budget: Budget,
}

/// Whether the power was cut as planned, and not because the run has done what it may.
fn is_planned_cut(budget: &Budget, error: &FtlError) -> bool {
    error.is_power_cut() && !budget.is_exceeded()
}

/// The planned faults and the chip of a device.
fn frail_mut(device: &mut AnyDevice) -> &mut FaultTracingChip {
    device.chip.as_chip_mut::<CheckedFlash<FaultTracingChip>>().flash_mut()
}

impl<'a> Trial<'a> {
    fn new(case: &'a Case, fault_run: &FaultRun, trail: &'a Trail, budget: &Budget) -> Result<Self, Fault> {
        let chip = case.device.chip(fault_run.endurance.unwrap_or(u32::MAX)).map_err(Fault::ImpossibleCase)?;
        let layout = case.device.layout(&chip, case.logical_pages, derive(case.seed, "scheme"));
        let frail = FaultTracingChip::new(chip, fault_run.plan.clone(), trail.hits.clone(), fault_run.records);
        // A block that fails stays with what it exposes until it is emptied, so there is no limit.
        let is_limited = layout.exposure.is_none();
        let room = |scheme: &Drive<_>| if is_limited { scheme.volatile_pages() } else { u32::MAX };
        let oracle = |scheme: &Drive<_>| FaultOracle::new(case.logical_pages, room(scheme));
        let format = |_: &mut FlashPort<_>| Ok(create(&case.stack, &layout)?);
        let device = CheckedFlash::new(frail).within(budget).timed(FixedTimes::default());
        let mut driver = Driver::start(device, case, format, oracle)?;
        // Requests begin at 1 here, and reads are given their moments too, though they are done
        // page by page at the one before.
        driver.pass();
        Ok(Self { case, trail, driver, report: FaultRunReport::default(), budget: budget.clone() })
    }

    fn frail(&self) -> &FaultTracingChip {
        self.driver.flash().chip().as_chip::<CheckedFlash<FaultTracingChip>>().flash()
    }

    fn all(&mut self) -> Result<(), Fault> {
        let case = self.case;
        for operation in case.prefill_operations() {
            self.trail.place.set(FailurePoint::Prefill(operation));
            self.request(operation)?;
        }
        for (number, operation) in (0..).zip(case.operations()) {
            self.trail.place.set(FailurePoint::Request(number, operation));
            self.request(operation)?;
        }
        self.trail.place.set(FailurePoint::Aftermath("reading everything"));
        self.read_everything()?;
        self.check()
    }

    /// What the run amounts to, when it is over.
    fn amounts(mut self, budget: &Budget) -> (FaultRunReport, Outcome) {
        self.count();
        self.report.tried.shortened = u64::from(budget.is_exceeded());
        let outcome = self.driver.outcome();
        self.report.tried.states.record(Phase::FailingFlash, &outcome.tally);
        self.report.injected = self.trail.injected();
        self.report.injected.iter().for_each(|fault| self.report.tried.count(fault.fault));
        self.report.operations =
            self.driver.into_device().map(|mut device| frail_mut(&mut device).take_record()).unwrap_or_default();
        (self.report, outcome)
    }

    fn count(&mut self) {
        let frail = self.frail();
        let Operations { reads, programs, erases } = frail.operations();
        let bad = (0..frail.geometry().blocks()).filter(|&block| frail.is_bad(Pbn::new(block))).count();
        self.report.tried.flash_operations = reads + programs + erases;
        self.report.tried.grown_bad_blocks = bad.saturating_sub(self.case.device.bad_blocks.len()) as u64;
        self.report.tried.pages_written = self.driver.outcome().pages_written;
    }

    /// One request, and everything that must hold after it.
    fn request(&mut self, operation: Operation) -> Result<(), Fault> {
        self.report.tried.requests += 1;
        let hits = self.driver.oracle.hits();
        match operation.effect() {
            Effect::Reads(extent) => {
                self.driver.pass();
                self.driver.oracle.begin(operation);
                self.read(extent)?;
            }
            _ => self.change(operation)?,
        }
        let quiet = self.driver.oracle.hits() == hits;
        if quiet && !self.report.tried.requests.is_multiple_of(READ_EVERYTHING_EVERY) {
            operation.extent().map_or(Ok(()), |extent| self.read(extent))?;
        } else {
            self.read_everything()?;
        }
        self.check()
    }

    fn change(&mut self, operation: Operation) -> Result<(), Fault> {
        let erases = self.frail().operations().erases;
        match self.driver.begin(operation) {
            Ok(()) if self.driver.oracle.read_only && matches!(operation.effect(), Effect::Writes(_)) => {
                Err(Fault::ReadOnly("a write was accepted after the device had become read-only".into()))
            }
            Ok(()) => {
                self.driver.acknowledge()?;
                let before = self.driver.oracle.recent_failures;
                self.keep_books();
                // Only an erase gives a die the free block back that a failure cost it.
                if self.driver.oracle.recent_failures == before && self.frail().operations().erases > erases {
                    self.driver.oracle.recent_failures /= 2;
                }
                Ok(())
            }
            Err(Fault::Stopped(error)) if is_planned_cut(&self.budget, &error) => self.power_cut(&error),
            Err(Fault::Stopped(error @ FtlError::ReadOnly { .. })) => self.refused(operation, &error),
            Err(fault) => {
                self.keep_books();
                Err(fault)
            }
        }
    }

    /// Learns which faults have taken effect.
    fn keep_books(&mut self) {
        self.driver.oracle.learn(&self.trail.hits.borrow());
        // A read that had to make room may have found this out, and was served all the same.
        let (oracle, spares) = (&self.driver.oracle, self.driver.scheme().spares());
        let is_early = spares.used > spares.total && oracle.failed() <= spares.total;
        self.report.early |= is_early && !oracle.failed_blocks.is_empty() && self.may_be_early();
    }

    /// The power goes, comes back, and the scheme is recovered with the blocks that are left.
    fn power_cut(&mut self, error: &FtlError) -> Result<(), Fault> {
        black_box::on_power_cut(error);
        let place = self.trail.place.get();
        self.trail.place.set(place.after_cut("recovery"));
        loop {
            self.keep_books();
            self.driver.power_on(|device| frail_mut(device).restore_power());
            let (case, frail) = (self.case, self.frail());
            let layout = case.device.layout(frail, case.logical_pages, derive(case.seed, "scheme"));
            let fresh = create(&case.stack, &layout);
            let marked = self.driver.oracle.failed_blocks.iter().filter(|&&pbn| frail.is_bad(pbn)).copied().collect();
            self.driver.oracle.power_on(marked, fresh.is_err());
            match self.driver.recover(|flash| recover(&case.stack, &layout, flash)) {
                Ok(()) => break,
                Err(RecoverError::Ftl(error)) if is_planned_cut(&self.budget, &error) => {
                    black_box::on_power_cut(&error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.report.tried.recoveries += 1;
        self.keep_books();
        self.trail.place.set(place.after_cut(READING_BACK));
        for lpn in Extent::whole(self.case.logical_pages).lpns() {
            if let Some(got) = self.fetch(lpn)? {
                self.driver.oracle.allowed.observe(lpn, got).map_err(Fault::WrongContent)?;
            }
        }
        self.driver.oracle.allowed.end_observation()?;
        self.trail.place.set(place);
        Ok(())
    }

    /// Reads a page; none if it is lost and may be.
    fn fetch(&mut self, lpn: Lpn) -> Result<Option<Stamp>, Fault> {
        let result = self.driver.read(Extent { first: lpn.get(), pages: 1 }).map(|content| content[0]);
        self.keep_books();
        match (result, self.driver.oracle.hit.get_mut(&lpn)) {
            (Ok(got), Some(true)) => {
                Err(Fault::Accounts(format!("{lpn} was lost, but now reads as {got:#x} without having been written")))
            }
            (Ok(got), _) => Ok(Some(got)),
            (Err(error), _) if is_planned_cut(&self.budget, &error) => {
                self.power_cut(&error)?;
                self.fetch(lpn)
            }
            (Err(error), Some(reported)) if error.is_uncorrectable() => {
                self.report.tried.lost_pages += u64::from(!std::mem::replace(reported, true));
                Ok(None)
            }
            (Err(error), _) => Err(Fault::Stopped(error)),
        }
    }

    fn read(&mut self, extent: Extent) -> Result<(), Fault> {
        for lpn in extent.lpns() {
            if let Some(got) = self.fetch(lpn)? {
                self.driver.oracle.compare(lpn, got).map_err(Fault::WrongContent)?;
            }
        }
        Ok(())
    }

    fn read_everything(&mut self) -> Result<(), Fault> {
        self.read(Extent::whole(self.case.logical_pages))
    }

    fn check(&mut self) -> Result<(), Fault> {
        self.driver.check()?;
        let is_corrected = |hit: &&Hit| hit.injected.fault == FlashFault::ReadCorrected;
        let corrected = self.trail.hits.borrow().iter().filter(is_corrected).count();
        if corrected as u64 != self.frail().corrected_reads() {
            return Err(Fault::Accounts("reads that were corrected are not all counted".into()));
        }
        let (spares, failed) = (self.driver.scheme().spares(), self.driver.oracle.failed());
        if spares.used != failed && !self.report.early {
            return Err(Fault::ReadOnly(format!("{} spares are used, but {failed} blocks have failed", spares.used)));
        }
        Ok(())
    }
}

/// What a run on failing flash amounts to.
#[derive(Clone, Debug, Default)]
pub struct FaultRunReport {
    /// What it amounts to, the requests of the prefill included.
    pub tried: TrialStats,
    /// Faults that took effect.
    pub injected: Vec<InjectedFault>,
    /// Whether the device became read-only before the spares were used, because several pages
    /// failed while one block was being collected.
    pub early: bool,
    /// What the flash was asked for, if that was to be recorded.
    pub operations: Vec<FlashOp>,
}

/// How a run goes besides its case.
#[derive(Clone, Debug, Default)]
pub struct FaultRun {
    /// What fails when.
    pub plan: FaultPlan,
    /// Erases that a block survives; none for no limit.
    pub endurance: Option<u32>,
    /// Whether the operations are recorded.
    pub records: bool,
    /// Flash operations after which the run ends without a verdict on the request in hand; none for
    /// no end.
    pub operations: Option<u64>,
}
