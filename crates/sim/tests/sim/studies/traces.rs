//! Studies over trace files: small ones made here, and the real ones where they are at hand.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use sim::{Control, Results, SimError, run_study};
use tempfile::TempDir;

use super::parse_toml;

/// A folder with an MSR trace of these lines, and the path of a study file beside it.
fn folder(trace: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("trace.csv"), trace).expect("written");
    let study = folder.path().join("study.toml");
    (folder, study)
}

fn run_at(study: &Path, workload: &str) -> Result<Results, SimError> {
    run_under(&Control::new(), study, workload)
}

fn run_under(control: &Control, study: &Path, workload: &str) -> Result<Results, SimError> {
    let text = format!(
        "[device]\ncapacity = \"auto\"\n[workload]\ntrace = \"trace.csv\"\nformat = \"msr\"\n{workload}\n[run]\nverify = true\n[[ftl]]\nname = \"page\"\n[[ftl]]\nname = \"fast\""
    );
    run_study(&parse_toml(&text, &study.to_string_lossy())?, control)
}

/// Writes and reads of 4 KiB at these pages, 1 ms apart, writes first.
fn lines(pages: &[u64]) -> String {
    let mut text = String::new();
    for (index, page) in pages.iter().enumerate() {
        let op = if index % 2 == 0 { "Write" } else { "Read" };
        writeln!(text, "{},host,0,{op},{},4096,0", 10_000 * index as u64, page * 4096).expect("text");
    }
    text
}

#[test]
fn a_trace_is_found_beside_the_study_and_sizes_the_device() {
    let (_folder, study) = folder(&lines(&[5, 5, 99_999, 5]));
    let results = run_at(&study, "").expect("runs");
    assert_eq!((results.workload.name.as_str(), results.workload.format.as_str()), ("trace.csv", "msr"));
    assert_eq!((results.workload.requests, results.workload.span_bytes), (4, 100_000 * 4096));
    assert_eq!(results.workload.duration_ns, 3_000_000);
    assert_eq!(results.device.expect("known").logical_bytes, 100_000 * 4096);
    assert_eq!(results.runs[0].requests.read, 2);
    assert_eq!(run_at(&study, "requests = 3").expect("runs").workload.requests, 3);
}

#[test]
fn a_trace_too_long_to_keep_is_read_anew_alike() {
    let pages: Vec<u64> = (0..12_000).map(|number| number * 7919 % 500).collect();
    let (_folder, study) = folder(&lines(&pages));
    // A sixteenth of the limit is for the requests, of some nine bytes each.
    let [few, all] = ["1MiB", "1GiB"].map(|limit| {
        let text = format!(
            "[workload]\ntrace = \"trace.csv\"\nformat = \"msr\"\nrepeat = 2\n[run]\nmemory_limit = \"{limit}\"\n[[ftl]]\nname = \"page\""
        );
        let study = parse_toml(&text, &study.to_string_lossy()).expect("a study");
        let results = run_study(&study, &Control::new()).expect("runs");
        (results.workload.facts, results.runs[0].event_hash.clone())
    });
    assert_eq!(few, all);
}

#[test]
fn dense_addresses_are_numbered_by_first_touch_and_counted() {
    let far = 1 << 45;
    let (_folder, study) = folder(&lines(&[far, far, far + 7, far, 3, far + 7]));
    let results = run_at(&study, "addresses = \"dense\"").expect("runs");
    let facts = results.workload.facts.join("; ");
    assert!(facts.contains("the 3 pages touched are renumbered"), "{facts}");
    assert!(matches!(run_at(&study, ""), Err(SimError::Study(_))), "as they are, they need a device of 2^45 pages");
}

