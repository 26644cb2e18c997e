//! No leveller leaves blocks less evenly worn than no levelling does: on the recorded traces, cut
//! to a window that is repeated, and on all look-alikes, whatever the length.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sim::RunResult;

use super::results;

/// Every leveller that works over a mapping with a log; `none` is the first.
const LEVELLERS: [&str; 9] = ["none", "dynamic", "static", "bet", "lazy", "dual-pool", "rejuvenator", "saw", "owl"];

/// How far σ may be above that of no levelling for chance alone: which of two blocks a request
/// wears shifts with every allocation.
const NOISE: f64 = 1.03;

/// The folder of recorded traces, where there is one.
pub(super) fn recorded() -> Option<PathBuf> {
    let folder = std::env::var_os("FTLKIT_TRACES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"), PathBuf::from);
    let is_there = folder.join("msr-hm0-window-105.trace").exists();
    if !is_there {
        println!("skipped: no traces in {}", folder.display());
    }
    is_there.then_some(folder)
}

/// σ of the erase counts of each leveller over FAST with 3 % of log blocks.
fn sigmas(workload: &str, spare: f64) -> Vec<RunResult> {
    let stacks = LEVELLERS.map(|wear| format!("[[ftl]]\nname = \"fast+{wear}\"\nlabel = \"{wear}\"\n")).concat();
    let text = format!(
        r#"
        [device]
        preset = "slc-small"
        capacity = "auto"
        channels = 1
        dies_per_channel = 1
        planes_per_die = 1
        pages_per_block = 64
        page_size = "2KiB"
        spare = {spare}
        pricing = "serial"
        [workload]
        {workload}
        [host]
        loop = "closed"
        queue_depth = 1
        [run]
        precondition = "none"
        samples = 2
        waiting = false
        {stacks}
        "#
    );
    results(&text).runs
}

/// Holds each leveller to no levelling. OWL is held to it from two erases a block on: by its
/// paper's rule data that rank cold get the more worn of the free blocks from the first merge on,
/// and on shorter runs σ is up to 16 % above.
fn assert_none_is_worse(what: &str, runs: &[RunResult]) {
    let (none, levellers) = runs.split_first().expect("runs");
    for run in levellers {
        println!(
            "{what}, {}: σ {:.2}, none {:.2}, mean {:.1}",
            run.label, run.erases.std, none.erases.std, none.erases.mean
        );
        let is_held = run.label != "owl" || none.erases.mean > 2.0;
        assert!(
            !is_held || run.erases.std <= NOISE * none.erases.std,
            "{what}, {}: σ {:.2} against {:.2} without levelling",
            run.label,
            run.erases.std,
            none.erases.std
        );
    }
}

/// The lines of a window, over and over: time in ms, device, offset and size in bytes, operation.
fn repeated(lines: &str, times: u32) -> String {
    let rows: Vec<Vec<&str>> = lines.lines().map(|line| line.split(' ').collect()).collect();
    let time = |row: &[&str]| row[0].parse::<f64>().expect("a time");
    let length_ms = time(rows.last().expect("rows")) + 1.0;
    let mut text = String::new();
    for round in 0..times {
        for row in &rows {
            let at = time(row) + f64::from(round) * length_ms;
            writeln!(text, "{at:.3} {}", row[1..].join(" ")).expect("text");
        }
    }
    text
}

#[test]
fn no_leveller_is_worse_than_none_on_windows_of_hm_0() {
    let Some(folder) = recorded() else { return };
    for window in ["msr-hm0-window-105.trace", "msr-hm0-window-1370.trace"] {
        let lines = std::fs::read_to_string(folder.join(window)).expect("a window");
        for times in [1, 10, 80] {
            let here = tempfile::tempdir().expect("a folder");
            let path = here.path().join("repeated.trace");
            std::fs::write(&path, repeated(&lines, times)).expect("written");
            let columns = "time:ms, device, offset:B, size:B, op:1=read|0=write";
            let workload = format!("trace = {path:?}\ncolumns = \"{columns}\"\naddresses = \"dense\"");
            assert_none_is_worse(&format!("{window} ×{times}"), &sigmas(&workload, 0.06));
        }
    }
}

#[test]
fn no_leveller_is_worse_than_none_on_other_recorded_traces() {
    let Some(folder) = recorded() else { return };
    for (trace, keys) in [
        ("cloudPhysicsIO.vscsi", "align_offset = 512"),
        ("disksim-valid-ascii.trace", "trace_device = \"stacked\""),
        ("financial1_first10k.ssdsim.ascii", "trace_device = \"stacked\""),
    ] {
        let workload = format!("trace = {:?}\n{keys}\naddresses = \"dense\"", folder.join(trace));
        assert_none_is_worse(trace, &sigmas(&workload, 0.06));
    }
}

#[test]
fn no_leveller_is_worse_than_none_on_look_alikes() {
    for preset in ["spc1", "tpcc", "hm_0", "mds_0", "prn_0", "prxy_0", "rsrch_0", "stg_0", "ts_0", "web_0"] {
        for requests in [20_000, 200_000] {
            let workload = format!("preset = \"{preset}\"\nspan = \"256MiB\"\nrequests = {requests}");
            assert_none_is_worse(&format!("{preset}, {requests}"), &sigmas(&workload, 0.06));
        }
    }
}
