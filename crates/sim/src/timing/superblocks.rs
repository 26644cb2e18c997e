//! What is opened, filled and collected together, and where its units lie.
//!
//! A *superblock* has a block of each plane of a die, or of each die of a group: a die of each
//! channel. Everything above the timing calls it a block. The geometry, the chip and the schemes
//! know nothing else. This file alone knows the blocks of the chip in it.
//!
//! ```text
//! two planes, program units of three units (n = 3)
//!
//! plane 0   |  0  1  2 |  6  7  8 | ...      without `multi_plane`: units 0 to 2 are
//! plane 1   |  3  4  5 |  9 10 11 | ...      programmed at once, then 3 to 5
//!
//! plane 0   |  0  2  4 |  6  8 10 | ...      with `multi_plane`: units 0 to 5 are
//! plane 1   |  1  3  5 |  7  9 11 | ...      programmed at once
//! ```
//!
//! Neighbouring units fill a program unit of a plane, or only a page if the planes work together:
//! then pages in order are read at once. Then comes the next plane, and behind what the planes of a
//! die program the next die of the group.

use flash::{CellMode, CellType, Shape};
use ftl::{FlashOp, Moment, Task};
use serde::{Deserialize, Serialize};

use crate::timing::units::Units;

/// What is opened, filled and collected together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Superblock {
    /// A block.
    #[default]
    Plane,
    /// A block of each plane of a die.
    Die,
    /// A block of each plane of a die of each channel.
    Group,
}

impl Superblock {
    /// As a study says it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plane => "plane",
            Self::Die => "die",
            Self::Group => "group",
        }
    }
}

/// How many blocks of the chip a superblock has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Superblocks {
    /// Planes of each of its dies that it has a block of.
    pub planes: u32,
    /// Dies that it has blocks of, one of each channel.
    pub dies: u32,
}

impl Default for Superblocks {
    fn default() -> Self {
        Self::BLOCKS
    }
}

impl Superblocks {
    /// The most planes of a die, and the most dies: their erases one after the other fit a clock.
    pub const MOST: u32 = 1024;

    /// Each is a block.
    pub const BLOCKS: Self = Self { planes: 1, dies: 1 };

    /// Whether each is a block.
    pub fn are_blocks(&self) -> bool {
        *self == Self::BLOCKS
    }

    /// Those of a chip.
    pub(crate) fn of(superblock: Superblock, chip: Shape) -> Self {
        match superblock {
            Superblock::Plane => Self::BLOCKS,
            Superblock::Die => Self { planes: chip.planes_per_die, dies: 1 },
            Superblock::Group => Self { planes: chip.planes_per_die, dies: chip.channels },
        }
    }

    /// Blocks of the chip in a superblock.
    pub(crate) fn blocks(self) -> u32 {
        self.planes.saturating_mul(self.dies)
    }

    /// The shape whose blocks are the superblocks of a chip: what translation layers see.
    pub(crate) fn mapped(self, chip: Shape) -> Shape {
        Shape {
            channels: chip.channels / self.dies,
            planes_per_die: chip.planes_per_die / self.planes,
            pages_per_block: chip.pages_per_block.saturating_mul(self.blocks()),
            ..chip
        }
    }

    /// Units that a die programs at once, where a plane programs this many.
    pub(crate) fn at_once(self, of_a_plane: u32, multi_plane: bool) -> u32 {
        if multi_plane { of_a_plane.saturating_mul(self.planes) } else { of_a_plane }
    }

    /// Whether an operation's page says on which die or plane it is done, and that matters.
    pub(super) fn is_placed_by_page(self, multi_plane: bool) -> bool {
        self.dies > 1 || self.planes > 1 && multi_plane
    }

    /// What erasing the blocks of a die takes: planes that do not work together take turns.
    pub(crate) fn erase_ns(self, block_ns: u64, multi_plane: bool) -> u64 {
        if multi_plane { block_ns } else { block_ns * u64::from(self.planes) }
    }
}

/// A unit of a superblock on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The die, by its number in the group.
    pub(super) die: u32,
    pub(super) plane: u32,
    /// The unit's offset in its block of the chip.
    pub(super) unit: u32,
}

/// Where the units of superblocks lie.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    superblocks: Superblocks,
    /// Units that a plane programs at once, natively and in pSLC mode.
    of_a_plane: [u32; 2],
    /// Of those, the units that lie side by side in a plane.
    side_by_side: [u32; 2],
}

impl Layout {
    /// Of superblocks of several blocks.
    pub(super) fn of_several(
        superblocks: Superblocks,
        units: Units,
        cell: CellType,
        is_together: bool,
    ) -> Option<Self> {
        (superblocks.blocks() > 1).then(|| Self::new(superblocks, units, cell, is_together))
    }

    pub(super) fn new(superblocks: Superblocks, units: Units, cell: CellType, multi_plane: bool) -> Self {
        let of_a_plane = [CellMode::Native, CellMode::Pslc].map(|mode| units.programmed_at_once(cell, mode));
        let side_by_side = if multi_plane { [units.per_page(); 2] } else { of_a_plane };
        Self { superblocks, of_a_plane, side_by_side }
    }

