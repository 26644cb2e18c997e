//! Data blocks under a block map: page `i` of a logical block lies at page `i` of its physical block.
//!
//! Block-mapped and log-buffer schemes share this: the map, which of its pages are current (hold the newest copy and have
//! not been trimmed), the free blocks, and the question whether a page can still be programmed in its place.

use std::collections::BTreeSet;

use flash::{Geometry, Lbn, Lpn, Pbn, Ppn, ProgramOrder, Role, Scan};

use crate::parts::blocks::pool::FreePool;
use crate::{BrokenInvariant, Cause, ConfigError, Content, Device, FtlError, Label, Layout, Media, Note, Spares};

/// Tells which logical page's newest copy an offset of a block holds, if any.
pub type Needed<'a> = &'a dyn Fn(&DataBlocks, u32) -> Option<Lpn>;

/// The block map, the current pages in the mapped blocks, and the free blocks.
#[derive(Clone, Debug)]
pub struct DataBlocks {
    geometry: Geometry,
    logical_pages: u32,
    map: Vec<Option<Pbn>>,
    current: Vec<u64>,
    pool: FreePool,
    /// Blocks that recovery found: their erased pages may be unstable.
    sealed: Vec<bool>,
    order: ProgramOrder,
    spares: Spares,
    /// Whether the power was cut before: then blocks may have failed of which nothing is known any more.
    was_recovered: bool,
    retired: usize,
    /// Blocks of which a page could not be programmed, or which could not be erased.
    failed: BTreeSet<Pbn>,
    /// Blocks that failed in the last program and for which there was no other.
    unreplaced: Vec<Pbn>,
}

impl DataBlocks {
    /// An empty map on a device of which these blocks may fail.
    pub fn new(layout: &Layout, spares: Spares) -> Self {
        Self {
            geometry: layout.geometry,
            logical_pages: layout.logical_pages,
            map: vec![None; layout.logical_blocks() as usize],
            current: vec![0; (layout.logical_pages as usize).div_ceil(64)],
            pool: FreePool::new(layout.geometry, &layout.good_blocks),
            sealed: vec![false; layout.geometry.blocks() as usize],
            order: layout.program_order,
            spares,
            was_recovered: false,
            retired: 0,
            failed: BTreeSet::new(),
            unreplaced: Vec::new(),
        }
    }

    /// For recovery: no block is free, until [`retire`](Self::retire) makes it so.
    pub fn nothing_free(&mut self) {
        self.pool = FreePool::new(self.geometry, &[]);
        self.was_recovered = true;
    }

    /// For recovery: a block is a logical block's home, and holds the newest copy of these pages.
    pub fn adopt(&mut self, lbn: Lbn, pbn: Pbn, current: impl IntoIterator<Item = Lpn>) {
        self.map[lbn.index()] = Some(pbn);
        self.sealed[pbn.index()] = true;
        for lpn in current {
            self.set_current(lpn, true);
        }
    }

    /// Refuses a device on which pages cannot keep their offsets, or one with fewer than `extra` blocks beside the data;
    /// otherwise tells how many blocks may fail.
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

    /// How far the device is from being read-only.
    pub fn spares(&self) -> Spares {
        self.spares
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
        let first = self.geometry.logical_page(lbn, 0).get();
        let pages = self.geometry.pages_per_block().min(self.logical_pages - first);
        (0..pages).map(move |offset| (offset, Lpn::new(first + offset)))
    }

    /// The logical page at an offset of a logical block; none behind the end of the device.
    pub fn page_at(&self, lbn: Lbn, offset: u32) -> Option<Lpn> {
        Some(self.geometry.logical_page(lbn, offset)).filter(|lpn| lpn.get() < self.logical_pages)
    }

    /// The physical block of a logical block.
    #[inline]
    pub fn block(&self, lbn: Lbn) -> Option<Pbn> {
        self.map[lbn.index()]
    }

    /// Maps a logical block, and returns the block that it was mapped to.
    pub fn remap(&mut self, lbn: Lbn, to: Option<Pbn>) -> Option<Pbn> {
        std::mem::replace(&mut self.map[lbn.index()], to)
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
        self.current[lpn.index() / 64] >> (lpn.index() % 64) & 1 == 1
    }

