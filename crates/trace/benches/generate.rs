//! What a generated request costs. A simulator does tens of millions of flash operations a second,
//! so a generator that should not be what is measured has about ten nanoseconds a request.
//!
//! `cargo bench -p ftlkit-trace --bench generate`; each figure is of [`REQUESTS`] requests.

extern crate ftlkit_trace as trace;

use divan::Bencher;
use divan::counter::ItemsCount;
use trace::Record;
use trace::generate::{GeneratorSpec, generate, preset};

fn main() {
    divan::main();
}

const REQUESTS: u64 = 1_000_000;

/// Workloads of one-page writes over 16 GiB unless they say otherwise, as a study file writes them.
const WORKLOADS: [&str; 12] = [
    "pattern = 'uniform'",
    "pattern = 'permutation'",
    "pattern = 'sequential'",
    "pattern = { zipf = { theta = 0.99, scatter = false } }",
    "pattern = { zipf = { theta = 0.99 } }",
    "pattern = { zipf = { theta = 0.99, extent = '64KiB' } }",
    "pattern = { hot_cold = { hot_data_share = 0.2, hot_request_share = 0.8 } }",
    "pattern = 'uniform'\nwrite_share = 0.7",
    "pattern = 'uniform'\ntrim_share = 0.1\nspan = '1GiB'",
    "pattern = 'uniform'\narrivals = { poisson = { mean_gap = '10us' } }",
    "pattern = 'uniform'\nsizes = { choice = [{ size = '4KiB', weight = 3 }, { size = '16KiB', weight = 1 }] }",
    "pattern = { mixed = [{ weight = 3, pattern = 'uniform' }, { pattern = 'sequential', sizes = '64KiB' }] }",
];

/// Everything a consumer could look at, so that none of it is optimised away.
fn drain(records: impl Iterator<Item = Record>) -> u64 {
    records.fold(0, |sum, record| {
        sum.wrapping_add(record.time_ns ^ record.offset).wrapping_add(u64::from(record.length) + record.op as u64)
    })
}

#[divan::bench(args = WORKLOADS)]
fn pattern(bencher: Bencher, workload: &str) {
    let mut spec: GeneratorSpec = toml::from_str(workload).expect("a workload of this list");
    spec.requests = REQUESTS;
    if spec.trim_share == 0.0 {
        spec.span.0 = 16 << 30;
    }
    bencher
        .counter(ItemsCount::new(REQUESTS))
        .with_inputs(|| generate(&spec, 1).expect("a workload of this list"))
        .bench_values(drain);
}

#[divan::bench(args = ["fin1", "exchange", "prxy_0"])]
fn look_alike(bencher: Bencher, name: &str) {
    let spec = GeneratorSpec { requests: REQUESTS, ..preset(name).expect("a preset") };
    bencher
        .counter(ItemsCount::new(REQUESTS))
        .with_inputs(|| generate(&spec, 1).expect("a preset"))
        .bench_values(drain);
}
