//! The suite: one case, run twice, every promise watched at every request.
//!
//! A run fills the device if the case says so, does the workload, reads everything back, and then
//! goes through an aftermath in which the whole logical space is forgotten and written again, and
//! overwritten without being forgotten. A scheme that loses a block each time runs dry there, since
//! cases give it as little spare as it accepts. The second run must do exactly what the first did,
//! operation by operation.
//!
//! A scheme that reclaims for ever without gaining anything would hang; here it wears a block out
//! instead, and the referee stops it: the endurance of a case is far above what its writes can
//! need.

use std::cell::Cell;

use ftl::{AnyDevice, ConfigError, Drive, Layout};

use crate::case::operation::{Extent, Operation};
use crate::case::schedule::FaultSchedule;
use crate::case::test_case::Case;
use crate::drivers::budget::Budget;
use crate::drivers::host::Host;
use crate::drivers::session::create;
use crate::drivers::{explorer, faults, idle};
use crate::report::black_box;
use crate::report::explanation::Explanation;
use crate::report::failure::{Failure, FailurePoint, Fault};
use crate::report::recorder::Outcome;
use crate::report::stats::TrialStats;

/// Runs a case of a registered scheme, or of the canary, with its schedule of faults.
pub fn run_case(case: &Case) -> Result<Outcome, Failure> {
    match &case.schedule {
        FaultSchedule::None => run_with(case, |layout| create(&case.stack, layout)),
        FaultSchedule::PowerCuts(cuts) => explorer::replay(case, cuts),
        FaultSchedule::Faults(faults) => faults::replay(case, faults),
        FaultSchedule::IdleTime => idle::replay(case),
    }
}

/// Runs a case as [`run_case`] does, and explains its failure if it fails.
pub fn explain(case: &Case) -> Result<Outcome, Box<(Failure, Explanation)>> {
    let (result, kept) = black_box::record(|| run_case(case));
    result.map_err(|failure| {
        let explanation = Explanation::of(&failure, &kept);
        Box::new((failure, explanation))
    })
}

/// Runs a case of any scheme that `build` makes; it is asked twice, for two runs that must be the
/// same.
pub fn run_with(
    case: &Case,
    build: impl Fn(&Layout) -> Result<Drive<AnyDevice>, ConfigError>,
) -> Result<Outcome, Failure> {
    run_twice(case, &build, None).map(|(outcome, _)| outcome)
}

/// Runs a case without a schedule of a registered scheme, or of the canary, for at most this many
/// flash operations, both runs together. What they amount to says if that ended them.
pub(crate) fn run_within(case: &Case, operations: u64) -> Result<TrialStats, Failure> {
    let (outcome, is_whole) = run_twice(case, &|layout| create(&case.stack, layout), Some(operations / 2))?;
    Ok(TrialStats { shortened: u64::from(!is_whole), ..TrialStats::of_case(case, &outcome) })
}

/// Two runs, each of at most `operations` flash operations, and whether they came to their end.
fn run_twice(
    case: &Case,
    build: &impl Fn(&Layout) -> Result<Drive<AnyDevice>, ConfigError>,
    operations: Option<u64>,
) -> Result<(Outcome, bool), Failure> {
    let mut hashes = Vec::new();
    let first = Budget::of(operations);
    let outcome = guarded(case, build, &first, &mut |_, hash| {
        hashes.push(hash);
        Ok(())
    })?;
    let repeated = guarded(case, build, &Budget::of(operations), &mut |step, hash| match hashes.get(step) {
        Some(&first) if first == hash => Ok(()),
        _ => Err(Fault::Unrepeatable("a second run with the same seed does other flash operations up to here".into())),
    })?;
    if outcome != repeated {
        let message = "a second run with the same seed ends with other operations or counts".into();
        return Err(Failure::new(case, FailurePoint::Aftermath("the end"), Fault::Unrepeatable(message)));
    }
    Ok((outcome, !first.is_exceeded()))
}

/// Compares a run's event hash after each operation, numbered from 0, with what is known of it.
type Watch<'a> = &'a mut dyn FnMut(usize, u64) -> Result<(), Fault>;

/// One run, with a panic turned into a failure at the place where it happened.
fn guarded(
    case: &Case,
    build: &impl Fn(&Layout) -> Result<Drive<AnyDevice>, ConfigError>,
    budget: &Budget,
    watch: Watch<'_>,
) -> Result<Outcome, Failure> {
    let place = Cell::new(FailurePoint::Format);
    let run = || {
        let host = format(case, build, budget)?;
        let mut run = Run { host, case, place: &place, watch, step: 0 };
        budget.judge(run.all())?;
        Ok(run.host.outcome())
    };
    Failure::caught(case, &place, run, || case.schedule.clone())
}

