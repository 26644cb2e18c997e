//! What a mapping maps, what a plane senses, and what it programs at once.
//!
//! A *unit* is what a translation layer maps and what a tag describes. Everything above the timing
//! calls it a page: the geometry, the chip and the schemes know nothing else. A *flash page* is
//! what a plane senses. A *program unit* is what it programs at once: one flash page under shadow
//! programming, all pages of a word line with one-shot programming.
//!
//! ```text
//! word line   |      lower page       |      centre page      |      upper page       |
//! units       | 0   | 1   | 2   | 3   | 4   | 5   | 6   | 7   | 8   | 9   | 10  | 11  |
//! shadow      |    program unit 0     |    program unit 1     |    program unit 2     |
//! one-shot    |                             program unit 0                            |
//! ```
//!
//! A unit may also be several flash pages of one die. Its price is then the sum of theirs.
//!
//! In a block in pSLC mode a word line has one page, so a program unit is one flash page there,
//! whatever the programming.

use std::ops::Range;

use flash::{CellMode, CellType, Shape};
use serde::{Deserialize, Serialize};

use trace::units::{Bytes, Nanoseconds};

use crate::SimError;
use crate::latencies::{Latencies, PslcTimes};

/// What a plane programs at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Programming {
    /// A flash page: the pages of a word line one by one, each in the time of its type.
    #[default]
    Shadow,
    /// All pages of a word line, in one time.
    OneShot,
}

impl Programming {
    /// What pages of blocks in pSLC mode take: what is said, else what lower pages take. Of a word
    /// line that is programmed in one time, a page's share.
    pub(crate) fn pslc_times(self, latencies: &Latencies) -> PslcTimes {
        let Latencies { cell, read_ns, program_ns, .. } = latencies;
        let pages = if self == Self::OneShot { cell.bits() as u64 } else { 1 };
        latencies.pslc.unwrap_or(PslcTimes { read_ns: read_ns.at(0), program_ns: program_ns.at(0) / pages })
    }
}

/// How many units a flash page has, or flash pages a unit, and what is programmed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Units {
    per_page: u32,
    pages: u32,
    programming: Programming,
}

impl Units {
    /// The most units that are programmed at once.
    pub const MOST_AT_ONCE: u32 = u16::MAX as u32;

    /// A unit is a flash page, which is programmed by itself.
    pub const PAGES: Self = Self { per_page: 1, pages: 1, programming: Programming::Shadow };

    /// This many units a flash page, above 0.
    pub const fn of_a_page(per_page: u32, programming: Programming) -> Self {
        Self { per_page, pages: 1, programming }
    }

    /// Units of this many flash pages, above 0. With one-shot programming a unit is a part of a
    /// word line, or several word lines.
    pub const fn of_pages(pages: u32, programming: Programming) -> Self {
        Self { per_page: 1, pages, programming }
    }

    /// The units of a study, checked.
    pub(crate) fn checked(
        shape: Shape,
        unit_bytes: u32,
        programming: Programming,
        latencies: &Latencies,
    ) -> Result<Self, SimError> {
        let units = Self::by_size(shape.page_size_bytes, unit_bytes, programming)?;
        if programming == Programming::OneShot {
            units.check_word_lines(shape, latencies)?;
        }
        units.check_times(unit_bytes, latencies)?;
        if !shape.pages_per_block.is_multiple_of(units.pages) {
            return Err(SimError::study(format!(
                "device.mapping_unit = {unit_bytes}: a unit takes {pages} flash pages, and device.pages_per_block = {} is no multiple of that; \
                 set pages_per_block to {}",
                shape.pages_per_block,
                shape.pages_per_block.next_multiple_of(units.pages),
                pages = units.pages,
            )));
        }
        Ok(units)
    }

    /// Whether a device can have them whose shape is told in units, as a file may tell both.
    pub fn check(self, mapped: Shape, latencies: &Latencies) -> Result<(), SimError> {
        let Self { per_page, pages, programming } = self;
        let flash = || {
            let pages_per_block = mapped.pages_per_block.checked_mul(pages)?.checked_div(per_page)?;
            let page_size_bytes = mapped.page_size_bytes.checked_mul(per_page)?.checked_div(pages)?;
            Some(Shape { pages_per_block, page_size_bytes, ..mapped })
        };
        let Some(flash) = flash().filter(|&flash| self.mapped(flash) == mapped) else {
            return Err(SimError::study(format!(
                "{per_page} units a flash page, or {pages} flash pages a unit, do not fit blocks of {} units",
                mapped.pages_per_block
            )));
        };
        if Self::checked(flash, mapped.page_size_bytes, programming, latencies)? == self {
            return Ok(());
        }
        Err(SimError::study(format!("{per_page} units a flash page cannot be {pages} flash pages a unit as well")))
    }

