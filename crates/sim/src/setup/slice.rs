//! A slice of a device: a smaller one, simulated in its place with the figures of the whole.
//!
//! A slice has the dies, channels, link and spare of the whole, so write amplification is about
//! that of the whole; waits for collections come out short where blocks are shorter. What grows
//! with the capacity is multiplied by the scale: RAM of maps and caches, and the bytes until blocks
//! wear out. The RAM of a translation layer is divided by it, so that a cache holds the same share
//! of the map.
//!
//! Where pages are programmed at once, and so in strict order, a slice has as many blocks as the
//! whole, with fewer word lines each: open and free blocks are the same share of the spare.
//! Erases then take less time in proportion, and hold a die for the same share of its time. Other
//! devices keep their blocks, since merges depend on their size, and have fewer of them.
//!
//! With `7450-like`, write amplification with one, two and four word lines is 4.8, 2.4 and 1.0 %
//! below that with sixteen under uniform writes, and 7.5, 3.9 and 2.2 % under Zipf writes (0.9).

use flash::{CellMode, Shape};
use ftl::registry::Resolved;
use ftl::{Kind, Stack};

use super::device::{Device, Draft, geometry};
use super::keys::DeviceText;
use super::values::{Capacity, Whole};
use crate::error::SimError;

/// Units beyond which a device is simulated by a slice, unless the study says otherwise: a steady
/// state of more takes minutes under some translation layers.
pub(crate) const MOST_WHOLE_UNITS: u64 = 1 << 22;
/// Units of a slice, at least.
const LEAST_UNITS: u64 = 1 << 18;
/// Word lines of each block of a slice, at least.
const LEAST_WORD_LINES: u32 = 2;
/// Blocks of each plane of a slice whose blocks keep their size, at least.
const LEAST_BLOCKS: u64 = 128;

impl Device {
    /// What it is a slice of, or itself.
    pub(crate) fn as_whole(&self) -> Whole {
        self.whole.unwrap_or_else(|| Whole {
            logical_bytes: self.logical_bytes(),
            physical_bytes: self.geometry.bytes(),
            scale: 1.0,
        })
    }
}

impl Draft {
    /// Units of a block on a device that exports this many pages, in whole program units: all on
    /// the preset's device, and fewer on a smaller one, so that it has about as many blocks. It is
    /// kept where single units are programmed, or the size of a block is asked for.
    pub(super) fn scaled_block(&self, logical_pages: u64) -> u32 {
        let (whole, row) = (self.shape.pages_per_block, self.units_of_a_row());
        if row == 1 || self.asked.pages_per_block.is_some() {
            return whole;
        }
        let count = [self.shape.channels, self.shape.dies_per_channel, self.shape.planes_per_die]
            .into_iter()
            .fold(f64::from(self.shape.blocks_per_plane), |count, times| count * f64::from(times));
        let rows = (logical_pages as f64 / (1.0 - self.keys.spare) / count / f64::from(row)).round();
        ((rows.max(1.0) * f64::from(row)).min(f64::from(whole))) as u32
    }

    /// Units that are programmed at once in all blocks of a superblock.
    fn units_of_a_row(&self) -> u32 {
        self.units.programmed_at_once(self.keys.cell, CellMode::Native) * self.abilities.superblocks.blocks()
    }

    /// The device that is simulated for this whole one: itself, or the slice that the study asks
    /// for, which `"auto"` makes large enough for a workload that spans this many units.
    pub(super) fn sliced(&self, mut whole: Device, span_pages: Option<u64>, seed: u64) -> Result<Device, SimError> {
        let unit_bytes = u64::from(self.page_size_bytes());
        let units = match self.asked.slice {
            None => return Ok(whole),
            Some(Capacity::Bytes(bytes)) => bytes.div_ceil(unit_bytes).max(1),
            Some(Capacity::Auto) => span_pages.unwrap_or(1).max(LEAST_UNITS),
        };
        whole.keys.slice = None;
        let (logical, physical) = (u64::from(whole.logical_pages), u64::from(whole.geometry.pages()));
        let word_line = self.units_of_a_row();
        let exported = |physical_of: u64| (u128::from(logical) * u128::from(physical_of) / u128::from(physical)) as u64;
        let mut wanted = (u128::from(units) * u128::from(physical)).div_ceil(u128::from(logical)) as u64;
        let small = loop {
            let small = geometry(shape(whole.geometry.shape(), wanted, word_line))?;
            if small.pages() == whole.geometry.pages() {
                return Ok(whole);
            }
            if exported(small.pages().into()) >= units {
                break small;
            }
            wanted = u64::from(small.pages()) + 1;
        };
        let mut slice = self.finish(small, exported(small.pages().into()) as u32, seed)?;
        slice.whole = Some(Whole {
            logical_bytes: whole.logical_bytes(),
            physical_bytes: whole.geometry.bytes(),
            scale: logical as f64 / f64::from(slice.logical_pages),
        });
        slice.keys = whole.keys;
        slice.keys.slice = Some(Capacity::Bytes(u64::from(slice.logical_pages) * unit_bytes));
        Ok(slice)
    }
}

/// Bytes of the slice by which a device is simulated where no workload asks for more; none for a
/// device that is simulated as a whole.
pub fn usual_slice(text: &DeviceText) -> Result<Option<u64>, SimError> {
    let whole = Device::resolve(text, 1)?;
    if u64::from(whole.logical_pages) <= MOST_WHOLE_UNITS {
        return Ok(None);
    }
    let slice = Draft::of(&DeviceText { slice: Some(Capacity::Auto), ..text.clone() })?.resolve(None, 1)?;
    Ok(slice.whole.is_some().then(|| slice.logical_bytes()))
}

/// The shape of the smallest slice of a device of this shape with at least this many units; blocks
/// are shortened by whole word lines, or not at all where these are single units.
pub(crate) fn shape(whole: Shape, units: u64, word_line: u32) -> Shape {
    let planes = u64::from(whole.channels) * u64::from(whole.dies_per_channel) * u64::from(whole.planes_per_die);
    let of_plane = units.div_ceil(planes);
    let at_most = |units: u64, most: u32| u32::try_from(units).map_or(most, |units| units.min(most));
    if word_line == 1 {
        let blocks = of_plane.div_ceil(u64::from(whole.pages_per_block)).max(LEAST_BLOCKS);
        return Shape { blocks_per_plane: at_most(blocks, whole.blocks_per_plane), ..whole };
    }
    let of_block = of_plane.div_ceil(u64::from(whole.blocks_per_plane));
    let lines = of_block.div_ceil(u64::from(word_line)).max(u64::from(LEAST_WORD_LINES));
    Shape { pages_per_block: at_most(lines * u64::from(word_line), whole.pages_per_block), ..whole }
}

/// A stack as it is built on a device: on a slice its parts get as small a part of their RAM as
/// that is of the whole.
pub(crate) fn built(resolved: &Resolved, device: &Device, spelled: &Stack) -> Stack {
    let Some(Whole { scale, .. }) = device.whole else { return spelled.clone() };
    let mut stack = resolved.filled();
    for (part, known) in stack.parts_mut().zip(resolved.parts()) {
        for parameter in known.entry.parameters {
            if let Kind::Bytes { min, .. } = parameter.kind
                && parameter.meaning.starts_with("RAM")
            {
                let whole = known.values.integer(parameter.name);
                let bytes = (whole as f64 / scale).round() as u64;
                part.settings.insert(parameter.name.to_owned(), bytes.max(min).min(whole).to_string());
            }
        }
    }
    stack
}
