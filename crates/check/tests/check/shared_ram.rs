//! Schemes that keep data and map in one RAM, with so little of it that something leaves at almost
//! every request: alone, under wear policies that move blocks, and with every setting that decides
//! what leaves.

use check::drivers::failing_flash::{self, Rates};
use check::{Effort, Pattern, power_cuts};

use crate::common::{FAILS_AND_CUTS, by_form, cases, passes, stacks, survive_cuts, survive_faults};

const SEED: u64 = 20_264;

const STACKS: [&str; 14] = [
    "treeftl:ram=1KiB",
    "treeftl:ram=4KiB:bypass_above=1",
    "treeftl:ram=2KiB:victims=latte:load_before_write=false",
    "treeftl:ram=2KiB:victims=page:write_misses=background",
    "treeftl:ram=2KiB:victims=opt",
    "treeftl:ram=2KiB+static:threshold=2",
    "aps:ram=1KiB:interval=3:step=0.2",
    "aps:ram=2KiB:interval=2:step=0.5:load_before_write=false",
    "aps:ram=4KiB:interval=5:step=0.1:bypass_above=1:write_misses=background",
    "aps:ram=2KiB:interval=1+static:threshold=2",
    "jtl:ram=1KiB",
    "jtl:ram=4KiB:bypass_above=1",
    "jtl:ram=8KiB:bypass_above=0.9:load_before_write=false:write_misses=background",
    "jtl:ram=2KiB+static:threshold=2",
];

#[test]
fn little_ram_breaks_no_promise() {
    for stack in stacks(&STACKS) {
        let cases = cases(&stack, SEED, by_form(7, 29));
        assert!(cases.len() > 10, "{stack}: {} cases", cases.len());
        cases.iter().map(passes).for_each(drop);
    }
}

#[test]
fn a_power_cut_takes_what_was_not_flushed_and_nothing_else() {
    let seldom = Effort { first: 3, during_recovery: 200, after_recovery: 400 };
    for stack in stacks(&STACKS) {
        let cases = power_cuts::cases(&stack, SEED).into_iter().step_by(by_form(5, 11));
        survive_cuts(cases.map(|(case, _)| case), seldom);
    }
}

#[test]
fn little_ram_survives_failing_flash() {
    for stack in stacks(&STACKS) {
        for rates in [FAILS_AND_CUTS, Rates { program: 60, erase: 30, read: 300, ..Rates::default() }] {
            survive_faults(failing_flash::cases(&stack, &[Pattern::Mixed, Pattern::Uniform], 200, SEED), rates);
        }
    }
}
