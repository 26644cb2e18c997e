//! What a translation layer tells of itself: memory, spares, pages that wait, gauges.

use serde::Serialize;

use crate::port::error::FtlError;

/// RAM and flash bytes of a scheme's mapping, as the papers count them: what a controller would
/// need, not what the simulation happens to use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Footprint {
    /// Each table or buffer, with its size.
    pub structures: Vec<RamStructure>,
}

/// One structure of a footprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RamStructure {
    /// For example `page map`, `GTD`.
    pub name: &'static str,
    /// Size in the controller's RAM, in bytes.
    pub ram_bytes: u64,
    /// Size on flash, in bytes.
    pub flash_bytes: u64,
    /// Whether its size depends on what has been written, and so is that of the moment.
    #[serde(skip)]
    pub varies: bool,
}

impl Footprint {
    /// Adds a structure.
    #[must_use]
    pub fn with(mut self, name: &'static str, ram_bytes: u64, flash_bytes: u64) -> Self {
        self.structures.push(RamStructure { name, ram_bytes, flash_bytes, varies: false });
        self
    }

    /// Adds a structure in RAM whose size depends on what has been written.
    #[must_use]
    pub fn with_varying(mut self, name: &'static str, ram_bytes: u64) -> Self {
        self.structures.push(RamStructure { name, ram_bytes, flash_bytes: 0, varies: true });
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
    /// The number at the moment of the sample.
    pub value: f64,
}

/// What was done for a class of pages: those of one of the host's streams, or a classifier's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Whether its blocks take collected pages alone.
    pub is_collected: bool,
    /// Pages that the host wrote under it.
    pub host_pages: u64,
    /// Moves of pages that the host had last written under it, by the class of the write that
    /// needed the room.
    pub moved_for: Vec<u64>,
    /// Erased blocks of its own.
    pub erased_blocks: u64,
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
    /// Further pages in RAM of which flash holds the same, so that reading them takes no flash
    /// operation.
    pub clean_pages: u32,
}
