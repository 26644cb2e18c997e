//! Units that wait in the controller until what is programmed at once is whole.
//!
//! A block takes its units in strict order, so at most one of its program units is open: the one
//! that the next unit goes to. All of its units but the last go into a buffer, at once. The last
//! one carries the program of all.
//!
//! It knows only how full blocks are and when data come, no data: a unit that waits is programmed
//! for the chip and for every scheme. A capacitor keeps the buffer when the power is cut, so that
//! it is. Counting goes on when the clock is started anew.

use ftl::Moment;

/// Where units of a block wait for others.
#[derive(Clone, Copy)]
struct Filling {
    /// Units of the block that have been programmed, those in the buffer included.
    units: u32,
    /// When all data of its open program unit have come.
    arrives: Moment,
}

impl Filling {
    const ERASED: Self = Self { units: 0, arrives: Moment::ZERO };
}

/// How full blocks are whose program units hold several units.
pub(super) struct ProgramUnits {
    /// Units that are programmed at once, above 1.
    size: u32,
    blocks: Box<[Filling]>,
    /// Program units that are open, and the most that were at the same time.
    open: u32,
    most_open: u32,
}

impl ProgramUnits {
    /// Of a device whose blocks are erased; none where no unit waits for others.
    pub(super) fn new(size: u32, blocks: u32) -> Option<Self> {
        let blocks = || vec![Filling::ERASED; blocks as usize].into();
        (size > 1).then(|| Self { size, blocks: blocks(), open: 0, most_open: 0 })
    }

    /// Whether a unit waits in the buffer.
    #[inline]
    pub(super) fn waits(&self, block: usize, unit: u32) -> bool {
        let filled = self.blocks[block].units;
        (filled / self.size * self.size..filled).contains(&unit)
    }

    /// When the data have come of the units that wait for others of their block, if any do.
    #[inline]
    pub(super) fn arrives(&self, block: usize) -> Option<Moment> {
        let Filling { units, arrives } = self.blocks[block];
        (!units.is_multiple_of(self.size)).then_some(arrives)
    }

    /// Whether a unit is the last of its program unit.
    #[inline]
    pub(super) fn completes(&self, unit: u32) -> bool {
        (unit + 1).is_multiple_of(self.size)
    }

    /// A unit goes into the buffer; then the data of its program unit have come at a moment.
    #[inline]
    pub(super) fn put(&mut self, block: usize, unit: u32, arrives: Moment) {
        debug_assert_eq!(self.blocks[block].units, unit, "blocks are filled in strict order");
        if unit.is_multiple_of(self.size) {
            self.open += 1;
            self.most_open = self.most_open.max(self.open);
        }
        self.blocks[block] = Filling { units: unit + 1, arrives };
    }

    /// The program unit of a unit leaves the buffer with it.
    #[inline]
    pub(super) fn write(&mut self, block: usize, unit: u32) {
        debug_assert_eq!(self.blocks[block].units, unit, "blocks are filled in strict order");
        self.open -= 1;
        self.blocks[block] = Filling { units: unit + 1, ..Filling::ERASED };
    }

    /// A block is erased. What waits of it is dropped.
    #[inline]
    pub(super) fn erase(&mut self, block: usize) {
        self.open -= u32::from(self.arrives(block).is_some());
        self.blocks[block] = Filling::ERASED;
    }

    /// The clock starts anew: all data have come. The most is counted from here on.
    pub(super) fn restart(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.arrives = Moment::ZERO);
        self.most_open = self.open;
    }

    /// Units that the buffer must hold: as many program units as were open at the same time.
    pub(super) fn most_units(&self) -> u64 {
        u64::from(self.most_open) * u64::from(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_wait_until_the_last_of_a_program_unit_or_an_erase() {
        let mut units = ProgramUnits::new(4, 3).expect("units wait");
        assert!(ProgramUnits::new(1, 3).is_none(), "nothing to wait for");
        for unit in 0..3 {
            assert!(!units.completes(unit));
            units.put(1, unit, Moment::ZERO);
        }
        units.put(2, 0, Moment::ZERO);
        let waits = |units: &ProgramUnits| (0..8).filter(|&unit| units.waits(1, unit)).collect::<Vec<_>>();
        assert_eq!((waits(&units), units.most_units()), (vec![0, 1, 2], 8));
        assert!(units.completes(3));
        units.write(1, 3);
        assert!(waits(&units).is_empty() && units.arrives(1).is_none());
        units.put(1, 4, Moment::ZERO);
        assert_eq!(waits(&units), [4]);
        units.erase(1);
        assert!(waits(&units).is_empty());
        units.restart();
        assert_eq!(units.most_units(), 4, "block 2 has one open");
    }
}
