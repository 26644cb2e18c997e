//! Torture without a clock: trials of every kind for every registered scheme, one each and with
//! `FTLKIT_LONG` six, and swarms for a third of them; and the canary's bugs, which it must find.
//! `FTLKIT_SCHEME=name` tries one scheme alone, `FTLKIT_TRIALS=number` as many as are asked for.

use crate::common::{by_form, is_long};
use check::canary::{self, Bug};
use check::torture::{Kind, Options, Torture, TrialStats};
use check::{Case, Effort, Failure, FaultRun, explore, run_case, run_with_faults};
use ftl::{Stack, registry};

/// Trials of a scheme, of all kinds together.
fn trials() -> u64 {
    let asked = std::env::var("FTLKIT_TRIALS").map(|text| text.parse().expect("FTLKIT_TRIALS is a whole number"));
    asked.unwrap_or(by_form(24, 4))
}

fn stacks() -> Vec<Stack> {
    crate::common::subjects().into_iter().map(|subject| subject.stack).collect()
}

fn canary_with(bug: &str) -> Options {
    Options { stacks: vec![Stack::with(canary::NAME, [("bug", bug)])], ..Options::default() }
}

/// Gives every trial the same time.
fn run(torture: &mut Torture, trials: u64) {
    for _ in 0..trials {
        let Some(trial) = torture.next_trial() else { return };
        torture.record(&trial, trial.run(), 1_000);
    }
}

fn pass(stacks: Vec<Stack>, swarm: bool) {
    let schemes = stacks.len() as u64;
    let options = Options { stacks, seed: 20_261, swarm, ..Options::default() };
    let mut torture = Torture::new(options).expect("registered schemes");
    run(&mut torture, trials() * schemes);
    let mut effects = [0; 5];
    for report in torture.reports() {
        println!("{}: {:?} trials, {:?}", report.scheme, report.trials, report.tried);
        let findings: Vec<_> =
            report.findings.iter().map(|finding| format!("{}\n{}", finding.message, finding.replay)).collect();
        assert!(findings.is_empty(), "{}", findings.join("\n"));
        let TrialStats { cut_points, second_cuts, faults, grown_bad_blocks, .. } = &report.tried;
        let counts = [*cut_points, *second_cuts, faults.failed_programs, faults.failed_erases, *grown_bad_blocks];
        for (sum, count) in effects.iter_mut().zip(counts) {
            *sum += count;
        }
        assert!(!is_long() || counts.iter().all(|&count| count > 0), "{}: {:?}", report.scheme, report.tried);
    }
    // A few trials of one scheme need not have them all.
    assert!(effects.iter().all(|&count| count > schemes), "{effects:?}");
}

#[test]
fn every_scheme_endures_trials_of_every_kind() {
    pass(stacks(), false);
}

#[test]
fn swarms_are_endured() {
    pass(stacks().into_iter().step_by(by_form(1, 3)).collect(), true);
}

#[test]
fn time_is_shared_evenly_among_schemes_and_kinds() {
    let mut torture = Torture::new(Options { seed: 1, ..Options::default() }).expect("registered schemes");
    let schemes = registry::mappings().len() as u64;
    // A power cut trial takes ten times as long as any other here.
    for _ in 0..400 * schemes {
        let trial = torture.next_trial().expect("nothing was found");
        let is_long = torture.reports().iter().any(|report| report.trials.of(Kind::PowerCuts) == 0);
        torture.record(&trial, Ok(TrialStats::default()), if is_long { 10_000 } else { 1_000 });
    }
    let busy: Vec<_> = torture.reports().iter().map(|report| report.busy_s).collect();
    let (least, most) = (busy.iter().copied().fold(f64::MAX, f64::min), busy.iter().copied().fold(0.0, f64::max));
    assert!(most - least <= 1e-5, "{busy:?}");
    for report in torture.reports() {
        let each = Kind::ALL.map(|kind| report.trials.of(kind));
        assert!(each.iter().all(|trials| (80..=120).contains(trials)), "{each:?}");
    }
}

