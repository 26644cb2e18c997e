//! What a device can do beyond the plain model, as a study says it.

use flash::{CellMode, CellType};
use ftl::FlashOp;
use serde::{Deserialize, Serialize};

use crate::timing::superblocks::Superblocks;
use crate::timing::units::Units;

/// Which operations a read suspends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suspend {
    /// Reads suspend nothing.
    #[default]
    Off,
    /// Reads suspend erases.
    Erase,
    /// Reads suspend programs.
    Program,
    /// Reads suspend erases and programs.
    Both,
}

impl Suspend {
    pub(crate) fn covers(self, op: FlashOp) -> bool {
        match op {
            FlashOp::Read => false,
            FlashOp::Program => matches!(self, Self::Program | Self::Both),
            FlashOp::Erase => matches!(self, Self::Erase | Self::Both),
        }
    }
}

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
    /// What a read suspends.
    pub suspend: Suspend,
    /// From the command to suspend until the die can read, in nanoseconds.
    pub suspend_ns: u64,
    /// What taking up suspended work costs, in nanoseconds.
    pub resume_ns: u64,
    /// Whether dies take up reads that the host waits for before anything else.
    pub reads_first: bool,
    /// Channels that may collect at the same time; none: all.
    pub gc_channels: Option<u32>,
    /// Whether collections let reads pass between their operations.
    pub gc_yields: bool,
    /// How many blocks of the chip are opened, filled and collected together.
    pub superblocks: Superblocks,
}

impl Abilities {
    /// Whether some operations let reads pass that the host waits for.
    pub(crate) fn has_precedence(&self) -> bool {
        self.reads_first || self.gc_yields || self.suspend != Suspend::Off
    }

    /// Whether an operation lets reads pass that the host waits for.
    pub(crate) fn yields(&self, op: FlashOp, in_background: bool) -> bool {
        self.reads_first || self.gc_yields && in_background || self.suspend.covers(op)
    }

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
        suspend: Suspend::Off,
        suspend_ns: 0,
        resume_ns: 0,
        reads_first: false,
        gc_channels: None,
        gc_yields: false,
        superblocks: Superblocks::BLOCKS,
    };
}
