//! Data blocks under a block map: page `i` of a logical block lies at page `i` of its physical
//! block.
//!
//! Block-mapped and log-buffer schemes share this: the map, which of its pages are current (hold
//! the newest copy and have not been trimmed), and the question whether a page can still be
//! programmed in its place. Blocks come from the owner (`blocks/manager.rs`) and go back to it.

use flash::{Flash, Geometry, Lbn, Lpn, PageCopy, Pbn, Ppn, ProgramOrder, Role, Scan};
use host::Hint;

use crate::api::layout::Layout;
use crate::api::report::Spares;
use crate::api::wear::{AllocRequest, BlockUse, DataBlockLocations, Purpose};
use crate::blocks::manager::BlockManager;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError};
use crate::port::flash_port::FlashPort;
use crate::port::flash_port::copying::CopyEnd;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;

/// Tells which logical page's newest copy an offset of a block holds, if any.
pub type Needed<'a> = &'a dyn Fn(&DataBlocks, u32) -> Option<Lpn>;

/// A logical block on its way into a free block.
#[derive(Clone, Copy, Debug)]
pub struct Rebuilding {
    /// The logical block.
    pub lbn: Lbn,
    /// The block that takes its pages; none before the first one.
    pub to: Option<Pbn>,
    /// What copies are programmed for, if not for what they are read for.
    pub cause: Option<Cause>,
    /// What takes a free block for it.
    pub wanted: &'static str,
}

/// The block map, and the current pages in the mapped blocks.
#[derive(Clone, Debug)]
pub struct DataBlocks {
    geometry: Geometry,
    logical_pages: u32,
    map: Vec<Option<Pbn>>,
    current: Vec<u64>,
    /// Blocks that recovery found: their erased pages may be unstable.
    sealed: Vec<bool>,
    order: ProgramOrder,
    /// Blocks that failed in the last program and for which there was no other.
    unreplaced: Vec<Pbn>,
}

impl DataBlocks {
    /// No logical block has a data block yet.
    pub fn new(layout: &Layout) -> Self {
        Self {
            geometry: layout.geometry,
            logical_pages: layout.logical_pages,
            map: vec![None; layout.logical_blocks() as usize],
            current: vec![0; (layout.logical_pages as usize).div_ceil(64)],
            sealed: vec![false; layout.geometry.blocks() as usize],
            order: layout.program_order,
            unreplaced: Vec::new(),
        }
    }

    /// For recovery: a block is a logical block's home, and holds the newest copy of these pages.
    pub fn adopt(&mut self, blocks: &mut BlockManager, lbn: Lbn, pbn: Pbn, current: impl IntoIterator<Item = Lpn>) {
        debug_assert!(self.block(lbn).is_none(), "{lbn} has a home already, and {pbn} becomes another");
        debug_assert!(self.owner_of(pbn).is_none(), "{pbn} is the home of {:?}, and of {lbn}", self.owner_of(pbn));
        blocks.adopt(pbn, AllocRequest::of(Purpose::Merge, lbn));
        self.map[lbn.index()] = Some(pbn);
        self.sealed[pbn.index()] = true;
        for lpn in current {
            self.set_current(lpn, true);
        }
    }

    /// Refuses a device on which pages cannot keep their offsets, or one with fewer than `extra`
    /// blocks beside the data; otherwise tells how many blocks may fail.
    pub fn require(layout: &Layout, scheme: &str, extra: u32, what: &str) -> Result<Spares, ConfigError> {
        if layout.program_order == ProgramOrder::Strict {
            return Err(ConfigError(format!(
                "{scheme} leaves gaps in blocks, which program_order = strict forbids; use ascending or any, or a page-mapped scheme"
            )));
        }
        if extra > layout.spare_blocks() && layout.in_use {
            return Ok(Spares::READ_ONLY);
        }
        if extra > layout.spare_blocks() {
            return Err(ConfigError(format!(
                "{scheme} needs {extra} blocks beside the {} that the data fill ({what}), but the device has only {} to spare; \
                 raise device.spare or reduce the log space",
                layout.logical_blocks(),
                layout.spare_blocks()
            )));
        }
        Ok(Spares { total: layout.spare_blocks() - extra, used: 0 })
    }

    /// The shape of the device.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Logical pages of the device.
    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Logical pages of a logical block: all but the last have a full block's worth.
    pub fn pages_of(&self, lbn: Lbn) -> impl Iterator<Item = (u32, Lpn)> + use<> {
        debug_assert!(lbn.index() < self.map.len(), "there is no {lbn}");
        let first = self.geometry.logical_page(lbn, 0).get();
        let pages = self.geometry.pages_per_block().min(self.logical_pages - first);
        (0..pages).map(move |offset| (offset, Lpn::new(first + offset)))
    }

