//! How a device is prepared, and which backlogs are refused with advice.

use std::sync::atomic::AtomicUsize;

use super::*;
use crate::host::control::{Control, Order};
use crate::parse_toml;

/// What becomes of a host that writes so many bytes at a time with such a gap between, where
/// few operations may be under way.
fn served(host: &str, size: &str, gap: &str) -> Result<u64, Halt> {
    let text = format!(
        "[device]\nchannels = 1\nblocks_per_plane = 64\nspare = 0.2\n[workload.generator]\nrequests = 5000\nspan = \"8MiB\"\n\
         write_share = 1.0\nsizes = \"{size}\"\narrivals = {{ constant = {{ gap = \"{gap}\" }} }}\n[host]\n{host}\n[[ftl]]\nname = \"page\""
    );
    let (study, control) = (parse_toml(&text, "test").expect("valid"), Control::new());
    let mut experiment = Experiment::check(&study, &control).expect("valid");
    experiment.most_under_way = 500;
    let order = Order { index: 0, first_failed: &AtomicUsize::new(usize::MAX) };
    let reporter = || control.reporter(0, order);
    run(&experiment, &experiment.plans[0], None, &reporter(), &reporter()).map(|run| run.requests.write)
}

/// How a device is prepared under a stack, while time passes or not: the event hash, and the
/// programs that it took.
fn prepared(stack: &str, precondition: &str, time_passes: bool) -> Option<(u64, u64)> {
    let text = format!(
        "[device]\nchannels = 2\ndies_per_channel = 2\nblocks_per_plane = 32\npages_per_block = 16\nspare = 0.4\n\
         [workload.generator]\nrequests = 2000\nspan = \"2MiB\"\nwrite_share = 0.5\nsizes = \"4KiB\"\n\
         [host]\nloop = \"closed\"\n[run]\nprecondition = \"{precondition}\"\n[[ftl]]\nname = \"{stack}\""
    );
    let (study, control) = (parse_toml(&text, "test").expect("valid"), Control::new());
    let experiment = Experiment::check(&study, &control).expect("valid");
    let mut host = Run::<Lean, _>::host(&experiment, &experiment.plans[0], NoCheck).expect("valid");
    if !time_passes {
        host.device_mut().timing.stop_clock();
    }
    let order = Order { index: 0, first_failed: &AtomicUsize::new(usize::MAX) };
    let prepared = prepare(&mut host, time_passes, &experiment, &control.reporter(0, order)).expect("it is legal");
    let Prepared::Done(facts) = prepared else { return None };
    assert!(facts.expect("it is asked for").pages_written > 1000);
    assert!(time_passes || host.flash().device().timing.under_way() == 0);
    Some((host.flash().event_hash(), host.flash().tally().total(FlashOp::Program)))
}

#[test]
fn a_device_is_prepared_alike_whether_time_passes_or_stands_still() {
    for stack in ["page", "dftl", "fast", "waftl", "treeftl", "jtl", "page+bet", "fast+owl", "dftl+lru", "fast+bplru"] {
        for precondition in ["fill", "steady", "workload"] {
            let passing = prepared(stack, precondition, true);
            assert!(passing.is_some());
            assert_eq!(prepared(stack, precondition, false), passing, "{stack}, {precondition}");
        }
    }
}

#[test]
fn a_preparation_without_time_ends_where_the_translation_layer_asks_of_time() {
    for stack in ["rftl:cmt=4KiB", "bdb"] {
        assert_eq!(prepared(stack, "steady", false), None, "{stack}");
        assert!(prepared(stack, "steady", true).is_some(), "{stack}");
    }
}

#[test]
fn an_open_loop_that_falls_ever_further_behind_is_refused_with_advice() {
    assert_eq!(served("", "4KiB", "2ms").expect("the device keeps up"), 5000);
    let Err(Halt::Input(error)) = served("", "4KiB", "50us") else { panic!("it falls behind") };
    let message = error.to_string();
    for part in ["ftl \"page\"", "further behind", "at most 500", "workload.speedup", "host.loop = \"closed\""] {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

#[test]
fn a_closed_loop_of_too_many_operations_is_refused_with_advice() {
    let host = |depth| format!("loop = \"closed\"\nqueue_depth = {depth}");
    assert_eq!(served(&host(64), "4KiB", "1us").expect("few are under way"), 5000);
    let Err(Halt::Input(error)) = served(&host(64), "64KiB", "1us") else { panic!("too many are under way") };
    let message = error.to_string();
    for part in ["ftl \"page\"", "64 outstanding requests", "at most 500", "Lower host.queue_depth"] {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}
