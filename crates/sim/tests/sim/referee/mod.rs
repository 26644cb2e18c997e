//! A referee for time: response times of the simulation, and those of a simulation that was written
//! apart from it, by the rules of `docs/timing.md`, on real schemes. Both must agree to the
//! nanosecond, in every request, and so must the order of all flash operations. See
//! `docs/reliability.md`.

mod cases;
mod host;
mod host_side;
mod queues;
mod rules;
mod second_registers;
mod serial;
mod studies;

use std::panic::{AssertUnwindSafe, catch_unwind};

use cases::{Case, Load};
use ftl::{Cause, FlashOp, Tally};
use host::{Answered, Keeper};
use rules::{Rules, Superblocks, Units};

/// Runs that are drawn unless more are asked for.
const RUNS: u64 = 60;

/// Dies of the largest device that is judged without `FTLKIT_LONG`. The referee looks at all dies
/// whenever something ends, so the few larger devices would take most of the time.
const MOST_DIES: u32 = 32;

fn draw(seed: u64) -> Case {
    Case::draw(seed, 1500)
}

/// These, unless others are asked for.
fn default_cases() -> Vec<Case> {
    (1_000_000..1_000_000 + RUNS).map(draw).filter(is_small).collect()
}

fn is_small(case: &Case) -> bool {
    case.geometry.dies() <= MOST_DIES
}

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Seeds of the cases: this many, or of these with `FTLKIT_LONG`; `FTLKIT_CASE` runs a single one.
fn seeds(count: u64, long: u64) -> Vec<u64> {
    if let Some(case) = env("FTLKIT_CASE") {
        return vec![case];
    }
    let is_long = std::env::var_os("FTLKIT_LONG").is_some();
    let first = 1_000_000 * env("FTLKIT_SEED").unwrap_or(1);
    let all = first..first + if is_long { long } else { count };
    all.filter(|&seed| is_long || is_small(&draw(seed))).collect()
}

/// The first request that two disagree on, in words.
fn first_difference(simulated: &[Answered], refereed: &[Answered]) -> Option<String> {
    assert_eq!(simulated.len(), refereed.len());
    let at = (0..simulated.len()).find(|&at| simulated[at] != refereed[at])?;
    Some(format!("request {at}: {:?} by the simulation, {:?} by the referee", simulated[at], refereed[at]))
}

/// What differs in a drawn run, if the simulation goes by such rules.
fn difference_under(case: &Case, rules: &Rules) -> Option<String> {
    let keepers = [Keeper::simulation(&case.geometry, rules), Keeper::referee(&case.geometry, &case.rules)];
    let [simulated, refereed] = keepers.map(|keeper| case.prepared(keeper).run(&case.requests(), &case.pace()));
    first_difference(&simulated, &refereed)
}

