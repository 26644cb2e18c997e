//! Classifiers over both engines of page maps, beyond what the suite tries of every parameter: with
//! victims of every kind, power cuts at every operation, failing flash, and all that shares their
//! space. What a power cut may forget is classes; every page is found.

use check::drivers::failing_flash;
use check::{Case, DeviceSpec, Effort, Outcome, Pattern, power_cuts};
use ftl::{Note, Stack};

use crate::common::{FAILS_AND_CUTS, by_form, on_full_devices, passes, survive_cuts, survive_faults};

const SEED: u64 = 20_281;

const STACKS: [&str; 11] = [
    "page:streams=sepbit",
    "page:streams=sepbit:victim=second-chance:checkpoint=summaries",
    "page:streams=sepbit:gc=paced+static:threshold=1",
    "page:streams=dac:victim=cat:gc_threshold=2",
    "page:streams=fadac:victim=cost-benefit:gc_idle=2+dynamic",
    "page:streams=two-regions:victim=second-chance",
    "page:streams=two-regions:gc=paced:checkpoint=summaries+static:threshold=1",
    "dftl:streams=sepbit:cmt=512",
    "dftl:streams=dac:victim=second-chance:gc=paced:cmt=512",
    "dftl:streams=fadac:victim=cat:gc_idle=1:cmt=512+static:threshold=1",
    "dftl:streams=sepbit:checkpoint=summaries:placement=single:victim=fifo",
];

fn stacks() -> impl Iterator<Item = Stack> {
    STACKS.iter().map(|text| text.parse().unwrap_or_else(|error| panic!("{text}: {error}")))
}

/// Cases on devices of several shapes, full from the beginning, which are looked at often.
fn cases(stack: &Stack) -> impl Iterator<Item = Case> + use<> {
    let device = DeviceSpec::new;
    let devices = [device(1, 1, 1, 24, 4), device(2, 1, 1, 20, 8), device(1, 3, 1, 22, 16)];
    let cases = on_full_devices(stack, &devices, (9, 10));
    cases.into_iter().map(move |case| Case { requests: by_form(1500, 400), readback_every: 50, check_every: 1, ..case })
}

#[test]
fn pages_are_separated_and_every_promise_is_kept() {
    for stack in stacks() {
        let outcomes: Vec<Outcome> = cases(&stack).map(|case| passes(&case)).collect();
        let collected = outcomes.iter().map(|outcome| outcome.tally.note(Note::Collection)).sum::<u64>();
        assert!(collected > 20, "{stack}: {collected} collections on {} devices", outcomes.len());
        let mut apart = stack.clone();
        apart.mapping.settings.insert("streams".into(), "separate".into());
        let others: Vec<Outcome> = cases(&stack).map(|case| passes(&Case { stack: apart.clone(), ..case })).collect();
        let differ = outcomes.iter().zip(&others).filter(|(one, other)| one.event_hash != other.event_hash).count();
        assert!(2 * differ > outcomes.len(), "{stack}: {differ} of {} runs differ from {apart}", outcomes.len());
    }
}

#[test]
fn classes_survive_a_power_cut_at_every_operation() {
    let mut tried = 0;
    for stack in stacks() {
        let effort = Effort { first: by_form(1, 2), during_recovery: by_form(40, 200), after_recovery: 400 };
        let shorter = |case: Case| Case { requests: by_form(case.requests, 60), ..case };
        let cases: Vec<_> = power_cuts::cases(&stack, SEED).into_iter().map(|(case, _)| case).collect();
        tried += usize::from(!cases.is_empty());
        survive_cuts(cases.into_iter().step_by(by_form(1, 7)).map(shorter), effort);
    }
    // The devices on which every operation is tried are small.
    assert!(tried >= 9, "only {tried} of {} stacks were tried", STACKS.len());
}

#[test]
fn classes_survive_failing_flash_and_cuts() {
    for stack in stacks() {
        survive_faults(failing_flash::cases(&stack, &[Pattern::Mixed], by_form(600, 200), SEED), FAILS_AND_CUTS);
    }
}