#[test]
fn named_columns_are_read_and_told() {
    let (folder, study) = folder("");
    let text = "t dev off len op\n0 7 0 4096 0\n1 7 8192 4096 0\n2.5 7 8192 8192 1\n";
    fs::write(folder.path().join("trace.csv"), text).expect("written");
    let read = |columns: &str, more: &str| {
        let text = format!("[workload]\ntrace = \"trace.csv\"\n{columns}\n{more}\n[[ftl]]\nname = \"page\"");
        run_study(&parse_toml(&text, &study.to_string_lossy())?, &Control::new())
    };
    let columns = "columns = \"time:ms, device, offset:B, size:B, op:1=read\"";
    let results = read(columns, "").expect("runs");
    let workload = &results.workload;
    let read_as = workload.read_as.as_ref().expect("a trace");
    assert_eq!((read_as.format, read_as.time_unit, read_as.is_guessed), ("columns", "ms", false));
    assert!(columns.contains(&read_as.columns), "{}", read_as.columns);
    assert_eq!((workload.duration_ns, workload.span_bytes, workload.bytes), (2_500_000, 16_384, 16_384));
    assert_eq!((results.runs[0].requests.read, results.runs[0].requests.write), (1, 2));
    let again = sim::parse_json(&results.study.to_string()).expect("a resolved study is a study");
    assert_eq!(run_study(&again, &Control::new()).expect("runs").runs[0].event_hash, results.runs[0].event_hash);
    for (more, part) in [("format = \"msr\"", "give --format or --columns"), ("time_unit = \"s\"", "give it once")] {
        assert!(read(columns, more).expect_err("said twice").to_string().contains(part), "{more}");
    }
    assert!(read("columns = \"time:ms\"", "").expect_err("too few").to_string().contains("no column is called offset"));
}

