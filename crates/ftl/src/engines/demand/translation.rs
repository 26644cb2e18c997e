//! The mapping table on flash: translation pages, found by the global translation directory (GTD)
//! in RAM.
//!
//! A translation page holds as many consecutive entries LPN → PPN as [`MAPPING_BYTES`] leaves room
//! for. A simulated page has no bytes to keep them in, so they are kept here, in as many bits an
//! entry as a PPN has. There is one entry for each logical page, and it says where the newest copy
//! lies: what flash would say of an entry that was changed in RAM, nobody asks for, since such an
//! entry is in RAM until its page has been written. A scheme that wants an entry that is not in RAM
//! pays for reading its page.
//!
//! A page may be kept in several copies (RFTL 3.2); the directory then has a place for each, and
//! [`CopyChoice`] says which one a miss reads.
//!
//! **Newer entries.** Which entries in RAM are newer than flash is a bitmap over logical pages, so
//! that all entries of one translation page are neighbours there and can be written back together,
//! without following links from one to the next.
//!
//! **Paging.** Every access to the map asks which translation page an entry is in, several times,
//! so the division is strength-reduced once.

use flash::{Flash, Lpn, PackedNumbers, Ppn, long_array};
use strength_reduce::StrengthReducedU32;

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::page_map::space::PageSpace;
use crate::port::device::Device;
use crate::port::error::BrokenInvariant;
use crate::port::flash_port::FlashPort;
use crate::port::timing::Nanos;
use crate::prefetch::prefetch;

/// What an entry of a translation page takes.
pub const MAPPING_BYTES: Parameter = Parameter {
    name: "mapping_bytes",
    kind: Kind::Choice { of: &["4", "8"] },
    default: "4",
    meaning: "Bytes of a mapping in a translation page: 4 for a PPN found by its position, 8 with the LPN beside it. Half as many mappings in a \
              page make twice as many pages of the map.",
    source: "Gupta 2009 (4); RFTL 3.1 (8: 512 mappings in 4 KiB)",
};

/// GTD and the entries of the whole table.
#[derive(Clone, Debug)]
pub struct TranslationTable {
    /// For each page the places of its copies.
    directory: Vec<Option<Ppn>>,
    copies: u32,
    entries: PackedNumbers,
    paging: Paging,
}

impl TranslationTable {
    /// Entries in a page, as many as [`MAPPING_BYTES`] leaves room for: a multiple of 64.
    pub fn entries_per_page(layout: &Layout, values: &Values) -> u32 {
        let mapping_bytes = if values.word(MAPPING_BYTES.name) == "8" { 8 } else { 4 };
        let page_bytes = layout.geometry.page_size_bytes();
        debug_assert!(page_bytes.is_multiple_of(64 * mapping_bytes), "{page_bytes} B are no multiple of 64 entries");
        layout.geometry.page_size_bytes() / mapping_bytes
    }

    /// A table that maps this many logical pages to physical ones, of which no page has been
    /// written; each will have this many copies, at least one.
    pub fn new([logical_pages, physical_pages]: [u32; 2], entries_per_page: u32, copies: u32) -> Self {
        debug_assert!(copies > 0, "a page without copies lies nowhere");
        Self {
            directory: vec![None; (logical_pages.div_ceil(entries_per_page) * copies) as usize],
            copies,
            entries: PackedNumbers::none(logical_pages as usize, physical_pages),
            paging: Paging::new(entries_per_page),
        }
    }

    /// The translation page of a logical page.
    #[inline]
    pub fn page_of(&self, lpn: Lpn) -> u32 {
        self.paging.page_of(lpn)
    }

    /// Copies of each translation page.
    #[inline]
    pub fn copies(&self) -> u32 {
        self.copies
    }

    /// Where the copies of a translation page lie; none where one was never written. Without any,
    /// all its entries are unmapped.
    #[inline]
    pub fn locations(&self, page: u32) -> &[Option<Ppn>] {
        debug_assert!(page < self.pages_of_table(), "there is no translation page {page} of {}", self.pages_of_table());
        let first = (page * self.copies) as usize;
        &self.directory[first..first + self.copies as usize]
    }

