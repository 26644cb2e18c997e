//! The pSLC cache of `page`, static and dynamic, beyond what the suite tries of every parameter:
//! with power cuts at every operation, with failing flash, and under wear policies that empty its
//! blocks.

use check::drivers::failing_flash;
use check::{Case, Effort, Outcome, Pattern, power_cuts};
use ftl::{Cause, FlashOp, Note, Stack};

use crate::common::{FAILS_AND_CUTS, by_form, passes, stacks, survive_cuts, survive_faults};

const SEED: u64 = 20_268;

/// Both kinds of cache, together and alone, and what they meet.
const STACKS: [&str; 6] = [
    "page:pslc_static=1KiB",
    "page:pslc_dynamic=true",
    "page:pslc_dynamic=true:pslc_static=1KiB:streams=shared",
    "page:checkpoint=summaries:pslc_dynamic=true:pslc_static=1KiB",
    "page:pslc_dynamic=true:pslc_static=1KiB+static:threshold=1",
    "page:gc_idle=2:pslc_direct=1KiB:pslc_static=2KiB+dynamic",
];

fn cases(stack: &Stack) -> Vec<Case> {
    let cases: Vec<_> = power_cuts::cases(stack, SEED).into_iter().map(|(case, _)| case).collect();
    assert!(!cases.is_empty(), "no device takes {stack}");
    cases
}

#[test]
fn pages_go_through_the_cache_and_nothing_moves_into_it() {
    for stack in stacks(&STACKS) {
        let outcomes: Vec<Outcome> = cases(&stack).iter().map(passes).collect();
        let sum = |of: &dyn Fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
        let cached = sum(&|outcome| outcome.tally.note(Note::CachedPage));
        let folded = sum(&|outcome| outcome.tally.count(Cause::Fold, FlashOp::Program));
        let written = sum(&|outcome| outcome.tally.count(Cause::Host, FlashOp::Program));
        assert!(cached > 100 && cached <= written && folded > 0, "{stack}: {cached} of {written}, {folded} folded");
    }
}

#[test]
fn a_cache_survives_a_power_cut_at_every_operation() {
    for stack in stacks(&STACKS) {
        let effort = Effort { first: by_form(1, 2), during_recovery: by_form(40, 200), after_recovery: 400 };
        let shorter = |case: Case| Case { requests: by_form(case.requests, 60), ..case };
        survive_cuts(cases(&stack).into_iter().step_by(by_form(1, 11)).map(shorter), effort);
    }
}

#[test]
fn a_cache_survives_failing_flash_and_cuts() {
    for stack in stacks(&STACKS) {
        survive_faults(failing_flash::cases(&stack, &[Pattern::Mixed], by_form(600, 200), SEED), FAILS_AND_CUTS);
    }
}
