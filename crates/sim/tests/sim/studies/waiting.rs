//! What requests waited for, how much of the device a run used, and requests that are not measured.

use sim::{Results, RunResult};

use super::{error, load, results, simulated_ns};

/// Five schemes of five kinds on a small device; `host` and `gap` decide how busy it is.
fn text(gap: &str, more: &str) -> String {
    format!(
        "[device]\nchannels = 2\ndies_per_channel = 2\nblocks_per_plane = 64\nspare = 0.2\n{more}\n[workload.generator]\nrequests = 6000\nspan = \
         \"40MiB\"\npattern = {{ zipf = {{ theta = 0.9 }} }}\nwrite_share = 0.6\nsizes = {{ uniform = {{ min = \"1KiB\", max = \"24KiB\", step = \
         \"1KiB\" }} }}\narrivals = {{ poisson = {{ mean_gap = \"{gap}\" }} }}\n[run]\nprecondition = \"fill\"\n[[ftl]]\nname = \"page\"\n[[ftl]]\n\
         name = \"dftl\"\ncmt = \"8KiB\"\nram_read_delay = \"1us\"\n[[ftl]]\nname = \"fast\"\n[[ftl]]\nname = \"block\"\n[[ftl]]\nname = \"bdb\""
    )
}

/// The parts of a run's time add up to its mean response.
fn adds_up(run: &RunResult) {
    let waiting = run.waiting_ns.as_ref().expect("always on");
    let service = run.service_ns.as_ref().expect("always on");
    let sum: f64 = waiting.values().chain(service.values()).sum();
    let mean = run.response_ns.all.mean.expect("requests");
    assert!((sum / mean - 1.0).abs() < 1e-9, "{}: {sum} and {mean}; {waiting:?} {service:?}", run.label);
    let bus_waiting = run.bus_waiting_ns.as_ref().expect("always on");
    assert!(
        bus_waiting.iter().all(|(cause, ns)| *ns <= waiting[cause]),
        "{}: {bus_waiting:?} of {waiting:?}",
        run.label
    );
}

fn run<'a>(results: &'a Results, label: &str) -> &'a RunResult {
    results.runs.iter().find(|run| run.label == label).expect("it ran")
}

#[test]
fn waiting_and_service_add_up_to_the_response() {
    for (gap, more) in [
        ("20ms", ""),
        ("3ms", ""),
        ("100us", ""),
        ("3ms", "pricing = \"serial\""),
        ("3ms", "transfer_latency = \"300us\""),
        ("3ms", "suspend = \"both\"\nsuspend_latency = \"20us\"\nresume_latency = \"30us\"\ngc_yields = true"),
        ("3ms", "copy_back = true\nplanes_per_die = 2\nmulti_plane = true\ngc_channels = 1\nreads_first = true"),
        ("3ms", "cache_read = true\ncache_program = true"),
        ("100us", "cache_read = true\ncache_program = true\ntransfer_latency = \"300us\""),
        (
            "3ms",
            "cache_read = true\ncache_program = true\nplanes_per_die = 2\nmulti_plane = true\ncopy_back = true\nsuspend = \"both\"",
        ),
        // Pages of two planes are sensed in different times, so the first waits for the other.
        (
            "3ms",
            "cell = \"tlc\"\nread_latency = [\"60us\", \"30us\", \"900us\"]\ncache_read = true\nplanes_per_die = 2\nmulti_plane = true",
        ),
    ] {
        let outcome = results(&text(gap, more));
        outcome.runs.iter().for_each(adds_up);
        let closed = text(gap, more).replace("[run]", "[host]\nloop = \"closed\"\nqueue_depth = 8\n[run]");
        results(&closed).runs.iter().for_each(adds_up);
    }
}

