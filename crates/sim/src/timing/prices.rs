//! What an operation takes, by the page that it is done to: the engine asks that only here.
//!
//! Pages of the geometry are units ([`Units`]). What a unit takes is looked up once, when its
//! operation is issued. From then on the operation goes by its *price*: which of the few times that
//! units of a block take, or of a copy-back which two. Where all units are alike there is no table
//! to look it up in. All units of blocks in pSLC mode have one price more.

use flash::{CellMode, Geometry};
use ftl::{FlashOp, Task};

use crate::latencies::Latencies;
use crate::timing::abilities::Abilities;
use crate::timing::priced_task::{
    COPY_BACK, CourseId, ERASE, IN_REGISTER, PROGRAM, PSLC, Price, PricedTask, READ, TYPES,
};
use crate::timing::superblocks::Layout;
use crate::timing::units::Units;

/// How operations of a class and a price go. Of copy-backs, a course says only what they take.
#[derive(Clone, Copy)]
pub(super) struct Course {
    /// What they take alone.
    pub(super) alone_ns: u64,
    /// How many units they move over a bus.
    pub(super) moves: u32,
    /// From when a die takes one up until its page asks for the bus.
    pub(super) asks_after_ns: u64,
    /// From when its page has moved to the next event.
    pub(super) then_ns: u64,
}

/// What the operations of a device take.
pub(super) struct Prices {
    /// By price, behind those of native pages that of pSLC mode and that of pages in a register.
    read_ns: [u64; TYPES],
    program_ns: [u64; TYPES],
    /// Of one unit.
    pub(super) transfer_ns: u64,
    /// Of the units of a block, by offset; empty where all take the same.
    by_unit: Box<[Price]>,
    /// The unit of a block that takes longest to read, and the one that takes longest to program.
    slowest: [u32; 2],
    /// By id.
    courses: Box<[Course; CourseId::COUNT]>,
}

impl Prices {
    /// Prices on a device of a geometry in units; a serial one has no buses, and what moves units
    /// takes that longer.
    pub(super) fn new(
        geometry: &Geometry,
        units: Units,
        latencies: &Latencies,
        abilities: Abilities,
        is_serial: bool,
    ) -> Self {
        let transfer_ns = units.transfer_ns(latencies);
        let at_once = abilities.programmed_at_once_by_mode(units, latencies.cell);
        let layout = Layout::new(abilities.superblocks, units, latencies.cell, abilities.multi_plane);
        let erase_ns = abilities.superblocks.erase_ns(latencies.erase_ns, abilities.multi_plane);
        let inside_ns = if is_serial { transfer_ns } else { 0 };
        let with_transfers =
            |(read, program): (u64, u64), units: u32| (read + inside_ns, program + inside_ns * u64::from(units));
        let native = |unit| {
            let unit = layout.place(CellMode::Native, unit).unit;
            (units.read_ns(latencies, unit), units.program_ns(latencies, unit))
        };
        let (mut times, by_unit) = times(geometry, |unit| with_transfers(native(unit), at_once[0]));
        times[PSLC] = with_transfers(units.pslc_ns(latencies), at_once[1]);
        times[IN_REGISTER] = with_transfers((0, 0), 0);
        let (read_ns, program_ns) = (times.map(|time| time.0), times.map(|time| time.1));
        let transfer_ns = transfer_ns - inside_ns;
        let is_suspendable = abilities.scheduling.suspension(FlashOp::Program).is_some();
        let moves = |units: u32| if transfer_ns > 0 { units } else { 0 };
        let course = |id: CourseId| {
            let (class, types) = (id.class(), usize::from(id.price().0));
            let price = types % TYPES;
            let (read, program) = times[price];
            let at_once = at_once[usize::from(price == PSLC)];
            let then_ns = if is_suspendable { 0 } else { program };
            let (alone_ns, moves, asks_after_ns, then_ns) = match class {
                READ => (read + transfer_ns, moves(1), read, 0),
                PROGRAM => (transfer_ns * u64::from(at_once) + program, moves(at_once), 0, then_ns),
                ERASE => (erase_ns, 0, 0, 0),
                _ => (times[types / TYPES % TYPES].0 + program, 0, 0, 0),
            };
            Course { alone_ns, moves, asks_after_ns, then_ns }
        };
        let slowest = [read_ns, program_ns].map(|times| slowest(&times, &by_unit));
        let mut ids = CourseId::all();
        let courses = Box::new(std::array::from_fn(|_| course(ids.next().expect("as many as there are"))));
        Self { read_ns, program_ns, transfer_ns, by_unit, slowest, courses }
    }

    /// The price of an operation, by its page's offset in the block and the block's mode; of an
    /// erase that of page 0.
    #[inline]
    pub(super) fn of(&self, task: &Task) -> Price {
        if task.mode == CellMode::Pslc {
            return Price(PSLC as u8);
        }
        self.by_unit.get(task.page as usize).copied().unwrap_or(Price(0))
    }

