//! A slice of a device: a smaller one, simulated in its place with the figures of the whole.
//!
//! A slice has the dies, channels, link and spare of the whole, so write amplification is about
//! that of the whole; waits for collections come out short where blocks are shorter. How near it
//! comes stands in `docs/device.md`. What grows with the capacity is told of the whole: tables in
//! RAM, and the bytes until blocks wear out. Parameters that are a share of the device or of its
//! map are divided by the scale ([`Kind::Bytes`], [`Kind::Blocks`]), so that a cache holds the same
//! share of the map; write buffers keep their size, since they face as many dies. Pages of a slice
//! are written as much more often, so its data age as much faster.
//!
//! Where pages are programmed at once, and so in strict order, a slice has as many blocks as the
//! whole, with fewer word lines each: open and free blocks are the same share of the spare.
//! Erases then take less time in proportion, and hold a die for the same share of its time. Other
//! devices keep their blocks, since merges depend on their size, and have fewer of them.
//!
//! What one write fills dies together, and blocks of few such parts have fewer valid ones when they
//! are collected. So `"auto"` counts writes of the workload, each of a unit at least: a block has
//! [`LEAST_WRITES_PER_BLOCK`] at least, and [`WRITES_TIMES_SPARE`] ÷ spare. The size of a write is
//! the mean over bytes, since the variance of a block's valid bytes is in proportion to that.

use flash::{CellMode, Shape};
use ftl::registry::{self, Resolved};
use ftl::{ConfigError, Footprint, Kind, PartKind, RamStructure, Stack};
use trace::generate::GeneratorSpec;
use trace::units::Bytes;

use super::device::{Device, Draft, geometry};
use super::keys::DeviceText;
use super::values::{SliceText, Whole};
use crate::error::SimError;

/// Bytes beyond which a device is simulated by a slice, unless the study says otherwise: a steady
/// state of more takes minutes under some translation layers.
const MOST_WHOLE_BYTES: u64 = 1 << 34;
/// Units of a slice of automatic size, at least.
const LEAST_UNITS: u64 = 1 << 18;
/// Writes of each shortened block of such a slice, at least: as many as two word lines of a drive
/// of today have units of 4 KiB, so that larger units and writes compare with these.
const LEAST_WRITES_PER_BLOCK: f64 = 96.0;
/// Under uniform writes with greedy collection, write amplification with blocks of `n` writes is
/// about this ÷ (n × spare) below that with long ones (Van Houdt 2013).
const TIMES_LOW: f64 = 0.42;
/// The most that a slice is so, if it is not told.
const MOST_LOW: f64 = 0.04;
/// Writes of each block times the spare, at least: a tenth more than keeps it below that.
const WRITES_TIMES_SPARE: f64 = 11.5;
/// Bytes of a slice that large writes lengthen, at most: with units of 4 KiB the preparation of
/// more counts as long, and short workloads are refused for it (`host/live_pages.rs`).
const MOST_BYTES: u64 = 5 << 34;
/// Word lines of each block of a slice, at least.
const LEAST_WORD_LINES: u32 = 2;
/// Blocks of each plane of a slice whose blocks keep their size, at least.
const LEAST_BLOCKS: u64 = 128;
/// Pages have at least that.
const SMALLEST_PAGE_BYTES: u64 = 512;

impl Device {
    /// What it is a slice of, or itself.
    pub(crate) fn as_whole(&self) -> Whole {
        self.whole.unwrap_or_else(|| Whole {
            logical_bytes: self.logical_bytes(),
            physical_bytes: self.geometry.bytes(),
            scale: 1.0,
            block_scale: 1.0,
        })
    }

    /// What its sizes are those of, in refusals.
    pub(crate) fn simulated(&self) -> &'static str {
        if self.whole.is_some() { "slice" } else { "device" }
    }

    /// The key that makes it larger.
    pub(crate) fn size_key(&self) -> &'static str {
        if self.whole.is_some() { "device.slice" } else { "device.capacity" }
    }

    /// Behind a refusal with numbers: that they are those of a slice; empty where they are not.
    pub(crate) fn slice_reason(&self, refusal: &str) -> String {
        let Some(Whole { scale, .. }) = self.whole.filter(|_| refusal.contains(|c: char| c.is_ascii_digit())) else {
            return String::new();
        };
        format!(
            ". Blocks and RAM in this sentence are those of the simulated slice, 1/{scale:.0} of the drive; a larger device.slice \
             takes more of it, and device.slice = \"all\" the whole drive"
        )
    }
}

