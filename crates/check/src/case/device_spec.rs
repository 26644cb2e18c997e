//! The device of a case: shape, program order and bad blocks, with the text form that replay lines
//! use.
//!
//! The chip keeps whole tags and a stamp a page.

use std::fmt;
use std::str::FromStr;

use flash::{
    BitErrorModel, CellType, Chip, ChipOptions, Exposure, Flash, Full, Geometry, PastEndurance, Pbn, ProgramOrder,
    Shape,
};
use ftl::{BitErrors, Layout, Nanos, Reliability};

use crate::case::named::{list, name_of, value_of};
use crate::stamp::Stamp;

/// A device to be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSpec {
    /// Counts of channels, dies, planes, blocks and pages.
    pub shape: Shape,
    /// The order in which it lets pages of a block be programmed.
    pub order: ProgramOrder,
    /// Blocks that are bad from the factory.
    pub bad_blocks: Vec<u32>,
    /// Reads of a block, divided by its pages, beyond which it is refreshed; 0 for never.
    pub refreshed_after: u32,
    /// Pages of a block that are programmed at once and wait in RAM until then; 1 for none.
    pub at_once: u32,
    /// Whether a capacitor keeps those that wait.
    pub has_capacitor: bool,
    /// Pages that lie in one page of the flash.
    pub units_per_page: u32,
    /// The cells, if their pages are programmed one after the other and a power cut may destroy
    /// earlier ones.
    pub paired: Option<CellType>,
}

impl DeviceSpec {
    /// A device with these counts, pages of 512 bytes, ascending program order and no bad blocks.
    pub const fn new(
        channels: u32,
        dies_per_channel: u32,
        planes_per_die: u32,
        blocks_per_plane: u32,
        pages_per_block: u32,
    ) -> Self {
        let shape = Shape {
            channels,
            dies_per_channel,
            planes_per_die,
            blocks_per_plane,
            pages_per_block,
            page_size_bytes: 512,
        };
        Self {
            shape,
            order: ProgramOrder::Ascending,
            bad_blocks: Vec::new(),
            refreshed_after: 0,
            at_once: 1,
            has_capacitor: false,
            units_per_page: 1,
            paired: None,
        }
    }

    /// The same device with another program order.
    #[must_use]
    pub fn ordered(mut self, order: ProgramOrder) -> Self {
        self.order = order;
        self
    }

    /// The same device with bad blocks.
    #[must_use]
    pub fn with_bad(mut self, blocks: impl IntoIterator<Item = u32>) -> Self {
        self.bad_blocks.extend(blocks);
        self
    }

    /// The same device, whose blocks are refreshed when their pages have been read so often.
    #[must_use]
    pub fn refreshed_after(mut self, reads_per_page: u32) -> Self {
        self.refreshed_after = reads_per_page;
        self
    }

    /// The same device in strict order, where a power cut takes pages of a block until so many are
    /// programmed together.
    #[must_use]
    pub fn gathering(self, at_once: u32) -> Self {
        Self { order: ProgramOrder::Strict, at_once, ..self }
    }

    /// The same device in strict order, where a power cut takes the earlier pages of a word line.
    #[must_use]
    pub fn paired(self, cell: CellType) -> Self {
        Self { order: ProgramOrder::Strict, paired: Some(cell), ..self }
    }

    /// The same device in strict order with a capacitor, where `at_once` pages of a block are
    /// programmed together, and a page of the flash has `units_per_page` of them.
    #[must_use]
    pub fn together(self, at_once: u32, units_per_page: u32) -> Self {
        Self { order: ProgramOrder::Strict, at_once, has_capacitor: true, units_per_page, ..self }
    }

    /// What a scheme may know of a chip of this device.
    pub fn layout(&self, chip: &(impl Flash + ?Sized), logical_pages: u32, seed: u64) -> Layout {
        let Self { at_once: programmed_at_once, units_per_page, .. } = *self;
        Layout { programmed_at_once, units_per_page, ..Layout::of(chip, logical_pages, seed) }
    }

    /// Which pages a power cut takes although their programs have ended.
    fn exposure(&self) -> Option<Exposure> {
        let pages = self.shape.pages_per_block;
        match self.paired {
            Some(cell) => Exposure::paired(cell, self.at_once, pages),
            None if self.has_capacitor => None,
            None => Exposure::gathered(self.at_once, pages),
        }
    }

