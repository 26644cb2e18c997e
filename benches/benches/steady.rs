//! Steady state: what a flash operation costs in each scheme, beside the bare loop, in one run.
//!
//! The bare loop and a scheme take turns, so a machine whose speed drifts slows both; the ratio of
//! each pair is what counts. A scheme runs with every default on, without the breakdown of waiting,
//! and without a clock. Flash operations are reads, programs and erases of the
//! measured part; its wall-clock time is taken around that part alone.
//!
//! `cargo bench --bench steady -- [--quick] [PAIRS] [CASE...]`, where a case is named by any part
//! of its name.

use std::time::Instant;

use benches::bare::Bare;
use benches::steady::{CASES, Case, Measured, RUNS, measure};

/// Pairs of runs for each case; the median of an odd number is one of them.
const PAIRS: usize = 5;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let quick = words.iter().any(|word| word == "--quick" || word == "--test");
    let pairs = words.iter().find_map(|word| word.parse().ok()).unwrap_or(if quick { 1 } else { PAIRS });
    println!(
        "{:<42} {:>8} {:>8} {:>22} {:>8} {:>22} {:>9} {:>22} {:>10}  event hash",
        "case",
        "bare",
        "M ops/s",
        "ratio (min..max)",
        "unsplit",
        "ratio (min..max)",
        "clockless",
        "ratio (min..max)",
        "bytes/page"
    );
    let names: Vec<&String> =
        words.iter().filter(|word| !word.starts_with("--") && word.parse::<usize>().is_err()).collect();
    let chosen = |case: &&Case| names.is_empty() || names.iter().any(|name| case.name.contains(name.as_str()));
    for case in CASES.iter().filter(chosen) {
        if let Err(error) = report(case, quick, pairs) {
            eprintln!("{}: {error}", case.name);
            std::process::exit(1);
        }
    }
}

fn report(case: &Case, quick: bool, pairs: usize) -> Result<(), String> {
    let mut rows: [Vec<(f64, f64)>; RUNS.len()] = Default::default();
    let (mut bare_speeds, mut first) = (Vec::new(), None);
    for _ in 0..pairs {
        // Made anew for each pair: its speed differs by up to a half between processes, and little
        // within one.
        let bare_speed = bare_speed(&mut case.bare(quick), case.bare_writes(quick));
        bare_speeds.push(bare_speed);
        for (rows, run) in rows.iter_mut().zip(RUNS) {
            let measured = measure(case, quick, run)?;
            rows.push((measured.operations_per_second / bare_speed, measured.operations_per_second));
            first.get_or_insert(measured);
        }
    }
    bare_speeds.sort_by(f64::total_cmp);
    let [default, unsplit, clockless] = rows.map(|mut rows| {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((least, _), (ratio, speed), (most, _)) = (rows[0], rows[rows.len() / 2], rows[rows.len() - 1]);
        format!("{:>8.2} {ratio:>8.3} ({least:.3}..{most:.3})", speed / 1e6)
    });
    let Some(Measured { event_hash, bytes_per_page, .. }) = first else { return Ok(()) };
    println!(
        "{:<42} {:>8.2} {default} {unsplit}  {clockless} {:>10}  {event_hash}",
        case.name,
        bare_speeds[bare_speeds.len() / 2] / 1e6,
        bytes_per_page.map_or_else(|| "-".into(), |bytes| format!("{bytes:.2}"))
    );
    Ok(())
}

fn bare_speed(bare: &mut Bare, writes: u64) -> f64 {
    let before: u64 = bare.operations.iter().sum();
    let begun = Instant::now();
    bare.run(writes);
    (bare.operations.iter().sum::<u64>() - before) as f64 / begun.elapsed().as_secs_f64()
}