    /// Whether any copy of a translation page lies on flash; if not, all its entries are unmapped.
    pub fn is_written(&self, page: u32) -> bool {
        self.locations(page).iter().any(Option::is_some)
    }

    /// A copy of a translation page has been programmed somewhere; returns where it lay before.
    pub fn relocate(&mut self, page: u32, copy: u32, to: Ppn) -> Option<Ppn> {
        debug_assert!(copy < self.copies, "translation page {page} has no copy {copy}");
        debug_assert!(
            !self.locations(page).contains(&Some(to)),
            "translation page {page} is moved to {to}, where it lies"
        );
        self.directory[(page * self.copies + copy) as usize].replace(to)
    }

    /// Which copy of a translation page lies at a place.
    pub fn copy_at(&self, page: u32, ppn: Ppn) -> u32 {
        let copy = self.locations(page).iter().position(|&at| at == Some(ppn));
        copy.map_or_else(|| unreachable!("{ppn} is valid, so the directory knows it"), |copy| copy as u32)
    }

    /// Where a logical page lies.
    #[inline]
    pub fn entry(&self, lpn: Lpn) -> Option<Ppn> {
        debug_assert!(lpn.get() < self.logical_pages(), "there is no {lpn} of {}", self.logical_pages());
        self.entries.get(lpn.index()).map(Ppn::new)
    }

    /// Asks for the memory of an entry.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.entries.prefetch(lpn.index());
    }

    /// Changes an entry: one in RAM, or one of a translation page that is being programmed. Returns
    /// what it said before.
    #[inline]
    pub fn replace_entry(&mut self, lpn: Lpn, ppn: Option<Ppn>) -> Option<Ppn> {
        debug_assert!(lpn.get() < self.logical_pages(), "there is no {lpn} to map to {ppn:?}");
        self.entries.replace(lpn.index(), ppn.map(Ppn::get)).map(Ppn::new)
    }

    /// Translation pages of the table.
    pub fn pages_of_table(&self) -> u32 {
        let places = self.directory.len() as u32;
        debug_assert!(places.is_multiple_of(self.copies), "{places} places are for {} copies each", self.copies);
        places / self.copies
    }

    /// The translation page that lies at a place, found by searching the directory.
    pub fn page_at(&self, ppn: Ppn) -> u32 {
        let page = self.directory.iter().position(|&at| at == Some(ppn));
        page.map_or_else(|| unreachable!("{ppn} is valid, so the directory knows it"), |page| page as u32 / self.copies)
    }

    /// Whether a translation page maps anything, so that it has to be written after a power cut.
    pub fn maps_something(&self, page: u32) -> bool {
        let first = self.paging.entry_at(page, 0).index();
        let end = (first + self.paging.entries_per_page() as usize).min(self.entries.len());
        (first..end).any(|entry| self.entries.get(entry).is_some())
    }

    /// Logical pages that the table maps.
    pub fn logical_pages(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Copies of translation pages written so far: page and place.
    pub fn written_pages(&self) -> impl Iterator<Item = (u32, Ppn)> + '_ {
        self.directory.iter().enumerate().filter_map(|(entry, ppn)| ppn.map(|ppn| (entry as u32 / self.copies, ppn)))
    }

    /// Bytes of the GTD: four an entry.
    pub fn directory_bytes(&self) -> u64 {
        4 * self.directory.len() as u64
    }

    /// Checks that each written translation page lies where the GTD says, and that unwritten ones
    /// map nothing but what `may_be_unwritten` allows.
    pub fn check<D: Device>(
        &self,
        flash: &FlashPort<D>,
        name: &'static str,
        may_be_unwritten: impl Fn(Lpn) -> bool,
    ) -> Result<(), BrokenInvariant> {
        for (page, ppn) in self.written_pages() {
            let tag = flash.chip().peek(ppn);
            BrokenInvariant::unless(tag == Some(page), name, || {
                format!("translation page {page} should lie at {ppn}, which carries {tag:?}")
            })?;
        }
        for lpn in (0..self.logical_pages()).map(Lpn::new).filter(|&lpn| self.entry(lpn).is_some()) {
            BrokenInvariant::unless(may_be_unwritten(lpn) || self.is_written(self.page_of(lpn)), name, || {
                format!("{lpn} is mapped by an unwritten page")
            })?;
        }
        Ok(())
    }
}