    /// The bit errors that have its blocks refreshed; none where they never are.
    pub(crate) fn bit_errors(&self, device: &(impl Flash + ?Sized)) -> Option<BitErrors> {
        let reliability = Reliability {
            model: ONE_ERROR_A_READ,
            ecc_limit: f64::from(self.refreshed_after),
            read_retries: 0,
            retry_latency: Nanos::ZERO,
            refresh_at: 1.0,
            initial_erases: 0,
            retention_days: 0.0,
            retention_speedup: 0.0,
            units_per_page: 1,
        };
        (self.refreshed_after > 0).then(|| BitErrors::new(reliability, device))
    }

    /// The checked shape. An impossible one, or a bad block that does not exist, is an error in
    /// words.
    pub fn geometry(&self) -> Result<Geometry, String> {
        let geometry = Geometry::new(self.shape).map_err(|error| error.to_string())?;
        let pages = geometry.pages_per_block();
        if self.at_once == 0 || !pages.is_multiple_of(self.at_once) {
            return Err(format!(
                "{}:{}: blocks have {pages} pages, which must be a multiple of what is programmed at once",
                if self.has_capacitor { "together" } else { "volatile" },
                self.at_once
            ));
        }
        if self.units_per_page == 0 || !self.at_once.is_multiple_of(self.units_per_page) {
            return Err(format!(
                "units:{}: must divide the {} pages that are programmed at once (volatile, together)",
                self.units_per_page, self.at_once
            ));
        }
        if (self.at_once > 1 || self.paired.is_some()) && self.order != ProgramOrder::Strict {
            return Err("volatile, together and paired ask for strict order, as a gap could not be programmed later; \
                        add ,strict"
                .into());
        }
        match self.bad_blocks.iter().find(|&&block| block >= geometry.blocks()) {
            Some(bad) => {
                let blocks = geometry.blocks();
                Err(format!("bad block {bad} lies beyond the device's {blocks} blocks; name an existing one"))
            }
            None => Ok(geometry),
        }
    }

    /// An erased chip whose blocks survive `endurance` erases; fails like
    /// [`geometry`](Self::geometry).
    pub fn chip(&self, endurance: u32) -> Result<Chip<Full<Stamp>>, String> {
        let options = ChipOptions {
            program_order: self.order,
            endurance: Some(endurance),
            past_endurance: PastEndurance::Refused,
            bad_blocks: self.bad_blocks.iter().map(|&block| Pbn::new(block)).collect(),
            // Of cells with two bits, which leave the most pages to small blocks.
            pslc_pages: self.geometry()?.pages_per_block() / 2,
            pslc_endurance: Some(endurance),
            exposure: self.exposure(),
        };
        Ok(Chip::new(self.geometry()?, &options))
    }
}

/// A rate of errors that is the reads of a block, divided by its pages.
const ONE_ERROR_A_READ: BitErrorModel =
    BitErrorModel { epsilon: 0.0, alpha: 0.0, k: 1.0, beta: 0.0, m: 1.0, n: 1.0, gamma: 1.0, p: 0.0, q: 1.0 };

const ORDERS: [(ProgramOrder, &str); 3] =
    [(ProgramOrder::Ascending, "ascending"), (ProgramOrder::Strict, "strict"), (ProgramOrder::Any, "any")];

const CELLS: [(CellType, &str); 3] = [(CellType::Mlc, "mlc"), (CellType::Tlc, "tlc"), (CellType::Qlc, "qlc")];

impl fmt::Display for DeviceSpec {
    /// For example `1x2x1x8x5x512` or `1x2x1x8x5x512,strict,bad:0:3,refresh:2,volatile:5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = &self.shape;
        let counts = [
            s.channels,
            s.dies_per_channel,
            s.planes_per_die,
            s.blocks_per_plane,
            s.pages_per_block,
            s.page_size_bytes,
        ];
        write!(f, "{}", counts.map(|count| count.to_string()).join("x"))?;
        if self.order != ProgramOrder::Ascending {
            write!(f, ",{}", name_of(&ORDERS, &self.order))?;
        }
        if !self.bad_blocks.is_empty() {
            write!(f, ",bad:{}", list(&self.bad_blocks).replace(',', ":"))?;
        }
        if self.refreshed_after > 0 {
            write!(f, ",refresh:{}", self.refreshed_after)?;
        }
        if self.at_once > 1 {
            write!(f, ",{}:{}", if self.has_capacitor { "together" } else { "volatile" }, self.at_once)?;
        }
        if self.units_per_page > 1 {
            write!(f, ",units:{}", self.units_per_page)?;
        }
        if let Some((_, name)) = CELLS.iter().find(|(cell, _)| Some(*cell) == self.paired) {
            write!(f, ",paired:{name}")?;
        }
        Ok(())
    }
}

