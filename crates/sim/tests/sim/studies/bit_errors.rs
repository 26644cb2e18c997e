//! Studies of devices whose bits decay: retries cost time, what decays is refreshed, and a device
//! that is only read has a life.

use sim::{BitErrorFacts, RunResult};

use super::{operations, results};

/// A read-only Zipf workload, one request at a time, on a device that is filled before.
fn run(requests: u32, device: &str, stack: &str) -> RunResult {
    let text = format!(
        r#"
        [device]
        channels = 1
        blocks_per_plane = 64
        pages_per_block = 16
        spare = 0.3
        read_latency = "25us"
        transfer_latency = "20us"
        {device}
        [workload.generator]
        requests = {requests}
        span = "2MiB"
        unit = "4KiB"
        write_share = 0.0
        pattern = {{ zipf = {{ theta = 0.9 }} }}
        arrivals = {{ constant = {{ gap = "1ms" }} }}
        [host]
        loop = "closed"
        queue_depth = 1
        [run]
        verify = true
        [[ftl]]
        name = "{stack}"
        "#
    );
    results(&text).runs.remove(0)
}

fn facts(run: &RunResult) -> &BitErrorFacts {
    run.bit_errors.as_ref().expect("modelled")
}

/// TLC after 1000 erases, that is refreshed after some 36 reads of a page.
const DISTURBED: &str = "bit_errors = \"tlc-72l\"\ninitial_erases = 1000\necc_limit = 0.00256";

#[test]
fn a_device_that_is_only_read_has_a_life() {
    for stack in ["page", "dftl+static", "fast"] {
        let run = run(30_000, DISTURBED, stack);
        let facts = facts(&run);
        assert_eq!((run.host_written_bytes, run.write_amplification), (0, None), "{stack}");
        assert!(operations(&run, "refresh", "program") > 0, "{stack}: {:?}", run.operations);
        assert!(
            operations(&run, "refresh", "erase") >= facts.refreshed_blocks && facts.refreshed_blocks > 5,
            "{stack}"
        );
        assert_eq!((facts.most_retries, facts.uncorrectable_reads), (0, 0), "{stack}: refreshed before it needs any");
        let life = facts.read_life.expect("blocks were erased");
        assert!(life.read_bytes > 30_000 * 4096 && life.years.is_some_and(f64::is_finite), "{stack}: {life:?}");
    }
    let without = run(2_000, "", "page");
    assert_eq!((&without.bit_errors, without.erases.total), (&None, 0));
    assert_eq!(operations(&without, "refresh", "program"), 0);
}

#[test]
fn a_read_life_is_what_was_read_times_what_is_left() {
    let run = run(30_000, DISTURBED, "page");
    let (limit, mean) = (f64::from(run.endurance.limit), run.erases.mean);
    assert_eq!(run.endurance.limit, 99_000, "100 000 less those that they had before");
    // Filling erased nothing.
    let expected = 30_000.0 * 4096.0 * (1.0 + (limit - mean) / mean);
    let life = facts(&run).read_life.expect("blocks were erased");
    assert!((life.read_bytes as f64 / expected - 1.0).abs() < 1e-9, "{life:?}");
    let years = expected / (4096.0 * 1000.0 * 86_400.0 * 365.0);
    assert!((life.years.expect("arrivals") / years - 1.0).abs() < 1e-3, "{life:?}, not {years}");
}

/// A year on the shelf at 1000 erases is a rate of 0.00603, and two retries correct 0.00781.
#[test]
fn old_data_cost_retries() {
    let shelf = "bit_errors = \"tlc-72l\"\ninitial_erases = 1000\nretention_days = 365\nread_retry_latency = \"5us\"";
    for (limit, refresh, retries, mean_ns) in
        [(0.0061, 0.0, 0, 45_000.0), (0.005, 0.0, 1, 95_000.0), (0.004, 0.0, 2, 145_000.0)]
    {
        let run = run(500, &format!("{shelf}\necc_limit = {limit}\nrefresh_at = {refresh}"), "page");
        let facts = facts(&run);
        let expected: Vec<u64> = (0..=retries).map(|n| if n == retries { 500 } else { 0 }).collect();
        assert_eq!((&facts.reads_by_retries, facts.most_retries), (&expected, retries), "{limit}");
        assert_eq!((facts.mean_retries, run.response_ns.read.mean), (Some(retries as f64), Some(mean_ns)), "{limit}");
        assert_eq!((facts.refreshed_blocks, facts.read_life), (0, None));
    }
    // All that the host filled, 716 pages in 45 blocks, moves, and is old when it is read for that.
    let refreshed = run(500, &format!("{shelf}\necc_limit = 0.005"), "page");
    let facts = facts(&refreshed);
    assert_eq!((facts.refreshed_blocks, operations(&refreshed, "refresh", "program")), (45, 716));
    let by_host = facts.reads_by_retries[1] - 716;
    assert!((1..100).contains(&by_host), "{by_host} of 500 reads came before their block was refreshed");
}

#[test]
fn data_age_in_a_run_as_fast_as_asked() {
    let keys = |speedup: u32| {
        format!(
            "bit_errors = \"tlc-72l\"\ninitial_erases = 1000\necc_limit = 0.003\nrefresh_at = 0\nretention_speedup = {speedup}"
        )
    };
    let retried = |speedup| {
        let run = run(500, &keys(speedup), "page");
        facts(&run).reads_by_retries.iter().skip(1).sum::<u64>()
    };
    // 500 reads of 45 µs are 0.0225 s, with a speed-up of 10⁹ 260 days.
    assert_eq!(retried(1), 0);
    assert!((100..500).contains(&retried(1_000_000_000)));
}

#[test]
fn without_bit_errors_nothing_is_said_of_them() {
    let plain = run(500, "", "page");
    let none = run(500, "bit_errors = \"none\"", "page");
    assert_eq!((&plain.event_hash, plain.simulated_ns), (&none.event_hash, none.simulated_ns));
    let text = serde_json::to_string(&none.operations).expect("text");
    assert!(!text.contains("refresh") && none.bit_errors.is_none());
}

/// Each write reads the unit that it changes a part of. Three of four wait in the buffer then.
#[test]
fn what_waits_in_the_buffer_is_not_tried_again() {
    let text = r#"
        [device]
        channels = 1
        dies_per_channel = 1
        blocks_per_plane = 64
        pages_per_block = 16
        spare = 0.3
        page_size = "64KiB"
        mapping_unit = "16KiB"
        bit_errors = "tlc-72l"
        initial_erases = 1000
        ecc_limit = 0.001
        refresh_at = 0
        [workload.generator]
        requests = 64
        span = "16KiB"
        write_share = 1.0
        sizes = "4KiB"
        [host]
        loop = "closed"
        queue_depth = 1
        [run]
        precondition = "none"
        [[ftl]]
        name = "page"
        "#;
    let run = results(text).runs.remove(0);
    assert_eq!(operations(&run, "read_modify_write", "read"), 63);
    let in_flash = &facts(&run).reads_by_retries;
    assert_eq!((in_flash.iter().sum::<u64>(), in_flash[0]), (15, 0), "no block is as good as the limit");
}

/// Refreshing wears blocks out, and ends when no spare is left. Nobody is promised a life then.
#[test]
fn refreshing_ends_with_the_last_spare() {
    let run = run(400_000, &format!("{DISTURBED}\nendurance = 1004"), "page");
    let facts = facts(&run);
    assert!(facts.is_refreshing_over && facts.read_life.is_none() && facts.refreshed_blocks > 100, "{facts:?}");
    assert_eq!(run.spares.left, 0);
}
