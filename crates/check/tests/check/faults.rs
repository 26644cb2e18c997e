//! Every registered scheme, several devices and workloads, with every kind of flash fault;
//! promise 4 of `docs/correctness.md`, and in its terms.
//!
//! Of failures at random every fifth case is tried, of single ones every seventh, and all with
//! `FTLKIT_LONG`. `FTLKIT_SCHEME=name` tries one scheme alone, `FTLKIT_SEED=number` other requests
//! and faults than the usual ones.

use std::collections::BTreeMap;

use crate::common::{by_form, divided_anew, is_long, on_all_cores, one_in, seed, subjects};
use check::drivers::failing_flash::{Rates, cases};
use check::drivers::variants::Subject;
use check::torture::TrialStats;
use check::{Case, FaultRun, Pattern, run_with_faults};
use flash::{Fault, FaultPlan};
use ftl::{FlashOp, Stack};

/// Has each of these stacks endure its runs, which must show something.
fn endure(
    what: &str,
    stacks: impl IntoIterator<Item = Stack>,
    mut runs: impl FnMut(&Stack) -> Vec<(Case, FaultRun)>,
    shows: impl Fn(&TrialStats) -> bool,
) {
    let mut failures = 0;
    for stack in stacks {
        let runs = runs(&stack);
        let (sum, failed) = on_all_cores(&runs, |(case, run)| run_with_faults(case, run).map(|report| report.tried));
        let TrialStats { requests, cuts, faults, read_only, lost_pages, .. } = &sum;
        let said = format!(
            "{stack}, {what}: {} runs, {requests} requests, {cuts:?}, {faults:?}, {read_only} read-only, {lost_pages} pages lost",
            runs.len()
        );
        println!("{said}, {failed} failed");
        assert!(shows(&sum), "{said}: that shows nothing");
        failures += failed;
    }
    assert_eq!(failures, 0, "see the replay lines above");
}

/// All stacks with their defaults.
fn stacks() -> impl Iterator<Item = Stack> {
    subjects().into_iter().map(|subject| subject.stack)
}

/// All stacks, and once more those that keep checkpoints, with them.
fn stacks_and_checkpoints() -> Vec<Stack> {
    let both = |subject: Subject| std::iter::once(subject.stack.clone()).chain(subject.checkpoints());
    subjects().into_iter().flat_map(both).collect()
}

const PATTERNS: [Pattern; 7] = [
    Pattern::Mixed,
    Pattern::TrimFlush,
    Pattern::Uniform,
    Pattern::InterruptedRuns,
    Pattern::BlockRelocations,
    Pattern::CrossBlock,
    Pattern::HotCold,
];

/// One run for each operation of the given kind that a run without faults does, in which that
/// operation fails.
fn one_fault_each(stack: &Stack, op: FlashOp, fault: Fault, step: usize) -> Vec<(Case, FaultRun)> {
    let mut runs = Vec::new();
    for case in cases(stack, &PATTERNS[..5], 60, seed()) {
        let calm = run_with_faults(&case, &FaultRun { records: true, ..FaultRun::default() })
            .unwrap_or_else(|failure| panic!("{failure}"));
        let step = step * one_in(stack) * by_form(1, 7);
        let which = (0..).zip(&calm.operations).filter(|&(_, &asked)| asked == op).step_by(step);
        runs.extend(which.map(|(operation, _)| {
            let plan = FaultPlan { at: BTreeMap::from([(operation, fault)]) };
            (case.clone(), FaultRun { plan, ..FaultRun::default() })
        }));
    }
    runs
}

fn at_rates(stack: &Stack, requests: u32, rates: &[Rates]) -> Vec<(Case, FaultRun)> {
    let cases = cases(stack, &PATTERNS, requests, seed());
    let chosen = (0..cases.len()).step_by(by_form(1, 5));
    chosen.flat_map(|i| (0..rates.len()).map(move |j| (i, j))).map(|which| at_rate(&cases, rates, which)).collect()
}

