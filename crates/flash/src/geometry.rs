//! The shape of a flash device and the arithmetic of its addresses.
//!
//! Order of physical blocks: all blocks of plane 0 of die 0 of channel 0, then plane 1 …, then the
//! next die of the same channel, then the next channel. A page number is
//! `block × pages_per_block + page`. No count needs to be a power of two; the divisions that this
//! costs are strength-reduced once, here, so that an address splits in a few cycles.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use strength_reduce::StrengthReducedU32;

use crate::{Lbn, Lpn, Pbn, Ppn};

/// The counts that make up a device, as a person writes them. [`Geometry::new`] checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Independent buses between controller and flash.
    pub channels: u32,
    /// Dies (logical units that work on their own) per channel.
    pub dies_per_channel: u32,
    /// Planes of a die; each has blocks of its own.
    pub planes_per_die: u32,
    /// Erase blocks per plane.
    pub blocks_per_plane: u32,
    /// Pages per erase block.
    pub pages_per_block: u32,
    /// Data bytes per page, without the out-of-band area.
    pub page_size_bytes: u32,
}

/// A checked [`Shape`] with its address arithmetic.
#[derive(Clone, Copy)]
pub struct Geometry {
    shape: Shape,
    blocks: u32,
    pages: u32,
    by_pages_per_block: StrengthReducedU32,
    by_blocks_per_die: StrengthReducedU32,
    by_dies_per_channel: StrengthReducedU32,
}

/// A shape that no device can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GeometryError {
    /// A count is zero.
    Zero {
        /// The name of the field that is 0.
        field: &'static str,
    },
    /// The device has more pages than a 32-bit page number can tell apart.
    TooLarge {
        /// The number of pages asked for.
        pages: u128,
    },
    /// The page size is not a multiple of 512 bytes between 512 B and 1 MiB.
    PageSize {
        /// The bytes asked for.
        bytes: u32,
    },
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero { field } => {
                write!(f, "geometry: {field} is 0, but must be at least 1; give the device at least one")
            }
            Self::TooLarge { pages } => write!(
                f,
                "geometry: {pages} pages, but page numbers are 32 bits (at most {} pages); use larger pages or fewer blocks",
                Geometry::MAX_PAGES
            ),
            Self::PageSize { bytes } => write!(
                f,
                "geometry: page_size_bytes is {bytes}, but must be a multiple of 512 from 512 B to 1 MiB; 4096 is usual"
            ),
        }
    }
}

impl std::error::Error for GeometryError {}

impl Geometry {
    /// The most pages a device can have: page numbers and their successors fit `u32`.
    pub const MAX_PAGES: u32 = u32::MAX - 1;

    /// Checks a shape.
    pub fn new(shape: Shape) -> Result<Self, GeometryError> {
        for (field, count) in [
            ("channels", shape.channels),
            ("dies_per_channel", shape.dies_per_channel),
            ("planes_per_die", shape.planes_per_die),
            ("blocks_per_plane", shape.blocks_per_plane),
            ("pages_per_block", shape.pages_per_block),
        ] {
            if count == 0 {
                return Err(GeometryError::Zero { field });
            }
        }
        let bytes = shape.page_size_bytes;
        if bytes == 0 || !bytes.is_multiple_of(512) || bytes > 1 << 20 {
            return Err(GeometryError::PageSize { bytes });
        }
        let dies = u128::from(shape.channels) * u128::from(shape.dies_per_channel);
        let blocks_per_die = u128::from(shape.planes_per_die) * u128::from(shape.blocks_per_plane);
        let pages = dies
            .checked_mul(blocks_per_die)
            .and_then(|blocks| blocks.checked_mul(u128::from(shape.pages_per_block)))
            .unwrap_or(u128::MAX);
        if pages > u128::from(Self::MAX_PAGES) {
            return Err(GeometryError::TooLarge { pages });
        }
        Ok(Self {
            shape,
            blocks: (dies * blocks_per_die) as u32,
            pages: pages as u32,
            by_pages_per_block: StrengthReducedU32::new(shape.pages_per_block),
            by_blocks_per_die: StrengthReducedU32::new(blocks_per_die as u32),
            by_dies_per_channel: StrengthReducedU32::new(shape.dies_per_channel),
        })
    }

    /// The counts that it was made from.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Channels of the device.
    #[inline]
    pub fn channels(&self) -> u32 {
        self.shape.channels
    }

    /// Dies of the whole device.
    #[inline]
    pub fn dies(&self) -> u32 {
        self.shape.channels * self.shape.dies_per_channel
    }

    /// Erase blocks of one die, over all its planes.
    #[inline]
    pub fn blocks_per_die(&self) -> u32 {
        self.by_blocks_per_die.get()
    }

    /// Erase blocks of the whole device.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Pages of one erase block.
    #[inline]
    pub fn pages_per_block(&self) -> u32 {
        self.shape.pages_per_block
    }