/// A bit for each logical page whose entry in RAM is newer than flash.
#[derive(Clone, Debug)]
pub struct NewerEntries {
    words: Vec<u64>,
    words_per_page: usize,
}

impl NewerEntries {
    /// None is newer. There are this many entries, a multiple of 64, in a translation page.
    pub fn none(logical_pages: u32, entries_per_page: u32) -> Self {
        debug_assert!(entries_per_page.is_multiple_of(64), "pages of {entries_per_page} entries share a word");
        let words_per_page = entries_per_page as usize / 64;
        Self {
            words: long_array(0, logical_pages.div_ceil(entries_per_page) as usize * words_per_page),
            words_per_page,
        }
    }

    /// Whether the entry in RAM is newer than that on flash.
    #[inline]
    pub fn contains(&self, lpn: Lpn) -> bool {
        self.words[lpn.index() / 64] >> (lpn.index() % 64) & 1 == 1
    }

    /// An entry has been changed in RAM.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn) {
        debug_assert!(lpn.index() / 64 < self.words.len(), "there is no {lpn} to be newer than flash");
        self.words[lpn.index() / 64] |= 1 << (lpn.index() % 64);
    }

    /// An entry has been written to flash.
    #[inline]
    pub fn remove(&mut self, lpn: Lpn) {
        debug_assert!(self.contains(lpn), "the entry of {lpn} was written, and was not newer");
        self.words[lpn.index() / 64] &= !(1 << (lpn.index() % 64));
    }

    /// The newer entries of a translation page, in order.
    #[inline]
    pub fn of_page(&self, translation_page: u32) -> impl Iterator<Item = Lpn> + '_ {
        let first = translation_page as usize * self.words_per_page;
        ones(&self.words[first..first + self.words_per_page]).map(move |bit| Lpn::at(first * 64 + bit))
    }

    /// All entries of a translation page have been written to flash.
    #[inline]
    pub fn remove_page(&mut self, translation_page: u32) {
        let first = translation_page as usize * self.words_per_page;
        debug_assert!(first < self.words.len(), "there is no translation page {translation_page}");
        self.words[first..first + self.words_per_page].fill(0);
    }

    /// Asks for the memory that tells of a translation page.
    #[inline]
    pub fn prefetch_page(&self, translation_page: u32) {
        let first = translation_page as usize * self.words_per_page;
        (first..first + self.words_per_page).step_by(8).for_each(|word| prefetch(&self.words, word));
    }

    /// Asks for the memory that tells of a logical page.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.words, lpn.index() / 64);
    }
}

/// Entries of a translation page, by which logical pages are divided.
#[derive(Clone, Copy, Debug)]
pub struct Paging(StrengthReducedU32);

impl Paging {
    /// With so many entries, at least one, in a translation page.
    pub fn new(entries_per_page: u32) -> Self {
        debug_assert!(entries_per_page > 0, "a translation page without entries");
        Self(StrengthReducedU32::new(entries_per_page))
    }

    /// Entries of a translation page.
    #[inline]
    pub fn entries_per_page(self) -> u32 {
        self.0.get()
    }

    /// The translation page of an entry.
    #[inline]
    pub fn page_of(self, lpn: Lpn) -> u32 {
        lpn.get() / self.0
    }

    /// The translation page of an entry, and the entry's offset there.
    #[inline]
    pub fn split(self, lpn: Lpn) -> (u32, u32) {
        StrengthReducedU32::div_rem(lpn.get(), self.0)
    }

