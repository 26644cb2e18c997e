//! What runs measure, and that nothing but the study decides it.

use std::time::{Duration, Instant};

use sim::{Control, Results, check_study, parse_json, run_study};

use super::{operations, results, study, unnamed};

/// Two schemes under a mixed workload on a small device.
const MIXED: &str = r#"
    seed = 3
    [device]
    channels = 2
    dies_per_channel = 2
    blocks_per_plane = 64
    spare = 0.15
    [workload.generator]
    requests = 20_000
    span = "48MiB"
    pattern = { zipf = { theta = 0.9 } }
    write_share = 0.6
    trim_share = 0.05
    sizes = { uniform = { min = "1KiB", max = "40KiB", step = "1KiB" } }
    arrivals = { poisson = { mean_gap = "2ms" } }
    [run]
    samples = 50
    [[ftl]]
    name = "page"
    [[ftl]]
    name = "dftl"
    cmt = "16KiB"
    [[ftl]]
    name = "fast"
    [[ftl]]
    name = "block"
"#;

/// Results without what may differ between equal runs.
fn timeless(mut results: Results) -> serde_json::Value {
    for run in &mut results.runs {
        (run.wall_s, run.measured_wall_s) = (0.0, 0.0);
    }
    serde_json::to_value(results).expect("plain data")
}

fn with_threads(threads: usize, text: &str) -> Results {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| results(text))
}

#[test]
fn results_depend_on_the_study_alone() {
    let once = timeless(with_threads(1, MIXED));
    assert_eq!(once, timeless(with_threads(1, MIXED)), "run twice");
    assert_eq!(once, timeless(with_threads(2, MIXED)), "on two threads");
    assert_eq!(once, timeless(with_threads(5, MIXED)), "on five threads");
    let other = timeless(results(&MIXED.replace("seed = 3", "seed = 4")));
    for (run, other) in once["runs"].as_array().expect("runs").iter().zip(other["runs"].as_array().expect("runs")) {
        assert_ne!(run["event_hash"], other["event_hash"], "another seed is another workload");
    }
}

#[test]
fn a_workload_too_long_to_keep_is_generated_anew_alike() {
    let limited = |bytes: &str| {
        let run = format!("[host]\nloop = \"closed\"\n[run]\nmemory_limit = \"{bytes}\"");
        let results = timeless(results(&MIXED.replace("[run]", &run)));
        (results["runs"].clone(), results["workload"].clone())
    };
    // A sixteenth of the limit is for the 20 000 requests, of some ten bytes each.
    assert_eq!(limited("2MiB"), limited("1GiB"));
}

#[test]
fn a_verified_run_does_what_a_lean_one_does() {
    let lean = results(MIXED);
    let verified = results(&MIXED.replace("samples = 50", "samples = 50\nverify = true"));
    for (lean, verified) in lean.runs.iter().zip(&verified.runs) {
        assert_eq!((lean.proved, verified.proved), (None, Some("this run, one clean cut after a flush")));
        assert_eq!(lean.event_hash, verified.event_hash, "{}", lean.label);
        assert_eq!(lean.operations, verified.operations);
        assert_eq!(lean.response_ns, verified.response_ns);
    }
}

