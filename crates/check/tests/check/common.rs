//! What the suite's tests share.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use check::drivers::failing_flash::Rates;
use check::drivers::variants::Subject;
use check::torture::TrialStats;
use check::torture::campaign::Campaign;
use check::{
    Case, DeviceSpec, Effort, Failure, FaultRun, Outcome, Pattern, Workload, explore, geometries, run_case,
    run_with_faults,
};
use ftl::{Layout, Stack};

/// Programs and erases that fail at random, and cuts.
pub(crate) const FAILS_AND_CUTS: Rates = Rates { program: 100, erase: 40, read: 0, corrected: 0, cut: 300 };

/// The cases of a stack with what is said of its parts, one in this many.
pub(crate) fn cases(stack: &Stack, seed: u64, one_in: usize) -> Vec<Case> {
    let subject = Subject::keeping(stack.clone()).expect("parts that go together");
    let cases: Vec<_> = Campaign::of(subject, seed).defaults().cases.into_iter().step_by(one_in).collect();
    assert!(cases.len() > 3, "{stack}: {} cases", cases.len());
    cases
}

/// Stacks by their spellings.
pub(crate) fn stacks(spellings: &[&str]) -> Vec<Stack> {
    spellings.iter().map(|text| text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))).collect()
}

/// Cases on devices on which a stack has room, filled to such a share of the largest capacity,
/// under three patterns; nothing is looked at on the way.
pub(crate) fn on_full_devices(stack: &Stack, devices: &[DeviceSpec], (share, of): (u32, u32)) -> Vec<Case> {
    let largest = |device: &DeviceSpec| {
        geometries::largest_capacity(device, |layout: &Layout| check::create(stack, layout))
            .map(|pages| pages * share / of)
    };
    let fitting = devices.iter().filter_map(|device| Some((device, largest(device)?)));
    let patterns = [Pattern::Mixed, Pattern::Uniform, Pattern::HotCold];
    let all = fitting.flat_map(|(device, pages)| patterns.map(|pattern| (device.clone(), pages, pattern)));
    let case = |(seed, (device, pages, pattern))| Case {
        seed,
        ..Case::new(stack, &device, pages, Workload::Generated(pattern))
    };
    (1..).zip(all).map(case).collect()
}

/// Runs a case, which must keep every promise.
pub(crate) fn passes(case: &Case) -> Outcome {
    run_case(case).unwrap_or_else(|failure| panic!("{failure}"))
}

/// The seed of the suite's cases, or the one that `FTLKIT_SEED` names.
pub(crate) fn seed() -> u64 {
    let text = std::env::var("FTLKIT_SEED").unwrap_or_else(|_| "20261".into());
    text.parse().unwrap_or_else(|_| panic!("FTLKIT_SEED={text}: must be a whole number"))
}

