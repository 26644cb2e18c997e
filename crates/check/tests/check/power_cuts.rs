//! Every registered scheme, several devices and workloads: the power is cut at every program and
//! erase, in four ways, and again during recovery and after; promise 3 of `docs/correctness.md`,
//! and in its terms.
//!
//! Of the cases of a stack every eleventh one is tried, and of the cuts of a case and of a recovery
//! every third one. That also finds all planted bugs. With `FTLKIT_LONG` these are all cuts, in all
//! cases of a mapping and every third one of other stacks. `FTLKIT_SCHEME=name` tries one scheme
//! alone, `FTLKIT_SEED=number` other requests than the usual ones. The figures printed with
//! `FTLKIT_LONG` are those of `docs/reliability.md`.

use std::collections::BTreeSet;

use crate::common::{by_form, divided_anew, on_all_cores, one_in, seed, subjects};
use check::canary::{self, Bug};
use check::torture::TrialStats;
use check::{Case, Effort, FaultSchedule, Promise, explore, explore_within, power_cuts, run_case, shrink};
use ftl::Stack;

/// One of three cuts of a case and of those during its recovery, and all with `FTLKIT_LONG`.
fn seldom(Effort { first, during_recovery, after_recovery }: Effort) -> Effort {
    let one_in = by_form(1, 3);
    Effort { first: first * one_in, during_recovery: during_recovery * one_in, after_recovery }
}

/// Explores cases and prints what that amounts to; returns how many failed.
fn report(name: &str, cases: &[(Case, Effort)]) -> usize {
    let (explored, failed) = on_all_cores(cases, |(case, effort)| explore(case, seldom(*effort)));
    let devices: BTreeSet<_> = cases.iter().map(|(case, _)| case.device.to_string()).collect();
    let single_cuts = explored.single_cuts();
    let TrialStats { requests, cut_points, second_cuts, recoveries, flash_operations, .. } = explored;
    println!(
        "{name}: {} devices, {} workloads, {requests} requests, {cut_points} cut points, {single_cuts} single cuts, \
         {second_cuts} second cuts, {recoveries} recoveries, {flash_operations} flash operations",
        devices.len(),
        cases.len(),
    );
    assert!(devices.len() >= by_form(3, 2), "{name} accepts too few devices for this to show much");
    failed
}

/// None of these cases may fail, which are reported by name.
fn all_survive(all: impl IntoIterator<Item = (String, Vec<(Case, Effort)>)>) {
    let failures: usize = all.into_iter().map(|(name, cases)| report(&name, &cases)).sum();
    assert_eq!(failures, 0, "see the replay lines above");
}

#[test]
fn no_scheme_loses_or_invents_anything_at_any_power_cut() {
    all_survive(subjects().into_iter().map(|subject| {
        let settings = power_cuts::cases_of_settings(&subject, seed());
        let cases = power_cuts::cases(&subject.stack, seed()).into_iter().chain(settings);
        // No multiple of how many patterns, devices or ways to tear there are, so that all of them
        // are met.
        let step = by_form(one_in(&subject.stack), 11);
        (subject.stack.to_string(), cases.step_by(step).collect())
    }));
}

#[test]
fn a_log_that_is_divided_anew_all_the_time_survives_every_power_cut() {
    let some = |stack: &Stack| power_cuts::cases(stack, seed()).into_iter().step_by(by_form(2, 5)).collect();
    all_survive(divided_anew().into_iter().map(|stack| (stack.to_string(), some(&stack))));
}

#[test]
fn no_checkpoint_misleads_recovery_at_any_power_cut() {
    let all = subjects().into_iter().map(|subject| {
        let cases = power_cuts::cases_of_checkpoints(&subject, seed()).into_iter().step_by(by_form(1, 5));
        (format!("{} with checkpoints", subject.stack), cases.collect::<Vec<_>>())
    });
    all_survive(all.filter(|(_, cases)| !cases.is_empty()));
}

#[test]
fn the_healthy_canary_survives_every_power_cut() {
    let stacks = [("canary", 3), ("canary+canary-buffer:pages=3", 5), ("canary:level=2", 5)];
    let stacks = stacks.map(|(stack, step)| {
        let cases = power_cuts::cases(&stack.parse().expect("a spelling"), seed());
        (stack.to_owned(), cases.into_iter().step_by(step).collect())
    });
    all_survive(stacks);
}

fn canary_cases(bug: &str) -> Vec<(Case, Effort)> {
    power_cuts::cases(&Stack::with(canary::NAME, [("bug", bug)]), seed())
}

