//! What every translation layer is: the trait that the shells (simulator, checker, live device) drive.

use flash::{Flash, Geometry, Lbn, Lpn, Pbn, ProgramOrder};
use serde::Serialize;

use crate::blocks::manager::Blocks;
use crate::wear::policy::{BlockFacts, WearPolicy};
use crate::{
    BrokenInvariant, ConfigError, Device, Entry, FileEvent, FtlError, Hint, Media, Nanos, RecoverError, Values, Wear,
};

/// A host request in pages. Whole, since many schemes classify by size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// First logical page.
    pub lpn: Lpn,
    /// Logical pages, at least 1; the shell has checked that they lie on the device.
    pub pages: u32,
    /// Arrival.
    pub arrival: Nanos,
    /// What the host says of the data.
    pub hint: Hint,
}

impl Request {
    /// A request that arrives at time zero without a hint.
    pub fn new(lpn: Lpn, pages: u32) -> Self {
        Self { lpn, pages, arrival: Nanos::ZERO, hint: Hint::NONE }
    }

    /// Its logical pages, in order, each with its position in the request.
    #[inline]
    pub fn lpns(&self) -> impl Iterator<Item = (usize, Lpn)> + use<> {
        let first = self.lpn.get();
        (0..self.pages).map(move |i| (i as usize, Lpn::new(first + i)))
    }
}

/// The pages of a request that lie in one logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRun {
    /// The logical block.
    pub lbn: Lbn,
    /// Offset of the first page in it.
    pub first: u32,
    /// Pages.
    pub pages: u32,
    /// Position of the first page in the request.
    pub position: usize,
}

impl Request {
    /// The request cut at the borders of logical blocks.
    pub fn block_runs(&self, geometry: &Geometry) -> impl Iterator<Item = BlockRun> + use<> {
        let (geometry, first, end) = (*geometry, self.lpn.get(), self.lpn.get() + self.pages);
        let mut next = first;
        std::iter::from_fn(move || {
            if next == end {
                return None;
            }
            let (lbn, offset) = geometry.split_logical(Lpn::new(next));
            let pages = (geometry.pages_per_block() - offset).min(end - next);
            let run = BlockRun { lbn, first: offset, pages, position: (next - first) as usize };
            next += pages;
            Some(run)
        })
    }
}

/// What is done with a wear policy and what is known of all blocks.
pub type Consultation<'a> = &'a mut dyn FnMut(&mut dyn WearPolicy, &dyn BlockFacts);

