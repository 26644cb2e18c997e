//! Traces of a fleet, taken apart by volume: one pass over all of them, in bounded memory.
//!
//! ```text
//!   traces ── requests ──┬─ volume a ─┐   a run whenever     ┌─ volumes/volume=a/00000.parquet
//!                        ├─ volume b ─┼── memory is full  ───┼─ volumes/volume=b/00000.parquet
//!                        └─ volume c ─┘   (.split/00000)     └─ volumes/volume=b/00001.parquet …
//! ```
//!
//! The pass packs the requests of each volume ([`RecordPacker`]) and spills all of them as a *run*
//! ([`run`]) when they take as many bytes as allowed. A run is whole or absent and says how far the
//! pass was, so a killed split goes on from its runs: it skips the requests that they hold. Then
//! each volume is put together from all runs ([`volume`]), one after the other, or small ones of
//! many together; a line of a journal says that it is done.
//!
//! Time may go back in a trace from one volume to another, but not within one. Traces go in order
//! of their first requests, so that a volume of several traces stays sorted.
//! Traces that both have a volume at one time could mean one volume or two: they are refused.
//!
//! Limits: beside the packed requests, memory holds some 200 bytes per volume, and in the end the
//! indexes of all runs and the bitmaps of one volume's pages. The folder takes as many bytes again
//! for the runs until the last volume is done.

mod inputs;
mod limits;
mod run;
mod volume;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::TraceError;
use crate::format::Format;
use crate::options::OpenOptions;
use crate::packed_records::RecordPacker;
use crate::record::Record;
use crate::stacked_devices::StackedDevices;
use crate::trace::Trace;
use crate::write::Conversion;
use inputs::Inputs;
pub use limits::SplitLimits;
use run::{Run, RunIndex, Segment};

/// The folder of runs and of the journal, inside that of the split.
const WORK: &str = ".split";

/// What memory a volume takes beside its requests, bytes.
const VOLUME_BYTES: usize = 200;

/// What a split read.
#[derive(Clone, Debug, Serialize)]
pub struct Split {
    /// What all traces are read as.
    pub format: Format,
    /// Volumes written.
    pub volumes: u64,
    /// Each trace that has requests, in the order in which they were read.
    pub traces: Vec<SplitTrace>,
    /// Traces without a request.
    pub without_requests: Vec<PathBuf>,
}

/// A trace of a split.
#[derive(Clone, Debug, Serialize)]
pub struct SplitTrace {
    /// Its path.
    pub path: PathBuf,
    /// What was read and left out; without the names of its devices.
    #[serde(flatten)]
    pub read: Conversion,
}

/// Splits `traces` by volume into `folder`, or goes on with it. `watch` is told a stage, how much
/// of it is done, and of how much, 0 while that is unknown; when it says no, the split stops and
/// returns none. The same call goes on from there.
pub fn split_while(
    traces: &[PathBuf],
    options: &OpenOptions,
    folder: &Path,
    limits: SplitLimits,
    mut watch: impl FnMut(&'static str, u64, u64) -> bool,
) -> Result<Option<Split>, TraceError> {
    let work = folder.join(WORK);
    std::fs::create_dir_all(&work).map_err(|error| TraceError::write(&work, error))?;
    let inputs = Inputs::of(traces, options)?;
    let Some(runs) = gather(&inputs, &work, limits, &mut watch)? else { return Ok(None) };
    let Some(volumes) = volume::write_all(folder, &work, &runs, limits, &mut watch)? else {
        return Ok(None);
    };
    let finished = runs.into_iter().next_back().map(|run| run.index.finished).unwrap_or_default();
    let paths = inputs.traces.into_iter().map(|input| input.path);
    Ok(Some(Split {
        format: inputs.format,
        volumes,
        traces: paths.zip(finished).map(|(path, read)| SplitTrace { path, read }).collect(),
        without_requests: inputs.without_requests,
    }))
}

/// Requests of a volume that no run holds yet, and how far it is in time.
struct Volume {
    packer: RecordPacker,
    requests: u64,
    /// The trace of its last request, and when that was.
    trace: usize,
    last_ns: u64,
}

/// The pass over the traces, as far as it is.
struct Pass<'a> {
    inputs: &'a Inputs,
    work: &'a Path,
    runs: Vec<Run>,
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    volumes: Vec<Volume>,
    /// Of the packed requests.
    bytes: usize,
    /// Facts of the traces that are read to their ends.
    finished: Vec<Conversion>,
}