    /// The page of a block, by its offset, for which an operation takes longest.
    pub(super) fn slowest_page(&self, op: FlashOp) -> u32 {
        self.slowest.get(op as usize).copied().unwrap_or(0)
    }

    /// How an operation goes.
    #[inline]
    pub(super) fn course(&self, id: CourseId) -> &Course {
        &self.courses[id.index()]
    }

    /// How an operation that is no copy-back goes.
    #[inline]
    pub(super) fn course_of(&self, op: FlashOp, price: Price) -> &Course {
        self.course(CourseId::new(op as usize, price))
    }

    /// How long a read or a copy-back senses.
    #[inline]
    pub(super) fn sense_ns(&self, task: &PricedTask) -> u64 {
        let price = usize::from(task.course.price().0);
        self.read_ns[if task.course.class() == COPY_BACK { price / TYPES } else { price }]
    }

    /// How long a program or a copy-back programs.
    #[inline]
    pub(super) fn program_ns(&self, task: &PricedTask) -> u64 {
        self.program_ns[usize::from(task.course.price().0) % TYPES]
    }

    /// What moving this many units takes.
    #[inline]
    pub(super) fn moves_ns(&self, units: u32) -> u64 {
        self.transfer_ns * u64::from(units)
    }
}

/// The different times that units of a block are read and programmed in, in the order in which they
/// occur, and which of them each unit has; none where all take the same.
///
/// Pages of a cell come in pairs that take turns, and a unit is one of them, a part of one, or a
/// power of two: so there are no more times than the cell has bits, whatever the block.
fn times(geometry: &Geometry, time: impl Fn(u32) -> (u64, u64)) -> ([(u64, u64); TYPES], Box<[Price]>) {
    let mut different = vec![time(0)];
    let price = |unit| {
        let time = time(unit);
        let known = different.iter().position(|&other| other == time);
        Price(known.unwrap_or_else(|| {
            different.push(time);
            different.len() - 1
        }) as u8)
    };
    let by_unit: Box<[_]> = (0..geometry.pages_per_block()).map(price).collect();
    let last = different.len() - 1;
    assert!(last < PSLC, "{different:?}: units of a block have more prices than a cell has types of page");
    let by_unit = if last == 0 { Box::default() } else { by_unit };
    (std::array::from_fn(|price| different[price.min(last)]), by_unit)
}

/// The first of the units that take longest.
fn slowest(times: &[u64; TYPES], by_unit: &[Price]) -> u32 {
    let time = |&unit: &usize| (times[usize::from(by_unit[unit].0)], std::cmp::Reverse(unit));
    (0..by_unit.len()).max_by_key(time).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use flash::{CellType, Pbn, Shape};
    use ftl::Cause;

    use super::*;
    use crate::latencies::PageTimes;
    use crate::timing::units::Programming;

    #[test]
    fn units_of_any_size_take_what_their_pages_take() {
        let by_type = |cell: CellType| PageTimes::by_type(&[1, 20, 300, 4000][..cell.bits()]).expect("times");
        for (cell, power) in CellType::ALL.iter().flat_map(|&cell| (0..9).map(move |power| (cell, power))) {
            let latencies =
                Latencies { cell, read_ns: by_type(cell), program_ns: by_type(cell), ..Latencies::of_slc([0; 4]) };
            let shape = Shape {
                channels: 1,
                dies_per_channel: 1,
                planes_per_die: 1,
                blocks_per_plane: 1,
                pages_per_block: 1024,
                page_size_bytes: 4096,
            };
            let task = |op, page| Task { page, ..Task::new(op, Cause::Host, Pbn::new(0), 0) };
            // What a block of units takes to read, and what it takes to program them one by one.
            let sums = |units: Units, page_size_bytes: u32| {
                let geometry = Geometry::new(units.mapped(Shape { page_size_bytes, ..shape })).expect("a shape");
                let prices = Prices::new(&geometry, units, &latencies, Abilities::NONE, false);
                let courses = |op| (0..geometry.pages_per_block()).map(move |unit| (op, unit));
                [FlashOp::Read, FlashOp::Program].map(|op| {
                    courses(op).map(|(op, unit)| prices.course_of(op, prices.of(&task(op, unit))).alone_ns).sum::<u64>()
                })
            };
            let pages = sums(Units::PAGES, 4096);
            assert_eq!(
                sums(Units::of_pages(1 << power, Programming::Shadow), 4096),
                pages,
                "{cell:?}, 2^{power} pages"
            );
            let parts = sums(Units::of_a_page(1 << power, Programming::Shadow), 1 << 17);
            assert_eq!(parts, pages.map(|ns| ns << power), "{cell:?}, 2^{power} units a page");
        }
    }
}
