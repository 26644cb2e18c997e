//! How fast traces are read: MB of trace (decompressed text, for text) per second and core, every
//! reader on synthetic lines of its own format, from memory, to the last check of a record.
//!
//! Aim: 150 MB/s for every text format. `cargo bench -p ftlkit-trace --bench parse` measures; run
//! as a test, each reader reads a small input once. Before anything is measured, a hash of all
//! requests is printed for each format: it must not change when a reader is made faster.

extern crate ftlkit_trace as trace;

use std::io::Write;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::BytesCount;
use random::SeededRng;
use trace::{Format, OpenOptions, Record, Statistics, open_bytes};

/// Bytes of text when measuring, and when run as a test.
const MEASURED: usize = 16 << 20;
const TINY: usize = 16 << 10;

fn is_measuring() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

fn main() {
    for case in cases() {
        println!(
            "{case:>16}: {} requests, hash {:016x}",
            read(&case.text, &case.options).0,
            read(&case.text, &case.options).1
        );
    }
    divan::main();
}

/// A format and a trace in it.
#[derive(Clone)]
struct Case {
    name: &'static str,
    text: Arc<[u8]>,
    options: OpenOptions,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name)
    }
}

/// One request of a busy server with a few devices: a line or a record of each format is made from
/// it.
struct SampleRequest {
    number: u64,
    /// Hundreds of nanoseconds since the start.
    ticks: u64,
    is_read: bool,
    sector: u64,
    sectors: u64,
    device: u64,
}