/// Judges drawn cases, and names all that differ or do not come to an end.
fn judge(seeds: &[u64], difference: impl Fn(&Case) -> Option<String>) {
    let mut differences = Vec::new();
    for seed in seeds {
        let case = draw(*seed);
        let judged = catch_unwind(AssertUnwindSafe(|| difference(&case)));
        if let Some(difference) = judged.unwrap_or_else(|_| Some("it panics".to_owned())) {
            differences.push(format!("FTLKIT_CASE={seed}: {difference}\n    {case}"));
        }
    }
    assert!(differences.is_empty(), "{} cases differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn drawn_runs_agree_to_the_nanosecond() {
    judge(&seeds(RUNS, 1000), |case| difference_under(case, &case.rules));
}

/// Runs on which both once disagreed: erases of one place in an order of classes had several
/// standings, and a place was given while controller time alone was under way.
const ONCE_DIFFERENT: [u64; 3] = [2_000_036, 71_000_019, 4_000_022];

/// Runs with five of `copy_back`, `multi_plane`, suspended programs, `gc_channels`, an order of
/// classes and a bound on overtaking: fewer than one in a hundred drawn ones.
const OF_MANY_ABILITIES: [u64; 4] = [900_000_174, 900_000_245, 900_000_331, 900_000_707];

#[test]
fn runs_with_many_abilities_and_those_that_once_differed_agree() {
    judge(&[&ONCE_DIFFERENT[..], &OF_MANY_ABILITIES].concat(), |case| difference_under(case, &case.rules));
}

#[test]
fn drawn_studies_agree_to_the_nanosecond() {
    judge(&seeds(20, 200), studies::difference);
}

#[test]
fn a_nanosecond_more_is_noticed() {
    let longer: [fn(&mut Rules); 4] = [
        |rules| rules.read_ns += 1,
        |rules| rules.program_ns += 1,
        |rules| rules.erase_ns += 1,
        |rules| rules.transfer_ns += 1,
    ];
    let case = (0..100).map(draw).find(|case| {
        let (tally, _) = case.done();
        tally.count(Cause::Collection, FlashOp::Erase) > 100 && tally.count(Cause::Mapping, FlashOp::Read) > 100
    });
    let case = case.expect("one of them");
    assert_eq!(difference_under(&case, &case.rules), None);
    for longer in longer {
        let mut rules = case.rules;
        longer(&mut rules);
        assert!(difference_under(&case, &rules).is_some(), "{rules:?}\n    {case}");
    }
}

#[test]
fn a_slower_type_of_page_is_noticed() {
    let case = default_cases().into_iter().find(|case| {
        let has_upper_pages = case.geometry.pages_per_block() == 16;
        let is_tlc = has_upper_pages && case.rules.cells.is_some_and(|cells| cells.bits == 3);
        let does =
            |(tally, _): (Tally, u64)| [FlashOp::Read, FlashOp::Program].iter().all(|&op| tally.total(op) > 1000);
        is_tlc && does(case.done())
    });
    let case = case.expect("one of them");
    assert_eq!(difference_under(&case, &case.rules), None);
    for bit in 0..3 {
        for op in [FlashOp::Read, FlashOp::Program] {
            let mut rules = case.rules;
            let cells = rules.cells.as_mut().expect("cells");
            let times = if op == FlashOp::Read { &mut cells.more_to_read_ns } else { &mut cells.more_to_program_ns };
            times[bit] += 1;
            assert!(difference_under(&case, &rules).is_some(), "bit {bit} of {rules:?}\n    {case}");
        }
    }
}

#[test]
fn a_slower_link_or_controller_is_noticed() {
    let slower: [fn(&mut Rules); 3] = [
        // A byte a second less is a nanosecond more where a page takes a whole number of them.
        |rules| rules.link_bytes_per_s = rules.link_bytes_per_s.map(|rate| rate - 1),
        |rules| rules.link_latency_ns += 1,
        |rules| rules.controller_ns += 1,
    ];
    let uses_all = |rules: &Rules| {
        let has_stations = rules.link_bytes_per_s.is_some() && rules.controller_cores.is_some();
        has_stations && rules.link_latency_ns > 0 && rules.controller_ns > 0
    };
    let case = (0..100).map(draw).find(|case| uses_all(&case.rules)).expect("one of them");
    assert_eq!(difference_under(&case, &case.rules), None);
    for slower in slower {
        let mut rules = case.rules;
        slower(&mut rules);
        assert!(difference_under(&case, &rules).is_some(), "{rules:?}\n    {case}");
    }
}

#[test]
fn a_missing_second_register_is_noticed() {
    type Change = (&'static str, fn(&Rules) -> bool, fn(&mut Rules));
    let missing: [Change; 2] = [
        ("reads", Rules::caches_reads, |rules| rules.cache_read = false),
        ("programs", Rules::caches_programs, |rules| rules.cache_program = false),
    ];
    let cases = default_cases();
    for (name, is_such, missing) in missing {
        let notices = |case: &&Case| {
            let mut rules = case.rules;
            missing(&mut rules);
            difference_under(case, &rules).is_some()
        };
        let count = cases.iter().filter(|case| is_such(&case.rules)).filter(notices).take(10).count();
        assert_eq!(count, 10, "too few runs notice that second registers for {name} are missing");
    }
}

#[test]
fn what_is_programmed_at_once_is_noticed() {
    let changes: [fn(&mut Units); 2] = [
        // Its units take the die and the bus, each by itself, and no capacitor keeps any.
        |units| (units.in_a_page, units.pages) = (1, 1),
        |units| units.one_shot = !units.one_shot,
    ];
    let cases = default_cases();
    for (number, change) in changes.into_iter().enumerate() {
        let notices = |case: &&Case| {
            let mut rules = case.rules;
            let Some(units) = &mut rules.units else { return false };
            change(units);
            rules.at_once() <= case.rules.at_once() && difference_under(case, &rules).is_some()
        };
        assert!(cases.iter().filter(notices).take(2).count() == 2, "too few runs notice change {number}");
    }
}

#[test]
fn a_place_less_in_the_program_buffer_is_noticed() {
    let notices = |case: &&Case| {
        let mut rules = case.rules;
        rules.buffered = rules.buffered.map(|places| places - 1);
        rules.buffered != case.rules.buffered && difference_under(case, &rules).is_some()
    };
    let cases = default_cases();
    let count = cases.iter().filter(|case| case.rules.buffered.is_some()).count();
    println!("{count} of {} runs have a program buffer", cases.len());
    assert!(cases.iter().filter(notices).take(5).count() == 5, "too few runs notice");
}

#[test]
fn other_orders_and_bounds_of_dies_are_noticed() {
    type Change = (fn(&Rules) -> bool, fn(&mut Rules));
    let changes: [Change; 5] = [
        (|rules| !rules.die_order[1].is_empty(), |rules| rules.die_order[..2].reverse()),
        (|rules| rules.has_order(), |rules| rules.die_order = [""; 5]),
        (|rules| rules.overtakes.is_some(), |rules| rules.overtakes = rules.overtakes.map(|most| most + 1)),
        (|rules| rules.suspensions.is_some(), |rules| rules.suspensions = rules.suspensions.map(|most| most + 1)),
        (|rules| rules.resume_ns[0] != rules.resume_ns[1], |rules| rules.resume_ns.reverse()),
    ];
    let cases: Vec<_> = (1_000_000..1_000_200).map(draw).filter(is_small).collect();
    for (number, (is_such, change)) in changes.into_iter().enumerate() {
        let notices = |case: &&Case| {
            let mut rules = case.rules;
            change(&mut rules);
            difference_under(case, &rules).is_some()
        };
        let count = cases.iter().filter(|case| is_such(&case.rules)).filter(notices).take(2).count();
        assert!(count == 2, "too few runs notice change {number}");
    }
}

#[test]
fn missing_superblocks_are_noticed() {
    let changes: [fn(&mut Superblocks); 2] = [|superblocks| superblocks.planes = 1, |superblocks| superblocks.dies = 1];
    let cases = default_cases();
    for (number, change) in changes.into_iter().enumerate() {
        let notices = |case: &&Case| {
            let mut rules = case.rules;
            change(&mut rules.superblocks);
            rules.superblocks != case.rules.superblocks && difference_under(case, &rules).is_some()
        };
        assert!(cases.iter().filter(notices).take(2).count() == 2, "too few runs notice change {number}");
    }
}

#[test]
fn the_drawn_runs_have_superblocks_of_every_kind() {
    type IsSuch = fn(&Rules) -> bool;
    let cases = default_cases();
    let kinds: [(&str, IsSuch); 5] = [
        ("of a die whose planes work together", |rules| rules.superblocks.dies == 1 && rules.multi_plane),
        ("of a die whose planes take turns", |rules| rules.superblocks.dies == 1 && !rules.multi_plane),
        ("of a group", |rules| rules.superblocks.dies > 1),
        ("of several units a page", |rules| rules.units.is_some_and(|units| units.in_a_page > 1)),
        ("of pages that are programmed at once", |rules| rules.units.is_none() && rules.at_once() > 1),
    ];
    for (name, is_such) in kinds {
        let has = |case: &&Case| case.rules.superblocks != Superblocks::default() && is_such(&case.rules);
        let count = cases.iter().filter(has).count();
        println!("{count} of {} runs have superblocks {name}", cases.len());
        assert!(count > 0, "no run has superblocks {name}");
    }
}

#[test]
fn the_drawn_runs_have_units_of_every_kind() {
    type IsSuch = fn(&Units) -> bool;
    let cases = default_cases();
    let kinds: [(&str, IsSuch); 5] = [
        ("units of a page", |units| units.in_a_page > 1 && !units.one_shot),
        ("units of a word line", |units| units.in_a_page > 1 && units.one_shot),
        ("pages of a word line", |units| units.in_a_page == 1 && units.pages == 1),
        ("units of pages", |units| units.pages > 1 && !units.one_shot),
        ("units of word lines", |units| units.pages > 1 && units.one_shot),
    ];
    for (name, is_such) in kinds {
        let count = cases.iter().filter(|case| case.rules.units.as_ref().is_some_and(is_such)).count();
        println!("{count} of {} runs have {name}", cases.len());
        assert!(count > 0, "no run has {name}");
    }
}

#[test]
fn the_drawn_runs_have_links_and_controllers() {
    type IsSuch = fn(&Case) -> bool;
    let cases = default_cases();
    let kinds: [(&str, IsSuch); 10] = [
        ("a link", |case| case.rules.link_bytes_per_s.is_some()),
        ("a link latency", |case| case.rules.link_latency_ns > 0),
        ("cores", |case| case.rules.controller_ns > 0 && case.rules.controller_cores.is_some()),
        ("cores for all", |case| case.rules.controller_ns > 0 && case.rules.controller_cores.is_none()),
        ("a link in a closed loop", |case| {
            case.rules.link_bytes_per_s.is_some() && matches!(case.load, Load::Outstanding(depth) if depth > 1)
        }),
        ("a link in an open loop", |case| {
            case.rules.link_bytes_per_s.is_some() && !matches!(case.load, Load::Outstanding(_))
        }),
        ("a serial device behind them", |case| case.rules.serial && case.has_host_side()),
        ("partly covered pages", |case| case.has_partial_pages),
        ("a write buffer", |case| case.stack.to_string().contains('+')),
        ("none of them", |case| !case.has_host_side()),
    ];
    for (name, is_such) in kinds {
        let count = cases.iter().filter(|case| is_such(case)).count();
        println!("{count} of {} runs have {name}", cases.len());
        assert!(count > 0, "no run has {name}");
    }
}

#[test]
fn the_drawn_runs_use_every_option_collect_and_miss() {
    let cases = default_cases();
    let options: [fn(&Rules) -> bool; 15] = [
        |rules| rules.copy_back,
        |rules| rules.multi_plane && !rules.aligned_planes,
        |rules| rules.aligned_planes,
        |rules| rules.caches_reads(),
        |rules| rules.caches_programs(),
        |rules| rules.reads_first,
        |rules| rules.gc_yields,
        |rules| rules.suspends_erases,
        |rules| rules.suspends_programs,
        |rules| rules.gc_channels.is_some(),
        |rules| rules.has_order(),
        |rules| rules.overtakes.is_some() && rules.has_order(),
        |rules| rules.overtakes.is_some() && !rules.has_order() && rules.suspends_programs,
        |rules| rules.suspensions.is_some(),
        |rules| rules.resume_ns[0] != rules.resume_ns[1],
    ];
    for (number, has) in options.iter().enumerate() {
        assert!(cases.iter().any(|case| has(&case.rules)), "no run has option {number}");
    }
    let done: Vec<_> = cases.iter().map(Case::done).collect();
    let count = |cause, op| done.iter().map(|(tally, _)| tally.count(cause, op)).sum::<u64>();
    let [erases, mapping_reads] =
        [(Cause::Collection, FlashOp::Erase), (Cause::Mapping, FlashOp::Read)].map(|(cause, op)| count(cause, op));
    println!("{erases} erases of collections, {mapping_reads} reads of the map");
    assert!(erases > 1000 && mapping_reads > 10_000, "{erases} erases, {mapping_reads} reads of the map");
}

#[test]
fn the_drawn_serial_runs_are_of_every_kind() {
    // Serial cases are few: as many again are drawn for the rarest kind.
    let cases = (1_000_000..1_000_000 + 2 * RUNS).map(draw).filter(|case| is_small(case) && case.rules.serial);
    let runs: Vec<_> = cases.map(|case| (case.done(), case)).collect();
    let kinds: [fn(&Case, &Tally, u64) -> bool; 5] = [
        |case, _, _| matches!(case.load, Load::Outstanding(depth) if depth > 1),
        |case, _, _| matches!(case.load, Load::Bursts(..)),
        |case, _, _| matches!(case.load, Load::Percent(load) if load > 100),
        |_, tally, _| tally.controller_ns() > 0,
        |_, _, background| background > 1000,
    ];
    for (number, is_such) in kinds.iter().enumerate() {
        let count = runs.iter().filter(|((tally, background), case)| is_such(case, tally, *background)).count();
        println!("{count} of {} serial runs are of kind {number}", runs.len());
        assert!(count > 0, "no serial run is of kind {number}");
    }
}
