//! How a device follows a capacity: the rule, in one place. `docs/device.md` tells it to users.
//!
//! - Channels, dies, planes, spare, latencies and endurance are the preset's.
//! - The number of blocks per plane follows the capacity. Blocks keep their length, since merges
//!   depend on it. Where several units are programmed at once, they get shorter instead; on the
//!   default device they do before a plane has fewer than [`SMALLEST_AUTO_BLOCKS`], and are erased
//!   faster ([`Draft::scaled_block`]).
//! - `capacity = "auto"`, that of a study without a device, is the span of the workload, and at
//!   least what [`SMALLEST_AUTO_BLOCKS`] of full length per plane export beside the spare.

use flash::{Geometry, Shape};

use super::device::{Draft, exported};
use super::presets::DEFAULT_PRESET;
use super::values::Capacity;
use crate::error::SimError;

/// Blocks of each plane below which `capacity = "auto"` does not go. A die keeps up to five blocks
/// open or free beside the data; with 128 blocks and a spare of 6 %, the lowest of the presets, it
/// has seven. With fewer a tiny trace is refused.
const SMALLEST_AUTO_BLOCKS: u64 = 128;
/// Pages of the shortest block of the default device, for a capacity below that of `"auto"`.
const SHORTEST_BLOCK: u32 = 4;

impl Draft {
    /// What the capacity is taken from, where neither the study nor a preset gives it: the
    /// workload's span, or the least there is.
    pub(crate) fn capacity_reason(&self, span_pages: Option<u64>) -> Option<String> {
        let (pages, least) = (span_pages?, self.smallest_auto());
        if self.asked.asked_capacity() != Some(Capacity::Auto) {
            return None;
        }
        let spans = format!("the workload spans {pages} pages of {} bytes", self.page_size_bytes());
        Some(if pages < least {
            format!("auto: {spans}; the smallest device has {least} pages ({SMALLEST_AUTO_BLOCKS} blocks per plane)")
        } else {
            format!("auto: {spans}")
        })
    }

    /// Units of a block on a device that exports this many pages; the preset's where the study
    /// gives the size of a block. Blocks of several units per program are shortened by whole ones,
    /// and the device has about as many blocks as its preset. Blocks of the default device are
    /// short enough for [`SMALLEST_AUTO_BLOCKS`] per plane, and a power of two, as requests are
    /// aligned. Others keep their length.
    pub(super) fn scaled_block(&self, logical_pages: u64) -> u32 {
        let (whole, row) = (self.shape.pages_per_block, self.units_of_a_row());
        let (pages, planes) = (logical_pages as f64 / (1.0 - self.keys.spare), self.planes() as f64);
        let rows = match row {
            _ if self.asked.pages_per_block.is_some() => return whole,
            1 if self.is_default() => {
                let longest = (pages / planes / SMALLEST_AUTO_BLOCKS as f64).round() as u32;
                1 << longest.max(SHORTEST_BLOCK).ilog2()
            }
            1 => return whole,
            _ => (pages / (planes * f64::from(self.shape.blocks_per_plane)) / f64::from(row)).round().max(1.0) as u32,
        };
        rows.saturating_mul(row).min(whole)
    }

    /// Whether the device starts from the default preset.
    fn is_default(&self) -> bool {
        self.asked.preset.as_deref().is_none_or(|name| name == DEFAULT_PRESET)
    }

    /// Planes of all dies.
    fn planes(&self) -> u64 {
        let Shape { channels, dies_per_channel, planes_per_die, .. } = self.shape;
        u64::from(channels) * u64::from(dies_per_channel) * u64::from(planes_per_die)
    }

    /// The least that `capacity = "auto"` gives, so that a small trace meets a device on which
    /// every scheme can work.
    pub(super) fn smallest_auto(&self) -> u64 {
        let pages = self.planes().saturating_mul(u64::from(self.shape.pages_per_block));
        let pages = pages.saturating_mul(SMALLEST_AUTO_BLOCKS);
        if self.asked.blocks_per_plane.is_some() { 1 } else { exported(pages, self.keys.spare).max(1) }
    }

    /// The fewest blocks per plane of a shape that export this many pages beside the spare.
    pub(super) fn scale(&self, shape: Shape, logical_pages: u64) -> Result<u32, SimError> {
        let per_row = [shape.channels, shape.dies_per_channel, shape.planes_per_die, shape.pages_per_block]
            .into_iter()
            .map(u64::from)
            .product::<u64>();
        let wanted = logical_pages as f64 / (1.0 - self.keys.spare);
        if wanted >= f64::from(Geometry::MAX_PAGES) {
            return Err(SimError::study(format!(
                "device.capacity: {logical_pages} logical pages of {} bytes with spare {} need {wanted:.0} physical pages, but page numbers are \
                 32 bits (at most {}). Use larger pages or a smaller capacity; where the workload touches little of its address range, \
                 workload.addresses = \"dense\" makes the range small",
                self.shape.page_size_bytes,
                self.keys.spare,
                Geometry::MAX_PAGES
            )));
        }
        let mut blocks = (wanted / per_row as f64).floor().max(1.0) as u32;
        while exported(u64::from(blocks) * per_row, self.keys.spare) < logical_pages {
            blocks += 1;
        }
        Ok(blocks)
    }
}