impl Draft {
    /// Units that are programmed at once in all blocks of a superblock.
    pub(super) fn units_of_a_row(&self) -> u32 {
        self.units.programmed_at_once(self.keys.cell, CellMode::Native) * self.abilities.superblocks.blocks()
    }

    /// The device that is simulated for this whole one: itself, or the slice that the study asks
    /// for, which `"auto"` makes large enough for a workload that spans this many units.
    pub(super) fn sliced(&self, mut whole: Device, span_pages: Option<u64>, seed: u64) -> Result<Device, SimError> {
        let units = match self.asked.slice {
            None | Some(SliceText::All) => {
                whole.keys.slice = None;
                return Ok(whole);
            }
            Some(SliceText::Bytes(bytes)) => self.checked_units(&whole, bytes)?,
            Some(SliceText::Auto) => span_pages.unwrap_or(1).max(LEAST_UNITS).max(self.units_of_long_blocks(&whole)),
        };
        whole.keys.slice = None;
        let Some(mut slice) = self.slice_of(&whole, units, seed)? else { return Ok(whole) };
        let larger = self.slice_of(&whole, 2 * u64::from(slice.logical_pages), seed)?;
        slice.larger = Some(Box::new(larger.unwrap_or(whole)));
        Ok(slice)
    }

    /// The smallest slice of a device with at least this many units; none where that is the whole.
    fn slice_of(&self, whole: &Device, units: u64, seed: u64) -> Result<Option<Device>, SimError> {
        let (logical, physical) = (u64::from(whole.logical_pages), u64::from(whole.geometry.pages()));
        let word_line = self.units_of_a_row();
        let mut wanted = (u128::from(units) * u128::from(physical)).div_ceil(u128::from(logical)) as u64;
        let small = loop {
            let small = geometry(shape(whole.geometry.shape(), wanted, word_line))?;
            if small.pages() == whole.geometry.pages() {
                return Ok(None);
            }
            if exported(whole, small.pages()) >= units {
                break small;
            }
            wanted = u64::from(small.pages()) + 1;
        };
        let mut slice = self.finish(small, exported(whole, small.pages()) as u32, seed)?;
        let scale = logical as f64 / f64::from(slice.logical_pages);
        slice.whole = Some(Whole {
            logical_bytes: whole.logical_bytes(),
            physical_bytes: whole.geometry.bytes(),
            scale,
            block_scale: f64::from(whole.geometry.blocks()) / f64::from(slice.geometry.blocks()),
        });
        if let Some(reliability) = &mut slice.reliability {
            reliability.retention_speedup *= scale;
        }
        slice.keys = whole.keys.clone();
        slice.keys.slice = Some(SliceText::Bytes(slice.logical_bytes()));
        Ok(Some(slice))
    }

    /// Units of a slice whose blocks are long enough; 1 where blocks are not shortened.
    fn units_of_long_blocks(&self, whole: &Device) -> u64 {
        if self.units_of_a_row() == 1 {
            return 1;
        }
        let writes = (WRITES_TIMES_SPARE / (1.0 - whole.utilisation())).max(LEAST_WRITES_PER_BLOCK);
        let units = |of_write: f64| {
            let least = (writes * of_write).ceil() as u32;
            exported(whole, whole.geometry.blocks() * least.min(whole.geometry.pages_per_block()))
        };
        units(self.units_per_write).min(MOST_BYTES / u64::from(self.page_size_bytes())).max(units(1.0))
    }

