//! The workload of a study: where requests come from, and one survey of them before anything is
//! simulated.
//!
//! Every run opens the workload anew and reads it as a stream. The survey reads it once beforehand.
//! It finds what would otherwise stop a run after hours (a malformed line, an address beyond the
//! device), counts what was left out or changed, and knows how many requests there are, which
//! `capacity = "auto"`, the dense numbering and the time series all ask for.
//!
//! A workload that takes no more memory than [`Limit::kept_bytes`] is kept at the first reading,
//! packed, and later readers use that. A longer one is parsed or generated each time, so
//! memory does not grow with it.

use std::path::PathBuf;

use flash::Lpn;
use ftl::{FutureRequest, PrefetchStage};
use trace::generate::{self, Arrivals, Generator, GeneratorSpec, Pattern};
use trace::units::several;
use trace::{
    Conditions, DeviceChoice, Facts, FlatRecords, HostOp, OpenOptions, PackedRecords, Record, RecordPacker, Rounds,
    StackedDevices,
};

use crate::SimError;
use crate::control::Reporter;
use crate::error::SetupError;
use crate::memory::Limit;
use crate::paging::{HostRequest, Pager};
use crate::result::{CoarseTicks, ReadAs, TraceDevice, WorkloadFacts};
use crate::setup::keys::{Group, Table, WorkloadKeys, WorkloadText};
use crate::setup::values::{Addresses, Precondition};
use crate::workload::overview::workload_seed;
use crate::workload::survey::{Survey, Surveyor};

/// The latest arrival, in nanoseconds: 73 years, leaving room below 64 bits for the run itself.
const LATEST_NS: u64 = 1 << 61;
/// Requests between two reports.
const REPORT_EVERY: u64 = 4096;

/// Where a study's requests come from, checked; each run opens it anew.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    source: Source,
    /// The `[workload]` table with its defaults.
    keys: WorkloadKeys,
    pub(crate) addresses: Addresses,
    pub(crate) speedup: f64,
}

#[derive(Clone, Debug)]
enum Source {
    Trace {
        options: Box<OpenOptions>,
        device: DeviceChoice,
        trace: Box<StackedDevices>,
    },
    /// What is generated, as the survey kept it.
    Generated {
        preset: Option<String>,
        spec: Box<GeneratorSpec>,
        shift_bytes: u64,
        seed: u64,
        packed: Option<PackedRecords>,
    },
}

impl Workload {
    /// Checks the keys of a `[workload]` table. Reads a trace once, to lay out its devices, and
    /// reports that.
    pub(crate) fn of(
        text: &WorkloadText,
        master_seed: u64,
        limit: Limit,
        reporter: &Reporter,
    ) -> Result<Self, SetupError> {
        text.rounds()?;
        let source = Source::of(text, workload_seed(master_seed), limit, reporter)?;
        let keys = WorkloadKeys::from(text);
        Ok(Self { source, addresses: keys.addresses, speedup: keys.speedup, keys })
    }

    /// Whether every request arrives at once, so that an open loop would measure a queue as long as
    /// the workload.
    pub(crate) fn arrives_at_once(&self) -> bool {
        matches!(&self.source, Source::Generated { spec, .. } if spec.arrivals == Arrivals::AtOnce
            && !matches!(spec.pattern, Pattern::Phases(_)))
    }

    /// Whether arrivals differ from the workload's own.
    pub(crate) fn changes_times(&self) -> bool {
        self.speedup.to_bits() != 1.0_f64.to_bits()
    }

    /// Units of this many bytes per write, as [`GeneratorSpec::units_per_write`] has them; of a
    /// trace those that its survey found.
    pub(crate) fn units_per_write(&self, survey: &Survey, unit_bytes: u32) -> f64 {
        match &self.source {
            Source::Trace { .. } => survey.pages_per_write,
            Source::Generated { spec, .. } => spec.units_per_write(u64::from(unit_bytes)),
        }
    }