#[test]
fn totals_meet_from_every_side() {
    let results = results(MIXED);
    for run in &results.runs {
        let total = |op: &str| {
            run.operations.iter().filter(|operation| operation.op == op).map(|operation| operation.count).sum::<u64>()
        };
        assert_eq!(run.host_pages_written, operations(run, "host", "program"), "{}", run.label);
        assert_eq!(run.host_pages_written, results.workload.pages_written);
        assert_eq!(run.host_pages_read, results.workload.pages_read);
        assert_eq!(run.erases.total, total("erase"));
        assert_eq!(run.erases.histogram.iter().map(|bin| bin.2).sum::<u64>(), 4 * 64);
        let on_map: f64 = run.wear_map.mean.iter().map(|mean| mean.expect("no bad block")).sum();
        assert!((on_map - run.erases.total as f64).abs() < 1e-6, "{on_map}");
        assert_eq!((run.wear_map.blocks_per_cell, run.wear_map.max.iter().max()), (1, Some(&Some(run.erases.max))));
        let programs = total("program") as f64;
        let by_bytes = programs * 4096.0 / run.host_written_bytes as f64;
        let by_pages = programs / run.host_pages_written as f64;
        assert_eq!((run.write_amplification, run.page_write_amplification), (Some(by_bytes), Some(by_pages)));
        assert!(by_bytes >= by_pages, "{by_bytes} {by_pages}");
        let requests = run.requests;
        assert_eq!(requests.read + requests.write + requests.trim + requests.flush, 20_000);
        let classes = [&run.response_ns.read, &run.response_ns.write, &run.response_ns.all];
        let [reads, writes, all] =
            classes.map(|class| (class.count, class.mean.expect("some"), class.max.expect("some")));
        assert_eq!((reads.0, writes.0, all.0), (requests.read, requests.write, requests.read + requests.write));
        assert!(
            (reads.0 as f64 * reads.1 + writes.0 as f64 * writes.1 - all.0 as f64 * all.1).abs() < 1.0 * all.0 as f64
        );
        assert_eq!(all.2, reads.2.max(writes.2));
        let busy = run.utilisation.dies.expect("time passed");
        assert!(busy > 0.0 && busy <= 1.0, "{busy}");
    }
    let hits = results.runs[1].mapping_hit_ratio.expect("dftl has a cache");
    assert!(hits > 0.0 && hits < 1.0 && results.runs[0].mapping_hit_ratio.is_none());
}

#[test]
fn partial_pages_are_read_before_they_are_written() {
    let results = results(
        r#"
        [device]
        blocks_per_plane = 64
        [workload.generator]
        requests = 1000
        span = "4MiB"
        unit = "1KiB"
        sizes = "6KiB"
        arrivals = { constant = { gap = "5ms" } }
        [run]
        precondition = "fill"
        verify = true
        [[ftl]]
        name = "page"
        "#,
    );
    // 6 KiB on 4 KiB pages: at an offset of 0 or 2 KiB two pages, one of them in part; at 1 KiB
    // two, both in part; at 3 KiB three, the first and the last in part.
    let (reads, written) =
        (operations(&results.runs[0], "read_modify_write", "read"), results.runs[0].host_pages_written);
    assert_eq!(operations(&results.runs[0], "host", "read"), 0);
    assert_eq!(results.runs[0].host_written_bytes, 1000 * 6 * 1024, "as asked, not as pages");
    assert!((written as f64 / 1000.0 - 2.25).abs() < 0.05, "{written}");
    assert!((reads as f64 / 1000.0 - 1.5).abs() < 0.05, "{reads}");
    let fact = &results.workload.facts[0];
    assert!(fact.contains("1000 of 1000 writes cover pages of 4096 bytes in part"), "{fact}");
    let programs = results.runs[0].operations.iter().filter(|operation| operation.op == "program");
    let programs = programs.map(|operation| operation.count).sum::<u64>() as f64;
    assert!(programs >= written as f64);
    assert_eq!(results.runs[0].write_amplification, Some(programs * 4096.0 / (1000.0 * 6.0 * 1024.0)));
    assert_eq!(results.runs[0].page_write_amplification, Some(programs / written as f64));
    let series = &results.runs[0].series.write_amplification;
    assert!(series.iter().flatten().all(|&factor| factor >= 4.0 / 3.0), "{series:?}");
    // The read (25 + 20 µs) and the program (20 + 200 µs) follow each other; the pages lie on
    // different channels.
    let median = results.runs[0].response_ns.write.p50.expect("writes");
    assert!((265_000..265_300).contains(&median), "{median}");
}

