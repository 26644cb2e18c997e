//! Every registered scheme, every device, every workload and every setting: the promises of
//! `docs/correctness.md`.
//!
//! A new scheme is covered as soon as the registry lists it. Of its cases every forty-first one is
//! tried, in which the canary's bugs are found. `FTLKIT_SCHEME=name` tries one scheme alone and all
//! its cases, `FTLKIT_SEED=number` tries other cases than the usual ones. With
//! `FTLKIT_LONG` all cases are tried, and mappings get three campaigns of neighbouring seeds: other
//! random requests at each point of the same grid.

use std::cell::Cell;

use crate::common::{is_long, is_one_scheme, seed, subjects};
use check::drivers::variants::Subject;
use check::torture::campaign::{Campaign, Sweep};
use check::{Case, DeviceSpec, create, geometries, run_case};
use ftl::Layout;

fn all_pass(subjects: impl IntoIterator<Item = Subject>, sweep: impl Fn(&Campaign) -> Sweep) {
    let mut failures = 0;
    for subject in subjects {
        let mut whole = Sweep::default();
        let rounds = if is_long() && subject.stack.is_bare() { 3 } else { 1 };
        whole.extend((0..rounds).map(|round| sweep(&Campaign::of(subject.clone(), seed().wrapping_add(round)))));
        if !is_long() && !is_one_scheme() {
            // No multiple of how many manners, workloads in rotation or devices there are, so that
            // all of them are met.
            whole.cases = whole.cases.into_iter().step_by(41).collect();
        }
        let summary = whole.run();
        println!("{}: {summary}", subject.stack);
        assert!(summary.cases > 0, "{}: the sweep is empty, so it shows nothing", subject.stack);
        failures += summary.failures.len();
    }
    assert_eq!(failures, 0, "see the replay lines above");
}

#[test]
fn every_scheme_keeps_its_promises_on_every_device_under_every_workload() {
    all_pass(subjects(), Campaign::defaults);
}

#[test]
fn every_scheme_keeps_its_promises_with_every_setting() {
    all_pass(subjects(), Campaign::settings);
}

#[test]
fn every_scheme_keeps_its_promises_with_every_two_settings() {
    let with_pairs = |subject: &Subject| !subject.pairs().is_empty();
    all_pass(subjects().into_iter().filter(with_pairs), Campaign::pairs);
}

/// A capacity that leaves no spare is refused by an error with advice, whatever the settings.
#[test]
fn impossible_capacities_are_refused_in_words_by_every_scheme() {
    for subject in subjects() {
        for stack in subject.one_at_a_time() {
            for device in geometries::all() {
                let pages = device.geometry().expect("a possible device").pages();
                for logical_pages in [pages, pages + 1, 2 * pages, u32::MAX - 1] {
                    let answer = geometries::accepts(&device, logical_pages, |l| create(&stack, l));
                    let what = format!("{stack} on {device} with {logical_pages} pages");
                    let error = answer.expect_err(&what).to_string();
                    let has_advice = error.contains(&stack.mapping.name) && error.contains("; ");
                    assert!(has_advice, "{what}: names neither the scheme nor what to do: {error}");
                }
            }
        }
    }
}

#[test]
fn one_of_everything_is_too_small_for_every_scheme() {
    for Subject { stack, .. } in subjects() {
        let device = DeviceSpec::new(1, 1, 1, 1, 1);
        let capacity = geometries::largest_capacity(&device, |l| create(&stack, l));
        assert_eq!(capacity, None, "{stack}");
    }
}

/// Bisection finds the largest capacity only if nothing smaller is refused.
#[test]
fn whoever_accepts_a_capacity_accepts_every_smaller_one() {
    for subject in subjects() {
        for stack in subject.one_at_a_time() {
            for device in geometries::all() {
                let build = |layout: &Layout| create(&stack, layout);
                let largest = geometries::largest_capacity(&device, build).unwrap_or(0);
                let pages = device.geometry().expect("a possible device").pages();
                // Around the limit each, and elsewhere every twenty-third.
                let is_tried = |&pages: &u32| is_long() || pages.is_multiple_of(23) || pages.abs_diff(largest) <= 3;
                for logical_pages in (1..=pages).filter(is_tried) {
                    let accepted = geometries::accepts(&device, logical_pages, build).is_ok();
                    let what = format!("{stack} on {device} with {logical_pages} pages");
                    assert_eq!(accepted, logical_pages <= largest, "{what}");
                }
            }
        }
    }
}

/// Whether the stack of a case says that it looks at hints, as saw does.
fn uses_hints(case: &Case) -> bool {
    let heeds = Cell::new(false);
    let build = |layout: &Layout| {
        let mut ftl = create(&case.stack, layout)?;
        heeds.set(ftl.uses_hints());
        Ok(ftl)
    };
    geometries::accepts(&case.device, case.logical_pages, build).unwrap_or_else(|refused| panic!("{case}: {refused}"));
    heeds.get()
}

/// Hints are read by those who say so, and by nobody else.
#[test]
fn a_stack_that_asks_for_no_hint_does_the_same_with_hints_as_without() {
    for subject in subjects() {
        let cases = Campaign::of(subject.clone(), seed()).defaults().cases;
        let (mut tried, hinted) = (0, cases.into_iter().filter(|case| case.hints).step_by(41));
        let mut hinted = hinted.peekable();
        if hinted.peek().is_some_and(uses_hints) {
            continue;
        }
        for case in hinted {
            let outcome =
                |hints| run_case(&Case { hints, ..case.clone() }).unwrap_or_else(|failure| panic!("{failure}"));
            assert_eq!(outcome(true).event_hash, outcome(false).event_hash, "{case}");
            tried += 1;
        }
        assert!(tried > 3, "{}: {tried} cases show nothing", subject.stack);
    }
}
