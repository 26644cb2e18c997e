//! Data pages in RAM, found by their logical page.
//!
//! Their content lies behind the flash port ([`RamPages`](crate::port::ram_pages::RamPages)). A
//! page is *newer* than flash when the host has written it since; of all others flash has the same.
//! Each has a place, a number below the most pages that were ever held at once, by which lists and
//! tables beside this one can name it.

use std::num::NonZeroU32;

use flash::{Lpn, long_array};
use host::Hint;

use crate::port::ram_pages::RamPage;
use crate::prefetch::prefetch;

/// A data page in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedPage {
    /// Its logical page.
    pub lpn: Lpn,
    /// The handle of its content.
    pub page: RamPage,
    /// What the host said of it.
    pub hint: Hint,
    /// Whether flash has something older.
    pub is_newer: bool,
}

/// All data pages in RAM.
#[derive(Clone, Debug)]
pub struct DataCache {
    /// What is held at each place, or was.
    places: Vec<CachedPage>,
    free: Vec<u32>,
    place_of: Vec<Option<NonZeroU32>>,
    newer: u32,
}

impl DataCache {
    /// None of this many logical pages.
    pub fn none(logical_pages: u32) -> Self {
        Self { places: Vec::new(), free: Vec::new(), place_of: long_array(None, logical_pages as usize), newer: 0 }
    }

    /// How many data pages RAM holds.
    pub fn pages(&self) -> usize {
        debug_assert!(self.free.len() <= self.places.len(), "{} of {} are free", self.free.len(), self.places.len());
        self.places.len() - self.free.len()
    }

    /// Pages held that are newer than flash.
    pub fn newer(&self) -> u32 {
        debug_assert!(self.newer as usize <= self.pages(), "{} of {} pages are newer", self.newer, self.pages());
        self.newer
    }

    /// Whether there is such a logical page.
    pub fn knows(&self, lpn: Lpn) -> bool {
        lpn.index() < self.place_of.len()
    }

    /// The place of a logical page's content.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        debug_assert!(self.knows(lpn), "there is no {lpn} of {} logical pages", self.place_of.len());
        self.place_of[lpn.index()].map(|place| place.get() - 1)
    }

    /// The page at a place.
    ///
    /// # Panics
    /// When there was never one: an error in the caller's own source.
    #[inline]
    pub fn at(&self, place: u32) -> &CachedPage {
        let held = &self.places[place as usize];
        debug_assert!(self.find(held.lpn) == Some(place), "no page is held at place {place}");
        held
    }

    /// Holds a page, of which none was held; returns its place.
    #[inline]
    pub fn insert(&mut self, held: CachedPage) -> u32 {
        debug_assert!(self.find(held.lpn).is_none(), "{} is held already", held.lpn);
        self.newer += u32::from(held.is_newer);
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(held);
            self.places.len() as u32 - 1
        });
        self.put(place, held);
        self.place_of[held.lpn.index()] = NonZeroU32::new(place + 1);
        place
    }

    /// The host has written a page again that is held at a place; returns what was held there.
    pub fn replace(&mut self, place: u32, page: RamPage, hint: Hint) -> CachedPage {
        let before = *self.at(place);
        self.newer += u32::from(!before.is_newer);
        debug_assert_ne!(before.page, page, "{} is written again with the content that it has", before.lpn);
        self.put(place, CachedPage { page, hint, is_newer: true, ..before });
        before
    }

    /// Flash has what is held at a place.
    pub fn is_written(&mut self, place: u32) {
        let held = *self.at(place);
        debug_assert!(self.newer > 0 || !held.is_newer, "{} is newer than flash, and no page is counted", held.lpn);
        self.newer -= u32::from(held.is_newer);
        self.places[place as usize].is_newer = false;
    }

    /// Field by field: a whole that is read just after its small fields were written makes the
    /// processor wait until all writes before them have arrived in its cache: treeftl gained 4 %.
    #[inline]
    fn put(&mut self, place: u32, CachedPage { lpn, page, hint, is_newer }: CachedPage) {
        debug_assert!((place as usize) < self.places.len(), "there is no place {place} for {lpn}");
        let at = &mut self.places[place as usize];
        at.lpn = lpn;
        at.page = page;
        at.hint = hint;
        at.is_newer = is_newer;
    }

    /// Holds a logical page no longer; returns what was held.
    #[inline]
    pub fn remove(&mut self, lpn: Lpn) -> Option<CachedPage> {
        let place = self.place_of[lpn.index()].take()?.get() - 1;
        self.free.push(place);
        let held = self.places[place as usize];
        debug_assert_eq!(held.lpn, lpn, "another page is held at the place of {lpn}");
        debug_assert!(self.newer > 0 || !held.is_newer, "{lpn} is newer than flash, and no page is counted");
        self.newer -= u32::from(held.is_newer);
        Some(held)
    }

    /// All pages held, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &CachedPage> {
        let is_held = |&(place, held): &(u32, &CachedPage)| self.find(held.lpn) == Some(place);
        (0..).zip(&self.places).filter(is_held).map(|(_, held)| held)
    }

    /// Those that are newer than flash, by logical page.
    pub fn newer_pages(&self) -> Vec<Lpn> {
        let mut newer: Vec<_> = self.iter().filter(|held| held.is_newer).map(|held| held.lpn).collect();
        newer.sort_unstable();
        newer
    }

    /// Asks for the memory that finding a page touches.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.place_of, lpn.index());
    }

    /// Asks for the memory of a place.
    #[inline]
    pub fn prefetch_at(&self, place: u32) {
        prefetch(&self.places, place as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::ram_pages::RamPages;

    #[test]
    fn what_is_newer_than_flash_is_known_until_it_is_written_or_leaves() {
        let (mut held, mut ram) = (DataCache::none(10), RamPages::default());
        let mut page =
            |lpn: u32, is_newer| CachedPage { lpn: Lpn::new(lpn), page: ram.put(lpn), hint: Hint::NONE, is_newer };
        let places = [page(7, true), page(2, true), page(5, false)].map(|page| held.insert(page));
        let lpns = |held: &DataCache| held.newer_pages().iter().map(|lpn| lpn.get()).collect::<Vec<_>>();
        assert_eq!((lpns(&held), held.newer(), held.pages()), (vec![2, 7], 2, 3));
        held.is_written(places[0]);
        held.is_written(places[0]);
        let again = page(5, true).page;
        assert!(!held.replace(places[2], again, Hint::NONE).is_newer);
        assert_eq!((lpns(&held), held.newer(), held.at(places[2]).page), (vec![2, 5], 2, again));
        assert!(held.remove(Lpn::new(2)).is_some_and(|left| left.is_newer));
        assert_eq!((held.remove(Lpn::new(2)), held.newer(), held.find(Lpn::new(2))), (None, 1, None));
        // The place of a page that has left is taken again.
        assert_eq!(held.insert(page(9, true)), places[1]);
        assert_eq!((held.pages(), held.find(Lpn::new(9))), (3, Some(places[1])));
    }
}
