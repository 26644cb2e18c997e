//! Units that wait in the controller until what is programmed at once is whole.
//!
//! A block takes its units in strict order, so at most one of its program units is open: the one
//! that the next unit goes to. All of its units but the last go into a buffer, at once. The last
//! one carries the program of all. In a block in pSLC mode they may be smaller, down to one unit
//! that waits for no other. Units that are programmed alone may leave gaps.
//!
//! Units of the host wait in the program buffer (`program_buffer.rs`). Those of collections have a
//! place beside it for each program unit that is open. Who completes one of these waits for its
//! program.
//!
//! It knows only how full blocks are and when data come, no data: a unit that waits is programmed
//! for the chip and for every scheme. A capacitor keeps the buffer when the power is cut, so that
//! it is. Counting goes on when the clock is started anew.

use flash::CellMode;
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
    /// Of the units that wait, those in the program buffer.
    of_host: u16,
    /// Whether the first of them is in no program buffer, so that the program unit has a place
    /// beside that.
    is_staged: bool,
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
    /// Units of the program units that are open beside the program buffer, and the most that were
    /// at the same time.
    open: u32,
    most_open: u32,
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
    /// block and in pSLC mode, on a chip of this many dies.
    pub(super) fn new([size, pslc_size]: [u32; 2], blocks: u32, dies: u32, units_per_page: u32) -> Self {
        let erased = Filling { units: 0, size, arrives: Moment::ZERO, of_host: 0, is_staged: false };
        Self {
            pslc_size,
            erased,
            blocks: vec![erased; blocks as usize].into(),
            open: 0,
            most_open: 0,
            units_per_page,
            registers: vec![None; dies as usize].into(),
            commands: 0,
            was_in_register: false,
        }
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
        let Filling { units, size, arrives, .. } = self.blocks[block];
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

    /// A unit begins to wait, in the program buffer or beside it; then the data of its program unit
    /// have come at a moment.
    #[inline]
    pub(super) fn put(&mut self, block: usize, unit: u32, arrives: Moment, is_of_host: bool) {
        let Filling { units, size, of_host, is_staged, .. } = self.blocks[block];
        debug_assert_eq!(units, unit, "blocks are filled in strict order");
        let is_first = unit.is_multiple_of(size);
        let is_staged = if is_first { !is_of_host } else { is_staged };
        if is_first && is_staged {
            self.open += size;
            self.most_open = self.most_open.max(self.open);
        }
        let of_host = of_host + u16::from(is_of_host);
        self.blocks[block] = Filling { units: unit + 1, size, arrives, of_host, is_staged };
    }

    /// The program unit of a unit is whole with it. How many of those that waited were in the
    /// program buffer.
    #[inline]
    pub(super) fn write(&mut self, block: usize, unit: u32) -> u16 {
        let Filling { units, size, .. } = self.blocks[block];
        debug_assert!(size == 1 || units == unit, "blocks are filled in strict order");
        let of_host = self.close(block);
        self.blocks[block].units = unit + 1;
        of_host
    }

    /// A block is erased. What waits of it is dropped; how many of it in the program buffer.
    #[inline]
    pub(super) fn erase(&mut self, block: usize) -> u16 {
        let of_host = self.close(block);
        self.blocks[block] = self.erased;
        of_host
    }

    /// Nothing waits of a block any more; how many of it did in the program buffer.
    fn close(&mut self, block: usize) -> u16 {
        let filling = &mut self.blocks[block];
        if std::mem::take(&mut filling.is_staged) {
            self.open -= filling.size;
        }
        std::mem::take(&mut filling.of_host)
    }

    /// The clock starts anew: all data have come. The most is counted from here on.
    pub(super) fn restart(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.arrives = Moment::ZERO);
        self.registers.fill(None);
        self.most_open = self.open;
    }

    /// A device is switched on whose blocks, all native, are filled so far. What waited is in the
    /// program buffer, which a capacitor kept.
    pub(super) fn resume(&mut self, filled: impl Iterator<Item = u32>) {
        for (block, units) in self.blocks.iter_mut().zip(filled) {
            *block = Filling { units, of_host: (units % self.erased.size) as u16, ..self.erased };
        }
        self.open = 0;
        self.restart();
    }

    /// Units that wait in the program buffer.
    pub(super) fn of_host(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.of_host)).sum()
    }

    /// Units of the program units that were open at the same time beside the program buffer.
    pub(super) fn most_staged(&self) -> u64 {
        self.most_open.into()
    }
}

