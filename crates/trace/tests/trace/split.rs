//! Traces taken apart by volume: every request of each, in order, whatever the split went through.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use trace::{Format, HostOp, OpenOptions, Record, Split, SplitLimits, TraceError, open, split_while};

/// So little that a split of some thousand requests spills often and writes several files.
const SMALL: SplitLimits = SplitLimits { kept_bytes: 100_000, part_requests: 5_000, folders: 100 };

/// Lines of our own format: requests of seven volumes, of which one has half of them.
fn lines(requests: std::ops::Range<u64>) -> String {
    let volume = |n: u64| if n.is_multiple_of(2) { 0 } else { n % 7 };
    let ops = ["read", "write", "write", "trim"];
    let line = |n: u64| format!("{n},{},{},4096,0,v{}\n", ops[n as usize % 4], n * 37 % 999 * 4096, volume(n));
    requests.map(line).collect::<Vec<_>>().concat()
}

fn folder(files: &[(&str, String)]) -> (TempDir, Vec<PathBuf>) {
    let folder = TempDir::new().unwrap();
    let write = |(name, text): &(&str, String)| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let paths = files.iter().map(write).collect();
    (folder, paths)
}

fn split(paths: &[PathBuf], out: &Path) -> Result<Split, String> {
    split_within(SMALL, paths, out)
}

fn split_within(limits: SplitLimits, paths: &[PathBuf], out: &Path) -> Result<Split, String> {
    let done = split_while(paths, &OpenOptions::default(), out, limits, |_, _, _| true);
    done.map(|done| done.expect("nobody stops it")).map_err(|error| error.to_string())
}