    /// The logical page at an offset of a logical block; none behind the end of the device.
    pub fn page_at(&self, lbn: Lbn, offset: u32) -> Option<Lpn> {
        debug_assert!(offset < self.geometry.pages_per_block(), "{lbn} has no page {offset}");
        Some(self.geometry.logical_page(lbn, offset)).filter(|lpn| lpn.get() < self.logical_pages)
    }

    /// The data block of a logical block; none before its first write and after its last trim.
    #[inline]
    pub fn block(&self, lbn: Lbn) -> Option<Pbn> {
        debug_assert!(lbn.index() < self.map.len(), "there is no {lbn} of {}", self.map.len());
        self.map[lbn.index()]
    }

    /// The logical block that a physical block is mapped to, found by searching the map.
    pub fn owner_of(&self, pbn: Pbn) -> Option<Lbn> {
        debug_assert!(pbn.get() < self.geometry.blocks(), "there is no {pbn} of {} blocks", self.geometry.blocks());
        self.map.iter().position(|&mapped| mapped == Some(pbn)).map(|lbn| Lbn::new(lbn as u32))
    }

    /// Maps a logical block, and returns the block that it was mapped to.
    pub fn remap(&mut self, lbn: Lbn, to: Option<Pbn>) -> Option<Pbn> {
        let owner = || to.and_then(|to| self.owner_of(to)).filter(|&owner| owner != lbn);
        debug_assert!(owner().is_none(), "{lbn} is mapped to {to:?}, the block of {:?}", owner());
        std::mem::replace(&mut self.map[lbn.index()], to)
    }

    /// Gives a logical block its first block, for a page with this hint.
    pub fn begin(&mut self, blocks: &mut BlockManager, lbn: Lbn, hint: Hint) -> Result<Pbn, FtlError> {
        debug_assert!(self.block(lbn).is_none(), "{lbn} has a block already");
        let pbn = blocks.take_or_stop(AllocRequest::of(Purpose::Data, lbn).hinted(hint), "a new logical block")?;
        debug_assert!(!self.pages_of(lbn).any(|(_, lpn)| self.is_current(lpn)), "{lbn} has current pages and no block");
        self.remap(lbn, Some(pbn));
        Ok(pbn)
    }

    /// Where the data block holds the newest copy of a page.
    #[inline]
    pub fn newest(&self, lpn: Lpn) -> Option<Ppn> {
        if !self.is_current(lpn) {
            return None;
        }
        let (lbn, offset) = self.geometry.split_logical(lpn);
        self.map[lbn.index()].map(|pbn| self.geometry.page(pbn, offset))
    }

    /// Whether the data block holds the newest copy of a page.
    #[inline]
    pub fn is_current(&self, lpn: Lpn) -> bool {
        debug_assert!(lpn.get() < self.logical_pages, "there is no {lpn}");
        self.current[lpn.index() / 64] >> (lpn.index() % 64) & 1 == 1
    }

    /// Says whether the data block holds the newest copy of a page.
    #[inline]
    pub fn set_current(&mut self, lpn: Lpn, current: bool) {
        debug_assert!(lpn.get() < self.logical_pages, "there is no {lpn}");
        let bit = 1 << (lpn.index() % 64);
        if current {
            self.current[lpn.index() / 64] |= bit;
        } else {
            self.current[lpn.index() / 64] &= !bit;
        }
    }

    /// Whether a page of a block can be programmed in its place.
    #[inline]
    pub fn fits_in_place<D: Device>(&self, flash: &FlashPort<D>, pbn: Pbn, offset: u32) -> bool {
        debug_assert!(offset < self.geometry.pages_per_block(), "{pbn} has no page {offset}");
        if self.sealed[pbn.index()] {
            return false;
        }
        match self.order {
            ProgramOrder::Ascending => offset >= flash.chip().next_page(pbn),
            ProgramOrder::Strict => offset == flash.chip().next_page(pbn),
            ProgramOrder::Any => flash.chip().peek(self.geometry.page(pbn, offset)).is_none(),
        }
    }

