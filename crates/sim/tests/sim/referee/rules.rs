//! What a device takes and can do, as the referee knows it.

use std::ops::Range;

use flash::{Geometry, Pbn, ProgramOrder};
use ftl::{Cause, FlashOp, Task, WorkKind};

/// Times in nanoseconds, and what a device can do beyond the plain model.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an ability of its own")]
pub(crate) struct Rules {
    pub(crate) read_ns: u64,
    pub(crate) program_ns: u64,
    pub(crate) erase_ns: u64,
    pub(crate) transfer_ns: u64,
    pub(crate) serial: bool,
    pub(crate) copy_back: bool,
    pub(crate) multi_plane: bool,
    pub(crate) aligned_planes: bool,
    pub(crate) cache_read: bool,
    pub(crate) cache_program: bool,
    pub(crate) reads_first: bool,
    pub(crate) gc_yields: bool,
    pub(crate) suspends_erases: bool,
    pub(crate) suspends_programs: bool,
    /// Of programs, and of erases.
    pub(crate) suspend_ns: [u64; 2],
    pub(crate) resume_ns: [u64; 2],
    /// Most times that an operation is suspended, and overtaken.
    pub(crate) suspensions: Option<u64>,
    pub(crate) overtakes: Option<u64>,
    /// Classes that go before others, the first in front; empty text behind the last.
    pub(crate) die_order: [&'static str; 5],
    pub(crate) gc_channels: Option<u32>,
    /// What the link to the host moves, each way; without it, data move at once.
    pub(crate) link_bytes_per_s: Option<u64>,
    pub(crate) link_latency_ns: u64,
    /// Without them, there is one for every command.
    pub(crate) controller_cores: Option<u32>,
    pub(crate) controller_ns: u64,
    /// Cells of several bits; without them all pages are alike.
    pub(crate) cells: Option<Cells>,
    /// What is mapped and programmed; without it, pages of the flash.
    pub(crate) units: Option<Units>,
    /// Units of the host that the program buffer holds; none where writes wait for their programs.
    pub(crate) buffered: Option<u64>,
    /// On a serial device, what moving a unit takes: its operations contain it.
    pub(crate) moved_inside_ns: u64,
    /// How many blocks of the chip are one block to the scheme.
    pub(crate) superblocks: Superblocks,
}

/// What is one block to the scheme: blocks of this many planes, on this many dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superblocks {
    pub(crate) planes: u32,
    pub(crate) dies: u32,
}

impl Default for Superblocks {
    fn default() -> Self {
        Self { planes: 1, dies: 1 }
    }
}

/// Where a unit of a superblock is on the chip: on which of its dies, on which plane, and which
/// unit of the block there it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) die: u32,
    pub(crate) plane: u32,
    pub(crate) unit: u32,
}

/// What is mapped, in pages of the flash, and what is programmed at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    /// Units of a page: 1 where a unit has pages.
    pub(crate) in_a_page: u32,
    /// Pages of a unit: 1 where a page has units.
    pub(crate) pages: u32,
    /// Whether all pages of a word line are programmed at once.
    pub(crate) one_shot: bool,
}

/// Cells of several bits, and what their pages take more, by the bit that they have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells {
    pub(crate) bits: usize,
    pub(crate) more_to_read_ns: [u64; 4],
    pub(crate) more_to_program_ns: [u64; 4],
}

impl Cells {
    /// Which bit a page has, by its offset in the block: some begin the block, then pairs take
    /// turns (`docs/timing.md`).
    fn bit(&self, page: u32) -> usize {
        let first: &[usize] = if self.bits == 2 { &[0, 0, 0, 0, 0, 0, 1, 0, 0, 1] } else { &[0, 0, 0, 0, 0, 0, 1, 1] };
        let page = page as usize;
        first.get(page).copied().unwrap_or_else(|| (page - first.len()) / 2 % self.bits)
    }
}

/// What a die does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Program,
    Erase,
    /// A read and the program of the same page in the same plane, as one.
    Copy,
}

impl Kind {
    pub(crate) fn of(op: FlashOp) -> Self {
        match op {
            FlashOp::Read => Self::Read,
            FlashOp::Program => Self::Program,
            FlashOp::Erase => Self::Erase,
        }
    }
}

impl Rules {
    /// The same device as the referee computes it: a serial one has a single die, and its
    /// operations contain their transfers.
    pub(crate) fn flattened(self) -> Self {
        if !self.serial {
            return self;
        }
        Self { moved_inside_ns: self.unit_moves_ns(), transfer_ns: 0, ..self }
    }