#[test]
fn requests_wait_for_what_the_scheme_does() {
    let outcome = results(&text("3ms", ""));
    let waited = |label: &str, cause: &str| {
        run(&outcome, label).waiting_ns.as_ref().expect("on").get(cause).copied().unwrap_or(0.0)
    };
    let served = |label: &str, cause: &str| {
        run(&outcome, label).service_ns.as_ref().expect("on").get(cause).copied().unwrap_or(0.0)
    };
    assert!(waited("page", "collection") > 0.0 && waited("page", "mapping") == 0.0 && served("page", "merge") == 0.0);
    assert!(waited("dftl", "mapping") > 0.0 && served("dftl", "mapping") > 0.0);
    assert!(served("dftl", "controller") > 0.0 && served("page", "controller") == 0.0);
    assert!(served("fast", "merge") > 0.0 && waited("fast", "merge") > 0.0 && waited("fast", "collection") == 0.0);
    let off = results(&text("3ms", "").replace("[run]", "[run]\nwaiting = false"));
    for (on, off) in outcome.runs.iter().zip(&off.runs) {
        assert_eq!(on.event_hash, off.event_hash, "watching changes nothing");
        assert!(off.waiting_ns.is_none() && off.service_ns.is_none());
    }
}

#[test]
fn waiting_for_a_bus_is_told_apart_from_waiting_for_a_die() {
    // Reads alone, four at a time on four dies: they wait for dies, and for the bus as soon as a
    // page takes longer to move than a die shares of it.
    let of = |dies: u32, transfer: &str| {
        let text = format!(
            "[device]\nchannels = 1\ndies_per_channel = {dies}\nblocks_per_plane = 64\ntransfer_latency = \"{transfer}\"\n\
             [workload.generator]\nrequests = 2000\nspan = \"8MiB\"\nwrite_share = 0.0\nsizes = \"2KiB\"\n[host]\nloop = \"closed\"\n\
             queue_depth = 4\n[run]\nprecondition = \"fill\"\n[[ftl]]\nname = \"page\""
        );
        let outcome = results(&text);
        let host = |times: &Option<_>| -> f64 {
            let times: &std::collections::BTreeMap<&str, f64> = times.as_ref().expect("on");
            times.get("host").copied().unwrap_or(0.0)
        };
        (host(&outcome.runs[0].waiting_ns), host(&outcome.runs[0].bus_waiting_ns))
    };
    let (one_die, no_bus) = of(1, "20us");
    assert!(one_die > 0.0 && no_bus == 0.0, "{one_die} {no_bus}");
    let ((_, fast), (all, slow)) = (of(4, "1us"), of(4, "100us"));
    assert!(fast < 1000.0 && slow > 50_000.0 && slow < all, "{fast} {slow} of {all}");
}

/// Whether the device bears arrivals that come this many times faster.
fn bears(text: &str, speedup: f64) -> bool {
    let outcome = results(
        &text.replace("[workload.generator]", &format!("[workload]\nspeedup = {speedup}\n[workload.generator]")),
    );
    !load(&outcome.runs[0]).is_overloaded
}

#[test]
fn a_bisection_finds_the_bottlenecks_rate_or_what_waits_for_merges() {
    // Writes to a log block wait for the merge in front of them in that block, while dies are free.
    for (name, most_ratio) in [("page", 2.0), ("dftl", 2.0), ("fast", 3.0)] {
        let text = text("4ms", "");
        let (head, _) = text.split_once("[[ftl]]").expect("a scheme");
        let text = format!("{head}[[ftl]]\nname = \"{name}\"").replace("requests = 6000", "requests = 20000");
        let outcome = results(&text);
        let load = load(&outcome.runs[0]);
        let (most, offered) = (load.bottleneck_iops.expect("busy"), load.offered_iops.expect("open"));
        let (mut low, mut high) = (0.25 * most / offered, 2.0 * most / offered);
        assert!(bears(&text, low) && !bears(&text, high), "{name}: {load:?}");
        for _ in 0..5 {
            let middle = (low * high).sqrt();
            *if bears(&text, middle) { &mut low } else { &mut high } = middle;
        }
        let ratio = most / (offered * (low * high).sqrt());
        assert!((0.8..most_ratio).contains(&ratio), "{name}: {ratio:.3} times what the bisection finds");
    }
}

