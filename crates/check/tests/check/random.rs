//! Operation lists that nobody thought of, for every registered scheme, made smaller until they are
//! as short as they can be while they still fail.
//!
//! The generated campaigns know what they want to hurt; this does not. A failing list is printed as
//! a replay line, so no file of regressions is kept. The random numbers are the same on every run;
//! `PROPTEST_CASES` sets how many lists are tried, and `FTLKIT_SCHEME=name` tries one scheme alone.

use std::cell::Cell;

use crate::common::subjects;
use check::drivers::variants::Subject;
use check::{Case, Extent, Operation, Prefill, Workload, create, geometries, run_case};
use ftl::FileEvent;
use proptest::prelude::{Just, Strategy, any, prop};
use proptest::prop_oneof;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};

/// Lists tried for each scheme.
fn lists() -> u32 {
    crate::common::by_form(3_000, 150)
}

/// An operation on a device of unknown size: parts of 65 536, to be scaled.
#[derive(Clone, Copy, Debug)]
struct Sketch {
    kind: u8,
    first: u16,
    pages: u16,
}

impl Sketch {
    fn on(self, logical_pages: u32, blocks: u32) -> Operation {
        let scale = |part: u16, limit: u32| (u32::from(part) * limit) >> 16;
        let first = scale(self.first, logical_pages);
        let extent = Extent { first, pages: 1 + scale(self.pages, logical_pages - first) };
        match self.kind {
            0 => Operation::Write(extent),
            1 => Operation::Read(extent),
            2 => Operation::Trim(extent),
            3 => Operation::Flush,
            4 => Operation::RelocateBlock(scale(self.first, blocks)),
            5 => Operation::FileEvent(FileEvent::ALL[usize::from(self.pages) % FileEvent::ALL.len()], extent),
            _ => Operation::Idle,
        }
    }
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let kind = prop_oneof![12 => Just(0_u8), 3 => Just(1), 3 => Just(2), 1 => Just(3), 2 => Just(4), 1 => Just(5), 1 => Just(6)];
    let pages = prop_oneof![4 => 0_u16..8_000, 1 => any::<u16>()];
    (kind, any::<u16>(), pages).prop_map(|(kind, first, pages)| Sketch { kind, first, pages })
}

/// Picks of device, settings and room, besides the list itself.
type Picks = (prop::sample::Index, prop::sample::Index, bool, u8, Vec<Sketch>);

fn picks() -> impl Strategy<Value = Picks> {
    let list = prop::collection::vec(sketch(), 1..120);
    (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>(), 0_u8..4, list)
}

/// The case of some picks; none where the scheme refuses the device with these settings.
fn case(subject: &Subject, (device, settings, is_full, readback, list): &Picks) -> Option<Case> {
    let device = device.get(&geometries::all()).clone();
    let stack = settings.get(&subject.one_at_a_time()).clone();
    let capacity = geometries::largest_capacity(&device, |layout| create(&stack, layout))?;
    let blocks = device.geometry().expect("a possible device").blocks();
    let script: Vec<_> = list.iter().map(|sketch| sketch.on(capacity, blocks)).collect();
    Some(Case {
        requests: script.len() as u32,
        prefill: if *is_full { Prefill::Full } else { Prefill::Empty },
        hints: *is_full,
        readback_every: u32::from(*readback),
        check_every: 3,
        ..Case::new(&stack, &device, capacity, Workload::Script(script))
    })
}

#[test]
fn no_list_of_operations_breaks_a_promise() {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    for subject in subjects() {
        let mut runner = TestRunner::new(Config {
            cases: asked.unwrap_or(lists() / crate::common::one_in(&subject.stack) as u32),
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(20_261),
            ..Config::default()
        });
        let passed = Cell::new(0);
        let result = runner.run(&picks(), |picks| match case(&subject, &picks).map(|case| run_case(&case)) {
            None => Ok(()),
            Some(Ok(_)) => {
                passed.set(passed.get() + 1);
                Ok(())
            }
            Some(Err(failure)) => Err(TestCaseError::fail(failure.to_string())),
        });
        match result {
            Ok(()) => assert!(passed.get() > 0, "{} refuses every device, so this shows nothing", subject.stack),
            Err(TestError::Fail(failure, _)) => panic!("{failure}"),
            Err(TestError::Abort(why)) => panic!("{}: {why}", subject.stack),
        }
    }
}

/// The shrinking that this file relies on, tried on a scheme that is known to fail.
#[test]
fn a_planted_bug_is_found_and_shrunk() {
    let canary = Subject::keeping("canary".parse().expect("a spelling")).expect("the canary");
    let mut runner =
        TestRunner::new(Config { failure_persistence: None, rng_seed: RngSeed::Fixed(20_261), ..Config::default() });
    let with_bug = |picks: &Picks| {
        let mut case = case(&canary, picks)?;
        case.stack.mapping.settings.insert("bug".into(), "forgotten-trim".into());
        Some(case)
    };
    let result = runner.run(&picks(), |picks| match with_bug(&picks).map(|case| run_case(&case)) {
        None | Some(Ok(_)) => Ok(()),
        Some(Err(failure)) => Err(TestCaseError::fail(failure.to_string())),
    });
    let Err(TestError::Fail(_, smallest)) = result else { panic!("the canary sings: {result:?}") };
    assert!(smallest.4.len() <= 2, "{smallest:?}");
}
