//! What every flash device offers, whatever refuses, fails or keeps behind it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{CellMode, Exposure, FlashError, Geometry, Lpn, Pbn, Ppn, Tag};

/// In which order the pages of a block may be programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramOrder {
    /// Upwards, gaps allowed: what large-block NAND asks for.
    #[default]
    Ascending,
    /// Upwards without gaps: what MLC and TLC parts ask for.
    Strict,
    /// Any order: small-block SLC of the first papers.
    Any,
}

/// A page as the chip returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<D> {
    /// The logical number of its tag.
    pub logical: u32,
    /// The version of its tag; 0 where the store does not keep it.
    pub version: u64,
    /// The hint of its tag.
    pub hint: u8,
    /// The content of its data area.
    pub data: D,
}

/// A page that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCopy {
    /// Where it lies.
    pub from: Ppn,
    /// The offset in the block to which it is copied.
    pub offset: u32,
}

/// What a page's out-of-band area says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// All bits are erased.
    Erased,
    /// A tag that passes its CRC.
    Programmed(Tag),
    /// Bits are programmed, but no tag passes its CRC.
    Unreadable,
}

/// Something that behaves like flash.
pub trait Flash {
    /// What a page's data area holds.
    type Data: Clone + Default;

    /// The shape of the device.
    fn geometry(&self) -> &Geometry;
    /// Reads a programmed page.
    fn read(&mut self, ppn: Ppn) -> Result<Page<Self::Data>, FlashError>;
    /// Programs an erased page.
    fn program(&mut self, ppn: Ppn, tag: &Tag, data: Self::Data) -> Result<(), FlashError>;
    /// Copies pages to neighbouring places of a block, at most as many as `logical` has, and fills
    /// in their logical numbers. Stops at a gap, and before a page that would fail or be refused.
    /// Returns how many were copied: 0 where tags hold more than the number.
    fn copy_run(&mut self, _copies: &[PageCopy], _to: Pbn, _logical: &mut [u32]) -> usize {
        0
    }
    /// Programs erased pages one after the other, each with a logical number and nothing else in
    /// its tag. Stops before a page that would fail or be refused. Returns how many were
    /// programmed: 0 where tags hold more than the number.
    fn program_run(&mut self, _pages: &[Ppn], _logical: &[Lpn]) -> usize {
        0
    }
    /// Erases a block.
    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError>;
    /// Reads a page's out-of-band area alone, whatever state the page is in: what recovery works
    /// from. Costs a read.
    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FlashError>;
    /// Marks a block bad for good: it is not programmed or erased again, but what it holds can
    /// still be read.
    fn mark_bad(&mut self, pbn: Pbn);

    /// The logical number in a programmed page's tag, without a flash operation: for checks and for
    /// reverse maps whose content equals the tags. As such a map lies in RAM, it still knows a page
    /// that has decayed since.
    fn peek(&self, ppn: Ppn) -> Option<u32>;

    /// Asks for the memory of the simulating computer that reading a page will touch. Changes
    /// nothing.
    fn prefetch(&self, _ppn: Ppn) {}

    /// These pages will be read soon, in this order: for a device that keeps them in a file and
    /// reads neighbours at once. Changes nothing.
    fn expect_reads(&mut self, _ppns: &[Ppn]) {}

    /// The tag of a readable programmed page, without a flash operation: for checks, and for what a
    /// scheme remembers in RAM of the pages of a block that it is filling.
    fn tag(&self, ppn: Ppn) -> Option<Tag>;

    /// Readies bytes of the scheme's own, at most a page of them, for the data area of the page
    /// that it programs next. They become readable with that program or not at all. A device that
    /// keeps no content drops them.
    fn load(&mut self, ppn: Ppn, bytes: &[u8]);