#[test]
fn overload_is_noticed_and_light_load_is_not() {
    let heavy = results(&text("200us", ""));
    for run in &heavy.runs {
        let load = load(run);
        assert!(load.is_overloaded, "{}: {load:?}", run.label);
        assert!(load.offered_iops > load.bottleneck_iops && load.outlasts_arrivals_ns.expect("open") > 0);
    }
    let light = results(&text("100ms", ""));
    for run in &light.runs {
        assert!(
            !load(run).is_overloaded && load(run).utilisation_max.expect("busy") < 0.5,
            "{}: {:?}",
            run.label,
            run.load
        );
    }
    let closed = results(&text("1ms", "").replace("[run]", "[host]\nloop = \"closed\"\n[run]"));
    for run in &closed.runs {
        let load = load(run);
        assert!(!load.is_overloaded && load.offered_iops.is_none() && load.backlog_ns.is_none(), "{load:?}");
        // The last collections end after the last response.
        let ratio = run.iops.expect("time passed") / load.bottleneck_iops.expect("busy");
        assert!(ratio < 1.01, "{}: no more than the bound, {ratio}", run.label);
    }
}

#[test]
fn what_is_skipped_is_served_and_not_measured() {
    let whole = results(&text("3ms", ""));
    let rest = results(&text("3ms", "").replace("[run]", "[run]\nskip = 2000"));
    for (whole, rest) in whole.runs.iter().zip(&rest.runs) {
        assert_eq!(whole.event_hash, rest.event_hash, "the same is served");
        assert_eq!((whole.skipped_requests, rest.skipped_requests), (0, 2000));
        assert_eq!((whole.response_ns.all.count, rest.response_ns.all.count), (6000, 4000));
        assert!(rest.host_pages_written < whole.host_pages_written && rest.erases.total < whole.erases.total);
        let share = simulated_ns(rest) as f64 / simulated_ns(whole) as f64;
        assert!((0.5..0.95).contains(&share), "{share}");
        assert_eq!(rest.series.request.last(), Some(&4000));
        adds_up(rest);
    }
    let refusal = error(&text("3ms", "").replace("[run]", "[run]\nskip = 6000")).to_string();
    assert!(refusal.contains("run.skip = 6000") && refusal.contains("none would be left"), "{refusal}");
}

#[test]
fn a_log_has_a_row_for_every_request_of_every_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let study = super::study(&text("3ms", ""));
    let run = |name: &str, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let path = folder.path().join(name);
        let outcome = pool.install(|| sim::run_study_logged(&study, &sim::Control::new(), Some(&path))).expect("runs");
        (outcome, std::fs::read(path).expect("written"))
    };
    let (found, bytes) = run("one.parquet", 1);
    assert_eq!(bytes, run("two.parquet", 2).1, "the same bytes whatever the number of threads");
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 2, "nothing else is left");
    let file = std::fs::File::open(folder.path().join("one.parquet")).expect("there");
    let reader = parquet::file::reader::SerializedFileReader::new(file).expect("Parquet");
    let mut sums: std::collections::BTreeMap<(String, String), u64> = std::collections::BTreeMap::new();
    for row in reader {
        let row = row.expect("whole");
        let columns: std::collections::BTreeMap<_, _> = row
            .get_column_iter()
            .map(|(name, value)| (name.clone(), value.to_string().trim_matches('"').to_owned()))
            .collect();
        let number = |name: &str| columns[name].parse::<u64>().expect("a number");
        let parts = columns.keys().filter(|name| name.starts_with("waiting_") || name.starts_with("service_"));
        let response = number("end_ns") - number("begin_ns");
        assert_eq!(parts.map(|name| number(name)).sum::<u64>() + number("controller_ns") + number("link_ns"), response);
        for (name, value) in [("rows", 1), ("response", response), ("collections", number("collection_operations"))] {
            *sums.entry((columns["label"].clone(), name.to_owned())).or_default() += value;
        }
    }
    for run in &found.runs {
        let sum = |name: &str| sums[&(run.label.clone(), name.to_owned())];
        assert_eq!(sum("rows"), 6000, "{}", run.label);
        let collections: u64 = run
            .operations
            .iter()
            .filter(|operation| operation.cause == "collection")
            .map(|operation| operation.count)
            .sum();
        // What idle time did before a request is that request's, too.
        assert_eq!(sum("collections"), collections, "{}", run.label);
        let mean = run.response_ns.all.mean.expect("requests");
        assert!((sum("response") as f64 / 6000.0 - mean).abs() < 1e-6 * mean, "{}", run.label);
    }
    let nowhere = folder.path().join("no").join("log.parquet");
    let error = sim::run_study_logged(&study, &sim::Control::new(), Some(&nowhere)).expect_err("no folder");
    assert!(error.to_string().contains("cannot be written"), "{error}");
}
