//! Conditions on the columns of a text (`--where`): the same for every format, each row left out
//! counted, nothing guessed.

use trace::{Conditions, DeviceChoice, Format, OpenOptions, Record, StackedDevices, Trace, open_bytes};

/// Events of an SSD simulator as a table: each request has a row when it is queued and one when it
/// is dispatched.
const EVENTS: &str = "time,kind,op,offset,size,device\n0,Q,W,0,4096,a\n1,D,W,0,4096,a\n2,Q,R,8192,4096,a\n2,x,SYNC,-,-,b\n3,D,R,8192,4096,a\n";
const COLUMNS: &str = "time:us, -, op, offset:B, size:B, device";

fn options(columns: Option<&str>, format: Option<Format>, conditions: &[&str]) -> OpenOptions {
    let conditions: Conditions = serde_json::from_value(serde_json::json!(conditions)).unwrap();
    OpenOptions { columns: columns.map(|text| text.parse().unwrap()), format, conditions, ..OpenOptions::default() }
}

fn read(text: &str, options: &OpenOptions) -> Result<(Vec<Record>, Trace), String> {
    let mut trace = open_bytes("t", text.as_bytes(), options).map_err(|error| error.to_string())?;
    let records = trace.by_ref().collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok((records, trace))
}

#[test]
fn rows_of_one_event_are_taken_by_the_file_s_own_heading() {
    let (records, trace) = read(EVENTS, &options(Some(COLUMNS), None, &["kind=D"])).unwrap();
    assert_eq!(records.iter().map(|record| record.offset).collect::<Vec<_>>(), [0, 8192]);
    assert_eq!((trace.unmet(), trace.skipped(), trace.left_out()["header line"]), (3, 0, 1));
    assert_eq!(trace.devices(), ["a"], "rows that are left out name no device");
}

#[test]
fn several_conditions_must_all_be_met() {
    for (conditions, count) in [
        (&["kind!=D", "op=R"][..], 1),
        (&["kind=D|Q", "op!=SYNC"], 4),
        (&["KIND=D", "op=W", "size=4096"], 1),
        (&["kind!=x"], 4),
    ] {
        let (records, _) = read(EVENTS, &options(Some(COLUMNS), None, conditions)).unwrap();
        assert_eq!(records.len(), count, "{conditions:?}");
    }
}

#[test]
fn a_column_named_in_the_description_needs_no_heading() {
    let text = "0 Q W 0 4096\n1 D W 0 4096\n";
    let (records, _) = read(text, &options(Some("time:us, -:kind, op, offset:B, size:B"), None, &["kind=D"])).unwrap();
    assert_eq!(records.len(), 1);
}

#[test]
fn an_unknown_column_names_the_columns_there_are() {
    let error = read(EVENTS, &options(Some(COLUMNS), None, &["typ=D"])).unwrap_err();
    for part in ["--where \"typ=D\"", "no column called typ", "time, op, offset, size, device, kind"] {
        assert!(error.contains(part), "no {part:?} in: {error}");
    }
    let msr = "1,h,0,Read,0,512,1\n";
    let error = read(msr, &options(None, None, &["kind=D"])).unwrap_err();
    assert!(error.contains("Timestamp, Hostname, DiskNumber, Type, Offset, Size, ResponseTime"), "{error}");
}

#[test]
fn conditions_that_no_row_meets_say_what_the_column_holds() {
    let error = read(EVENTS, &options(Some(COLUMNS), None, &["kind=C"])).unwrap_err();
    assert!(error.contains("of its rows 5 do not meet --where \"kind=C\"; the column kind holds Q, D, x"), "{error}");
}

#[test]
fn every_text_format_has_columns_to_name() {
    for (format, text, condition, count) in [
        (Format::Msr, "1,h,0,Read,0,512,1\n2,g,0,Read,0,512,1\n", "Hostname=g", 1),
        (Format::Spc, "0,0,512,w,0.0\n1,0,512,r,0.1\n", "opcode=r", 1),
        (Format::Fiu, "1 7 a 0 8 W 6 0 m\n2 8 b 0 8 W 6 0 m\n", "process!=a", 1),
        (Format::Fio, "fio version 2 iolog\nf add\nf write 0 512\ng write 0 512\n", "file=f", 1),
        (Format::Fio, "fio version 3 iolog\n1 f add\n2 f write 0 512\n3 g write 0 512\n", "file=f", 1),
        (Format::Ssdsim, "0 0 1 8 1\n1 0 1 8 0\n", "operation=0", 1),
        (
            Format::Etw,
            "DiskRead, 5, a, b (4), 0, 0x1, 0x0, 0x200, 1, 0\nDiskRead, 6, c (5), 0, 0x1, 0x0, 0x200, 1, 0\n",
            "process=a, b (4)",
            1,
        ),
        (
            Format::Biosnoop,
            "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n0.1 Chrome IO W 7 sda W 8 512 0.1 0.2\n0.2 sh 8 sda W 8 512 0.1 0.2\n",
            "comm=Chrome IO W",
            1,
        ),
        (
            Format::Blkparse,
            "8,0 1 1 0.0 697 Q W 8 + 8 [k]\n8,0 1 2 0.1 698 Q R 8 + 8 [k]\n8,0 1 3 0.2 697 D W 8 + 8 [k]\n",
            "rwbs=R",
            1,
        ),
    ] {
        let (records, trace) = read(text, &options(None, Some(format), &[condition])).unwrap();
        assert_eq!((records.len(), trace.unmet()), (count, 1), "{format} {condition}");
    }
}

#[test]
fn a_trace_laid_out_counts_what_was_left_out() {
    let options = options(Some(COLUMNS), None, &["kind=Q"]);
    let flat = StackedDevices::open_bytes("t", EVENTS.as_bytes(), &options, &DeviceChoice::Only).unwrap();
    assert_eq!((flat.facts().requests, flat.facts().unmet, flat.facts().devices.len()), (2, 3, 1));
    assert_eq!(flat.records().unwrap().count(), 2);
}

#[test]
fn binary_traces_take_no_conditions() {
    let error = open_bytes("t", &b"PAR1"[..], &options(None, None, &["op=1"])).unwrap_err().to_string();
    assert!(error.contains("--where") && error.contains("t is read as parquet"), "{error}");
}