    /// The table with every key that applies filled in.
    pub(crate) fn text(&self) -> WorkloadText {
        let keys = WorkloadText::from(&self.keys);
        match &self.source {
            Source::Trace { options, device, trace, .. } => WorkloadText {
                format: Some(trace.facts().format),
                r#where: keys.r#where.filter(|conditions| !conditions.is_empty()),
                time_unit: Some(trace.facts().time_unit),
                trace_device: keys.trace_device.filter(|_| *device != DeviceChoice::Only),
                blkparse_action: Some(options.action(trace.facts().format)),
                ..keys
            },
            Source::Generated { preset, spec, .. } => WorkloadText {
                generator: preset.is_none().then(|| (**spec).clone()),
                repeat: None,
                ..keys.without(Group::Trace)
            },
        }
    }

    /// Opens the workload for a run.
    pub(crate) fn open(&self, pager: Pager) -> Result<Requests, SimError> {
        Ok(Requests { stream: self.stream()?, pager })
    }

    /// Reads the workload once, in pages of this many bytes, for what is to be done to the device
    /// before.
    pub(crate) fn survey(
        &mut self,
        page_size_bytes: u32,
        precondition: Precondition,
        limit: Limit,
        reporter: &Reporter,
    ) -> Result<Survey, SetupError> {
        let mut stream = self.stream()?;
        let dense = self.addresses == Addresses::Dense;
        let surveyor = Surveyor::new(u64::from(page_size_bytes), dense, precondition, limit);
        // A trace that is kept is kept already.
        let (mut surveyor, most_kept_bytes) = match self.source {
            Source::Trace { .. } => (surveyor.suspecting(), 0),
            Source::Generated { .. } => (surveyor, limit.kept_bytes()),
        };
        let mut packer = RecordPacker::new(most_kept_bytes);
        while let Some(record) = stream.next()? {
            surveyor.add(record)?;
            packer.push(record);
            if surveyor.requests().is_multiple_of(REPORT_EVERY) {
                reporter.report(surveyor.requests())?;
            }
        }
        reporter.total(surveyor.requests());
        reporter.report(surveyor.requests())?;
        let mut survey = match &mut self.source {
            Source::Trace { trace, options, .. } => {
                let facts = trace.facts();
                let survey = surveyor.finish(
                    &facts.name,
                    facts.format.name(),
                    reading(facts, &options.conditions),
                    options.shift_bytes,
                );
                let ticks = facts.ticks.map(|ticks| CoarseTicks {
                    tick_ns: ticks.tick_ns,
                    shared: ticks.shared,
                    requests: ticks.requests,
                    stamps_completions: ticks.stamps_completions,
                    compared: None,
                });
                Survey { facts: WorkloadFacts { read_as: Some(read_as(facts)), ticks, ..survey.facts }, ..survey }
            }
            Source::Generated { preset, packed, .. } => {
                *packed = packer.finish();
                surveyor.finish(preset.as_deref().unwrap_or("generated"), "generated", Vec::new(), 0)
            }
        };
        survey.facts.facts.extend(self.served_again(survey.facts.requests));
        survey.facts.facts.extend(self.fewer(survey.facts.requests));
        if self.changes_times() {
            survey.facts.facts.push(format!("arrivals are {} times as fast as in the workload", self.speedup));
        }
        Ok(survey)
    }

    /// How often a trace is served that is to be served several times.
    fn served_again(&self, requests: u64) -> Option<String> {
        let Source::Trace { trace, .. } = &self.source else { return None };
        let once = trace.facts().requests;
        let begun = requests.div_ceil(once);
        let part = if requests.is_multiple_of(once) { "" } else { ", the last time in part" };
        (self.keys.repeat > 1).then(|| match begun {
            1 => format!(
                "the requests asked for are within the first of the {} times that the trace is to be served",
                self.keys.repeat
            ),
            _ => format!("the {once} requests of the trace are served {begun} times, one after another{part}"),
        })
    }

    /// That the workload ends before the number of requests that was asked for, if it does.
    fn fewer(&self, requests: u64) -> Option<String> {
        let wanted = self.keys.requests.filter(|&wanted| wanted > requests)?;
        let again = if self.keys.repeat > 1 { "" } else { ", once (workload.repeat serves a trace again)" };
        Some(format!(
            "{wanted} requests were asked for, but the workload ends after {requests}; all of them are served{again}"
        ))
    }