    /// Refuses more units of a size that are programmed at once than there may be.
    pub(crate) fn check_at_once(at_once: u32, unit_bytes: u64, page_bytes: u64) -> Result<(), SimError> {
        let most = u64::from(Self::MOST_AT_ONCE);
        if u64::from(at_once) <= most {
            return Ok(());
        }
        let bytes = u64::from(at_once) * unit_bytes;
        let few = |&size: &u64| page_bytes.is_multiple_of(size) && bytes / size <= most;
        let larger = (unit_bytes..=page_bytes).step_by(unit_bytes as usize).find(few).unwrap_or(page_bytes);
        Err(SimError::study(format!(
            "device.mapping_unit = {}: {at_once} units would be programmed at once, and at most {most} are possible; set it to \"{}\"",
            Bytes(unit_bytes),
            Bytes(larger)
        )))
    }

    fn by_size(page_bytes: u32, unit_bytes: u32, programming: Programming) -> Result<Self, SimError> {
        if unit_bytes == 0 || !unit_bytes.is_multiple_of(512) || unit_bytes > 1 << 20 {
            return Err(SimError::study(format!(
                "device.mapping_unit = {unit_bytes}: must be a multiple of 512 from 512 B to 1 MiB; \"4KiB\" and \"16KiB\" are usual"
            )));
        }
        if page_bytes.is_multiple_of(unit_bytes) {
            return Ok(Self::of_a_page(page_bytes / unit_bytes, programming));
        }
        let pages = unit_bytes / page_bytes.max(1);
        if pages * page_bytes == unit_bytes && (pages.is_power_of_two() || programming == Programming::OneShot) {
            return Ok(Self::of_pages(pages, programming));
        }
        Err(SimError::study(format!(
            "device.mapping_unit = {unit_bytes}: must divide device.page_size = {page_bytes}, or be 2, 4, 8 and so on times as large; \
             leave it out to map pages"
        )))
    }

    /// A unit of many pages may not take longer than one operation may.
    fn check_times(self, unit_bytes: u32, latencies: &Latencies) -> Result<(), SimError> {
        let longest_ns = [latencies.read_ns, latencies.program_ns].map(|times| times.given().iter().copied().max());
        let page_ns = latencies.transfer_ns + longest_ns.into_iter().flatten().max().unwrap_or(0);
        let (unit_ns, most_ns) = (page_ns.saturating_mul(self.pages.into()), 2 * Latencies::MAX_NS);
        if unit_ns > most_ns {
            return Err(SimError::study(format!(
                "device.mapping_unit = {unit_bytes}: its {} flash pages take {} one after the other, and at most {} are possible; \
                 lower mapping_unit or the latencies",
                self.pages,
                Nanoseconds(unit_ns),
                Nanoseconds(most_ns)
            )));
        }
        Ok(())
    }

    fn check_word_lines(self, shape: Shape, latencies: &Latencies) -> Result<(), SimError> {
        let (cell, bits) = (latencies.cell, latencies.cell.bits() as u32);
        let refuse = |sentence: String| Err(SimError::study(format!("device.programming = \"one_shot\": {sentence}")));
        if cell == CellType::Slc {
            return refuse(
                "a word line of SLC has one page, so this would be the same as shadow programming; set device.cell to what the cells are, \
                 or leave programming out"
                    .into(),
            );
        }
        if latencies.program_ns.given().len() > 1 {
            return refuse(format!(
                "a word line is programmed in one time, and device.program_latency has {}; give the time that a word line takes",
                latencies.program_ns.given().len()
            ));
        }
        if !shape.pages_per_block.is_multiple_of(bits) {
            return refuse(format!(
                "the word lines of {} have {bits} pages, and device.pages_per_block = {} is no multiple of that; set pages_per_block to {}",
                cell.name(),
                shape.pages_per_block,
                shape.pages_per_block.next_multiple_of(bits)
            ));
        }
        if !bits.is_multiple_of(self.pages) && !self.pages.is_multiple_of(bits) {
            return refuse(format!(
                "a unit takes {} flash pages (device.mapping_unit), and a word line of {} has {bits}; one must divide the other",
                self.pages,
                cell.name()
            ));
        }
        Ok(())
    }

    /// Units of a flash page, 1 where a unit is one or more of them.
    pub fn per_page(self) -> u32 {
        self.per_page
    }

    /// The shape that a mapping sees: its pages are the units.
    pub fn mapped(self, shape: Shape) -> Shape {
        let Self { per_page, pages, .. } = self;
        Shape {
            pages_per_block: shape.pages_per_block.saturating_mul(per_page) / pages,
            page_size_bytes: shape.page_size_bytes / per_page * pages,
            ..shape
        }
    }

