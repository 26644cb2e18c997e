//! Promise 8 of every scheme that there is, with its defaults and, where it has the parameter, with
//! collection in idle time.

use check::{Case, DeviceSpec, Idled, Promise, offer_idle_time, run_case};
use ftl::Stack;

use crate::common::on_full_devices;

fn cases(stack: &Stack) -> Vec<Case> {
    let device = DeviceSpec::new;
    on_full_devices(stack, &[device(1, 1, 1, 20, 4), device(2, 2, 1, 10, 8), device(1, 3, 1, 12, 16)], (7, 8))
}

fn offered(stack: &Stack) -> Idled {
    let mut sum = Idled::default();
    for case in cases(stack) {
        let found = offer_idle_time(&case).unwrap_or_else(|failure| panic!("{failure}"));
        sum.offered += found.offered;
        sum.used += found.used;
        sum.operations += found.operations;
    }
    sum
}

#[test]
fn idle_time_changes_nothing_and_ends_when_it_is_over() {
    for subject in crate::common::subjects() {
        let stack = subject.stack;
        let idled = offered(&stack);
        let entry =
            ftl::registry::mappings().into_iter().find(|entry| entry.name == stack.mapping.name).expect("registered");
        // A scheme that foretells idle time is one that collects in it.
        let foretells = entry.parameters.iter().any(|parameter| parameter.name == "idle_weight");
        assert!(
            idled.offered > 0 && (idled.used > 0) == foretells,
            "{stack}: nothing else uses it unasked, but {idled:?}"
        );
        if entry.parameters.iter().any(|parameter| parameter.name == "gc_idle") {
            for (gc_idle, checkpoint) in [("1", "none"), ("4", "none"), ("4", "summaries")] {
                let mut stack = stack.clone();
                let settings = [("gc_idle", gc_idle), ("checkpoint", checkpoint)];
                stack.mapping.settings.extend(settings.map(|(key, value)| (key.to_owned(), value.to_owned())));
                let idled = offered(&stack);
                // Behind a write buffer fewer pages are programmed, and there is less to collect.
                let least = if stack.is_bare() { 100 } else { 10 };
                assert!(idled.used > least, "{stack}: {idled:?}");
            }
            let mut stack = stack.clone();
            stack.mapping.settings.insert("gc".to_owned(), "paced".to_owned());
            let idled = offered(&stack);
            // An even pace leaves little to idle time, and behind a write buffer next to nothing.
            let least = if stack.is_bare() { 10 } else { 0 };
            assert!(idled.used > least, "{stack}: {idled:?}");
        }
    }
}

#[test]
fn a_canary_that_loses_a_page_in_idle_time_or_overruns_is_caught() {
    let healthy = offered(&Stack::with("canary", [("bug", "none")]));
    assert!(healthy.used > 100, "{healthy:?}");
    for (bug, promise) in
        [("idle-loses-page", Promise::ReadsReturnLastWrite), ("idle-overruns", Promise::KeepsToIdleTime)]
    {
        let cases = cases(&Stack::with("canary", [("bug", bug)]));
        let failures: Vec<_> = cases.iter().filter_map(|case| offer_idle_time(case).err()).collect();
        let found = failures.iter().find(|failure| failure.promise() == Some(promise));
        let found = found.unwrap_or_else(|| panic!("{bug}: {failures:?}"));
        assert!(found.to_string().ends_with(" idle=random"), "{found}");
        let again: Case = found.to_string().parse().expect("a failure ends with a replay line");
        assert_eq!(run_case(&again), Err(found.clone()), "{bug}");
    }
}