    /// Says whether the data block holds the newest copy of a page.
    #[inline]
    pub fn set_current(&mut self, lpn: Lpn, current: bool) {
        let bit = 1 << (lpn.index() % 64);
        if current {
            self.current[lpn.index() / 64] |= bit;
        } else {
            self.current[lpn.index() / 64] &= !bit;
        }
    }

    /// Whether a page of a block can be programmed in its place.
    #[inline]
    pub fn fits_in_place<D: Device>(&self, media: &Media<D>, pbn: Pbn, offset: u32) -> bool {
        if self.sealed[pbn.index()] {
            return false;
        }
        match self.order {
            ProgramOrder::Ascending => offset >= media.device().next_page(pbn),
            ProgramOrder::Strict => offset == media.device().next_page(pbn),
            ProgramOrder::Any => media.device().peek(self.geometry.page(pbn, offset)).is_none(),
        }
    }

    /// Programs a page at an offset of a block. If that fails, the block is replaced: the returned one holds whatever the
    /// given one held, and this page. `needed` tells which logical page's newest copy an offset of the block holds, if any.
    pub fn program<D: Device>(
        &mut self,
        media: &mut Media<D>,
        pbn: Pbn,
        offset: u32,
        label: Label,
        content: &Content<D::Data>,
        needed: Needed<'_>,
    ) -> Result<Pbn, FtlError> {
        self.unreplaced.clear();
        self.program_or_replace(media, pbn, offset, label, content, needed)
    }

    /// Marks the blocks bad that failed in the last program and could not be replaced: for blocks that nobody was promised
    /// anything of. Otherwise recovery might take what is in them for newer than what the host was left with.
    pub fn give_up_unreplaced<D: Device>(&mut self, media: &mut Media<D>) {
        for pbn in std::mem::take(&mut self.unreplaced) {
            self.mark_bad(media, pbn);
        }
    }