impl FromStr for DeviceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let advice = |part: &str| {
            format!(
                "geometry {text}: {part} is not understood; write channels x dies x planes x blocks x pages x bytes, for \
                 example 1x2x1x8x5x512, then perhaps ,strict or ,any, ,bad:0:3, ,refresh:2, ,volatile:4 or ,together:4, ,units:2 and \
                 ,paired:mlc"
            )
        };
        let mut parts = text.split(',');
        let counts = parts.next().unwrap_or_default();
        let mut spec = counts_of(counts).ok_or_else(|| advice(counts))?;
        for part in parts {
            if let Some(order) = value_of(&ORDERS, part) {
                spec.order = order;
            } else if let Some(reads) = part.strip_prefix("refresh:") {
                spec.refreshed_after = reads.parse().map_err(|_| advice(part))?;
            } else if let Some(pages) = part.strip_prefix("volatile:") {
                spec.at_once = pages.parse().map_err(|_| advice(part))?;
            } else if let Some(pages) = part.strip_prefix("together:") {
                (spec.at_once, spec.has_capacitor) = (pages.parse().map_err(|_| advice(part))?, true);
            } else if let Some(units) = part.strip_prefix("units:") {
                spec.units_per_page = units.parse().map_err(|_| advice(part))?;
            } else if let Some(cell) = part.strip_prefix("paired:").and_then(|name| value_of(&CELLS, name)) {
                spec.paired = Some(cell);
            } else {
                let numbers = part.strip_prefix("bad:").ok_or_else(|| advice(part))?.split(':').map(str::parse);
                spec.bad_blocks = numbers.collect::<Result<_, _>>().map_err(|_| advice(part))?;
            }
        }
        Ok(spec)
    }
}

fn counts_of(text: &str) -> Option<DeviceSpec> {
    let counts: Vec<u32> = text.split('x').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [channels, dies, planes, blocks, pages, page_size_bytes] = counts[..] else { return None };
    let mut spec = DeviceSpec::new(channels, dies, planes, blocks, pages);
    spec.shape.page_size_bytes = page_size_bytes;
    Some(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_reads_back_from_its_text() {
        for text in [
            "1x1x1x1x1x512",
            "3x2x1x5x7x1024,strict",
            "1x1x1x4x4x512,bad:0",
            "1x1x1x4x4x512,any,bad:0:3,refresh:2",
            "1x1x1x4x4x512,strict,volatile:2,paired:tlc",
            "1x1x1x4x24x512,strict,together:12,units:4",
        ] {
            assert_eq!(text.parse::<DeviceSpec>().expect(text).to_string(), text);
        }
        for wrong in [
            "",
            "1x1x1x1x1",
            "1x1x1x1x1x512x1",
            "axbxcxdxexf",
            "1x1x1x1x1x512,loose",
            "1x1x1x1x1x512,bad:",
            "1x1x1x1x1x512,refresh:x",
            "1x1x1x1x1x512,volatile:x",
            "1x1x1x1x1x512,paired:slc",
        ] {
            assert!(wrong.parse::<DeviceSpec>().expect_err(wrong).contains("for example"), "{wrong}");
        }
    }

    #[test]
    fn impossible_devices_are_errors_in_words() {
        assert!(DeviceSpec::new(0, 1, 1, 1, 1).geometry().expect_err("refused").contains("channels is 0"));
        let beyond = DeviceSpec::new(1, 1, 1, 2, 1).with_bad([2]);
        let uneven = DeviceSpec::new(1, 1, 1, 2, 6).gathering(4);
        assert!(uneven.geometry().expect_err("refused").contains("volatile:4: blocks have 6 pages"), "{uneven}");
        let gaps = DeviceSpec { order: ProgramOrder::Any, ..DeviceSpec::new(1, 1, 1, 2, 6).gathering(3) };
        assert!(gaps.geometry().expect_err("refused").contains("add ,strict"), "{gaps}");
        let parts = DeviceSpec::new(1, 1, 1, 2, 6).together(3, 2).geometry().expect_err("refused");
        assert!(parts.contains("units:2: must divide the 3 pages"), "{parts}");
        assert!(beyond.chip(1).err().expect("refused").contains("bad block 2 lies beyond"), "{beyond}");
    }
}
