//! How long torture takes to find a fault of one scheme, seed by seed: `cargo run -p ftlkit-check
//! --example hunt -- superblock:n=1 10 500` for ten seeds and at most 500 million flash operations
//! each. Settings that are given are kept.
//!
//! Kinds of trials share flash operations instead of seconds, so that the figures are the same on
//! every machine and under every load. A hunt ends at the first finding, or is given up after so
//! many operations.

extern crate ftlkit_check as check;

use std::process::ExitCode;

use check::torture::{Options, Torture};
use ftl::Stack;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [stack, seeds, millions] = &arguments[..] else {
        eprintln!("hunt STACK SEEDS MILLIONS: for example hunt superblock:n=1 10 500");
        return ExitCode::from(2);
    };
    let stack: Stack = match stack.parse() {
        Ok(stack) => stack,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let (Ok(seeds), Ok(millions)) = (seeds.parse::<u64>(), millions.parse::<u64>()) else {
        eprintln!("{seeds} seeds, {millions} million operations: both must be whole numbers, for example 10 500");
        return ExitCode::from(2);
    };
    for seed in 1..=seeds {
        let options = Options { stacks: vec![stack.clone()], seed, swarm: false, ..Options::default() };
        match Torture::new(options) {
            Ok(torture) => hunt(seed, torture, millions * 1_000_000),
            Err(why) => {
                eprintln!("{why}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

fn hunt(seed: u64, mut torture: Torture, most_operations: u64) {
    while torture.reports()[0].tried.flash_operations < most_operations {
        let Some(trial) = torture.next_trial() else { break };
        let result = trial.run();
        let spent = result.as_ref().map_or(1, |tried| tried.flash_operations.max(1));
        torture.record(&trial, result, spent);
    }
    let report = &torture.reports()[0];
    let found = report.findings.first().map_or("nothing", |finding| finding.replay.as_str());
    println!(
        "seed {seed}: {} power cut trials of {} trials, {} million flash operations: {found}",
        report.trials.power_cuts,
        report.trials.conformance + report.trials.power_cuts + report.trials.failing_flash + report.trials.combined,
        report.tried.flash_operations / 1_000_000
    );
}