    /// How long a unit is sensed, by its offset in the block: its pages one after the other.
    pub(crate) fn sense(&self, unit: u32) -> u64 {
        let page = |page| self.read_ns + self.cells.map_or(0, |cells| cells.more_to_read_ns[self.bit(cells, page)]);
        self.pages_of(unit).map(page).sum::<u64>() + self.moved_inside_ns
    }

    /// How long the program takes that a unit carries.
    pub(crate) fn program(&self, unit: u32) -> u64 {
        let page =
            |page: u32| self.program_ns + self.cells.map_or(0, |cells| cells.more_to_program_ns[self.bit(cells, page)]);
        let moved_inside_ns = self.moved_inside_ns * u64::from(self.at_once());
        let pages = self.pages_of(unit);
        let programs = match (self.units, self.cells) {
            // A word line after the other, or a part of one, which takes as long as all of it.
            (Some(Units { one_shot: true, pages, .. }), Some(cells)) => {
                self.program_ns * u64::from(pages.div_ceil(cells.bits as u32))
            }
            _ => pages.map(page).sum(),
        };
        programs + moved_inside_ns
    }

    /// Where a unit of a block of the scheme is: rows of program units go over the planes of a die,
    /// and over one die after the other.
    pub(crate) fn spot(&self, unit: u32) -> Spot {
        let of_plane = self.at_once_in_a_plane();
        let of_die = of_plane * self.superblocks.planes;
        let row = of_die * self.superblocks.dies;
        let (in_row, in_die) = (unit % row, unit % of_die);
        // Planes that work together take a page each, others all that they program at once.
        let in_turn = if self.multi_plane { self.units.map_or(1, |units| units.in_a_page) } else { of_plane };
        let in_plane = in_die / (in_turn * self.superblocks.planes) * in_turn + in_die % in_turn;
        let plane = in_die / in_turn % self.superblocks.planes;
        Spot { die: in_row / of_die, plane, unit: unit / row * of_plane + in_plane }
    }

    /// What the erase of a superblock's blocks on one die takes.
    pub(crate) fn erases_ns(&self) -> u64 {
        let turns = if self.multi_plane { 1 } else { self.superblocks.planes };
        self.erase_ns * u64::from(turns)
    }

    /// The pages of the flash that a unit has, or the one that it is a part of.
    fn pages_of(&self, unit: u32) -> Range<u32> {
        let unit = self.spot(unit).unit;
        match self.units {
            Some(Units { pages, in_a_page: 1, .. }) => unit * pages..(unit + 1) * pages,
            Some(Units { in_a_page, .. }) => unit / in_a_page..unit / in_a_page + 1,
            None => unit..unit + 1,
        }
    }

    /// Which bit a page of the flash has.
    fn bit(&self, cells: Cells, page: u32) -> usize {
        if self.units.is_some_and(|units| units.one_shot) { page as usize % cells.bits } else { cells.bit(page) }
    }

    /// How many units are programmed at once, by all planes that work together.
    pub(crate) fn at_once(&self) -> u32 {
        let planes = if self.multi_plane { self.superblocks.planes } else { 1 };
        self.at_once_in_a_plane() * planes
    }

    /// How many units a plane programs at once.
    fn at_once_in_a_plane(&self) -> u32 {
        let Some(Units { in_a_page, pages, one_shot, .. }) = self.units else { return 1 };
        let pages_at_once = self.cells.filter(|_| one_shot).map_or(1, |cells| cells.bits as u32);
        (pages_at_once * in_a_page / pages).max(1)
    }

    /// The order in which the chip takes pages.
    pub(crate) fn program_order(&self) -> ProgramOrder {
        if self.at_once() > 1 { ProgramOrder::Strict } else { ProgramOrder::Ascending }
    }

    /// The fewest units that a program buffer of a device may hold.
    pub(crate) fn least_buffered(&self, geometry: &Geometry) -> u64 {
        u64::from(geometry.dies() * self.superblocks.dies * self.at_once())
    }

    /// What moving a unit takes: a part of a page, rounded up, or several pages.
    fn unit_moves_ns(&self) -> u64 {
        let Units { in_a_page, pages, .. } = self.units.unwrap_or(Units { in_a_page: 1, pages: 1, one_shot: false });
        self.transfer_ns.div_ceil(in_a_page.into()) * u64::from(pages)
    }

