//! Where a chip keeps what its pages hold: as little as a simulation needs, or everything.
//!
//! A store knows no rules; the [`Chip`](crate::Chip) in front of it has checked them.

use std::ops::Range;

use crate::{Role, Tag};

/// Memory of a chip's pages, indexed by page number.
pub trait Store {
    /// What a page's data area holds: `()` when simulating, stamps when checking, bytes when mounted.
    type Data: Clone + Default;

    /// An erased store of so many pages.
    fn erased(pages: usize) -> Self;

    /// The logical number in a page's tag, or none where the page is erased.
    fn logical(&self, page: usize) -> Option<u32>;

    /// All that is kept of a programmed page; parts that the store does not keep read as zero.
    fn page(&self, page: usize) -> Option<(Tag, Self::Data)>;

    /// The data of a programmed page (the default value for an erased one).
    fn data(&self, page: usize) -> Self::Data;

    /// Writes a page.
    fn program(&mut self, page: usize, tag: &Tag, data: Self::Data);

    /// Clears the pages of a block.
    fn erase(&mut self, pages: Range<usize>);
}

/// Four bytes a page: the logical number plus one, 0 for an erased page. For simulation.
pub struct Lean {
    words: Vec<u32>,
}

impl Store for Lean {
    type Data = ();

    fn erased(pages: usize) -> Self {
        Self { words: vec![0; pages] }
    }

    #[inline]
    fn logical(&self, page: usize) -> Option<u32> {
        self.words[page].checked_sub(1)
    }

    fn page(&self, page: usize) -> Option<(Tag, ())> {
        self.logical(page).map(|logical| (Tag { logical, role: Role::Data, owner: None, seq: 0 }, ()))
    }

    #[inline]
    fn data(&self, _page: usize) {}

    #[inline]
    fn program(&mut self, page: usize, tag: &Tag, (): ()) {
        self.words[page] = tag.logical + 1;
    }

    #[inline]
    fn erase(&mut self, pages: Range<usize>) {
        self.words[pages].fill(0);
    }
}

/// The whole tag and the data of every page. For checking and for live use.
pub struct Full<D> {
    pages: Vec<Option<(Tag, D)>>,
}

impl<D: Clone + Default> Store for Full<D> {
    type Data = D;

    fn erased(pages: usize) -> Self {
        Self { pages: vec![None; pages] }
    }

    fn logical(&self, page: usize) -> Option<u32> {
        self.pages[page].as_ref().map(|(tag, _)| tag.logical)
    }

    fn page(&self, page: usize) -> Option<(Tag, D)> {
        self.pages[page].clone()
    }

    fn data(&self, page: usize) -> D {
        self.pages[page].as_ref().map(|(_, data)| data.clone()).unwrap_or_default()
    }

    fn program(&mut self, page: usize, tag: &Tag, data: D) {
        self.pages[page] = Some((*tag, data));
    }

    fn erase(&mut self, pages: Range<usize>) {
        self.pages[pages].fill(None);
    }
}
