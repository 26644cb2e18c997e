//! A hybrid map: each logical block is mapped as a whole, or page by page, or not at all, and a
//! zone lies before all of them.
//!
//! ```text
//!   GMT   0 → block 17      1 → page-mapped      2 → absent      3 → block 4
//!   zone  1.3 → …  3.0 → …                                       wins over what the others hold
//! ```
//!
//! What is mapped page by page stands in the table of the demand-paged machine (`engines/demand`),
//! in whose space everything lies. A block-mapped logical block has a block of its own, page `i` at
//! offset `i`; which of its pages count is the space's knowledge. So that what lies in the space
//! fits, no page that says what was trimmed may be needed for a block-mapped logical block: whoever
//! trims a page of one has it mapped page by page first.
//!
//! After a power cut a logical block is block-mapped if all that is needed of it outside the zone
//! lies in one block that claims it; otherwise it is mapped page by page, wherever its pages lie.
//! So nothing has to be written, and whatever a migration had begun is either whole or left out.

use std::collections::BTreeMap;

use flash::{Flash, Geometry, Lbn, Lpn, Pbn, Ppn, Role, Tag};

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::demand::foreign_pages::ForeignPages;
use crate::engines::demand::machine::OWN;
use crate::engines::page_map::space::{PageSpace, Stream};
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError};
use crate::port::flash_port::FlashPort;
use crate::recovery::trims::Trims;
use crate::schemes::waftl::buffer_zone::BufferZone;

pub(super) const ZONE: Stream = OWN;

/// The size of the zone.
pub(super) const PARAMETERS: [Parameter; 2] = [
    Parameter {
        name: "zone",
        kind: Kind::Ratio { min: 0.0, max: 1.0 },
        default: "3.125%",
        meaning: "Buffer zone, as a share of the logical blocks, at least one; a larger one gathers more pages of a block before they leave, and takes \
                  more of the spare.",
        source: "WAFTL tab. II (1 GB of 32 GB)",
    },
    Parameter {
        name: "zone_blocks",
        kind: Kind::Blocks { min: 0, max: 1 << 24 },
        default: "0",
        meaning: "Blocks of the buffer zone; 0 leaves it to zone.",
        source: "WAFTL tab. II (1024, 2048 or 4096)",
    },
];

/// Blocks of the zone that [`PARAMETERS`] ask for.
pub(super) fn zone_blocks(layout: &Layout, values: &Values) -> u64 {
    match values.integer("zone_blocks") {
        0 => ((f64::from(layout.logical_blocks()) * values.ratio("zone")).round() as u64).max(1),
        blocks => blocks,
    }
}

/// How a logical block is mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockMapping {
    /// Nothing of it lies outside the zone.
    #[default]
    Absent,
    /// Its pages are mapped one by one.
    PageMapped,
    /// All of it lies in this block.
    Block(Pbn),
}

/// The global mapping table, and the zone before it.
#[derive(Clone, Debug)]
pub struct HybridMap {
    /// The buffer zone, which is searched first.
    pub zone: BufferZone,
    geometry: Geometry,
    logical_pages: u32,
    homes: Vec<BlockMapping>,
    page_mapped: u32,
    block_mapped: u32,
    /// What recovery has found outside the zone, by logical block.
    found: BTreeMap<Lbn, Vec<(Lpn, Ppn, Option<Lbn>)>>,
}

impl HybridMap {
    /// How a logical block is mapped.
    #[inline]
    pub fn home(&self, lbn: Lbn) -> BlockMapping {
        self.homes[lbn.index()]
    }

    /// A logical block is mapped otherwise.
    pub fn set_home(&mut self, lbn: Lbn, home: BlockMapping) {
        let old = std::mem::replace(&mut self.homes[lbn.index()], home);
        for (home, more) in [(old, false), (home, true)] {
            let count = match home {
                BlockMapping::Absent => continue,
                BlockMapping::PageMapped => &mut self.page_mapped,
                BlockMapping::Block(_) => &mut self.block_mapped,
            };
            *count = if more { *count + 1 } else { *count - 1 };
        }
    }

    /// Logical blocks that are mapped page by page, and as a whole.
    pub fn counts(&self) -> [u32; 2] {
        [self.page_mapped, self.block_mapped]
    }

    /// The block-mapped logical block of a block, found by searching.
    pub fn block_of(&self, pbn: Pbn) -> Option<Lbn> {
        self.homes.iter().position(|&home| home == BlockMapping::Block(pbn)).map(|lbn| Lbn::new(lbn as u32))
    }

    /// The shape of the device.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Logical pages of a logical block with their offsets: all but the last have a full block's
    /// worth.
    pub fn pages_of(&self, lbn: Lbn) -> impl Iterator<Item = (u32, Lpn)> + use<> {
        let first = self.geometry.logical_page(lbn, 0).get();
        let pages = self.geometry.pages_per_block().min(self.logical_pages - first);
        (0..pages).map(move |offset| (offset, Lpn::new(first + offset)))
    }

    /// Where a block-mapped logical block holds a page, however new that is.
    pub fn in_block(&self, space: &PageSpace, lpn: Lpn) -> Option<Ppn> {
        let (lbn, offset) = self.geometry.split_logical(lpn);
        let BlockMapping::Block(pbn) = self.home(lbn) else { return None };
        Some(self.geometry.page(pbn, offset)).filter(|&ppn| space.is_valid(ppn))
    }