    fn stream(&self) -> Result<Stream, SimError> {
        let (records, shift_bytes) = match &self.source {
            Source::Trace { trace, .. } if self.keys.repeat > 1 => {
                (Records::Repeated(Box::new(Repeated::of(trace, self.keys.repeat)?)), 0)
            }
            Source::Trace { trace, .. } => (Records::Trace(Box::new(trace.records()?)), 0),
            Source::Generated { packed: Some(packed), .. } => {
                return Ok(Stream {
                    records: Records::Kept(packed.clone()),
                    left: u64::MAX,
                    adjustment: Adjustment::NONE,
                    current: Record::BLANK,
                });
            }
            Source::Generated { spec, shift_bytes, seed, .. } => {
                (Records::Generated(Box::new(generate::generate(spec, *seed)?)), *shift_bytes)
            }
        };
        Ok(Stream {
            records,
            left: self.keys.requests.unwrap_or(u64::MAX),
            adjustment: Adjustment {
                speedup: self.speedup,
                shift_bytes,
                is_any: shift_bytes != 0 || self.changes_times(),
            },
            current: Record::BLANK,
        })
    }
}

impl Source {
    fn of(text: &WorkloadText, seed: u64, limit: Limit, reporter: &Reporter) -> Result<Self, SetupError> {
        if text.span.is_some() && text.preset.is_none() {
            return Err(SetupError::Input(SimError::study(
                "workload.span: says how many bytes a preset spans, but this workload has none; a generator has a span of its own, a trace that of \
                 its addresses. Leave it out, or give workload.preset",
            )));
        }
        let shift_bytes = text.align_offset.map_or(0, |bytes| bytes.0);
        match (&text.trace, &text.preset, &text.generator) {
            (Some(path), None, None) => {
                let (path, options) = (PathBuf::from(path), Box::new(text.open_options()));
                let device = text.trace_device.clone().unwrap_or_default();
                let watch = |read| reporter.report(read).map_err(SetupError::from);
                let trace = StackedDevices::open_while(&path, &options, &device, limit.kept_bytes(), watch)?;
                Ok(Self::Trace { options, device, trace: Box::new(trace) })
            }
            (None, Some(preset), None) => {
                refuse_trace_keys(text)?;
                let spec = generate::preset(preset).map_err(SimError::from)?;
                let spec = GeneratorSpec { span: text.span.unwrap_or(spec.span), ..spec };
                let spec = limited(spec, text.requests);
                Ok(Self::Generated { preset: Some(preset.clone()), spec, shift_bytes, seed, packed: None })
            }
            (None, None, Some(spec)) => {
                refuse_trace_keys(text)?;
                let spec = limited(spec.clone(), text.requests);
                Ok(Self::Generated { preset: None, spec, shift_bytes, seed, packed: None })
            }
            _ => Err(SetupError::Input(SimError::study(
                "workload: exactly one of trace (a file), preset (a name such as fin1) and generator (a table) says what the host asks; \
                 give one of them",
            ))),
        }
    }
}

fn limited(spec: GeneratorSpec, requests: Option<u64>) -> Box<GeneratorSpec> {
    Box::new(GeneratorSpec { requests: requests.unwrap_or(spec.requests), ..spec })
}

fn refuse_trace_keys(text: &WorkloadText) -> Result<(), SimError> {
    match text.given(Group::Trace) {
        None => Ok(()),
        Some(key) => Err(SimError::study(format!(
            "workload.{key}: says how a trace file is read, but this workload is generated; leave it out, or give workload.trace"
        ))),
    }
}

/// How a trace was read, for results.
fn read_as(facts: &Facts) -> ReadAs {
    ReadAs {
        format: facts.format.name(),
        columns: facts.columns.clone(),
        is_guessed: facts.is_guessed,
        time_unit: facts.time_unit.name(),
        duration_ns: facts.duration_ns,
        end_byte: facts.end_byte,
        devices: facts.devices.iter().map(TraceDevice::from).collect(),
    }
}