    /// The entry at an offset of a translation page.
    #[inline]
    pub fn entry_at(self, page: u32, offset: u32) -> Lpn {
        debug_assert!(offset < self.entries_per_page(), "a translation page has no entry {offset}");
        Lpn::new(page * self.0.get() + offset)
    }
}

/// By what the copy to read is chosen.
pub const COPY_CHOICE: Parameter = Parameter {
    name: "copy_choice",
    kind: Kind::Choice { of: &["first_done", "idle_channel", "original"] },
    default: "first_done",
    meaning: "Which copy a miss reads: the one whose read would be done first, by die and bus; or one whose channel is idle, bus and all dies, \
              else the one whose channel is idle first; or always the original if it can be read, so that copies only cost (simulation only).",
    source: "ftlkit; RFTL alg. 1 (idle_channel)",
};

/// How the copy to read is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyChoice {
    /// The one whose read would be done first.
    #[default]
    FirstDone,
    /// The one whose channel is idle, or will be first.
    IdleChannel,
    /// The first, as if there were no other.
    Original,
}

impl CopyChoice {
    /// What [`COPY_CHOICE`] asks for.
    pub fn from_values(values: &Values) -> Self {
        match values.word(COPY_CHOICE.name) {
            "idle_channel" => Self::IdleChannel,
            "original" => Self::Original,
            _ => Self::FirstDone,
        }
    }

    /// How long a copy keeps a miss waiting, by this choice: the copy with the least is read.
    pub fn delay<D: Device>(self, flash: &mut FlashPort<D>, space: &PageSpace, copy: Ppn) -> Nanos {
        match self {
            Self::FirstDone => flash.estimate_read(copy),
            Self::IdleChannel => flash.busy(space.channel_of(copy)),
            Self::Original => Nanos::default(),
        }
    }
}

/// The positions of the ones in a bitmap, ascending.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let without_lowest = |&rest: &u64| Some(rest & (rest - 1)).filter(|&rest| rest != 0);
        std::iter::successors(Some(word).filter(|&word| word != 0), without_lowest)
            .map(move |rest| index * 64 + rest.trailing_zeros() as usize)
    })
}

#[cfg(test)]
mod newer_entries_tests {
    use super::*;

    #[test]
    fn newer_entries_are_known_by_page_until_they_are_written() {
        let mut newer = NewerEntries::none(300, 128);
        for lpn in [127, 128, 130, 255, 256, 299].map(Lpn::new) {
            newer.insert(lpn);
        }
        let of_page = |newer: &NewerEntries, page| newer.of_page(page).map(Lpn::get).collect::<Vec<_>>();
        assert_eq!([0, 1, 2].map(|page| of_page(&newer, page)), [vec![127], vec![128, 130, 255], vec![256, 299]]);
        newer.remove(Lpn::new(130));
        assert!(newer.contains(Lpn::new(128)) && !newer.contains(Lpn::new(130)));
        newer.remove_page(1);
        assert_eq!([0, 1, 2].map(|page| of_page(&newer, page)), [vec![127], vec![], vec![256, 299]]);
    }
}

#[cfg(test)]
mod paging_tests {
    use super::*;

    #[test]
    fn an_entry_is_found_where_it_was_split() {
        for per_page in [1, 64, 96, 1024] {
            let paging = Paging::new(per_page);
            for lpn in [0, 63, 64, 95, 96, 1023, 1024, u32::MAX - 1].map(Lpn::new) {
                let (page, offset) = paging.split(lpn);
                assert_eq!((page, offset), (lpn.get() / per_page, lpn.get() % per_page), "{lpn} by {per_page}");
                assert_eq!((paging.page_of(lpn), paging.entry_at(page, offset)), (page, lpn));
            }
        }
    }
}

#[cfg(test)]
mod bitmap_tests {
    use super::*;

    #[test]
    fn ones_are_found_at_both_ends_of_words_and_in_none_that_is_zero() {
        let words = [0, 1 | 1 << 63, 0, 0b1010];
        assert_eq!(ones(&words).collect::<Vec<_>>(), [64, 127, 193, 195]);
        assert_eq!(ones(&[]).count(), 0);
    }
}
