//! Whole workloads: what they ask for is held against what lies on the volume.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use std::process::Command;

use trace::{HostOp, Record};

use super::*;
use crate::cache::PAGE_BYTES;
use crate::personality::Programs;
use crate::volume::Volume;

const ALL: [Personality; 4] =
    [Personality::Postmark, Personality::Fileserver, Personality::Varmail, Personality::Webserver];

fn small(personality: Personality) -> FileSpec {
    let mean_bytes = FileSpec::of(personality).mean_bytes.min(24 << 10);
    FileSpec {
        operations: 600,
        files: 300,
        mean_bytes,
        volume_bytes: 32 << 20,
        dirty_bytes: 256 << 10,
        analyzer: analyzer::Parameters { interval: 200, ..analyzer::Parameters::default() },
        ..FileSpec::of(personality)
    }
}

fn run(spec: &FileSpec) -> (FileWorkload, Vec<Record>) {
    let mut workload = FileWorkload::new(spec, 1).expect("a description that fits");
    let records: Result<Vec<_>, _> = workload.by_ref().collect();
    (workload, records.expect("room for all files"))
}

/// Pages that hold data of files when all is done, as the drive knows it: written with a hint last,
/// and not trimmed since.
fn pages_with_data(records: &[Record]) -> usize {
    let mut pages = BTreeMap::new();
    for record in records {
        let all = record.offset / PAGE_BYTES..record.end() / PAGE_BYTES;
        match record.op {
            HostOp::Write => pages.extend(all.map(|page| (page, record.hint.file_type() > 0))),
            HostOp::Trim => pages.retain(|page, _| !all.contains(page)),
            HostOp::Read | HostOp::Flush => {}
        }
    }
    pages.into_values().filter(|&is_data| is_data).count()
}

#[test]
fn what_the_drive_holds_in_the_end_are_the_files_that_there_are() {
    for personality in ALL {
        for names in [Names::Letters, Names::Mix] {
            let (workload, records) = run(&FileSpec { names, ..small(personality) });
            let clusters: u64 = workload.files().map(|(_, bytes)| u64::from(bytes).div_ceil(PAGE_BYTES)).sum();
            assert_eq!(pages_with_data(&records) as u64, clusters, "{personality:?} {names:?}");
        }
    }
}

/// filebench's preallocation of 80 %, also of few files.
#[test]
fn four_fifths_of_the_files_are_there_at_the_start() {
    for (files, first) in [(2, 1), (4, 3), (9, 7), (14, 11), (300, 240)] {
        for personality in [Personality::Fileserver, Personality::Varmail] {
            let spec = FileSpec { files, ..small(personality) };
            let analyzer = analyzer::Analyzer::new(spec.analyzer).expect("parameters");
            let volume = Volume::new(&spec, analyzer).expect("room");
            assert_eq!(Programs::new(spec, volume, 1).first_files(), first, "{personality:?} of {files}");
        }
    }
}

/// All files of a folder and of those in it, with their bytes, as another implementation of FAT
/// finds them.
fn found(folder: &fatfs::Dir<'_, Cursor<Vec<u8>>>, path: &str, into: &mut BTreeMap<String, u32>) {
    for entry in folder.iter().map(|entry| entry.expect("readable")) {
        let path = format!("{path}{}", entry.file_name());
        if entry.is_file() {
            let read = entry.to_file().read_to_end(&mut Vec::new()).expect("a whole chain of clusters");
            assert_eq!(read as u64, entry.len(), "{path}");
            into.insert(path, read as u32);
        } else if !entry.file_name().starts_with('.') {
            found(&entry.to_dir(), &format!("{path}/"), into);
        }
    }
}