    /// The bytes of the scheme's own in the data area of a page that has just been read or scanned;
    /// none if it holds none.
    fn loaded(&self, ppn: Ppn) -> Option<Arc<[u8]>>;
    /// The lowest page offset of a block that its program order still allows.
    fn next_page(&self, pbn: Pbn) -> u32;
    /// Erases of a block so far.
    fn erase_count(&self, pbn: Pbn) -> u32;
    /// How many of these ended a time in pSLC mode.
    fn pslc_erase_count(&self, pbn: Pbn) -> u32;
    /// Pages of a block in pSLC mode, which are its first ones; 0 for flash without that mode.
    fn pslc_pages(&self) -> u32;
    /// The mode of a block.
    fn cell_mode(&self, pbn: Pbn) -> CellMode;
    /// Chooses the mode of an erased block. It holds until the next erase, which leaves the block
    /// native. Takes no time.
    fn set_cell_mode(&mut self, pbn: Pbn, mode: CellMode) -> Result<(), FlashError>;
    /// Whether a block is bad.
    fn is_bad(&self, pbn: Pbn) -> bool;
    /// The order in which pages of a block may be programmed.
    fn program_order(&self) -> ProgramOrder;
    /// Which pages a power cut takes although their programs have ended; none where each page is
    /// safe by then.
    fn exposure(&self) -> Option<&Exposure>;
    /// Operations done so far.
    fn operations(&self) -> Operations;
}

/// Operations that a chip has done: the other end of every total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Operations {
    /// Pages read.
    pub reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// Inside an `impl Flash`: passes on to a field what takes no time, but for marking a block bad.
#[macro_export]
macro_rules! pass_on_flash {
    ($inner:ident) => {
        #[inline]
        fn geometry(&self) -> &$crate::Geometry {
            $crate::Flash::geometry(&self.$inner)
        }
        #[inline]
        fn peek(&self, ppn: $crate::Ppn) -> Option<u32> {
            $crate::Flash::peek(&self.$inner, ppn)
        }
        #[inline]
        fn prefetch(&self, ppn: $crate::Ppn) {
            $crate::Flash::prefetch(&self.$inner, ppn);
        }
        #[inline]
        fn expect_reads(&mut self, ppns: &[$crate::Ppn]) {
            $crate::Flash::expect_reads(&mut self.$inner, ppns);
        }
        fn tag(&self, ppn: $crate::Ppn) -> Option<$crate::Tag> {
            $crate::Flash::tag(&self.$inner, ppn)
        }
        fn load(&mut self, ppn: $crate::Ppn, bytes: &[u8]) {
            $crate::Flash::load(&mut self.$inner, ppn, bytes);
        }
        fn loaded(&self, ppn: $crate::Ppn) -> Option<::std::sync::Arc<[u8]>> {
            $crate::Flash::loaded(&self.$inner, ppn)
        }
        #[inline]
        fn next_page(&self, pbn: $crate::Pbn) -> u32 {
            $crate::Flash::next_page(&self.$inner, pbn)
        }
        #[inline]
        fn erase_count(&self, pbn: $crate::Pbn) -> u32 {
            $crate::Flash::erase_count(&self.$inner, pbn)
        }
        #[inline]
        fn pslc_erase_count(&self, pbn: $crate::Pbn) -> u32 {
            $crate::Flash::pslc_erase_count(&self.$inner, pbn)
        }
        fn pslc_pages(&self) -> u32 {
            $crate::Flash::pslc_pages(&self.$inner)
        }
        #[inline]
        fn cell_mode(&self, pbn: $crate::Pbn) -> $crate::CellMode {
            $crate::Flash::cell_mode(&self.$inner, pbn)
        }
        fn set_cell_mode(
            &mut self,
            pbn: $crate::Pbn,
            mode: $crate::CellMode,
        ) -> ::std::result::Result<(), $crate::FlashError> {
            $crate::Flash::set_cell_mode(&mut self.$inner, pbn, mode)
        }
        fn is_bad(&self, pbn: $crate::Pbn) -> bool {
            $crate::Flash::is_bad(&self.$inner, pbn)
        }
        fn program_order(&self) -> $crate::ProgramOrder {
            $crate::Flash::program_order(&self.$inner)
        }
        fn exposure(&self) -> Option<&$crate::Exposure> {
            $crate::Flash::exposure(&self.$inner)
        }
        fn operations(&self) -> $crate::Operations {
            $crate::Flash::operations(&self.$inner)
        }
    };
}
