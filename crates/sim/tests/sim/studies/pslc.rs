//! The pSLC cache, as a user sees it: where the fast part of a fill ends, what the drive sustains
//! behind it, what that costs, and what is refused.

use sim::{Results, RunResult};

use super::{error, operations, results, simulated_ns};

/// Four dies, each on a channel of its own, of three-bit cells: blocks of 48 pages, 16 in pSLC
/// mode.
const DIES: u64 = 4;
const PSLC_PAGES: u64 = 16;
const DEVICE: &str = r#"
[device]
preset = "slc-small"
channels = 4
dies_per_channel = 1
blocks_per_plane = 64
pages_per_block = 48
page_size = "4KiB"
spare = 0.3
cell = "tlc"
read_latency = "60us"
program_latency = "600us"
erase_latency = "3ms"
transfer_latency = "10us"
pslc_read_latency = "20us"
pslc_program_latency = "150us"
"#;
/// Three blocks of each die.
const CACHE_PAGES: u64 = 3 * PSLC_PAGES * DIES;
const STATIC: &str = "pslc_static = \"768KiB\"";

/// The first pages of an empty device are written one after another.
fn fill_text(pages: u64, pattern: &str, ftl: &str) -> String {
    format!(
        "{DEVICE}\n[workload.generator]\nrequests = {pages}\nspan = \"20MiB\"\nunit = \"4KiB\"\nwrite_share = 1.0\n\
         {pattern}\n[host]\nloop = \"closed\"\nqueue_depth = 32\n[run]\nprecondition = \"none\"\n\
         [[ftl]]\nname = \"page\"\n{ftl}"
    )
}

fn fill(pages: u64, pattern: &str, ftl: &str) -> Results {
    results(&fill_text(pages, pattern, ftl))
}

fn sequential(pages: u64, ftl: &str) -> RunResult {
    fill(pages, "pattern = \"sequential\"", ftl).runs.remove(0)
}

#[test]
fn the_cliff_of_a_fill_stands_at_the_size_of_the_static_cache() {
    let [within, beyond] = [CACHE_PAGES, CACHE_PAGES + 1].map(|pages| sequential(pages, STATIC));
    assert_eq!((within.notes["cached_pages"], within.notes["folds"]), (CACHE_PAGES, 0));
    assert_eq!((beyond.notes["cached_pages"], beyond.notes["folds"]), (CACHE_PAGES + 1, 1));
    assert_eq!(operations(&beyond, "fold", "program"), PSLC_PAGES);
    // Each die takes its pages one after the other: 10 µs over its channel and 150 µs in pSLC mode.
    assert_eq!(simulated_ns(&within), CACHE_PAGES / DIES * 160_000);
}

#[test]
fn behind_the_cliff_the_rate_is_the_fold_bound() {
    let [near, far] = [4 * CACHE_PAGES, 20 * CACHE_PAGES].map(|pages| sequential(pages, STATIC));
    let measured_ns = (simulated_ns(&far) - simulated_ns(&near)) as f64 / (16 * CACHE_PAGES) as f64;
    // A page is programmed in pSLC mode, read there and programmed with all bits, each with a
    // transfer, and has its share of the erase of a block of the cache.
    let bound_ns = (150_000.0 + 20_000.0 + 600_000.0 + 3.0 * 10_000.0 + 3_000_000.0 / PSLC_PAGES as f64) / DIES as f64;
    assert!((measured_ns / bound_ns - 1.0).abs() < 0.02, "{measured_ns} ns a page, and {bound_ns} bound it");
    let folded = operations(&far, "fold", "program");
    assert_eq!(operations(&far, "fold", "read"), folded);
    assert_eq!(far.notes["cached_pages"], 20 * CACHE_PAGES);
    let written = far.host_pages_written as f64;
    let amplification = far.write_amplification.expect("pages were written");
    assert!((amplification - (written + folded as f64) / written).abs() < 1e-9, "{amplification}");
    assert_eq!((far.erases.total, far.erases.pslc), (far.notes["folds"], far.notes["folds"]));
}

#[test]
fn the_dynamic_cache_of_an_empty_device_ends_where_its_free_blocks_are_needed() {
    // A block more is taken as long as what has no data would fill as many blocks.
    let logical = (64 * 48 * DIES) * 7 / 10;
    let row = PSLC_PAGES * DIES;
    let rows = (0..64).find(|rows| *rows >= (logical - rows * row) / (48 * DIES)).expect("it ends");
    let [within, beyond] = [rows * row, rows * row + 1].map(|pages| sequential(pages, "pslc_dynamic = true"));
    assert_eq!((within.notes["cached_pages"], within.notes["folds"]), (rows * row, 0));
    assert_eq!(beyond.notes["folds"], 1, "{rows} rows");
    let share = (rows * row) as f64 / logical as f64;
    assert!((share - 0.25).abs() < 0.01, "a quarter of what the host sees, as the cells have three bits: {share}");
}