    /// That blocks of a slice hold too few of the workload's writes, where these are long and this
    /// share of what the host sees is in use.
    pub(crate) fn few_writes(&self, device: &Device, in_use: f64) -> Option<String> {
        let Whole { scale, block_scale, .. } = device.whole.filter(|_| self.units_per_write > 1.0)?;
        let writes = f64::from(device.geometry.pages_per_block()) / self.units_per_write;
        let low = TIMES_LOW / (1.0 - in_use * device.utilisation()) * (1.0 - block_scale / scale) / writes;
        (low > MOST_LOW).then(|| {
            format!(
                "the slice's blocks hold about {writes:.0} writes of the workload, the drive's {:.0}: write \
                 amplification may come out up to {:.0} % low. A larger device.slice, or \"all\", has longer ones",
                writes * scale / block_scale,
                100.0 * low
            )
        })
    }

    /// Units of a slice of this many bytes, if it is no smaller than a slice can be.
    fn checked_units(&self, whole: &Device, bytes: u64) -> Result<u64, SimError> {
        let unit_bytes = u64::from(self.page_size_bytes());
        let least = geometry(shape(whole.geometry.shape(), 1, self.units_of_a_row()))?;
        let least_bytes = exported(whole, least.pages()) * unit_bytes;
        if bytes < least_bytes {
            return Err(SimError::study(format!(
                "device.slice = \"{}\": a slice keeps the device's dies, so the smallest has {least_bytes} bytes; set slice to \
                 \"{}\" or \"auto\"",
                Bytes(bytes),
                Bytes(least_bytes)
            )));
        }
        Ok(bytes.div_ceil(unit_bytes))
    }
}

/// What the host sees of this many physical pages of a device.
fn exported(whole: &Device, pages: u32) -> u64 {
    let (logical, physical) = (u128::from(whole.logical_pages), u128::from(whole.geometry.pages()));
    (logical * u128::from(pages) / physical) as u64
}

