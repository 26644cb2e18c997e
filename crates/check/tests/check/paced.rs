//! Collections that go on step by step (`gc = paced`), beyond what the suite tries of every
//! parameter: with power cuts at every operation, so in the middle of every victim, with failing
//! flash, in idle time, and beside what empties blocks itself.

use check::drivers::failing_flash;
use check::{Case, DeviceSpec, Effort, Outcome, Pattern, Workload, power_cuts};
use ftl::{Cause, FlashOp, Note, Stack, registry};

use crate::common::{self, FAILS_AND_CUTS, by_form, on_full_devices, passes, survive_cuts, survive_faults};

const SEED: u64 = 20_271;

/// What victims in hand meet in schemes whose map is in RAM: streams, summaries, blocks that others
/// empty, a cache, few and many free blocks, idle time.
const MEETING: [&str; 8] = [
    "page:gc=paced:streams=shared",
    "page:gc=paced:streams=hints:hint_streams=2:hint_collection=apart",
    "page:gc=paced:checkpoint=summaries:gc_threshold=2:victim=fifo",
    "page:gc=paced:gc_idle=2:victim=random",
    "page:gc=paced:pslc_dynamic=true:pslc_static=1KiB",
    "page:gc=paced+static:threshold=1",
    "page:gc=paced:victim=cost-benefit+dynamic",
    "dftl:gc=paced:gc_idle=1:cmt=512+static:threshold=1",
];

/// Every scheme that paces its collections, at its defaults.
fn schemes() -> Vec<Stack> {
    let paces = |entry: &&ftl::Entry| entry.parameters.iter().any(|parameter| parameter.name == "gc");
    let all = registry::mappings();
    all.into_iter().filter(paces).map(|entry| Stack::with(entry.name, [("gc", "paced")])).collect()
}

fn stacks() -> impl Iterator<Item = Stack> {
    schemes().into_iter().chain(common::stacks(&MEETING))
}

/// Cases on devices of several shapes, full from the beginning, which are looked at often.
fn cases(stack: &Stack) -> impl Iterator<Item = Case> + use<> {
    let device = DeviceSpec::new;
    let devices =
        [device(1, 1, 1, 24, 4), device(2, 2, 1, 12, 8), device(1, 3, 1, 14, 16), device(1, 2, 1, 14, 16).gathering(4)];
    let cases = on_full_devices(stack, &devices, (9, 10));
    let requests = by_form(1500, 400);
    cases.into_iter().map(move |case| Case { requests, hints: true, readback_every: 50, check_every: 1, ..case })
}

#[test]
fn victims_are_emptied_step_by_step_and_every_promise_is_kept() {
    assert!(schemes().len() >= 8, "{:?}", schemes());
    for stack in stacks() {
        let outcomes: Vec<Outcome> = cases(&stack).map(|case| passes(&case)).collect();
        assert!(!outcomes.is_empty(), "no device takes {stack}");
        let collected = outcomes.iter().map(|outcome| outcome.tally.note(Note::Collection)).sum::<u64>();
        let moved =
            outcomes.iter().map(|outcome| outcome.tally.count(Cause::Collection, FlashOp::Program)).sum::<u64>();
        println!("{stack}: {collected} collections, {moved} pages");
        assert!(collected > 20 && moved > 20, "{stack}: {collected} collections moved {moved} pages");
    }
}

#[test]
fn a_victim_in_hand_survives_a_power_cut_at_every_operation() {
    for stack in stacks() {
        let effort = Effort { first: by_form(1, 2), during_recovery: by_form(40, 200), after_recovery: 400 };
        let shorter = |case: Case| Case { requests: by_form(case.requests, 60), ..case };
        let cases = power_cuts::cases(&stack, SEED).into_iter().map(|(case, _)| case);
        survive_cuts(cases.step_by(by_form(1, 11)).map(shorter), effort);
    }
}

#[test]
fn a_victim_in_hand_survives_failing_flash_and_cuts() {
    for stack in stacks() {
        survive_faults(failing_flash::cases(&stack, &[Pattern::Mixed], by_form(600, 200), SEED), FAILS_AND_CUTS);
    }
}

/// Programs of a stack for each page of the host's, uniform writes of single pages over this many
/// logical ones, with this `gc`.
fn amplification(name: &str, gc: &str, (device, pages): &(DeviceSpec, u32), parameters: &[(&str, &str)]) -> f64 {
    let stack = Stack::with(name, [&[("gc", gc)], parameters].concat());
    let case = Case {
        seed: SEED,
        requests: by_form(60_000, 6 * pages),
        ..Case::new(&stack, device, *pages, Workload::Generated(Pattern::Uniform))
    };
    let outcome = passes(&case);
    let programs: u64 = Cause::ALL.iter().map(|&cause| outcome.tally.count(cause, FlashOp::Program)).sum();
    programs as f64 / outcome.tally.count(Cause::Host, FlashOp::Program) as f64
}

/// How much more a stack programs with paced than with whole collections.
fn paced_to_whole(name: &str, device: &(DeviceSpec, u32), parameters: &[(&str, &str)]) -> f64 {
    let [whole, paced] = ["whole", "paced"].map(|gc| amplification(name, gc, device, parameters));
    println!("{name} {parameters:?}, {} pages: {whole:.3} whole, {paced:.3} paced", device.1);
    paced / whole
}

/// A victim that is taken before it is needed has more valid pages, by what the host writes
/// meanwhile.
#[test]
fn pacing_costs_few_programs() {
    for name in ["page", "dftl"] {
        let ratio = paced_to_whole(name, &(DeviceSpec::new(2, 1, 1, 64, 32), 3300), &[("gc_threshold", "2")]);
        assert!(ratio < 1.1, "{name}: {ratio} times the programs of whole collections");
    }
}

/// A die with few blocks to spare keeps few of them erased for what is to come.
#[test]
fn pacing_costs_few_programs_where_few_blocks_are_spare() {
    const BLOCKS: u32 = 64;
    // `kept` are the blocks that are open or kept free.
    for (name, parameters, kept) in [
        ("page", &[][..], 4),
        ("page", &[("streams", "shared")], 3),
        ("page", &[("streams", "dac")], 9),
        ("dftl", &[], 7),
    ] {
        for spare in [2, 4] {
            let device = DeviceSpec::new(1, 1, 1, BLOCKS, 128);
            let ratio = paced_to_whole(name, &(device, (BLOCKS - kept - spare) * 128), parameters);
            assert!(ratio < 1.3, "{name} {parameters:?}: {ratio} times the programs of whole collections");
        }
    }
}
