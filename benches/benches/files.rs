//! File workloads: 10 million transactions of postmark (50 000 files, 960 MiB) made into requests
//! and simulated, one thread.
//!
//! Each stack makes its own trace, so a row is what a user waits for who begins with nothing; the
//! promise is below 300 s.
//!
//! `cargo bench --bench files -- [--quick] [TRANSACTIONS] [STACK...]`

use benches::files::{Measured, PROMISED_S, STACKS, TRANSACTIONS, measure};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let quick = words.iter().any(|word| word == "--quick" || word == "--test");
    let given = words.iter().find_map(|word| word.parse().ok());
    let transactions = given.unwrap_or(if quick { 2_000 } else { TRANSACTIONS });
    let named: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-') && word.parse::<u64>().is_err())
        .collect();
    println!(
        "{:<10} {:>13} {:>12} {:>9} {:>9} {:>11} {:>8} {:>9} {:>15}  event hash",
        "stack", "transactions", "requests", "trace MB", "made s", "simulated s", "all s", "promised", "transactions/s"
    );
    for stack in STACKS.into_iter().filter(|stack| named.is_empty() || named.contains(stack)) {
        let Measured { requests, made_s, trace_bytes, simulated_s, event_hash, .. } =
            measure(stack, transactions, quick).unwrap_or_else(|error| {
                eprintln!("{stack}: {error}");
                std::process::exit(1);
            });
        let all_s = made_s + simulated_s;
        let promised_s = PROMISED_S * transactions as f64 / TRANSACTIONS as f64;
        println!(
            "{stack:<10} {transactions:>13} {requests:>12} {:>9.0} {made_s:>9.1} {simulated_s:>11.1} {all_s:>8.1} {promised_s:>9.1} {:>15.0}  {event_hash}",
            trace_bytes as f64 / 1e6,
            transactions as f64 / all_s
        );
    }
}
