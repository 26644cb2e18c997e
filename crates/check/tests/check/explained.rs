//! A failure is explained from the flash: what befell it, which pages name the lost one, and what
//! was done with that. To be recorded changes nothing.

use check::canary::Bug;
use check::drivers::variants::Subject;
use check::torture::campaign::Campaign;
use check::torture::{Options, Torture};
use check::{
    Case, Cut, Effort, Explanation, Failure, FaultSchedule, InjectedFault, Promise, explain, explore, run_case,
};
use flash::{Fault, Tear};
use ftl::Stack;

const DEVICE: &str = "geometry=1x1x1x8x4x512 pages=14 seed=7 prefill=full workload=mixed requests=200";

fn buggy(bug: &str) -> Case {
    format!("check::replay scheme=canary set.bug={bug} {DEVICE}").parse().expect("a replay line")
}

fn explained(case: &Case) -> (Failure, Explanation) {
    *explain(case).expect_err("a bug is planted")
}

#[test]
fn a_wrong_page_is_named_with_every_copy_of_it() {
    for bug in ["lost-write", "stale-read", "double-map", "forgotten-trim"] {
        let (failure, explanation) = explained(&buggy(bug));
        assert_eq!(run_case(&failure.case).err(), Some(failure.clone()), "{bug}");
        let message = failure.message();
        let lpn = message.split("LPN ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a page");
        let copies = &explanation.copies;
        assert!(copies[0].contains(&format!("LPN {lpn}")), "{bug}: {message}: {copies:?}");
        let is_copy = |line: &String| line.contains("PPN") && line.contains("PBN") && line.contains("version");
        assert!(copies[1..].iter().all(is_copy), "{bug}: {copies:?}");
        assert!(copies.len() > 1 || bug == "lost-write", "{bug}: {message}: {copies:?}");
        assert_eq!(explanation.about, format!("what was done with LPN {lpn}, in order"), "{bug}");
        assert!((1..=20).contains(&explanation.operations.len()), "{bug}: {explanation}");
        let names_it = |line: &String| line.contains(&format!("LPN {lpn}")) || line.contains(" to ");
        assert!(explanation.operations.iter().all(names_it), "{bug}: {explanation}");
        assert!(!explanation.operations.iter().any(|line| line.starts_with("read ")), "{bug}: {explanation}");
        assert_eq!(explanation.dies.len(), 1, "{explanation}");
        assert!(explanation.cuts.is_empty() && explanation.faults.is_empty(), "{explanation}");
        assert!((3..=11).contains(&explanation.brief().len()), "{explanation}");
    }
}

#[test]
fn a_power_cut_is_named_with_the_operation_that_it_hit() {
    let case = Case { schedule: FaultSchedule::None, ..buggy("erase-before-copy") };
    let effort = Effort { first: 1, during_recovery: 0, after_recovery: 0 };
    let failure = explore(&case, effort).expect_err("a bug is planted");
    let (again, explanation) = explained(&failure.case);
    assert_eq!(again, failure);
    let [cut] = &explanation.cuts[..] else { panic!("one cut: {explanation}") };
    assert!(cut.starts_with("the power was cut at the "), "{cut}");
    assert!(cut.contains("PBN") && cut.contains(", cause collection, "), "{cut}");
    assert!(!explanation.copies.is_empty(), "{explanation}");
    let lost = explanation.operations.iter().find(|line| line.contains("destroyed the last copy of "));
    let lost = lost.unwrap_or_else(|| panic!("the erase that destroyed it: {explanation}"));
    assert!(lost.contains("erase of PBN ") && lost.contains(", cause collection, "), "{lost}");
    assert!(lost.contains("(version ") && lost.contains(", PPN "), "{lost}");
    assert!(explanation.brief().iter().any(|line| line.trim() == lost), "{explanation}");
}

#[test]
fn a_trim_without_a_page_that_says_so_is_named() {
    let (failure, explanation) = explained(&buggy("forgotten-trim"));
    let told = explanation.brief().join("\n");
    assert!(
        told.contains("the host trimmed LPN ") && told.contains("and no page that says so of LPN "),
        "{failure}: {told}"
    );
}

#[test]
fn an_erase_of_a_page_that_was_not_moved_is_named() {
    let (failure, explanation) = explained(&buggy("lost-write"));
    let told = explanation.brief().join("\n");
    assert!(told.contains("cause collection, in ") && told.contains(", destroyed the "), "{failure}: {told}");
}

#[test]
fn a_refused_read_names_what_the_page_held() {
    let (failure, explanation) = explained(&buggy("early-erase"));
    assert!(failure.message().contains("illegal read"), "{failure}");
    let held = &explanation.copies[0];
    assert!(held.contains(" held LPN ") && held.contains(", until the erase of PBN "), "{explanation}");
    let last = explanation.operations.last().expect("the refused read");
    assert!(last.contains("illegal read"), "{explanation}");
}

#[test]
fn recovery_that_erased_the_newest_copy_is_named() {
    let told = (20..200).step_by(5).filter_map(|operation| {
        let schedule = FaultSchedule::PowerCuts(vec![Cut { operation, tear: Tear::Before }]);
        let (_, explanation) = *explain(&Case { schedule, ..buggy("oldest-wins") }).err()?;
        Some(explanation.brief().join("\n"))
    });
    let told: Vec<_> = told.collect();
    let is_named = |told: &String| {
        told.contains("in recovery: erase of PBN ") && told.contains(", cause recovery, destroyed the newest copy of ")
    };
    assert!(told.iter().any(is_named), "{told:#?}");
}