    /// Units of a block in a mode that are programmed at once: 1 where none waits for others.
    pub fn programmed_at_once(self, cell: CellType, mode: CellMode) -> u32 {
        match (self.programming, mode) {
            (Programming::Shadow, _) | (_, CellMode::Pslc) => self.per_page,
            (Programming::OneShot, _) => (self.per_page * cell.bits() as u32 / self.pages).max(1),
        }
    }

    /// Units of a block in pSLC mode, of so many that it has otherwise: those of one flash page of
    /// each word line. 0 for cells of one bit, and for blocks with less than a unit.
    pub(crate) fn in_pslc(self, cell: CellType, units: u32) -> u32 {
        if cell == CellType::Slc {
            return 0;
        }
        units / self.per_page * self.pages / cell.bits() as u32 / self.pages * self.per_page
    }

    /// What moving a unit over the bus takes, rounded up to a nanosecond.
    pub(super) fn transfer_ns(self, latencies: &Latencies) -> u64 {
        latencies.transfer_ns.div_ceil(self.per_page.into()) * u64::from(self.pages)
    }

    /// The flash pages of a unit, by their offsets in the block.
    fn flash_pages(self, unit: u32) -> Range<u32> {
        let first = unit / self.per_page * self.pages;
        first..first + self.pages
    }

    /// The type of a flash page, by its number. One-shot programming fills word line after word
    /// line.
    fn page_type(self, cell: CellType, page: u32) -> usize {
        match self.programming {
            Programming::Shadow => cell.page_type(page).index(),
            Programming::OneShot => page as usize % cell.bits(),
        }
    }

    /// How long a unit is sensed: its flash pages, one after the other.
    pub(super) fn read_ns(self, latencies: &Latencies, unit: u32) -> u64 {
        let read = |page| latencies.read_ns.at(self.page_type(latencies.cell, page));
        self.flash_pages(unit).map(read).sum()
    }

    /// How long a unit of a block in pSLC mode is sensed, and how long the program takes that one
    /// carries: of its flash pages, one after the other.
    pub(super) fn pslc_ns(self, latencies: &Latencies) -> (u64, u64) {
        let PslcTimes { read_ns, program_ns } = self.programming.pslc_times(latencies);
        (read_ns * u64::from(self.pages), program_ns * u64::from(self.pages))
    }

    /// How long the program takes that a unit carries: of its flash pages or its word lines, one
    /// after the other.
    pub(super) fn program_ns(self, latencies: &Latencies, unit: u32) -> u64 {
        let Latencies { cell, program_ns, .. } = latencies;
        match self.programming {
            Programming::Shadow => self.flash_pages(unit).map(|page| program_ns.at(self.page_type(*cell, page))).sum(),
            Programming::OneShot => program_ns.at(0) * (u64::from(self.pages) / cell.bits() as u64).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_tells_of_units_is_a_device_or_refused() {
        let mapped = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 1,
            pages_per_block: 24,
            page_size_bytes: 4096,
        };
        let numbers = [0, 1, 2, 3, 4, 5, 24, 48, u32::MAX];
        for (per_page, pages) in numbers.iter().flat_map(|&one| numbers.map(|other| (one, other))) {
            let units = Units { per_page, pages, programming: Programming::Shadow };
            let fits = match (per_page, pages) {
                (per_page, 1) => per_page > 0 && 24_u32.is_multiple_of(per_page),
                (1, pages) => [2, 4].contains(&pages),
                _ => false,
            };
            assert_eq!(units.check(mapped, &Latencies::of_slc([0; 4])).is_ok(), fits, "{per_page} and {pages}");
        }
    }

    #[test]
    fn a_block_in_pslc_mode_has_whole_flash_pages_and_whole_units() {
        let in_pslc = |units: Units, cell, pages: u32| {
            let shape = Shape {
                channels: 1,
                dies_per_channel: 1,
                planes_per_die: 1,
                blocks_per_plane: 1,
                pages_per_block: pages,
                page_size_bytes: 4096,
            };
            units.in_pslc(cell, units.mapped(shape).pages_per_block)
        };
        for programming in [Programming::Shadow, Programming::OneShot] {
            let [parts, whole, pairs] =
                [Units::of_a_page(8, programming), Units::of_a_page(1, programming), Units::of_pages(2, programming)];
            assert_eq!(in_pslc(parts, CellType::Tlc, 1077), 8 * 359);
            assert_eq!(in_pslc(parts, CellType::Qlc, 1077), 8 * 269, "a page of the last word line is missing");
            assert_eq!(in_pslc(whole, CellType::Mlc, 7), 3);
            assert_eq!(in_pslc(pairs, CellType::Tlc, 28), 4, "the ninth page is no unit");
            assert_eq!(in_pslc(parts, CellType::Slc, 1077), 0);
            assert_eq!(in_pslc(parts, CellType::Tlc, 2), 0);
        }
    }
}