/// What was done to a trace when it was read, in sentences.
fn reading(facts: &Facts, wanted: &Conditions) -> Vec<String> {
    let guessed = if facts.is_guessed { ", guessed from its content" } else { "" };
    let mut sentences = vec![format!(
        "read as {} ({}){guessed}, times in {}",
        facts.format.name(),
        facts.columns,
        facts.time_unit.name()
    )];
    let mut count = |what: &str, count: u64, kind: &str, which: &str| {
        if count > 0 {
            sentences.push(format!("{what} {}{which}", several(count, kind)));
        }
    };
    count("skipped", facts.skipped, "bad record", "");
    count("skipped", facts.unmet, "row", &format!(" not matching {wanted}"));
    count("clamped", facts.clamped, "request", " to the latest time seen");
    count("put", facts.sorted, "request", " in order of time");
    count("skipped", facts.unchosen, "request", " to another device of the trace");
    for (kind, &left_out) in &facts.left_out {
        count("skipped", left_out, kind, "");
    }
    sentences.extend(facts.unmatched.iter().cloned());
    let used = facts.devices.iter().filter(|device| device.base_byte.is_some()).count();
    if used > 1 {
        sentences.push(format!("its {used} devices are laid out one after another"));
    }
    if facts.shift_bytes > 0 {
        sentences.push(format!("{} bytes are added to every address", facts.shift_bytes));
    }
    sentences
}

/// Requests of a workload, in pages.
pub(crate) struct Requests {
    stream: Stream,
    pager: Pager,
}

impl Requests {
    /// Fills in the next request; false when there is none.
    #[inline]
    pub(crate) fn next(&mut self, into: &mut HostRequest) -> Result<bool, SimError> {
        let Some(record) = self.stream.next()? else { return Ok(false) };
        into.arrival_ns = record.time_ns;
        self.pager.split(record, into)?;
        Ok(true)
    }

    /// Adds the pages of the next requests, at most this many, of a workload whose requests write
    /// one page each.
    pub(crate) fn next_pages(&mut self, most: usize, into: &mut Vec<Lpn>) -> Result<(), SimError> {
        let Self { stream, pager } = self;
        let mut add = |record: &Record| pager.page_of(record).map(|lpn| into.push(lpn));
        if let Records::Kept(packed) = &mut stream.records {
            for _ in 0..most {
                let Some(record) = packed.next_in_place() else { break };
                add(record)?;
            }
            return Ok(());
        }
        for _ in 0..most {
            let Some(record) = stream.next()? else { break };
            add(record)?;
        }
        Ok(())
    }
}

/// Records of a workload, with arrivals as the study wants them.
struct Stream {
    records: Records,
    left: u64,
    adjustment: Adjustment,
    /// The record handed out last, unless it is one that is kept as it is.
    current: Record,
}

enum Records {
    Trace(Box<FlatRecords>),
    Repeated(Box<Repeated>),
    Generated(Box<Generator>),
    /// Generated, and as the study wants it.
    Kept(PackedRecords),
}

/// A trace that is served several times.
struct Repeated {
    trace: StackedDevices,
    records: FlatRecords,
    rounds: Rounds,
}

impl Repeated {
    fn of(trace: &StackedDevices, rounds: u64) -> Result<Self, SimError> {
        Ok(Self { trace: trace.clone(), records: trace.records()?, rounds: Rounds::new(rounds) })
    }

    fn next(&mut self) -> Result<Option<Record>, SimError> {
        loop {
            if let Some(record) = self.records.next() {
                return Ok(Some(self.rounds.place(record?)));
            }
            if !self.rounds.begin_next() {
                return Ok(None);
            }
            self.records = self.trace.records()?;
        }
    }
}

impl Stream {
    #[inline]
    fn next(&mut self) -> Result<Option<&Record>, SimError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let Self { records, adjustment, current, .. } = self;
        let next = match records {
            Records::Kept(packed) => return Ok(packed.next_in_place()),
            Records::Trace(trace) => trace.next().transpose()?,
            Records::Repeated(repeated) => repeated.next()?,
            Records::Generated(generator) => generator.next(),
        };
        let Some(record) = next else { return Ok(None) };
        *current = record;
        if adjustment.is_any || current.time_ns >= LATEST_NS {
            *current = adjustment.of(record)?;
        }
        Ok(Some(current))
    }
}

