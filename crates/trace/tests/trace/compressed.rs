//! Compressed traces are read as they are, whatever they are called, and several members in a row
//! are one trace.

use std::io::Read;

use proptest::prelude::*;
use trace::{Format, OpenOptions, open_bytes};

type Encoder = fn(&[u8]) -> Vec<u8>;

/// Compressors by the names that errors have for them.
pub(crate) const ENCODERS: [(&str, Encoder); 4] = [
    ("gzip", |text| all(flate2::read::GzEncoder::new(text, flate2::Compression::default()))),
    ("bzip2", |text| all(bzip2::read::BzEncoder::new(text, bzip2::Compression::default()))),
    ("xz", |text| all(liblzma::read::XzEncoder::new(text, 6))),
    ("zstd", |text| zstd::encode_all(text, 3).unwrap()),
];

fn all(mut encoder: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoder.read_to_end(&mut bytes).unwrap();
    bytes
}

fn text(from: u64, to: u64) -> Vec<u8> {
    (from..to).flat_map(|n| format!("{n},R,{},4096,{n}\n", n * 4096).into_bytes()).collect()
}

fn requests(bytes: Vec<u8>) -> usize {
    let trace = open_bytes("trace", bytes, &OpenOptions::default()).unwrap();
    assert_eq!(trace.format, Format::Alibaba);
    trace.map(Result::unwrap).count()
}

#[test]
fn every_compression_is_read_by_its_magic() {
    for (_, encode) in ENCODERS {
        assert_eq!(requests(encode(&text(0, 50_000))), 50_000);
    }
}

#[test]
fn several_members_are_one_trace() {
    for (_, encode) in ENCODERS {
        // The cut is in the middle of a line, as a size-limited rotation would make it.
        let whole = text(0, 20_000);
        let (head, tail) = whole.split_at(whole.len() / 2 + 3);
        assert_eq!(requests([encode(head), encode(tail)].concat()), 20_000);
    }
}

#[test]
fn parquet_in_a_compressed_file_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let records = open_bytes("trace", text(0, 10), &OpenOptions::default()).unwrap();
    trace::write_parquet(records, &path).unwrap();
    for (name, encode) in ENCODERS {
        let packed = encode(&std::fs::read(&path).unwrap());
        let error = open_bytes("a.parquet", packed, &OpenOptions::default()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("compressed with {name} as a whole")) && error.contains("Decompress it"),
            "{error}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_to_a_stream_is_an_error_or_harmless_but_never_a_panic(
        which in 0..4_usize, at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()
    ) {
        let mut bytes = ENCODERS[which].1(&text(0, 3000));
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Ok(trace) = open_bytes("trace", bytes, &OpenOptions::with_format(Format::Alibaba)) {
            prop_assert!(trace.flatten().count() <= 3000);
        }
    }
}
