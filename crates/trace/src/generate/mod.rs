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
mod permutation;
mod place_shape;
mod plan;
mod presets;
mod reuse;
mod spec;
mod zipf;

pub use place_shape::PlaceShape;
pub use presets::{Preset, Published, cold_presets, preset, presets};
pub use spec::{
    Access, Arrivals, GeneratorSpec, HotCold, Part, Pattern, Phase, Reuse, Sizes, SpecError, WeightedSize, Zipf,
};

use host::{Hint, HostOp};
use random::SeededRng;

use crate::record::Record;
use crate::units::SECTOR;
use addresses::AddressSampler;
use arrivals::{Clock, GapSampler};
use draws::{Chance, SizeSampler, Weighted};
use footprint::InUse;
use plan::{AddressPlan, PartPlan, PhasePlan, Plan};
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

/// The address range, in bytes, and its unit.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    unit: u64,
}

#[derive(Clone, Debug)]
struct PhaseState {
    requests: u64,
    gaps: GapSampler,
    gap_stream: SeededRng,
    mixture: Weighted,
    mixture_stream: SeededRng,
    parts: Box<[PartState]>,
}

#[derive(Clone, Debug)]
struct PartState {
    operations: Operations,
    operation_stream: SeededRng,
    sizes: SizeSampler,
    size_stream: SeededRng,
    continues: Chance,
    run_stream: SeededRng,
    places: AddressSampler,
    place_stream: SeededRng,
    trim_stream: SeededRng,
    /// Its region: the first byte and the one past the last.
    region: (u64, u64),
    unit: u64,
    /// For each run, one past the last byte it read or wrote; none before it did.
    runs: Box<[Option<u64>]>,
    /// The run of the request in hand.
    run: usize,
    /// Whether requests start at multiples of their length.
    aligned: bool,
    /// The sector of a unit at which they start, where that is not always its first.
    starts: Option<Weighted>,
    /// Whether a request starts at its unit's own sector.
    keeps_start: Chance,
    start_stream: SeededRng,
    stream: u8,
    /// Whether its requests may be repeated.
    reusable: bool,
}

/// The operations of a part.
#[derive(Clone, Copy, Debug)]
enum Operations {
    /// All the same: nothing is drawn.
    Only(HostOp),
    /// A trim below the first bound (of 2⁶⁴), a write below the second, else a read.
    Drawn { trim_below: u64, write_below: u64 },
}