#[test]
fn the_time_series_covers_the_run() {
    let results = results(MIXED);
    for run in &results.runs {
        let series = &run.series;
        assert_eq!(series.request, (1..=50).map(|point| point * 400).collect::<Vec<_>>());
        assert!(series.time_ns.is_sorted() && series.erases.is_sorted());
        assert_eq!((series.time_ns.last(), series.erases.last()), (Some(&run.simulated_ns), Some(&run.erases.total)));
        let last = (series.erases_std.last(), series.erases_max.last(), series.host_written_bytes.last());
        assert_eq!(last, (Some(&run.erases.std), Some(&run.erases.max), Some(&run.host_written_bytes)));
        assert!(series.erases_max.is_sorted() && series.erases_std.iter().any(|&std| std > 0.0));
        for columns in [series.mean_response_ns.len(), series.write_amplification.len(), series.mapping_hit_ratio.len()]
        {
            assert_eq!(columns, 50);
        }
        assert!(series.gauges.values().all(|values| values.len() == 50));
    }
    let few = super::results(&MIXED.replace("20_000", "7"));
    assert_eq!(few.runs[0].series.request, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn distributions_are_cumulative_and_short() {
    for run in &results(MIXED).runs {
        for (class, responses) in [(&run.cdf.all, run.response_ns.all), (&run.cdf.write, run.response_ns.write)] {
            assert!(class.len() <= 300 && class.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1), "{}", run.label);
            assert_eq!(class.last().map(|&(ns, share)| (Some(ns), share)), Some((responses.max, 1.0)));
        }
    }
}

#[test]
fn filling_writes_every_page_once_and_is_not_measured() {
    let text = MIXED.replace("samples = 50", "samples = 50\nprecondition = \"fill\"");
    let results = results(&text);
    let logical_pages = results.device.as_ref().expect("known").logical_bytes / 4096;
    for run in &results.runs {
        let fill = run.precondition.expect("prepared");
        assert_eq!((fill.mode, fill.pages_written, fill.settled), ("fill", logical_pages, None));
        assert!(
            (1.0..1.01).contains(&fill.page_write_amplification),
            "{} {}",
            run.label,
            fill.page_write_amplification
        );
        assert_eq!(operations(run, "precondition", "program"), 0);
        assert_eq!(run.host_pages_written, results.workload.pages_written);
    }
}

#[test]
fn a_steady_device_shows_the_write_amplification_of_theory() {
    let results = results(
        r#"
        [device]
        channels = 1
        dies_per_channel = 1
        blocks_per_plane = 1024
        spare = 0.2
        [workload.generator]
        requests = 200_000
        span = "204MiB"
        [host]
        loop = "closed"
        [run]
        precondition = "steady"
        [[ftl]]
        name = "page"
        streams = "shared"
        "#,
    );
    let run = &results.runs[0];
    let steady = run.precondition.expect("prepared");
    assert_eq!((steady.mode, steady.settled), ("steady", Some(true)));
    // Greedy, b = 64: 2.5993 at ρ = 0.8; one block of 1024 is kept free, so ρ is 0.8008 and A
    // 2.607.
    let a = run.write_amplification.expect("the host writes");
    assert!((a / 2.607 - 1.0).abs() < 0.01, "{a}");
    assert!((steady.page_write_amplification / 2.607 - 1.0).abs() < 0.02, "{steady:?}");
}

/// Where a host page costs many programs, write amplification rises for long. Windows of half the
/// device's programs ended that at 7.7 instead of 8.9 (dftl), and at 9.1 instead of 10.1.
#[test]
fn a_steady_device_stays_as_it_is_where_a_host_page_costs_many_programs() {
    for ftl in ["dftl:cmt=16KiB", "treeftl:ram=19KiB"] {
        let results = results(&format!(
            "[device]\ncapacity = \"115MiB\"\n[workload.generator]\nrequests = 60_000\nsizes = \"4KiB\"\nspan = \"115MiB\"\n\
             pattern = \"uniform\"\nwrite_share = 1.0\n[host]\nloop = \"closed\"\n[run]\nclock = false\n\
             precondition = \"steady\"\n[[ftl]]\nname = \"{ftl}\""
        ));
        let run = &results.runs[0];
        let (before, after) =
            (run.precondition.expect("prepared").page_write_amplification, run.page_write_amplification);
        assert!((before / after.expect("the host writes") - 1.0).abs() < 0.05, "{ftl}: {before}, then {after:?}");
    }
}

#[test]
fn a_device_that_a_buffer_holds_whole_is_prepared_in_a_while_and_not_settled() {
    for ftl in ["page+lru:ram=64MiB", "page+fifo:ram=64MiB", "fast+fab:ram=64MiB", "treeftl:ram=64MiB"] {
        let results = results(&format!(
            r#"
            [device]
            channels = 1
            dies_per_channel = 1
            blocks_per_plane = 128
            spare = 0.25
            [workload.generator]
            requests = 1000
            span = "16MiB"
            [host]
            loop = "closed"
            [run]
            precondition = "steady"
            [[ftl]]
            name = "{ftl}"
            "#
        ));
        let steady = results.runs[0].precondition.expect("prepared");
        assert_eq!((steady.mode, steady.settled), ("steady", Some(false)), "{ftl}");
    }
}

#[test]
fn the_resolved_study_gives_the_same_results() {
    let mut first = unnamed(MIXED);
    let again = parse_json(&first.study.to_string()).expect("a resolved study is a study");
    let mut second = run_study(&again, &Control::new()).expect("and runs");
    for run in first.runs.iter_mut().chain(&mut second.runs) {
        // What the study sets: in a resolved one everything.
        run.stack.clear();
    }
    let named_by = |results: &Results| results.device.as_ref().expect("a device").named_by;
    assert_eq!((named_by(&first), named_by(&second)), ("keys", "preset"), "a resolved study names it");
    first.device.as_mut().expect("a device").named_by = "preset";
    assert_eq!(timeless(first), timeless(second));
    let checked = check_study(&study(MIXED), &Control::new()).expect("valid");
    assert_eq!(check_study(&checked, &Control::new()).expect("valid"), checked);
}

/// Units and programming that a study takes back from its preset are filled in, too.
#[test]
fn a_resolved_study_stays_what_it_is_over_a_preset_with_units() {
    // A unit of a word line waits for no others, so nothing is buffered.
    let word_line = "mapping_unit = \"96KiB\"";
    for keys in ["", word_line, "programming = \"shadow\"", "programming = \"shadow\"\nmapping_unit = \"32KiB\""] {
        let text = format!(
            "[device]\npreset = \"zn540-like\"\nchannels = 1\ndies_per_channel = 1\ncapacity = \"2GiB\"\n{keys}\n[workload]\n\
             preset = \"fin1\"\nrequests = 10\naddresses = \"dense\"\n[[ftl]]\nname = \"page\""
        );
        let checked = check_study(&study(&text), &Control::new()).expect(keys);
        assert_eq!(check_study(&checked, &Control::new()).expect("valid"), checked, "{keys}");
    }
}

#[test]
fn capacity_scales_the_blocks_and_spare_is_kept() {
    for (capacity, spare, blocks) in [("1GiB", "0.1", 1138), ("900MiB", "0.1", 1000), ("10MiB", "0.5", 20)] {
        let text = format!(
            "[device]\ncapacity = \"{capacity}\"\nspare = {spare}\n[workload]\npreset = \"fin1\"\nrequests = 10\naddresses = \"dense\"\n[[ftl]]\nname = \"block\""
        );
        let results = results(&text);
        let device = results.device.expect("known");
        assert_eq!(device.geometry.blocks_per_plane, blocks, "{capacity}");
        assert!(
            device.physical_bytes as f64 * (1.0 - spare.parse::<f64>().expect("a number"))
                >= device.logical_bytes as f64
        );
    }
}

#[test]
fn bad_blocks_are_drawn_by_the_seed_and_left_alone() {
    let text = MIXED.replace("spare = 0.15", "spare = 0.2\nbad_blocks = 0.05").replace("samples = 50", "verify = true");
    let results = results(&text);
    assert_eq!(results.device.as_ref().expect("known").bad_blocks, 13);
    for run in &results.runs {
        assert_eq!(run.erases.histogram.iter().map(|bin| bin.2).sum::<u64>(), 4 * 64 - 13, "{}", run.label);
    }
}

/// A workload that would take minutes.
const ENDLESS: &str = r#"
    [device]
    blocks_per_plane = 64
    [workload.generator]
    requests = 50_000_000
    span = "40MiB"
    [host]
    loop = "closed"
    [[ftl]]
    name = "page"
    [[ftl]]
    name = "dftl"
"#;

#[test]
fn a_cancelled_study_stops_long_before_its_end() {
    let control = Control::new();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run_study(&study(ENDLESS), &control));
        while !control.progress().iter().any(|line| line.label == "workload" && line.done > 0) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let begun = Instant::now();
        control.cancel();
        let results = running.join().expect("no panic").expect("stopping is no error");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert!(results.cancelled && results.runs.is_empty());
    });
}