#[test]
fn another_implementation_of_fat_and_fsck_find_the_volume_whole() {
    for (megabytes, files) in [(32, 300), (262, 2_000)] {
        for personality in ALL {
            let spec = FileSpec { volume_bytes: megabytes << 20, files, names: Names::Mix, ..small(personality) };
            let (workload, _) = run(&spec);
            let image: Vec<u8> = workload.volume().pages().flatten().copied().collect();
            assert_eq!(image.len() as u64, spec.volume_bytes);
            let mut checked = tempfile::NamedTempFile::new().expect("a file");
            checked.write_all(&image).expect("room");
            match Command::new("fsck.vfat").arg("-n").arg(checked.path()).output() {
                Ok(fsck) => {
                    assert!(fsck.status.success(), "{personality:?}: {}", String::from_utf8_lossy(&fsck.stdout));
                }
                Err(error) => println!("not checked by fsck.vfat: {error}"),
            }
            let volume = fatfs::FileSystem::new(Cursor::new(image), fatfs::FsOptions::new()).expect("a volume");
            assert!(!volume.read_status_flags().expect("readable").dirty(), "it was unmounted");
            let mut files = BTreeMap::new();
            found(&volume.root_dir(), "", &mut files);
            let expected = workload.files().map(|(path, bytes)| (path.to_owned(), bytes)).collect();
            assert_eq!(files, expected, "{personality:?}");
        }
    }
}

