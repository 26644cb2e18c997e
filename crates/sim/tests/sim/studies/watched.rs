//! Latency by class and timelines: they tell what happened, and change nothing of it.

use sim::{FlashTraceFacts, RunResult, TimelineFacts};

use super::{operations, results};

/// Two demand-paged schemes that miss, collect and merge on a small device.
const STUDY: &str = r#"
    [device]
    channels = 2
    dies_per_channel = 2
    blocks_per_plane = 32
    spare = 0.2
    transfer_latency = "40us"
    [workload.generator]
    requests = 4000
    span = "24MiB"
    write_share = 0.5
    arrivals = { poisson = { mean_gap = "400us" } }
    [run]
    precondition = "fill"
    [[ftl]]
    name = "dftl"
    cmt = "4KiB"
    [[ftl]]
    name = "fast"
"#;
const LATENCIES_NS: [(&str, u64); 3] = [("read", 65_000), ("program", 240_000), ("erase", 1_500_000)];
const CLASSES: [&str; 6] = ["host_read", "host_write", "mapping_read", "mapping_write", "collection", "other"];

fn watched(keys: &str) -> String {
    STUDY.replace("[run]", &format!("[run]\n{keys}"))
}

#[test]
fn to_watch_changes_nothing() {
    let plain = results(STUDY);
    let watched = results(&watched("classes = true\ntimeline = \"0ms..1h\"\nflash_trace = \"0ms..1h\""));
    for (plain, watched) in plain.runs.iter().zip(&watched.runs) {
        assert_eq!((plain.classes.is_none(), plain.timeline.is_none()), (true, true));
        assert!(plain.flash_trace.is_none() && watched.flash_trace.is_some());
        assert_eq!(plain.event_hash, watched.event_hash, "{}", plain.label);
        assert_eq!(plain.response_ns, watched.response_ns);
        assert_eq!(plain.operations, watched.operations);
    }
}

#[test]
fn classes_share_out_every_operation_and_all_of_its_time() {
    for run in &results(&watched("classes = true")).runs {
        let classes = run.classes.as_deref().expect("asked for");
        let names: Vec<_> = classes.iter().map(|class| class.name).collect();
        assert!(names.is_sorted_by_key(|name| CLASSES.iter().position(|known| known == name)), "{names:?}");
        let count: u64 = classes.iter().map(|class| class.waiting_ns.count).sum();
        assert_eq!(count, run.operations.iter().map(|operation| operation.count).sum::<u64>());
        for class in classes {
            assert_eq!(class.service_ns.count, class.waiting_ns.count);
            assert_eq!(class.waiting_cdf.last().map(|&(_, share)| share), Some(1.0), "{}", class.name);
        }
        let served = classes.iter().map(|class| class.service_ns.mean.unwrap_or(0.0) * class.service_ns.count as f64);
        let expected: u64 = LATENCIES_NS
            .iter()
            .map(|(op, ns)| {
                ns * run
                    .operations
                    .iter()
                    .filter(|operation| &operation.op == op)
                    .map(|operation| operation.count)
                    .sum::<u64>()
            })
            .sum();
        assert!((served.sum::<f64>() / expected as f64 - 1.0).abs() < 1e-9, "what the operations take alone");
    }
}

#[test]
fn the_classes_are_those_of_the_causes() {
    let runs = results(&watched("classes = true")).runs;
    let count = |run: &RunResult, name: &str| {
        run.classes.iter().flatten().filter(|class| class.name == name).map(|class| class.waiting_ns.count).sum::<u64>()
    };
    let every = |run: &RunResult, cause: &str| {
        ["read", "program", "erase"].map(|op| operations(run, cause, op)).iter().sum::<u64>()
    };
    for run in &runs {
        let own = operations(run, "host", "read") + operations(run, "read_modify_write", "read");
        assert_eq!(count(run, "host_read"), own);
        assert_eq!(count(run, "host_write"), operations(run, "host", "program"));
        assert_eq!(count(run, "mapping_read"), operations(run, "mapping", "read"));
        let moving = ["collection", "mapping_collection", "merge", "relocation"];
        assert_eq!(count(run, "collection"), moving.map(|cause| every(run, cause)).iter().sum::<u64>());
    }
    assert!(count(&runs[0], "mapping_read") > 0 && count(&runs[0], "mapping_write") > 0, "dftl misses");
    assert!(count(&runs[0], "collection") > 0 && count(&runs[1], "collection") > 0, "dftl collects, fast merges");
    assert_eq!(count(&runs[1], "mapping_read"), 0);
}

#[test]
fn a_host_that_waits_for_every_read_sees_no_queue() {
    let alone = r#"
        [device]
        blocks_per_plane = 32
        [workload]
        generator = { requests = 500, span = "8MiB", write_share = 0.0 }
        [host]
        loop = "closed"
        queue_depth = 1
        [run]
        precondition = "fill"
        classes = true
        [[ftl]]
        name = "page"
    "#;
    let run = &results(alone).runs[0];
    let [class] = run.classes.as_deref().expect("asked for") else { panic!("reads are all there is") };
    assert_eq!((class.name, class.waiting_ns.max, class.waiting_ns.count), ("host_read", Some(0), 500));
    assert_eq!((class.service_ns.mean, class.service_ns.max), (Some(45_000.0), Some(45_000)));
    assert_eq!(class.waiting_cdf, [(0, 1.0)]);
}

/// Operations as (resource, begin, end), in order.
fn held(timeline: &TimelineFacts, resource: impl Fn(usize) -> Option<(u32, u64, u64)>) -> Vec<(u32, u64, u64)> {
    let mut held: Vec<_> = (0..timeline.op.len()).filter_map(resource).collect();
    held.sort_unstable();
    held
}

