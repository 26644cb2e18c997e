//! Runs a study without Python: `cargo run --release -p ftlkit-sim --example study --
//! examples/demo.toml`.
//!
//! Prints a row for each run; with `--json` after the file, all of the results as JSON, which is
//! what reports are made from. Exit code 0 when all went well, 2 when the study cannot be run as
//! written, 3 when a translation layer broke a rule.

extern crate ftlkit_sim as sim;

use std::fs;
use std::process::ExitCode;

use sim::{Control, Results, SimError, parse_toml, run_study};

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
        Ok(results) => show(&table(&results)),
        Err(error @ SimError::Bug(_)) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
        Err(error) => refuse(&error.to_string()),
    }
}

/// One row a run: write amplification, erases, and response times of reads and writes in
/// milliseconds.
fn table(results: &Results) -> String {
    let head = ["run", "WA", "erases", "mean read", "p99 read", "mean write", "p99 write", "p99.9 write"];
    let mut rows = vec![head.map(str::to_owned)];
    for run in &results.runs {
        let (read, write) = (&run.response_ns.read, &run.response_ns.write);
        let ms = |ns: f64| format!("{:.3}", ns / 1e6);
        let tail = |ns: Option<u64>| ns.map_or_else(|| "none".to_owned(), |ns| ms(ns as f64));
        let mean = |ns: Option<f64>| ns.map_or_else(|| "none".to_owned(), ms);
        rows.push([
            run.label.clone(),
            run.write_amplification.map_or_else(|| "none".to_owned(), |factor| format!("{factor:.3}")),
            run.operations
                .iter()
                .filter(|operation| operation.op == "erase")
                .map(|operation| operation.count)
                .sum::<u64>()
                .to_string(),
            mean(read.mean),
            tail(read.p99),
            mean(write.mean),
            tail(write.p99),
            tail(write.p99_9),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let line = |row: &[String; 8]| {
        let cells = row.iter().enumerate().map(|(column, cell)| format!("{cell:>width$}", width = width(column)));
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn show(text: &str) -> ExitCode {
    println!("{text}");
    ExitCode::SUCCESS
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}
