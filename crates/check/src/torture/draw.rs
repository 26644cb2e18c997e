//! Drawing a trial and running it.
//!
//! Devices are drawn small, with odd counts, bad blocks and any program order; a scheme that refuses one is given
//! another. Half of all trials keep the scheme's defaults, the others change one setting or two. Most give the scheme all the
//! logical pages that it accepts; trials on failing flash leave it some spares.
//!
//! On failing flash a case is run many times: calmly, to learn its operations, then with plans of faults. Combined trials
//! draw failures once and then cut the power at operations all over the run that has these failures.

use std::collections::BTreeMap;

use flash::{Fault, FaultPlan, ProgramOrder, Tear};
use ftl::Op;

use super::{Kind, Trial, Tried};
use crate::case::{Case, Prefill};
use crate::device::DeviceSpec;
use crate::dice::{Dice, derive};
use crate::explorer::{Effort, explore};
use crate::failing_flash::Rates;
use crate::failure::Failure;
use crate::faults::endure;
use crate::geometries;
use crate::ordeal::Ordeal;
use crate::session::create;
use crate::suite::run_case;
use crate::swarm::Swarm;
use crate::variants::{Settings, one_at_a_time, pairs};
use crate::workload::{Pattern, Workload};

/// Devices and settings drawn until the scheme accepts one; one of three or so is accepted.
const ATTEMPTS: u32 = 200;

/// Runs of a case on failing flash: enough to make the drawing cheap beside them, few enough to stop soon.
const ORDEALS: u32 = 24;

/// Draws a trial and runs it; one for which no device was accepted amounts to nothing.
pub(super) fn run(trial: &Trial) -> Result<Tried, Failure> {
    let subject = &trial.grounds.subjects[trial.subject];
    let name = format!("torture {} {:?} {:?} {}", subject.scheme, subject.settings, trial.kind, trial.number);
    let mut draw = Draw { trial, dice: Dice::named(trial.grounds.seed, &name) };
    let Some(case) = (0..ATTEMPTS).find_map(|_| draw.case(&name)) else { return Ok(Tried::default()) };
    match trial.kind {
        Kind::Conformance => run_case(&case).map(|outcome| Tried::of_case(&case, &outcome)),
        Kind::PowerCuts => explore(&case, draw.effort(&case)).map(|explored| Tried::of_cuts(&explored)),
        Kind::FailingFlash => draw.failing_flash(&case),
        Kind::Combined => draw.combined(&case),
    }
}

struct Draw<'a> {
    trial: &'a Trial,
    dice: Dice,
}