/// Of 32 trials' worth of flash operations, no scheme and no kind gets few trials alone.
#[test]
fn no_trial_takes_more_operations_than_its_share() {
    const OPERATIONS: u64 = 10_000;
    for seed in 1..=by_form(12, 2) {
        let options = Options { seed, operations: Some(OPERATIONS), ..Options::default() };
        let mut torture = Torture::new(options).expect("registered schemes");
        while torture.reports().iter().any(|report| report.busy_s * 1e9 < (32 * OPERATIONS) as f64) {
            let before: u64 = torture.reports().iter().map(|report| report.tried.shortened).sum();
            let trial = torture.next_trial().expect("nothing was found");
            let tried = trial.run().unwrap_or_else(|finding| panic!("{}\n{}", finding.message, finding.replay));
            let TrialStats { flash_operations, shortened, .. } = tried;
            assert!(flash_operations <= OPERATIONS && shortened <= 1, "{flash_operations} operations: {trial:?}");
            torture.record(&trial, Ok(tried), flash_operations.max(1));
            let after: u64 = torture.reports().iter().map(|report| report.tried.shortened).sum();
            assert_eq!(after, before + shortened);
        }
        for report in torture.reports() {
            let each = Kind::ALL.map(|kind| report.trials.of(kind));
            println!("{}: {each:?} trials, {} shortened", report.stack, report.tried.shortened);
            assert!(each.iter().all(|&trials| trials >= 8), "{}: {each:?}", report.stack);
            assert!(report.tried.shortened > 0 && report.tried.cut_points_left_out > 0, "{:?}", report.tried);
        }
    }
}

/// A line has no bound: it stages the cuts and faults that a shortened trial came upon.
#[test]
fn a_finding_of_a_shortened_trial_is_reproduced() {
    let mut shortened = 0;
    for bug in ["stale-read", "leaked-block", "lost-trim-page", "newest-program-wins", "early-erase"] {
        let options = Options { seed: 3, operations: Some(5_000), ..canary_with(bug) };
        let mut torture = Torture::new(options).expect("the canary");
        run(&mut torture, 4_000);
        let report = &torture.reports()[0];
        let Some(finding) = report.findings.first() else { panic!("{bug} was not found: {:?}", report.tried) };
        println!("{bug}, after {:?} trials: {}\n{}", report.trials, finding.message, finding.replay);
        assert!(finding.reproduced, "{bug}");
        shortened += report.tried.shortened;
    }
    assert!(shortened > 0);
}

#[test]
fn the_same_seed_draws_the_same_trials() {
    let tried = |seed: u64| {
        let mut torture =
            Torture::new(Options { seed, swarm: true, ..Options::default() }).expect("registered schemes");
        run(&mut torture, 12);
        torture.reports().iter().map(|report| report.tried.clone()).collect::<Vec<_>>()
    };
    assert_eq!(tried(3), tried(3));
    assert_ne!(tried(3), tried(4));
}

/// Bugs that show on any device; the line of each finding fails again in the same way.
#[test]
fn planted_bugs_are_found_and_set_aside() {
    let is_drawn = |bug: Bug| bug != Bug::None && !bug.needs_a_decayed_page();
    let own = Bug::ALL.into_iter().filter(|(bug, _)| is_drawn(*bug));
    let own = own.map(|(bug, name)| (name, bug.needs_to_be_told(), canary_with(name)));
    let of_a_buffer = ["unflushed", "spared-trim", "undeclared", "understated"].map(|name| {
        let stacks = crate::common::stacks(&[&format!("canary+canary-buffer:bug={name}")]);
        (name, false, Options { stacks, ..Options::default() })
    });
    for (name, swarm, options) in own.chain(of_a_buffer) {
        let mut torture = Torture::new(Options { seed: 5, swarm, ..options }).expect("the canary");
        // A bug that only a cut shows waits for the right device; others are found by the first
        // trials.
        run(&mut torture, 4_000);
        let report = &torture.reports()[0];
        let Some(finding) = report.findings.first() else { panic!("{name} was not found: {:?}", report.tried) };
        println!("{name}, after {:?} trials: {}\n{}", report.trials, finding.message, finding.replay);
        let again: Case = finding.replay.parse().expect("a replay line");
        // What the unrepeatable canary does next depends on the process, not on the line.
        assert!(name == "unrepeatable" || (finding.reproduced && run_case(&again).is_err()), "{name}");
        assert!(torture.next_trial().is_none(), "{name}: set aside");
    }
}

