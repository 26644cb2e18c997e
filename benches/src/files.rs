//! File workloads: what it takes to make a benchmark's file operations into requests, and to
//! simulate these.
//!
//! Both are done as users do them: the requests go to a trace (Parquet) as they are made, and a
//! study reads it. So at no time are all of them in memory, and a workload of any length can be
//! run.

use std::time::Instant;

use files::{FileSpec, FileWorkload, Personality};
use sim::{Control, run_study, study};
use tempfile::TempDir;

/// What is promised: this many seconds for [`TRANSACTIONS`].
pub const PROMISED_S: f64 = 300.0;
/// Transactions of postmark.
pub const TRANSACTIONS: u64 = 10_000_000;
/// Stacks that serve them: a map of pages alone, and with levelling by file types.
pub const STACKS: [&str; 2] = ["page", "page+saw"];

const SEED: u64 = 1;

/// What making and simulating a workload took.
pub struct Measured {
    /// Requests of the trace.
    pub requests: u64,
    /// Seconds in which the trace was made and written.
    pub made_s: f64,
    /// Size of the trace on disk.
    pub trace_bytes: u64,
    /// Seconds of reading, surveying and simulating it.
    pub simulated_s: f64,
    /// Flash operations.
    pub operations: u64,
    /// The run's event hash.
    pub event_hash: String,
}

/// postmark with the benchmark's own numbers, 50 000 files, on a volume of 960 MiB; quick: a few of
/// each.
fn spec(transactions: u64, quick: bool) -> FileSpec {
    let whole = FileSpec { operations: transactions, volume_bytes: 960 << 20, ..FileSpec::of(Personality::Postmark) };
    if quick { FileSpec { files: 500, volume_bytes: 30 << 20, ..whole } } else { whole }
}

/// Makes this many transactions and simulates them with a stack, on the device of Wang 2013,
/// chapter 7.
pub fn measure(stack: &str, transactions: u64, quick: bool) -> Result<Measured, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let folder = TempDir::new().map_err(|error| text(&error))?;
    let path = folder.path().join("postmark.parquet");
    let spec = spec(transactions, quick);
    let begun = Instant::now();
    let workload = FileWorkload::new(&spec, random::derive(SEED, "workload")).map_err(|error| text(&error))?;
    let records = workload.map(|record| record.map_err(|error| trace::TraceError::Option(error.to_string())));
    let requests = trace::write_parquet(records, &path).map_err(|error| text(&error))?;
    let made_s = begun.elapsed().as_secs_f64();
    let trace_bytes = std::fs::metadata(&path).map_err(|error| text(&error))?.len();
    let study = format!(
        "seed = {SEED}\n[device]\npreset = \"saw\"\ncapacity = {}\nspare = 0.0625\n[workload]\ntrace = {:?}\n\
         [host]\nloop = \"closed\"\nqueue_depth = 1\n[run]\nwaiting = false\nprecondition = \"none\"\n[[ftl]]\nname = \"{stack}\"\n",
        spec.volume_bytes,
        path.display().to_string()
    );
    let begun = Instant::now();
    let study = study::parse_toml(&study, stack).map_err(|error| text(&error))?;
    let results = run_study(&study, &Control::new()).map_err(|error| text(&error))?;
    let simulated_s = begun.elapsed().as_secs_f64();
    let [run] = results.runs.as_slice() else { return Err("one run was expected".into()) };
    let operations = run.operations.iter().map(|operation| operation.count).sum();
    Ok(Measured { requests, made_s, trace_bytes, simulated_s, operations, event_hash: run.event_hash.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stack_serves_a_tiny_workload_and_repeats_its_hash() {
        for stack in STACKS {
            let [first, second] = [(); 2].map(|()| measure(stack, 2_000, true).expect(stack));
            assert_eq!(first.event_hash, second.event_hash, "{stack}");
            assert!(first.requests > 2_000 && first.operations > first.requests, "{stack}");
        }
    }
}
