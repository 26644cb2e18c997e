//! What the tests of all readers share: lines in, records out.

use host::{Hint, HostOp};

use crate::format::Format;
use crate::options::OpenOptions;
use crate::record::Record;
use crate::trace::{Trace, open_bytes};

/// What a trace of these bytes holds, read as `format`.
pub(crate) fn trace(format: Format, bytes: &[u8]) -> Trace {
    open_bytes("test", bytes, &OpenOptions::with_format(format)).unwrap()
}

/// All requests of a trace without errors, and its devices.
pub(crate) fn records(format: Format, text: &str) -> (Vec<Record>, Vec<String>) {
    let mut trace = trace(format, text.as_bytes());
    let records = trace.by_ref().collect::<Result<_, _>>().unwrap();
    (records, trace.devices().to_vec())
}

/// The first error of a trace.
pub(crate) fn error(format: Format, text: &str) -> String {
    trace(format, text.as_bytes()).find_map(Result::err).expect("an error").to_string()
}

/// Short for a record of the first device without a hint.
pub(crate) fn record(time_ns: u64, op: HostOp, offset: u64, length: u32) -> Record {
    Record { time_ns, op, offset, length, device: 0, hint: Hint::NONE }
}