/// A copy of an old page that passes for new after a cut: every seed finds it within few trials,
/// most within the flash operations that a minute has where each is done in Python.
#[test]
fn a_moved_old_copy_that_wins_is_found_by_every_seed() {
    let mut fast = 0;
    for seed in 1..=10 {
        let mut torture = Torture::new(Options { seed, ..canary_with("newest-program-wins") }).expect("the canary");
        run(&mut torture, 400);
        let report = &torture.reports()[0];
        println!("seed {seed}: {:?} trials, {} operations", report.trials, report.tried.flash_operations);
        assert!(!report.findings.is_empty(), "seed {seed}: {:?}", report.tried);
        assert!(report.tried.flash_operations < 20_000_000, "seed {seed}: {}", report.tried.flash_operations);
        fast += u32::from(report.tried.flash_operations < 1_000_000);
    }
    assert!(fast >= 7, "{fast} of 10 seeds");
}

/// A promise may break in a trial on failing flash before anything fails, and in one of power cuts
/// before any cut. What the host reads and when differs between the drivers, so the line has to
/// name its own.
#[test]
fn line_without_a_fault_is_replayed_by_its_own_driver() {
    let case: Case =
        "check::replay scheme=canary set.bug=stale-read geometry=1x1x1x12x4x512 pages=20 seed=7 prefill=full \
                      workload=mixed requests=400 readback=0 check=0"
            .parse()
            .expect("a replay line");
    let effort = Effort { first: 0, during_recovery: 0, after_recovery: 0 };
    let on_failing_flash = run_with_faults(&case, &FaultRun::default()).expect_err("a planted bug");
    let around_cuts = explore(&case, effort).expect_err("a planted bug");
    assert_ne!(on_failing_flash.place, around_cuts.place, "one reads after each request, the other only when asked");
    for (failure, end) in [(on_failing_flash, " faults=none"), (around_cuts, " cut=none")] {
        let line = failure.case.to_string();
        assert!(line.ends_with(end), "{line}");
        let again = run_case(&line.parse().expect("a replay line")).expect_err("the same bug");
        let essence = |failure: &Failure| (failure.place, failure.promise(), failure.case.clone());
        assert_eq!(essence(&again), essence(&failure));
    }
}

#[test]
fn what_cannot_be_tortured_is_refused_in_words() {
    let refused = |options: Options| Torture::new(options).map(|_| ()).expect_err("refused");
    let named = |name: &str, key: &str| Options { stacks: vec![Stack::with(name, [(key, "x")])], ..Options::default() };
    assert!(refused(named("dtfl", "cmt")).contains("dtfl"));
    assert!(refused(named("dftl", "speed")).contains("dftl has no parameter speed"));
    assert!(refused(canary_with("ugly")).contains("must be one of none, stale-read"));
    let on = |geometry: &str| Options {
        stacks: vec![Stack::of("block")],
        devices: vec![geometry.parse().expect("a geometry")],
        ..Options::default()
    };
    assert!(refused(on("1x1x1x501x4x512")).contains("at most 2000"));
    assert!(refused(on("1x1x1x8x4x512,strict")).contains("program_order = strict"));
    assert!(refused(on("1x1x1x1x4x512")).contains("raise device.spare"));
}

/// Cases that once failed: a story, then the line that replays it.
#[test]
fn what_was_mended_stays_mended() {
    let lines: Vec<_> = include_str!("regressions.txt").lines().collect();
    for pair in lines.chunks(2) {
        let &[story, line] = pair else { panic!("a story without its line: {pair:?}") };
        assert!(story.starts_with("# ") && story.len() > 30, "what went wrong stands above the line: {story}");
        let case: Case = line.parse().expect("a replay line");
        assert!(story[2..].starts_with(&case.stack.mapping.name), "the story names the scheme: {story}");
        run_case(&case).unwrap_or_else(|failure| panic!("{failure}"));
    }
}
