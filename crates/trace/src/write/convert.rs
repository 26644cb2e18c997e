//! Any trace into one of our own formats.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::draft::Draft;
use super::target::Target;
use crate::error::TraceError;
use crate::format::Format;
use crate::options::OpenOptions;
use crate::trace::{Trace, open};

/// What a conversion did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conversion {
    /// What the trace was read as.
    pub format: Format,
    /// Requests written.
    pub requests: u64,
    /// Names of the devices.
    pub devices: Vec<String>,
    /// Bad records left out.
    pub skipped: u64,
    /// Rows that do not meet the conditions, left out.
    pub unmet: u64,
    /// Requests held at the latest time seen.
    pub clamped: u64,
    /// Requests put in order.
    pub sorted: u64,
    /// What else was left out, by kind.
    pub left_out: BTreeMap<String, u64>,
}

/// Converts the trace at `from` to `to`, which is replaced if it is there. All devices are kept,
/// with their names.
pub fn convert(from: &Path, options: &OpenOptions, to: &Path, target: Target) -> Result<Conversion, TraceError> {
    let done = convert_while(from, options, to, target, || true)?;
    Ok(done.expect("a conversion that is always told to go on goes on to its end"))
}

/// The same, asking `go_on` before each request; when told to stop it leaves nothing behind and
/// returns none.
pub fn convert_while(
    from: &Path,
    options: &OpenOptions,
    to: &Path,
    target: Target,
    mut go_on: impl FnMut() -> bool,
) -> Result<Option<Conversion>, TraceError> {
    if let (Ok(source), Ok(existing)) = (from.canonicalize(), to.canonicalize())
        && source == existing
    {
        return Err(TraceError::write(to, "it is the trace that is being converted; name another file"));
    }
    let mut trace = open(from, options)?;
    let draft = Draft::new(to)?;
    let failed = |error: std::io::Error| TraceError::write(to, error);
    let mut sink = target.sink(draft.writer()?).map_err(failed)?;
    let mut requests = 0;
    while let Some(record) = trace.next() {
        if !go_on() {
            return Ok(None);
        }
        sink.write(&record?, trace.devices()).map_err(failed)?;
        requests += 1;
    }
    let writer = sink.finish(trace.devices()).map_err(failed)?;
    draft.finish(writer)?;
    Ok(Some(Conversion::of(&trace, requests)))
}

impl Conversion {
    fn of(trace: &Trace, requests: u64) -> Self {
        Self {
            format: trace.format,
            requests,
            devices: trace.devices().to_vec(),
            skipped: trace.skipped(),
            unmet: trace.unmet(),
            clamped: trace.clamped(),
            sorted: trace.sorted(),
            left_out: trace.left_out(),
        }
    }
}
