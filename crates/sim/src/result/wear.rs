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
    /// Gini coefficient over blocks: 0 where all were erased alike, near 1 where one took all erases; null without erases.
    pub gini: Option<f64>,
    /// (lowest count, highest count, blocks), at most 40 bins, in order, without gaps between counts.
    pub histogram: Vec<(u32, u32, u64)>,
}

/// Where on the device blocks were erased. A cell is a stretch of neighbouring blocks of one plane; cells stand in the order channel, die,
/// plane, block. A device of more planes than there may be cells has cells of several whole planes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WearMap {
    /// Planes of a cell; 1 unless there are more planes than cells.
    pub planes_per_cell: u32,
    /// Blocks of a cell in each of its planes; the last cell of a plane may have fewer.
    pub blocks_per_cell: u32,
    /// Mean erases during measurement of the cell's blocks that were good when the device was new; null where none was.
    pub mean: Vec<Option<f64>>,
    /// Most erases of such a block.
    pub max: Vec<Option<u32>>,
    /// Blocks of the cell that failed and were marked bad.
    pub failed: Vec<u32>,
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
    /// Bytes that the host had written since measurement began.
    pub host_written_bytes: u64,
    /// What the device said.
    pub message: String,
}