fn overlaps(held: &[(u32, u64, u64)]) -> bool {
    held.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].2 > pair[1].1)
}

#[test]
fn a_timeline_holds_every_operation_in_its_place() {
    // Slow enough that no chain of merges reaches further than a channel's calendar.
    let slow = watched("timeline = \"0ms..1h\"").replace("400us", "50ms");
    for run in &results(&slow).runs {
        let timeline = run.timeline.as_ref().expect("asked for");
        let complete = timeline.to_ns == timeline.requested_to_ns;
        let total: u64 = run.operations.iter().map(|operation| operation.count).sum();
        assert_eq!(complete, timeline.op.len() as u64 == total, "{}: all are there, or it was cut", run.label);
        let dies = held(timeline, |i| Some((timeline.die[i], timeline.start_ns[i], timeline.end_ns[i])));
        assert!(!overlaps(&dies), "a die does one thing at a time");
        let channels = held(timeline, |i| timeline.transfer_ns[i].map(|at| (timeline.die[i] / 2, at, at + 40_000)));
        assert!(!channels.is_empty() && !overlaps(&channels), "and so does a channel");
        for i in 0..timeline.op.len() {
            assert!(timeline.ready_ns[i] <= timeline.start_ns[i] && timeline.start_ns[i] < timeline.end_ns[i]);
            assert_eq!(timeline.op[i] == "erase", timeline.transfer_ns[i].is_none());
        }
    }
}

#[test]
fn a_window_is_the_part_of_the_whole_that_touches_it() {
    let whole = results(&watched("timeline = \"0ms..1h\""));
    let part = results(&watched("timeline = \"100ms..200ms\""));
    for (whole, part) in whole.runs.iter().zip(&part.runs) {
        let (whole, part) = (whole.timeline.as_ref().expect("asked for"), part.timeline.as_ref().expect("asked for"));
        let touches = |i: &usize| whole.end_ns[*i] > 100_000_000 && whole.ready_ns[*i] < 200_000_000;
        let expected: Vec<_> = (0..whole.op.len()).filter(touches).map(|i| (whole.start_ns[i], whole.op[i])).collect();
        let sequence: Vec<_> = part.start_ns.iter().copied().zip(part.op.iter().copied()).collect();
        assert!(expected.len() > 100, "{}", expected.len());
        assert_eq!(sequence, expected);
    }
}

#[test]
fn one_resource_has_one_lane_and_no_transfers() {
    let serial = watched("timeline = \"0ms..50ms\"").replace("[device]", "[device]\npricing = \"serial\"");
    let run = &results(&serial).runs[0];
    let timeline = run.timeline.as_ref().expect("asked for");
    assert!(!timeline.op.is_empty() && timeline.die.iter().all(|&die| die == 0));
    assert!(timeline.transfer_ns.iter().all(Option::is_none));
}

/// The trace of each run under some keys of the study.
fn traced(text: &str) -> Vec<(RunResult, FlashTraceFacts)> {
    let runs = results(text).runs;
    runs.into_iter().map(|run| (run.clone(), run.flash_trace.expect("asked for"))).collect()
}

#[test]
fn a_flash_trace_has_the_times_of_every_operation() {
    let copies_back = watched("flash_trace = \"0ms..1h\"").replace("[device]", "[device]\ncopy_back = true");
    for text in [watched("flash_trace = \"0ms..1h\""), copies_back] {
        for (run, trace) in traced(&text) {
            let operations = &trace.operations;
            let total = run.operations.iter().map(|operation| operation.count).sum::<u64>();
            assert_eq!(operations.op.len() as u64, total.min(trace.limit), "{}", run.label);
            for i in 0..operations.op.len() {
                assert!(operations.start_ns[i] < operations.end_ns[i], "{}: operation {i}", run.label);
                assert_eq!(operations.op[i] == "erase", operations.page[i].is_none());
                assert_eq!(operations.op[i] == "program", operations.logical[i].is_some());
            }
            let requests = &trace.requests;
            assert!(requests.begin_ns.iter().zip(&requests.end_ns).all(|(begin, end)| begin < end));
        }
    }
}

/// Valid pages of data before the first request.
fn valid_data(trace: &FlashTraceFacts) -> usize {
    let start = &trace.start;
    start.role.iter().zip(&start.is_valid).filter(|&(&role, &is_valid)| is_valid && role != "translation").count()
}

#[test]
fn a_flash_trace_takes_in_the_requests_that_begin_in_its_window() {
    let whole = traced(&watched("flash_trace = \"0ms..1h\""));
    let part = traced(&watched("flash_trace = \"100ms..200ms\""));
    for ((run, whole), (_, part)) in whole.iter().zip(&part) {
        let inside = |&&begin: &&u64| (100_000_000..200_000_000).contains(&begin);
        let expected: Vec<u64> = whole.requests.begin_ns.iter().filter(inside).copied().collect();
        assert!(!expected.is_empty());
        assert_eq!(part.requests.begin_ns, expected, "{}", run.label);
        let first = whole.requests.number.binary_search(&part.requests.number[0]).expect("in the whole");
        let skipped = whole.requests.operations_before[first] as usize;
        let same = skipped..skipped + part.operations.op.len();
        assert_eq!(part.operations.block, whole.operations.block[same.clone()]);
        assert_eq!(part.operations.end_ns, whole.operations.end_ns[same]);
        assert_eq!(valid_data(part), valid_data(whole), "each logical page has one newest version");
    }
}
