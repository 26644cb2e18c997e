//! Superblocks: what planes that are opened and filled together write, and how devices of them
//! scale.

use sim::RunResult;

use super::{error, results};

const PAGES: &str = r#"pages_per_block = 64
    program_latency = "200us""#;
const WORD_LINES: &str = r#"pages_per_block = 66
    mapping_unit = "4KiB"
    cell = "tlc"
    programming = "one_shot"
    program_latency = "700us""#;

/// Requests that keep two dies of four planes busy. A page moves in a twentieth of its program or
/// less, so that the bus is no limit.
fn text(flash: &str, keys: &str, workload: &str, run: &str) -> String {
    format!(
        r#"
        [device]
        channels = 2
        planes_per_die = 4
        page_size = "16KiB"
        read_latency = "50us"
        erase_latency = "3ms"
        transfer_latency = "8us"
        capacity = "256MiB"
        spare = 0.3
        {flash}
        {keys}
        [workload.generator]
        span = "256MiB"
        {workload}
        [host]
        loop = "closed"
        queue_depth = 64
        [run]
        {run}
        [[ftl]]
        name = "page"
        "#
    )
}

fn bytes_per_s(text: &str) -> f64 {
    results(text).runs[0].throughput_bytes_per_s.expect("it takes time")
}

const TOGETHER: &str = "superblock = \"die\"\nmulti_plane = true";

#[test]
fn planes_of_a_superblock_write_side_by_side() {
    let random = "requests = 6000\nwrite_share = 1.0\nsizes = \"16KiB\"\nunit = \"16KiB\"";
    let ordered = format!("{random}\nsequential_share = 1.0");
    for (flash, writes) in [(PAGES, random), (PAGES, &ordered), (WORD_LINES, random), (WORD_LINES, &ordered)] {
        let rate = |keys: &str| bytes_per_s(&text(flash, keys, writes, "precondition = \"none\""));
        let [one, together, by_turns] = ["multi_plane = true", TOGETHER, "superblock = \"die\""].map(rate);
        println!(
            "one plane {one:.0}, planes together {together:.0}, planes by turns {by_turns:.0} B/s: {flash} {writes}"
        );
        assert!(together >= 3.5 * one, "{:.2} times: {flash} {writes}", together / one);
        assert!((by_turns / one - 1.0).abs() < 0.05, "planes that take turns are no faster: {flash} {writes}");
    }
}

#[test]
fn reads_in_order_of_superblocks_are_no_slower() {
    let reads = "requests = 3000\nwrite_share = 0.0\nsizes = \"64KiB\"\nunit = \"64KiB\"\nsequential_share = 1.0";
    for flash in [PAGES, WORD_LINES] {
        let rate = |keys: &str| bytes_per_s(&text(flash, keys, reads, "precondition = \"fill\""));
        let [plane, die] = ["multi_plane = true", TOGETHER].map(rate);
        let group = rate("superblock = \"group\"\nmulti_plane = true");
        println!("of blocks {plane:.0}, of superblocks {die:.0}, of groups {group:.0} B/s: {flash}");
        assert!(die >= plane && group >= plane, "{plane:.0}, {die:.0} and {group:.0} B/s: {flash}");
    }
}

/// A drive of superblocks over all channels, of such a capacity, overwritten at random.
fn scaled(capacity: &str) -> RunResult {
    let mib: u64 = capacity.trim_end_matches("MiB").parse().expect("a size");
    let text = format!(
        r#"
        [device]
        preset = "tlc-nvme"
        superblock = "group"
        spare = 0.15
        capacity = "{capacity}"
        [workload.generator]
        requests = {}
        span = "{capacity}"
        write_share = 1.0
        sizes = "16KiB"
        unit = "16KiB"
        [host]
        loop = "closed"
        [run]
        precondition = "steady"
        [[ftl]]
        name = "page"
        "#,
        mib * 64 * 2
    );
    results(&text).runs.remove(0)
}

#[test]
fn a_smaller_device_has_as_many_superblocks_and_amplifies_as_the_whole() {
    let runs = ["1152MiB", "1536MiB", "2304MiB"].map(|capacity| (capacity, scaled(capacity)));
    let amplifications = runs.map(|(capacity, run)| (capacity, run.write_amplification.expect("it writes")));
    println!("{amplifications:?}");
    let (_, largest) = amplifications[2];
    for (capacity, amplification) in amplifications {
        assert!((amplification / largest - 1.0).abs() < 0.03, "{capacity}: {amplification:.3}, not {largest:.3}");
    }
}

#[test]
fn superblocks_that_a_device_cannot_have_are_refused() {
    let refused = |keys: &str| {
        let text = text(PAGES, keys, "requests = 1\nwrite_share = 0.0", "precondition = \"none\"");
        error(&text.replacen("planes_per_die = 4", "", 1)).to_string()
    };
    assert!(refused("superblock = \"die\"").contains("it has one block of one plane here"));
    let planes = |keys: &str| refused(&format!("planes_per_die = 4\n{keys}"));
    assert!(planes("superblock = \"die\"\ncopy_back = true").contains("leave copy_back out"));
    assert!(planes("superblock = \"group\"\ngc_channels = 1").contains("leave gc_channels out"));
    assert!(planes("superblock = \"die\"\npricing = \"serial\"").contains("pricing = \"serial\""));
    let many = refused("planes_per_die = 2048\nsuperblock = \"die\"");
    assert!(many.contains("it has 2048 planes of 1 dies, and at most 1024 of each"), "{many}");
    let unprotected = "cell = \"mlc\"\npower_loss_protection = false";
    assert!(planes(&format!("superblock = \"die\"\n{unprotected}")).contains("set multi_plane"));
}
