//! Units that wait in the controller until what is programmed at once is whole.
//!
//! A block takes its units in strict order, so at most one of its program units is open: the one
//! that the next unit goes to. All of its units but the last go into a buffer, at once. The last
//! one carries the program of all. In a block in pSLC mode they may be smaller, down to one unit
//! that waits for no other.
//!
//! The buffer holds several program units of a die ([`ProgramUnits::buffering`]), beside those that
//! are open. Who completes one waits for the program of the one that has to leave the buffer for
//! the next, and with one buffer for the program of its own.
//!
//! It knows only how full blocks are and when data come, no data: a unit that waits is programmed
//! for the chip and for every scheme. A capacitor keeps the buffer when the power is cut, so that
//! it is. Counting goes on when the clock is started anew.

use std::collections::VecDeque;

use flash::{CellMode, Geometry};
use ftl::{Moment, Task};

/// Where units of a block wait for others.
#[derive(Clone, Copy)]
struct Filling {
    /// Units of the block that have been programmed, those in the buffer included.
    units: u32,
    /// Units of it that are programmed at once, by its mode.
    size: u32,
    /// When all data of its open program unit have come.
    arrives: Moment,
}

/// A flash page in the register of a plane.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Register {
    block: u32,
    page: u32,
    /// The host's command, and the background work in it, that it was sensed for.
    work: (u64, u32),
}

/// How full blocks are whose program units hold several units.
pub(super) struct ProgramUnits {
    /// Units that are programmed at once in a block in pSLC mode.
    pslc_size: u32,
    /// A block that is erased and in no pSLC mode.
    erased: Filling,
    blocks: Box<[Filling]>,
    /// Units of the program units that are open, and the most that were at the same time.
    open: u32,
    most_open: u32,
    /// Program units of a die that the buffer holds.
    buffers: usize,
    /// By die, the ends of the last programs, of those that the buffer may still hold.
    ends: Box<[VecDeque<Moment>]>,
    units_per_page: u32,
    /// By die: the page that it senses and the unit that is taken out of it, if that is the last
    /// thing that it was to do.
    registers: Box<[Option<(Register, u32)>]>,
    /// Commands of the host so far.
    commands: u64,
    /// Whether the unit that was read last was in a register.
    was_in_register: bool,
}

impl ProgramUnits {
    /// Of a device whose blocks are erased, by the units that are programmed at once in a native
    /// block and in pSLC mode; none where no unit waits for others.
    pub(super) fn new([size, pslc_size]: [u32; 2], geometry: &Geometry, units_per_page: u32) -> Option<Self> {
        let erased = Filling { units: 0, size, arrives: Moment::ZERO };
        let blocks = || vec![erased; geometry.blocks() as usize].into();
        (size > 1).then(|| Self {
            pslc_size,
            erased,
            blocks: blocks(),
            open: 0,
            most_open: 0,
            buffers: 1,
            ends: vec![VecDeque::new(); geometry.dies() as usize].into(),
            units_per_page,
            registers: vec![None; geometry.dies() as usize].into(),
            commands: 0,
            was_in_register: false,
        })
    }

    /// The same with a buffer for so many program units of a die, 1 or more.
    pub(super) fn buffering(self, buffers: u32) -> Self {
        Self { buffers: buffers.max(1) as usize, ..self }
    }

    /// A program unit leaves the buffer of a die at a moment. Which program has to end before the
    /// die's next one finds a place in the buffer, if any does.
    pub(super) fn leaves(&mut self, die: u32, end: Moment) -> Option<Moment> {
        if self.buffers == 1 {
            return Some(end);
        }
        let ends = &mut self.ends[die as usize];
        ends.push_back(end);
        if ends.len() < self.buffers { None } else { ends.pop_front() }
    }

    /// Units of a native block that are programmed at once.
    pub(super) fn size(&self) -> u32 {
        self.erased.size
    }

    /// A block in a mode is programmed next. The first page decides, as the mode holds until the
    /// erase.
    #[inline]
    pub(super) fn begin(&mut self, block: usize, mode: CellMode) {
        if mode == CellMode::Pslc && self.blocks[block].units == 0 {
            self.blocks[block].size = self.pslc_size;
        }
    }

    /// Whether a unit waits in the buffer.
    #[inline]
    pub(super) fn waits(&self, block: usize, unit: u32) -> bool {
        let Filling { units, size, .. } = self.blocks[block];
        (units / size * size..units).contains(&unit)
    }

