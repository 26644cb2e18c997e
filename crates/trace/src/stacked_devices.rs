//! A trace as one address space: the devices chosen and laid out, every choice counted.
//!
//! A simulated device has one range of addresses, a trace may have many. Folding its devices
//! together would invent overwrites, so either one device is picked or each gets its own range, one
//! after another. Both need to know all devices beforehand, so the file is read once before
//! anything is handed on (the *survey*); this also finds a bad line at the end of a trace before a
//! simulation has run for an hour.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use host::HostOp;
use serde::Serialize;

use crate::choices::DeviceChoice;
use crate::detect_format::{self, Sample};
use crate::error::TraceError;
use crate::format::{Format, TimeUnit};
use crate::input::Origin;
use crate::layered_devices::Layers;
use crate::options::OpenOptions;
use crate::packed_records::{PackedRecords, RecordPacker};
use crate::record::Record;
use crate::ticks::Ticks;
use crate::trace::{Trace, open_as};

/// Stacked devices start at multiples of this, bytes: of any page or block that is likely to be
/// simulated, so that requests keep their alignment.
const STACK_GRID: u64 = 1 << 20;

/// One device of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceFacts {
    /// The name in the trace.
    pub name: String,
    /// Requests to this device.
    pub requests: u64,
    /// Lowest byte touched.
    pub lowest_byte: u64,
    /// One past the highest byte touched.
    pub end_byte: u64,
    /// What is added to its addresses, bytes; none: its requests are left out.
    pub base_byte: Option<u64>,
}

/// What a trace holds and what was done to it: to be printed with every result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// The trace's file name.
    pub name: String,
    /// What it is read as.
    pub format: Format,
    /// What a line holds.
    pub columns: String,
    /// Whether the format was guessed from the content.
    pub is_guessed: bool,
    /// The unit in which it counts time.
    pub time_unit: TimeUnit,
    /// Requests handed on.
    pub requests: u64,
    /// From the first request handed on to the last, nanoseconds.
    pub duration_ns: u64,
    /// One past the highest byte of the address space.
    pub end_byte: u64,
    /// All devices of the trace, in order of first appearance.
    pub devices: Vec<DeviceFacts>,
    /// Bytes added to every address because the user said so.
    pub shift_bytes: u64,
    /// Requests to devices that were not chosen.
    pub unchosen: u64,
    /// Bad records left out.
    pub skipped: u64,
    /// Rows that do not meet the conditions, left out.
    pub unmet: u64,
    /// What the user says of values that no row has: clauses.
    pub unmatched: Vec<String>,
    /// The step of its times, where it is coarse and many requests share a time.
    pub ticks: Option<Ticks>,
    /// Requests held at the latest time seen.
    pub clamped: u64,
    /// Requests put in order.
    pub sorted: u64,
    /// What else was left out, by kind.
    pub left_out: BTreeMap<String, u64>,
}

/// A trace, surveyed and laid out. It can be read any number of times, from memory if the survey
/// kept it.
#[derive(Clone, Debug)]
pub struct StackedDevices {
    origin: Origin,
    options: OpenOptions,
    facts: Arc<Facts>,
    /// The records as the survey read them, if they were to be kept.
    packed: Option<PackedRecords>,
}

/// The requests of a [`StackedDevices`]: device 0, addresses in the one space, times from 0.
#[derive(Debug)]
pub struct FlatRecords {
    source: RecordSource,
    facts: Arc<Facts>,
    start_ns: Option<u64>,
}

#[derive(Debug)]
enum RecordSource {
    File(Box<Trace>),
    Memory(PackedRecords),
}

impl StackedDevices {
    /// Requests between two calls of a watcher: some milliseconds.
    pub const TOLD_EVERY: u64 = 1 << 14;

    /// Surveys the trace at `path` and lays `choice` of its devices out.
    pub fn open(path: &Path, options: &OpenOptions, choice: &DeviceChoice) -> Result<Self, TraceError> {
        Self::open_while(path, options, choice, 0, |_| Ok(()))
    }

