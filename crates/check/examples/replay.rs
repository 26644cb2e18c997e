//! Runs replay lines again: `cargo run --release -p ftlkit-check --example replay -- 'check::replay
//! scheme=…'`.
//!
//! With `--shrink` before the line, a failing case is made as small as it gets. Exit code 0 when
//! the case passes, 1 when it fails, 2 when the line cannot be read.

extern crate ftlkit_check as check;

use std::process::ExitCode;

use check::{Case, run_case, smallest};

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args().skip(1).collect();
    let shrinks = arguments.first().is_some_and(|argument| argument == "--shrink");
    if shrinks {
        arguments.remove(0);
    }
    match arguments.join(" ").parse::<Case>() {
        Ok(case) => report(&case, shrinks),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn report(case: &Case, shrinks: bool) -> ExitCode {
    match run_case(case) {
        Ok(outcome) => {
            println!(
                "passes: {} flash operations, event hash {:#018x}",
                outcome.flash_operations(),
                outcome.event_hash
            );
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{}", if shrinks { smallest(failure) } else { failure });
            ExitCode::FAILURE
        }
    }
}
