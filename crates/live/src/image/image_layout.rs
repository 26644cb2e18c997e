//! Where everything lies in an image. `docs/format.md` has the same as a table.
//!
//! ```text
//! | header | life | block table | OOB slots | data | OOB slots | block table | life | header |
//! ```
//!
//! Whatever is not data is there twice, before and behind the data: no damage in one place takes
//! both. Every area begins at a multiple of 4096 bytes. The file is sparse.

use flash::Geometry;

use super::blocks::ENTRY_BYTES;
use super::header::HEADER_BYTES;
use super::life::LIFE_BYTES;
use super::page_tags::SLOT_BYTES;

/// Areas begin at multiples of this: what memory and disks are paged by.
pub(crate) const ALIGNMENT: u64 = 4096;

/// Offsets of the areas of one image, in bytes; of what is there twice, both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageLayout {
    pub(crate) life: [u64; 2],
    blocks: [u64; 2],
    slots: [u64; 2],
    pub(crate) data: u64,
    pub(crate) end: u64,
    page_bytes: u64,
}

impl ImageLayout {
    pub(crate) fn of(geometry: &Geometry) -> Self {
        let (pages, page_bytes) = (u64::from(geometry.pages()), u64::from(geometry.page_size_bytes()));
        let entries = (u64::from(geometry.blocks()) * ENTRY_BYTES as u64).next_multiple_of(ALIGNMENT);
        let slots = (pages * SLOT_BYTES as u64).next_multiple_of(ALIGNMENT);
        let blocks_before = HEADER_BYTES + LIFE_BYTES;
        let data = blocks_before + entries + slots;
        let slots_behind = data + (pages * page_bytes).next_multiple_of(ALIGNMENT);
        let blocks_behind = slots_behind + slots;
        let life_behind = blocks_behind + entries;
        Self {
            life: [HEADER_BYTES, life_behind],
            blocks: [blocks_before, blocks_behind],
            slots: [blocks_before + entries, slots_behind],
            data,
            end: life_behind + LIFE_BYTES + HEADER_BYTES,
            page_bytes,
        }
    }

    /// Where a block's entry lies.
    pub(crate) fn block(&self, block: usize) -> [u64; 2] {
        self.blocks.map(|blocks| blocks + (block * ENTRY_BYTES) as u64)
    }

    /// Where a page's OOB slot lies.
    pub(crate) fn slot(&self, page: usize) -> [u64; 2] {
        self.slots.map(|slots| slots + (page * SLOT_BYTES) as u64)
    }

    /// Where a page's data lie.
    pub(crate) fn data(&self, page: usize) -> u64 {
        self.data + page as u64 * self.page_bytes
    }
}

#[cfg(test)]
mod tests {
    use testkit::TestFlash;

    use super::*;

    #[test]
    fn areas_follow_each_other_without_overlap() {
        let places = ImageLayout::of(&TestFlash::new(100, 7).channels(3).page_size(1536).geometry());
        let blocks = 8192 + 16_384;
        let slots = blocks + 20_480; // 300 blocks × 64 B take five memory pages
        let data = slots + 135_168; // 2100 slots × 64 B = 134 400 B
        let behind = data + 3_227_648; // 2100 pages × 1536 B = 3 225 600 B
        assert_eq!((places.data, places.data(1)), (data, data + 1536));
        assert_eq!(places.slot(2), [slots + 128, behind + 128]);
        assert_eq!(places.block(1), [blocks + 64, behind + 135_168 + 64]);
        assert_eq!(places.life, [8192, behind + 135_168 + 20_480]);
        assert_eq!(places.end, places.life[1] + 16_384 + 8192);
    }
}