    /// The same, telling `watch` every [`StackedDevices::TOLD_EVERY`] requests how many were read;
    /// its error ends the survey. Requests that take no more than `most_kept_bytes` are kept in
    /// memory, and the file is not read again.
    pub fn open_while<E: From<TraceError>>(
        path: &Path,
        options: &OpenOptions,
        choice: &DeviceChoice,
        most_kept_bytes: usize,
        watch: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<Self, E> {
        Self::of(Origin::File(path.to_owned()), options, choice, most_kept_bytes, watch)
    }

    /// The same for a trace in memory; errors call it `name`.
    pub fn open_bytes(
        name: &str,
        bytes: impl Into<Arc<[u8]>>,
        options: &OpenOptions,
        choice: &DeviceChoice,
    ) -> Result<Self, TraceError> {
        Self::of(Origin::Memory { name: name.into(), bytes: bytes.into() }, options, choice, 0, |_| Ok(()))
    }

    fn of<E: From<TraceError>>(
        origin: Origin,
        options: &OpenOptions,
        choice: &DeviceChoice,
        most_kept_bytes: usize,
        mut watch: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<Self, E> {
        options.check()?;
        let sample = Sample::of(&origin)?;
        let is_guessed = options.settled().is_none();
        let format = options.settled().map_or_else(|| detect_format::format(&origin, &sample, options), Ok)?;
        let options = OpenOptions { format: Some(format), ..options.clone() };
        let mut trace = open_as(format, &origin, &options)?;
        let (mut survey, mut packer) = (Survey::default(), RecordPacker::new(most_kept_bytes));
        for (number, record) in (1_u64..).zip(trace.by_ref()) {
            let record = record?;
            survey.observe(&record);
            packer.push(&record);
            if number.is_multiple_of(Self::TOLD_EVERY) {
                watch(number)?;
            }
        }
        let facts = Facts {
            is_guessed,
            columns: options.layout(format),
            ..survey.lay_out(&trace, &origin, choice, options.shift_bytes)?
        };
        Ok(Self { origin, options, facts: Arc::new(facts), packed: packer.finish() })
    }

    /// What the trace holds and what was done to it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Its requests, from the first.
    pub fn records(&self) -> Result<FlatRecords, TraceError> {
        let source = match &self.packed {
            Some(packed) => RecordSource::Memory(packed.clone()),
            None => RecordSource::File(Box::new(open_as(self.facts.format, &self.origin, &self.options)?)),
        };
        Ok(FlatRecords { source, facts: Arc::clone(&self.facts), start_ns: None })
    }
}

impl RecordSource {
    #[inline]
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        match self {
            Self::File(trace) => trace.next().transpose(),
            Self::Memory(packed) => Ok(packed.next()),
        }
    }
}

impl FlatRecords {
    fn advance(&mut self) -> Result<Option<Record>, TraceError> {
        while let Some(mut record) = self.source.next()? {
            let device =
                self.facts.devices.get(record.device as usize).filter(|device| device.end_byte >= record.end());
            let Some(device) = device else {
                return Err(TraceError::Changed { path: self.facts.name.clone().into() });
            };
            let Some(base) = device.base_byte else { continue };
            record.time_ns -= *self.start_ns.get_or_insert(record.time_ns);
            record.device = 0;
            if record.op != HostOp::Flush {
                record.offset += base;
            }
            return Ok(Some(record));
        }
        Ok(None)
    }
}

impl Iterator for FlatRecords {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// One device in the survey.
#[derive(Clone, Copy, Default)]
struct Seen {
    requests: u64,
    reach: Option<(u64, u64)>,
    times_ns: Option<(u64, u64)>,
}

/// What a first pass over a trace finds.
#[derive(Default)]
struct Survey {
    devices: Vec<Seen>,
    layers: Layers,
}

impl Survey {
    fn observe(&mut self, record: &Record) {
        let index = record.device as usize;
        if index >= self.devices.len() {
            self.devices.resize(index + 1, Seen::default());
        }
        if self.devices.len() > 1 {
            self.layers.observe(record);
        }
        let seen = &mut self.devices[index];
        seen.requests += 1;
        let (first, _) = seen.times_ns.unwrap_or((record.time_ns, record.time_ns));
        seen.times_ns = Some((first, record.time_ns));
        if record.op != HostOp::Flush {
            let (lowest, end) = seen.reach.unwrap_or((record.offset, record.end()));
            seen.reach = Some((lowest.min(record.offset), end.max(record.end())));
        }
    }

