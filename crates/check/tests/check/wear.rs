//! Wear policies over mappings of every family: those of the registry, each as it is listed, and
//! one that empties block after block, whatever they hold, while the host writes.

use std::cell::Cell;

use crate::common::{FAILS_AND_CUTS, by_form, cases, passes, survive_cuts, survive_faults};
use check::drivers::failing_flash;
use check::drivers::geometries::largest_capacity;
use check::drivers::variants::{Subject, values};
use check::torture::Tears;
use check::torture::campaign::Campaign;
use check::{Case, Effort, Pattern, create, power_cuts, run_with};
use flash::Pbn;
use ftl::api::layout::WearScheme;
use ftl::api::wear::{BlockFacts, BlockUse, WearPolicy};
use ftl::{
    AnyDevice, Capabilities, ConfigError, Deferred, Drive, Entry, Kind, Layout, Memory, Note, Part, PartKind,
    RelocateOutcome, Stack, Values, Wear, registry,
};
use random::SeededRng;

/// A mapping of each family, and of the log-buffer ones one that groups blocks.
const MAPPINGS: [&str; 5] = ["page", "block", "fast", "a-sast", "dftl"];

/// Settings with which policies that wait for much to happen move blocks within the few requests of
/// a case.
const EAGER: [(&str, &[(&str, &str)]); 2] = [
    ("lazy", &[("delta", "1"), ("session", "5")]),
    ("owl", &[("bat", "4"), ("lambda", "2"), ("delta", "0.3"), ("gamma", "2")]),
];

const SEED: u64 = 20_261;

/// Every wear policy but the one that does nothing, over each of the mappings that it suits.
fn stacks() -> Vec<Stack> {
    let policies =
        || registry::entries(PartKind::WearPolicy).into_iter().map(|entry| entry.name).filter(|&name| name != "none");
    let over = |mapping| policies().map(move |name| Stack::of(mapping).and(Part::of(name)));
    let all = MAPPINGS.into_iter().flat_map(over);
    all.filter(|stack| registry::resolve(stack).is_ok()).collect()
}

/// Each of these cases with other values of the policy's parameters: every other one eager, if the
/// policy is among those; else drawn at random among those that are worth trying.
fn with_settings(stack: &Stack, cases: impl Iterator<Item = Case>) -> Vec<Case> {
    let mut rng = SeededRng::new(SEED);
    let subject = Subject::keeping(stack.clone()).expect("parts that go together");
    let parameters: Vec<_> = subject.parameters.into_iter().filter(|&(part, _)| part > 0).collect();
    let eager = EAGER
        .into_iter()
        .find(|(name, _)| *name == stack.others[0].name)
        .map(|(name, settings)| Part::new(name, settings.iter().copied()));
    let drawn = cases.enumerate().map(|(i, mut case)| {
        for (part, parameter) in &parameters {
            let values = values(parameter);
            let value = &values[(rng.bits() % values.len() as u64) as usize];
            case.stack.others[part - 1].settings.insert(parameter.name.to_owned(), value.clone());
        }
        if let Some(eager) = eager.as_ref().filter(|_| i % 2 == 0) {
            case.stack.others[0] = eager.clone();
        }
        case
    });
    drawn.collect()
}

#[test]
fn every_policy_keeps_every_promise_over_a_mapping_of_each_family() {
    for (i, stack) in stacks().into_iter().enumerate() {
        let step = by_form(3, 17);
        let cases = with_settings(&stack, cases(&stack, SEED, 1).into_iter().skip(i % step).step_by(step));
        cases.iter().map(passes).for_each(drop);
        println!("{stack}: {} cases", cases.len());
        assert!(cases.len() > 5, "{stack}");
    }
}

#[test]
fn every_policy_survives_power_cuts() {
    let seldom = Effort { first: 2, during_recovery: 200, after_recovery: 400 };
    for (i, stack) in stacks().into_iter().enumerate() {
        let cases = power_cuts::cases(&stack, SEED).into_iter().map(|(case, _)| case);
        let step = by_form(2, 5);
        let cases = with_settings(&stack, cases.skip(i % step).step_by(step));
        survive_cuts(cases.into_iter().map(|case| Case { requests: 60, ..case }), seldom);
    }
}

#[test]
fn every_policy_survives_failing_flash_and_power_cuts() {
    for stack in stacks() {
        let cases = failing_flash::cases(&stack, &[Pattern::Mixed], 200, SEED);
        survive_faults(with_settings(&stack, cases.into_iter()), FAILS_AND_CUTS);
    }
}