#[test]
fn bytes_in_a_layout_of_sectors_are_refused_with_both_readings() {
    let (folder, study) = folder("");
    let line = |index: u64| {
        format!("{}.25 0 {} {} {}\n", index * 3, index * 7919 % 1000 * 4096, 4096 << (index % 3), index % 2)
    };
    fs::write(folder.path().join("trace.csv"), (0..50).map(line).collect::<String>()).expect("written");
    let read = |how: &str| {
        let text = format!("[workload]\ntrace = \"trace.csv\"\nrequests = 9\n{how}\n[[ftl]]\nname = \"page\"");
        run_study(&parse_toml(&text, &study.to_string_lossy())?, &Control::new())
    };
    let error = read("").expect_err("which unit?").to_string();
    for part in [
        "reads as disksim, but every address and size",
        "--format disksim: times in ms, the first 50 requests span 0.147 s",
        "--columns \"time:ms, device, offset:B, size:B, op:1=read\": times in ms, the first 50 requests span 0.147 s",
        "addresses reach to 1.9 GiB, the mean size is 4.6 MiB",
        "addresses reach to 3.8 MiB, the mean size is 9.2 KiB",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(read("columns = \"time:ms, device, offset:B, size:B, op:1=read\"").is_ok());
    assert!(read("format = \"disksim\"\naddresses = \"dense\"").is_ok(), "what is named is not doubted");
}

#[test]
fn laying_out_a_trace_stops_when_it_is_cancelled() {
    let bad_end = lines(&vec![1; 40_000]) + "garbage\n";
    let (_folder, study) = folder(&bad_end);
    assert!(run_at(&study, "").is_err(), "read to its end, the trace is bad");
    let control = Control::new();
    control.cancel();
    let results = run_under(&control, &study, "").expect("stopping is no error");
    assert!(results.cancelled && results.runs.is_empty());
}

#[test]
fn wrapped_addresses_are_counted() {
    let (_folder, study) = folder(&lines(&[1, 1, 1_000_001, 1_000_001]));
    let text = "[device]\nblocks_per_plane = 64\n[workload]\ntrace = \"trace.csv\"\nformat = \"msr\"\naddresses = \"wrap\"\n[[ftl]]\nname = \"page\"";
    let study = parse_toml(text, &study.to_string_lossy()).expect("valid");
    let results = run_study(&study, &Control::new()).expect("runs");
    let facts = results.workload.facts.join("; ");
    assert!(facts.contains("spans 1000002 pages, folded modulo the device's 14745"), "{facts}");
}

#[test]
fn speedup_and_alignment_change_what_they_say() {
    let (_folder, study) = folder("0,host,0,Write,3584,4096,0\n40000,host,0,Write,7680,4096,0\n");
    let results = run_at(&study, "speedup = 4.0\nalign_offset = 512").expect("runs");
    assert_eq!(results.workload.duration_ns, 1_000_000);
    assert_eq!(results.workload.pages_written, 2, "aligned, each write is one page");
    let facts = results.workload.facts.join("; ");
    assert!(facts.contains("4 times as fast") && facts.contains("512 bytes are added"), "{facts}");
    assert_eq!(run_at(&study, "").expect("runs").workload.pages_written, 4);
}

#[test]
fn rows_that_do_not_meet_where_are_left_out_and_counted() {
    let (_folder, study) = folder("0,a,0,Write,0,4096,0\n5,b,0,Write,0,4096,0\n10,a,0,Write,4096,4096,0\n");
    let results = run_at(&study, "where = [\"Hostname=a\"]").expect("runs");
    assert_eq!(results.workload.pages_written, 2);
    let facts = results.workload.facts.join("; ");
    assert!(facts.contains("skipped 1 row not matching Hostname=a"), "{facts}");
    assert_eq!(results.study["workload"]["where"], serde_json::json!(["Hostname=a"]));
}

#[test]
fn a_trace_shorter_than_the_requests_asked_for_says_so() {
    let (_folder, study) = folder(&lines(&[1; 70]));
    let facts = run_at(&study, "requests = 71").expect("runs").workload.facts.join("; ");
    assert!(facts.contains("71 requests were asked for, but the workload ends after 70"), "{facts}");
    let facts = run_at(&study, "requests = 70").expect("runs").workload.facts.join("; ");
    assert!(!facts.contains("asked for"), "{facts}");
}

#[test]
fn a_trace_served_several_times_is_one_that_has_its_requests_several_times() {
    let pages = [5, 5, 900, 5, 33, 900, 5];
    let (_folder, study) = folder(&lines(&pages));
    // Requests are 1 ms apart, and so are the last of a round and the first of the next.
    let repeated = run_at(&study, "repeat = 3").expect("runs");
    let (_folder, long) = folder(&three_times(&pages));
    let written = run_at(&long, "").expect("runs");
    assert_eq!(repeated.workload.requests, 21);
    assert_eq!(repeated.workload.duration_ns, written.workload.duration_ns);
    for (one, other) in repeated.runs.iter().zip(&written.runs) {
        assert_eq!((&one.event_hash, one.requests.read), (&other.event_hash, other.requests.read));
    }
    let facts = repeated.workload.facts.join("; ");
    assert!(facts.contains("the 7 requests of the trace are served 3 times, one after another"), "{facts}");
    assert!(!facts.contains("in part"), "{facts}");
    let again = sim::parse_json(&repeated.study.to_string()).expect("a resolved study is a study");
    assert_eq!(run_study(&again, &Control::new()).expect("runs").runs[0].event_hash, repeated.runs[0].event_hash);

    // The number of requests is that of all rounds.
    for (more, requests, part) in [
        ("repeat = 3\nrequests = 10", 10, "are served 2 times, one after another, the last time in part"),
        ("repeat = 3\nrequests = 7", 7, "within the first of the 3 times"),
        ("repeat = 3\nrequests = 22", 21, "22 requests were asked for, but the workload ends after 21"),
        ("requests = 22", 7, "all of them are served, once (workload.repeat serves a trace again)"),
    ] {
        let workload = run_at(&study, more).expect("runs").workload;
        let facts = workload.facts.join("; ");
        assert!(workload.requests == requests && facts.contains(part), "{more}: {facts}");
    }
    let error = run_at(&study, "repeat = 0").expect_err("never").to_string();
    assert!(error.contains("workload.repeat = 0: must be at least 1"), "{error}");
    // Arrivals come faster in every round.
    assert_eq!(run_at(&study, "repeat = 3\nspeedup = 2").expect("runs").workload.duration_ns, 10_000_000);
}

/// `lines` of these pages three times over, each line with the operation of the first time.
fn three_times(pages: &[u64]) -> String {
    let once = lines(pages);
    let line = |number: usize| {
        let (_, rest) = once.lines().nth(number % pages.len())?.split_once(',')?;
        Some(format!("{},{rest}\n", 10_000 * number))
    };
    (0..3 * pages.len()).filter_map(line).collect()
}

#[test]
fn a_capacity_taken_from_the_workload_says_from_what() {
    let text = |device: &str| {
        format!("{device}\n[workload]\ntrace = \"trace.csv\"\nformat = \"msr\"\n[[ftl]]\nname = \"page\"")
    };
    let found = |device: &str, page: u64| {
        let (_folder, study) = folder(&lines(&[1, page]));
        let study = sim::parse_toml(&text(device), &study.to_string_lossy()).expect("valid");
        run_study(&study, &Control::new()).expect("runs").device.expect("a device")
    };
    let small = found("", 5);
    let reason = small.capacity_reason.expect("auto");
    assert!(small.named_by == "default" && reason.contains("spans 6 pages of 4096 bytes; "), "{reason}");
    assert!(reason.contains("(128 blocks per plane)"), "{reason}");
    let large = found("[device]\npreset = \"slc-small\"\ncapacity = \"auto\"", 99_999);
    assert_eq!((large.named_by, large.logical_bytes), ("preset", 100_000 * 4096));
    assert_eq!(large.capacity_reason.as_deref(), Some("auto: the workload spans 100000 pages of 4096 bytes"));
    assert_eq!(found("[device]\ncapacity = \"1GiB\"", 5).capacity_reason, None);
}

#[test]
fn a_bad_line_is_found_before_anything_is_simulated() {
    let (_folder, study) = folder(&format!("{}nonsense\n", lines(&[1; 70])));
    let error = run_at(&study, "").expect_err("a bad line").to_string();
    assert!(error.contains("line 71") && error.contains("nonsense"), "{error}");
    let results = run_at(&study, "skip_bad = true").expect("runs");
    assert!(results.workload.facts.iter().any(|fact| fact == "skipped 1 bad record"), "{:?}", results.workload.facts);
}

#[test]
fn a_trace_longer_than_the_clock_is_refused() {
    let (_folder, study) = folder(&format!("0,host,0,Write,0,4096,0\n{},host,0,Write,0,4096,0\n", u64::MAX / 200));
    let error = run_at(&study, "").expect_err("292 years").to_string();
    assert!(error.contains("73 years") && error.contains("time_unit"), "{error}");
    assert!(run_at(&study, "speedup = 1000000.0").is_ok());
}

#[test]
fn several_devices_ask_for_a_choice() {
    let (_folder, study) = folder("0,host,0,Write,0,4096,0\n10,host,1,Write,0,4096,0\n");
    let error = run_at(&study, "").expect_err("two devices").to_string();
    assert!(error.contains("2 devices"), "{error}");
    let results = run_at(&study, "trace_device = \"stacked\"").expect("runs");
    assert!(results.workload.facts.iter().any(|fact| fact.contains("its 2 devices are laid out one after another")));
}

#[test]
fn real_traces_run_verified() {
    let folder = std::env::var_os("FTLKIT_TRACES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"), PathBuf::from);
    let trace = folder.join("msr-cambridge1-sample.csv");
    if !trace.exists() {
        println!("skipped: no traces at {}", folder.display());
        return;
    }
    let text = format!(
        "[device]\npages_per_block = 64\n[workload]\ntrace = {trace:?}\naddresses = \"dense\"\n[run]\nverify = true\n\
         [[ftl]]\nname = \"page\"\n[[ftl]]\nname = \"block\"\n[[ftl]]\nname = \"fast\"\n[[ftl]]\nname = \"dftl\""
    );
    let results =
        run_study(&parse_toml(&text, "").expect("valid"), &Control::new()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(results.workload.requests, 1000);
    assert!(results.runs.iter().all(|run| run.proved.is_some()));
}
