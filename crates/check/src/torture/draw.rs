//! Drawing a trial and running it.
//!
//! On failing flash a case is run several times: calmly, to learn its operations, then with plans of faults. Combined trials
//! draw failures once and then cut the power at operations all over the run that has these failures.

use std::collections::BTreeMap;

use flash::{Fault, FaultPlan, Tear};
use ftl::Op;

use super::choices::{self, Plan};
use super::coverage::{Answers, Coverage, Question};
use super::trial_space::{Kind, TrialSpace};
use super::tried::Tried;
use crate::case::Case;
use crate::dice::Dice;
use crate::explorer::explore_within;
use crate::failure::Failure;
use crate::faults::endure;
use crate::ordeal::Ordeal;
use crate::suite::run_case;
use crate::variants::seed_name;

/// Runs of a case on failing flash: enough to make the drawing cheap beside them, few enough for many different cases.
const ORDEALS: u32 = 8;

/// Flash operations that the power cuts of a trial may take: some ten seconds. One of a scheme that programs a whole block for each page would else take
/// an hour.
const CUTS_OPERATIONS: u64 = 20_000_000;

/// A trial that was drawn.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    kind: Kind,
    case: Case,
    plan: Plan,
    dice: Dice,
}

impl Drawn {
    /// The next trial of a scheme and a kind, which depends on the seed and on the trials of that scheme and kind before it; none
    /// if the scheme refuses every device.
    pub(super) fn next(
        space: &TrialSpace,
        subject: usize,
        kind: Kind,
        number: u64,
        coverage: &mut Coverage,
    ) -> Option<Self> {
        let subject = &space.subjects[subject];
        let name = format!("torture {} {kind:?} {number}", seed_name(&subject.stack));
        let mut dice = Dice::named(space.seed, &name);
        let accept = |questions: &[Question], answers: &Answers, dice: &mut Dice| {
            choices::trial(space, subject, kind, (questions, answers), dice)
        };
        let (case, plan) = coverage.next(&mut dice, accept)?;
        Some(Self { kind, case, plan, dice })
    }

    /// Runs it.
    pub(super) fn run(mut self) -> Result<Tried, Failure> {
        let case = self.case.clone();
        match self.kind {
            Kind::Conformance => run_case(&case).map(|outcome| Tried::of_case(&case, &outcome)),
            Kind::PowerCuts => {
                explore_within(&case, self.plan.effort, CUTS_OPERATIONS).map(|explored| Tried::of_cuts(&explored))
            }
            Kind::FailingFlash => self.failing_flash(&case),
            Kind::Combined => self.combined(&case),
        }
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.dice.below(choices.len() as u32) as usize]
    }

    fn faults(&mut self) -> FaultPlan {
        self.plan.rates.plan(u64::from(self.dice.below(u32::MAX)))
    }

    fn endurance(&mut self) -> Option<u32> {
        self.plan.is_limited.then(|| 5 + self.dice.below(40))
    }

    /// Programs and erases that fail, or pages that decay, or one fault alone at an operation that it fits.
    fn failing_flash(&mut self, case: &Case) -> Result<Tried, Failure> {
        let calm = endure(case, &Ordeal { records: true, ..Ordeal::default() })?;
        let mut tried = Tried::of_faults(&calm);
        for _ in 0..ORDEALS {
            let plan = if self.plan.is_single { self.one_fault(&calm.operations) } else { self.faults() };
            let ordeal = Ordeal { plan, endurance: self.endurance(), ..Ordeal::default() };
            tried += Tried::of_faults(&endure(case, &ordeal)?);
        }
        Ok(tried)
    }

    fn one_fault(&mut self, operations: &[Op]) -> FaultPlan {
        let operation = self.dice.below(operations.len() as u32);
        let fault = match operations.get(operation as usize) {
            Some(Op::Program) => Fault::ProgramFails,
            Some(Op::Erase) => Fault::EraseFails,
            Some(Op::Read) | None => Fault::ReadFails,
        };
        FaultPlan { at: BTreeMap::from([(u64::from(operation), fault)]) }
    }

    /// Failures, and the power cut at operations of the run that has them.
    fn combined(&mut self, case: &Case) -> Result<Tried, Failure> {
        let ordeal = Ordeal { plan: self.faults(), endurance: self.endurance(), records: true };
        let first = endure(case, &ordeal)?;
        let mut tried = Tried::of_faults(&first);
        let changes: Vec<_> = (0_u64..).zip(&first.operations).filter(|&(_, &op)| op != Op::Read).collect();
        for _ in 0..if changes.is_empty() { 0 } else { ORDEALS } {
            let mut plan = ordeal.plan.clone();
            plan.at.insert(self.of(&changes).0, Fault::Cut(self.of(&Tear::ALL)));
            tried += Tried::of_faults(&endure(case, &Ordeal { plan, records: false, ..ordeal.clone() })?);
        }
        Ok(tried)
    }
}
