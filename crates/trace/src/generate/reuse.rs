//! Temporal locality: requests that repeat an earlier one, its place and its length.
//!
//! Reads and writes have a history each, a ring of the last ones. A request that may be
//! repeated lies in its history until it is: then the repetition takes its place, so each place
//! is there once, at its last use. So a distance that is drawn is the distance that the
//! workload has. Where the distances drawn hold no request, a shorter one is taken; where there
//! is none, the pattern says where the request goes.
//!
//! A request that repeats none draws its place again, a few times, while it starts at a sector at
//! which one has started of late. So reuse by chance adds little to what is asked for.

use host::{Hint, HostOp};
use random::SeededRng;

use super::draws::{Chance, Weighted};
use super::limits::check_share;
use super::spec::{Access, Reuse, SpecError};
use crate::units::SECTOR;

/// Requests that are remembered, at most: 1 MiB for reads and for writes.
pub(crate) const MAX_DISTANCE: u32 = 65_536;
/// Requests of a history that one draw looks at; more would make the rare failure no rarer.
const PROBES: u64 = 64;
/// Draws of a place that no request has used of late, at most: in a small range there is none.
const DRAWS: usize = 8;
/// Sectors that are known as used of late: one for each place of this table, a power of two.
const SECTORS_KNOWN: usize = 1 << 16;
/// Rounding allowance of shares that add to 1.
const SHARE_SLACK: f64 = 1e-9;

/// A place that was used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) hint: Hint,
    /// Which kind of repetition its last use was; none of a new one.
    pub(super) kind: Option<u32>,
}

/// Draws the requests that repeat an earlier one.
#[derive(Clone, Debug)]
pub(super) struct ReuseSampler {
    /// The first outcome is a request that repeats none.
    choice: Weighted,
    kinds: Box<[Kind]>,
    reads: History,
    writes: History,
    /// The sector that was used last of those that share a place of this table, and one more.
    used_sectors: Box<[u64]>,
    stream: SeededRng,
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    op: HostOp,
    after: HostOp,
    distance: [u64; 2],
    again: Chance,
    regular: Chance,
}

/// The last requests of an operation.
#[derive(Clone, Debug)]
struct History {
    ring: Box<[Option<Used>]>,
    count: u64,
}

/// Checks what a description says of reuse.
fn check_reuse(reuse: &[Reuse]) -> Result<(), SpecError> {
    let mut sum = 0.0;
    for (index, kind) in reuse.iter().enumerate() {
        let key = format!("reuse[{index}]");
        sum += check_share(&format!("{key}.share"), kind.share)?;
        check_share(&format!("{key}.again"), kind.again)?;
        check_share(&format!("{key}.regular"), kind.regular)?;
        let [from, to] = kind.distance;
        if from == 0 || from > to || to > MAX_DISTANCE {
            let rule = format!("give the least and the largest distance, 1 to {MAX_DISTANCE} requests");
            return Err(SpecError::field(format!("{key}.distance"), format!("[{from}, {to}]"), rule));
        }
    }
    if sum > 1.0 + SHARE_SLACK {
        return Err(SpecError::field("reuse", format!("shares that add to {sum}"), "they must not exceed 1"));
    }
    Ok(())
}

impl ReuseSampler {
    /// From the kinds of a description; none where nothing is repeated.
    pub(super) fn new(reuse: &[Reuse], seed: u64) -> Result<Option<Self>, SpecError> {
        check_reuse(reuse)?;
        let sum: f64 = reuse.iter().map(|kind| kind.share).sum();
        if sum <= 0.0 {
            return Ok(None);
        }
        let new = (1.0 - sum).max(0.0);
        let weights: Vec<f64> = std::iter::once(new).chain(reuse.iter().map(|kind| kind.share)).collect();
        let kind = |kind: &Reuse| Kind {
            op: kind.op.host_op(),
            after: kind.after.host_op(),
            distance: kind.distance.map(u64::from),
            again: Chance::of(kind.again),
            regular: Chance::of(kind.regular),
        };
        let history = |access: Access| {
            let distances = reuse.iter().filter(|kind| kind.after == access).map(|kind| kind.distance[1] as usize);
            History { ring: vec![None; distances.max().unwrap_or(0)].into_boxed_slice(), count: 0 }
        };
        Ok(Some(Self {
            choice: Weighted::new(&weights),
            kinds: reuse.iter().map(kind).collect(),
            reads: history(Access::Read),
            writes: history(Access::Write),
            used_sectors: vec![0; SECTORS_KNOWN].into_boxed_slice(),
            stream: SeededRng::named(seed, "reuse"),
        }))
    }

    /// The next request, if it is one that repeats another.
    #[inline]
    pub(super) fn draw(&mut self) -> Option<(HostOp, Used)> {
        let index = self.choice.draw(&mut self.stream).checked_sub(1)?;
        let kind = self.kinds[index];
        let history = if kind.after == HostOp::Read { &mut self.reads } else { &mut self.writes };
        let [from, to] = kind.distance;
        let own = Some(index as u32);
        let is_regular = kind.regular.hit(&mut self.stream);
        let suits = |used: &Used| (used.kind == own) == is_regular;
        let stream = &mut self.stream;
        let found = history.take(from, to, stream, suits).or_else(|| history.take(from, to, stream, |_| true));
        // A beginning has no far ones yet; then as often as asked for matters more than how far.
        let found = found.or_else(|| history.take(1, from - 1, stream, |_| true));
        let used = Used { kind: own, ..found? };
        let may_repeat = kind.again.hit(&mut self.stream);
        self.note(kind.op, used, may_repeat);
        Some((kind.op, used))
    }

    /// The first of a few places that `draw` makes at which no request has started of late, or the
    /// last of them.
    #[inline]
    pub(super) fn new_place(&mut self, mut draw: impl FnMut() -> u64) -> u64 {
        let mut offset = draw();
        for _ in 1..DRAWS {
            let sector = offset / SECTOR;
            if self.used_sectors[slot(sector)] != sector + 1 {
                break;
            }
            offset = draw();
        }
        self.used_sectors[slot(offset / SECTOR)] = offset / SECTOR + 1;
        offset
    }

    /// Remembers a request, and whether it may be repeated.
    #[inline]
    pub(super) fn note(&mut self, op: HostOp, used: Used, may_repeat: bool) {
        match op {
            HostOp::Read => self.reads.push(may_repeat.then_some(used)),
            HostOp::Write => self.writes.push(may_repeat.then_some(used)),
            HostOp::Trim | HostOp::Flush => {}
        }
    }
}

/// A sector's place in the table. Pages that follow each other have places of their own.
fn slot(sector: u64) -> usize {
    ((sector ^ sector >> 16) % SECTORS_KNOWN as u64) as usize
}

impl History {
    #[inline]
    fn push(&mut self, used: Option<Used>) {
        let places = self.ring.len() as u64;
        if places > 0 {
            self.ring[(self.count % places) as usize] = used;
            self.count += 1;
        }
    }

    /// Takes a request that suits at one of the distances, from a random one on.
    fn take(&mut self, from: u64, to: u64, stream: &mut SeededRng, suits: impl Fn(&Used) -> bool) -> Option<Used> {
        let distances = (to.min(self.count) + 1).checked_sub(from).filter(|&distances| distances > 0)?;
        let first = stream.below(distances);
        (0..distances.min(PROBES)).find_map(|probe| {
            let distance = from + (first + probe) % distances;
            let place = ((self.count - distance) % self.ring.len() as u64) as usize;
            self.ring[place].take_if(|used| suits(used))
        })
    }
}
