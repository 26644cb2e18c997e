//! How far the device of a run is worn.

use serde::Serialize;

/// Erases of blocks that were good when the device was new.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Erases {
    /// Of all blocks.
    pub total: u64,
    /// Per block.
    pub mean: f64,
    /// Standard deviation over blocks.
    pub std: f64,
    /// Of the least erased block.
    pub min: u32,
    /// Of the most erased block.
    pub max: u32,
    /// (lowest count, highest count, blocks), at most 40 bins, in order, without gaps between counts.
    pub histogram: Vec<(u32, u32, u64)>,
}

/// Spare blocks of a scheme at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SpareFacts {
    /// Blocks that could fail when the device was new.
    pub total: u32,
    /// Blocks that may still fail before writes do.
    pub left: u32,
    /// Blocks that failed and were marked bad, in preparation and measurement.
    pub grown_bad_blocks: u64,
}

/// The request that a worn-out device refused; nothing after it was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndOfLife {
    /// Its number, counted from 1.
    pub request: u64,
    /// What the device said.
    pub message: String,
}
