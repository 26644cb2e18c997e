//! Traces that grow while their requests come: what an interruption leaves of them, and what they
//! leave alone.

use std::path::Path;

use trace::{Hint, HostOp, OpenOptions, Record, Recording, Trace, open, open_bytes};

/// Some requests of every kind.
fn requests(count: u64) -> Vec<Record> {
    let ops = [HostOp::Write, HostOp::Read, HostOp::Trim, HostOp::Flush];
    let request = |n: u64| {
        let op = ops[(n % 4) as usize];
        let (offset, length) = if op == HostOp::Flush { (0, 0) } else { (n << 9, 512) };
        let hint = Hint::new(n as u8, 0, (n * 7) as u8);
        Record { time_ns: n * 1_001, op, offset, length, device: 0, hint }
    };
    (0..count).map(request).collect()
}

fn record(path: &Path, requests: &[Record]) -> Recording {
    let mut recording = Recording::create(path).expect("a new file");
    for request in requests {
        recording.push(request).expect("written");
    }
    recording.flush().expect("written");
    recording
}

fn all(trace: &mut Trace) -> Vec<Record> {
    trace.map(|record| record.expect("a record that can be used")).collect()
}

#[test]
fn a_recording_that_is_cut_anywhere_reads_up_to_its_last_whole_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = requests(12);
    for name in ["a.csv", "a.parquet"] {
        let recording = record(&folder.path().join(name), &requests);
        let grown = if name == "a.csv" { "a.csv" } else { "a.parquet.part.csv" };
        // As a kill leaves it, which runs no destructor.
        std::mem::forget(recording);
        let text = std::fs::read(folder.path().join(grown)).expect("what has grown");
        let first = text.iter().position(|&byte| byte == b'\n').expect("a header") + 1;
        let second = first + text[first..].iter().position(|&byte| byte == b'\n').expect("a record");
        for end in second..=text.len() {
            let mut trace = open_bytes(grown, &text[..end], &OpenOptions::default()).expect("a trace");
            // A record is whole once its device stands there; its end of line may lack.
            let lines = text[..end].split(|&byte| byte == b'\n').skip(1);
            let whole = lines.filter(|line| line.ends_with(b",0") && line.split(|&b| b == b',').count() == 8).count();
            assert_eq!(all(&mut trace), requests[..whole], "{grown}, the first {end} bytes");
            let left_out = trace.left_out().get("incomplete last line").copied().unwrap_or(0);
            let is_whole = text[..end].split(|&byte| byte == b'\n').count() - 2 < whole || text[end - 1] == b'\n';
            assert_eq!(left_out, u64::from(!is_whole), "{grown}, the first {end} bytes");
        }
    }
}

#[test]
fn a_recording_is_complete_when_it_is_finished() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = requests(3_000);
    for name in ["a.csv", "a.parquet"] {
        let path = folder.path().join(name);
        assert_eq!(record(&path, &requests).finish().expect("written"), 3_000);
        assert_eq!(all(&mut open(&path, &OpenOptions::default()).expect("a trace")), requests);
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2, "nothing else is left");
}

#[test]
fn a_recording_replaces_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, taken) in [("a.csv", "a.csv"), ("b.parquet", "b.parquet"), ("c.parquet", "c.parquet.part.csv")] {
        let taken = folder.path().join(taken);
        std::fs::write(&taken, "kept").expect("written");
        let error = Recording::create(&folder.path().join(name)).err().expect("refused").to_string();
        let says = |part: &str| error.contains(part);
        assert!(says(taken.to_str().expect("a name")) && says("there already") && says("name another"), "{error}");
        assert_eq!(std::fs::read(&taken).expect("still there"), b"kept");
    }
    let error = Recording::create(&folder.path().join("trace.txt")).err().expect("refused").to_string();
    assert!(error.contains("must end in .parquet or .csv"), "{error}");
    let error = Recording::create(&folder.path().join("absent").join("a.csv")).err().expect("refused").to_string();
    assert!(error.contains("Check that its folder"), "{error}");
}

#[test]
fn a_recording_without_requests_vanishes_with_whoever_began_it_and_stays_when_finished() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["a.csv", "a.parquet"] {
        let path = folder.path().join(name);
        drop(record(&path, &[]));
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
        assert_eq!(record(&path, &[]).finish().expect("written"), 0);
        assert!(path.exists());
        std::fs::remove_file(&path).expect("removed");
        drop(record(&path, &requests(1)));
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "requests are kept");
        std::fs::read_dir(folder.path()).expect("a folder").for_each(|entry| {
            std::fs::remove_file(entry.expect("an entry").path()).expect("removed");
        });
    }
}
