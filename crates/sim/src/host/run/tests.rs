//! How a device is prepared.
//!
//! These tests build no whole run: each that did would compile all of the simulator once more.

use std::sync::atomic::AtomicUsize;

use super::*;
use crate::control::{Control, Order};
use crate::parse_toml;

/// How a device is prepared under a stack, while time passes or not: the event hash, and the
/// programs that it took.
fn prepared(stack: &str, precondition: &str, time_passes: bool) -> Option<(u64, u64)> {
    let text = format!(
        "[device]\npreset = \"slc-small\"\nchannels = 2\ndies_per_channel = 2\nblocks_per_plane = 32\npages_per_block = 16\nspare = 0.4\n\
         [workload.generator]\nrequests = 2000\nspan = \"2MiB\"\nwrite_share = 0.5\nsizes = \"4KiB\"\n\
         [host]\nloop = \"closed\"\n[run]\nprecondition = \"{precondition}\"\n[[ftl]]\nname = \"{stack}\""
    );
    let (study, control) = (parse_toml(&text, "test").expect("valid"), Control::new());
    let experiment = Experiment::check(&study, &control).expect("valid");
    let mut host = Run::<SimulatedDevice, _>::host(&experiment, &experiment.plans[0], NoCheck, true).expect("valid");
    if !time_passes {
        host.device_mut().timing.stop_clock();
    }
    let order = Order { index: 0, first_failed: &AtomicUsize::new(usize::MAX) };
    let facts = match prepare(&mut host, time_passes, &experiment, &control.reporter(0, order)) {
        Err(Halt::AskedOfTime(_)) => return None,
        facts => facts.expect("it is legal"),
    };
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