#[test]
fn a_cancelled_study_keeps_the_runs_that_were_finished() {
    let control = Control::new();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let text = MIXED.replace("requests = 20_000", "requests = 300_000");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| pool.install(|| run_study(&study(&text), &control)));
        let first_is_done = || control.progress().iter().any(|line| line.label == "page" && line.done == 300_000);
        while !first_is_done() {
            std::thread::sleep(Duration::from_millis(1));
        }
        while !control.progress().iter().any(|line| line.label == "dftl" && line.done > 0) {
            std::thread::sleep(Duration::from_millis(1));
        }
        control.cancel();
        let results = running.join().expect("no panic").expect("stopping is no error");
        assert!(results.cancelled);
        assert_eq!(results.runs.iter().map(|run| run.label.as_str()).collect::<Vec<_>>(), ["page"]);
    });
}

#[test]
fn progress_ends_at_its_totals() {
    let control = Control::new();
    let text = MIXED.replace("samples = 50", "precondition = \"fill\"");
    run_study(&study(&text), &control).expect("valid");
    let lines = control.progress();
    let labels: Vec<_> = lines.iter().map(|line| line.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "workload",
            "page (precondition)",
            "page",
            "dftl (precondition)",
            "dftl",
            "fast (precondition)",
            "fast",
            "block (precondition)",
            "block"
        ]
    );
    assert!(lines.iter().all(|line| line.done == line.total && line.total > 0), "{lines:?}");
}

