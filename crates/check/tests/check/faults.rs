//! Every registered scheme, several devices and workloads, with every kind of flash fault;
//! promise 4 of `docs/correctness.md`, and in its terms.
//!
//! Of failures at random every fifth case is tried, of single ones every seventh, and all with
//! `FTLKIT_LONG`. `FTLKIT_SCHEME=name` tries one scheme alone, `FTLKIT_SEED=number` other requests
//! and faults than the usual ones.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::by_form;
use check::drivers::failing_flash::{Rates, cases};
use check::drivers::variants::Subject;
use check::{Case, Failure, FaultRun, FaultRunReport, Pattern, run_with_faults};
use flash::{Fault, FaultPlan};
use ftl::{FlashOp, Stack};

fn seed() -> u64 {
    let text = std::env::var("FTLKIT_SEED").unwrap_or_else(|_| "20261".into());
    text.parse().unwrap_or_else(|_| panic!("FTLKIT_SEED={text}: must be a whole number"))
}

#[derive(Default)]
struct Sum {
    runs: u64,
    requests: u64,
    injected: BTreeMap<&'static str, u64>,
    read_only: u64,
    early: u64,
    lost: u64,
}

impl Sum {
    fn add(&mut self, report: &FaultRunReport) {
        self.runs += 1;
        self.requests += report.requests;
        for fault in &report.injected {
            let name = match fault.fault {
                Fault::ProgramFails => "failed programs",
                Fault::EraseFails => "failed erases",
                Fault::ReadFails => "failed reads",
                Fault::ReadCorrected => "corrected reads",
                Fault::Cut(_) => "power cuts",
            };
            *self.injected.entry(name).or_default() += 1;
        }
        self.read_only += u64::from(report.read_only);
        self.early += u64::from(report.early);
        self.lost += report.lost;
    }
}

