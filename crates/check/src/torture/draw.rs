//! Drawing a trial and running it.
//!
//! On failing flash a case is run several times: calmly, to learn its operations, then with plans
//! of faults. Combined trials draw failures once and then cut the power at operations all over the
//! run that has these failures.

use std::collections::BTreeMap;

use flash::{Fault, FaultPlan, Tear};
use ftl::{FlashOp, registry};
use random::SeededRng;

use super::TrialStats;
use super::choices::{self, Kind, Plan, TrialSpace};
use super::coverage::{Answers, Coverage, Question};
use crate::case::test_case::Case;
use crate::drivers::explorer::explore_within;
use crate::drivers::faults::{FaultRun, run_with_faults};
use crate::drivers::suite::run_case;
use crate::drivers::variants::seed_name;
use crate::report::failure::Failure;

/// Runs of a case on failing flash: enough to make the drawing cheap beside them, few enough for
/// many different cases.
const FAULT_RUNS: u32 = 8;

/// Flash operations that the power cuts of a trial may take: some ten seconds at the speed of what
/// is built in. One of a scheme that programs a whole block for each page would else take an hour.
const CUTS_OPERATIONS: u64 = 20_000_000;

/// A trial that was drawn.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    kind: Kind,
    pub(super) case: Case,
    plan: Plan,
    rng: SeededRng,
    /// Flash operations that its power cuts may take.
    cuts_operations: u64,
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
        let slower = space.cuts_of_registered.filter(|_| registry::is_registered(&case.stack));
        Some(Self { kind, case, plan, rng, cuts_operations: slower.unwrap_or(CUTS_OPERATIONS) })
    }

    pub(super) fn run(mut self) -> Result<TrialStats, Failure> {
        let case = self.case.clone();
        match self.kind {
            Kind::Conformance => run_case(&case).map(|outcome| TrialStats::of_case(&case, &outcome)),
            Kind::PowerCuts => explore_within(&case, self.plan.effort, self.cuts_operations),
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
        let calm = run_with_faults(case, &FaultRun { records: true, ..FaultRun::default() })?;
        let mut tried = calm.tried;
        for _ in 0..FAULT_RUNS {
            let plan = if self.plan.is_single { self.one_fault(&calm.operations) } else { self.faults() };
            let fault_run = FaultRun { plan, endurance: self.endurance(), ..FaultRun::default() };
            tried += run_with_faults(case, &fault_run)?.tried;
        }
        Ok(tried)
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
        let fault_run = FaultRun { plan: self.faults(), endurance: self.endurance(), records: true };
        let first = run_with_faults(case, &fault_run)?;
        let mut tried = first.tried;
        let changes: Vec<_> = (0_u64..).zip(&first.operations).filter(|&(_, &op)| op != FlashOp::Read).collect();
        for _ in 0..if changes.is_empty() { 0 } else { FAULT_RUNS } {
            let mut plan = fault_run.plan.clone();
            plan.at.insert(self.of(&changes).0, Fault::Cut(self.of(&Tear::ALL)));
            tried += run_with_faults(case, &FaultRun { plan, records: false, ..fault_run.clone() })?.tried;
        }
        Ok(tried)
    }
}
