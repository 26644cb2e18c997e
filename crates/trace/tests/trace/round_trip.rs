//! What is written in our own formats is read back as it was; Parquet of other tools' making is
//! read too.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use trace::{Format, Hint, HostOp, OpenOptions, Record, Target, Trace, convert, open, write_parquet};

fn all(path: &Path) -> Vec<Record> {
    open(path, &OpenOptions::default()).unwrap().map(Result::unwrap).collect()
}

/// Any workload that a reader could have read: times from 0 and in order, no empty request but
/// flushes, no overflow.
fn workload() -> impl Strategy<Value = Vec<Record>> {
    let offset = prop_oneof![0..1_u64 << 40, Just(0), Just(u64::MAX - u64::from(u32::MAX))];
    let length = prop_oneof![1..=1_u32 << 20, Just(u32::MAX), Just(1)];
    let gap = prop_oneof![0..1_000_000_u64, Just(0), Just(1 << 50)];
    let request = (gap, 0..4_u8, offset, length, 0..5_u32, any::<[u8; 3]>());
    prop::collection::vec(request, 1..300).prop_map(|requests| {
        let mut time_ns = 0;
        let record = |(index, (gap, op, offset, length, device, hints)): (usize, (_, _, _, _, _, [u8; 3]))| {
            let [stream, temperature, file_type] = hints;
            time_ns += if index == 0 { 0 } else { gap };
            let op = [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::Flush][usize::from(op)];
            let (offset, length) = if op == HostOp::Flush { (0, 0) } else { (offset, length) };
            Record { time_ns, op, offset, length, device, hint: Hint::new(stream, temperature, file_type) }
        };
        requests.into_iter().enumerate().map(record).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parquet_and_csv_give_back_what_was_written(records in workload()) {
        let folder = tempfile::tempdir().unwrap();
        let (first, csv, second) =
            (folder.path().join("a.parquet"), folder.path().join("b.csv"), folder.path().join("c.parquet"));
        let count = write_parquet(records.iter().copied().map(Ok), &first).unwrap();
        prop_assert_eq!(count, records.len() as u64);
        prop_assert_eq!(&all(&first), &records);
        convert(&first, &OpenOptions::default(), &csv, Target::Csv).unwrap();
        convert(&csv, &OpenOptions::default(), &second, Target::Parquet).unwrap();
        // Text names devices, so they are numbered anew in order of first appearance; their names
        // tell which is which.
        let named = |path: &Path| -> Vec<(Record, String)> {
            let mut trace = open(path, &OpenOptions::default()).unwrap();
            let mut named = Vec::new();
            while let Some(record) = trace.next() {
                let record = record.unwrap();
                named.push((Record { device: 0, ..record }, trace.devices()[record.device as usize].clone()));
            }
            named
        };
        prop_assert_eq!(named(&csv), named(&first));
        prop_assert_eq!(named(&second), named(&first));
    }
}

#[test]
fn many_row_groups_and_device_names_survive() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, parquet) = (folder.path().join("a.csv"), folder.path().join("a.parquet"));
    let mut text = String::from("time_ns,op,offset,length,stream,device\n");
    for n in 0..300_000_u64 {
        let device = ["\"8,16\"", "sda", "\"a \"\"b\"\"\""][n as usize % 3];
        writeln!(text, "{},write,{},512,{},{device}", n * 1000, n * 512, n % 256).unwrap();
    }
    std::fs::write(&csv, text).unwrap();
    convert(&csv, &OpenOptions::default(), &parquet, Target::Parquet).unwrap();
    let mut trace = open(&parquet, &OpenOptions::default()).unwrap();
    assert_eq!(trace.format, Format::Parquet);
    let records: Vec<Record> = trace.by_ref().map(Result::unwrap).collect();
    assert_eq!(trace.devices(), ["8,16", "sda", "a \"b\""]);
    assert_eq!(records.len(), 300_000);
    assert!(records.iter().zip(0..).all(|(record, n)| record.time_ns == n * 1000
        && record.offset == n * 512
        && u64::from(record.hint.stream()) == n % 256
        && u64::from(record.device) == n % 3));
}

/// One of a row of writes.
fn record(n: u64) -> Record {
    let (op, hint) = (HostOp::Write, Hint::of_stream(2));
    Record { time_ns: n * 10, op, offset: n * 4096, length: 4096, device: 0, hint }
}

#[test]
fn a_generated_workload_can_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.parquet");
    let made = Trace::generated("made", (0..1000).map(record));
    assert_eq!(write_parquet(made, &path).unwrap(), 1000);
    assert_eq!(all(&path), (0..1000).map(record).collect::<Vec<_>>());
}