#[test]
fn a_preset_on_a_smaller_span_asks_for_as_much() {
    let text = |span: &str| {
        format!(
            "[device]\ncapacity = \"4GiB\"\n[workload]\npreset = \"fin1\"\nrequests = 20_000\n{span}[[ftl]]\nname = \"page\""
        )
    };
    let (whole, small) = (results(&text("")), results(&text("span = \"256MiB\"\n")));
    assert!(whole.workload.span_bytes > 2 << 30, "{}", whole.workload.span_bytes);
    assert!((128 << 20..=256 << 20).contains(&small.workload.span_bytes), "{}", small.workload.span_bytes);
    let (whole, small) = (whole.workload, small.workload);
    assert_eq!((whole.requests, whole.duration_ns), (small.requests, small.duration_ns));
    for (ours, its) in [(small.bytes, whole.bytes), (small.bytes_written, whole.bytes_written)] {
        assert!((ours as f64 / its as f64 - 1.0).abs() < 0.03, "{ours} against {its}");
    }
}

#[test]
fn every_device_preset_runs_every_scheme_that_its_program_order_allows() {
    for preset in sim::presets() {
        let device = preset.text();
        let fills_in_order = device.program_order == Some(flash::ProgramOrder::Strict);
        let ftls: &[_] = if fills_in_order { &["page", "dftl"] } else { &["page", "dftl", "fast", "block"] };
        // Blocks of today's drives have hundreds of megabytes, which take minutes to fill.
        let is_large = device.pages_per_block.is_some_and(|pages| pages >= 128);
        let blocks = if is_large { "pages_per_block = 24\n" } else { "" };
        let tables = ftls.iter().map(|name| format!("[[ftl]]\nname = \"{name}\"\n")).collect::<Vec<_>>().concat();
        let text = format!(
            "[device]\npreset = \"{}\"\ncapacity = \"auto\"\n{blocks}[workload]\npreset = \"fin1\"\nrequests = 300\naddresses = \"dense\"\n\
             {tables}",
            preset.name
        );
        let results = results(&text);
        assert_eq!(results.runs.len(), ftls.len(), "{}", preset.name);
        assert!(results.runs.iter().all(|run| run.response_ns.write.mean.expect("writes") > 0.0));
    }
}

#[test]
fn who_looks_ahead_is_told_each_call_that_will_come() {
    let orders = ["group", "latte", "page", "opt"].map(|victims| {
        format!("    [[ftl]]\n    name = \"treeftl\"\n    ram = \"256KiB\"\n    victims = \"{victims}\"\n    label = \"{victims}\"\n")
    });
    let before = MIXED.split("[[ftl]]").next().expect("a part before").replace("samples = 50", "verify = true");
    let results = results(&(before + &orders.concat()));
    let hits = |run: &sim::RunResult| run.notes["mapping_hits"] + run.notes["buffer_hits"];
    let lookups = |run: &sim::RunResult| run.notes["mapping_hits"] + run.notes["mapping_misses"];
    let [others @ .., opt] = results.runs.as_slice() else { unreachable!("four runs") };
    assert!(others.iter().all(|run| lookups(run) == lookups(opt)), "all serve the same calls");
    for other in others {
        // Read-modify-writes, requests around RAM and trims are foretold, too, or the best order
        // would be none.
        assert!(hits(other) < hits(opt), "{}: {} hits, opt has {}", other.label, hits(other), hits(opt));
    }
}