/// A flash translation layer. `out` and `data` hold one element a page of the request. It may be moved to the thread of a live device.
pub trait Ftl<D: Device>: Send {
    /// Reads pages; pages never written or trimmed read as `D::Data::default()`.
    fn read(&mut self, media: &mut Media<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError>;

    /// Writes pages. Acknowledged writes are durable unless the scheme buffers data and says so.
    fn write(&mut self, media: &mut Media<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError>;

    /// Forgets pages.
    fn trim(&mut self, media: &mut Media<D>, request: &Request) -> Result<(), FtlError>;

    /// Makes everything acknowledged survive a power cut.
    fn flush(&mut self, media: &mut Media<D>) -> Result<(), FtlError>;

    /// Tells of a request to come, so that a scheme can ask for the memory that it will touch. Changes nothing. A shell that
    /// looks ahead says so three times for each request, each time when it is nearer.
    fn foresee(&self, _media: &Media<D>, _request: &Request, _foresight: Foresight) {}

    /// Whether it decides by what the host will ask, which no real device knows. A shell that does not know it either must refuse it.
    fn looks_ahead(&self) -> bool {
        false
    }

    /// Tells a scheme that looks ahead all that it will be asked from now on, call by call.
    fn foretell(&mut self, _asked: &[Foretold]) {}

    /// Tells what became of a file whose data lie in these pages, with what the host says of it from now on. Costs nothing and changes no
    /// content: a scheme may remember it, for where it places pages later.
    fn told(&mut self, _event: FileEvent, _of: &Request) {}

    /// Offers `budget` of idle time for background work.
    fn idle(&mut self, _media: &mut Media<D>, _budget: Nanos) -> Result<(), FtlError> {
        Ok(())
    }

    /// Empties a block, whatever it holds: data, log, translation or trim pages, some of each, or nothing yet because it has just been
    /// opened. What it holds is copied first and the block erased afterwards, so nothing is lost, whenever the power is cut or
    /// whatever fails. On a device that writes are still accepted by, it can always be asked for; [`Later`] says when it is refused.
    /// What is done for it stands under [`Cause::WearLeveling`](crate::Cause::WearLeveling).
    fn evacuate(&mut self, media: &mut Media<D>, pbn: Pbn) -> Result<Evacuated, FtlError>;

    /// The owner of its blocks, with the wear policy; every scheme of the registry has one.
    fn owner(&mut self) -> Option<&mut Blocks> {
        None
    }

    /// Whether anything that it does depends on hints. If not, whoever stands in front need not keep apart what the host says different
    /// things of. A mapping that heeds none itself asks its wear policy.
    fn heeds_hints(&mut self) -> bool {
        self.owner().is_some_and(|blocks| blocks.policy().0.heeds_hints())
    }

    /// Has its wear policy say something, or be told something, with what is known of all blocks.
    fn consult(&mut self, ask: Consultation<'_>) {
        if let Some(blocks) = self.owner() {
            let (policy, facts) = blocks.policy();
            ask(policy, &facts);
        }
    }

    /// Checks the numbered invariants of the scheme's header. Pure; may take time proportional to the device.
    fn check(&self, media: &Media<D>) -> Result<(), BrokenInvariant>;

    /// Memory that the mapping takes, structure by structure.
    fn footprint(&self) -> Footprint;

    /// Blocks that may fail before the device becomes read-only; none for a scheme that cannot do without any block.
    fn spares(&self) -> Spares {
        Spares::default()
    }

    /// What acknowledged writes leave in RAM until a flush. Of a scheme that says nothing here, writes last at once.
    fn buffered(&self) -> Buffered {
        Buffered::default()
    }

    /// Pages that are kept in RAM and of which flash has the same, so that reading them takes no flash operation.
    fn kept_clean(&self) -> u32 {
        0
    }

    /// Numbers of the scheme's own, sampled into the time series.
    fn gauges(&self) -> Vec<Gauge> {
        Vec::new()
    }
}

/// What became of a block that was to be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evacuated {
    /// It was erased and unused, or has been erased since: what it held lies elsewhere. It may have been taken again at once.
    Done,
    /// It turned out to fail: what it held lies elsewhere, and it is marked bad.
    Retired,
    /// It is as it was, and why.
    Later(Later),
}

/// Why a block cannot be emptied now, and so for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Later {
    /// It is bad, and stays so.
    IsBad,
    /// The device is read-only, and stays so.
    ReadOnly,
    /// There is no free block to move anything to, since blocks have failed: ask again after the next write that is served.
    NoRoom,
}

/// What a host asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To read pages.
    Read,
    /// To write pages.
    Write,
    /// To forget pages.
    Trim,
}

/// A call that will come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foretold {
    /// What is asked.
    pub asked: Asked,
    /// First logical page.
    pub lpn: Lpn,
    /// Logical pages, at least 1.
    pub pages: u32,
}

/// How far ahead a request is foreseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foresight {
    /// For the first time: ask for what is found by the logical address alone.
    Far,
    /// For the second time: that has arrived, so ask for what it points to.
    Near,
    /// For the third time: that has arrived too.
    Next,
}

/// How far a device is from being read-only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spares {
    /// Blocks that could fail when the device was new.
    pub total: u32,
    /// Blocks that have failed since.
    pub used: u32,
}

impl Spares {
    /// Of a device that has too few blocks left to be written to.
    pub const READ_ONLY: Self = Self { total: 0, used: 1 };