/// Runs on all cores; prints the failures and what it amounts to, and returns the number of
/// failures.
fn endure_all(what: &str, runs: &[(Case, FaultRun)]) -> (Sum, usize) {
    let next = AtomicUsize::new(0);
    let results: Mutex<(Sum, Vec<Failure>)> = Mutex::default();
    let work = || {
        while let Some((case, fault_run)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = run_with_faults(case, fault_run);
            let mut results = results.lock().expect("no worker panics");
            match result {
                Ok(report) => results.0.add(&report),
                Err(failure) => results.1.push(failure),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let (sum, mut failures) = results.into_inner().expect("no worker panics");
    failures.sort_by_key(|failure| failure.case.requests);
    for failure in failures.iter().take(4) {
        println!("{failure}");
    }
    let Sum { runs, requests, injected, read_only, early, lost } = &sum;
    println!(
        "{what}: {runs} runs, {requests} requests, {injected:?}, {read_only} read-only ({early} early), {lost} pages lost, {} failed",
        failures.len()
    );
    (sum, failures.len())
}

/// All stacks with their defaults.
fn stacks() -> impl Iterator<Item = Stack> {
    crate::common::subjects().into_iter().map(|subject| subject.stack)
}

/// All stacks, and once more those that keep checkpoints, with them.
fn stacks_and_checkpoints() -> Vec<Stack> {
    let both = |subject: Subject| std::iter::once(subject.stack.clone()).chain(subject.checkpoints());
    crate::common::subjects().into_iter().flat_map(both).collect()
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
        let step = step * crate::common::one_in(stack) * by_form(1, 7);
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
    let mut failures = 0;
    for stack in stacks_and_checkpoints() {
        failures += endure_all(
            &format!("{stack}, one program fails"),
            &one_fault_each(&stack, FlashOp::Program, Fault::ProgramFails, 1),
        )
        .1;
        failures += endure_all(
            &format!("{stack}, one erase fails"),
            &one_fault_each(&stack, FlashOp::Erase, Fault::EraseFails, 1),
        )
        .1;
    }
    assert_eq!(failures, 0, "see the replay lines above");
}

#[test]
fn any_one_read_may_fail() {
    let mut failures = 0;
    for stack in stacks() {
        failures += endure_all(
            &format!("{stack}, one read fails"),
            &one_fault_each(&stack, FlashOp::Read, Fault::ReadFails, 7),
        )
        .1;
    }
    assert_eq!(failures, 0, "see the replay lines above");
}

#[test]
fn blocks_fail_at_random_until_the_device_is_read_only() {
    let often = Rates { program: 50, erase: 50, ..Rates::default() };
    let seldom = Rates { program: 500, erase: 100, ..Rates::default() };
    let erases = Rates { erase: 10, ..Rates::default() };
    let bursts = Rates { program: 8, erase: 8, ..Rates::default() };
    let mut failures = 0;
    for stack in stacks_and_checkpoints() {
        let (sum, failed) =
            endure_all(&format!("{stack}, blocks fail"), &at_rates(&stack, 400, &[often, seldom, erases, bursts]));
        assert!(sum.read_only > 0, "{stack}: no run came to the end of its spares");
        failures += failed;
    }
    assert_eq!(failures, 0, "see the replay lines above");
}

/// Blocks leave because the log is divided anew, when nobody needs their space; one may fail then,
/// or the device be read-only afterwards.
#[test]
fn blocks_fail_while_the_log_is_divided_anew() {
    let failures_only = Rates { program: 60, erase: 30, read: 300, ..Rates::default() };
    let with_cuts = Rates { cut: 80, program: 200, erase: 60, ..Rates::default() };
    let mut failures = 0;
    for stack in crate::common::divided_anew() {
        let runs = at_rates(&stack, 300, &[failures_only, with_cuts]);
        failures += endure_all(&format!("{stack}, blocks fail"), &runs).1;
    }
    assert_eq!(failures, 0, "see the replay lines above");
}

#[test]
fn pages_decay_and_blocks_fail_at_random() {
    let decay = Rates { read: 400, corrected: 50, ..Rates::default() };
    let all = Rates { read: 400, corrected: 50, program: 300, erase: 100, ..Rates::default() };
    let mut failures = 0;
    for stack in stacks() {
        let (sum, failed) = endure_all(&format!("{stack}, pages decay"), &at_rates(&stack, 300, &[decay, all]));
        assert!(sum.lost > 0, "{stack}: no page was lost");
        failures += failed;
    }
    assert_eq!(failures, 0, "see the replay lines above");
}

#[test]
fn blocks_wear_out() {
    let mut failures = 0;
    for stack in stacks() {
        let runs: Vec<_> = cases(&stack, &PATTERNS, 600, seed())
            .into_iter()
            .map(|case| (case, FaultRun { endurance: Some(12), ..FaultRun::default() }))
            .collect();
        let (sum, failed) = endure_all(&format!("{stack}, blocks wear out"), &runs);
        assert!(sum.read_only > 0, "{stack}: no device wore out");
        failures += failed;
    }
    assert_eq!(failures, 0, "see the replay lines above");
}

#[test]
fn the_power_is_cut_while_blocks_fail() {
    let cuts = Rates { cut: 100, program: 100, erase: 60, ..Rates::default() };
    let seldom = Rates { cut: 60, program: 900, erase: 400, ..Rates::default() };
    let mut failures = 0;
    for stack in stacks_and_checkpoints() {
        failures +=
            endure_all(&format!("{stack}, blocks fail and the power is cut"), &at_rates(&stack, 200, &[cuts, seldom]))
                .1;
    }
    assert_eq!(failures, 0, "see the replay lines above");
}

/// Every value of every parameter, the others at their defaults: failures at random, with and
/// without power cuts. One run for each value, another in turn; with `FTLKIT_LONG` every ninth.
#[test]
fn blocks_fail_with_every_setting() {
    let rates = [
        Rates { program: 60, erase: 30, ..Rates::default() },
        Rates { cut: 80, program: 200, erase: 60, ..Rates::default() },
    ];
    let settings =
        crate::common::subjects().into_iter().flat_map(|subject| subject.one_at_a_time().into_iter().skip(1));
    let mut failures = 0;
    for (turn, stack) in settings.enumerate() {
        let cases = cases(&stack, &PATTERNS, 120, seed());
        let all = cases.len() * rates.len();
        let first = if crate::common::is_long() || all == 0 { 0 } else { turn % all };
        let chosen = (first..all).step_by(by_form(9, all.max(1)));
        let runs: Vec<_> = chosen.map(|at| at_rate(&cases, &rates, (at / rates.len(), at % rates.len()))).collect();
        if !runs.is_empty() {
            failures += endure_all(&format!("{stack}, blocks fail"), &runs).1;
        }
    }
    assert_eq!(failures, 0, "see the replay lines above");
}
