//! Write buffers in front of mappings of every family, with wear policies between them and without:
//! each buffer of the registry keeps every promise, and so does the canary buffer, which holds
//! pages until there is no room; each bug that is planted in that is caught.

use check::canary::{BUFFER, BufferBug, NAME};
use check::drivers::failing_flash;
use check::{Case, Effort, Failure, Pattern, Promise, create, explore, power_cuts, run_case};
use ftl::{Entry, PartKind, Stack, registry};

use crate::common::{FAILS_AND_CUTS, by_form, cases, passes, survive_cuts, survive_faults};

const SEED: u64 = 20_263;

const BEHIND: [&str; 8] =
    ["page", "block", "fast", "a-sast", "superblock", "dftl", "page+static:threshold=2", "fast+dynamic"];

/// A stack behind a buffer of this many pages.
fn buffered(behind: &str, settings: &str) -> Stack {
    format!("{behind}+{BUFFER}:{settings}").parse().expect("a spelling")
}

/// The canary buffer, and then each buffer of the registry, behind each of these; with room for a
/// few pages of the 512 B that the suite's devices have.
fn stacks() -> impl Iterator<Item = Stack> {
    let room = || [1, 3, 5, 2, 17].into_iter().cycle();
    let canaries = BEHIND.into_iter().zip(room()).map(|(behind, n)| buffered(behind, &format!("pages={n}")));
    let over = move |entry: &'static Entry| {
        // One further each time, so that each buffer has every room over some mapping.
        let skipped = registry::entries(PartKind::Buffer)
            .into_iter()
            .position(|known| known.name == entry.name)
            .unwrap_or_default();
        BEHIND
            .into_iter()
            .zip(room().skip(skipped))
            .map(|(behind, n)| format!("{behind}+{}:ram={}", entry.name, n * 512).parse().expect("a spelling"))
    };
    canaries.chain(registry::entries(PartKind::Buffer).into_iter().flat_map(over))
}

#[test]
fn a_buffer_keeps_every_promise_in_front_of_every_family() {
    for stack in stacks().chain([buffered("fast", "bug=wild-policy:pages=2")]) {
        cases(&stack, SEED, by_form(23, 83)).iter().map(passes).for_each(drop);
    }
}

#[test]
fn a_power_cut_forgets_what_was_not_flushed_and_nothing_else() {
    let seldom = Effort { first: 3, during_recovery: 200, after_recovery: 400 };
    for stack in stacks() {
        let cases = power_cuts::cases(&stack, SEED).into_iter().step_by(by_form(7, 17));
        survive_cuts(cases.map(|(case, _)| Case { requests: 60, ..case }), seldom);
    }
}

#[test]
fn a_buffer_survives_failing_flash() {
    for stack in stacks() {
        survive_faults(failing_flash::cases(&stack, &[Pattern::Mixed], 200, SEED), FAILS_AND_CUTS);
    }
}

/// The first failure of a stack, of cases that are run once, or whose power is cut.
fn failure(stack: &Stack, with_cuts: bool) -> Option<Failure> {
    if !with_cuts {
        return cases(stack, SEED, 11).iter().find_map(|case| run_case(case).err());
    }
    let seldom = Effort { first: 2, during_recovery: 200, after_recovery: 400 };
    power_cuts::cases(stack, SEED).iter().find_map(|(case, _)| explore(case, seldom).err())
}

#[test]
fn each_bug_of_a_buffer_is_caught_under_its_name_and_its_line_reproduces_it() {
    for (bug, name) in BufferBug::ALL {
        let (promise, with_cuts) = match bug {
            BufferBug::None | BufferBug::WildPolicy => continue,
            BufferBug::SparedTrim => (Promise::ReadsReturnLastWrite, false),
            // A scheme that buffers without saying so is checked as one that does not.
            BufferBug::Undeclared | BufferBug::Understated => (Promise::CountsAddUp, false),
            BufferBug::Unflushed => (Promise::SurvivesPowerCuts, true),
        };
        for behind in ["fast", NAME] {
            let stack = buffered(behind, &format!("bug={name}"));
            let failure = failure(&stack, with_cuts).unwrap_or_else(|| panic!("{stack}: nobody noticed"));
            assert_eq!(failure.promise(), Some(promise), "{stack}: {failure}");
            let again: Case = failure.to_string().parse().expect("a failure ends with a replay line");
            assert_eq!(run_case(&again).map_err(|again| again.promise()), Err(failure.promise()), "{stack}");
        }
    }
}

#[test]
fn a_mapping_with_a_buffer_of_its_own_is_refused_with_the_reason() {
    let case = check::DeviceSpec::new(1, 1, 1, 32, 4);
    let chip = case.chip(u32::MAX).expect("a device");
    let layout = ftl::Layout::of(&chip, 32, 1);
    let refused = create(&buffered("bdb", "pages=3"), &layout).err().expect("refused");
    assert!(refused.to_string().contains("has a write buffer of its own (sequential_buffer)"), "{refused}");
    assert!(registry::resolve(&buffered("page", "pages=3")).is_err(), "the canary buffer is nobody's to choose");
}