    /// A block has failed.
    pub fn use_one(&mut self) {
        self.used += 1;
    }

    /// Refuses to write when more blocks have failed than may.
    #[inline]
    pub fn admit(&self) -> Result<(), FtlError> {
        if self.used <= self.total { Ok(()) } else { Err(FtlError::ReadOnly { spares: self.total }) }
    }
}

/// Pages that acknowledged writes leave in RAM until a flush, where a power cut loses them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffered {
    /// How many there can be; 0 for a scheme without a write buffer.
    pub capacity_pages: u32,
    /// How many there are.
    pub pages: u32,
}

/// How the registry builds a scheme.
pub trait Scheme: Sized {
    /// What the registry lists about it.
    const ENTRY: Entry;

    /// Builds the scheme for an erased device.
    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError>;

    /// Builds the scheme for a device that it has used before, from the tags alone, after any power cut. May be cut itself
    /// at any operation and started again.
    fn recover<D: Device>(layout: &Layout, values: &Values, media: &mut Media<D>) -> Result<Self, RecoverError>;
}

/// What a scheme may know of its device: shape, logical capacity and the blocks it can use.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Shape of the flash.
    pub geometry: Geometry,
    /// Logical pages that the host sees.
    pub logical_pages: u32,
    /// Blocks that are not bad, in address order.
    pub good_blocks: Vec<Pbn>,
    /// Order in which the pages of a block may be programmed.
    pub program_order: ProgramOrder,
    /// Whether the device holds data already. If so many of its blocks have failed that a fresh device would be refused, it comes
    /// up read-only instead.
    pub in_use: bool,
    /// Seed of whatever a scheme draws at random, derived by name from the run's seed.
    pub seed: u64,
    /// How wear is levelled.
    pub wear: Wear,
}

impl Layout {
    /// The layout of a fresh chip.
    pub fn of(chip: &impl Flash, logical_pages: u32, seed: u64) -> Self {
        let geometry = *chip.geometry();
        let good_blocks = (0..geometry.blocks()).map(Pbn::new).filter(|&pbn| !chip.is_bad(pbn)).collect();
        Self {
            geometry,
            logical_pages,
            good_blocks,
            program_order: chip.program_order(),
            in_use: false,
            seed,
            wear: Wear::default(),
        }
    }

    /// The same layout for a device that holds data already.
    #[must_use]
    pub fn in_use(&self) -> Self {
        Self { in_use: true, ..self.clone() }
    }

    /// Logical blocks, the last one perhaps in part.
    pub fn logical_blocks(&self) -> u32 {
        self.logical_pages.div_ceil(self.geometry.pages_per_block())
    }

    /// Good blocks beyond those that the logical pages fill.
    pub fn spare_blocks(&self) -> u32 {
        (self.good_blocks.len() as u32).saturating_sub(self.logical_blocks())
    }
}

/// RAM and flash bytes of a scheme's mapping, as the papers count them: what a controller would need, not what the
/// simulation happens to use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Footprint {
    /// The structures.
    pub structures: Vec<Structure>,
}

/// One structure of a footprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Structure {
    /// For example `page map`, `GTD`.
    pub name: &'static str,
    /// Bytes of RAM.
    pub ram_bytes: u64,
    /// Bytes of flash.
    pub flash_bytes: u64,
}

impl Footprint {
    /// Adds a structure.
    #[must_use]
    pub fn with(mut self, name: &'static str, ram_bytes: u64, flash_bytes: u64) -> Self {
        self.structures.push(Structure { name, ram_bytes, flash_bytes });
        self
    }

    /// Bytes of RAM over all structures.
    pub fn ram_bytes(&self) -> u64 {
        self.structures.iter().map(|s| s.ram_bytes).sum()
    }

    /// Bytes of flash over all structures.
    pub fn flash_bytes(&self) -> u64 {
        self.structures.iter().map(|s| s.flash_bytes).sum()
    }
}

/// A number of a scheme's own at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gauge {
    /// Its name in results.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
}
