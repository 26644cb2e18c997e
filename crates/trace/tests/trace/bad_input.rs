//! What a user may get wrong, one test each: the error says what, where, and what to do, and
//! nothing is left behind.

use std::fs;
use std::path::{Path, PathBuf};

use random::SeededRng;
use tempfile::TempDir;
use trace::{DeviceChoice, Format, OpenOptions, StackedDevices, Target, convert, open};

use crate::compressed::ENCODERS;

const LINE: &str = "128166372003061629,web,0,Read,7014609920,24576,41286\n";

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// The error of reading the whole trace, opening it included.
fn error(path: &Path, options: &OpenOptions) -> String {
    match open(path, options) {
        Err(error) => error.to_string(),
        Ok(mut trace) => trace.find_map(Result::err).expect("the trace should not be readable").to_string(),
    }
}

#[track_caller]
fn says(error: &str, path: &Path, parts: &[&str]) {
    assert!(error.contains(&path.display().to_string()), "no path in: {error}");
    for part in parts {
        assert!(error.contains(part), "no {part:?} in: {error}");
    }
    assert!(error.len() < 1500, "too long: {error}");
}

fn msr() -> OpenOptions {
    OpenOptions::with_format(Format::Msr)
}

#[test]
fn a_missing_file() {
    let path = Path::new("/nowhere/at/all.csv");
    says(&error(path, &OpenOptions::default()), path, &["cannot be opened", "No such file", "Check the path"]);
}

#[test]
#[cfg(unix)]
fn a_folder_and_a_device_are_no_traces() {
    let folder = Folder::new();
    for path in [folder.0.path(), Path::new("/dev/null")] {
        says(&error(path, &msr()), path, &["is not a regular file", "save it to a file first"]);
    }
}

#[test]
fn an_empty_file_whatever_format_is_forced() {
    let folder = Folder::new();
    let path = folder.file("empty", b"");
    says(&error(&path, &OpenOptions::default()), &path, &["the file is empty", "copied completely"]);
    for &format in Format::ALL {
        says(&error(&path, &OpenOptions::with_format(format)), &path, &["the file is empty"]);
    }
    let (_, gzip) = ENCODERS[0];
    let path = folder.file("empty.gz", &gzip(b""));
    says(&error(&path, &OpenOptions::default()), &path, &["the file is empty once decompressed"]);
}

#[test]
fn binary_garbage_whatever_format_is_forced() {
    let folder = Folder::new();
    let mut rng = SeededRng::named(1, "garbage");
    let garbage: Vec<u8> = (0..200_000).map(|_| rng.bits() as u8).collect();
    let path = folder.file("garbage", &garbage);
    says(&error(&path, &OpenOptions::default()), &path, &["fits no format that is known here", "It is binary"]);
    for &format in Format::ALL {
        let error = error(&path, &OpenOptions::with_format(format));
        says(&error, &path, &["--format"]);
        assert!(error.chars().all(|character| !character.is_control()), "{error}");
    }
}

#[test]
fn a_format_forced_on_another() {
    let folder = Folder::new();
    let path = folder.file("web.csv", LINE.repeat(10).as_bytes());
    for format in Format::ALL.iter().copied().filter(|&format| format != Format::Msr) {
        let error = error(&path, &OpenOptions::with_format(format));
        says(&error, &path, &["--format"]);
    }
    let spc = error(&path, &OpenOptions::with_format(Format::Spc));
    says(
        &spc,
        &path,
        &[
            "line 1",
            "the LBA is `web`; expected a whole number",
            "Read as spc (ASU,LBA,Size,Opcode,Timestamp",
            "it says: `128166372003061629,web,0,Read,7014609920,24576,41286`",
        ],
    );
}

#[test]
fn a_malformed_line_seventy_thousand() {
    let folder = Folder::new();
    let text = format!("{}128166372003061629,web,0,Read,70146o9920,24576,41286\n{LINE}", LINE.repeat(69_999));
    let path = folder.file("web.csv", text.as_bytes());
    let parts = [
        "web.csv, line 70000: the offset is `70146o9920`; expected a whole number from 0 to 18446744073709551615",
        "Read as msr (Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime)",
        "it says: `128166372003061629,web,0,Read,70146o9920,24576,41286`",
        "--skip-bad",
        "--format",
    ];
    says(&error(&path, &OpenOptions::default()), &path, &parts);
    let mut trace = open(&path, &OpenOptions { skip_bad: true, ..OpenOptions::default() }).unwrap();
    assert_eq!(trace.by_ref().flatten().count(), 70_000);
    assert_eq!(trace.skipped(), 1);
    let survey = StackedDevices::open(&path, &OpenOptions::default(), &DeviceChoice::Only);
    says(&survey.unwrap_err().to_string(), &path, &parts);
}

#[test]
fn a_long_line_is_shortened() {
    let folder = Folder::new();
    let path = folder.file("web.csv", format!("{LINE}{}\n", "x".repeat(10_000)).as_bytes());
    let error = error(&path, &msr());
    says(&error, &path, &["line 2", " …"]);
    assert!(error.matches('x').count() < 300, "{error}");
}

#[test]
fn a_truncated_vscsi_file() {
    let folder = Folder::new();
    let mut record = [0_u8; 32];
    record[5] = 2; // 512 bytes
    (record[12], record[15]) = (0x2a, 1);
    let mut bytes = record.repeat(1000);
    bytes.truncate(1000 * 32 - 9);
    let path = folder.file("disk.vscsi", &bytes);
    let parts = ["byte 31968", "ends after 23 of the 32 bytes of record 1000", "cut short", "--skip-bad"];
    says(&error(&path, &OpenOptions::default()), &path, &parts);
}

