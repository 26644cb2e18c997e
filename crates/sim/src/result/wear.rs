//! How far the device of a run is worn.

use schemars::JsonSchema;
use serde::Serialize;

/// Erases of blocks that were good when the device was new.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Erases {
    /// Of all blocks; an erase that failed is none of these, but counts among the operations.
    pub total: u64,
    /// Mean over blocks.
    pub mean: f64,
    /// Standard deviation over blocks.
    pub std: f64,
    /// Of the least erased block.
    pub min: u32,
    /// Of the most erased block.
    pub max: u32,
    /// Gini coefficient over blocks: 0 where all were erased alike, near 1 where one took all
    /// erases; null without erases.
    pub gini: Option<f64>,
    /// How many of all ended a time of a block in pSLC mode.
    pub pslc: u64,
    /// (lowest count, highest count, blocks), at most 40 bins, in order, without gaps between
    /// counts.
    pub histogram: Vec<(u32, u32, u64)>,
}

/// Where on the device blocks were erased. A cell is a stretch of neighbouring blocks of one plane;
/// cells stand in the order channel, die, plane, block. A device of more planes than there may be
/// cells has cells of several whole planes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WearMap {
    /// Planes of a cell; 1 unless there are more planes than cells.
    pub planes_per_cell: u32,
    /// Blocks of a cell in each of its planes; the last cell of a plane may have fewer.
    pub blocks_per_cell: u32,
    /// Mean erases during measurement of the cell's blocks that were good when the device was new;
    /// null where none was.
    pub mean: Vec<Option<f64>>,
    /// Most erases of such a block.
    pub max: Vec<Option<u32>>,
    /// Blocks of the cell that failed and were marked bad.
    pub failed: Vec<u32>,
}

/// Spare blocks of a scheme at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpareFacts {
    /// Blocks that could fail when the device was new.
    pub total: u32,
    /// Blocks that may still fail before writes do.
    pub left: u32,
    /// Blocks that failed and were marked bad, in preparation and measurement.
    pub grown_bad_blocks: u64,
}

/// The request that a worn-out device refused; nothing after it was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EndOfLife {
    /// Its number, counted from 1.
    pub request: u64,
    /// Bytes that the host had written since measurement began, on a slice as if to the whole.
    pub host_written_bytes: u64,
    /// What the device said.
    pub message: String,
}

/// How much the host may write before the device wears out, if the workload goes on as it was
/// measured. Bytes are counted from the begin of the measurement; what preparation wore is worn.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Endurance {
    /// Erases that a block survives, without those that it had before the run
    /// (`device.initial_erases`).
    pub limit: u32,
    /// Erases out of pSLC mode that a block survives; null for cells of one bit. A forecast counts
    /// each of them as the share of the other limit that it wears.
    pub pslc_limit: Option<u32>,
    /// The power of the mean erase count with which blocks' erase counts drift apart: 1 where each
    /// keeps a rate of its own, 0 where levelling holds them together; null without a forecast.
    pub drift: Option<f64>,
    /// Until the first block fails; null where that is not known, or where it failed before
    /// anything was measured.
    pub first_block: Option<Lifetime>,
    /// Until the device is read-only, because one block more has failed than there are spares; null
    /// where that is not known.
    pub spares_gone: Option<Lifetime>,
    /// Why nothing is forecast; null where something is, or where the device wore out.
    pub refusal: Option<String>,
}

/// Bytes that the host writes until something wears out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Lifetime {
    /// The expected bytes; where it was measured, those that had been written when it was seen.
    pub written_bytes: u64,
    /// The low end of the range.
    pub low_bytes: u64,
    /// The high end of the forecast.
    pub high_bytes: u64,
    /// Whether it happened in the run.
    pub is_measured: bool,
    /// The expected bytes in drive writes a day over the warranty.
    pub drive_writes_per_day: f64,
    /// Years of 365 days in which the host writes them at `write_rate`.
    pub years: f64,
}

/// The rate of writes at which years of life are counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WriteRate {
    /// Bytes that the host writes per day.
    pub bytes_per_day: f64,
    /// Where it is from: `given` in the study, the `workload`'s own before any speed-up, or one
    /// `drive_write` where requests do not follow arrivals.
    pub source: &'static str,
}