    fn program_or_replace<D: Device>(
        &mut self,
        media: &mut Media<D>,
        mut pbn: Pbn,
        offset: u32,
        label: Label,
        content: &Content<D::Data>,
        needed: Needed<'_>,
    ) -> Result<Pbn, FtlError> {
        loop {
            match media.put(self.geometry.page(pbn, offset), label, content.clone()) {
                Ok(()) => return Ok(pbn),
                Err(error) if error.is_program_failure() => {
                    pbn =
                        media.because(Cause::Relocation, |media| self.replace(media, pbn, offset, (label, needed)))?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Copies what a failing block holds besides the page at one offset into a free one, and then marks the failing one bad: a
    /// block that is marked holds nothing that is not elsewhere too, so recovery need not look there.
    fn replace<D: Device>(
        &mut self,
        media: &mut Media<D>,
        failing: Pbn,
        offset: u32,
        (label, needed): (Label, Needed<'_>),
    ) -> Result<Pbn, FtlError> {
        self.has_failed(failing);
        self.unreplaced.push(failing);
        let mut to = self.take_free("replacing a failing block")?;
        // Where a block of the log has pages of several logical blocks, it has no owner.
        let owner = if matches!(label.role, Role::RandomLog | Role::Trimmed) { None } else { label.owner };
        // Only in free order can there be anything after it.
        let end = if self.order == ProgramOrder::Any { self.geometry.pages_per_block() } else { offset };
        for offset in (0..end).filter(|&other| other != offset) {
            let from = self.geometry.page(failing, offset);
            let lost = |lpn: Lpn| Label { owner, ..Label::new(lpn.get(), Role::Lost) };
            let (label, content) = match (media.scan(from)?, needed(self, offset)) {
                (Scan::Programmed(tag), _) if matches!(tag.role, Role::Lost | Role::Trimmed) => {
                    (Label::from(tag), Content::empty(tag.logical, tag.version))
                }
                (Scan::Programmed(tag), needed) => match (media.read_to_move(from)?, needed) {
                    (Some(page), _) => (Label::from(tag), Content::Copy(page)),
                    // The same version, since the original of what is a copy here may still be in its place.
                    (None, Some(lpn)) => (lost(lpn), Content::empty(lpn.get(), tag.version)),
                    (None, None) => continue,
                },
                (Scan::Unreadable, Some(lpn)) => (lost(lpn), Content::New(D::Data::default())),
                (Scan::Erased | Scan::Unreadable, _) => continue,
            };
            if label.role == Role::Lost {
                media.note(Note::LostPage);
            }
            to = self.program_or_replace(media, to, offset, label, &content, needed)?;
        }
        self.unreplaced.retain(|&pbn| pbn != failing);
        self.mark_bad(media, failing);
        Ok(to)
    }

    /// A failure costs a spare, but each block only once.
    fn has_failed(&mut self, pbn: Pbn) {
        if self.failed.insert(pbn) {
            self.spares.use_one();
        }
    }

    fn mark_bad<D: Device>(&mut self, media: &mut Media<D>, pbn: Pbn) {
        media.retire(pbn);
        self.retired += 1;
    }

    /// Takes a free block. If there is none because blocks have failed, the device is read-only from now on, whatever spares are
    /// left: what needed the block is left half done.
    pub fn take_free(&mut self, wanted: &'static str) -> Result<Pbn, FtlError> {
        if let Some(pbn) = self.pool.take() {
            return Ok(pbn);
        }
        if self.spares.used == 0 && !self.was_recovered {
            return Err(FtlError::OutOfSpace { wanted });
        }
        self.spares.used = self.spares.used.max(self.spares.total + 1);
        Err(FtlError::ReadOnly { spares: self.spares.total })
    }

    /// Erases a block and returns it to the free ones; marks it bad if that fails, or if a page of it failed.
    pub fn retire<D: Device>(&mut self, media: &mut Media<D>, pbn: Pbn) -> Result<(), FtlError> {
        self.sealed[pbn.index()] = false;
        if media.device().is_bad(pbn) {
            // It was replaced in the middle of something that then could not be finished.
            return Ok(());
        }
        if !self.failed.contains(&pbn) {
            match media.erase(pbn) {
                Ok(()) => {
                    self.pool.put(pbn);
                    return Ok(());
                }
                Err(error) if error.is_erase_failure() => self.has_failed(pbn),
                Err(error) => return Err(error),
            }
        }
        self.mark_bad(media, pbn);
        Ok(())
    }

    /// Blocks that should be in use or free, of so many that were good when the device was built; none when the device is
    /// read-only, since what was begun then and could not be finished is left as it is.
    pub fn accounted_for(&self, good_blocks: usize) -> Option<usize> {
        self.spares.admit().ok().map(|()| good_blocks - self.retired)
    }

    /// Free blocks.
    pub fn free_blocks(&self) -> usize {
        self.pool.len()
    }

    /// Mapped blocks.
    pub fn mapped_blocks(&self) -> usize {
        self.map.iter().flatten().count()
    }

    /// Checks that current pages carry their LPN in their place (`pages`) and that no block is mapped twice or both
    /// mapped and free, and free blocks are erased (`blocks`).
    pub fn check<D: Device>(
        &self,
        media: &Media<D>,
        pages: &'static str,
        blocks: &'static str,
    ) -> Result<(), BrokenInvariant> {
        for lpn in (0..self.logical_pages).map(Lpn::new).filter(|&lpn| self.is_current(lpn)) {
            let tag = self.newest(lpn).and_then(|ppn| media.device().peek(ppn));
            BrokenInvariant::unless(tag == Some(lpn.get()), pages, || {
                format!("{lpn} is current at {:?}, which carries {tag:?}", self.newest(lpn))
            })?;
        }
        let mut used = vec![false; self.geometry.blocks() as usize];
        for pbn in self.map.iter().flatten().copied().chain(self.pool.iter()) {
            let seen = std::mem::replace(&mut used[pbn.index()], true);
            BrokenInvariant::unless(!seen, blocks, || format!("{pbn} is used twice"))?;
        }
        for pbn in self.pool.iter() {
            BrokenInvariant::unless(media.device().next_page(pbn) == 0, blocks, || {
                format!("{pbn} is free but not erased")
            })?;
        }
        Ok(())
    }
}

/// The label of a page in a data block.
pub fn data_label(lpn: Lpn, lbn: Lbn) -> Label {
    Label::of(lpn.get(), Role::Data, lbn)
}

#[cfg(test)]
mod tests;