    fn lay_out(
        &self,
        trace: &Trace,
        origin: &Origin,
        choice: &DeviceChoice,
        shift_bytes: u64,
    ) -> Result<Facts, TraceError> {
        let path = || origin.path().to_owned();
        let listed: Vec<(String, u64)> = self
            .devices
            .iter()
            .enumerate()
            .filter(|(_, seen)| seen.requests > 0)
            .map(|(index, seen)| (trace.devices()[index].clone(), seen.requests))
            .collect();
        let bases = match choice {
            DeviceChoice::Only if listed.len() > 1 => {
                let layers: Vec<String> = self.layers(trace).iter().map(|clause| format!(". But {clause}")).collect();
                return Err(TraceError::SeveralDevices { path: path(), devices: listed, layers: layers.concat() });
            }
            DeviceChoice::Only => self.devices.iter().map(|seen| (seen.requests > 0).then_some(0)).collect(),
            DeviceChoice::Named(name) => {
                if !listed.iter().any(|(known, _)| known == name) {
                    return Err(TraceError::NoSuchDevice { path: path(), name: name.clone(), devices: listed });
                }
                trace.devices().iter().take(self.devices.len()).map(|known| (known == name).then_some(0)).collect()
            }
            DeviceChoice::Stacked => {
                self.stack().ok_or_else(|| TraceError::TooWide { path: path(), devices: listed.len() })?
            }
        };
        Ok(self.facts(trace, &bases, shift_bytes))
    }

    /// Devices that repeat another one's requests: clauses.
    fn layers(&self, trace: &Trace) -> Vec<String> {
        let requests: Vec<u64> = self.devices.iter().map(|seen| seen.requests).collect();
        self.layers.told(trace.devices(), &requests)
    }

    /// Where each device starts, one after another; none if that is beyond the address space.
    fn stack(&self) -> Option<Vec<Option<u64>>> {
        let mut next = 0_u64;
        let mut bases = Vec::with_capacity(self.devices.len());
        for seen in &self.devices {
            let end = next.checked_add(seen.reach.map_or(0, |(_, end)| end))?;
            bases.push((seen.requests > 0).then_some(next));
            // The last device may end anywhere; only another one needs a grid point behind it.
            next = end.checked_next_multiple_of(STACK_GRID).unwrap_or(u64::MAX);
        }
        Some(bases)
    }