/// The power is cut at every program and erase, in four ways, where the host hints at random and
/// blocks are chosen by that.
#[test]
fn saw_survives_every_power_cut_where_hints_are_drawn_at_random() {
    let effort = Effort { first: 1, during_recovery: 200, after_recovery: 400 };
    let (step, requests) = by_form((1, 200), (3, 60));
    for mapping in ["page", "dftl", "fast"] {
        let stack = Stack::of(mapping).and(Part::of("saw"));
        let cases = power_cuts::cases(&stack, SEED).into_iter().step_by(step);
        let explored = survive_cuts(cases.map(|(case, _)| Case { requests, hints: true, ..case }), effort);
        let Tears { before, unseen, torn, after } = explored.cuts;
        println!("{stack}: {} cut points, {:?}", explored.cut_points, explored.cuts);
        let every = [before, unseen, torn, after].iter().all(|&cuts| cuts >= explored.cut_points / 2);
        assert!(every && explored.cut_points > 100, "{stack}: {explored:?}");
    }
}

/// Names block after block, at every other write.
#[derive(Debug, Default)]
struct Rounds {
    next: u32,
    writes: u32,
}

thread_local! {
    static MOVED: Cell<u64> = const { Cell::new(0) };
}

impl WearPolicy for Rounds {
    fn moves_blocks(&self) -> bool {
        true
    }

    fn on_write(&mut self, _request: &ftl::Request) {
        self.writes += 1;
    }

    fn next_move(&mut self, blocks: &dyn BlockFacts) -> Option<Pbn> {
        self.next = (self.next + 1) % blocks.blocks();
        let pbn = Pbn::new(self.next);
        (self.writes.is_multiple_of(2) && blocks.use_of(pbn) != BlockUse::Bad).then_some(pbn)
    }

    fn on_moved(&mut self, pbn: Pbn, how: RelocateOutcome) {
        assert!(
            !matches!(how, RelocateOutcome::Deferred(Deferred::IsBad | Deferred::NoRoom)),
            "{pbn}: {how:?} on flash that never fails"
        );
        MOVED.set(MOVED.get() + 1);
    }
}

impl WearScheme for Rounds {
    const ENTRY: Entry = Entry {
        name: "rounds",
        family: "wear",
        source: "test",
        capabilities: Capabilities::NONE,
        memory: Memory::NONE,
        parameters: &[],
        header: "",
    };

    fn new(_layout: &Layout, _values: &Values) -> Self {
        Self::default()
    }
}

/// A mapping; one with RAM for whole devices of the cases gets less, so that the host's pages reach
/// the flash.
fn reaching_flash(entry: &Entry) -> Stack {
    let is_size = |name: &&str| {
        entry.parameters.iter().any(|parameter| parameter.name == *name && matches!(parameter.kind, Kind::Bytes { .. }))
    };
    Stack::with(entry.name, entry.capabilities.write_buffer.filter(is_size).map(|name| (name, "1KiB")))
}

/// The hook after each write, over every mapping that there is.
#[test]
fn a_policy_that_empties_block_after_block_breaks_no_promise() {
    for entry in registry::mappings() {
        let build = |layout: &Layout| -> Result<Drive<AnyDevice>, ConfigError> {
            let layout = Layout { wear: Some(Wear::of::<Rounds>(Values::none())), ..layout.clone() };
            create(&reaching_flash(entry), &layout)
        };
        let (mut runs, mut relocations) = (0, 0);
        MOVED.set(0);
        for case in Campaign::of(Subject::of(entry), 77).defaults().cases.iter().step_by(37) {
            // Less fits beside the blocks that are kept open for what a policy moves.
            let Some(capacity) = largest_capacity(&case.device, build) else { continue };
            let (stack, logical_pages) = (reaching_flash(entry), case.logical_pages.min(capacity));
            let case = Case { stack, logical_pages, ..case.clone() };
            match run_with(&case, build) {
                Ok(outcome) => relocations += outcome.tally.note(Note::RelocatedBlock),
                Err(failure) => panic!("{}: {failure}", entry.name),
            }
            runs += 1;
        }
        println!("{}: {runs} runs, {relocations} relocations, {} moves", entry.name, MOVED.get());
        assert!(runs > 5 && relocations > 1000, "{}: {relocations} relocations in {runs} runs", entry.name);
    }
}
