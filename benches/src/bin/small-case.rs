//! Runs a case of the steady-state bench on a small device, for `benches/instructions.py` to count
//! its instructions.
//!
//! `small-case NAME TIMES [--no-waiting]` serves so many times the requests of the case and prints
//! how many flash operations that were; without arguments, it prints the names of all cases.

use std::process::ExitCode;

use benches::steady::CASES;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (name, times, waiting) = match words[..] {
        [] => {
            for case in CASES {
                println!("{}", case.name);
            }
            return ExitCode::SUCCESS;
        }
        [name, times] => (name, times, true),
        [name, times, "--no-waiting"] => (name, times, false),
        _ => return refuse("usage: small-case [NAME TIMES [--no-waiting]]"),
    };
    let Some(case) = CASES.iter().find(|case| case.name == name) else {
        return refuse(&format!("no case is called {name:?}; `small-case` alone prints their names"));
    };
    let Ok(times) = times.parse() else {
        return refuse(&format!("{times:?} is no number of times; give 1 or 2"));
    };
    match case.run_small(times, waiting) {
        Ok(operations) => {
            println!("{operations}");
            ExitCode::SUCCESS
        }
        Err(error) => refuse(&error),
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}