#[test]
fn the_dynamic_cache_is_gone_when_the_device_is_full() {
    let text = random("pslc_dynamic = true").replace("precondition = \"none\"", "precondition = \"fill\"");
    let run = results(&text).runs.remove(0);
    assert_eq!((run.host_pages_written, run.notes["cached_pages"]), (2000, 0));
}

/// The same dies with flash pages of four units, whose word lines are programmed at once: blocks of
/// as many units in either mode.
fn with_word_lines() -> String {
    let keys = "page_size = \"16KiB\"\nmapping_unit = \"4KiB\"\nprogramming = \"one_shot\"";
    DEVICE.replace("page_size = \"4KiB\"", keys).replace("pages_per_block = 48", "pages_per_block = 12")
}

#[test]
fn units_of_a_page_in_pslc_mode_are_programmed_at_once() {
    let sequential = |pages: u64| {
        let text = fill_text(pages, "pattern = \"sequential\"", STATIC).replace(DEVICE, &with_word_lines());
        results(&text).runs.remove(0)
    };
    let [within, beyond] = [CACHE_PAGES, CACHE_PAGES + 1].map(sequential);
    assert_eq!((within.notes["cached_pages"], within.notes["folds"]), (CACHE_PAGES, 0));
    assert_eq!(beyond.notes["folds"], 1);
    // A flash page and not a word line: 10 µs over the channel and 150 µs. Six of each die are in
    // the program buffer at the end.
    assert_eq!(simulated_ns(&within), (CACHE_PAGES / DIES / 4 - 6) * 160_000);
    let buffer = |run: &RunResult| {
        let structure = run.footprint.structures.iter().find(|structure| structure.name == "program buffer");
        structure.expect("units wait").ram_bytes
    };
    assert_eq!(buffer(&within), 2 * DIES * 12 * 4096, "two word lines for each die");
    // Behind the cliff a unit costs its share of a flash page in pSLC mode, which is programmed and
    // sensed once, its share of a word line, and its share of an erase.
    let [near, far] = [4 * CACHE_PAGES, 20 * CACHE_PAGES].map(sequential);
    assert_eq!(buffer(&far), 3 * DIES * 12 * 4096, "and one of what is folded");
    let measured_ns = (simulated_ns(&far) - simulated_ns(&near)) as f64 / (16 * CACHE_PAGES) as f64;
    let shares_ns = (150_000.0 + 20_000.0) / 4.0 + 600_000.0 / 12.0 + 3.0 * 2_500.0 + 3_000_000.0 / PSLC_PAGES as f64;
    let bound_ns = shares_ns / DIES as f64;
    assert!((measured_ns / bound_ns - 1.0).abs() < 0.02, "{measured_ns} ns a page, and {bound_ns} bound it");
}

#[test]
fn units_that_go_through_the_cache_are_what_was_written() {
    let of_pages = DEVICE.replace("page_size = \"4KiB\"", "page_size = \"2KiB\"\nmapping_unit = \"4KiB\"");
    let shadow = with_word_lines().replace("programming = \"one_shot\"\n", "");
    for device in [with_word_lines(), shadow, of_pages.replace("pages_per_block = 48", "pages_per_block = 98")] {
        let text = random("pslc_static = \"1MiB\"\npslc_dynamic = true").replace(DEVICE, &device);
        let text =
            text.replace("requests = 2000", "requests = 30000").replace("write_share = 1.0", "write_share = 0.7");
        let run =
            results(&text.replace("precondition = \"none\"", "precondition = \"none\"\nverify = true")).runs.remove(0);
        assert!(run.proved.is_some() && run.mount.is_some(), "{device}");
        assert!(run.notes["cached_pages"] > 1000 && run.notes["folds"] > 50, "{:?}: {device}", run.notes);
        assert!(operations(&run, "collection", "program") > 0, "{device}");
    }
}

