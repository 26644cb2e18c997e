//! Devices whose blocks wear out: the run ends with the scheme's own words and keeps what was
//! measured.

use ftl::registry;
use sim::RunResult;

use super::results;

/// Every scheme on a device of 64 blocks of 16 pages, under the oracle. One that keeps data in RAM
/// has less of that than the device, which it would spare else.
fn worn(endurance: u32, requests: u32) -> Vec<RunResult> {
    let table = |entry: &ftl::Entry| {
        let keeps_data = entry.parameters.iter().any(|parameter| parameter.name == "ram");
        format!("[[ftl]]\nname = \"{}\"\n{}", entry.name, if keeps_data { "ram = \"64KiB\"\n" } else { "" })
    };
    let schemes: String = registry::mappings().into_iter().map(table).collect();
    let text = format!(
        r#"
            seed = 5
            [device]
            channels = 2
            dies_per_channel = 1
            planes_per_die = 1
            blocks_per_plane = 32
            pages_per_block = 16
            spare = 0.3
            bad_blocks = 0.02
            endurance = {endurance}
            [workload.generator]
            requests = {requests}
            span = "1MiB"
            trim_share = 0.02
            [host]
            loop = "closed"
            [run]
            verify = true
            samples = 20
            {schemes}
        "#
    );
    results(&text).runs
}

#[test]
fn every_scheme_ends_read_only_and_keeps_what_was_measured() {
    for run in worn(6, 200_000) {
        let label = &run.label;
        let end = run.end_of_life.unwrap_or_else(|| panic!("{label} outlived {} requests", run.requests.write));
        let total = run.spares.total;
        let words = format!("device is read-only: {total} of {total} spare blocks used");
        assert!(end.message.contains(&words) && total > 0, "{label}: {}", end.message);
        assert_eq!(run.spares.left, 0, "{label}");
        assert_eq!(end.host_written_bytes, run.host_written_bytes, "{label}");
        assert_eq!(run.wear_map.failed.iter().sum::<u32>() as u64, run.spares.grown_bad_blocks, "{label}");
        assert!(run.spares.grown_bad_blocks > 0, "{label}");
        let served = run.requests.read + run.requests.write + run.requests.trim + run.requests.flush;
        assert_eq!(served, end.request - 1, "{label}");
        assert_eq!(run.series.request.last(), Some(&served), "{label}");
        assert!(run.response_ns.all.mean.is_some() && run.erases.max == 6, "{label}: {:?}", run.erases);
        let proved = Some("this run, until the device was read-only; no cut");
        assert_eq!(run.proved, proved, "{label}: what was written can still be read");
        // Even a scheme that rewrites a block for each page gets that much out of the spares alone.
        assert!(run.host_pages_written > u64::from(6 * total), "{label}: {}", run.host_pages_written);
    }
}

#[test]
fn a_device_that_lasts_has_all_its_spares() {
    for run in worn(100_000, 3_000) {
        assert_eq!(run.end_of_life, None, "{}", run.label);
        assert_eq!((run.spares.left, run.spares.grown_bad_blocks), (run.spares.total, 0), "{}", run.label);
        assert_eq!(run.requests.read + run.requests.write + run.requests.trim, 3_000, "{}", run.label);
    }
}

/// More endurance is more life, since wear is the only thing that ends it here.
#[test]
fn twice_the_endurance_is_about_twice_the_life() {
    for (run, longer) in worn(8, 200_000).into_iter().zip(worn(16, 200_000)) {
        let ratio = longer.host_pages_written as f64 / run.host_pages_written as f64;
        assert!((1.5..2.6).contains(&ratio), "{}: {ratio}", run.label);
    }
}
