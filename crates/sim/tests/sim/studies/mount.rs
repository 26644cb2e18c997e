//! What it costs to mount a device after a power cut, with and without summaries, held to the
//! formulae of `docs/correctness.md`.

use sim::{MountFacts, Results};

use super::results;

/// A device, its latencies, and how its blocks end with `checkpoint = "summaries"`.
struct Ground {
    preset: &'static str,
    channels: u64,
    dies_per_channel: u64,
    blocks_per_die: u64,
    pages_per_block: u64,
    summary_pages: u64,
    spare: f64,
    read_ns: u64,
    transfer_ns: u64,
    erase_ns: u64,
}

/// Streams of `page`, each with at most one open block a die.
const STREAMS: u64 = 2;

impl Ground {
    fn slc(blocks_per_die: u64) -> Self {
        Self {
            preset: "slc-small",
            channels: 4,
            dies_per_channel: 2,
            blocks_per_die,
            pages_per_block: 64,
            summary_pages: 1,
            spare: 0.25,
            read_ns: 25_000,
            transfer_ns: 20_000,
            erase_ns: 1_500_000,
        }
    }

    fn tlc(blocks_per_die: u64) -> Self {
        Self {
            preset: "tlc-nvme",
            channels: 8,
            dies_per_channel: 4,
            blocks_per_die,
            pages_per_block: 1152,
            summary_pages: 2,
            spare: 0.07,
            read_ns: 60_000,
            transfer_ns: 14_000,
            erase_ns: 5_000_000,
        }
    }

    fn dies(&self) -> u64 {
        self.channels * self.dies_per_channel
    }

    fn blocks(&self) -> u64 {
        self.dies() * self.blocks_per_die
    }

    fn pages(&self) -> u64 {
        self.blocks() * self.pages_per_block
    }

    /// Reads of a device of filled blocks, and those of one on which every stream has just not
    /// filled its block on every die and every other block is erased: what lies between is
    /// possible.
    fn reads_with_summaries(&self) -> (u64, u64) {
        let open = self.dies() * STREAMS;
        let unfilled = (1 + self.pages_per_block).max(self.summary_pages);
        (
            self.blocks() * self.summary_pages.min(2),
            (self.blocks() - open) * self.summary_pages.max(2) + open * unfilled,
        )
    }

    /// How long reads and then erases take that all dies share evenly, where the busiest of dies
    /// and channels decides.
    fn time_ns(&self, reads: u64, erases: u64) -> u64 {
        let dies = reads * (self.read_ns + self.transfer_ns) / self.dies();
        let channels = reads * self.transfer_ns / self.channels;
        dies.max(channels) + erases * self.erase_ns / self.dies()
    }

    /// Mounts of schemes after filling the device and overwriting some of it at random.
    fn mounts(&self, ftl: &str) -> Results {
        let Self { preset, dies_per_channel, blocks_per_die, spare, .. } = self;
        results(&format!(
            r#"
            [device]
            preset = "{preset}"
            dies_per_channel = {dies_per_channel}
            blocks_per_plane = {blocks_per_die}
            spare = {spare}
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
            {ftl}
            "#
        ))
    }
}

const PAGE: &str = r#"
[[ftl]]
name = "page"
[[ftl]]
name = "page"
label = "page, summaries"
checkpoint = "summaries"
"#;

const DFTL: &str = r#"
[[ftl]]
name = "dftl"
[[ftl]]
name = "dftl"
label = "dftl, summaries"
checkpoint = "summaries"
"#;

const BLOCK_MAPPED: &str = r#"
[[ftl]]
name = "block"
[[ftl]]
name = "fast"
"#;

fn mount(results: &Results, label: &str) -> MountFacts {
    let run = results.runs.iter().find(|run| run.label == label).unwrap_or_else(|| panic!("{label} was run"));
    let facts = run.mount.unwrap_or_else(|| panic!("{label} was mounted"));
    println!("{label}: {facts:?}");
    facts
}

fn took_ns(facts: MountFacts) -> u64 {
    facts.time_ns.expect("it has a clock")
}

/// Holds `page` to the formulae: reads exactly or within their bounds, and the time to what these
/// reads and erases take.
fn hold(ground: &Ground, results: &Results) {
    let plain = mount(results, "page");
    assert_eq!(plain.reads, ground.pages(), "every tag is read once");
    assert_close(took_ns(plain), ground.time_ns(plain.reads, plain.erases), 0.01);
    let summaries = mount(results, "page, summaries");
    let (least, most) = ground.reads_with_summaries();
    assert!((least..=most).contains(&summaries.reads), "{} reads are not in {least}..={most}", summaries.reads);
    // Open blocks are not filled alike on all dies, so the busiest die has more to read than its
    // share.
    assert_close(took_ns(summaries), ground.time_ns(summaries.reads, summaries.erases), 0.25);
    assert_eq!((plain.programs, summaries.programs), (0, 0));
}

fn assert_close(found: u64, expected: u64, share: f64) {
    let off = found as f64 / expected as f64 - 1.0;
    assert!(off.abs() <= share, "{found} ns differ from {expected} ns by {:.1} %", 100.0 * off);
}

#[test]
fn with_summaries_a_page_of_each_block_is_read_and_the_blocks_that_were_being_filled() {
    for blocks_per_die in [32, 128] {
        let ground = Ground::slc(blocks_per_die);
        hold(&ground, &ground.mounts(PAGE));
    }
}

#[test]
fn every_scheme_is_mounted_and_only_page_maps_read_less_than_all() {
    let ground = Ground::slc(32);
    let blocks = ground.mounts(BLOCK_MAPPED);
    for label in ["block", "fast"] {
        let facts = mount(&blocks, label);
        assert!(facts.reads >= ground.pages(), "{label} reads every tag");
        assert!(took_ns(facts) >= ground.time_ns(ground.pages(), 0), "{label}");
    }
    let results = ground.mounts(DFTL);
    let (plain, summaries) = (mount(&results, "dftl"), mount(&results, "dftl, summaries"));
    assert!(plain.reads >= ground.pages() && 8 * summaries.reads < plain.reads);
    assert!(plain.programs > 0 && summaries.programs > 0, "the table is written anew");
}

#[test]
fn runs_that_are_not_verified_are_not_mounted() {
    let text = r#"
        [workload.generator]
        requests = 10
        span = "1MiB"
        pattern = "uniform"
        [host]
        loop = "closed"
        [[ftl]]
        name = "page"
    "#;
    assert_eq!(results(text).runs[0].mount, None);
}

/// The figures of `docs/correctness.md`; takes a minute and some gigabytes.
#[test]
#[ignore = "measures a device of 128 GiB: run it by name, with --ignored --nocapture"]
fn the_figures_of_the_manual() {
    let ground = Ground::tlc(228);
    hold(&ground, &ground.mounts(PAGE));
    let dftl = ground.mounts(DFTL);
    mount(&dftl, "dftl");
    mount(&dftl, "dftl, summaries");
}
