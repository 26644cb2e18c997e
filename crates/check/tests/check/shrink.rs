//! Failing cases become small, and never larger.

use check::{Case, Operation, Prefill, Promise, Workload, run_case, shrink, smallest_while};

#[test]
fn a_forgotten_trim_needs_one_write_and_one_trim() {
    let line = "check::replay scheme=canary set.bug=forgotten-trim geometry=1x1x1x12x4x512 pages=20 seed=7 prefill=full \
                workload=mixed requests=200";
    let case: Case = line.parse().expect("valid");
    let first = run_case(&case).expect_err("a planted bug");
    assert_eq!(first.promise(), Some(Promise::ReadsReturnLastWrite), "{first}");
    let small = shrink(first.clone(), |case| run_case(case).map(|_| ()));
    assert_eq!(small.promise(), first.promise());
    assert!(small.case.operations().count() <= 2, "{small}");
    assert_eq!(run_case(&small.to_string().parse().expect("a replay line")), Err(small));
}

/// What a case costs: requests, those that fill the device, and all pages of the requests.
fn size(case: &Case) -> (u32, usize, u32) {
    let extents = case.operations().filter_map(|operation| operation.extent());
    (case.requests, case.prefill_operations().len(), extents.map(|extent| extent.pages).sum())
}

/// The prefill was once written into the script, whatever that cost: a case of 75 requests became
/// one of 90.
#[test]
fn shrinking_never_grows_a_case() {
    let run = |case: &Case| run_case(case).map(|_| ());
    for (bug, workload) in [("lost-write", "uniform"), ("lost-write", "stride"), ("early-erase", "uniform")] {
        let line = format!(
            "check::replay scheme=canary set.bug={bug} geometry=1x1x1x12x4x512 pages=26 seed=7 prefill=full \
             workload={workload} requests=100"
        );
        let first = run(&line.parse().expect("valid")).expect_err("a planted bug");
        let small = shrink(first.clone(), run);
        assert!(size(&small.case) <= size(&first.case), "{first} grew to {small}");

        let script: Vec<Operation> =
            first.case.prefill_operations().into_iter().chain(first.case.operations()).collect();
        let written = Case {
            requests: script.len() as u32,
            workload: Workload::Script(script),
            prefill: Prefill::Empty,
            ..(*first.case).clone()
        };
        let written = shrink(run(&written).expect_err("the same bug"), run);
        assert!(written.case.requests > first.case.requests, "{first} does not show that {written} would grow");
    }
}

#[test]
fn a_case_that_is_cut_off_keeps_no_request_beyond() {
    let line = "check::replay scheme=canary set.bug=lost-write geometry=1x1x1x12x4x512 pages=26 seed=7 prefill=full \
                workload=uniform requests=100";
    let case: Case = line.parse().expect("valid");
    let script: Vec<Operation> = case.operations().collect();
    let scripted = Case { workload: Workload::Script(script), ..case };
    let failure = run_case(&scripted).expect_err("a planted bug");
    let Workload::Script(script) = &failure.case.workload else { panic!("a script: {failure}") };
    assert!(script.len() < 100, "{failure}");
    assert_eq!(script.len(), failure.case.requests as usize, "{failure}");
}

#[test]
fn shrinking_that_is_stopped_keeps_the_smallest_case() {
    let line = "check::replay scheme=canary set.bug=forgotten-trim geometry=1x1x1x12x4x512 pages=20 seed=7 prefill=full \
                workload=mixed requests=200";
    let first = run_case(&line.parse().expect("valid")).expect_err("a planted bug");
    assert_eq!(smallest_while(first.clone(), |_| false), first);
    let stopped = smallest_while(first.clone(), |best| best.case.requests == first.case.requests);
    assert!(stopped.case.requests < first.case.requests, "{stopped}");
    assert_eq!(run_case(&stopped.case), Err(stopped));
}