/// Runs all of these on all cores; prints the shortest failures, and returns what those that passed
/// amount to, and the number of failures.
pub(crate) fn on_all_cores<T: Sync>(
    all: &[T],
    run: impl Fn(&T) -> Result<TrialStats, Failure> + Sync,
) -> (TrialStats, usize) {
    let next = AtomicUsize::new(0);
    let results: Mutex<(TrialStats, Vec<Failure>)> = Mutex::default();
    let work = || {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = run(one);
            let (sum, failures) = &mut *results.lock().expect("no worker panics");
            match result {
                Ok(passed) => *sum += passed,
                Err(failure) => failures.push(failure),
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
    failures.iter().take(4).for_each(|failure| println!("{failure}"));
    (sum, failures.len())
}

/// Cuts the power of cases, after which every promise must hold.
pub(crate) fn survive_cuts(cases: impl IntoIterator<Item = Case>, effort: Effort) -> TrialStats {
    let mut explored = TrialStats::default();
    for case in cases {
        explored += explore(&case, effort).unwrap_or_else(|failure| panic!("{failure}"));
    }
    explored
}

/// Runs cases on flash that fails at these rates.
pub(crate) fn survive_faults(cases: impl IntoIterator<Item = Case>, rates: Rates) {
    for (i, case) in (0..).zip(cases) {
        let fault_run = FaultRun { plan: rates.plan(i), ..FaultRun::default() };
        run_with_faults(&case, &fault_run).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// Every mapping alone, and every other part over one mapping, of all those over which it is tried
/// at length elsewhere (`wear.rs`); with `FTLKIT_LONG` over each of them. Or those that
/// `FTLKIT_SCHEME` names: by the names of all parts (`page`, `fast+dynamic`), or by one further
/// part (`dynamic`). A name that matches none is an error, lest nothing be tried and all seem well.
pub(crate) fn subjects() -> Vec<Subject> {
    let all = Subject::all();
    let known: Vec<_> = all.iter().map(|subject| subject.stack.names()).collect();
    let Ok(only) = std::env::var("FTLKIT_SCHEME") else {
        return if std::env::var_os("FTLKIT_LONG").is_some() { all } else { over_one_mapping(all) };
    };
    let is_meant =
        |subject: &Subject| subject.stack.names() == only || subject.stack.others.iter().any(|part| part.name == only);
    let chosen: Vec<_> = all.into_iter().filter(is_meant).collect();
    assert!(!chosen.is_empty(), "FTLKIT_SCHEME={only}: must be one of {}, or one part", known.join(", "));
    chosen
}

/// Each mapping alone; each further part over one mapping, the next one in turn.
fn over_one_mapping(all: Vec<Subject>) -> Vec<Subject> {
    let (mut chosen, further): (Vec<_>, Vec<_>) = all.into_iter().partition(|subject| subject.stack.is_bare());
    let mut of_parts: BTreeMap<String, Vec<Subject>> = BTreeMap::new();
    for subject in further {
        of_parts.entry(subject.stack.others[0].name.clone()).or_default().push(subject);
    }
    let in_turn = |(turn, mut subjects): (usize, Vec<Subject>)| subjects.swap_remove(turn % subjects.len());
    chosen.extend(of_parts.into_values().enumerate().map(in_turn));
    chosen
}

/// adapt with areas of several blocks that change every few requests, and pages and whole blocks
/// that move, as they do on large devices; none if `FTLKIT_SCHEME` names something else.
pub(crate) fn divided_anew() -> Vec<Stack> {
    let restless = "adapt:log_blocks=6:interval=2:sequential_share=1:flip_below=0.5:threshold_low=0:tau=0.5";
    let variants = [
        "",
        ":hat=30",
        ":hat=60:hat_covers=logical_blocks",
        ":hat=30:admits=any_page:sequential_blocks=3",
        ":transfer=second_chance:partition=fixed:sequential_blocks=2",
    ];
    let is_other = std::env::var("FTLKIT_SCHEME").is_ok_and(|only| only != "adapt");
    let all = variants.map(|variant| format!("{restless}{variant}"));
    if is_other { Vec::new() } else { stacks(&all.each_ref().map(String::as_str)) }
}

/// Whether the long form of the suite was asked for, with `FTLKIT_LONG`.
pub(crate) fn is_long() -> bool {
    std::env::var_os("FTLKIT_LONG").is_some()
}

/// One number for the long form of the suite, and one otherwise.
pub(crate) fn by_form<N>(long: N, short: N) -> N {
    if is_long() { long } else { short }
}

/// Whether one scheme alone was asked for, with `FTLKIT_SCHEME`.
pub(crate) fn is_one_scheme() -> bool {
    std::env::var_os("FTLKIT_SCHEME").is_some()
}

/// Of how many cases one is tried: of stacks of several parts fewer, since their mappings are tried
/// alone as well.
pub(crate) fn one_in(stack: &Stack) -> usize {
    if stack.is_bare() { 1 } else { 3 }
}