#[cfg(test)]
mod tests {
    use flash::Pbn;
    use ftl::{Cause, FlashOp};

    use super::*;

    /// Of blocks on one die, with two units a page.
    fn with(sizes: [u32; 2], blocks: u32) -> ProgramUnits {
        ProgramUnits::new(sizes, blocks, 1, 2)
    }

    #[test]
    fn units_wait_until_the_last_of_a_program_unit_or_an_erase() {
        let mut units = with([4, 4], 3);
        for unit in 0..3 {
            assert!(!units.completes(1, unit));
            units.put(1, unit, Moment::ZERO, false);
        }
        units.put(2, 0, Moment::ZERO, false);
        let waits = |units: &ProgramUnits| (0..8).filter(|&unit| units.waits(1, unit)).collect::<Vec<_>>();
        assert_eq!((waits(&units), units.most_staged()), (vec![0, 1, 2], 8));
        assert!(units.completes(1, 3));
        units.write(1, 3);
        assert!(waits(&units).is_empty() && units.arrives(1).is_none());
        units.put(1, 4, Moment::ZERO, false);
        assert_eq!(waits(&units), [4]);
        units.erase(1);
        assert!(waits(&units).is_empty());
        units.restart();
        assert_eq!(units.most_staged(), 4, "block 2 has one open");
    }

    #[test]
    fn a_device_is_switched_on_with_what_its_blocks_hold() {
        let mut units = with([4, 4], 3);
        units.put(2, 0, Moment::ZERO, false);
        units.resume([6, 4, 0].into_iter());
        let waiting: Vec<_> = (0..3).flat_map(|block| (0..12).map(move |unit| (block, unit))).collect();
        let waiting = waiting.into_iter().filter(|&(block, unit)| units.waits(block, unit)).collect::<Vec<_>>();
        assert_eq!((waiting, units.of_host(), units.most_staged()), (vec![(0, 4), (0, 5)], 2, 0));
        units.put(0, 6, Moment::ZERO, false);
        assert!(units.completes(0, 7));
        assert_eq!(units.write(0, 7), 2, "two of the host's were kept");
        units.put(1, 4, Moment::ZERO, false);
        assert_eq!((units.of_host(), units.most_staged()), (0, 4));
    }

    #[test]
    fn units_of_the_host_have_no_place_beside_the_buffer_and_tell_how_many_they_are() {
        let mut units = with([4, 4], 3);
        for (unit, is_of_host) in [(0, true), (1, false), (2, true)] {
            units.put(0, unit, Moment::ZERO, is_of_host);
        }
        assert_eq!((units.of_host(), units.most_staged()), (2, 0), "the first was the host's");
        units.put(1, 0, Moment::ZERO, false);
        units.put(1, 1, Moment::ZERO, true);
        assert_eq!((units.of_host(), units.most_staged()), (3, 4));
        assert_eq!((units.write(0, 3), units.erase(1)), (2, 1));
        assert_eq!((units.of_host(), units.erase(1)), (0, 0));
    }

    #[test]
    fn units_of_a_page_that_a_request_reads_come_out_of_one_register() {
        let mut units = with([4, 4], 3);
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
            let mut units = with([6, pslc_size], 2);
            units.begin(0, CellMode::Pslc);
            assert_eq!(completing(&mut units, 0), last);
            assert_eq!(completing(&mut units, 1), [5, 11], "the other block is native");
            for unit in 0..5 {
                if units.completes(0, unit) {
                    units.write(0, unit);
                } else {
                    units.put(0, unit, Moment::ZERO, false);
                }
            }
            assert_eq!(units.arrives(0).is_some(), pslc_size == 2);
            assert_eq!(units.most_staged(), u64::from(pslc_size) / 2 * 2, "a unit alone needs no buffer");
            units.begin(1, CellMode::Native);
            units.put(1, 0, Moment::ZERO, false);
            units.erase(0);
            assert_eq!(completing(&mut units, 0), [5, 11], "the mode is over");
            units.restart();
            assert_eq!(units.most_staged(), 6, "block 1 has one open");
        }
    }
}
