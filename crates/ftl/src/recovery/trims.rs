//! Trims that survive a power cut.
//!
//! Recovery works from tags, and a trim leaves none: until something says otherwise, the page's
//! last copy is still there to be found. So a trim is *pending* until a flush, which writes one
//! page for each run of trimmed logical pages, tagged [`Role::Trimmed`] with the run's first page
//! and extent. Such a page is needed as long as one of its logical pages has neither been written
//! again nor trimmed by a later one; it is moved by collection like any other.
//!
//! Under a page map older copies of a page lie about in any order. If the last copy of a page whose
//! trim is pending were simply erased, the next older one would come back, perhaps one from before
//! an earlier trim that was flushed. So for a logical page that has had such a trim, or of which
//! recovery found older copies ([`Trims::guard`]), when its block is collected
//! ([`Trims::about_to_vanish`]) a page takes its place that is no data but has its version
//! ([`Trims::on_replaced`]). As long as both are there recovery takes the copy, and needs to write
//! nothing for that to last: a copy that counts is never erased before it is elsewhere. Once no
//! copy is left, the page in its place is the last word, and that lasts as well. So a collection
//! that is cut can be undone or completed, as with any copy. While the power is on the trim stays
//! pending, and a flush gives it a version of its own.
//!
//! There are never more of them than unmapped logical pages, so they fit where the data would.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use flash::{Lpn, Ppn, Role, Tag};

use crate::port::label::Label;
use crate::recovery::scan::NewestCopy;

#[derive(Clone, Copy, Debug)]
struct TrimRecord {
    first: u32,
    extent: u32,
    page: Ppn,
    version: u64,
    /// Logical pages for which this is still the last word.
    needed_by: u32,
}

/// Pending trims, and the pages that say what was trimmed.
#[derive(Clone, Debug, Default)]
pub struct Trims {
    /// Logical pages, each with its last copy where older ones may outlive it.
    pending: BTreeMap<u32, Option<Ppn>>,
    /// The logical page of each such copy.
    last_copies: BTreeMap<Ppn, u32>,
    written: BTreeMap<u32, TrimRecord>,
    by_page: BTreeMap<Ppn, u32>,
    /// The written trim that is the last word on a logical page.
    of: BTreeMap<u32, u32>,
    /// Logical pages written again after a trim that was written down: copies from before it may
    /// still lie about.
    guarded: BTreeSet<u32>,
    next: u32,
}

impl Trims {
    /// A mapped page was trimmed, in a scheme whose older copies of a page never outlive a durable
    /// trim.
    pub fn on_trimmed(&mut self, lpn: Lpn) {
        self.pending.insert(lpn.get(), None);
    }

    /// A mapped page was trimmed whose last copy lies here.
    pub fn on_trimmed_at(&mut self, lpn: Lpn, last_copy: Ppn) {
        if !self.guarded.contains(&lpn.get()) {
            return self.on_trimmed(lpn);
        }
        self.pending.insert(lpn.get(), Some(last_copy));
        self.last_copies.insert(last_copy, lpn.get());
    }

    /// The pending trims whose last copies lie in these physical pages: what has to be replaced
    /// before the block is erased.
    pub fn about_to_vanish(&self, pages: Range<usize>) -> Vec<(Ppn, Lpn)> {
        if self.last_copies.is_empty() {
            return Vec::new();
        }
        let vanishing = self.last_copies.range(Ppn::at(pages.start)..Ppn::at(pages.end));
        vanishing.map(|(&copy, &lpn)| (copy, Lpn::new(lpn))).collect()
    }

    /// A page without data, with the version of the last copy of a page whose trim is pending,
    /// takes the place of that copy.
    pub fn on_replaced(&mut self, lpn: Lpn, page: Ppn, version: u64) {
        self.register((lpn.get(), 1), page, version, |_| true);
        self.pending.insert(lpn.get(), None);
    }

    fn is_settled(&mut self, lpn: u32) {
        if let Some(Some(copy)) = self.pending.remove(&lpn) {
            self.last_copies.remove(&copy);
        }
    }