#[test]
fn what_no_request_of_the_line_does_is_said() {
    let case = Case { requests: 3, ..buggy("leaked-block") };
    let (failure, explanation) = explained(&case);
    assert!(failure.message().contains("everything"), "{failure}");
    let said = explanation.brief().join("\n");
    assert!(said.contains("trims everything and fills the device twice"), "{failure}: {said}");
}

/// Of all planted bugs those that lose blocks, or never choose one, are told as block leaks, and no
/// other is.
#[test]
fn a_block_that_the_scheme_lost_track_of_is_named() {
    for (bug, name) in Bug::ALL {
        let (case, is_leak) = (buggy(name), matches!(bug, Bug::LeakedBlock | Bug::LeakedByRecovery | Bug::Livelock));
        let effort = Effort { first: if is_leak { 1 } else { 7 }, during_recovery: 0, after_recovery: 0 };
        let explored = || explore(&Case { requests: 60, ..case.clone() }, effort).map(|_| ());
        let failure = if bug.needs_a_power_cut() { explored() } else { run_case(&case).map(|_| ()) };
        let Err(failure) = failure else {
            assert!(!is_leak, "{name} was not found");
            continue;
        };
        let Err(again) = explain(&failure.case) else { continue };
        let (failure, explanation) = *again;
        println!("{failure}\n{explanation}");
        assert_eq!(explanation.leak.is_some(), is_leak, "{name}: {failure}\n{explanation}");
        let Some(leak) = &explanation.leak else { continue };
        let said = "block leak: PBN ";
        assert!(leak.starts_with(said) && leak.contains(" holds no valid page since "), "{leak}");
        assert!(leak.contains("never erased") || leak.contains("never programmed again"), "{leak}");
        assert_eq!(explanation.brief()[0], *leak);
        let pbn = leak[said.len()..].split(' ').next().expect("a block");
        assert_eq!(explanation.about, format!("what was done with PBN {pbn}, in order"), "{explanation}");
    }
}

#[test]
fn faults_of_the_flash_are_listed_and_panics_are_explained() {
    let (failure, explanation) = explained(&buggy("panic"));
    assert!(failure.message().contains("panicked"), "{failure}");
    assert!(!explanation.operations.is_empty(), "{explanation}");

    let stacks = vec!["canary:bug=lost-bad-block-table".parse().expect("a stack")];
    let mut torture = Torture::new(Options { stacks, seed: 1, ..Options::default() }).expect("a request");
    let finding = loop {
        let Some(trial) = torture.next_trial() else { break torture.reports()[0].findings[0].clone() };
        let result = trial.run();
        torture.record(&trial, result, 1);
    };
    assert!(finding.reproduced && !finding.explanation.is_empty(), "{finding:?}");
    let case: Case = finding.replay.parse().expect("a replay line");
    let (_, explanation) = explained(&case);
    assert!(explanation.faults.iter().any(|line| line.contains("could not be ")), "{explanation}");
}

/// A message of the scheme itself may name what it is about.
#[test]
fn a_block_that_an_invariant_names_is_told_of() {
    let (failure, explanation) = explained(&buggy("dirty-free-block"));
    let message = failure.message();
    let pbn = message.split("PBN ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a block");
    assert_eq!(explanation.about, format!("what was done with PBN {pbn}, in order"), "{message}");
    let is_of_it = |line: &String| line.contains(&format!("PBN {pbn}"));
    assert!(!explanation.operations.is_empty() && explanation.operations.iter().all(is_of_it), "{explanation}");
}

/// Whichever driver cut the power: what is missing then, the cut has lost.
#[test]
fn what_a_power_cut_lost_is_said_to_be_lost_by_it() {
    for (bug, name) in Bug::ALL.into_iter().filter(|(bug, _)| bug.needs_a_power_cut()) {
        let staged =
            (0..120).step_by(9).map(|operation| FaultSchedule::PowerCuts(vec![Cut { operation, tear: Tear::Torn }]));
        let within = (20..600)
            .step_by(23)
            .map(|operation| FaultSchedule::Faults(vec![InjectedFault { operation, fault: Fault::Cut(Tear::Torn) }]));
        for schedule in staged.chain(within) {
            let is_within = !schedule.faults().is_empty();
            let Err(failed) = explain(&Case { schedule, ..buggy(name) }) else { continue };
            let (failure, explanation) = *failed;
            // A replayed line may end before its cut.
            if failure.promise().is_none() {
                continue;
            }
            let message = failure.message();
            assert_ne!(failure.promise(), Some(Promise::SurvivesFailingFlash), "{failure}");
            assert!(
                explanation.brief().iter().any(|line| line.contains("the power was cut")),
                "{failure}\n{explanation}"
            );
            let is_missing = message.contains("reads as empty") || message.contains(" of itself");
            if is_missing && message.contains("at reading back after recovery: LPN") {
                assert!(message.contains(": the power cut lost the "), "{bug:?}, {is_within}: {message}");
            }
        }
    }
    let told = |operation| {
        let schedule = FaultSchedule::PowerCuts(vec![Cut { operation, tear: Tear::Before }]);
        let stack = "canary+canary-buffer:bug=undeclared".parse().expect("a stack");
        let (_, explanation) = *explain(&Case { schedule, stack, ..buggy("none") }).err()?;
        explanation.brief().into_iter().find(|line| line.contains("that lost what RAM alone held of LPN "))
    };
    assert!((20..80).any(|operation| told(operation).is_some()));
}

#[test]
fn a_run_that_is_recorded_does_the_same() {
    let subject = Subject::keeping(Stack::of("page")).expect("a mapping");
    for case in Campaign::of(subject, 5).defaults().cases.iter().step_by(40) {
        assert_eq!(explain(case).ok(), run_case(case).ok(), "{case}");
    }
}
