//! Where a chip keeps what its pages hold: as little as a simulation needs, or everything.
//!
//! A store knows no rules; the [`Chip`](crate::Chip) in front of it has checked them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::{PackedNumbers, PageCopy, Role, Tag, long_array};

/// Memory of a chip's pages, indexed by page number.
pub trait Store {
    /// What a page's data area holds: `()` when simulating, stamps when checking, bytes when
    /// mounted.
    type Data: Clone + Default;

    /// The logical number in a page's tag, or none where the page is erased.
    fn logical(&self, page: usize) -> Option<u32>;

    /// The tag of a programmed page; parts that the store does not keep read as zero.
    fn tag(&self, page: usize) -> Option<Tag>;

    /// Asks for the memory of a page's tag.
    #[inline]
    fn prefetch(&self, _page: usize) {}

    /// These pages will be read soon, in this order: for a store that reads several at once.
    #[inline]
    fn expect_reads(&mut self, _pages: impl Iterator<Item = usize>) {}

    /// Whether a page reads as an error.
    #[inline]
    fn is_torn(&self, _page: usize) -> bool {
        false
    }

    /// Whether a page is erased and good for programming.
    #[inline]
    fn is_clean(&self, page: usize) -> bool {
        self.logical(page).is_none()
    }

    /// Version and data of a programmed page; none where it is not programmed or cannot be read.
    fn content(&self, page: usize) -> Option<(u64, Self::Data)>;

    /// The hint in the tag of a programmed page.
    #[inline]
    fn hint(&self, page: usize) -> u8 {
        self.tag(page).map_or(0, |tag| tag.hint)
    }

    /// Stores a page's tag and content.
    fn program(&mut self, page: usize, tag: &Tag, data: Self::Data);

    /// Copies pages to erased neighbours from `to` on, and fills in their logical numbers. Returns
    /// how many come before the first erased one: 0 in a store that keeps more than numbers.
    #[inline]
    fn copy_run(&mut self, _copies: &[PageCopy], _to: usize, _logical: &mut [u32]) -> usize {
        0
    }

    /// Stores a logical number as all that the tag of an erased page says. Tells whether it did:
    /// not in a store that keeps more than numbers.
    #[inline]
    fn program_number(&mut self, _page: usize, _logical: u32) -> bool {
        false
    }

    /// Clears the pages of a block.
    fn erase(&mut self, pages: Range<usize>);

    /// Takes bytes for the data area of a page that is about to be programmed. A store that keeps
    /// no content drops them.
    fn load(&mut self, _page: usize, _bytes: &[u8]) {}

    /// The bytes that a readable programmed page holds; none if none were loaded for it.
    fn loaded(&self, _page: usize) -> Option<Arc<[u8]>> {
        None
    }

    /// The pages of a block are lost: they read as errors, where the store can tell them from
    /// erased ones.
    fn spoil(&mut self, pages: Range<usize>) {
        self.erase(pages);
    }

    /// The block of these pages is bad from now on: for a store that outlives its chip.
    fn retire(&mut self, _pages: Range<usize>) {}

    /// Whether the store can keep nothing more, as a file on a full disk. Its chip then behaves as
    /// one without power.
    #[inline]
    fn has_failed(&self) -> bool {
        false
    }
}

/// A store that a chip can make for itself.
pub trait Blank: Store {
    /// An erased store of this many pages.
    fn erased(pages: usize) -> Self;
}

/// How a fault leaves a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoilt {
    /// Neither erased nor programmed: reads as an error until erased.
    Torn,
    /// Touched by a program that did not get far: reads as erased, but must not be programmed
    /// before the next erase.
    Unstable,
    /// Programmed, but its content has decayed beyond correction: reads and scans as an error until
    /// erased.
    Decayed,
}

/// A store whose pages faults can spoil.
pub trait FaultableStore: Store {
    /// Leaves a page as a fault does. Only a programmed page decays.
    fn spoil_page(&mut self, page: usize, how: Spoilt);
}

/// The logical number of each page, in as many bits as the device has pages for; one byte more for
/// hints from the first that is not 0 on. For simulation.
pub struct Lean {
    logical: PackedNumbers,
    /// Empty as long as no page has a hint.
    hints: Vec<u8>,
}

impl Lean {
    #[cold]
    fn keep_hint(&mut self, page: usize, hint: u8) {
        if self.hints.is_empty() {
            self.hints = long_array(0, self.logical.len());
        }
        self.hints[page] = hint;
    }
}

impl Blank for Lean {
    fn erased(pages: usize) -> Self {
        Self { logical: PackedNumbers::none(pages, pages as u32), hints: Vec::new() }
    }
}

impl Store for Lean {
    type Data = ();

    #[inline]
    fn logical(&self, page: usize) -> Option<u32> {
        self.logical.get(page)
    }

    #[inline]
    fn prefetch(&self, page: usize) {
        self.logical.prefetch(page);
    }

    fn tag(&self, page: usize) -> Option<Tag> {
        let hint = self.hint(page);
        let of = |logical| Tag { logical, extent: 1, role: Role::Data, owner: None, seq: 0, version: 0, hint };
        self.logical(page).map(of)
    }

