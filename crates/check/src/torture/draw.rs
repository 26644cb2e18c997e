//! Drawing a trial and running it.
//!
//! On failing flash a case is run several times: calmly, to learn its operations, then with plans
//! of faults. Combined trials draw failures once and then cut the power at operations all over the
//! run that has these failures.
//!
//! A trial has a number of flash operations, whatever its kind, and does with them what it can: a
//! workload ends early, cuts are sampled, runs on failing flash are fewer. So one that is drawn
//! dear (a scheme that programs a whole block for each page, on full blocks) leaves time to others.

use std::collections::BTreeMap;

use flash::{Fault, FaultPlan, Tear};
use ftl::{FlashOp, registry};
use random::SeededRng;

use super::TrialStats;
use super::choices::{self, Kind, Plan, TrialSpace};
use super::coverage::{Answers, Coverage, Question};
use crate::case::schedule::FaultSchedule;
use crate::case::test_case::Case;
use crate::drivers::explorer::explore_within;
use crate::drivers::faults::{FaultRun, FaultRunReport, run_with_faults};
use crate::drivers::variants::seed_name;
use crate::drivers::{idle, suite};
use crate::report::failure::Failure;

/// Runs of a case on failing flash: enough to make the drawing cheap beside them, few enough for
/// many different cases.
const FAULT_RUNS: u32 = 8;

/// One run on failing flash may take one in this many of the trial's flash operations, so that
/// there are at least three with faults.
const RUNS_AT_LEAST: u64 = 4;

/// Flash operations of a trial: one in 32 of what a scheme gets in ten minutes of all schemes on
/// two cores. With fewer, cases of many pages would end before their blocks have been collected.
const OPERATIONS: u64 = 500_000;

/// A trial that was drawn.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    kind: Kind,
    pub(super) case: Case,
    plan: Plan,
    rng: SeededRng,
    /// Flash operations that it may still take.
    operations: u64,
}

impl Drawn {
    /// The next trial of a scheme and a kind, which depends on the seed and on the trials of that
    /// scheme and kind before it; none if the scheme refuses every device.
    pub(super) fn next(
        space: &TrialSpace,
        subject: usize,
        kind: Kind,
        number: u64,
        coverage: &mut Coverage,
    ) -> Option<Self> {
        let subject = &space.subjects[subject];
        let name = format!("torture {} {kind:?} {number}", seed_name(&subject.stack));
        let mut rng = SeededRng::named(space.seed, &name);
        let accept = |questions: &[Question], answers: &Answers, rng: &mut SeededRng| {
            choices::trial(space, subject, kind, (questions, answers), rng)
        };
        let (case, plan) = coverage.next(&mut rng, accept)?;
        let slower = space.operations_of_registered.filter(|_| registry::is_registered(&case.stack));
        let operations = slower.or(space.operations).unwrap_or(OPERATIONS);
        Some(Self { kind, case, plan, rng, operations })
    }

    pub(super) fn run(mut self) -> Result<TrialStats, Failure> {
        let case = self.case.clone();
        match self.kind {
            Kind::Conformance if case.schedule == FaultSchedule::IdleTime => idle::run_within(&case, self.operations),
            Kind::Conformance => suite::run_within(&case, self.operations),
            Kind::PowerCuts => explore_within(&case, self.plan.effort, self.operations),
            Kind::FailingFlash => self.failing_flash(&case),
            Kind::Combined => self.combined(&case),
        }
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.below_u32(choices.len() as u32) as usize]
    }

    fn faults(&mut self) -> FaultPlan {
        self.plan.rates.plan(u64::from(self.rng.below_u32(u32::MAX)))
    }

    fn endurance(&mut self) -> Option<u32> {
        self.plan.is_limited.then(|| 5 + self.rng.below_u32(40))
    }

    /// Programs and erases that fail, or pages that decay, or one fault alone at an operation that
    /// it fits.
    fn failing_flash(&mut self, case: &Case) -> Result<TrialStats, Failure> {
        let most = self.operations / RUNS_AT_LEAST;
        let calm = self.run_once(case, FaultRun { records: true, ..FaultRun::default() }, most)?;
        let least = calm.tried.flash_operations;
        let mut tried = calm.tried;
        for _ in 0..FAULT_RUNS {
            if self.operations < least {
                tried.shortened = 1;
                break;
            }
            let plan = if self.plan.is_single { self.one_fault(&calm.operations) } else { self.faults() };
            let fault_run = FaultRun { plan, endurance: self.endurance(), ..FaultRun::default() };
            tried += self.run_once(case, fault_run, most)?.tried;
        }
        Ok(TrialStats { shortened: tried.shortened.min(1), ..tried })
    }

    /// A run that takes at most a share of the operations left.
    fn run_once(&mut self, case: &Case, run: FaultRun, most: u64) -> Result<FaultRunReport, Failure> {
        let report = run_with_faults(case, &FaultRun { operations: Some(most.min(self.operations)), ..run })?;
        self.operations -= report.tried.flash_operations;
        Ok(report)
    }

    fn one_fault(&mut self, operations: &[FlashOp]) -> FaultPlan {
        let operation = self.rng.below_u32(operations.len() as u32);
        let fault = match operations.get(operation as usize) {
            Some(FlashOp::Program) => Fault::ProgramFails,
            Some(FlashOp::Erase) => Fault::EraseFails,
            Some(FlashOp::Read) | None => Fault::ReadFails,
        };
        FaultPlan { at: BTreeMap::from([(u64::from(operation), fault)]) }
    }

    /// Failures, and the power cut at operations of the run that has them.
    fn combined(&mut self, case: &Case) -> Result<TrialStats, Failure> {
        let most = self.operations / RUNS_AT_LEAST;
        let fault_run = FaultRun { plan: self.faults(), endurance: self.endurance(), ..FaultRun::default() };
        let first = self.run_once(case, FaultRun { records: true, ..fault_run.clone() }, most)?;
        let least = first.tried.flash_operations;
        let mut tried = first.tried;
        let changes: Vec<_> = (0_u64..).zip(&first.operations).filter(|&(_, &op)| op != FlashOp::Read).collect();
        for _ in 0..if changes.is_empty() { 0 } else { FAULT_RUNS } {
            if self.operations < least {
                tried.shortened = 1;
                break;
            }
            let mut plan = fault_run.plan.clone();
            plan.at.insert(self.of(&changes).0, Fault::Cut(self.of(&Tear::ALL)));
            tried += self.run_once(case, FaultRun { plan, ..fault_run.clone() }, most)?.tried;
        }
        Ok(TrialStats { shortened: tried.shortened.min(1), ..tried })
    }
}