    /// An unmapped page was written; returns the trim page that is not needed any more, if that
    /// makes one so.
    pub fn on_overwritten(&mut self, lpn: Lpn) -> Option<Ppn> {
        self.is_settled(lpn.get());
        if self.of.is_empty() {
            return None;
        }
        let id = self.of.remove(&lpn.get())?;
        self.guarded.insert(lpn.get());
        self.loses_one(id)
    }

    /// The runs of pending trims, each as (first page, pages).
    pub fn pending_runs(&self) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for &lpn in self.pending.keys() {
            match runs.last_mut() {
                Some((first, pages)) if *first + *pages == lpn => *pages += 1,
                _ => runs.push((lpn, 1)),
            }
        }
        runs
    }

    /// A run of pending trims survives a power cut by other means.
    pub fn on_settled(&mut self, first: u32, extent: u32) {
        for lpn in first..first + extent {
            self.is_settled(lpn);
        }
    }

    /// Whether the trim of one of these pages is pending, or a trim page is the last word on it.
    pub fn speak_of(&self, mut lpns: impl Iterator<Item = Lpn>) -> bool {
        let nobody = self.pending.is_empty() && self.of.is_empty();
        !nobody && lpns.any(|lpn| self.pending.contains_key(&lpn.get()) || self.of.contains_key(&lpn.get()))
    }

    /// The label of a trim page.
    pub fn label(first: u32, extent: u32) -> Label {
        Label { extent, ..Label::new(first, Role::Trimmed) }
    }

    /// A page now says that this run was trimmed; returns the trim pages that are not needed any
    /// more.
    pub fn on_write(&mut self, first: u32, extent: u32, page: Ppn, version: u64) -> Vec<Ppn> {
        self.register((first, extent), page, version, |_| true)
    }

    /// Recovery found older copies of this logical page, perhaps from before a trim that was
    /// flushed.
    pub fn guard(&mut self, lpn: Lpn) {
        self.guarded.insert(lpn.get());
    }

    /// Recovery found a trim page that is the last word on some logical page.
    pub fn on_found(&mut self, tag: &Tag, page: Ppn, newest: &[Option<NewestCopy>]) {
        let last_word =
            |lpn: u32| newest.get(lpn as usize).copied().flatten().is_some_and(|found| found.version == tag.version);
        self.register((tag.logical, tag.extent), page, tag.version, last_word);
    }

    fn register(
        &mut self,
        (first, extent): (u32, u32),
        page: Ppn,
        version: u64,
        last_word: impl Fn(u32) -> bool,
    ) -> Vec<Ppn> {
        let id = self.next;
        self.next += 1;
        let mut superseded = Vec::new();
        let mut needed_by = 0;
        for lpn in (first..first + extent).filter(|&lpn| last_word(lpn)) {
            self.is_settled(lpn);
            needed_by += 1;
            superseded.extend(self.of.insert(lpn, id).and_then(|old| self.loses_one(old)));
        }
        if needed_by == 0 {
            superseded.push(page);
        } else {
            self.written.insert(id, TrimRecord { first, extent, page, version, needed_by });
            self.by_page.insert(page, id);
        }
        superseded
    }

    /// Label and version of a trim page at this place, if there is one.
    #[inline]
    pub fn at(&self, page: Ppn) -> Option<(Label, u64)> {
        if self.by_page.is_empty() { None } else { self.find(page) }
    }

    /// Whether any page says what was trimmed.
    #[inline]
    pub fn has_pages(&self) -> bool {
        !self.by_page.is_empty()
    }

    #[inline(never)]
    fn find(&self, page: Ppn) -> Option<(Label, u64)> {
        let written = self.written.get(self.by_page.get(&page)?)?;
        Some((Self::label(written.first, written.extent), written.version))
    }

    /// A trim page was moved.
    pub fn on_moved(&mut self, from: Ppn, to: Ppn) {
        if let Some(id) = self.by_page.remove(&from) {
            self.by_page.insert(to, id);
            if let Some(written) = self.written.get_mut(&id) {
                written.page = to;
            }
        }
    }

    /// Trim pages that are needed.
    pub fn pages(&self) -> impl Iterator<Item = Ppn> + '_ {
        self.by_page.keys().copied()
    }

    fn loses_one(&mut self, id: u32) -> Option<Ppn> {
        let written = self.written.get_mut(&id)?;
        written.needed_by -= 1;
        if written.needed_by > 0 {
            return None;
        }
        let page = written.page;
        self.written.remove(&id);
        self.by_page.remove(&page);
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trim_page_is_needed_until_its_last_logical_page_is_written_or_trimmed_again() {
        let mut trims = Trims::default();
        for lpn in [3, 4, 5, 9] {
            trims.on_trimmed(Lpn::new(lpn));
        }
        assert_eq!(trims.on_overwritten(Lpn::new(9)), None);
        assert_eq!(trims.pending_runs(), [(3, 3)]);
        assert!(trims.on_write(3, 3, Ppn::new(100), 1).is_empty());
        assert!(trims.pending_runs().is_empty());
        trims.on_moved(Ppn::new(100), Ppn::new(200));
        assert_eq!(
            trims.at(Ppn::new(200)).map(|(label, version)| (label.logical, label.extent, version)),
            Some((3, 3, 1))
        );
        assert_eq!((trims.on_overwritten(Lpn::new(3)), trims.on_overwritten(Lpn::new(5))), (None, None));
        assert_eq!(trims.on_write(4, 1, Ppn::new(300), 2), [Ppn::new(200)]);
        assert_eq!(trims.pages().collect::<Vec<_>>(), [Ppn::new(300)]);
        assert_eq!(trims.on_overwritten(Lpn::new(4)), Some(Ppn::new(300)));
        assert_eq!(trims.pages().count(), 0);
    }

    #[test]
    fn the_last_copy_of_a_pending_trim_is_replaced_and_the_trim_stays_pending() {
        let mut trims = Trims::default();
        for (lpn, copy) in [(5, 13), (3, 12), (9, 16), (6, 14)] {
            trims.guard(Lpn::new(lpn));
            trims.on_trimmed_at(Lpn::new(lpn), Ppn::new(copy));
        }
        trims.on_overwritten(Lpn::new(6));
        assert_eq!(trims.about_to_vanish(12..16), [(Ppn::new(12), Lpn::new(3)), (Ppn::new(13), Lpn::new(5))]);
        trims.on_replaced(Lpn::new(3), Ppn::new(30), 7);
        trims.on_replaced(Lpn::new(5), Ppn::new(31), 8);
        assert!(trims.about_to_vanish(12..16).is_empty());
        assert_eq!(trims.at(Ppn::new(31)).map(|(_, version)| version), Some(8));
        assert_eq!(trims.pending_runs(), [(3, 1), (5, 1), (9, 1)]);
        assert_eq!(trims.on_write(3, 1, Ppn::new(40), 50), [Ppn::new(30)]);
        assert_eq!(trims.on_overwritten(Lpn::new(5)), Some(Ppn::new(31)));
    }

    #[test]
    fn recovery_finds_for_which_pages_a_trim_page_is_the_last_word() {
        let tag = Tag { logical: 2, extent: 3, role: Role::Trimmed, owner: None, seq: 9, version: 9, hint: 0 };
        let mut newest = vec![None; 6];
        newest[2] = Some(NewestCopy { version: 9, page: None });
        newest[3] = Some(NewestCopy { version: 12, page: Some(Ppn::new(1)) });
        newest[4] = Some(NewestCopy { version: 9, page: None });
        let mut trims = Trims::default();
        trims.on_found(&tag, Ppn::new(50), &newest);
        assert_eq!(trims.on_overwritten(Lpn::new(3)), None);
        assert_eq!(trims.on_overwritten(Lpn::new(2)), None);
        assert_eq!(trims.on_overwritten(Lpn::new(4)), Some(Ppn::new(50)));
    }
}