    /// Pages of the whole device.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Data bytes of one page.
    #[inline]
    pub fn page_size_bytes(&self) -> u32 {
        self.shape.page_size_bytes
    }

    /// Data bytes of the whole device.
    pub fn bytes(&self) -> u64 {
        u64::from(self.pages) * u64::from(self.shape.page_size_bytes)
    }

    /// The block that holds a page.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> Pbn {
        Pbn::new(ppn.get() / self.by_pages_per_block)
    }

    /// A page's block and its offset there.
    #[inline]
    pub fn split(&self, ppn: Ppn) -> (Pbn, u32) {
        let (block, page) = StrengthReducedU32::div_rem(ppn.get(), self.by_pages_per_block);
        (Pbn::new(block), page)
    }

    /// The page at an offset of a block.
    #[inline]
    pub fn page(&self, pbn: Pbn, offset: u32) -> Ppn {
        Ppn::new(pbn.get() * self.shape.pages_per_block + offset)
    }

    /// All page numbers of a block, as array indices.
    #[inline]
    pub fn page_indices(&self, pbn: Pbn) -> Range<usize> {
        let first = pbn.index() * self.shape.pages_per_block as usize;
        first..first + self.shape.pages_per_block as usize
    }

    /// The die of a block, 0 to [`dies`](Self::dies) − 1; dies of one channel are neighbours.
    #[inline]
    pub fn die_of(&self, pbn: Pbn) -> u32 {
        pbn.get() / self.by_blocks_per_die
    }

    /// The channel that a die's transfers use.
    #[inline]
    pub fn channel_of(&self, die: u32) -> u32 {
        die / self.by_dies_per_channel
    }

    /// Blocks of a die, as block numbers.
    pub fn blocks_of_die(&self, die: u32) -> Range<u32> {
        let first = die * self.blocks_per_die();
        first..first + self.blocks_per_die()
    }

    /// A logical page's logical block and its offset there (block-mapped and hybrid schemes).
    #[inline]
    pub fn split_logical(&self, lpn: Lpn) -> (Lbn, u32) {
        let (block, page) = StrengthReducedU32::div_rem(lpn.get(), self.by_pages_per_block);
        (Lbn::new(block), page)
    }

    /// The logical page at an offset of a logical block.
    #[inline]
    pub fn logical_page(&self, lbn: Lbn, offset: u32) -> Lpn {
        Lpn::new(lbn.get() * self.shape.pages_per_block + offset)
    }
}

impl fmt::Debug for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shape, f)
    }
}

impl fmt::Display for Geometry {
    /// For example `8x4x1x1024x256x4096`: channels, dies per channel, planes per die, blocks per
    /// plane, pages per block, bytes per page.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = &self.shape;
        write!(
            f,
            "{}x{}x{}x{}x{}x{}",
            s.channels, s.dies_per_channel, s.planes_per_die, s.blocks_per_plane, s.pages_per_block, s.page_size_bytes
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODD: Shape = Shape {
        channels: 3,
        dies_per_channel: 2,
        planes_per_die: 2,
        blocks_per_plane: 5,
        pages_per_block: 7,
        page_size_bytes: 1536,
    };

    #[test]
    fn every_page_of_an_odd_device_splits_and_joins() {
        let geometry = Geometry::new(ODD).expect("valid");
        assert_eq!((geometry.dies(), geometry.blocks(), geometry.pages()), (6, 60, 420));
        for number in 0..geometry.pages() {
            let ppn = Ppn::new(number);
            let (pbn, offset) = geometry.split(ppn);
            assert_eq!(geometry.page(pbn, offset), ppn);
            assert_eq!(geometry.die_of(pbn), pbn.get() / 10);
            assert_eq!(geometry.channel_of(geometry.die_of(pbn)), pbn.get() / 20);
        }
    }

    #[test]
    fn one_of_everything_is_a_device() {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 1,
            pages_per_block: 1,
            page_size_bytes: 512,
        };
        assert_eq!(Geometry::new(shape).expect("valid").bytes(), 512);
    }

    #[test]
    fn impossible_shapes_are_refused_by_name() {
        let zero = Geometry::new(Shape { blocks_per_plane: 0, ..ODD }).expect_err("zero blocks");
        assert!(zero.to_string().contains("blocks_per_plane is 0"), "{zero}");
        let huge = Geometry::new(Shape { blocks_per_plane: u32::MAX, ..ODD }).expect_err("too many pages");
        assert!(matches!(huge, GeometryError::TooLarge { .. }), "{huge}");
        let all = u32::MAX;
        let overflow =
            Shape { channels: all, dies_per_channel: all, planes_per_die: all, blocks_per_plane: all, ..ODD };
        assert!(matches!(Geometry::new(overflow), Err(GeometryError::TooLarge { .. })));
        assert!(matches!(Geometry::new(Shape { page_size_bytes: 1000, ..ODD }), Err(GeometryError::PageSize { .. })));
    }
}
