//! Generated workloads: from a description and a seed to records, the same ones every time.
//!
//! * [`GeneratorSpec`] says what is wanted: where requests go ([`Pattern`]), what they do, how long
//!   they are ([`Sizes`]), when they arrive ([`Arrivals`]). It reads from TOML and JSON, and
//!   unknown keys are errors.
//! * [`generate`] checks it and returns a [`Generator`], an iterator of [`crate::Record`]s.
//! * [`presets()`] lists ready descriptions that meet the figures which papers print for well-known
//!   traces.
//!
//! A generator knows nothing of flash: its `unit` is an alignment, not a page. It models no
//! feedback either: a request does not wait for an earlier one, which is the simulated host's
//! business. Requests are independent draws within a phase, so what a trace has beyond its marginal
//! figures (working sets that drift, a daily rhythm, a scan that evicts a cache) is only there
//! where phases put it.
//!
//! Per request a generator lets a gap pass on the clock, draws a part of the current phase, and
//! lets that part draw operation, length and place, each from a random stream of its own, derived
//! by name: changing the write share leaves the addresses as they were. Memory is constant, but for
//! the record of written units that trims need. It yields exactly `requests` records and never
//! fails: all that could be wrong was refused when it was built.

mod addresses;
mod arrivals;
mod draws;
mod footprint;
mod limits;
mod parts;
mod permutation;
mod place_shape;
mod plan;
mod presets;
mod reuse;
mod spec;
mod write_sizes;
mod zipf;

pub use place_shape::PlaceShape;
pub use presets::{Preset, Published, cold_presets, preset, presets};
pub use spec::{
    Access, Arrivals, GeneratorSpec, HotCold, Part, Pattern, Phase, Reuse, Sizes, SpecError, WeightedSize, Zipf,
};

use host::{Hint, HostOp};

use crate::record::Record;
use arrivals::Clock;
use footprint::InUse;
use parts::{PartState, PhaseState, Range};
use reuse::{ReuseSampler, Used};

/// Checks `spec` and returns its records, `spec.requests` of them, in order of arrival and from
/// time 0. Equal arguments give equal records on every platform.
///
/// ```
/// use ftlkit_trace::generate::{GeneratorSpec, generate};
/// use ftlkit_trace::HostOp;
///
/// let spec = GeneratorSpec { requests: 1000, write_share: Some(0.5), ..GeneratorSpec::default() };
/// let writes = generate(&spec, 1)?.filter(|record| record.op == HostOp::Write).count();
/// assert!((400..600).contains(&writes));
/// # Ok::<(), ftlkit_trace::generate::SpecError>(())
/// ```
pub fn generate(spec: &GeneratorSpec, seed: u64) -> Result<Generator, SpecError> {
    Generator::new(spec, seed)
}

/// A generated workload: yields the records of a [`GeneratorSpec`] in order of arrival, always the
/// same for the same seed. A clone goes on from the same point, independently.
#[derive(Clone, Debug)]
pub struct Generator {
    requests_left: u64,
    started: bool,
    clock: Clock,
    phases: Box<[PhaseState]>,
    current: usize,
    left_in_phase: u64,
    /// Writes between two flushes, or 0; and those since the last one.
    flush_every: u64,
    unflushed: u64,
    range: Range,
    in_use: Option<InUse>,
    reuse: Option<ReuseSampler>,
}

impl Generator {
    /// Checks `spec` and prepares to generate it from `seed`. Costs milliseconds, more only where
    /// trims need a table.
    pub fn new(spec: &GeneratorSpec, seed: u64) -> Result<Self, SpecError> {
        limits::at_least_one("requests", spec.requests)?;
        let reuse = ReuseSampler::new(&spec.reuse, seed)?;
        let units = limits::check_range(spec)?;
        let phases = plan::phases(spec, seed)?;
        let trims = phases.iter().flat_map(|phase| &phase.parts).any(PartState::trims);
        limits::check_trims(spec, trims, units)?;
        Ok(Self {
            requests_left: spec.requests,
            started: false,
            clock: Clock::default(),
            current: 0,
            left_in_phase: phases[0].requests,
            phases,
            flush_every: spec.flush_every,
            unflushed: 0,
            range: Range { start: spec.start.0, unit: spec.unit.0 },
            in_use: trims.then(|| InUse::new(units, spec.filled)),
            reuse,
        })
    }

    /// The phase the next request belongs to.
    #[inline]
    fn enter_phase(&mut self) -> usize {
        if self.left_in_phase == 0 {
            self.current = (self.current + 1) % self.phases.len();
            self.left_in_phase = self.phases[self.current].requests;
        }
        self.left_in_phase -= 1;
        self.current
    }
}

impl Iterator for Generator {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        self.requests_left = self.requests_left.checked_sub(1)?;
        let index = self.enter_phase();
        let phase = &mut self.phases[index];
        if self.started {
            self.clock.pass(phase.gaps, &mut phase.gap_stream);
        }
        self.started = true;
        let time_ns = self.clock.now_ns();
        if self.flush_every > 0 && self.unflushed == self.flush_every {
            self.unflushed = 0;
            return Some(Record { time_ns, op: HostOp::Flush, ..Record::BLANK });
        }
        let repeated = self.reuse.as_mut().and_then(ReuseSampler::draw);
        let (op, Used { offset, length, hint, .. }) = repeated.unwrap_or_else(|| {
            let part = &mut phase.parts[phase.mixture.draw(&mut phase.mixture_stream)];
            let (op, offset, length) = part.request(self.range, &mut self.in_use, &mut self.reuse);
            let used = Used { offset, length, hint: Hint::of_stream(part.stream), kind: None };
            if let Some(reuse) = &mut self.reuse {
                reuse.note(op, used, part.reusable);
            }
            (op, used)
        });
        self.unflushed += u64::from(op == HostOp::Write);
        if let Some(in_use) = &mut self.in_use
            && op == HostOp::Write
        {
            let Range { start, unit } = self.range;
            let (first, last) = (offset - start, offset - start + u64::from(length) - 1);
            (first / unit..=last / unit).for_each(|unit| in_use.mark(unit));
        }
        Some(Record { time_ns, op, offset, length, device: 0, hint })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::try_from(self.requests_left).unwrap_or(usize::MAX), usize::try_from(self.requests_left).ok())
    }
}

impl std::iter::FusedIterator for Generator {}