/// The promise that a bug breaks.
fn broken_by(bug: Bug) -> Promise {
    match bug {
        Bug::RecoveredBlockProgrammed | Bug::LostBadBlockTable => Promise::RefereeNeverComplains,
        _ => Promise::SurvivesPowerCuts,
    }
}

#[test]
fn every_planted_recovery_bug_is_caught_and_its_line_reproduces_it() {
    for (bug, name) in Bug::ALL.into_iter().filter(|(bug, _)| bug.needs_a_power_cut() && !bug.needs_a_decayed_page()) {
        let cases = canary_cases(name);
        let failed = cases.iter().filter_map(|(case, effort)| explore(case, *effort).err());
        let failures: Vec<_> = failed.take(by_form(4, 1)).collect();
        println!("{name}: {}", failures.first().map_or("nobody noticed".into(), ToString::to_string));
        assert!(!failures.is_empty(), "{name} was not caught");
        for failure in failures {
            assert_eq!(failure.promise(), Some(broken_by(bug)), "{name}: {failure}");
            let again: Case = failure.to_string().parse().expect("a failure ends with a replay line");
            assert_eq!(run_case(&again), Err(failure), "{name}");
        }
        // Fewer cuts may show the same bug as another broken promise, but they show it.
        let is_found = cases.iter().any(|(case, effort)| explore(case, seldom(*effort)).is_err());
        assert!(is_found, "{name} is not caught by as many cuts as are usually tried");
    }
}

#[test]
fn a_failure_shrinks_to_a_few_requests_and_keeps_its_cut() {
    let (case, effort) = canary_cases("lost-trim-page").remove(1);
    let first = explore(&case, effort).expect_err("a planted bug");
    let small = shrink(first.clone(), |case| explore(case, effort).map(|_| ()));
    println!("{small}");
    assert!(small.case.requests <= 4 && !small.case.schedule.cuts().is_empty(), "{small}");
    assert_eq!(small.promise(), first.promise());
    assert_eq!(run_case(&small.case), Err(small.clone()));
}

/// Torture bounds the flash operations of a trial; cuts that they do not pay for are left out, all
/// over the workload, and the statistics say so.
#[test]
fn cuts_beyond_the_operations_are_sampled() {
    let (case, _) = canary_cases("none").remove(0);
    let effort = Effort { first: 1, during_recovery: 0, after_recovery: 0 };
    let all = explore(&case, effort).expect("healthy");
    assert_eq!((all.cut_points_left_out, all.shortened), (0, 0));
    let some = explore_within(&case, effort, all.flash_operations / 4).expect("healthy");
    assert_eq!((some.requests, some.cut_points + some.cut_points_left_out), (all.requests, all.cut_points));
    assert!(some.cut_points_left_out > all.cut_points / 4 && some.shortened == 1, "{some:?}");
    let [all_cuts, some_cuts] = [&all, &some].map(TrialStats::single_cuts);
    assert!((all_cuts / 8..all_cuts / 2).contains(&some_cuts), "{some_cuts} of {all_cuts}");
    assert!(some.flash_operations <= all.flash_operations / 4);
    let enough = explore_within(&case, effort, 2 * all.flash_operations).expect("healthy");
    assert_eq!((enough.cuts, enough.cut_points_left_out, enough.shortened), (all.cuts, 0, 0));
}

/// A recovery may have hundreds of second cuts, which must not take the place of first ones.
#[test]
fn second_cuts_beyond_the_operations_leave_room_for_first_ones() {
    let effort = Effort { first: 1, during_recovery: 1, after_recovery: 1 };
    for (case, _) in canary_cases("none").into_iter().step_by(5) {
        let some = explore_within(&case, effort, 100_000).expect("healthy");
        let TrialStats { flash_operations, second_cuts, .. } = some;
        let first_cuts = some.single_cuts();
        println!("{}: {first_cuts} first cuts, {second_cuts} second cuts", case.device);
        assert!(flash_operations <= 100_000 && second_cuts > 0 && first_cuts > 8, "{some:?}");
    }
}

/// Cuts that a run never meets are no success.
#[test]
fn a_cut_beyond_the_end_is_an_error_in_words() {
    let (case, _) = canary_cases("none").remove(0);
    let beyond =
        Case { requests: 3, schedule: FaultSchedule::PowerCuts(vec!["4000000:torn".parse().expect("a cut")]), ..case };
    let message = run_case(&beyond).expect_err("no such operation").to_string();
    assert!(message.contains("name earlier ones"), "{message}");
}