    /// The block that claims a logical block and holds all that was found of it, each page at its
    /// own offset.
    fn claim(&self, lbn: Lbn, pages: &[(Lpn, Ppn, Option<Lbn>)]) -> Option<Pbn> {
        let (pbn, _) = self.geometry.split(pages.first()?.1);
        let is_in_place = |&(lpn, ppn, owner): &(Lpn, Ppn, Option<Lbn>)| {
            owner == Some(lbn) && ppn == self.geometry.page(pbn, self.geometry.split_logical(lpn).1)
        };
        pages.iter().all(is_in_place).then_some(pbn)
    }
}

impl ForeignPages for HybridMap {
    const STREAM: Option<Stream> = Some(ZONE);

    fn new(layout: &Layout, values: &Values, space: &PageSpace) -> Self {
        let capacity = zone_blocks(layout, values) * u64::from(space.content_pages());
        Self {
            zone: BufferZone::new(layout, capacity),
            geometry: layout.geometry,
            logical_pages: layout.logical_pages,
            homes: vec![BlockMapping::Absent; layout.logical_blocks() as usize],
            page_mapped: 0,
            block_mapped: 0,
            found: BTreeMap::new(),
        }
    }

    /// The zone, the rest of the last logical block, and a block that is being put together.
    fn extra_pages(layout: &Layout, values: &Values) -> Result<u64, ConfigError> {
        let pages_per_block = u64::from(layout.geometry.pages_per_block());
        let rest = u64::from(layout.logical_blocks()) * pages_per_block - u64::from(layout.logical_pages);
        Ok((zone_blocks(layout, values) + 1) * pages_per_block + rest)
    }

    fn advice(layout: &Layout, values: &Values) -> Option<String> {
        let blocks = zone_blocks(layout, values);
        let given = match values.integer("zone_blocks") {
            0 => format!("zone = {}", values.ratio("zone")),
            given => format!("zone_blocks = {given}"),
        };
        let pages = blocks * u64::from(layout.geometry.pages_per_block());
        Some(format!("or make the buffer zone smaller: {given} makes it {blocks} blocks, {pages} of the pages needed"))
    }

    fn on_moved(&mut self, lpn: Lpn, from: Ppn, to: Ppn) -> bool {
        self.zone.on_moved(lpn, from, to)
    }

    fn drop_duplicate(&mut self, from: Ppn) -> bool {
        let clean = self.zone.owner_of(from).filter(|&lpn| !self.zone.is_dirty(lpn));
        clean.is_some_and(|lpn| self.zone.remove(lpn).is_some())
    }

    fn owner_of(&self, ppn: Ppn) -> Option<Lpn> {
        self.zone.owner_of(ppn)
    }

    fn on_found(&mut self, tag: Tag, ppn: Ppn) -> bool {
        let lpn = Lpn::new(tag.logical);
        if tag.role == Self::ROLE {
            self.zone.adopt(lpn, ppn);
        } else {
            let (lbn, _) = self.geometry.split_logical(lpn);
            self.found.entry(lbn).or_default().push((lpn, ppn, tag.owner));
        }
        true
    }

    fn settle(&mut self, space: &mut PageSpace, trims: &Trims) -> Vec<(Lpn, Ppn)> {
        let zone: Vec<_> = self.zone.iter().map(|(_, ppn)| self.geometry.block_of(ppn)).collect();
        for pbn in zone {
            if space.stream_of(pbn) == ZONE {
                space.pin(pbn);
            }
        }
        self.zone.fill(space.pinned_of(ZONE).len() as u64 * u64::from(space.content_pages()));
        let mut page_mapped = Vec::new();
        for (lbn, pages) in std::mem::take(&mut self.found) {
            let claim = self.claim(lbn, &pages).filter(|_| !trims.speak_of(self.pages_of(lbn).map(|(_, lpn)| lpn)));
            if let Some(pbn) = claim {
                space.pin(pbn);
                self.set_home(lbn, BlockMapping::Block(pbn));
            } else {
                page_mapped.extend(pages.into_iter().map(|(lpn, ppn, _)| (lpn, ppn)));
                self.set_home(lbn, BlockMapping::PageMapped);
            }
        }
        page_mapped
    }

    fn check<D: Device>(
        &self,
        flash: &FlashPort<D>,
        space: &PageSpace,
        is_mapped: &dyn Fn(Lpn, Ppn) -> bool,
    ) -> Result<u64, BrokenInvariant> {
        let mut count = 0;
        let mut holds = |lpn: Lpn, ppn: Ppn, name: &'static str| {
            let tag = flash.chip().peek(ppn);
            count += u64::from(!is_mapped(lpn, ppn));
            BrokenInvariant::unless(space.is_valid(ppn) && tag == Some(lpn.get()), name, || {
                format!("{lpn} should lie at {ppn}, which carries {tag:?} (valid: {})", space.is_valid(ppn))
            })
        };
        self.zone.iter().try_for_each(|(lpn, ppn)| holds(lpn, ppn, "I6"))?;
        for (lbn, pbn) in self.block_mapped() {
            BrokenInvariant::unless(space.is_pinned(pbn), "I7", || {
                format!("{lbn} lies in {pbn}, which may be collected")
            })?;
            for (_, lpn) in self.pages_of(lbn) {
                self.in_block(space, lpn).map_or(Ok(()), |ppn| holds(lpn, ppn, "I7"))?;
            }
        }
        Ok(count)
    }
}

impl HybridMap {
    /// The block-mapped logical blocks, each with its block.
    pub fn block_mapped(&self) -> impl Iterator<Item = (Lbn, Pbn)> + '_ {
        (0..).map(Lbn::new).zip(&self.homes).filter_map(|(lbn, home)| match home {
            BlockMapping::Block(pbn) => Some((lbn, *pbn)),
            _ => None,
        })
    }
}

/// The label of a page of the zone.
pub(super) const ZONE_ROLE: Role = <HybridMap as ForeignPages>::ROLE;

#[cfg(test)]
mod tests;