    fn facts(&self, trace: &Trace, bases: &[Option<u64>], shift_bytes: u64) -> Facts {
        let chosen = || self.devices.iter().zip(bases).filter_map(|(seen, base)| base.map(|base| (seen, base)));
        let times = || chosen().filter_map(|(seen, _)| seen.times_ns);
        let first_ns = times().map(|(first, _)| first).min().unwrap_or(0);
        let requests = chosen().map(|(seen, _)| seen.requests).sum();
        let is_stacked = chosen().count() > 1;
        let devices = self.devices.iter().zip(bases).zip(trace.devices()).map(|((seen, &base_byte), name)| {
            let (lowest_byte, end_byte) = seen.reach.unwrap_or((0, 0));
            DeviceFacts { name: name.clone(), requests: seen.requests, lowest_byte, end_byte, base_byte }
        });
        Facts {
            name: trace.name.clone(),
            format: trace.format,
            columns: String::new(),
            is_guessed: false,
            time_unit: trace.time_unit,
            requests,
            duration_ns: times().map(|(_, last)| last - first_ns).max().unwrap_or(0),
            end_byte: chosen().map(|(seen, base)| base + seen.reach.map_or(0, |(_, end)| end)).max().unwrap_or(0),
            devices: devices.collect(),
            shift_bytes,
            unchosen: self.devices.iter().map(|seen| seen.requests).sum::<u64>() - requests,
            skipped: trace.skipped(),
            unmet: trace.unmet(),
            unmatched: [trace.unmatched(), if is_stacked { self.layers(trace) } else { Vec::new() }].concat(),
            ticks: trace.coarse_ticks(),
            clamped: trace.clamped(),
            sorted: trace.sorted(),
            left_out: trace.left_out(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three devices; b is named first, c only flushes.
    const TEXT: &str = "time_ns,op,offset,length,stream,device\n\
        10,write,0,4096,0,b\n20,read,1048576,512,0,a\n30,flush,0,0,0,c\n40,write,4096,4096,7,b\n50,trim,0,512,0,a\n";

    fn flat(text: &str, choice: &DeviceChoice) -> Result<StackedDevices, TraceError> {
        StackedDevices::open_bytes("test.csv", text.as_bytes(), &OpenOptions::default(), choice)
    }

    fn records(flat: &StackedDevices) -> Vec<(u64, HostOp, u64)> {
        flat.records().unwrap().map(|record| record.unwrap()).map(|r| (r.time_ns, r.op, r.offset)).collect()
    }

    #[test]
    fn several_devices_without_a_choice_are_refused_and_listed() {
        let error = flat(TEXT, &DeviceChoice::Only).unwrap_err().to_string();
        for part in [
            "3 devices: b (2 requests), a (2 requests), c (1 request)",
            "--trace-device NAME",
            "--trace-device stacked",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_named_device_is_alone_and_the_others_are_counted() {
        let flat = flat(TEXT, &DeviceChoice::Named("a".into())).unwrap();
        assert_eq!(records(&flat), [(0, HostOp::Read, 1_048_576), (30, HostOp::Trim, 0)]);
        let facts = flat.facts();
        assert_eq!((facts.requests, facts.unchosen, facts.duration_ns, facts.end_byte), (2, 3, 30, 1_049_088));
        let unknown = super::StackedDevices::open_bytes(
            "t.csv",
            TEXT.as_bytes(),
            &OpenOptions::default(),
            &DeviceChoice::Named("d".into()),
        );
        assert!(unknown.unwrap_err().to_string().contains("has no device \"d\". It has: b (2 requests)"));
    }

    #[test]
    fn stacked_devices_have_ranges_of_their_own_on_a_grid_of_a_mebibyte() {
        let flat = flat(TEXT, &DeviceChoice::Stacked).unwrap();
        let facts = flat.facts();
        assert_eq!(
            facts.devices.iter().map(|device| device.base_byte).collect::<Vec<_>>(),
            [Some(0), Some(1 << 20), Some(3 << 20)]
        );
        assert_eq!((facts.requests, facts.unchosen, facts.end_byte), (5, 0, (3 << 20)));
        let offsets: Vec<u64> = records(&flat).into_iter().map(|(_, _, offset)| offset).collect();
        assert_eq!(offsets, [0, 2 << 20, 0, 4096, 1 << 20]);
        assert!(flat.records().unwrap().all(|record| record.unwrap().device == 0));
    }

    #[test]
    fn one_device_needs_no_choice_and_reads_twice_alike() {
        let flat = flat("1,h,0,Read,512,512,1\n5,h,0,Write,0,512,1\n", &DeviceChoice::Only).unwrap();
        assert_eq!(records(&flat), records(&flat));
        assert_eq!((flat.facts().format, flat.facts().devices[0].name.as_str()), (Format::Msr, "h_0"));
    }

    #[test]
    fn devices_that_do_not_fit_one_after_another_are_refused() {
        let text = "1,h,0,Read,18446744073709551000,512,1\n2,h,1,Read,0,512,1\n";
        let error = flat(text, &DeviceChoice::Stacked).unwrap_err().to_string();
        assert!(error.contains("2 devices laid one after another reach beyond 2^64"), "{error}");
        assert!(flat(text, &DeviceChoice::Named("h_0".into())).is_ok());
    }

    #[test]
    fn a_shift_is_applied_and_stated() {
        let options = OpenOptions { shift_bytes: 512, ..OpenOptions::default() };
        let flat =
            StackedDevices::open_bytes("t", &b"1,h,0,Read,3584,4096,1\n"[..], &options, &DeviceChoice::Only).unwrap();
        assert_eq!(flat.records().unwrap().next().unwrap().unwrap().offset, 4096);
        assert_eq!(flat.facts().shift_bytes, 512);
    }

    #[test]
    fn a_bad_line_is_found_before_anything_is_handed_on() {
        let text = format!("{}broken\n", "1,h,0,Read,512,512,1\n".repeat(1000));
        assert!(flat(&text, &DeviceChoice::Only).unwrap_err().to_string().contains("line 1001"));
    }
}
