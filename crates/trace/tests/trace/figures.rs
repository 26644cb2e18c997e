//! Real traces, if they are at hand: their figures, counted beforehand with an independent script,
//! must come out.
//!
//! The traces are not part of the project. They are looked for in the folder that `FTLKIT_TRACES`
//! names, or else beside the project; where they are absent the tests pass and say that they
//! skipped.

use std::path::{Path, PathBuf};

use trace::{DeviceChoice, Format, OpenOptions, StackedDevices, Statistics, TimeBackwards, TimeUnit, TraceError, open};

/// Published figures of a trace.
struct Known {
    file: &'static str,
    options: OpenOptions,
    format: Format,
    devices: usize,
    requests: u64,
    /// As printed: write %, mean KB, mean KB of writes, duration s, span GB. The last digit is the
    /// tolerance.
    figures: [&'static str; 5],
}

pub(crate) fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("FTLKIT_TRACES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"), PathBuf::from);
    if folder.is_dir() {
        Some(folder)
    } else {
        println!("skipped: no real traces in {} (set FTLKIT_TRACES)", folder.display());
        None
    }
}

/// The first this many of what a test tries, and all with `FTLKIT_LONG`.
pub(crate) fn some_of<T>(all: &[T], first: usize) -> &[T] {
    if std::env::var_os("FTLKIT_LONG").is_some() { all } else { &all[..first] }
}

fn plain() -> OpenOptions {
    OpenOptions::default()
}

fn forced(format: Format) -> OpenOptions {
    OpenOptions::with_format(format)
}

fn known() -> Vec<Known> {
    let microseconds = OpenOptions { time_unit: Some(TimeUnit::Us), ..forced(Format::Ssdsim) };
    let dispatched = OpenOptions {
        blkparse_action: Some('D'),
        skip_bad: true,
        time_backwards: TimeBackwards::Sort { window: 4096 },
        ..plain()
    };
    let known =
        |file, options, format, devices, requests, figures| Known { file, options, format, devices, requests, figures };
    vec![
        known("cloudPhysicsIO.vscsi", plain(), Format::Vscsi, 1, 113_872, ["58.7", "36.1", "35.2", "7200.1", "33.58"]),
        known("DTRS1K.trace", microseconds, Format::Ssdsim, 1, 127_043, ["11.0", "55.3", "53.4", "300.0", "164.5"]),
        known(
            "financial1_first10k.ssdsim.ascii",
            plain(),
            Format::Ssdsim,
            22,
            10_000,
            ["59.2", "5.4", "4.9", "259.6", "4.20"],
        ),
        known("msr-cambridge1-sample.csv", plain(), Format::Msr, 1, 1_000, ["49.2", "9.5", "7.1", "127.2", "13.56"]),
        known(
            "tpcc-small.trace",
            forced(Format::Mqsim),
            Format::Mqsim,
            16,
            6_999,
            ["37.4", "8.3", "8.7", "0.14", "2873"],
        ),
        known(
            "wsrch-small.trace",
            forced(Format::Mqsim),
            Format::Mqsim,
            6,
            24_783,
            ["0.02", "15.1", "8.0", "60.1", "79.2"],
        ),
        known(
            "disksim-valid-ascii.trace",
            plain(),
            Format::Disksim,
            14,
            100_000,
            ["20.4", "5.1", "5.2", "1532.9", "8.11"],
        ),
        known(
            "java-ext4.blkparse.txt",
            dispatched,
            Format::Blkparse,
            1,
            9_886,
            ["8.6", "128.4", "290.1", "810.4", "8.72"],
        ),
    ]
}

/// Whether `value`, printed with as many digits, would be `figure`; one that ends in 5 may have
/// been rounded either way.
fn meets(value: f64, figure: &str) -> bool {
    let decimals = figure.split_once('.').map_or("", |(_, decimals)| decimals);
    let half = decimals.chars().fold(0.5, |half, _| half / 10.0);
    (value - figure.parse::<f64>().unwrap()).abs() <= half * 1.001
}

#[test]
fn every_real_trace_has_the_figures_that_were_counted() {
    let Some(folder) = folder() else { return };
    for known in known() {
        let mut trace = open(&folder.join(known.file), &known.options).unwrap();
        let statistics = Statistics::of_trace(&mut trace).unwrap();
        assert_eq!(trace.format, known.format, "{}", known.file);
        let total = &statistics.total;
        assert_eq!(total.requests, known.requests, "{}", known.file);
        assert_eq!(statistics.devices.len(), known.devices, "{}", known.file);
        let values = [
            total.write_percent.unwrap(),
            total.mean_size_kib.unwrap(),
            total.mean_write_size_kib.unwrap(),
            total.duration_s,
            total.span_gb,
        ];
        for (value, figure) in values.into_iter().zip(known.figures) {
            assert!(meets(value, figure), "{}: {value} where {figure} was counted; all: {values:?}", known.file);
        }
        assert_eq!(statistics.devices.iter().map(|device| device.requests).sum::<u64>(), known.requests);
    }
}

