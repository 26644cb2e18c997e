//! No bytes make a reader panic, hang or grow. The fuzz targets look harder; this runs everywhere.

use proptest::prelude::*;
use trace::{DeviceChoice, Format, OpenOptions, StackedDevices, TimeBackwards, TimeUnit, open_bytes};

/// Pieces that get a generated line past a reader's first checks.
const PIECES: [&str; 40] = [
    ",",
    " ",
    "\t",
    "\n",
    "\r\n",
    "0",
    "1",
    "512",
    "4096",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "0x10",
    "1.5",
    "1e300",
    "1e-5",
    ".",
    "R",
    "W",
    "Read",
    "Write",
    "read",
    "write",
    "trim",
    "sync",
    "wait",
    "hm",
    "8,16",
    "+",
    "Q",
    "D",
    "DiskRead",
    "BeginHeader\n",
    "EndHeader\n",
    "fio version 2 iolog\n",
    "fio version 3 iolog\n",
    "System ( 4)",
    "2a",
    "\"",
    "\u{feff}",
];

/// Lines that each format understands; damage starts from these.
const GOOD: &str = "128166385295514663,hm,0,Write,9056014336,2048,2833\n0,303567,3584,w,0.000000\n\
1455592511.002033000,0.000422000,W,2,25770000384,4096\n419,W,8792731648,16384,1577808000000046\n\
1538323200,12910952,128,0,1063\n89966899082916 4892 syslogd 904265560 8 W 6 0 0fe9e2a1b9d6ae0d\n\
DiskWrite, 1200, System (   4), 0, 0xfffffa800, 0x000001ff000, 0x00001000, 321, 0, 0x060043\n\
8,0 1 1 0.000000000 697 Q W 223490 + 8 [kjournald]\n13.191135 30 0 5 1\n1000 4 264719034 16 0\n1,500,2a,512,1000\n\
5,write,0,4096,3,\"8,16\"\n";

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let pieces =
        prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60).prop_map(|pieces| pieces.concat().into_bytes());
    let damaged = (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..8)).prop_map(|(at, put)| {
        let mut text = GOOD.as_bytes().to_vec();
        let at = at.index(text.len());
        text.splice(at..(at + put.len() / 2).min(text.len()), put);
        text
    });
    prop_oneof![prop::collection::vec(any::<u8>(), 0..600), pieces, damaged]
}

fn options() -> impl Strategy<Value = OpenOptions> {
    let order = prop_oneof![
        Just(TimeBackwards::Refuse),
        Just(TimeBackwards::Clamp),
        (1..20_usize).prop_map(|window| TimeBackwards::Sort { window })
    ];
    let unit = prop::option::of(prop::sample::select(vec![TimeUnit::Ns, TimeUnit::HundredNs, TimeUnit::S]));
    let shift = prop_oneof![Just(0), Just(512), any::<u64>()];
    (any::<bool>(), order, unit, shift).prop_map(|(skip_bad, time_backwards, time_unit, shift_bytes)| OpenOptions {
        skip_bad,
        time_backwards,
        time_unit,
        shift_bytes,
        ..OpenOptions::default()
    })
}

/// Reads everything; what comes out must be what a record promises.
fn read(bytes: &[u8], options: &OpenOptions) -> Result<(), TestCaseError> {
    let Ok(mut trace) = open_bytes("bytes", bytes, options) else { return Ok(()) };
    let mut latest_ns = 0;
    let mut requests = 0;
    while let Some(record) = trace.next() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let text = error.to_string();
                prop_assert!(text.chars().all(|character| character == '\n' || !character.is_control()), "{:?}", text);
                break;
            }
        };
        prop_assert!(record.offset.checked_add(u64::from(record.length)).is_some());
        prop_assert!(record.length > 0 || record.op == trace::HostOp::Flush);
        prop_assert!(record.time_ns >= latest_ns && (requests > 0 || record.time_ns == 0));
        prop_assert!((record.device as usize) < trace.devices().len());
        latest_ns = record.time_ns;
        requests += 1;
    }
    prop_assert!(trace.next().is_none());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in bytes(), options in options()) {
        for &format in Format::ALL {
            read(&bytes, &OpenOptions { format: Some(format), ..options.clone() })?;
        }
    }

    #[test]
    fn no_bytes_make_the_guess_or_the_survey_panic(bytes in bytes(), options in options()) {
        read(&bytes, &options)?;
        for choice in [DeviceChoice::Only, DeviceChoice::Stacked, DeviceChoice::Named("0".into())] {
            if let Ok(flat) = StackedDevices::open_bytes("bytes", &bytes[..], &options, &choice) {
                let records: Vec<_> = flat.records().unwrap().map(Result::unwrap).collect();
                prop_assert_eq!(records.len() as u64, flat.facts().requests);
                prop_assert!(records.iter().all(|record| record.device == 0));
                let end = records.iter().map(trace::Record::end).max();
                prop_assert_eq!(end.unwrap_or(0), flat.facts().end_byte);
            }
        }
    }
}
