//! Blocks that are refreshed because they were read, over a mapping of each family: reads move
//! blocks, and no promise breaks, on sound flash, at power cuts and on failing flash.

use check::drivers::failing_flash;
use check::{Case, DeviceSpec, Effort, Pattern, power_cuts};
use ftl::{Cause, FlashOp};

use crate::common::{FAILS_AND_CUTS, by_form, cases, passes, stacks, survive_cuts, survive_faults};

const STACKS: [&str; 7] = ["page", "block", "fast", "superblock", "dftl", "waftl", "page+static+lru"];
const SEED: u64 = 20_261;

/// Cases whose blocks are refreshed when their pages have been read once or twice.
fn refreshed(cases: impl IntoIterator<Item = Case>) -> impl Iterator<Item = Case> {
    (0..).zip(cases).map(|(number, case)| {
        let device: DeviceSpec = case.device.refreshed_after(1 + number % 2);
        Case { device, ..case }
    })
}

#[test]
fn reads_that_move_blocks_break_no_promise() {
    for stack in stacks(&STACKS) {
        let cases = refreshed(cases(&stack, SEED, by_form(5, 40)));
        let erases: u64 = cases.map(|case| passes(&case).tally.count(Cause::Refresh, FlashOp::Erase)).sum();
        assert!(erases > 10, "{stack}: {erases} erases");
    }
}

#[test]
fn power_cuts_while_blocks_are_refreshed_lose_nothing() {
    let seldom = Effort { first: 5, during_recovery: 200, after_recovery: 400 };
    for stack in stacks(&STACKS) {
        let cases = power_cuts::cases(&stack, SEED).into_iter().map(|(case, _)| Case { requests: 40, ..case });
        survive_cuts(refreshed(cases.step_by(by_form(3, 11))), seldom);
    }
}

#[test]
fn failing_flash_that_is_refreshed_keeps_what_it_can() {
    for stack in stacks(&STACKS) {
        survive_faults(refreshed(failing_flash::cases(&stack, &[Pattern::Mixed], 150, SEED)), FAILS_AND_CUTS);
    }
}