impl Generator {
    /// Checks `spec` and prepares to generate it from `seed`. Costs milliseconds, more only where
    /// trims need a table.
    pub fn new(spec: &GeneratorSpec, seed: u64) -> Result<Self, SpecError> {
        let plan = Plan::new(spec)?;
        let range = Range { start: plan.start, unit: plan.unit };
        let phases: Box<[PhaseState]> =
            plan.phases.iter().enumerate().map(|(index, phase)| PhaseState::new(phase, index, range, seed)).collect();
        Ok(Self {
            requests_left: plan.requests,
            started: false,
            clock: Clock::default(),
            current: 0,
            left_in_phase: phases[0].requests,
            phases,
            flush_every: spec.flush_every,
            unflushed: 0,
            range,
            in_use: plan.trims().then(|| InUse::new(plan.units, plan.filled)),
            reuse: ReuseSampler::new(&spec.reuse, seed),
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

impl PhaseState {
    fn new(plan: &PhasePlan, index: usize, range: Range, seed: u64) -> Self {
        let name = format!("phase {index}");
        let weights: Vec<f64> = plan.parts.iter().map(|part| part.weight).collect();
        let part =
            |(index, part): (usize, &PartPlan)| PartState::new(part, &format!("{name}/part {index}"), range, seed);
        Self {
            requests: plan.requests,
            gaps: GapSampler::new(&plan.arrivals),
            gap_stream: SeededRng::named(seed, &format!("{name}/arrivals")),
            mixture: Weighted::new(&weights),
            mixture_stream: SeededRng::named(seed, &format!("{name}/mixture")),
            parts: plan.parts.iter().enumerate().map(part).collect(),
        }
    }
}

impl PartState {
    fn new(plan: &PartPlan, name: &str, range: Range, seed: u64) -> Self {
        let stream = |purpose: &str| SeededRng::named(seed, &format!("{name}/{purpose}"));
        let first = range.start + plan.first_unit * range.unit;
        Self {
            operations: Operations::new(plan.write_share, plan.trim_share),
            operation_stream: stream("operations"),
            sizes: SizeSampler::new(&plan.sizes),
            size_stream: stream("sizes"),
            // A sequential part is one run that never chooses to jump.
            continues: if matches!(plan.places, AddressPlan::Sequential) {
                Chance::Always
            } else {
                Chance::of(plan.sequential_share)
            },
            run_stream: stream("runs"),
            places: AddressSampler::new(plan, seed, name),
            place_stream: stream("places"),
            trim_stream: stream("trims"),
            region: (first, first + plan.units * range.unit),
            unit: range.unit,
            runs: vec![None; plan.runs as usize].into_boxed_slice(),
            run: 0,
            aligned: plan.aligned,
            starts: plan.starts.as_deref().map(Weighted::new),
            keeps_start: Chance::of(plan.starts_kept),
            start_stream: stream("starts"),
            stream: plan.stream,
            reusable: plan.reusable,
        }
    }

    /// One request: operation, offset, length.
    #[inline]
    fn request(
        &mut self,
        range: Range,
        in_use: &mut Option<InUse>,
        reuse: &mut Option<ReuseSampler>,
    ) -> (HostOp, u64, u32) {
        let mut op = self.operations.draw(&mut self.operation_stream);
        if op == HostOp::Trim {
            if let Some(unit) = in_use.as_mut().and_then(|in_use| in_use.take(&mut self.trim_stream)) {
                return (HostOp::Trim, range.start + unit * range.unit, range.unit as u32);
            }
            op = HostOp::Write;
        }
        let length = self.sizes.draw(&mut self.size_stream);
        let offset = match reuse {
            None => self.place(length),
            Some(reuse) => reuse.new_place(|| self.place(length)),
        };
        self.runs[self.run] = Some(offset + u64::from(length));
        (op, offset, length)
    }

    /// Where a request of this length goes: on from the last one, or to a place of the pattern's.
    #[inline]
    fn place(&mut self, length: u32) -> u64 {
        let length = u64::from(length);
        if self.runs.len() > 1 {
            self.run = self.run_stream.below(self.runs.len() as u64) as usize;
        }
        if self.continues.hit(&mut self.run_stream)
            && let Some(next) = self.runs[self.run]
            && next + length <= self.region.1
        {
            return next;
        }
        let grain = if self.aligned { length } else { self.unit };
        let unit = self.places.draw(&mut self.place_stream);
        let drawn = unit * self.unit;
        let last = self.region.1 - self.region.0 - length;
        let sector = self.sector(unit);
        let offset = if self.aligned { drawn - drawn % grain } else { drawn } + sector * SECTOR;
        self.region.0 + if offset <= last { offset } else { last - last % grain }
    }
}

impl PartState {
    /// The sector of a unit at which a request starts.
    #[inline]
    fn sector(&mut self, unit: u64) -> u64 {
        let Some(starts) = &self.starts else { return 0 };
        let sector = if self.keeps_start.hit(&mut self.start_stream) {
            // All parts with these weights agree on a unit's own sector.
            starts.draw(&mut SeededRng::new(unit))
        } else {
            starts.draw(&mut self.start_stream)
        };
        sector as u64
    }
}

impl Operations {
    fn new(write_share: f64, trim_share: f64) -> Self {
        match (Chance::of(write_share), Chance::of(trim_share)) {
            (Chance::Always, _) => Self::Only(HostOp::Write),
            (_, Chance::Always) => Self::Only(HostOp::Trim),
            (Chance::Never, Chance::Never) => Self::Only(HostOp::Read),
            (_, _) => {
                let bound = |share: f64| (share * 18_446_744_073_709_551_616.0) as u64;
                // A conversion saturates, so shares that add to 1 leave a read with probability
                // 2⁻⁶⁴ at most: never.
                Self::Drawn { trim_below: bound(trim_share), write_below: bound(trim_share + write_share) }
            }
        }
    }

    #[inline]
    fn draw(self, stream: &mut SeededRng) -> HostOp {
        match self {
            Self::Only(op) => op,
            Self::Drawn { trim_below, write_below } => {
                let bits = stream.bits();
                if bits < trim_below {
                    return HostOp::Trim;
                }
                // A coin toss: selected, not branched on.
                std::hint::select_unpredictable(bits < write_below, HostOp::Write, HostOp::Read)
            }
        }
    }
}
