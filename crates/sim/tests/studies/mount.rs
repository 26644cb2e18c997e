//! What it costs to mount a device after a power cut, with and without summaries, against the formulae of `docs/recovery.md`.

use sim::{MountFacts, Results};

use crate::results;

const CHANNELS: u64 = 4;
const DIES: u64 = 8;
const PAGES_PER_BLOCK: u64 = 64;
const READ_NS: u64 = 25_000;
const TRANSFER_NS: u64 = 20_000;
const ERASE_NS: u64 = 1_500_000;
/// Streams of `page` and `dftl`, each with at most one open block a die.
const STREAMS: u64 = 3;

/// Schemes on a device that is full and has been overwritten, at so many blocks a die.
fn mounted(blocks_per_die: u64) -> Results {
    results(&format!(
        r#"
        [device]
        preset = "slc-small"
        dies_per_channel = 2
        blocks_per_plane = {blocks_per_die}
        spare = 0.25
        [workload.generator]
        requests = 8_000
        span = "24MiB"
        pattern = "uniform"
        trim_share = 0.1
        [host]
        loop = "closed"
        [run]
        precondition = "fill"
        verify = true
        [[ftl]]
        name = "page"
        [[ftl]]
        name = "page"
        label = "page, summaries"
        checkpoint = "summaries"
        [[ftl]]
        name = "dftl"
        [[ftl]]
        name = "dftl"
        label = "dftl, summaries"
        checkpoint = "summaries"
        [[ftl]]
        name = "block"
        [[ftl]]
        name = "fast"
        "#
    ))
}

fn mount(results: &Results, label: &str) -> MountFacts {
    let run = results.runs.iter().find(|run| run.label == label).unwrap_or_else(|| panic!("{label} was run"));
    run.mount.unwrap_or_else(|| panic!("{label} was mounted"))
}

/// Reads that all dies share evenly, as long as the busiest of dies and channels takes; then erases.
fn time_ns(reads: u64, erases: u64) -> u64 {
    let dies = reads / DIES * (READ_NS + TRANSFER_NS);
    let channels = reads / CHANNELS * TRANSFER_NS;
    dies.max(channels) + erases / DIES * ERASE_NS
}

#[test]
fn without_summaries_every_page_is_read() {
    let (blocks_per_die, results) = (32, mounted(32));
    for label in ["page", "dftl", "block", "fast"] {
        let facts = mount(&results, label);
        println!("{label}: {facts:?} {}", time_ns(facts.reads, facts.erases));
        let pages = DIES * blocks_per_die * PAGES_PER_BLOCK;
        assert!(facts.reads >= pages, "{label}: {facts:?}");
    }
}

#[test]
fn with_summaries_a_page_of_each_block_is_read_and_the_blocks_that_were_being_filled() {
    for blocks_per_die in [32, 64, 128] {
        let results = mounted(blocks_per_die);
        for label in ["page, summaries", "dftl, summaries"] {
            let facts = mount(&results, label);
            println!("{label}: {facts:?} {}", time_ns(facts.reads, facts.erases));
        }
    }
}