    /// When the data have come of the units that wait for others of their block, if any do.
    #[inline]
    pub(super) fn arrives(&self, block: usize) -> Option<Moment> {
        let Filling { units, size, arrives } = self.blocks[block];
        (!units.is_multiple_of(size)).then_some(arrives)
    }

    /// Whether a unit of a block is the last of its program unit.
    #[inline]
    pub(super) fn completes(&self, block: usize, unit: u32) -> bool {
        (unit + 1).is_multiple_of(self.blocks[block].size)
    }

    /// A unit is read that waits for no others; whether its flash page is in the register of its
    /// plane. It is if the last thing that its die was to do is to read another unit of that page
    /// for the same command, or the same background work. The same unit is read again where bits
    /// were wrong, and so sensed again.
    pub(super) fn reads(&mut self, read: &Task) -> bool {
        let work = (self.commands, read.chain);
        let register = Register { block: read.pbn.get(), page: read.page / self.units_per_page, work };
        let before = self.registers[read.die as usize].replace((register, read.page));
        self.was_in_register = before.is_some_and(|(page, unit)| page == register && unit != read.page);
        self.was_in_register
    }

    /// The host's next command comes.
    pub(super) fn take_command(&mut self) {
        self.commands += 1;
    }

    /// Whether the unit that was read last was in a register, so that nothing was sensed.
    pub(super) fn was_in_register(&self) -> bool {
        self.was_in_register
    }

    /// A die is to do something else than reading.
    pub(super) fn overwrites_register(&mut self, die: u32) {
        self.registers[die as usize] = None;
    }

    /// A unit goes into the buffer; then the data of its program unit have come at a moment.
    #[inline]
    pub(super) fn put(&mut self, block: usize, unit: u32, arrives: Moment) {
        debug_assert_eq!(self.blocks[block].units, unit, "blocks are filled in strict order");
        let size = self.blocks[block].size;
        if unit.is_multiple_of(size) {
            self.open += size;
            self.most_open = self.most_open.max(self.open);
        }
        self.blocks[block] = Filling { units: unit + 1, size, arrives };
    }

    /// The program unit of a unit leaves the buffer with it.
    #[inline]
    pub(super) fn write(&mut self, block: usize, unit: u32) {
        debug_assert_eq!(self.blocks[block].units, unit, "blocks are filled in strict order");
        self.close(block);
        self.blocks[block] = Filling { units: unit + 1, ..self.blocks[block] };
    }

    /// A block is erased. What waits of it is dropped.
    #[inline]
    pub(super) fn erase(&mut self, block: usize) {
        self.close(block);
        self.blocks[block] = self.erased;
    }

    /// What waits of a block leaves the buffer.
    fn close(&mut self, block: usize) {
        if self.arrives(block).is_some() {
            self.open -= self.blocks[block].size;
        }
    }

    /// The clock starts anew: all data have come. The most is counted from here on.
    pub(super) fn restart(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.arrives = Moment::ZERO);
        self.ends.iter_mut().for_each(VecDeque::clear);
        self.registers.fill(None);
        self.most_open = self.open;
    }

    /// A device is switched on whose blocks, all native, are filled so far. What waited is in the
    /// buffer, which a capacitor kept.
    pub(super) fn resume(&mut self, filled: impl Iterator<Item = u32>) {
        for (block, units) in self.blocks.iter_mut().zip(filled) {
            *block = Filling { units, ..self.erased };
        }
        let is_open = |block: &&Filling| !block.units.is_multiple_of(block.size);
        self.open = self.blocks.iter().filter(is_open).count() as u32 * self.erased.size;
        self.restart();
    }

    /// Units that the buffer must hold: those of all program units that were open at the same time,
    /// and of each die as many more as it holds beside them.
    pub(super) fn most_units(&self) -> u64 {
        let more = self.ends.len() as u64 * (self.buffers as u64 - 1) * u64::from(self.erased.size);
        u64::from(self.most_open) + more
    }
}

#[cfg(test)]
mod tests {
    use flash::{Pbn, Shape};
    use ftl::{Cause, FlashOp, Nanos};

    use super::*;