    /// Where a unit of a superblock in a mode lies.
    #[inline]
    pub(super) fn place(&self, mode: CellMode, unit: u32) -> Place {
        let Superblocks { planes, dies } = self.superblocks;
        let mode = usize::from(mode == CellMode::Pslc);
        let (of_a_plane, strip) = (self.of_a_plane[mode], self.side_by_side[mode]);
        let of_a_die = of_a_plane * planes;
        let (of_dies, of_die) = (unit / of_a_die, unit % of_a_die);
        let (strips, offset) = (of_die / strip, of_die % strip);
        let unit = of_dies / dies * of_a_plane + strips / planes * strip + offset;
        Place { die: of_dies % dies, plane: strips % planes, unit }
    }

    /// Where an operation is done whose die's planes work together: a read on the plane of its
    /// unit, all others on all planes, and so as if on the first.
    #[inline]
    pub(super) fn of_task(&self, task: &Task) -> Place {
        let place = self.place(task.mode, task.page);
        if task.op == FlashOp::Read { place } else { Place { plane: 0, ..place } }
    }
}

/// What background work reads and programs in superblocks. It reads ahead of its programs.
pub(super) struct Moves {
    /// The work that has read last, and what that read follows.
    pub(super) read: (u32, Moment),
    /// The work that has programmed last, and when all that has come.
    pub(super) programmed: (u32, Moment),
    /// By die, when all has come that was moved there.
    pub(super) moved: Box<[Moment]>,
    /// Whether it reads ahead at all.
    pub(super) reads_ahead: bool,
    /// The work that does not, and whose operations follow one another.
    pub(super) in_order: u32,
}

impl Moves {
    /// Nothing on any of this many dies; none are kept where no blocks are managed together.
    pub(super) fn new(superblocks: Superblocks, dies: u32) -> Self {
        let dies = if superblocks.blocks() > 1 { dies } else { 0 };
        let none = (0, Moment::ZERO);
        let moved = vec![Moment::ZERO; dies as usize].into();
        Self { read: none, programmed: none, moved, reads_ahead: true, in_order: 0 }
    }

    /// The clock starts anew.
    pub(super) fn clear(&mut self) {
        (self.read, self.programmed, self.in_order) = ((0, Moment::ZERO), (0, Moment::ZERO), 0);
        self.moved.fill(Moment::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::units::Programming;

    #[test]
    fn units_fill_a_program_unit_then_the_next_plane_then_the_next_die() {
        let units = Units::of_a_page(2, Programming::OneShot);
        let places = |mode, multi_plane| {
            let layout = Layout::new(Superblocks { planes: 2, dies: 2 }, units, CellType::Tlc, multi_plane);
            (0..48).map(move |unit| layout.place(mode, unit)).map(|Place { die, plane, unit }| (die, plane, unit))
        };
        let native: Vec<_> = places(CellMode::Native, false).collect();
        assert_eq!(native[..7].iter().map(|place| place.2).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 0]);
        assert_eq!([native[5], native[6], native[12], native[18]], [(0, 0, 5), (0, 1, 0), (1, 0, 0), (1, 1, 0)]);
        assert_eq!([native[23], native[24], native[47]], [(1, 1, 5), (0, 0, 6), (1, 1, 11)]);
        let together: Vec<_> = places(CellMode::Native, true).collect();
        assert_eq!(together[..7].iter().map(|place| place.1).collect::<Vec<_>>(), [0, 0, 1, 1, 0, 0, 1]);
        assert_eq!(
            [together[4], together[11], together[12], together[24]],
            [(0, 0, 2), (0, 1, 5), (1, 0, 0), (0, 0, 6)]
        );
        let in_pslc: Vec<_> = places(CellMode::Pslc, false).take(9).collect();
        assert_eq!(in_pslc[..3], [(0, 0, 0), (0, 0, 1), (0, 1, 0)], "a word line has one page there");
        assert_eq!(in_pslc[8], (0, 0, 2));
    }

    #[test]
    fn each_unit_of_a_superblock_has_a_place_of_its_own() {
        for (planes, dies) in [(1, 1), (4, 1), (1, 3), (2, 2)] {
            for multi_plane in [false, true] {
                let units = Units::of_a_page(2, Programming::OneShot);
                let layout = Layout::new(Superblocks { planes, dies }, units, CellType::Tlc, multi_plane);
                let mut places: Vec<_> = (0..12 * planes * dies)
                    .map(|unit| layout.place(CellMode::Native, unit))
                    .map(|Place { die, plane, unit }| (die * planes + plane) * 12 + unit)
                    .collect();
                places.sort_unstable();
                assert_eq!(places, (0..12 * planes * dies).collect::<Vec<_>>(), "{planes} planes, {dies} dies");
            }
        }
    }
}
