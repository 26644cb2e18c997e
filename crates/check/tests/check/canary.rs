//! Tests of the tests: the healthy canary passes everything, and each planted bug is caught under
//! the right name, by the cases that every scheme must pass.

use check::canary::{Bug, NAME};
use check::torture::campaign::Campaign;
use check::{Case, Failure, Fault, Nature, Promise, run_case};

use crate::common::stacks;

const SEED: u64 = 7;

/// Failures looked at for each bug: enough to see different devices and workloads, few enough to
/// stay quick.
const SAMPLE: usize = 12;

/// The promises that a bug may break; the first one is the one that it must break.
fn broken_by(bug: Bug) -> &'static [Promise] {
    use Promise::{
        CountsAddUp, EmptiesBlocks, NeverPanics, OwnInvariants, ReadsReturnLastWrite, RefereeNeverComplains,
        SameSeedSameRun,
    };
    match bug {
        Bug::None => &[],
        Bug::StaleRead
        | Bug::LostWrite
        | Bug::ForgottenTrim
        | Bug::LeakedBlock
        | Bug::RelocationLosesPage
        | Bug::LevellerLosesPage
        | Bug::HintedContent => &[ReadsReturnLastWrite],
        Bug::RelocationForgetsOpenBlock => &[EmptiesBlocks],
        // Releasing the page that two share sometimes erases it before anyone reads it.
        Bug::DoubleMap => &[ReadsReturnLastWrite, RefereeNeverComplains],
        Bug::OutOfOrderProgram | Bug::EarlyErase | Bug::Livelock => &[RefereeNeverComplains],
        Bug::Unrepeatable => &[SameSeedSameRun],
        Bug::MiscountedCollection | Bug::MiscountedHost | Bug::GrowingFootprint | Bug::LevellerForgetsErase => {
            &[CountsAddUp]
        }
        // Free blocks are then written to, and what is written there is lost when they are opened.
        Bug::LevellerMovesOpenBlock => &[RefereeNeverComplains, OwnInvariants, ReadsReturnLastWrite],
        Bug::DirtyFreeBlock => &[OwnInvariants],
        Bug::Panic => &[NeverPanics],
        // The bugs of recovery are `power_cuts.rs`'s, those of idle time are `idle.rs`'s.
        bug => unreachable!("{bug:?} does no harm while the power is on"),
    }
}

/// How the wrong content of a bug looks.
fn nature_of(bug: Bug) -> Option<Nature> {
    match bug {
        Bug::StaleRead | Bug::ForgottenTrim => Some(Nature::Stale),
        Bug::LostWrite | Bug::RelocationLosesPage | Bug::LevellerLosesPage => Some(Nature::Lost),
        Bug::DoubleMap | Bug::HintedContent => Some(Nature::Foreign),
        _ => None,
    }
}

/// What the default campaign finds when a bug is planted, up to [`SAMPLE`] failures of cases far
/// apart.
fn failures(name: &str) -> Vec<Failure> {
    let with_bug = |case: &Case| {
        let mut case = case.clone();
        case.stack.mapping.settings.insert("bug".into(), name.into());
        case
    };
    let cases = Campaign::of_canary(SEED).defaults().cases;
    cases.iter().step_by(29).filter_map(|case| run_case(&with_bug(case)).err()).take(SAMPLE).collect()
}

fn is_caught(bug: Bug, name: &str) {
    let (failures, promises) = (failures(name), broken_by(bug));
    let first = failures.iter().find(|failure| failure.promise() == Some(promises[0]));
    let first = first.unwrap_or_else(|| panic!("{name} breaks {}, but nobody noticed", promises[0]));
    println!("{name}, in {} of {SAMPLE} and more cases: {first}", failures.len());
    for failure in &failures {
        assert!(failure.promise().is_some_and(|promise| promises.contains(&promise)), "{name}: {failure}");
    }
    if let Some(nature) = nature_of(bug) {
        let is_it =
            |failure: &Failure| matches!(failure.fault, Fault::WrongContent(mismatch) if mismatch.nature == nature);
        assert!(failures.iter().any(is_it), "{name} should show as {nature:?}: {first}");
    }
}

#[test]
fn the_healthy_canary_passes_everything() {
    let summary = Campaign::of_canary(SEED).defaults().run();
    println!("{NAME}: {summary}");
    assert!(summary.cases > 500 && summary.failures.is_empty(), "see the replay lines above");
}

/// With a buffer another oracle applies, and it must meet it; and levelling wear breaks no
/// promise.
#[test]
fn the_healthy_canary_with_a_write_buffer_or_a_leveller_passes_as_well() {
    for stack in stacks(&["canary+canary-buffer:pages=3", "canary:level=2", "canary:level=3+canary-buffer:pages=2"]) {
        for case in Campaign::of_canary(SEED).defaults().cases.iter().step_by(5) {
            let stack = stack.clone();
            run_case(&Case { stack, ..case.clone() }).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

fn is_seen_here(bug: Bug) -> bool {
    bug != Bug::None && !bug.needs_a_power_cut() && !bug.needs_idle_time() && !bug.needs_to_be_told()
}

#[test]
fn every_planted_bug_is_caught_and_named() {
    for (bug, name) in Bug::ALL.into_iter().filter(|(bug, _)| is_seen_here(*bug)) {
        is_caught(bug, name);
    }
}

/// What a host tells of its files changes no content.
#[test]
fn a_deletion_that_is_taken_for_a_trim_is_caught() {
    let line = "check::replay stack=canary:bug=deleted-as-trimmed geometry=1x1x1x12x4x512 pages=20 seed=7 requests=9";
    let tried = |script: &str| run_case(&format!("{line} workload=script:{script}").parse().expect("a replay line"));
    assert!(tried("w0+2,c0+2,n0+2,r0+2").is_ok());
    let failure = tried("w0+2,d1+1,r0+2").expect_err("a planted bug");
    assert_eq!(failure.promise(), Some(Promise::ReadsReturnLastWrite), "{failure}");
}

/// The line that a failure prints, pasted back, fails in the same place in the same way.
#[test]
fn every_replay_line_reproduces_its_failure() {
    let repeatable = |bug: Bug| bug != Bug::Unrepeatable && is_seen_here(bug);
    for (_, name) in Bug::ALL.into_iter().filter(|(bug, _)| repeatable(*bug)) {
        for failure in failures(name).into_iter().take(2) {
            let case: Case = failure.to_string().parse().expect("a failure ends with a replay line");
            let again = run_case(&case).expect_err("the line of a failure");
            let essence = |failure: &Failure| (failure.place, failure.promise(), failure.case.clone());
            assert_eq!(essence(&again), essence(&failure), "{name}");
        }
    }
}
