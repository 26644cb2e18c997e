//! What a run keeps in memory of its device, by the parts of its stack.
//!
//! ```text
//!   a physical page   its tag, a bit whether it is valid           (flash store, block ledger)
//!   a logical page    numbers below the pages, and whole bytes     (the mapping)
//!   a block           states, lists, log slots                     (all of them)
//!   RAM of the device entries and data pages, as many as have room (caches, write buffers)
//! ```
//!
//! Each part of a stack states its bytes in its registry entry ([`ftl::Memory`]).

use flash::Geometry;
use ftl::registry::{Resolved, ResolvedPart};

/// Bytes that a verified run keeps of each physical page and of each block when it takes most:
/// while it mounts the device again, with the whole tags of the flash, those that recovery found,
/// and what lies where by version. What the mapping keeps is built after that.
const VERIFIED_PAGE_BYTES: f64 = 264.0;
const VERIFIED_BLOCK_BYTES: f64 = 1500.0;

/// Bytes of a map entry in the RAM of a device.
const ENTRY_BYTES: f64 = 8.0;

/// What there is to keep something of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pages: u32,
    blocks: f64,
    page_bytes: f64,
    logical_pages: u32,
}

impl Size {
    pub(crate) fn of(geometry: &Geometry, logical_pages: u32) -> Self {
        Self {
            pages: geometry.pages(),
            blocks: geometry.blocks().into(),
            page_bytes: geometry.page_size_bytes().into(),
            logical_pages,
        }
    }

    /// Bytes of a number of a page, packed by bits.
    fn number_bytes(&self) -> f64 {
        f64::from(u32::BITS - self.pages.leading_zeros()) / 8.0
    }

    /// Bytes that a part of a stack keeps. No more of the device's RAM is filled than it has pages.
    fn part_bytes(&self, part: &ResolvedPart) -> f64 {
        let memory = part.entry.memory;
        let ram: f64 = memory.ram.iter().map(|name| part.values.integer(name) as f64).sum();
        let logical = f64::from(self.logical_pages);
        let [entries, data] = [ENTRY_BYTES, self.page_bytes].map(|bytes| (ram / bytes).min(logical));
        logical * (memory.page_numbers * self.number_bytes() + memory.page_bytes)
            + self.blocks * memory.block_bytes
            + entries * memory.entry_bytes
            + data * memory.data_bytes
    }

    /// Bytes that a run of a stack keeps at most.
    pub(crate) fn run_bytes(&self, stack: &Resolved, is_verified: bool) -> u64 {
        let pages = f64::from(self.pages);
        let parts: f64 = stack.parts().iter().map(|part| self.part_bytes(part)).sum();
        let lean = pages * (self.number_bytes() + 1.0 / 8.0) + parts;
        let verified = pages * VERIFIED_PAGE_BYTES + self.blocks * VERIFIED_BLOCK_BYTES;
        (if is_verified { lean.max(verified) } else { lean }).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use flash::Shape;
    use ftl::registry;

    use super::*;

    /// Bytes a physical page of 8 GiB under a stack.
    fn page_bytes(stack: &str, pages_per_block: u32, is_verified: bool) -> f64 {
        let shape = Shape {
            channels: 4,
            dies_per_channel: 8,
            planes_per_die: 1,
            blocks_per_plane: (1 << 16) / pages_per_block,
            pages_per_block,
            page_size_bytes: 4096,
        };
        let geometry = Geometry::new(shape).expect("a shape");
        let size = Size::of(&geometry, geometry.pages() / 10 * 9);
        let stack = registry::resolve(&stack.parse().expect("a spelling")).expect("a stack");
        size.run_bytes(&stack, is_verified) as f64 / f64::from(geometry.pages())
    }

    #[test]
    fn what_is_counted_is_what_was_taken() {
        for (stack, pages_per_block, is_verified, taken) in [
            ("page", 64, false, 6.9),
            ("page", 4, false, 28.5),
            ("page+dual-pool", 4, false, 29.9),
            ("page+lru:ram=4GiB", 64, false, 29.9),
            ("page+bplru:ram=4GiB", 64, false, 22.2),
            ("block", 64, false, 4.3),
            ("block", 4, false, 23.0),
            ("superblock", 64, false, 8.4),
            ("fast", 64, false, 8.7),
            ("fast", 4, false, 36.6),
            ("last", 64, false, 10.6),
            ("last", 4, false, 43.6),
            ("a-sast", 4, false, 45.0),
            ("adapt", 64, false, 14.3),
            ("dftl", 64, false, 10.7),
            ("dftl", 4, false, 32.2),
            ("cdftl", 64, false, 8.5),
            ("cdftl:cmt=256MiB:ctp=256MiB", 64, false, 16.6),
            ("tpftl", 64, false, 7.1),
            ("tpftl:cmt=1GiB", 64, false, 61.8),
            ("treeftl", 64, false, 10.8),
            ("treeftl:ram=6GiB", 64, false, 20.1),
            ("aps", 64, false, 29.5),
            ("aps:ram=2GiB", 64, false, 38.1),
            ("aps", 4, false, 50.6),
            ("jtl", 64, false, 17.1),
            ("jtl:ram=2GiB", 64, false, 28.6),
            ("waftl", 64, false, 17.3),
            ("waftl", 4, false, 53.6),
            ("bdb", 64, false, 19.6),
            ("page", 64, true, 269.9),
            ("page", 4, true, 647.8),
            ("aps", 64, true, 272.7),
        ] {
            let ratio = page_bytes(stack, pages_per_block, is_verified) / taken;
            assert!((0.9..1.18).contains(&ratio), "{stack} with {pages_per_block}: {ratio:.2} of {taken} B a page");
        }
    }

    #[test]
    fn no_more_is_counted_in_ram_than_the_device_has_pages() {
        let (all, more) = ("page+fifo:ram=16GiB", "page+fifo:ram=1TiB");
        assert!((page_bytes(all, 64, false) - page_bytes(more, 64, false)).abs() < 1e-9);
        assert!(page_bytes("page+fifo:ram=1MiB", 64, false) < page_bytes(all, 64, false) / 5.0);
    }
}
