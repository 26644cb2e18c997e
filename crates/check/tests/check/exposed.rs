//! Devices without a capacitor: a power cut takes pages whose programs have ended, and what was
//! flushed is there all the same.

use check::drivers::failing_flash;
use check::torture::TrialStats;
use check::{Case, DeviceSpec, Effort, Pattern, create, power_cuts};
use flash::CellType;
use ftl::{Cause, FlashOp, Layout};

use crate::common::{FAILS_AND_CUTS, by_form, cases, passes, stacks, survive_cuts, survive_faults};

const SEED: u64 = 20_261;

/// Mappings that fill blocks up, each perhaps with what changes where pages go.
const STACKS: [&str; 15] = [
    "page",
    "page:checkpoint=summaries",
    "page:streams=hints",
    "page:streams=sepbit",
    "page+static:threshold=2+lru:ram=2KiB",
    "dftl",
    "cdftl",
    "tpftl",
    "s-ftl:cmt=1KiB",
    "rftl",
    "treeftl",
    "aps",
    "jtl",
    "leaftl:ram=1KiB",
    "bdb",
];

fn devices() -> Vec<DeviceSpec> {
    let device = DeviceSpec::new;
    vec![
        device(1, 1, 1, 12, 4).gathering(4),
        device(1, 1, 1, 16, 6).gathering(3),
        device(2, 1, 1, 14, 6).gathering(2).with_bad([3]),
        device(1, 1, 1, 14, 16).paired(CellType::Mlc),
        device(1, 1, 1, 14, 28).gathering(2).paired(CellType::Tlc),
    ]
}

/// The cases on each device that their mapping takes.
fn exposed(cases: &[Case]) -> Vec<Case> {
    let on = |device: DeviceSpec| cases.iter().filter_map(move |case| power_cuts::on(case, device.clone()));
    devices().into_iter().flat_map(on).collect()
}

#[test]
fn power_cuts_take_nothing_that_was_flushed() {
    let seldom = Effort { first: by_form(1, 17), during_recovery: 200, after_recovery: 400 };
    for stack in stacks(&STACKS) {
        let cases = power_cuts::cases(&stack, SEED).into_iter().map(|(case, _)| case);
        let cases: Vec<_> = cases.step_by(by_form(1, 9)).collect();
        let explored = survive_cuts(exposed(&cases), seldom);
        let single_cuts = explored.single_cuts();
        let TrialStats { requests, cut_points, second_cuts, recoveries, .. } = explored;
        println!(
            "{stack}: {requests} requests, {cut_points} cut points, {single_cuts} single cuts, {second_cuts} second \
             cuts, {recoveries} recoveries"
        );
        assert!(single_cuts > 20, "{stack}: {single_cuts} cuts");
    }
}

#[test]
fn what_cannot_fill_blocks_up_is_refused_with_the_reason() {
    let device = DeviceSpec::new(1, 1, 1, 40, 4).gathering(2);
    let layout = Layout::of(&device.chip(1000).expect("a device"), 20, 1);
    let refused = |stack: &str| create(&stack.parse().expect("a stack"), &layout).err().expect(stack).to_string();
    for stack in ["block", "fast", "superblock", "waftl"] {
        let refused = refused(stack);
        assert!(refused.contains("power_loss_protection") && refused.contains("page, dftl"), "{stack}: {refused}");
    }
    assert!(refused("page:pslc_static=4KiB").contains("pslc_static"));
    assert!(refused("canary").contains("volatile"));
}

#[test]
fn every_promise_holds_where_blocks_are_filled_up() {
    for stack in stacks(&STACKS) {
        let cases = exposed(&cases(&stack, SEED, by_form(7, 90)));
        let padding: u64 =
            cases.iter().map(|case| passes(case).tally.count(Cause::UnitPadding, FlashOp::Program)).sum();
        assert!(padding > 10, "{stack}: {padding} pages of padding");
    }
}

#[test]
fn failing_flash_without_a_capacitor_keeps_what_it_can() {
    for stack in stacks(&STACKS) {
        let cases = exposed(&failing_flash::cases(&stack, &[Pattern::Mixed], 150, SEED));
        survive_faults(cases.into_iter().step_by(by_form(1, 2)), FAILS_AND_CUTS);
    }
}
