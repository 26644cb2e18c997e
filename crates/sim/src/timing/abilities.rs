//! What a device can do beyond the plain model, as a study says it.

use flash::{CellMode, CellType};

use crate::timing::scheduling::SchedulingPolicy;
use crate::timing::superblocks::Superblocks;
use crate::timing::units::Units;

/// What a device can do beyond the plain model; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own, and any may be combined")]
pub struct Abilities {
    /// Copies inside a plane need no channel.
    pub copy_back: bool,
    /// Operations of one kind on different planes of a die run side by side.
    pub multi_plane: bool,
    /// Reads and programs do so only at pages with equal numbers in their blocks.
    pub aligned_planes: bool,
    /// Dies sense the next pages while those before move over the bus.
    pub cache_read: bool,
    /// Pages of the next programs move over the bus while dies program those before.
    pub cache_program: bool,
    /// In which order dies serve, and what they suspend.
    pub scheduling: SchedulingPolicy,
    /// Channels that may collect at the same time; none: all.
    pub gc_channels: Option<u32>,
    /// How many blocks of the chip are opened, filled and collected together.
    pub superblocks: Superblocks,
}

impl Abilities {
    /// Units of a block in a mode that are programmed at once, by all planes that work together.
    pub fn programmed_at_once(&self, units: Units, cell: CellType, mode: CellMode) -> u32 {
        self.superblocks.at_once(units.programmed_at_once(cell, mode), self.multi_plane)
    }

    /// The same natively and in pSLC mode.
    pub(crate) fn programmed_at_once_by_mode(&self, units: Units, cell: CellType) -> [u32; 2] {
        [CellMode::Native, CellMode::Pslc].map(|mode| self.programmed_at_once(units, cell, mode))
    }
}

impl Abilities {
    /// The plain model.
    pub(crate) const NONE: Self = Self {
        copy_back: false,
        multi_plane: false,
        aligned_planes: false,
        cache_read: false,
        cache_program: false,
        scheduling: SchedulingPolicy::FIFO,
        gc_channels: None,
        superblocks: Superblocks::BLOCKS,
    };
}