#[test]
fn the_virtual_disk_is_overwritten_and_off_the_grid() {
    let Some(folder) = folder() else { return };
    let path = folder.join("cloudPhysicsIO.vscsi");
    let total = Statistics::of_trace(&mut open(&path, &plain()).unwrap()).unwrap().total;
    assert!((total.overwrite_factor.unwrap() - 3.1).abs() < 0.05, "{:?}", total.overwrite_factor);
    let alignment = total.alignment.unwrap();
    assert!((alignment.residue_percent[7] - 79.5).abs() < 0.05, "{alignment:?}");
    assert_eq!((alignment.common_residue, alignment.best_shift_bytes), (7, 512));
    assert!((alignment.best_shift_percent - 71.0).abs() < 0.5, "{alignment:?}");
    let shifted = OpenOptions { shift_bytes: 512, ..plain() };
    let shifted = Statistics::of_trace(&mut open(&path, &shifted).unwrap()).unwrap().total;
    assert!((shifted.alignment.unwrap().aligned_percent - 79.5).abs() < 0.05);
    assert!(shifted.overwrite_factor < total.overwrite_factor);
}

#[test]
fn the_release_server_has_a_wide_footprint() {
    let Some(folder) = folder() else { return };
    let options = OpenOptions { time_unit: Some(TimeUnit::Us), ..forced(Format::Ssdsim) };
    let total = Statistics::of_trace(&mut open(&folder.join("DTRS1K.trace"), &options).unwrap()).unwrap().total;
    assert_eq!(total.footprint.touched_pages / 10_000, 127);
    assert_eq!((total.footprint.read_pages, total.footprint.written_pages), (1_104_913, 184_051));
}

#[test]
fn five_whole_numbers_are_not_guessed() {
    let Some(folder) = folder() else { return };
    for file in ["DTRS1K.trace", "tpcc-small.trace", "wsrch-small.trace"] {
        let error = open(&folder.join(file), &plain()).unwrap_err();
        assert!(matches!(error, TraceError::Ambiguous { .. }), "{file}: {error}");
    }
}

#[test]
fn the_blkparse_file_names_its_actions_and_its_stray_event() {
    let Some(folder) = folder() else { return };
    let path = folder.join("java-ext4.blkparse.txt");
    let queued = open(&path, &plain()).unwrap().find_map(Result::err).unwrap().to_string();
    assert!(queued.contains("C (9887 events), D (9887 events), I (9888 events)"), "{queued}");
    let dispatched = OpenOptions { blkparse_action: Some('D'), ..plain() };
    let backwards = open(&path, &dispatched).unwrap().find_map(Result::err).unwrap().to_string();
    assert!(backwards.contains("time goes back by 4.187816 ms"), "{backwards}");
    let sorted = OpenOptions { time_backwards: TimeBackwards::Sort { window: 4096 }, ..dispatched };
    let stray = open(&path, &sorted).unwrap().find_map(Result::err).unwrap().to_string();
    assert!(stray.contains("line 29662") && stray.contains("1266874889 s by the wall clock"), "{stray}");
    let mut trace = open(&path, &OpenOptions { skip_bad: true, ..sorted }).unwrap();
    assert_eq!((trace.by_ref().flatten().count(), trace.skipped()), (9_886, 1));
    assert!(trace.sorted() > 823);
}

#[test]
fn devices_are_stacked_without_meeting() {
    let Some(folder) = folder() else { return };
    let path = folder.join("financial1_first10k.ssdsim.ascii");
    assert!(matches!(
        StackedDevices::open(&path, &plain(), &DeviceChoice::Only),
        Err(TraceError::SeveralDevices { .. })
    ));
    let flat = StackedDevices::open(&path, &plain(), &DeviceChoice::Stacked).unwrap();
    let separate = Statistics::of_trace(&mut open(&path, &plain()).unwrap()).unwrap().total;
    let together = Statistics::of(flat.records().unwrap()).unwrap().total;
    assert_eq!(together.requests, 10_000);
    // Bases are multiples of a page, so the devices touch the same number of pages one after
    // another as apart.
    assert_eq!(together.footprint, separate.footprint);
    assert_eq!(together.overwrite_factor, separate.overwrite_factor);
    assert_eq!(together.end_byte, Some(flat.facts().end_byte));
}