    /// Of blocks on one die, with two units a page.
    fn with(sizes: [u32; 2], blocks: u32) -> Option<ProgramUnits> {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: blocks,
            pages_per_block: 12,
            page_size_bytes: 512,
        };
        ProgramUnits::new(sizes, &Geometry::new(shape).expect("a shape"), 2)
    }

    #[test]
    fn units_wait_until_the_last_of_a_program_unit_or_an_erase() {
        let mut units = with([4, 4], 3).expect("units wait");
        assert!(with([1, 1], 3).is_none(), "nothing to wait for");
        for unit in 0..3 {
            assert!(!units.completes(1, unit));
            units.put(1, unit, Moment::ZERO);
        }
        units.put(2, 0, Moment::ZERO);
        let waits = |units: &ProgramUnits| (0..8).filter(|&unit| units.waits(1, unit)).collect::<Vec<_>>();
        assert_eq!((waits(&units), units.most_units()), (vec![0, 1, 2], 8));
        assert!(units.completes(1, 3));
        units.write(1, 3);
        assert!(waits(&units).is_empty() && units.arrives(1).is_none());
        units.put(1, 4, Moment::ZERO);
        assert_eq!(waits(&units), [4]);
        units.erase(1);
        assert!(waits(&units).is_empty());
        units.restart();
        assert_eq!(units.most_units(), 4, "block 2 has one open");
    }

    #[test]
    fn a_device_is_switched_on_with_what_its_blocks_hold() {
        let mut units = with([4, 4], 3).expect("units wait");
        units.put(2, 0, Moment::ZERO);
        units.resume([6, 4, 0].into_iter());
        let waiting: Vec<_> = (0..3).flat_map(|block| (0..12).map(move |unit| (block, unit))).collect();
        let waiting = waiting.into_iter().filter(|&(block, unit)| units.waits(block, unit)).collect::<Vec<_>>();
        assert_eq!((waiting, units.most_units()), (vec![(0, 4), (0, 5)], 4));
        units.put(0, 6, Moment::ZERO);
        assert!(units.completes(0, 7));
        units.write(0, 7);
        units.put(1, 4, Moment::ZERO);
        assert_eq!(units.most_units(), 4, "one is open at a time");
    }

    #[test]
    fn who_completes_a_program_unit_waits_for_the_one_that_makes_room() {
        let end = |number| Moment::end_of(number, 0, Nanos(0));
        let mut one = with([4, 4], 3).expect("units wait");
        assert_eq!(one.leaves(0, end(5)), Some(end(5)), "its own");
        let mut three = one.buffering(3);
        let mut waits: Vec<_> = (6..9).map(|number| three.leaves(0, end(number))).collect();
        three.erase(1);
        waits.push(three.leaves(0, end(9)));
        assert_eq!(waits, [None, None, Some(end(6)), Some(end(7))], "whatever becomes of blocks");
        three.put(2, 0, Moment::ZERO);
        assert_eq!(three.most_units(), 4 + 2 * 4);
    }

    #[test]
    fn units_of_a_page_that_a_request_reads_come_out_of_one_register() {
        let mut units = with([4, 4], 3).expect("units wait");
        let read = |page, chain| Task { page, chain, ..Task::new(FlashOp::Read, Cause::Host, Pbn::new(1), 0) };
        let found = [(0, 0), (1, 0), (2, 0), (3, 0), (3, 0), (2, 0), (3, 1), (2, 1)]
            .map(|(page, chain)| units.reads(&read(page, chain)));
        assert_eq!(found, [false, true, false, true, false, true, false, true]);
        units.overwrites_register(0);
        assert!(!units.reads(&read(3, 1)) && units.reads(&read(2, 1)) && units.was_in_register());
        units.take_command();
        assert!(!units.reads(&read(3, 1)) && !units.was_in_register());
    }

    #[test]
    fn fewer_units_wait_in_pslc_mode_until_the_erase_that_ends_it() {
        let completing = |units: &mut ProgramUnits, block| {
            let completes = (0..12).filter(|&unit| units.completes(block, unit));
            completes.collect::<Vec<_>>()
        };
        for (pslc_size, last) in [(2, vec![1, 3, 5, 7, 9, 11]), (1, (0..12).collect())] {
            let mut units = with([6, pslc_size], 2).expect("units wait");
            units.begin(0, CellMode::Pslc);
            assert_eq!(completing(&mut units, 0), last);
            assert_eq!(completing(&mut units, 1), [5, 11], "the other block is native");
            for unit in 0..5 {
                if units.completes(0, unit) {
                    units.write(0, unit);
                } else {
                    units.put(0, unit, Moment::ZERO);
                }
            }
            assert_eq!(units.arrives(0).is_some(), pslc_size == 2);
            assert_eq!(units.most_units(), u64::from(pslc_size) / 2 * 2, "a unit alone needs no buffer");
            units.begin(1, CellMode::Native);
            units.put(1, 0, Moment::ZERO);
            units.erase(0);
            assert_eq!(completing(&mut units, 0), [5, 11], "the mode is over");
            units.restart();
            assert_eq!(units.most_units(), 6, "block 1 has one open");
        }
    }
}