#[test]
fn requests_are_whole_pages_of_the_volume_in_order_of_time_and_the_same_every_time() {
    for personality in ALL {
        let spec = small(personality);
        let (_, records) = run(&spec);
        for record in &records {
            let is_whole = record.offset % PAGE_BYTES == 0 && u64::from(record.length) % PAGE_BYTES == 0;
            assert!(is_whole && record.end() <= spec.volume_bytes, "{record:?}");
            assert_eq!(record.length == 0, record.op == HostOp::Flush, "{record:?}");
        }
        assert!(records.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
        assert_eq!(records.last().map(|last| last.op), Some(HostOp::Flush));
        assert_eq!(run(&spec).1, records, "{personality:?}");
        let other: Vec<_> = FileWorkload::new(&spec, 2).expect("fits").map(|record| record.expect("room")).collect();
        assert_ne!(other, records, "{personality:?} with another seed");
    }
}

#[test]
fn personalities_do_what_their_benchmarks_do() {
    let count = |records: &[Record], op: HostOp| records.iter().filter(|record| record.op == op).count();
    // Two of varmail's five steps make a file safe; the others never do, and each ends with one.
    for (personality, flushes) in ALL.into_iter().zip([1, 1, 2 * 600 + 1, 1]) {
        assert_eq!(count(&run(&small(personality)).1, HostOp::Flush), flushes, "{personality:?}");
    }
    let (_, records) = run(&small(Personality::Webserver));
    assert!(count(&records, HostOp::Read) > 9 * 600, "ten files are read for each line of the log");
    let (_, records) = run(&FileSpec { trims: false, ..small(Personality::Fileserver) });
    assert_eq!(count(&records, HostOp::Trim), 0);
    let (_, records) = run(&small(Personality::Fileserver));
    assert!(count(&records, HostOp::Trim) > 550, "each round deletes a file");
}

#[test]
fn types_that_are_rewritten_more_are_hotter_and_said_so_with_their_data() {
    let spec = FileSpec { operations: 6_000, names: Names::Mix, ..small(Personality::Postmark) };
    let (workload, records) = run(&spec);
    let last = workload.intervals().last().expect("many intervals");
    let frequency = |name: &str| {
        let report = last.types.iter().find(|report| report.file_type.to_string() == name);
        report.unwrap_or_else(|| panic!("{name} was seen")).f_next
    };
    for (hot, cold) in [(".log", ".txt"), (".db", ".txt"), (".txt", ".jpg"), (".txt", ".so")] {
        assert!(frequency(hot) > 2.0 * frequency(cold), "{hot} {} {cold} {}", frequency(hot), frequency(cold));
    }
    let writes = records.iter().filter(|record| record.op == HostOp::Write);
    for hint in writes.map(|record| record.hint) {
        assert_eq!(hint.temperature() > 0, hint.file_type() > 0, "{hint:?}");
        assert_eq!(hint.stream() > 0, hint.file_type() > 0, "{hint:?}");
        assert!(hint.temperature() <= 11 && hint.stream() <= 3, "{hint:?}");
    }
}

#[test]
fn tables_have_the_degree_that_they_are_given_and_nothing_else_changes() {
    let spec = small(Personality::Varmail);
    let degree = FileSpec { table_degree: Some(4), ..spec.clone() };
    let (plain, told) = (run(&spec).1, run(&degree).1);
    assert_eq!(plain.len(), told.len());
    let mut tables = 0;
    for (plain, told) in plain.into_iter().zip(told) {
        let is_of_tables = plain.op == HostOp::Write && plain.hint == trace::Hint::NONE;
        tables += usize::from(is_of_tables);
        let hint =
            if is_of_tables { trace::Hint::new(plain.hint.stream(), 5, plain.hint.file_type()) } else { plain.hint };
        assert_eq!(told, Record { hint, ..plain });
    }
    assert!(tables > 600, "{tables}");
}

/// Claim S3 of Wang 2013 7.5.2 and 7.5.3 in small: where all types are used alike, what is
/// predicted is close to what comes.
#[test]
fn after_the_start_f_predicts_phi() {
    let mut spec = FileSpec { operations: 20_000, files: 1_000, ..small(Personality::Postmark) };
    spec.analyzer.interval = 2_000;
    let (workload, _) = run(&spec);
    let ended = &workload.intervals()[4..];
    let active =
        ended.iter().flat_map(|interval| &interval.types).filter(|report| report.active > 15 && report.phi > 0.0);
    let ratios: Vec<f64> = active.map(|report| report.f / report.phi).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    println!("{} intervals, {} ratios, mean {mean}", ended.len(), ratios.len());
    assert!(ratios.len() > 100 && (0.9..1.15).contains(&mean), "{mean} over {}", ratios.len());
}

#[test]
fn a_volume_that_becomes_full_is_an_error_that_says_what_to_do() {
    let spec = FileSpec { volume_bytes: 17 << 20, files: 645, operations: 20_000, ..small(Personality::Fileserver) };
    let error = FileWorkload::new(&spec, 1).expect("nearly fits").find_map(Result::err).expect("full").to_string();
    assert!(error.contains("17825792 bytes is full") && error.contains("larger volume_bytes"), "{error}");
}

#[test]
fn what_cannot_be_carried_out_is_named_with_its_limit() {
    let of = || small(Personality::Postmark);
    for (spec, words) in [
        (FileSpec { operations: 0, ..of() }, "operations = 0: must be at least 1"),
        (FileSpec { files: 1, ..of() }, "files = 1: must be at least 2"),
        (FileSpec { dirty_bytes: 1, ..of() }, "dirty_bytes = 1: must be at least 4096"),
        (FileSpec { volume_bytes: 1 << 20, ..of() }, "volume_bytes = 1048576: must be from 17 MiB"),
        (FileSpec { volume_bytes: 256 << 20, ..of() }, "not from 255 to 260 MiB"),
        (FileSpec { files: 50_000, ..of() }, "50000 files of 5250 bytes take 409600000 bytes"),
        (FileSpec { streams: 16, ..of() }, "streams = 16: must be at most 15"),
        (FileSpec { table_degree: Some(11), ..of() }, "table_degree = 11: must be at most 10"),
        (FileSpec { operations_per_second: 0.0, ..of() }, "operations_per_second = 0: must be above 0"),
        (FileSpec { analyzer: analyzer::Parameters { alpha: 2.0, ..Default::default() }, ..of() }, "alpha = 2"),
    ] {
        let error = FileWorkload::new(&spec, 1).err().expect(words).to_string();
        assert!(error.contains(words), "{error}");
    }
    for personality in ALL {
        FileSpec::of(personality).check().expect("the defaults fit");
    }
}

#[test]
fn volumes_on_both_sides_of_the_gap_are_formatted() {
    for megabytes in [17, 254, 260, 600] {
        let spec = FileSpec { volume_bytes: megabytes << 20, operations: 20, ..small(Personality::Varmail) };
        let (workload, records) = run(&spec);
        assert!(records.len() > 50 && workload.files().count() > 200, "{megabytes} MiB");
    }
}