/// Reads what no run holds yet; none if it was told to stop.
fn gather(
    inputs: &Inputs,
    work: &Path,
    limits: SplitLimits,
    watch: &mut impl FnMut(&'static str, u64, u64) -> bool,
) -> Result<Option<Vec<Run>>, TraceError> {
    let runs = Run::all(work)?;
    let (mut start, mut skipped) = (0, 0);
    let mut pass = Pass {
        inputs,
        work,
        runs: Vec::new(),
        names: Vec::new(),
        numbers: HashMap::new(),
        volumes: Vec::new(),
        bytes: 0,
        finished: Vec::new(),
    };
    for run in runs {
        (start, skipped) = (run.index.trace, run.index.requests);
        pass.resume(run);
    }
    if pass.runs.last().is_some_and(|run| run.index.is_last) {
        return Ok(Some(pass.runs));
    }
    let mut told = pass.finished.iter().map(|read| read.requests).sum();
    for number in start..inputs.traces.len() {
        if !pass.read(number, std::mem::take(&mut skipped), limits, &mut told, watch)? {
            return Ok(None);
        }
    }
    pass.spill(inputs.traces.len(), 0, true)?;
    Ok(Some(pass.runs))
}

impl Pass<'_> {
    /// Takes over what a run of an earlier call holds.
    fn resume(&mut self, mut run: Run) {
        for segment in &run.index.segments {
            let number = self.number(&segment.volume);
            let volume = &mut self.volumes[number];
            (volume.trace, volume.last_ns) = (segment.trace, segment.last_ns);
        }
        // The last run has the facts of all traces before it.
        self.finished = std::mem::take(&mut run.index.finished);
        self.runs.push(run);
        if let Some(last) = self.runs.last_mut() {
            last.index.finished.clone_from(&self.finished);
        }
    }

    /// Reads a trace behind its first requests; false if it was told to stop.
    fn read(
        &mut self,
        number: usize,
        skipped: u64,
        limits: SplitLimits,
        told: &mut u64,
        watch: &mut impl FnMut(&'static str, u64, u64) -> bool,
    ) -> Result<bool, TraceError> {
        let mut trace = self.inputs.open(number)?;
        // The volume of each of its devices.
        let mut volumes: Vec<usize> = Vec::new();
        let mut requests = 0;
        while let Some(record) = trace.next().transpose()? {
            *told += 1;
            if told.is_multiple_of(StackedDevices::TOLD_EVERY) && !watch("requests", *told, 0) {
                return Ok(false);
            }
            requests += 1;
            if requests <= skipped {
                continue;
            }
            // Of more volumes than memory is for, a run still holds some requests each.
            if self.bytes >= limits.kept_bytes.max(2 * VOLUME_BYTES * self.names.len()) {
                self.spill(number, requests - 1, false)?;
            }
            while volumes.len() <= record.device as usize {
                let name = self.inputs.volume(number, &trace.devices()[volumes.len()]);
                volumes.push(self.number(&name));
            }
            self.take(volumes[record.device as usize], number, record, &trace)?;
        }
        self.finished.push(Conversion { devices: Vec::new(), ..Conversion::of(&trace, requests) });
        Ok(true)
    }

    #[inline]
    fn take(&mut self, place: usize, number: usize, record: Record, trace: &Trace) -> Result<(), TraceError> {
        let volume = &mut self.volumes[place];
        let time_ns = record.time_ns.wrapping_add(trace.start_ns());
        let last_trace = std::mem::replace(&mut volume.trace, number);
        if time_ns < volume.last_ns {
            return Err(if last_trace == number {
                trace.backwards(volume.last_ns - time_ns)
            } else {
                self.inputs.overlap(number, &self.names[place])
            });
        }
        volume.last_ns = time_ns;
        volume.requests += 1;
        let before = volume.packer.bytes();
        volume.packer.push(&Record { time_ns, device: 0, ..record });
        self.bytes += volume.packer.bytes() - before;
        Ok(())
    }

    /// The number of the volume of a name.
    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len();
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        self.volumes.push(Volume { packer: RecordPacker::new(usize::MAX), requests: 0, trace: 0, last_ns: 0 });
        self.bytes += VOLUME_BYTES;
        number
    }

    /// Writes what is held as a run: the pass goes on at this request of this trace.
    fn spill(&mut self, trace: usize, requests: u64, is_last: bool) -> Result<(), TraceError> {
        let held = self.names.iter().zip(&mut self.volumes).filter(|(_, volume)| volume.requests > 0);
        let held = held.map(|(name, volume)| {
            let bytes = std::mem::replace(&mut volume.packer, RecordPacker::new(usize::MAX)).into_bytes();
            let segment = Segment {
                volume: name.clone(),
                offset: 0,
                bytes: bytes.len() as u64,
                requests: std::mem::take(&mut volume.requests),
                trace: volume.trace,
                last_ns: volume.last_ns,
            };
            (segment, bytes)
        });
        let index = RunIndex { trace, requests, is_last, finished: self.finished.clone(), segments: Vec::new() };
        self.runs.push(Run::write(self.work, self.runs.len(), index, held)?);
        self.bytes = self.names.len() * VOLUME_BYTES;
        Ok(())
    }
}