/// Adds a line of a format, if there is one here.
fn line(format: Format, request: &SampleRequest, out: &mut Vec<u8>) {
    let SampleRequest { number, ticks, is_read, sector, sectors, device } = *request;
    let (offset, size) = (sector * 512, sectors * 512);
    let letter = if is_read { "R" } else { "W" };
    let word = if is_read { "Read" } else { "Write" };
    let one_for_read = u8::from(is_read);
    let (s, ns) = (ticks / 10_000_000, ticks % 10_000_000 * 100);
    let text = match format {
        Format::Msr => {
            format!("{},hm,{device},{word},{offset},{size},{}", 128_166_385_295_514_663 + ticks, 900 + size / 8)
        }
        Format::Spc => format!("{device},{sector},{size},{letter},{s}.{:06}", ns / 1000),
        Format::Systor17 => format!("{}.{ns:09},0.000422000,{letter},{device},{offset},{size}", 1_455_592_511 + s),
        Format::Alibaba => format!("{device},{letter},{offset},{size},{}", 1_577_808_000_000_046 + ticks / 10),
        Format::Tencent => format!("{},{sector},{sectors},{},{}", 1_538_323_200 + s, u8::from(!is_read), 1063 + device),
        Format::Fiu => {
            format!(
                "{} 4892 syslogd {sector} {sectors} {letter} 6 {device} 0fe9e2a1b9d6ae0d42c8d4a7a5b4b1a3",
                ticks * 100
            )
        }
        Format::Etw => format!(
            "{:>20}, {:>12}, {:>22}, {:>10}, 0xfffffa800{number:08x}, 0x{offset:09x}, 0x{size:08x}, {:>11}, {device:>8}, 0x060043, 321, 0, Original, 0x0, \"unknown\"",
            format!("Disk{word}"),
            ticks / 10,
            "System (   4)",
            64,
            321
        ),
        Format::Blkparse => {
            format!(
                "  8,{device:<5} {}  {number:>8} {s:>5}.{ns:09} {:>5}  Q   {letter} {sector} + {sectors} [java]",
                number % 4,
                3645
            )
        }
        Format::Ftrace => format!(
            "  java-3645 [000] d..1. {s:>5}.{:06}: block_rq_issue: 8,{device} {letter} {size} () {sector} + {sectors} [java]",
            ns / 1000
        ),
        Format::Fio => format!("{} /dev/nvme{device}n1 {} {offset} {size}", ticks / 10, word.to_lowercase()),
        Format::Disksim => {
            format!("{}.{:06}\t{device}\t{sector}\t{sectors}\t{one_for_read}", ticks / 10_000, ticks % 10_000 * 100)
        }
        Format::Ssdsim | Format::Mqsim => format!("{} {device} {sector} {sectors} {one_for_read}", ticks * 100),
        Format::LibcachesimCsv => format!("1,{},{},{size},{sector}", 33_898 + s, if is_read { "28" } else { "2a" }),
        Format::Csv => format!("{},{},{offset},{size},0,hm_{device}", ticks * 100, word.to_lowercase()),
        _ => return,
    };
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

/// A trace of about `size` bytes; nothing of a format without a line here.
fn text(format: Format, size: usize) -> Vec<u8> {
    let mut rng = SeededRng::new(1);
    let mut out = Vec::with_capacity(size + 200);
    if format == Format::Fio {
        out.extend_from_slice(b"fio version 3 iolog\n");
    }
    let (mut ticks, mut number) = (0, 0);
    while out.len() < size {
        ticks += rng.below(20_000);
        let request = SampleRequest {
            number,
            ticks,
            is_read: rng.below(3) == 0,
            sector: rng.below(1 << 27),
            sectors: 8 << rng.below(5),
            device: rng.below(4),
        };
        let before = out.len();
        if format == Format::Vscsi {
            vscsi(&request, &mut out);
        } else {
            line(format, &request, &mut out);
        }
        if out.len() == before {
            return Vec::new();
        }
        number += 1;
    }
    out
}

fn vscsi(request: &SampleRequest, out: &mut Vec<u8>) {
    let command = if request.is_read { 0x28_u16 } else { 0x2a };
    out.extend([request.number as u32, request.sectors as u32 * 512, 1].map(u32::to_le_bytes).concat());
    out.extend([command, 0x0100].map(u16::to_le_bytes).concat());
    out.extend([request.sector, request.ticks / 10].map(u64::to_le_bytes).concat());
}

fn cases() -> Vec<Case> {
    let size = if is_measuring() { MEASURED } else { TINY };
    let case = |format: Format| Case {
        name: format.name(),
        text: text(format, size).into(),
        options: OpenOptions::with_format(format),
    };
    let columns = "time:100ns, -, device, op, offset:B, size:B, ...".parse().expect("columns");
    let named = Case {
        name: "columns",
        text: text(Format::Msr, size).into(),
        options: OpenOptions { columns: Some(columns), ..OpenOptions::default() },
    };
    Format::ALL.iter().copied().map(case).filter(|case| !case.text.is_empty()).chain([named]).collect()
}

/// Number and hash (FNV-1a over all fields) of the requests.
fn read(text: &Arc<[u8]>, options: &OpenOptions) -> (u64, u64) {
    let trace = open_bytes("bench", Arc::clone(text), options).expect("the bench's own trace can be opened");
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut count = 0;
    for record in trace {
        let Record { time_ns, op, offset, length, device, hint } = record.expect("the bench's own trace can be read");
        let rest = u64::from(length) << 32 | u64::from(device) << 16 | (op as u64) << 8 | u64::from(hint.stream());
        for word in [time_ns, offset, rest] {
            hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        }
        count += 1;
    }
    (count, hash)
}

#[divan::bench(args = cases(), sample_count = 9, sample_size = 1)]
fn parse(bencher: Bencher, case: &Case) {
    bencher.counter(BytesCount::new(case.text.len())).bench(|| read(&case.text, &case.options));
}

/// Statistics on top of reading: what `trace info` does.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn msr_with_statistics(bencher: Bencher) {
    let text: Arc<[u8]> = text(Format::Msr, if is_measuring() { MEASURED } else { TINY }).into();
    let options = OpenOptions::with_format(Format::Msr);
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        let mut trace = open_bytes("bench", Arc::clone(&text), &options).expect("the bench's own trace can be opened");
        Statistics::of_trace(&mut trace).expect("the bench's own trace can be read")
    });
}

/// Decompressing and reading; MB of text.
#[divan::bench(args = ["gzip", "zstd"], sample_count = 5, sample_size = 1)]
fn msr_compressed(bencher: Bencher, compression: &str) {
    let text = text(Format::Msr, if is_measuring() { MEASURED } else { TINY });
    let packed: Arc<[u8]> = if compression == "gzip" {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&text).and_then(|()| encoder.finish()).expect("memory can be written").into()
    } else {
        zstd::encode_all(&text[..], 3).expect("memory can be read").into()
    };
    let options = OpenOptions::with_format(Format::Msr);
    bencher.counter(BytesCount::new(text.len())).bench(|| read(&packed, &options));
}

/// Our own columns; MB of the file.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn parquet(bencher: Bencher) {
    let text: Arc<[u8]> = text(Format::Msr, if is_measuring() { MEASURED } else { TINY }).into();
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("bench.parquet");
    let trace = open_bytes("bench", text, &OpenOptions::with_format(Format::Msr)).expect("the bench's own trace");
    trace::write_parquet(trace, &path).expect("a temporary file can be written");
    let file: Arc<[u8]> = std::fs::read(&path).expect("the file just written").into();
    let options = OpenOptions::with_format(Format::Parquet);
    bencher.counter(BytesCount::new(file.len())).bench(|| read(&file, &options));
}