fn format(
    case: &Case,
    build: &impl Fn(&Layout) -> Result<Drive<AnyDevice>, ConfigError>,
    budget: &Budget,
) -> Result<Host, Fault> {
    let chip = case.device.chip(endurance(case)).map_err(Fault::ImpossibleCase)?;
    Host::format(chip, case, build, budget)
}

/// Erases that a block survives. A page written costs a scheme that makes progress about one erase,
/// all blocks taken together, and reading back may make a demand-paged one write a little more;
/// four on one and the same block for each page are beyond reach. A livelock is there in a moment.
fn endurance(case: &Case) -> u32 {
    let workload: u64 =
        case.operations().filter_map(|operation| operation.extent()).map(|extent| u64::from(extent.pages)).sum();
    let around = u64::from(case.logical_pages) * u64::from(1 + 2 * REFILLS);
    u32::try_from(4 * (workload + around) + 64).unwrap_or(u32::MAX)
}

/// Rounds of forgetting, refilling and overwriting everything: one for each way of writing that
/// [`Run::refill`] knows.
const REFILLS: u32 = 3;

struct Run<'a> {
    host: Host,
    case: &'a Case,
    place: &'a Cell<FailurePoint>,
    watch: Watch<'a>,
    step: usize,
}

impl Run<'_> {
    fn all(&mut self) -> Result<(), Fault> {
        self.host.check()?;
        self.prefill()?;
        self.workload()?;
        self.aftermath()
    }

    fn apply(&mut self, operation: Operation) -> Result<(), Fault> {
        self.host.apply(operation)?;
        (self.watch)(self.step, self.host.event_hash())?;
        self.step += 1;
        Ok(())
    }

    fn prefill(&mut self) -> Result<(), Fault> {
        for operation in self.case.prefill_operations() {
            self.place.set(FailurePoint::Prefill(operation));
            self.apply(operation)?;
        }
        Ok(())
    }

    fn workload(&mut self) -> Result<(), Fault> {
        let case = self.case;
        for (number, operation) in (0..).zip(case.operations()) {
            self.place.set(FailurePoint::Request(number, operation));
            self.apply(operation)?;
            if is_due(number, case.readback_every) {
                self.host.read_back(operation)?;
            }
            if is_due(number, case.check_every) {
                self.host.check()?;
            }
        }
        Ok(())
    }

    fn aftermath(&mut self) -> Result<(), Fault> {
        self.settle("reading everything")?;
        for round in 0..REFILLS {
            self.place.set(FailurePoint::Aftermath("forgetting everything"));
            self.forget(round)?;
            self.settle("reading the empty device")?;
            self.place.set(FailurePoint::Aftermath("refilling everything"));
            self.refill(round)?;
            self.settle("reading the refilled device")?;
            self.place.set(FailurePoint::Aftermath("overwriting everything"));
            self.refill(round + 1)?;
            self.settle("reading the overwritten device")?;
        }
        Ok(())
    }

    fn settle(&mut self, step: &'static str) -> Result<(), Fault> {
        self.place.set(FailurePoint::Aftermath(step));
        self.host.read_everything()?;
        self.host.check()
    }

    /// Forgets everything: in one request, or page by page from the end.
    fn forget(&mut self, round: u32) -> Result<(), Fault> {
        let pages = self.case.logical_pages;
        if round.is_multiple_of(2) {
            return self.apply(Operation::Trim(Extent::whole(pages)));
        }
        (0..pages).rev().try_for_each(|lpn| self.apply(Operation::Trim(Extent::within(pages, lpn, 1))))
    }

    /// Writes every page: block by block upwards, page by page downwards, or in one request.
    fn refill(&mut self, round: u32) -> Result<(), Fault> {
        let pages = self.case.logical_pages;
        let size = self.case.device.shape.pages_per_block;
        let write = |first, size| Operation::Write(Extent::within(pages, first, size));
        match round % 3 {
            0 => (0..pages).step_by(size as usize).try_for_each(|lpn| self.apply(write(lpn, size))),
            1 => (0..pages).rev().try_for_each(|lpn| self.apply(write(lpn, 1))),
            _ => self.apply(Operation::Write(Extent::whole(pages))),
        }
    }
}

fn is_due(number: u32, every: u32) -> bool {
    every > 0 && (number + 1).is_multiple_of(every)
}