#[test]
fn a_truncated_stream_of_any_compression() {
    let folder = Folder::new();
    let text: Vec<String> = (0..40_000_u64)
        .map(|n| {
            let (time, offset) = (128_166_372_003_061_629 + n * 977, n * 7919 % 100_000 * 4096);
            format!("{time},web,0,Read,{offset},4096,17\n")
        })
        .collect();
    let text = text.concat();
    for (name, encode) in ENCODERS {
        let bytes = encode(text.as_bytes());
        for kept in [bytes.len() * 2 / 3, bytes.len() - 1] {
            let path = folder.file(name, &bytes[..kept]);
            let message = error(&path, &OpenOptions::default());
            let cut = format!("The {name} stream is cut short or damaged");
            says(&message, &path, &["cannot be read any further", &cut, "copy the file again"]);
        }
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 16].fill(0xa5);
        let path = folder.file(name, &damaged);
        says(&error(&path, &OpenOptions::with_format(Format::Msr)), &path, &[]);
        let path = folder.file(name, &bytes);
        assert_eq!(open(&path, &OpenOptions::default()).unwrap().map(Result::unwrap).count(), 40_000);
    }
}

#[test]
fn negative_and_overflowing_numbers() {
    let folder = Folder::new();
    for (line, part) in [
        ("1,web,0,Read,-4096,512,1", "the offset is `-4096`"),
        ("1,web,0,Read,4096,-1,1", "the size is `-1`"),
        ("-1,web,0,Read,4096,512,1", "the timestamp is `-1`"),
        ("1,web,0,Read,18446744073709551616,512,1", "the offset is `18446744073709551616`"),
        (
            "1,web,0,Read,18446744073709551615,512,1",
            "the request ends beyond 2^64-1 bytes (offset 18446744073709551615 + size 512)",
        ),
        ("1,web,0,Read,0,4294967296,1", "the size is 4294967296 bytes, but one request has at most 4294967295 bytes"),
        ("1,web,0,Read,0,0,1", "the size is 0"),
        ("184467440737095517,web,0,Read,0,512,1", "the timestamp is `184467440737095517`"),
    ] {
        let path = folder.file("web.csv", format!("{LINE}{line}\n").as_bytes());
        says(&error(&path, &msr()), &path, &["line 2", part, "--skip-bad"]);
    }
}

#[test]
fn time_going_backwards() {
    let folder = Folder::new();
    let path = folder.file("web.csv", format!("{LINE}128166372003061628,web,0,Read,0,512,1\n").as_bytes());
    let parts = ["line 2: time goes back by 0.0001 ms", "--time-backwards sort:4096", "--time-backwards clamp"];
    says(&error(&path, &OpenOptions::default()), &path, &parts);
}

#[test]
fn several_devices_without_a_choice() {
    let folder = Folder::new();
    let path = folder.file("web.csv", format!("{LINE}{}", LINE.replace(",0,Read", ",1,Write").repeat(2)).as_bytes());
    let error = StackedDevices::open(&path, &OpenOptions::default(), &DeviceChoice::Only).unwrap_err().to_string();
    says(&error, &path, &["requests to 2 devices: web_0 (1 request), web_1 (2 requests)", "--trace-device stacked"]);
}

#[test]
fn nothing_is_written_where_it_cannot_be_and_nothing_half() {
    let folder = Folder::new();
    let good = folder.file("good.csv", LINE.as_bytes());
    let bad = folder.file("bad.csv", format!("{}x\n", LINE.repeat(300_000)).as_bytes());
    let absent = Path::new("/nowhere/at/all.parquet");
    let error = |from: &Path, to: &Path, target| convert(from, &msr(), to, target).unwrap_err().to_string();
    for target in [Target::Parquet, Target::Csv] {
        says(&error(&good, absent, target), absent, &["cannot be written", "nothing was left behind"]);
        let to = folder.0.path().join("out");
        says(&error(&bad, &to, target), &bad, &["line 300001"]);
        says(&error(&good, folder.0.path(), target), folder.0.path(), &["it is a folder"]);
        says(&error(&good, &good, target), &good, &["the trace that is being converted"]);
    }
    let mut names = folder.names();
    names.sort();
    assert_eq!(names, ["bad.csv", "good.csv"]);
    assert_eq!(fs::read_to_string(&good).unwrap(), LINE);
}

#[test]
fn a_target_is_replaced_whole_or_not_at_all() {
    let folder = Folder::new();
    let target = folder.file("out.parquet", b"what was there before");
    let bad = folder.file("bad.csv", format!("{LINE}x\n").as_bytes());
    convert(&bad, &msr(), &target, Target::Parquet).unwrap_err();
    assert_eq!(fs::read(&target).unwrap(), b"what was there before");
    let done = convert(&bad, &OpenOptions { skip_bad: true, ..msr() }, &target, Target::Parquet).unwrap();
    assert_eq!((done.requests, done.skipped, done.devices.as_slice()), (1, 1, &["web_0".to_owned()][..]));
    assert_eq!(open(&target, &OpenOptions::default()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn what_is_written_is_an_ordinary_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let good = folder.file("good.csv", LINE.as_bytes());
    let out = folder.0.path().join("out.csv");
    convert(&good, &msr(), &out, Target::Csv).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&out), mode(&good));
}
