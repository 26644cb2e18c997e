//! Several files that are one trace, named by a pattern: requests by time, devices by name.

use std::fs;

use tempfile::TempDir;
use trace::{DeviceChoice, Format, OpenOptions, Record, StackedDevices, Trace, open};

fn folder(files: &[(&str, String)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn read(folder: &TempDir, pattern: &str, options: &OpenOptions) -> Result<(Vec<Record>, Trace), String> {
    let mut trace = open(&folder.path().join(pattern), options).map_err(|error| error.to_string())?;
    let records = trace.by_ref().collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok((records, trace))
}

/// Lines of our own format.
fn csv(device: &str, times: impl Iterator<Item = u64>) -> String {
    times.map(|time| format!("{time},write,{},4096,0,{device}\n", time * 4096)).collect::<Vec<_>>().concat()
}

/// Any way of cutting a trace into files gives the same trace.
#[test]
fn files_by_time_or_by_device_are_the_trace_they_were_cut_from() {
    let lines: Vec<(u64, String)> =
        (0..300).map(|time| (time, csv(["a", "b", "c"][time as usize * 7 % 3], std::iter::once(time)))).collect();
    let of = |chosen: &dyn Fn(u64) -> bool| -> String {
        lines.iter().filter(|(time, _)| chosen(*time)).map(|(_, line)| line.as_str()).collect()
    };
    let options = OpenOptions::with_format(Format::Csv);
    let whole = read(&folder(&[("all.csv", of(&|_| true))]), "all.csv", &options).unwrap();
    let named = |(records, trace): &(Vec<Record>, Trace)| -> Vec<(Record, String)> {
        let name = |record: &Record| trace.devices()[record.device as usize].clone();
        records.iter().map(|record| (Record { device: 0, ..*record }, name(record))).collect()
    };
    let hours: Vec<String> = (0..3).map(|hour| of(&move |time| time / 100 == hour)).collect();
    let devices: Vec<String> = (0..3).map(|part| of(&move |time| time * 7 % 3 == part)).collect();
    let processors: Vec<String> = (0..3).map(|part| of(&move |time| time % 5 % 3 == part)).collect();
    for parts in [hours, devices, processors] {
        let files: Vec<(&str, String)> = ["x9.csv", "x10.csv", "x11.csv"].into_iter().zip(parts).collect();
        let merged = read(&folder(&files), "x*.csv", &options).unwrap();
        assert_eq!(named(&merged), named(&whole));
        assert_eq!(merged.1.sorted(), 0);
    }
}

#[test]
fn files_without_devices_are_one_where_they_follow_each_other_and_refused_side_by_side() {
    let lines = |times: std::ops::Range<u64>| -> String {
        times.map(|time| format!("{time} W 0 8\n")).collect::<Vec<_>>().concat()
    };
    let options = OpenOptions {
        columns: Some("time:s, op, offset:sector, size:sector".parse().unwrap()),
        ..OpenOptions::default()
    };
    let hours = folder(&[("b.txt", lines(10..20)), ("a.txt", lines(0..10)), ("c.csv", "x".into())]);
    let (records, trace) = read(&hours, "*.txt", &options).unwrap();
    assert_eq!((records.len(), trace.devices().len()), (20, 1));
    let sides = folder(&[("b.txt", lines(5..15)), ("a.txt", lines(0..10))]);
    let error = read(&sides, "*.txt", &options).unwrap_err();
    for part in ["a.txt", "b.txt", "of one device or of two", "--columns"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_pattern_without_files_and_a_folder_say_so() {
    let folder = folder(&[("a.csv", csv("a", 0..3))]);
    let error = read(&folder, "b*.csv", &OpenOptions::default()).unwrap_err();
    assert!(error.contains("b*.csv") && error.contains("cannot be opened"), "{error}");
    let error = read(&folder, ".", &OpenOptions::default()).unwrap_err();
    assert!(error.contains("DIR/*.csv"), "{error}");
}

#[test]
fn stacked_devices_of_several_files_have_each_its_range() {
    let folder = folder(&[("a.csv", csv("a", 0..3)), ("b.csv", csv("b", 1..4))]);
    let path = folder.path().join("*.csv");
    let stacked = StackedDevices::open(&path, &OpenOptions::default(), &DeviceChoice::Stacked).unwrap();
    let devices: Vec<_> =
        stacked.facts().devices.iter().map(|device| (device.name.as_str(), device.requests)).collect();
    assert_eq!(devices, [("a", 3), ("b", 3)]);
    assert_eq!(stacked.records().unwrap().flatten().count(), 6);
}
