//! Makes a failing case small enough to think about.
//!
//! The workload is written out as a script, and whatever can be taken out of it without mending the
//! failure is taken out: first halves, then quarters, down to single operations; then requests are
//! cut to one page. Faults go one by one. A smaller case may well fail in another place or for
//! another reason at first sight, so only the broken promise must stay the same.
//!
//! It knows nothing of schemes: each attempt is a whole case. The number of attempts grows with n
//! log n in the best and n² in the worst case, for n operations.

use crate::case::operation::{Extent, Operation};
use crate::case::schedule::FaultSchedule;
use crate::case::test_case::{Case, Prefill};
use crate::case::workload::Workload;
use crate::drivers::explorer::{Effort, explore};
use crate::drivers::suite::run_case;
use crate::report::failure::Failure;

/// The smallest case that it finds for a failure of any kind.
pub fn smallest(failure: Failure) -> Failure {
    smallest_while(failure, |_| true)
}

/// The same, as long as `goes_on` says so: it is asked before each attempt, with the smallest case
/// so far.
pub fn smallest_while(failure: Failure, goes_on: impl Fn(&Failure) -> bool) -> Failure {
    // A shorter script has other operations to cut the power at, so all are tried.
    let effort =
        Effort { first: 1, during_recovery: u32::from(failure.case.schedule.cuts().len() > 1), after_recovery: 20 };
    if failure.case.schedule.cuts().is_empty() {
        shrink_while(failure, |case| run_case(case).map(|_| ()), goes_on)
    } else {
        shrink_while(failure, |case| explore(case, effort).map(|_| ()), goes_on)
    }
}

/// The smallest case that it finds which breaks the same promise, as its failure. `run` tries a
/// case; the first failure is what it said of the case as it stands.
pub fn shrink(first: Failure, run: impl Fn(&Case) -> Result<(), Failure>) -> Failure {
    shrink_while(first, run, |_| true)
}

fn shrink_while(
    first: Failure,
    run: impl Fn(&Case) -> Result<(), Failure>,
    goes_on: impl Fn(&Failure) -> bool,
) -> Failure {
    let mut best = first;
    let still_fails = |candidate: &Case, best: &mut Failure| {
        if !goes_on(best) {
            return false;
        }
        match run(candidate) {
            Err(failure) if failure.promise() == best.promise() => {
                *best = failure;
                true
            }
            _ => false,
        }
    };
    if !still_fails(&scripted(&best.case, operations(&best.case)), &mut best) {
        return best;
    }
    reduce(&mut best, &still_fails);
    drop_prefill(&mut best, &still_fails);
    best
}

/// Takes out of the script, and of the faults, what the failure does not need.
fn reduce(best: &mut Failure, still_fails: &impl Fn(&Case, &mut Failure) -> bool) {
    drop_faults(best, still_fails);
    let mut size = operations(&best.case).len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < operations(&best.case).len() {
            let candidate = without(&best.case, start, size);
            if !still_fails(&candidate, best) {
                start += size;
            }
        }
        size /= 2;
    }
    for index in 0..operations(&best.case).len() {
        if let Some(candidate) = with_one_page(&best.case, index) {
            still_fails(&candidate, best);
        }
    }
    drop_faults(best, still_fails);
}

/// Leaves the prefill out, or writes it out and makes it smaller, whatever is the smallest. A case
/// never grows.
fn drop_prefill(best: &mut Failure, still_fails: &impl Fn(&Case, &mut Failure) -> bool) {
    let prefill = best.case.prefill_operations();
    if prefill.is_empty() {
        return;
    }
    let emptied = Case { prefill: Prefill::Empty, ..(*best.case).clone() };
    let script = prefill.into_iter().chain(emptied.operations()).collect();
    let written = scripted(&emptied, script);
    for candidate in [emptied, written] {
        let mut smaller = best.clone();
        if still_fails(&candidate, &mut smaller) {
            reduce(&mut smaller, still_fails);
            if size(&smaller.case) < size(&best.case) {
                *best = smaller;
            }
        }
    }
}

/// How large a case is: its requests, those of its prefill, and the pages of its requests.
fn size(case: &Case) -> (u32, usize, u32) {
    let extents = case.operations().filter_map(|operation| operation.extent());
    (case.requests, case.prefill_operations().len(), extents.map(|extent| extent.pages).sum())
}

/// Takes faults out one by one, from the last, since those before keep their operations then.
fn drop_faults(best: &mut Failure, still_fails: &impl Fn(&Case, &mut Failure) -> bool) {
    for index in (0..best.case.schedule.faults().len()).rev() {
        let mut faults = best.case.schedule.faults().to_vec();
        if index < faults.len() {
            faults.remove(index);
            still_fails(&Case { schedule: FaultSchedule::Faults(faults), ..(*best.case).clone() }, best);
        }
    }
}

/// The case with this script for its workload.
fn scripted(case: &Case, script: Vec<Operation>) -> Case {
    Case { requests: script.len() as u32, workload: Workload::Script(script), ..case.clone() }
}

fn operations(case: &Case) -> Vec<Operation> {
    case.operations().collect()
}

fn without(case: &Case, start: usize, size: usize) -> Case {
    let mut script = operations(case);
    script.drain(start..(start + size).min(script.len()));
    scripted(case, script)
}

fn with_one_page(case: &Case, index: usize) -> Option<Case> {
    let mut script = operations(case);
    let whole = *script.get(index)?;
    let smaller = whole.with_extent(Extent { pages: 1, ..whole.extent()? });
    let changed = std::mem::replace(&mut script[index], smaller) != smaller;
    changed.then(|| scripted(case, script))
}
