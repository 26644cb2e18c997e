//! Wear policies over mappings of every family: those of the registry, each as it is listed, and one that empties block after block,
//! whatever they hold, while the host writes.

use std::cell::Cell;

use check::campaign::Campaign;
use check::failing_flash::{self, Rates};
use check::variants::Subject;
use check::{Case, CheckedFtl, Effort, Ordeal, Pattern, create, endure, explore, power_cuts, run_case, run_with};
use flash::Pbn;
use ftl::registry::WEAR_POLICIES;
use ftl::wear::policy::{BlockFacts, Use, WearPolicy, WearScheme};
use ftl::{ConfigError, Entry, Evacuated, Later, Layout, Note, Stack, Values, Wear, registry};

/// A mapping of each family.
const MAPPINGS: [&str; 6] = ["page", "block", "fast", "a-sast", "superblock", "dftl"];

/// Settings with which policies that wait for much to happen move blocks within the few requests of a case.
const EAGER: [&str; 1] = ["owl:bat=4:lambda=2:delta=0.3:gamma=2"];

/// Every wear policy but the one that does nothing, over a mapping of each family that it works over, eager where it would do nothing here.
fn stacks() -> Vec<Stack> {
    let named = |name: &str| EAGER.into_iter().find(|eager| eager.split(':').next() == Some(name)).map(String::from);
    let policies = || WEAR_POLICIES.iter().map(|entry| entry.name).filter(|&name| name != "none");
    let over =
        |mapping| policies().map(move |name| format!("{mapping}+{}", named(name).unwrap_or_else(|| name.to_owned())));
    let stacks = MAPPINGS.into_iter().flat_map(over).map(|text| text.parse::<Stack>().expect("a spelling"));
    stacks.filter(|stack| registry::resolve(stack).is_ok()).collect()
}

#[test]
fn every_policy_keeps_every_promise_over_a_mapping_of_each_family() {
    for stack in stacks() {
        let subject = Subject::keeping(stack.clone()).expect("parts that go together");
        let cases = Campaign::of(subject, 20_261).defaults().cases;
        for case in cases.iter().step_by(13) {
            run_case(case).unwrap_or_else(|failure| panic!("{failure}"));
        }
        println!("{stack}: {} cases", cases.len().div_ceil(13));
    }
}

#[test]
fn every_policy_survives_power_cuts_and_failing_flash() {
    let seldom = Effort { first: 3, during_recovery: 200, after_recovery: 400 };
    for stack in stacks() {
        for (case, _) in power_cuts::cases(&stack, 20_261).into_iter().step_by(7) {
            let case = Case { requests: 60, ..case };
            explore(&case, seldom).unwrap_or_else(|failure| panic!("{failure}"));
        }
        let rates = Rates { program: 100, erase: 40, cut: 300, ..Rates::default() };
        for (i, case) in (0..).zip(failing_flash::cases(&stack, &[Pattern::Mixed], 200, 20_261)) {
            let ordeal = Ordeal { plan: rates.plan(i), ..Ordeal::default() };
            endure(&case, &ordeal).unwrap_or_else(|failure| panic!("{failure}"));
        }
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

    fn wrote(&mut self, _request: &ftl::Request) {
        self.writes += 1;
    }

    fn next_move(&mut self, blocks: &dyn BlockFacts) -> Option<Pbn> {
        self.next = (self.next + 1) % blocks.blocks();
        let pbn = Pbn::new(self.next);
        (self.writes.is_multiple_of(2) && blocks.use_of(pbn) != Use::Bad).then_some(pbn)
    }

    fn moved(&mut self, pbn: Pbn, how: Evacuated) {
        assert!(
            !matches!(how, Evacuated::Later(Later::IsBad | Later::NoRoom)),
            "{pbn}: {how:?} on flash that never fails"
        );
        MOVED.set(MOVED.get() + 1);
    }
}

impl WearScheme for Rounds {
    const ENTRY: Entry = Entry { name: "rounds", family: "wear", source: "test", parameters: &[], header: "" };

    fn new(_layout: &Layout, _values: &Values) -> Self {
        Self::default()
    }
}

/// The hook after each write, over every mapping that there is.
#[test]
fn a_policy_that_empties_block_after_block_breaks_no_promise() {
    for entry in registry::ENTRIES {
        let build = |layout: &Layout| -> Result<CheckedFtl, ConfigError> {
            let layout = Layout { wear: Wear::of::<Rounds>(Values::none()), ..layout.clone() };
            create(&Stack::of(entry.name), &layout)
        };
        let (mut runs, mut evacuations) = (0, 0);
        MOVED.set(0);
        for case in Campaign::of(Subject::of(entry), 77).defaults().cases.iter().step_by(37) {
            match run_with(case, build) {
                Ok(outcome) => evacuations += outcome.tally.note(Note::Evacuation),
                Err(failure) => panic!("{}: {failure}", entry.name),
            }
            runs += 1;
        }
        println!("{}: {runs} runs, {evacuations} evacuations, {} moves", entry.name, MOVED.get());
        assert!(runs > 5 && evacuations > 1000, "{}: {evacuations} evacuations in {runs} runs", entry.name);
    }
}
