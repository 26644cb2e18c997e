//! Runs a study without Python: `cargo run --release -p ftlkit-sim --example study --
//! examples/demo.toml`.
//!
//! Prints a row for each run; with `--json` after the file, all of the results as JSON, which is
//! what reports are made from. Exit code 0 when all went well, 2 when the study cannot be run as
//! written, 3 when a translation layer broke a rule.

extern crate ftlkit_sim as sim;

use std::fs;
use std::process::ExitCode;

use sim::{Control, SimError, parse_toml, run_study};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (path, is_json) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [path] => (path, false),
        [path, "--json"] => (path, true),
        _ => return refuse("usage: study FILE.toml [--json]"),
    };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return refuse(&format!("cannot read {path}: {error}")),
    };
    match parse_toml(&text, path).and_then(|study| run_study(&study, &Control::new())) {
        Ok(results) if is_json => match serde_json::to_string_pretty(&results) {
            Ok(json) => show(&json),
            Err(error) => refuse(&format!("the results cannot be written as JSON: {error}")),
        },
        Ok(results) => show(&results.table()),
        Err(error @ SimError::Bug(_)) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
        Err(error) => refuse(&error.to_string()),
    }
}

fn show(text: &str) -> ExitCode {
    println!("{text}");
    ExitCode::SUCCESS
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}