    #[inline]
    fn hint(&self, page: usize) -> u8 {
        self.hints.get(page).copied().unwrap_or(0)
    }

    #[inline]
    fn content(&self, _page: usize) -> Option<(u64, ())> {
        Some((0, ()))
    }

    #[inline]
    fn program(&mut self, page: usize, tag: &Tag, (): ()) {
        self.logical.put(page, tag.logical);
        if tag.hint != 0 {
            self.keep_hint(page, tag.hint);
        }
    }

    #[inline]
    fn program_number(&mut self, page: usize, logical: u32) -> bool {
        self.logical.put(page, logical);
        true
    }

    #[inline]
    fn copy_run(&mut self, copies: &[PageCopy], to: usize, logical: &mut [u32]) -> usize {
        if !self.hints.is_empty() {
            return 0;
        }
        self.logical.copy(copies.iter().map(|copy| copy.from.index()), to, logical)
    }

    #[inline]
    fn erase(&mut self, pages: Range<usize>) {
        if !self.hints.is_empty() {
            self.hints[pages.clone()].fill(0);
        }
        self.logical.clear(pages.start, pages.len());
    }
}

/// What a page of a full store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cell<D> {
    /// Nothing since the last erase.
    #[default]
    Erased,
    /// What was programmed.
    Programmed(Tag, D),
    /// Neither the one nor the other: reads as an error until erased.
    Torn,
    /// Holds this logical number and data that have decayed: reads and scans as an error until
    /// erased.
    Decayed(u32),
    /// Touched by a program that did not get far: reads as erased, but must not be programmed
    /// before the next erase.
    Unstable,
}

/// The whole tag and the data of every page. For checking and for live use.
#[derive(Clone)]
pub struct Full<D> {
    pages: Vec<Cell<D>>,
    /// Bytes of the translation layer's own, by page; of a page that is not programmed they are
    /// without meaning.
    bytes: BTreeMap<usize, Arc<[u8]>>,
}

impl<D> Full<D> {
    /// What a page holds.
    pub fn cell(&self, page: usize) -> &Cell<D> {
        &self.pages[page]
    }
}

impl<D: Clone + Default> Blank for Full<D> {
    fn erased(pages: usize) -> Self {
        Self { pages: vec![Cell::Erased; pages], bytes: BTreeMap::new() }
    }
}

impl<D: Clone + Default> FaultableStore for Full<D> {
    fn spoil_page(&mut self, page: usize, how: Spoilt) {
        let cell = &mut self.pages[page];
        match (how, &*cell) {
            (Spoilt::Torn, _) => *cell = Cell::Torn,
            (Spoilt::Unstable, _) => *cell = Cell::Unstable,
            (Spoilt::Decayed, Cell::Programmed(tag, _)) => *cell = Cell::Decayed(tag.logical),
            (Spoilt::Decayed, _) => {}
        }
    }
}

impl<D: Clone + Default> Store for Full<D> {
    type Data = D;

    fn logical(&self, page: usize) -> Option<u32> {
        match &self.pages[page] {
            Cell::Programmed(tag, _) => Some(tag.logical),
            Cell::Decayed(logical) => Some(*logical),
            Cell::Erased | Cell::Torn | Cell::Unstable => None,
        }
    }

    fn tag(&self, page: usize) -> Option<Tag> {
        match &self.pages[page] {
            Cell::Programmed(tag, _) => Some(*tag),
            Cell::Erased | Cell::Torn | Cell::Decayed(_) | Cell::Unstable => None,
        }
    }

    fn is_torn(&self, page: usize) -> bool {
        match &self.pages[page] {
            Cell::Torn | Cell::Decayed(_) => true,
            Cell::Programmed(tag, _) => tag.role == Role::Lost,
            Cell::Erased | Cell::Unstable => false,
        }
    }

    fn is_clean(&self, page: usize) -> bool {
        matches!(self.pages[page], Cell::Erased)
    }

    fn content(&self, page: usize) -> Option<(u64, D)> {
        match &self.pages[page] {
            Cell::Programmed(tag, data) => Some((tag.version, data.clone())),
            Cell::Erased | Cell::Torn | Cell::Decayed(_) | Cell::Unstable => None,
        }
    }

    fn program(&mut self, page: usize, tag: &Tag, data: D) {
        self.pages[page] = Cell::Programmed(*tag, data);
    }

    fn erase(&mut self, pages: Range<usize>) {
        while let Some((&page, _)) = self.bytes.range(pages.clone()).next() {
            self.bytes.remove(&page);
        }
        self.pages[pages].fill(Cell::Erased);
    }

    fn load(&mut self, page: usize, bytes: &[u8]) {
        self.bytes.insert(page, bytes.into());
    }

    fn loaded(&self, page: usize) -> Option<Arc<[u8]>> {
        let is_programmed = matches!(self.pages[page], Cell::Programmed(..));
        self.bytes.get(&page).filter(|_| is_programmed).cloned()
    }

    fn spoil(&mut self, pages: Range<usize>) {
        self.pages[pages].fill(Cell::Torn);
    }
}
