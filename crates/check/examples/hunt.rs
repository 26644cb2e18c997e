//! How long torture takes to find a fault of one scheme, seed by seed:
//! `cargo run -p check --example hunt -- superblock 10 [bug=…]`.
//!
//! Kinds of trials share flash operations instead of seconds, so that the figures are the same on every machine and under
//! every load. A hunt ends at the first finding, or when so many operations have been simulated that it is given up.

use std::collections::BTreeMap;
use std::process::ExitCode;

use check::torture::{Options, Torture};

/// Flash operations after which a hunt is given up: some minutes.
const MOST_OPERATIONS: u64 = 2_000_000_000;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [scheme, seeds, settings @ ..] = &arguments[..] else {
        eprintln!("hunt SCHEME SEEDS [NAME=VALUE …]: for example hunt superblock 10");
        return ExitCode::from(2);
    };
    let settings: BTreeMap<_, _> =
        settings.iter().filter_map(|word| word.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let Ok(seeds) = seeds.parse::<u64>() else {
        eprintln!("{seeds}: not a number of seeds");
        return ExitCode::from(2);
    };
    for seed in 1..=seeds {
        let options =
            Options { schemes: vec![(scheme.clone(), settings.clone())], seed, swarm: false, ..Options::default() };
        match Torture::new(options) {
            Ok(torture) => hunt(seed, torture),
            Err(why) => {
                eprintln!("{why}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

fn hunt(seed: u64, mut torture: Torture) {
    while torture.reports()[0].tried.flash_operations < MOST_OPERATIONS {
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