    /// What an operation moves over the bus takes there.
    pub(crate) fn moves_ns(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Read => self.unit_moves_ns(),
            Kind::Program => self.unit_moves_ns() * u64::from(self.at_once()),
            Kind::Erase | Kind::Copy => 0,
        }
    }

    /// The first page of a block that takes longest.
    pub(crate) fn slowest_page(&self, op: FlashOp, pages_per_block: u32) -> u32 {
        let time = |page: u32| match op {
            FlashOp::Read => self.sense(page),
            FlashOp::Program => self.program(page),
            FlashOp::Erase => 0,
        };
        (0..pages_per_block).rev().max_by_key(|&page| time(page)).unwrap_or(0)
    }

    /// What an operation on a page takes on an idle device; a copy goes to another page.
    pub(crate) fn alone(&self, kind: Kind, page: u32, to: u32) -> u64 {
        match kind {
            Kind::Read => self.sense(page) + self.moves_ns(kind),
            Kind::Program => self.moves_ns(kind) + self.program(page),
            Kind::Erase => self.erases_ns(),
            Kind::Copy => self.sense(page) + self.program(to),
        }
    }

    /// What the first page of a block takes that is read and programmed.
    pub(crate) fn alone_ns(&self) -> u64 {
        self.alone(Kind::Read, 0, 0) + self.alone(Kind::Program, 0, 0)
    }

    /// What bytes take on the link to the host, one way.
    pub(crate) fn link_ns(&self, bytes: u64) -> u64 {
        let ns = |rate: u64| (u128::from(bytes) * 1_000_000_000).div_ceil(rate.into());
        self.link_bytes_per_s.map_or(0, |rate| ns(rate) as u64)
    }

    /// Whether dies have second registers that overlap reads. Without transfers there is nothing to
    /// overlap.
    pub(crate) fn caches_reads(&self) -> bool {
        self.cache_read && self.transfer_ns > 0
    }

    /// The same of programs.
    pub(crate) fn caches_programs(&self) -> bool {
        self.cache_program && self.transfer_ns > 0
    }

    pub(crate) fn suspends(&self, kind: Kind) -> bool {
        match kind {
            Kind::Read => false,
            Kind::Program | Kind::Copy => self.suspends_programs,
            Kind::Erase => self.suspends_erases,
        }
    }

    /// What an operation of a kind takes until it is suspended, and until it has been resumed.
    pub(crate) fn suspension_ns(&self, kind: Kind) -> [u64; 2] {
        [self.suspend_ns, self.resume_ns].map(|times| times[usize::from(kind == Kind::Erase)])
    }

    /// Whether there is an order of classes.
    pub(crate) fn has_order(&self) -> bool {
        !self.die_order[0].is_empty()
    }

    /// That order, as a study gives it.
    pub(crate) fn die_order(&self) -> Option<String> {
        self.has_order().then(|| self.die_order.join("/").trim_end_matches('/').to_owned())
    }

    /// Whether some operations let others pass.
    pub(crate) fn has_precedence(&self) -> bool {
        self.has_order() || self.reads_first || self.gc_yields || self.suspends_erases || self.suspends_programs
    }

    /// Which place in the order of classes a class has: those that are not named share the last.
    pub(crate) fn place_in_order(&self, class: &str) -> usize {
        let named = self.die_order.iter().filter(|name| !name.is_empty());
        named.clone().position(|&name| name == class).unwrap_or(named.count())
    }

    /// Die and channel of an operation.
    pub(crate) fn place(&self, geometry: &Geometry, task: &Task) -> (usize, usize) {
        if self.serial {
            return (0, 0);
        }
        let die = self.die_of(geometry, task);
        (die as usize, (die / geometry.shape().dies_per_channel) as usize)
    }

    /// The die of the chip that an operation is done on: of a group the one on the channel of its
    /// unit, and of an erase the first.
    pub(crate) fn die_of(&self, geometry: &Geometry, task: &Task) -> u32 {
        task.die + self.spot(task.page).die * geometry.shape().dies_per_channel
    }
}

/// The plane of a block, counted over the whole device.
pub(crate) fn plane_of(geometry: &Geometry, pbn: Pbn) -> u32 {
    pbn.get() / geometry.shape().blocks_per_plane
}

/// Whether work that begins like this moves data.
pub(crate) fn moves_data(cause: Cause) -> bool {
    cause.work() == WorkKind::Moving
}
