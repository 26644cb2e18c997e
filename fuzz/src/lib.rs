//! What every fuzz target does with its bytes: reads them to the end, under cautious and under
//! lenient options, and checks that whatever comes out is what a record promises. A reader may
//! refuse anything; it may not panic, hang, or grow. The same for what a client of the live device
//! says.

use std::sync::LazyLock;

use live::nbd::{self, Command, Export, Header, MAX_PAYLOAD_BYTES, Outcome, Security};
use trace::{DeviceChoice, StackedDevices, Format, HostOp, OpenOptions, TimeBackwards, open_bytes};

/// Requests after which an input is left: a few bytes can decompress to millions of lines, which
/// finds nothing new.
const ENOUGH: usize = 20_000;

/// The format that `FTLKIT_FUZZ_FORMAT` names.
///
/// # Panics
///
/// If it is not set, or names none.
pub fn format_asked_for() -> Format {
    static FORMAT: LazyLock<Format> = LazyLock::new(|| {
        let name = std::env::var("FTLKIT_FUZZ_FORMAT").expect("FTLKIT_FUZZ_FORMAT names a format, as --format does");
        name.parse().expect("FTLKIT_FUZZ_FORMAT names a format that is known")
    });
    *FORMAT
}

/// Reads `bytes` as `format`, or as what they are guessed to be.
pub fn read(format: Option<Format>, bytes: &[u8]) {
    let cautious = OpenOptions { format, ..OpenOptions::default() };
    drain(bytes, &cautious);
    let clamp =
        OpenOptions { skip_bad: true, time_backwards: TimeBackwards::Clamp, shift_bytes: 512, ..cautious.clone() };
    drain(bytes, &clamp);
    drain(bytes, &OpenOptions { time_backwards: TimeBackwards::Sort { window: 3 }, ..clamp });
}

/// Lets a panic be caught where the reader means to catch it. libFuzzer's own hook ends the process
/// at any panic; without it, one that nobody catches still does, when it reaches the fuzzer's C
/// code.
pub fn let_panics_be_caught() {
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
}

fn drain(bytes: &[u8], options: &OpenOptions) {
    let mut trace = match open_bytes("fuzz", bytes, options) {
        Ok(trace) => trace,
        Err(error) => return legible(&error.to_string()),
    };
    let mut latest_ns = 0;
    for _ in 0..ENOUGH {
        match trace.next() {
            None => return,
            Some(Err(error)) => {
                assert!(trace.next().is_none(), "a trace goes on after an error");
                return legible(&error.to_string());
            }
            Some(Ok(record)) => {
                assert!(record.offset.checked_add(u64::from(record.length)).is_some(), "{record:?} overflows");
                assert!(record.length > 0 || record.op == HostOp::Flush, "{record:?} is empty");
                assert!(record.time_ns >= latest_ns, "{record:?} is before {latest_ns}");
                assert!((record.device as usize) < trace.devices().len(), "{record:?} has no device");
                latest_ns = record.time_ns;
            }
        }
    }
}

/// An error is text that a terminal can show: no control characters but the ends of its lines, and
/// not endless.
fn legible(error: &str) {
    assert!(error.chars().all(|character| character == '\n' || !character.is_control()), "{error:?}");
    assert!(error.len() < 20_000, "an error of {} bytes", error.len());
}

/// Guesses, surveys and lays out `bytes`.
pub fn lay_out(bytes: &[u8]) {
    read(None, bytes);
    // The survey reads to the end, so what decompresses is left to the other targets.
    if bytes.starts_with(b"\x1f\x8b")
        || bytes.starts_with(b"\x28\xb5")
        || bytes.starts_with(b"\xfd7z")
        || bytes.starts_with(b"BZh")
    {
        return;
    }
    let options = OpenOptions { skip_bad: true, time_backwards: TimeBackwards::Clamp, ..OpenOptions::default() };
    let Ok(flat) = StackedDevices::open_bytes("fuzz", bytes, &options, &DeviceChoice::Stacked) else { return };
    let mut count = 0;
    for record in flat.records().expect("what was surveyed can be opened again") {
        let record = record.expect("what was surveyed can be read again");
        assert!(record.end() <= flat.facts().end_byte, "{record:?} is beyond the address space");
        count += 1;
    }
    assert_eq!(count, flat.facts().requests);
}

/// Lets a client say `bytes`. Its first one chooses the server: with certificates or without,
/// read-only or not.
pub fn talk(bytes: &[u8]) {
    let Some((choice, mut said)) = bytes.split_first() else { return };
    let export =
        Export { bytes: 1 << 30, page_bytes: 4096, is_read_only: choice & 1 != 0, description: "fuzz".into() };
    let security = if choice & 2 != 0 { Security::TlsRequired } else { Security::Plain };
    let mut heard = Vec::new();
    let Ok(no_zeroes) = nbd::greet(&mut said, &mut heard) else { return };
    let mut outcome = nbd::negotiate(&mut said, &mut heard, &export, security, no_zeroes, &mut || Ok(()));
    if matches!(outcome, Ok(Outcome::StartTls)) {
        assert_eq!(security, Security::TlsRequired, "TLS without certificates");
        outcome = nbd::negotiate(&mut said, &mut heard, &export, Security::Encrypted, no_zeroes, &mut || Ok(()));
    }
    assert!(heard.len() < 1 << 20, "{} bytes of answers", heard.len());
    let Ok(Outcome::Transmission(agreed)) = outcome else { return };
    while let Ok(Some(header)) = Header::read(&mut said) {
        let Ok(command) = nbd::check(&header, &export, agreed) else { continue };
        match command {
            Command::Disconnect => return,
            Command::Flush => continue,
            Command::Write { .. } | Command::Trim { .. } | Command::WriteZeroes { .. } => {
                assert!(!export.is_read_only, "{header:?} writes");
            }
            Command::Read { in_one_piece } => assert!(agreed.structured || in_one_piece, "{header:?}"),
            Command::BlockStatus { .. } => assert!(agreed.base_allocation && header.length > 0, "{header:?}"),
            Command::Cache => {}
        }
        let end = header.offset.checked_add(header.length.into());
        assert!(end.is_some_and(|end| end <= export.bytes), "{header:?} does not lie on the device");
        let carried = if matches!(command, Command::Read { .. }) { header.length } else { header.payload_bytes() };
        assert!(carried <= MAX_PAYLOAD_BYTES, "{header:?} carries {carried} bytes");
        said = said.get(header.payload_bytes() as usize..).unwrap_or_default();
    }
}
