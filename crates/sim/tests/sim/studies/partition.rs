//! adapt's division of its log: it follows a workload in phases, and is about as good as the best
//! that could have been chosen beforehand.
//!
//! With `FTLKIT_LONG` set, all look-alikes of Wang 2013's traces and more fixed areas are tried,
//! and the table of `docs/log-buffers.md` is printed: `FTLKIT_LONG=1 cargo test -p ftlkit-sim
//! --test sim studies::partition -- --nocapture`.

use sim::RunResult;

use super::results;

/// The device of Wang 2013 5.6.1, one operation after another.
const DEVICE: &str = "preset = \"slc-small\"\nchannels = 1\ndies_per_channel = 1\nplanes_per_die = 1\npages_per_block = 64\npage_size = \"2KiB\"\n\
    read_latency = \"130900ns\"\nprogram_latency = \"405900ns\"\nerase_latency = \"2ms\"\ntransfer_latency = \"0ns\"\npricing = \"serial\"";

fn run(device: &str, workload: &str, stacks: &[String]) -> Vec<RunResult> {
    let tables: Vec<_> = stacks.iter().map(|stack| format!("[[ftl]]\nname = \"{stack}\"\n")).collect();
    let stacks = tables.concat();
    let text = format!(
        "seed = 1\n[device]\n{DEVICE}\n{device}\n[workload]\n{workload}\n[host]\nloop = \"closed\"\nqueue_depth = 1\n\
         [run]\nprecondition = \"fill\"\nsamples = 60\nwaiting = false\n{stacks}"
    );
    results(&text).runs
}

/// Seconds of flash operations.
fn seconds(run: &RunResult) -> f64 {
    run.operations.iter().map(|operation| operation.time_ns.expect("it has a clock") as f64 / 1e9).sum()
}

/// Areas that stay as they are, with either threshold.
fn fixed(low: &[u32], high: &[u32]) -> Vec<String> {
    let area = |blocks: &u32| format!("adapt:partition=fixed:sequential_blocks={blocks}");
    low.iter().map(area).chain(high.iter().map(|blocks| area(blocks) + ":threshold_low=64KiB")).collect()
}

#[test]
fn the_partition_is_within_five_percent_of_the_best_fixed_one_on_look_alikes() {
    let is_long = std::env::var_os("FTLKIT_LONG").is_some();
    let presets = [
        "spc1-cold",
        "tpcc",
        "hm_0-cold",
        "mds_0-cold",
        "prn_0-cold",
        "prxy_0-cold",
        "rsrch_0-cold",
        "stg_0-cold",
        "ts_0-cold",
        "web_0-cold",
    ];
    let (presets, requests) = if is_long { (&presets[..], 500_000) } else { (&presets[3..4], 20_000) };
    let areas = if is_long { fixed(&[0, 1, 2, 4, 8, 16, 30], &[1, 4, 16]) } else { fixed(&[0, 2, 16], &[]) };
    for preset in presets {
        let requests = if *preset == "tpcc" { 2 * requests } else { requests };
        let workload = format!("preset = \"{preset}\"\nrequests = {requests}");
        let stacks: Vec<_> = ["faster", "adapt"].map(String::from).into_iter().chain(areas.clone()).collect();
        let times: Vec<f64> =
            run("capacity = \"auto\"\nspare = 0.0298", &workload, &stacks).iter().map(seconds).collect();
        let (faster, adapt, fixed) = (times[0], times[1], &times[2..]);
        let best = fixed.iter().copied().fold(f64::INFINITY, f64::min);
        let worst = fixed.iter().copied().fold(0.0, f64::max);
        let which = fixed.iter().position(|&time| time <= best).map_or("", |at| &areas[at]);
        println!(
            "{preset}: adapt {:.3}, best fixed {:.3} ({which}), worst {:.3} of faster's {faster:.0} s",
            adapt / faster,
            best / faster,
            worst / faster
        );
        assert!(adapt < 1.05 * best, "{preset}: adapt takes {adapt:.1} s, {which} {best:.1} s");
        assert!(adapt < worst, "{preset}: every fixed area is better");
    }
}

/// Small random writes, then long ones in four streams, and again: what the example
/// `examples/phases.toml` shows, smaller.
#[test]
fn the_partition_follows_a_workload_in_phases() {
    let streams: Vec<_> = (0..4)
        .map(|i| {
            let region = [f64::from(i) / 4.0, f64::from(i + 1) / 4.0];
            format!("{{ weight = 1, pattern = \"sequential\", region = {region:?} }}")
        })
        .collect();
    let workload = format!(
        "generator = {{ requests = 36_000, span = \"64MiB\", unit = \"2KiB\", write_share = 1.0, pattern = {{ phases = [\
         {{ requests = 12_000, pattern = {{ zipf = {{ theta = 0.9, extent = \"64KiB\" }} }}, sizes = \"2KiB\" }},\
         {{ requests = 6_000, pattern = {{ mixed = [{}] }}, sizes = \"32KiB\" }} ] }} }}",
        streams.join(", ")
    );
    let stack = "adapt:log_blocks=40:sequential_share=0.2:interval=400".to_owned();
    let runs = run("capacity = \"64MiB\"\nspare = 0.1", &workload, &[stack]);
    let series = &runs[0].series;
    let share_at = |request: u64| {
        let at = series.request.partition_point(|&done| done < request).min(series.request.len() - 1);
        series.gauges["sequential_log_share"][at] as u32
    };
    let shares = [11_000, 17_500, 29_000, 35_500].map(share_at);
    assert_eq!(shares, [1, 8, 1, 8], "{:?}", series.gauges["sequential_log_share"]);
}