    /// Programs a page at an offset of a block. If that fails, the block is replaced: the returned
    /// one holds whatever the given one held, and this page. `needed` tells which logical page's
    /// newest copy an offset of the block holds, if any.
    pub fn program<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        (pbn, offset): (Pbn, u32),
        label: Label,
        content: &Content<D::Data>,
        needed: Needed<'_>,
    ) -> Result<Pbn, FtlError> {
        debug_assert!(offset < self.geometry.pages_per_block(), "{pbn} has no page {offset}");
        debug_assert!(matches!(blocks.use_of(pbn), BlockUse::InUse(_)), "{pbn} is programmed and not in use");
        self.unreplaced.clear();
        self.program_or_replace(flash, blocks, (pbn, offset, false), label, content, needed)
    }

    /// Marks the blocks bad that failed in the last program and could not be replaced: for blocks
    /// that nobody was promised anything of. Otherwise recovery might take what is in them for
    /// newer than what the host was left with.
    pub fn give_up_unreplaced<D: Device>(&mut self, flash: &mut FlashPort<D>, blocks: &mut BlockManager) {
        for pbn in std::mem::take(&mut self.unreplaced) {
            debug_assert!(self.owner_of(pbn).is_none(), "{pbn} is given up, and {:?} lies there", self.owner_of(pbn));
            blocks.mark_bad(flash, pbn);
        }
    }

    /// Copies pages of a logical block to their offsets in the block in which it is put together. A
    /// page that cannot be read becomes a lost page. If a page cannot be programmed, the block is
    /// replaced as by [`program`](Self::program).
    pub fn copy_pages<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        rebuilding: &mut Rebuilding,
        mut pages: &[PageCopy],
        needed: Needed<'_>,
    ) -> Result<(), FtlError> {
        let Rebuilding { lbn, cause, .. } = *rebuilding;
        let first = self.geometry.logical_page(lbn, 0).get();
        while let Some(&PageCopy { from, .. }) = pages.first() {
            let (done, copied) = match rebuilding.to {
                Some(to) => {
                    flash.copy_pages(pages, (to, cause), |copy, _| Label::of(first + copy.offset, Role::Data, lbn))
                }
                None => (0, Ok(())),
            };
            let (page, has_failed) = match copied {
                Ok(()) if rebuilding.to.is_some() => return Ok(()),
                // The first page says which block is taken.
                Ok(()) => (flash.read_for_copy(from, Role::Data)?, false),
                Err(CopyEnd::Unreadable) => (flash.lost_page(), false),
                Err(CopyEnd::NotProgrammed(page)) => ((Role::Data, Content::Copy(page)), true),
                Err(CopyEnd::Error(error)) => return Err(error),
            };
            let page = (pages[done].offset, page);
            let put = |flash: &mut FlashPort<D>| self.put_copy(flash, blocks, rebuilding, page, has_failed, needed);
            match cause {
                Some(cause) => flash.with_cause(cause, put)?,
                None => put(flash)?,
            }
            pages = &pages[done + 1..];
        }
        Ok(())
    }

    /// Puts a page in its place in the block in which a logical block is put together, unless that
    /// has failed already.
    pub fn put_copy<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        rebuilding: &mut Rebuilding,
        (offset, (role, content)): (u32, (Role, Content<D::Data>)),
        has_failed: bool,
        needed: Needed<'_>,
    ) -> Result<(), FtlError> {
        let &mut Rebuilding { lbn, to, wanted, .. } = rebuilding;
        let to = blocks.merge_into(to, lbn, &content, wanted)?;
        debug_assert!(matches!(blocks.use_of(to), BlockUse::InUse(_)), "{lbn} is copied to {to}, which is not in use");
        let label = Label::of(self.geometry.logical_page(lbn, offset).get(), role, lbn);
        self.unreplaced.clear();
        let at = (to, offset, has_failed);
        rebuilding.to = Some(self.program_or_replace(flash, blocks, at, label, &content, needed)?);
        Ok(())
    }

    fn program_or_replace<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        (mut pbn, offset, mut has_failed): (Pbn, u32, bool),
        label: Label,
        content: &Content<D::Data>,
        needed: Needed<'_>,
    ) -> Result<Pbn, FtlError> {
        loop {
            if !std::mem::take(&mut has_failed) {
                match flash.put(self.geometry.page(pbn, offset), label, content.clone()) {
                    Ok(()) => return Ok(pbn),
                    Err(error) if error.is_program_failure() => {}
                    Err(error) => return Err(error),
                }
            }
            pbn = flash
                .with_cause(Cause::Relocation, |flash| self.replace(flash, blocks, (pbn, offset), (label, needed)))?;
        }
    }

    /// Copies what a failing block holds besides the page at one offset into a free one, and then
    /// marks the failing one bad: a block that is marked holds nothing that is not elsewhere too,
    /// so recovery need not look there.
    fn replace<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        (failing, offset): (Pbn, u32),
        (label, needed): (Label, Needed<'_>),
    ) -> Result<Pbn, FtlError> {
        blocks.has_failed(failing);
        self.unreplaced.push(failing);
        let alloc = AllocRequest { lbn: label.owner, ..AllocRequest::new(Purpose::Relocated) };
        let mut to = blocks.take_or_stop(alloc, "replacing a failing block")?;
        debug_assert_eq!(flash.chip().next_page(to), 0, "{to} is not erased, and replaces {failing}");
        debug_assert_ne!(to, failing, "a failing block replaces itself");
        // Where a block of the log has pages of several logical blocks, it has no owner.
        let owner = if matches!(label.role, Role::RandomLog | Role::Trimmed) { None } else { label.owner };
        // Only in free order can there be anything after it.
        let end = if self.order == ProgramOrder::Any { self.geometry.pages_per_block() } else { offset };
        for offset in (0..end).filter(|&other| other != offset) {
            let from = self.geometry.page(failing, offset);
            let lost = |lpn: Lpn| Label { owner, ..Label::new(lpn.get(), Role::Lost) };
            let (label, content) = match (flash.scan(from)?, needed(self, offset)) {
                (Scan::Programmed(tag), _) if matches!(tag.role, Role::Lost | Role::Trimmed) => {
                    (Label::from(tag), Content::empty(tag.logical, tag.version))
                }
                (Scan::Programmed(tag), needed) => match (flash.read_to_move(from)?, needed) {
                    (Some(page), _) => (Label::from(tag), Content::Copy(page)),
                    // The same version, since the original of what is a copy here may still be in
                    // its place.
                    (None, Some(lpn)) => (lost(lpn), Content::empty(lpn.get(), tag.version)),
                    (None, None) => continue,
                },
                (Scan::Unreadable, Some(lpn)) => (lost(lpn), Content::New(D::Data::default())),
                (Scan::Erased | Scan::Unreadable, _) => continue,
            };
            if label.role == Role::Lost {
                flash.note(Note::LostPage);
            }
            to = self.program_or_replace(flash, blocks, (to, offset, false), label, &content, needed)?;
        }
        self.unreplaced.retain(|&pbn| pbn != failing);
        blocks.mark_bad(flash, failing);
        Ok(to)
    }

    /// Nobody needs what a block holds: it goes back to the owner.
    pub fn retire<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        blocks: &mut BlockManager,
        pbn: Pbn,
    ) -> Result<(), FtlError> {
        debug_assert!(
            self.owner_of(pbn).is_none(),
            "{pbn} is the block of {:?}, and is given back",
            self.owner_of(pbn)
        );
        self.sealed[pbn.index()] = false;
        blocks.give_back(flash, pbn)
    }

    /// How many logical blocks have a data block.
    pub fn mapped_blocks(&self) -> usize {
        self.map.iter().flatten().count()
    }

    /// Checks that current pages carry their LPN in their place (`pages`) and that no block is
    /// mapped twice or both mapped and free, and free blocks are erased (`name`).
    pub fn check<D: Device>(
        &self,
        flash: &FlashPort<D>,
        blocks: &BlockManager,
        pages: &'static str,
        name: &'static str,
    ) -> Result<(), BrokenInvariant> {
        for lpn in (0..self.logical_pages).map(Lpn::new).filter(|&lpn| self.is_current(lpn)) {
            let tag = self.newest(lpn).and_then(|ppn| flash.chip().peek(ppn));
            BrokenInvariant::unless(tag == Some(lpn.get()), pages, || {
                format!("{lpn} is current at {:?}, which carries {tag:?}", self.newest(lpn))
            })?;
        }
        let mut used = vec![false; self.geometry.blocks() as usize];
        for pbn in self.map.iter().flatten().copied().chain(blocks.iter_free()) {
            let seen = std::mem::replace(&mut used[pbn.index()], true);
            BrokenInvariant::unless(!seen, name, || format!("{pbn} is used twice"))?;
        }
        blocks.check(flash, name)
    }
}

impl DataBlockLocations for DataBlocks {
    fn logical_blocks(&self) -> u32 {
        self.map.len() as u32
    }

    fn home_of(&self, lbn: Lbn) -> Option<Pbn> {
        self.block(lbn)
    }

    fn is_in_log(&self, _lbn: Lbn) -> bool {
        false
    }
}

/// What a page in a data block carries: recovery tells by it whose home the block is.
pub fn data_label(lpn: Lpn, lbn: Lbn) -> Label {
    Label::of(lpn.get(), Role::Data, lbn)
}

#[cfg(test)]
mod tests;