/// How a workload is changed on its way.
struct Adjustment {
    speedup: f64,
    shift_bytes: u64,
    /// Whether the speed-up or the shift changes anything.
    is_any: bool,
}

impl Adjustment {
    const NONE: Self = Self { speedup: 1.0, shift_bytes: 0, is_any: false };

    #[cold]
    fn of(&self, record: Record) -> Result<Record, SimError> {
        let arrival = record.time_ns as f64 / self.speedup;
        if arrival >= LATEST_NS as f64 {
            return Err(SimError::study(format!(
                "workload: a request arrives {} ns after the first, which at workload.speedup = {} is more than 73 years and beyond the \
                 clock. If the trace is not that long, its times are in another unit (workload.time_unit); if it is, use a larger speedup",
                record.time_ns, self.speedup
            )));
        }
        let offset = record
            .offset
            .checked_add(self.shift_bytes)
            .filter(|offset| offset.checked_add(u64::from(record.length)).is_some());
        let offset = offset.ok_or_else(|| {
            SimError::study(format!(
                "workload.align_offset = {}: moves a request beyond 2^64 bytes; use a smaller one",
                self.shift_bytes
            ))
        })?;
        Ok(Record { time_ns: arrival as u64, offset, ..record })
    }
}

/// Requests read ahead: enough for a miss to memory to be over, few enough that the lines stay in
/// the first-level cache.
const AHEAD: usize = 16;
/// When a request is announced, in requests before its beginning.
const ANNOUNCED: [(usize, PrefetchStage); 3] =
    [(AHEAD, PrefetchStage::Far), (8, PrefetchStage::Near), (3, PrefetchStage::Next)];

/// Requests read some time before they begin, so that a translation layer can ask for the memory
/// that they will touch.
///
/// A simulated device of many gigabytes has maps of tens of megabytes, and nearly every request
/// touches a random entry. A request is announced when it is read and twice more when it is nearer:
/// first for what is found by its address, then for what that points to, and so on. Nothing else
/// depends on it, and a malformed line still ends the run.
pub(crate) struct Ahead {
    requests: Requests,
    ring: Vec<HostRequest>,
    /// Requests read and requests handed out so far.
    read: usize,
    taken: usize,
    ended: bool,
}

impl Ahead {
    pub(crate) fn of(requests: Requests) -> Self {
        let ring = (0..AHEAD).map(|_| HostRequest::new()).collect();
        Self { requests, ring, read: 0, taken: 0, ended: false }
    }

    /// The next request, after announcing those behind it.
    #[inline]
    pub(crate) fn next(
        &mut self,
        mut announce: impl FnMut(&HostRequest, PrefetchStage),
    ) -> Result<Option<&HostRequest>, SimError> {
        // The slot of the request taken last is free again; it was the one handed out before this
        // call.
        while !self.ended && self.read < self.taken + AHEAD {
            let slot = &mut self.ring[self.read % AHEAD];
            if self.requests.next(slot)? {
                announce(slot, PrefetchStage::Far);
                self.read += 1;
            } else {
                self.ended = true;
            }
        }
        if self.taken == self.read {
            return Ok(None);
        }
        for (before, stage) in &ANNOUNCED[1..] {
            if self.taken + before < self.read {
                announce(&self.ring[(self.taken + before) % AHEAD], *stage);
            }
        }
        self.taken += 1;
        Ok(Some(&self.ring[(self.taken - 1) % AHEAD]))
    }
}

/// All calls that serving these requests makes, in order, for a translation layer that needs the
/// whole future (`Host::serve` makes them).
pub(crate) fn all_calls(mut requests: Requests) -> Result<Vec<FutureRequest>, SimError> {
    let (mut calls, mut request) = (Vec::new(), HostRequest::new());
    while requests.next(&mut request)? {
        add_calls(&request, &mut calls);
    }
    Ok(calls)
}

fn add_calls(request: &HostRequest, calls: &mut Vec<FutureRequest>) {
    let op = request.op;
    if op == HostOp::Write {
        calls.extend(request.partial_pages().map(|lpn| FutureRequest { op: HostOp::Read, lpn, pages: 1 }));
    }
    calls.extend(request.extents.iter().map(|extent| FutureRequest { op, lpn: extent.lpn, pages: extent.pages }));
}