/// A Parquet file with these columns, as another tool might write it.
fn foreign(path: &Path, schema: &str, columns: &[Values]) {
    let file = std::fs::File::create(path).unwrap();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::default())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for column in columns {
        let mut writer = group.next_column().unwrap().unwrap();
        match column {
            Values::Wide(values) => writer.typed::<Int64Type>().write_batch(values, None, None).unwrap(),
            Values::Narrow(values) => writer.typed::<Int32Type>().write_batch(values, None, None).unwrap(),
            Values::Nullable(values) => {
                let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
                let there: Vec<i64> = values.iter().flatten().copied().collect();
                writer.typed::<Int64Type>().write_batch(&there, Some(&levels), None).unwrap()
            }
            Values::Real(values) => writer.typed::<DoubleType>().write_batch(values, None, None).unwrap(),
        };
        writer.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

enum Values {
    Wide(Vec<i64>),
    Narrow(Vec<i32>),
    Nullable(Vec<Option<i64>>),
    Real(Vec<f64>),
}

#[test]
fn other_widths_orders_and_extra_columns_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign.parquet");
    let schema = "message m { optional int64 offset; required double latency; required int64 op; required int32 length; required int64 time_ns; }";
    let columns = [
        Values::Nullable(vec![Some(4096), Some(8192)]),
        Values::Real(vec![0.5, 0.25]),
        Values::Wide(vec![1, 0]),
        Values::Narrow(vec![512, 1024]),
        Values::Wide(vec![100, 300]),
    ];
    foreign(&path, schema, &columns);
    let record = |time_ns, op, offset, length| Record { time_ns, op, offset, length, device: 0, hint: Hint::NONE };
    assert_eq!(all(&path), [record(0, HostOp::Write, 4096, 512), record(200, HostOp::Read, 8192, 1024)]);
}

#[test]
fn bad_columns_and_rows_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign.parquet");
    let error = |schema: &str, columns: &[Values]| {
        foreign(&path, schema, columns);
        match open(&path, &OpenOptions::default()) {
            Err(error) => error.to_string(),
            Ok(mut trace) => trace.find_map(Result::err).unwrap().to_string(),
        }
    };
    let schema =
        "message m { required int64 time_ns; required int64 op; required int64 offset; optional int64 length; }";
    let rows = |op: i64, offset: i64, length: Option<i64>| {
        error(
            schema,
            &[
                Values::Wide(vec![0, 5]),
                Values::Wide(vec![0, op]),
                Values::Wide(vec![0, offset]),
                Values::Nullable(vec![Some(512), length]),
            ],
        )
    };
    assert!(rows(4, 0, Some(512)).contains("row 1: op is 4; expected 0 read, 1 write"), "{}", rows(4, 0, Some(512)));
    assert!(rows(1, -5, Some(512)).contains("row 1: offset is -5; expected a number that is not negative"));
    assert!(rows(1, 0, None).contains("row 1: length is null"));
    assert!(rows(1, 0, Some(0)).contains("row 1: the size is 0"));
    let missing = error("message m { required int64 time_ns; }", &[Values::Wide(vec![0])]);
    assert!(missing.contains("there is no column op") && missing.contains("columns time_ns"), "{missing}");
    let real =
        "message m { required double time_ns; required int64 op; required int64 offset; required int64 length; }";
    let real =
        error(real, &[Values::Real(vec![0.0]), Values::Wide(vec![0]), Values::Wide(vec![0]), Values::Wide(vec![1])]);
    assert!(real.contains("the column time_ns has the type DOUBLE; expected integers"), "{real}");
    let first = |time: &str, op: &str, ops: Values| {
        let schema = format!("message m {{ {time}; {op}; required int64 offset; required int64 length; }}");
        error(&schema, &[Values::Wide(vec![0]), ops, Values::Wide(vec![0]), Values::Wide(vec![1])])
    };
    let (plain, op) = ("required int64 time_ns", "required int64 op");
    let date = first("required int64 time_ns (TIMESTAMP(MICROS, true))", op, Values::Wide(vec![0]));
    assert!(date.contains("the column time_ns has the type Timestamp; expected plain integers"), "{date}");
    let words = first(plain, "required double op", Values::Real(vec![0.0]));
    assert!(words.contains("the column op has the type DOUBLE; expected integers: 0 read, 1 write"), "{words}");
}

#[test]
fn a_damaged_file_is_an_error_wherever_it_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    write_parquet((0..5000).map(record).map(Ok), &path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for kept in [4, 8, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..kept]).unwrap();
        let error = open(&path, &OpenOptions::default()).map(Iterator::count).unwrap_err().to_string();
        assert!(error.contains("a.parquet") && error.contains("cut short or damaged"), "{error}");
    }
}