/// All files below a folder of volumes, with their bytes.
fn written(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![out.join("volumes"), out.join("shared")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(out).unwrap().display().to_string(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

fn records(path: &Path) -> Vec<Record> {
    open(path, &OpenOptions::default()).unwrap().collect::<Result<_, TraceError>>().unwrap()
}

/// The requests of a volume of a trace, the first at time 0.
fn of_volume(trace: &Path, name: &str) -> Vec<Record> {
    let mut trace = open(trace, &OpenOptions::default()).unwrap();
    let mut found = Vec::new();
    while let Some(record) = trace.next() {
        let record = record.unwrap();
        if trace.devices()[record.device as usize] == name {
            found.push(Record { device: 0, ..record });
        }
    }
    let start_ns = found.first().map_or(0, |first| first.time_ns);
    found.into_iter().map(|record| Record { time_ns: record.time_ns - start_ns, ..record }).collect()
}

#[test]
fn a_volume_has_its_requests_in_order_from_all_traces() {
    let (all, whole) = folder(&[("all.csv", lines(0..60_000))]);
    // Named against their order in time, and cut where a volume is in both.
    let (_hours, hours) = folder(&[("a.csv", lines(20_000..60_000)), ("z.csv", lines(0..20_000))]);
    for (number, paths) in [&whole, &hours].into_iter().enumerate() {
        let out = all.path().join(number.to_string());
        let done = split(paths, &out).unwrap();
        assert_eq!((done.format, done.volumes, done.traces.len()), (Format::Csv, 7, paths.len()));
        assert_eq!(done.traces.iter().map(|trace| trace.read.requests).sum::<u64>(), 60_000);
        for volume in 0..7 {
            let name = format!("v{volume}");
            let split = records(&out.join(format!("volumes/volume={name}/*.parquet")));
            assert_eq!(split, of_volume(&whole[0], &name), "{name}");
        }
        assert!(out.join("volumes/volume=v0/00006.parquet").exists(), "30,000 requests, 5,000 in a file");
    }
    assert_eq!(written(&all.path().join("0")), written(&all.path().join("1")));
}

#[test]
fn a_split_that_is_stopped_anywhere_goes_on_and_writes_the_same() {
    let (all, paths) = folder(&[("a.csv", lines(0..50_000)), ("b.csv", lines(50_000..100_000))]);
    let whole = all.path().join("whole");
    split(&paths, &whole).unwrap();
    let mut stops = 0;
    for stop in 0.. {
        let out = all.path().join(format!("stopped-{stop}"));
        let mut calls = 0;
        let watch = |_: &str, _, _| {
            calls += 1;
            calls <= stop
        };
        let stopped = split_while(&paths, &OpenOptions::default(), &out, SMALL, watch).unwrap();
        if stopped.is_some() {
            break;
        }
        stops += 1;
        let runs = fs::read_dir(out.join(".split")).unwrap().count();
        assert!(runs > 0 || stop == 0);
        // A journal that a kill cut short, and a volume that it left half made.
        let journal = out.join(".split/volumes.jsonl");
        if let Ok(text) = fs::read(&journal) {
            fs::write(&journal, [text.as_slice(), b"{\"name\":\"v"].concat()).unwrap();
        }
        fs::create_dir_all(out.join(".split/volume")).unwrap();
        let mut first = None;
        let done = split_while(&paths, &OpenOptions::default(), &out, SMALL, |stage, done, _| {
            first.get_or_insert((stage.to_owned(), done));
            true
        });
        assert_eq!(done.unwrap().unwrap().volumes, 7);
        assert_eq!(written(&out), written(&whole), "stopped at call {stop}");
        if calls > 100_000 / (1 << 14) + 1 {
            assert_eq!(first.unwrap().0, "volumes", "the traces are not read again");
        }
        assert_eq!(split(&paths, &out).unwrap().volumes, 7, "all lines of the journal are whole");
        let lines = fs::read_to_string(&journal).unwrap();
        assert_eq!(lines.lines().count(), 7, "no volume is written twice");
    }
    assert!(stops >= 10, "{stops}");
}

/// Requests of 2,500 volumes, a few of each, and of one with as many as all others.
fn many_volumes() -> String {
    let volume = |n: u64| if n.is_multiple_of(2) { "big".into() } else { format!("v{}", n * 7 % 2_500 / 2 * 2) };
    let line = |n: u64| format!("{n},write,{},4096,0,{}\n", n * 37 % 999 * 4096, volume(n));
    (0..10_000).map(line).chain((10_000..12_500).map(|n| format!("{n},read,0,4096,0,w{n}\n"))).collect()
}

#[test]
fn small_volumes_of_many_share_files_and_are_read_out_of_them_alone() {
    let (all, paths) = folder(&[("all.csv", many_volumes())]);
    let out = all.path().join("out");
    let done = split_within(SplitLimits { folders: 1_000, ..SMALL }, &paths, &out).unwrap();
    let journal = fs::read_to_string(out.join(".split/volumes.jsonl")).unwrap();
    let volumes: Vec<serde_json::Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(done.volumes as usize, volumes.len());
    let folders: Vec<_> = fs::read_dir(out.join("volumes")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(folders, ["volume=big"], "with more requests than share a file");
    assert_eq!(fs::read_dir(out.join("shared")).unwrap().count(), 4, "1,024 volumes in each");
    for volume in volumes.iter().filter(|volume| volume["number"].is_number()).step_by(50) {
        let (name, number) = (volume["name"].as_str().unwrap(), volume["number"].as_u64().unwrap());
        let mut shared = open(&out.join(volume["folder"].as_str().unwrap()), &OpenOptions::default()).unwrap();
        let mine: Vec<Record> =
            shared.by_ref().map(Result::unwrap).filter(|one| u64::from(one.device) == number).collect();
        assert_eq!(shared.devices()[number as usize], name);
        let start_ns = mine[0].time_ns;
        let mine: Vec<Record> =
            mine.into_iter().map(|one| Record { device: 0, time_ns: one.time_ns - start_ns, ..one }).collect();
        assert_eq!(mine, of_volume(&paths[0], name), "{name}");
        assert_eq!(mine.len() as u64, volume["requests"].as_u64().unwrap());
    }
}

#[test]
fn a_split_into_shared_files_goes_on_where_it_was_stopped() {
    let (all, paths) = folder(&[("all.csv", many_volumes())]);
    let limits = SplitLimits { folders: 1_000, ..SMALL };
    let whole = all.path().join("whole");
    split_within(limits, &paths, &whole).unwrap();
    let facts = |out: &Path| fs::read_to_string(out.join(".split/volumes.jsonl")).unwrap();
    let mut stops = 0;
    for stop in 0.. {
        let out = all.path().join(format!("stopped-{stop}"));
        let mut calls = 0;
        let watch = |stage: &str, _, _| {
            calls += u64::from(stage == "volumes");
            calls <= stop
        };
        if split_while(&paths, &OpenOptions::default(), &out, limits, watch).unwrap().is_some() {
            break;
        }
        stops += 1;
        // A kill in the middle of the lines of a file.
        let journal = out.join(".split/volumes.jsonl");
        let text = fs::read_to_string(&journal).unwrap();
        fs::write(&journal, &text[..text.len() - text.len() / 3]).unwrap();
        split_within(limits, &paths, &out).unwrap();
        assert_eq!(facts(&out), facts(&whole), "stopped at {stop}: no volume twice, none missing");
        assert_eq!(written(&out), written(&whole), "stopped at {stop}");
    }
    assert!(stops >= 5, "{stops}");
}

#[test]
fn traces_of_several_formats_are_refused_before_anything_is_read() {
    let msr = "128166372003061629,hm,0,Write,0,4096,1\n".to_owned();
    let (all, paths) = folder(&[("a.csv", lines(0..10)), ("b.csv", msr)]);
    let error = split(&paths, &all.path().join("out")).unwrap_err();
    assert!(error.contains("a.csv is read as csv") && error.contains("b.csv as msr"), "{error}");
    assert!(!all.path().join("out/volumes").exists());
}

#[test]
fn a_volume_in_two_traces_at_one_time_is_refused_and_a_pattern_merges_it() {
    let (all, paths) = folder(&[("a.csv", lines(0..1_000)), ("b.csv", lines(500..1_500))]);
    let error = split(&paths, &all.path().join("out")).unwrap_err();
    assert!(error.contains("b.csv: has requests of volume \"v0\"") && error.contains("pattern"), "{error}");
    let merged = split(&[all.path().join("*.csv")], &all.path().join("merged")).unwrap();
    assert_eq!(merged.traces[0].read.requests, 2_000);
}

#[test]
fn time_may_go_back_between_volumes_and_not_within_one() {
    let line = |time: u64, volume: &str| format!("{time},write,{time},4096,0,{volume}\n");
    let text: String = ["a", "b"].iter().flat_map(|name| (100..200).map(|time| line(time - 90, name))).collect();
    let (all, paths) = folder(&[("a.csv", line(50, "c") + &text), ("b.csv", text.clone() + &line(5, "b"))]);
    let out = all.path().join("out");
    assert_eq!(split(&paths[..1], &out).unwrap().volumes, 3);
    let read = records(&out.join("volumes/volume=b/00000.parquet"));
    assert_eq!(read.iter().map(|record| record.time_ns).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    let error = split(&paths[1..], &all.path().join("back")).unwrap_err();
    assert!(error.contains("b.csv, line 201: time goes back by 0.000104 ms"), "{error}");
}

#[test]
fn traces_that_name_no_volume_are_one_each_by_their_files() {
    let header = "time_ns,op,offset,length,stream\n";
    let text = |offset: u64| format!("{header}5,write,{offset},4096,0\n6,write,0,4096,0\n");
    let (all, paths) = folder(&[("x.csv", text(4096)), ("y.csv", text(8192)), ("none.csv", header.to_owned())]);
    let out = all.path().join("out");
    let done = split(&paths, &out).unwrap();
    assert_eq!((done.volumes, done.without_requests), (2, vec![paths[2].clone()]));
    let read = records(&out.join("volumes/volume=y/00000.parquet"));
    assert_eq!(read.iter().map(|record| (record.time_ns, record.offset)).collect::<Vec<_>>(), [(0, 8192), (1, 0)]);
    let error = split(&paths[2..], &all.path().join("nothing")).unwrap_err();
    assert!(error.contains("holds no request"), "{error}");
}

#[test]
fn names_become_folders_that_any_file_system_takes_and_no_two_share() {
    let long = "long".repeat(100);
    let names = ["/dev/sda", "../up", "Ünï", "a b", "A", "a", "", &long, &format!("{long}!")];
    let line = |(n, name): (usize, &&str)| format!("{n},write,0,4096,0,\"{name}\"\n");
    let (all, paths) = folder(&[("all.csv", names.iter().enumerate().map(line).collect())]);
    let out = all.path().join("out");
    assert_eq!(split(&paths, &out).unwrap().volumes, 9);
    let folders: Vec<String> = written(&out).into_keys().collect();
    for name in ["%2Fdev%2Fsda", "..%2Fup", "%C3%9Cn%C3%AF", "a%20b", "A", "a~5", ""] {
        assert!(folders.contains(&format!("volumes/volume={name}/00000.parquet")), "{name}: {folders:?}");
    }
    let mut trace = open(&out.join("volumes/volume=%2Fdev%2Fsda/00000.parquet"), &OpenOptions::default()).unwrap();
    assert_eq!(trace.next().unwrap().unwrap().op, HostOp::Write);
    assert_eq!(trace.devices(), ["/dev/sda"]);
}

#[test]
fn what_is_left_out_is_counted_for_each_trace() {
    let text = format!("{}this is no request\n{}", lines(0..10), lines(10..20));
    let (all, paths) = folder(&[("a.csv", text), ("b.csv", lines(20..30))]);
    let options = OpenOptions { skip_bad: true, ..OpenOptions::default() };
    let done = split_while(&paths, &options, &all.path().join("out"), SMALL, |_, _, _| true).unwrap().unwrap();
    let counts: Vec<(u64, u64)> = done.traces.iter().map(|trace| (trace.read.requests, trace.read.skipped)).collect();
    assert_eq!(counts, [(20, 1), (10, 0)]);
}
