//! The parts of a workload at work: each draws operation, length and place of its requests, from
//! random streams of its own.

use host::HostOp;
use random::SeededRng;

use super::addresses::AddressSampler;
use super::arrivals::GapSampler;
use super::draws::{Chance, SizeSampler, Weighted};
use super::footprint::InUse;
use super::reuse::ReuseSampler;
use crate::units::SECTOR;

/// The address range, in bytes, and its unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) unit: u64,
}

/// A phase; a workload without phases has one that lasts throughout.
#[derive(Clone, Debug)]
pub(super) struct PhaseState {
    pub(super) requests: u64,
    pub(super) gaps: GapSampler,
    pub(super) gap_stream: SeededRng,
    pub(super) mixture: Weighted,
    pub(super) mixture_stream: SeededRng,
    pub(super) parts: Box<[PartState]>,
}

/// A part; a phase without a mixture has one.
#[derive(Clone, Debug)]
pub(super) struct PartState {
    pub(super) operations: Operations,
    pub(super) operation_stream: SeededRng,
    pub(super) sizes: SizeSampler,
    pub(super) size_stream: SeededRng,
    pub(super) continues: Chance,
    pub(super) run_stream: SeededRng,
    pub(super) places: AddressSampler,
    pub(super) place_stream: SeededRng,
    pub(super) trim_stream: SeededRng,
    /// Its region: the first byte and the one past the last.
    pub(super) region: (u64, u64),
    pub(super) unit: u64,
    /// For each run, one past the last byte it read or wrote; none before it did.
    pub(super) runs: Box<[Option<u64>]>,
    /// The run of the request in hand.
    pub(super) run: usize,
    /// Whether requests start at multiples of their length.
    pub(super) aligned: bool,
    /// The sector of a unit at which they start, where that is not always its first.
    pub(super) starts: Option<Weighted>,
    /// Whether a request starts at its unit's own sector.
    pub(super) keeps_start: Chance,
    pub(super) start_stream: SeededRng,
    pub(super) stream: u8,
    /// Whether its requests may be repeated.
    pub(super) reusable: bool,
}

/// The operations of a part.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operations {
    /// All the same: nothing is drawn.
    Only(HostOp),
    /// A trim below the first bound (of 2⁶⁴), a write below the second, else a read.
    Drawn { trim_below: u64, write_below: u64 },
}

impl PartState {
    /// Whether it trims, so that written units have to be remembered.
    pub(super) fn trims(&self) -> bool {
        match self.operations {
            Operations::Only(op) => op == HostOp::Trim,
            Operations::Drawn { trim_below, .. } => trim_below > 0,
        }
    }

    /// One request: operation, offset, length.
    #[inline]
    pub(super) fn request(
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
    pub(super) fn new(write_share: f64, trim_share: f64) -> Self {
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
