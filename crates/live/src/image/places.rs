//! Where everything lies in an image. `docs/format.md` has the same as a table.
//!
//! ```text
//! | header | header | life | life | block table | OOB slots | data |
//! ```
//!
//! Every area begins at a multiple of 4096 bytes. The file is as long as its last page asks for, and sparse.

use flash::Geometry;

use super::blocks::ENTRY_BYTES;
use super::header::{COPIES, HEADER_BYTES};
use super::life::LIFE_BYTES;
use super::oob::SLOT_BYTES;

/// Areas begin at multiples of this: what memory and disks are paged by.
const ALIGNMENT: u64 = 4096;

/// Offsets of the areas of one image, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) life: u64,
    pub(crate) blocks: u64,
    pub(crate) slots: u64,
    pub(crate) data: u64,
    pub(crate) end: u64,
    page_bytes: u64,
}

impl Places {
    pub(crate) fn of(geometry: &Geometry) -> Self {
        let aligned = |offset: u64| offset.next_multiple_of(ALIGNMENT);
        let (pages, page_bytes) = (u64::from(geometry.pages()), u64::from(geometry.page_size_bytes()));
        let life = HEADER_BYTES * COPIES;
        let blocks = life + 2 * LIFE_BYTES;
        let slots = aligned(blocks + u64::from(geometry.blocks()) * ENTRY_BYTES as u64);
        let data = aligned(slots + pages * SLOT_BYTES as u64);
        Self { life, blocks, slots, data, end: data + pages * page_bytes, page_bytes }
    }

    /// Where a block's entry lies.
    pub(crate) fn block(&self, block: usize) -> u64 {
        self.blocks + (block * ENTRY_BYTES) as u64
    }

    /// Where a page's OOB slot lies.
    pub(crate) fn slot(&self, page: usize) -> u64 {
        self.slots + (page * SLOT_BYTES) as u64
    }

    /// Where a page's data lie.
    pub(crate) fn data(&self, page: usize) -> u64 {
        self.data + page as u64 * self.page_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flash::Shape;

    #[test]
    fn areas_follow_each_other_without_overlap() {
        let shape = Shape {
            channels: 3,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 100,
            pages_per_block: 7,
            page_size_bytes: 1536,
        };
        let places = Places::of(&Geometry::new(shape).expect("valid"));
        assert_eq!((places.life, places.blocks), (16_384, 49_152));
        assert_eq!(places.slots, 57_344); // 300 blocks × 16 B take two pages
        assert_eq!(places.data, 57_344 + 69_632); // 2100 slots × 32 B = 67 200 B
        assert_eq!(places.end, places.data(2100));
        assert_eq!((places.block(1), places.slot(2)), (49_168, 57_408));
    }
}