/// The case and the rates of these numbers, as a run.
fn at_rate(cases: &[Case], rates: &[Rates], (i, j): (usize, usize)) -> (Case, FaultRun) {
    let plan = rates[j].plan(seed() ^ ((i as u64) << 32) ^ ((j as u64) << 16));
    (cases[i].clone(), FaultRun { plan, ..FaultRun::default() })
}

#[test]
fn any_one_program_or_erase_may_fail() {
    for (op, fault) in [(FlashOp::Program, Fault::ProgramFails), (FlashOp::Erase, Fault::EraseFails)] {
        endure(
            &format!("one {op:?} fails"),
            stacks_and_checkpoints(),
            |stack| one_fault_each(stack, op, fault, 1),
            any,
        );
    }
}

#[test]
fn any_one_read_may_fail() {
    endure("one read fails", stacks(), |stack| one_fault_each(stack, FlashOp::Read, Fault::ReadFails, 7), any);
}

/// Whatever runs amount to, it shows that nothing breaks.
fn any(_: &TrialStats) -> bool {
    true
}

#[test]
fn blocks_fail_at_random_until_the_device_is_read_only() {
    let rates = [
        Rates { program: 50, erase: 50, ..Rates::default() },
        Rates { program: 500, erase: 100, ..Rates::default() },
        Rates { erase: 10, ..Rates::default() },
        Rates { program: 8, erase: 8, ..Rates::default() },
    ];
    let runs = |stack: &_| at_rates(stack, 400, &rates);
    endure("blocks fail", stacks_and_checkpoints(), runs, |sum| sum.read_only > 0);
}

const FAILURES: Rates = Rates { program: 60, erase: 30, read: 0, corrected: 0, cut: 0 };
const FAILURES_AND_CUTS: Rates = Rates { cut: 80, program: 200, erase: 60, read: 0, corrected: 0 };

/// Blocks leave because the log is divided anew, when nobody needs their space; one may fail then,
/// or the device be read-only afterwards.
#[test]
fn blocks_fail_while_the_log_is_divided_anew() {
    let rates = [Rates { read: 300, ..FAILURES }, FAILURES_AND_CUTS];
    endure("blocks fail", divided_anew(), |stack| at_rates(stack, 300, &rates), any);
}

#[test]
fn pages_decay_and_blocks_fail_at_random() {
    let decay = Rates { read: 400, corrected: 50, ..Rates::default() };
    let all = Rates { program: 300, erase: 100, ..decay };
    endure("pages decay", stacks(), |stack| at_rates(stack, 300, &[decay, all]), |sum| sum.lost_pages > 0);
}

#[test]
fn blocks_wear_out() {
    let worn = |case| (case, FaultRun { endurance: Some(12), ..FaultRun::default() });
    let runs = |stack: &_| cases(stack, &PATTERNS, 600, seed()).into_iter().map(worn).collect();
    endure("blocks wear out", stacks(), runs, |sum| sum.read_only > 0);
}

#[test]
fn the_power_is_cut_while_blocks_fail() {
    let cuts = Rates { cut: 100, program: 100, erase: 60, ..Rates::default() };
    let seldom = Rates { cut: 60, program: 900, erase: 400, ..Rates::default() };
    let runs = |stack: &_| at_rates(stack, 200, &[cuts, seldom]);
    endure("blocks fail and the power is cut", stacks_and_checkpoints(), runs, any);
}

/// Every value of every parameter, the others at their defaults: failures at random, with and
/// without power cuts. One run for each value, another in turn; with `FTLKIT_LONG` every ninth.
#[test]
fn blocks_fail_with_every_setting() {
    let rates = [FAILURES, FAILURES_AND_CUTS];
    let settings = subjects().into_iter().flat_map(|subject| subject.one_at_a_time().into_iter().skip(1));
    let mut turns = 0..;
    let runs = |stack: &_| {
        let cases = cases(stack, &PATTERNS, 120, seed());
        let (turn, all) = (turns.next().unwrap_or_default(), cases.len() * rates.len());
        let first = if is_long() || all == 0 { 0 } else { turn % all };
        let chosen = (first..all).step_by(by_form(9, all.max(1)));
        chosen.map(|at| at_rate(&cases, &rates, (at / rates.len(), at % rates.len()))).collect()
    };
    endure("blocks fail", settings, runs, any);
}