#[test]
fn a_word_line_without_a_pslc_time_lends_each_of_its_pages_a_share() {
    let keys = "pslc_read_latency = \"20us\"\npslc_program_latency = \"150us\"\n";
    // Flash pages of a die behind those that the program buffer holds: the first is programmed.
    let program_ns = |device: &str, pages: u64| {
        let text = fill_text(DIES * 4 * pages, "pattern = \"sequential\"", STATIC);
        simulated_ns(&results(&text.replace(DEVICE, &device.replace(keys, ""))).runs[0]) - 10_000
    };
    assert_eq!(program_ns(&with_word_lines(), 7), 600_000 / 3);
    let shadow = with_word_lines().replace("programming = \"one_shot\"\n", "");
    assert_eq!(program_ns(&shadow, 3), 600_000, "one time for all types is that of a lower page, too");
}

/// Pages are written at random.
fn random(ftl: &str) -> String {
    format!(
        "{DEVICE}\n[workload.generator]\nrequests = 2000\nspan = \"20MiB\"\nunit = \"4KiB\"\nwrite_share = 1.0\n\
         [host]\nloop = \"closed\"\n[run]\nprecondition = \"none\"\n[[ftl]]\nname = \"page\"\n{ftl}"
    )
}

#[test]
fn large_requests_go_around_the_cache() {
    let pattern = "pattern = \"sequential\"\nsizes = \"64KiB\"";
    let pages = |direct: &str| {
        let run = fill(40, pattern, &format!("{STATIC}\npslc_direct = \"{direct}\"")).runs.remove(0);
        (run.host_pages_written, run.notes["cached_pages"])
    };
    assert_eq!(pages("64KiB"), (640, 0));
    assert_eq!(pages("68KiB"), (640, 640));
}

#[test]
fn idle_time_empties_the_cache() {
    let burst = |gap: &str| {
        let text = random(STATIC).replace("loop = \"closed\"", "loop = \"open\"").replace(
            "write_share = 1.0",
            &format!("write_share = 1.0\narrivals = {{ constant = {{ gap = \"{gap}\" }} }}"),
        );
        let run = results(&text).runs.remove(0);
        run.response_ns.write.mean.expect("writes")
    };
    // With time to fold between them, all writes find room; else most wait for a fold.
    let (idle, busy) = (burst("20ms"), burst("100us"));
    assert!((idle - 160_000.0).abs() < 1.0, "{idle}");
    assert!(busy > 2.0 * idle, "{busy}");
}

#[test]
fn what_blocks_had_before_is_taken_from_both_lives() {
    let limits = |keys: &str| {
        let run = results(&random("").replace(DEVICE, &format!("{DEVICE}\nendurance = 3000\n{keys}"))).runs.remove(0);
        (run.endurance.limit, run.endurance.pslc_limit)
    };
    assert_eq!(limits(""), (3000, Some(30_000)));
    assert_eq!(limits("initial_erases = 2250"), (750, Some(7_500)));
    assert_eq!(limits("initial_erases = 1500\npslc_endurance = 80000"), (1500, Some(40_000)));
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let study = |device: &str, ftl: &str| random(ftl).replace(DEVICE, device);
    let (native, _) = DEVICE.split_once("pslc_read_latency").expect("its keys come last");
    let native = native.replace("cell = \"tlc\"\n", "");
    for (text, parts) in [
        (
            study(&DEVICE.replace("cell = \"tlc\"\n", ""), ""),
            &["device.pslc_read_latency", "no pSLC mode", "\"tlc\""] as &[_],
        ),
        (study(&format!("{native}\npslc_endurance = 5"), ""), &["device.pslc_endurance", "leave pslc_endurance out"]),
        (study(&format!("{DEVICE}\npslc_endurance = 0"), ""), &["pslc_endurance = 0", "30000 to 100000"]),
        (study(&native, STATIC), &["page.pslc_static", "no pSLC mode", "device.cell"]),
        (study(DEVICE, "pslc_static = \"8MiB\""), &["128 blocks are only ever pSLC", "raise device.spare"]),
        (study(DEVICE, "pslc_static = \"1GiB\""), &["pslc_static", "4096 blocks of each of 4 dies", "have 64"]),
        (study(DEVICE, "pslc_dynamic = true\nstreams = \"hints\""), &["page.streams = hints", "folded"]),
        (
            study(&format!("{DEVICE}\nbit_errors = \"tlc-72l\""), STATIC),
            &["ftl \"page", "pslc_static", "device.bit_errors", "leave pslc_static or bit_errors out"],
        ),
    ] {
        let message = error(&text).to_string();
        for part in parts {
            assert!(message.contains(part), "`{part}` is missing in: {message}");
        }
    }
}