impl Draw<'_> {
    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.dice.below(choices.len() as u32) as usize].clone()
    }

    fn case(&mut self, name: &str) -> Option<Case> {
        let scheme = self.trial.grounds.subjects[self.trial.subject].scheme.clone();
        let (settings, device) = (self.settings(), self.device());
        let capacity = geometries::largest_capacity(&device, |layout| create(&scheme, &settings, layout))?;
        let kind = self.trial.kind;
        let spares = match kind {
            Kind::FailingFlash | Kind::Combined => self.dice.below(6) * device.shape.pages_per_block,
            Kind::Conformance | Kind::PowerCuts => 0,
        };
        let eighths = if self.dice.percent(75) { 8 } else { self.dice.up_to(8) };
        let logical_pages = (capacity.saturating_sub(spares) * eighths / 8).max(1);
        let requests = match kind {
            Kind::Conformance => self.dice.below(500) + 100,
            Kind::PowerCuts => self.dice.below(80) + 20,
            Kind::FailingFlash | Kind::Combined => self.dice.below(250) + 50,
        };
        Some(Case {
            scheme,
            settings,
            device,
            logical_pages,
            seed: derive(self.trial.grounds.seed, name) >> 32,
            workload: self.workload(),
            requests,
            prefill: self.of(&[Prefill::Empty, Prefill::Full]),
            readback_every: self.of(&[0, 1, 7]),
            check_every: self.of(&[4, 8, 32]),
            cuts: Vec::new(),
            faults: Vec::new(),
        })
    }

    fn workload(&mut self) -> Workload {
        if self.trial.grounds.swarm {
            Workload::Swarm(Swarm::drawn(&mut self.dice))
        } else {
            Workload::Generated(self.of(&Pattern::ALL).0)
        }
    }

    /// The scheme's own settings, and perhaps one or two others.
    fn settings(&mut self) -> Settings {
        let subject = &self.trial.grounds.subjects[self.trial.subject];
        let others = match self.dice.below(10) {
            0..=4 => Vec::new(),
            5..=7 => one_at_a_time(subject.parameters),
            _ => pairs(subject.parameters),
        };
        let mut settings = if others.is_empty() { Settings::new() } else { self.of(&others) };
        settings.extend(subject.settings.clone());
        settings
    }

    fn device(&mut self) -> DeviceSpec {
        if !self.trial.grounds.devices.is_empty() {
            return self.of(&self.trial.grounds.devices);
        }
        let (channels, dies, planes) = (self.of(&[1, 1, 1, 2, 3]), self.of(&[1, 1, 2]), self.of(&[1, 1, 2]));
        let rows = channels * dies * planes;
        // A power cut is tried at every operation, so the device has to be small.
        let most = if self.trial.kind == Kind::PowerCuts { 12 } else { 40 };
        let blocks = (6 + self.dice.below(most)).div_ceil(rows).max(3);
        let pages = self.of(&[1, 2, 3, 4, 4, 5, 8]);
        let order = self.of(&[
            ProgramOrder::Ascending,
            ProgramOrder::Ascending,
            ProgramOrder::Ascending,
            ProgramOrder::Strict,
            ProgramOrder::Any,
        ]);
        let device = DeviceSpec::new(channels, dies, planes, blocks, pages).ordered(order);
        let bad = if self.dice.percent(30) { self.dice.up_to(3) } else { 0 };
        let mut bad_blocks: Vec<_> = (0..bad).map(|_| self.dice.below(rows * blocks)).collect();
        bad_blocks.sort_unstable();
        bad_blocks.dedup();
        device.with_bad(bad_blocks)
    }

    /// Second cuts: all of those during recovery where that is cheap, else a sample.
    fn effort(&mut self, case: &Case) -> Effort {
        let is_small = case.logical_pages <= 20 && case.requests <= 50;
        let during_recovery = if is_small { 1 } else { self.of(&[20, 50, 100]) };
        Effort { during_recovery, after_recovery: self.of(&[30, 60, 200]) }
    }

    /// A rate, or none where the trial leaves this fault out.
    fn one_in(&mut self, rates: &[u32]) -> u32 {
        let is_off = self.trial.grounds.swarm && self.dice.percent(50);
        let rate = self.of(rates);
        if is_off { 0 } else { rate }
    }

    fn endurance(&mut self) -> Option<u32> {
        self.dice.percent(30).then(|| 5 + self.dice.below(40))
    }

    /// Programs and erases that fail, or pages that decay, or one fault alone at an operation that it fits.
    fn failing_flash(&mut self, case: &Case) -> Result<Tried, Failure> {
        let calm = endure(case, &Ordeal { records: true, ..Ordeal::default() })?;
        let mut tried = Tried::of_faults(&calm);
        for _ in 0..ORDEALS {
            let plan = if self.dice.percent(40) {
                self.one_fault(&calm.operations)
            } else {
                let rates = Rates {
                    program: self.one_in(&[10, 50, 300, 1000]),
                    erase: self.one_in(&[10, 50, 200]),
                    read: self.one_in(&[0, 0, 100, 400]),
                    corrected: self.one_in(&[0, 20, 100]),
                    cut: 0,
                };
                rates.plan(u64::from(self.dice.below(u32::MAX)))
            };
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
        let rates = Rates {
            program: self.one_in(&[20, 100, 400]),
            erase: self.one_in(&[10, 50, 200]),
            cut: self.of(&[0, 0, 60, 200, 800]),
            ..Rates::default()
        };
        let plan = rates.plan(u64::from(self.dice.below(u32::MAX)));
        let ordeal = Ordeal { plan, endurance: self.endurance(), records: true };
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
