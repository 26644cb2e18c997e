//! RAM that data and map share: what moves the border is no worse than what leaves it in the
//! middle.
//!
//! Recorded traces are tried with RAM in which the map just fits with the border in the middle, too
//! (224 to 256 KiB). There hits of a map that is used in turns fall off a cliff if the border moves
//! while the map still grows.
//!
//! The device has half of its pages to spare. With the preset's 6 % the mean response is mostly the
//! copies of collections, and these depend on where the last one stopped: on a window of `hm_0` it
//! goes up and down by 4 % from 216 to 256 KiB with the border in the middle, while hits only rise.

use super::levellers::{is_long, recorded};
use super::{results, simulated_ns};

/// One of the long form of a test, which `FTLKIT_LONG` asks for, or of the usual one.
fn by_form<T>(long: T, short: T) -> T {
    if is_long() { long } else { short }
}

/// How much longer requests may take. A step is judged by the interval before, so that some steps
/// are mistakes, which the next intervals take back.
const BOUND: f64 = 1.01;

/// Mean response of aps and of aps with its border in the middle, in µs.
fn moving_and_halves_us(ram: &str, device: &str, workload: &str, precondition: &str) -> [f64; 2] {
    let text = format!(
        r#"
        [device]
        preset = "treeftl"
        {device}
        [workload]
        {workload}
        [host]
        loop = "closed"
        queue_depth = 1
        [run]
        precondition = "{precondition}"
        samples = 2
        waiting = false
        [[ftl]]
        name = "aps"
        ram = "{ram}"
        [[ftl]]
        name = "aps"
        ram = "{ram}"
        step = "0"
        "#
    );
    let runs = results(&text).runs;
    [0, 1].map(|at| runs[at].response_ns.all.mean.unwrap_or(0.0) / 1000.0)
}

/// Holds aps to the same with its border in the middle, by the time that requests take.
fn assert_halves_are_not_better(what: &str, ram: &str, workload: &str) {
    let [moving, halves] = moving_and_halves_us(ram, "capacity = \"auto\"\nspare = 0.5", workload, "workload");
    println!("{what}, {ram}: {moving:.2} µs, halves {halves:.2}");
    assert!(moving <= BOUND * halves, "{what}, {ram}: {moving:.2} µs, with the border in the middle {halves:.2}");
}

/// The hot pages and some cold ones need a bit more than half of the RAM. A step of 1 % would be
/// less than a page, of which no page comes back as a ghost.
#[test]
fn aps_gives_data_more_than_half_of_little_ram() {
    let workload = r#"
        [workload.generator]
        requests = 12_000
        span = "32MiB"
        unit = "2KiB"
        write_share = 1.0
        sizes = "2KiB"
        pattern = { hot_cold = { hot_data_share = 0.001, hot_request_share = 0.9 } }
    "#;
    let [moving, halves] = moving_and_halves_us("64KiB", "capacity = \"32MiB\"\nspare = 0.2", workload, "fill");
    println!("a hot set of half the RAM, 64KiB: {moving:.2} µs, halves {halves:.2}");
    assert!(moving < 0.7 * halves, "{moving:.2} µs, with the border in the middle {halves:.2}");
}

#[test]
fn aps_is_not_below_its_fixed_halves_on_look_alikes() {
    let presets = ["hm_0", "tpcc", "spc1", "mds_0", "prn_0", "prxy_0", "rsrch_0", "stg_0", "ts_0", "web_0"];
    let (presets, sizes) = by_form((&presets[..], &["256KiB", "1MiB", "4MiB"][..]), (&presets[..2], &["1MiB"][..]));
    for preset in presets {
        for ram in sizes {
            let workload = format!("preset = \"{preset}\"\nspan = \"256MiB\"\nrequests = 60_000");
            assert_halves_are_not_better(preset, ram, &workload);
        }
    }
}

#[test]
fn aps_is_not_below_its_fixed_halves_on_recorded_traces() {
    let Some(folder) = recorded() else { return };
    let windows = "columns = \"time:ms, device, offset:B, size:B, op:1=read|0=write\"";
    for (trace, keys) in [
        ("msr-hm0-window-105.trace", windows),
        ("msr-hm0-window-1370.trace", windows),
        ("cloudPhysicsIO.vscsi", "align_offset = 512"),
        ("disksim-valid-ascii.trace", "trace_device = \"stacked\""),
        ("financial1_first10k.ssdsim.ascii", "trace_device = \"stacked\""),
    ] {
        let sizes = ["232KiB", "192KiB", "224KiB", "256KiB", "280KiB", "1MiB", "4MiB"];
        for ram in by_form(&sizes[..], &sizes[..1]) {
            let workload = format!("trace = {:?}\n{keys}\naddresses = \"dense\"", folder.join(trace));
            assert_halves_are_not_better(trace, ram, &workload);
        }
    }
}

#[test]
fn writes_are_no_faster_than_the_flash_that_makes_room_for_them() {
    let text = r#"
        seed = 1
        [device]
        preset = "slc-small"
        capacity = "128MiB"
        [workload]
        generator = { requests = 4000, span = "64MiB", pattern = "uniform", write_share = 1.0, sizes = "4KiB" }
        [host]
        loop = "closed"
        queue_depth = 1
        [run]
        precondition = "fill"
        waiting = false
        [[ftl]]
        name = "treeftl"
        ram = "8KiB"
        load_before_write = false
        write_misses = "background"
        [[ftl]]
        name = "jtl"
        ram = "8KiB"
        load_before_write = false
        write_misses = "background"
        [[ftl]]
        name = "aps"
        ram = "8KiB"
        write_misses = "background"
    "#;
    for run in results(text).runs {
        // All that was written but two pages has been programmed when the last write is answered,
        // and no more than all dies at once can do.
        let programs = run.operations.iter().filter(|operation| (operation.cause, operation.op) == ("host", "program"));
        let programs: u64 = programs.map(|operation| operation.time_ns.expect("it has a clock")).sum();
        let dies = 4;
        assert!(programs > 0 && simulated_ns(&run) * dies > programs * 9 / 10, "{}: {run:?}", run.label);
    }
}