/// Bytes that the host sees of a device, and those that are simulated for a workload that spans no
/// more: all, or where the table does not say and that takes long, a slice.
pub fn device_bytes(text: &DeviceText, workload: Option<&GeneratorSpec>) -> Result<[u64; 2], SimError> {
    let whole = Device::resolve(&DeviceText { slice: None, ..text.clone() }, 1)?.logical_bytes();
    let usual = if whole > MOST_WHOLE_BYTES { SliceText::Auto } else { SliceText::All };
    let slice = Some(text.slice.unwrap_or(usual));
    let mut draft = Draft::of(&DeviceText { slice, ..text.clone() })?;
    if let Some(spec) = workload {
        draft.units_per_write = spec.units_per_write(u64::from(draft.page_size_bytes()));
    }
    let simulated = draft.resolve(None, 1)?;
    Ok([whole, simulated.logical_bytes()])
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

/// A stack as it is built on a device: on a slice its parameters that are shares get as small a
/// part as that is of the whole.
pub(crate) fn built(resolved: &Resolved, device: &Device, spelled: &Stack) -> Stack {
    let Some(whole) = device.whole else { return spelled.clone() };
    let mut stack = resolved.filled();
    for (part, known) in stack.parts_mut().zip(resolved.parts()) {
        for parameter in known.entry.parameters {
            let Some((scale, least)) = share(parameter.kind, device, whole) else { continue };
            let asked = known.values.integer(parameter.name);
            // What is below its least on the whole, too, is refused as it is there.
            let part_of_it = ((asked as f64 / scale).round() as u64).max(least).min(asked);
            part.settings.insert(parameter.name.to_owned(), part_of_it.to_string());
        }
    }
    stack
}

/// A stack whose shares are large enough for a slice, and a sentence about each default that is
/// raised for that; a share of the study's own is refused where a slice would make it larger.
pub(crate) fn fitting(
    resolved: &Resolved,
    device: &Device,
    spelled: &Stack,
) -> Result<(Resolved, Vec<String>), ConfigError> {
    let (mut filled, mut told) = (resolved.filled(), Vec::new());
    let Some(whole) = device.whole else { return Ok((resolved.clone(), told)) };
    for ((part, known), own) in filled.parts_mut().zip(resolved.parts()).zip(spelled.parts()) {
        for parameter in known.entry.parameters {
            let (name, of) = (parameter.name, known.entry.name);
            if (known.kind, name) == (PartKind::Buffer, "ram") && known.values.integer(name) > device.logical_bytes() {
                return Err(ConfigError(format!(
                    "{of}.ram = {}: would hold all of the simulated slice, {} of the drive's {}; give less, or device.slice = \"all\"",
                    known.settings[name],
                    Bytes(device.logical_bytes()),
                    Bytes(whole.logical_bytes)
                )));
            }
            let Some((scale, least)) = share(parameter.kind, device, whole) else { continue };
            let asked = known.values.integer(name);
            if asked == 0 || (asked as f64 / scale).round() as u64 >= least {
                continue;
            }
            let fits = (least as f64 * scale).ceil() as u64;
            let least = format!("the least that the simulated slice, 1/{scale:.0} of the drive, can stand for");
            if own.settings.contains_key(name) {
                let given = &known.settings[name];
                return Err(ConfigError(format!(
                    "{of}.{name} = {given}: below {fits}, {least}; give {name} = {fits}, or device.slice = \"all\""
                )));
            }
            told.push(format!("the slice has {of}.{name} = {fits}, not the default {}: {least}", parameter.default));
            part.settings.insert(name.to_owned(), fits.to_string());
        }
    }
    Ok((registry::resolve(&filled)?, told))
}

/// Of a parameter that is a share of a device: the whole's over the slice's, and the least of a
/// slice's. Where it is at least a page of 512 bytes, or several, it is as many of any size.
fn share(kind: Kind, device: &Device, whole: Whole) -> Option<(f64, u64)> {
    let (min, scale) = match kind {
        Kind::Bytes { min, scales: true, .. } => (min, whole.scale),
        Kind::Blocks { min, .. } => (min, whole.block_scale),
        _ => return None,
    };
    let pages = if matches!(kind, Kind::Bytes { .. }) { min / SMALLEST_PAGE_BYTES } else { 0 };
    Some((scale, min.max(pages * u64::from(device.geometry.page_size_bytes())).max(1)))
}

/// By how much each structure of a stack grows from a slice to the whole, in RAM and on flash.
#[derive(Clone, Debug, Default)]
pub(crate) struct Growth(Vec<(&'static str, [f64; 2])>);

impl Growth {
    /// Of a stack with this footprint on a slice: tables grow evenly with a device, some by page,
    /// some by block, some not at all, and a larger slice tells which.
    pub(crate) fn of(
        resolved: &Resolved,
        slice: &Device,
        spelled: &Stack,
        small: Footprint,
    ) -> Result<Self, ConfigError> {
        let (Some(whole), Some(larger)) = (slice.whole, &slice.larger) else { return Ok(Self::default()) };
        let large = registry::create(&built(resolved, larger, spelled), &larger.layout())?.footprint().structures;
        let pages = |device: &Device| f64::from(device.geometry.pages());
        let times = whole.physical_bytes as f64 / slice.geometry.bytes() as f64;
        let steps = (times - 1.0) * pages(slice) / (pages(larger) - pages(slice));
        let grown = |of_slice: u64, of_larger: u64| match of_slice {
            0 => whole.scale,
            _ => 1.0 + steps * (of_larger as f64 - of_slice as f64) / of_slice as f64,
        };
        let structures = small.structures.into_iter().zip(large);
        let growth = structures.map(|(one, other)| {
            (one.name, [grown(one.ram_bytes, other.ram_bytes), grown(one.flash_bytes, other.flash_bytes)])
        });
        Ok(Self(growth.collect()))
    }

    /// Turns what the structures take on a slice into what they take on the whole device.
    pub(crate) fn grow(&self, structures: &mut [RamStructure]) {
        for (structure, (name, [ram, flash])) in structures.iter_mut().zip(&self.0) {
            debug_assert_eq!(structure.name, *name, "a stack lists its structures in one order");
            structure.ram_bytes = (structure.ram_bytes as f64 * ram).round() as u64;
            structure.flash_bytes = (structure.flash_bytes as f64 * flash).round() as u64;
        }
    }
}
