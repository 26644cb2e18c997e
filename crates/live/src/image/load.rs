//! Reading an image's areas into RAM, and what is wrong with them.
//!
//! Nothing here refuses an image, and nothing is written: whatever cannot be believed becomes what
//! flash would be in its place (a torn page, a page that reads as an error), and a finding in
//! words. What is there twice is taken from the copy that can be believed. Where both are gone,
//! older content may come to light; such places are counted, and the server of the image must ask
//! for it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::io;

use flash::{Geometry, Role, UsedBlock};

use super::blocks::{Block, Condition, ENTRY_BYTES};
use super::copies::{Copies, Judged, is_of, judge};
use super::file::ImageFile;
use super::header::read_up_to;
use super::image_layout::ImageLayout;
use super::life::{FoundLife, Life, LifeSlots};
use super::page_tags::{Body, SLOT_BYTES, Slot, Written, decode, encode};
use super::store::{FileStore, PageState, Pages};
use super::waiting::Waiting;

/// Slots that are read at once, about: a mebibyte.
const SLOTS_AT_ONCE: usize = 16_384;

/// A store with what a chip needs besides.
pub(crate) struct Loaded {
    pub(crate) store: FileStore,
    pub(crate) blocks: Vec<UsedBlock>,
    pub(crate) findings: Findings,
    /// Places at which both copies are gone: older content may show there.
    pub(crate) lost: usize,
}

/// What an image is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Data are looked at only where the image does not promise that they are on the disk.
    Serve,
    /// All data are looked at.
    Check,
}

/// Reads everything but data, and of these what the purpose asks for.
pub(crate) fn load(file: ImageFile, geometry: &Geometry, logical_pages: u32, purpose: Purpose) -> io::Result<Loaded> {
    let places = ImageLayout::of(geometry);
    let mut findings = Findings::default();
    let FoundLife { slots: life_slots, life, damaged, is_one_rolled_back } = LifeSlots::read(&file, places.life);
    if damaged == 1 {
        findings.note_host_loss("life", || {
            "one of the two copies of the image's life cannot be read; the other is used (a host that lost power while it was written leaves \
             it so, too)"
                .into()
        });
    }
    if damaged == 2 {
        findings
            .note("life", || "neither copy of the image's life can be read: counts since it was made are lost".into());
    }
    // A closed image has the same life twice. In any other, the one that is gone may have promised
    // more, and what it promised is then taken for pages that were never flushed.
    let is_promise_lost = is_one_rolled_back && life.as_ref().is_some_and(|life| !life.is_clean);
    if is_promise_lost {
        findings.note("life", || {
            "one of the two copies of the image's life is older than the one before the other, so nobody knows what was flushed last: a part of \
             the file is older than the rest; restore the image from a copy"
                .into()
        });
    }
    let entries = read_entries(&file, &places, geometry)?;
    let store = FileStore {
        page_bytes: geometry.page_size_bytes() as usize,
        pages: Pages::erased(geometry.pages() as usize),
        pages_per_block: geometry.pages_per_block() as usize,
        written_seq: 0,
        lowest_unsynced: None,
        erases: 0,
        is_dirty: true,
        unsynced_page: None,
        unsynced_erases: BTreeSet::new(),
        full_erased: VecDeque::new(),
        failure: None,
        loading: None,
        waiting: Waiting::default(),
        ahead: RefCell::default(),
        last_read: Cell::new(None),
        repairs: Vec::new(),
        file,
        places,
        blocks: Vec::with_capacity(entries.len()),
        life: life.clone().unwrap_or_default(),
        life_slots,
    };
    let mut loading = Loading {
        store,
        findings,
        geometry,
        logical_pages,
        purpose,
        lost: usize::from(is_promise_lost),
        to_check: Vec::new(),
        unpromised: Vec::new(),
        knows_synced: life.is_some(),
    };
    loading.read_blocks(&entries)?;
    loading.count_pages();
    Ok(loading.check_data())
}

/// Both copies of each block's entry, as far as they can be believed.
fn read_entries(file: &ImageFile, places: &ImageLayout, geometry: &Geometry) -> io::Result<Vec<[Option<Block>; 2]>> {
    let mut entries = vec![[None; 2]; geometry.blocks() as usize];
    let mut bytes = vec![0; entries.len() * ENTRY_BYTES];
    for (copy, offset) in places.block(0).into_iter().enumerate() {
        bytes.fill(0);
        read_up_to(file, &mut bytes, offset)?;
        for (block, (entry, bytes)) in entries.iter_mut().zip(bytes.as_chunks::<ENTRY_BYTES>().0).enumerate() {
            entry[copy] = Block::decode(block, bytes);
        }
    }
    Ok(entries)
}

/// An image that is being read.
struct Loading<'a> {
    store: FileStore,
    findings: Findings,
    geometry: &'a Geometry,
    logical_pages: u32,
    purpose: Purpose,
    lost: usize,
    /// Pages whose data have to be looked at, how many bytes these are, and whether the image
    /// promises that they are on the disk.
    to_check: Vec<(usize, usize, bool)>,
    /// Programmed pages of which it is not promised that they are on the disk, in address order;
    /// and whether each is a summary.
    unpromised: Vec<(usize, bool)>,
    /// Whether it is known which pages are on the disk; else all are looked at, and taken for such.
    knows_synced: bool,
}

impl Loading<'_> {
    fn read_blocks(&mut self, entries: &[[Option<Block>; 2]]) -> io::Result<()> {
        let pages_per_block = self.store.pages_per_block;
        let at_once = (SLOTS_AT_ONCE / pages_per_block).max(1);
        let most_erases = entries.iter().flatten().flatten().map(|block| block.erases).max().unwrap_or(0);
        let mut bytes = [const { Vec::new() }; 2];
        for (chunk, entries) in entries.chunks(at_once).enumerate() {
            let first_block = chunk * at_once;
            for (bytes, offset) in bytes.iter_mut().zip(self.store.places.slot(first_block * pages_per_block)) {
                bytes.clear();
                bytes.resize(entries.len() * pages_per_block * SLOT_BYTES, 0);
                read_up_to(&self.store.file, bytes, offset)?;
            }
            let [one, other] = [&bytes[0], &bytes[1]].map(|bytes| bytes.as_chunks::<SLOT_BYTES>().0);
            for (i, copies) in entries.iter().enumerate() {
                let pages = i * pages_per_block..(i + 1) * pages_per_block;
                let slots = one[pages.clone()].iter().zip(&other[pages]);
                self.read_block(first_block + i, *copies, most_erases, slots);
            }
        }
        Ok(())
    }

    fn read_block<'s>(
        &mut self,
        block: usize,
        entries: [Option<Block>; 2],
        most_erases: u32,
        slots: impl Iterator<Item = (&'s [u8; SLOT_BYTES], &'s [u8; SLOT_BYTES])>,
    ) {
        let first_page = block * self.store.pages_per_block;
        let copies: Vec<_> = (first_page..)
            .zip(slots)
            .map(|(page, (one, other))| {
                ([one, other], [decode(page, one), decode(page, other)].map(|copy| self.plausible(page, copy)))
            })
            .collect();
        let epochs = copies.iter().flat_map(|(_, copies)| copies).filter_map(|copy| match copy {
            Written::Slot(epoch, _) => Some(*epoch),
            _ => None,
        });
        let entry = self.entry(block, entries, || epochs.max().unwrap_or(most_erases));
        self.store.erases += u64::from(entry.erases);
        self.store.blocks.push(entry);
        for (page, (bytes, copies)) in (first_page..).zip(&copies) {
            self.read_page(page, entry.erases, *bytes, *copies);
        }
    }

    /// What counts of a block's entry; without any, it is of the epoch that its slots know.
    fn entry(&mut self, block: usize, copies: [Option<Block>; 2], epoch: impl FnOnce() -> u32) -> Block {
        let entry = match copies {
            [Some(one), Some(other)] => {
                let later = one.later(other);
                self.compare_entries(block, later, [one, other]);
                later
            }
            [Some(entry), None] | [None, Some(entry)] => {
                self.findings.note("block of whose entry one copy is damaged", || {
                    format!("block {block}: one of the two copies of its entry is damaged; the other is used")
                });
                entry
            }
            [None, None] => {
                let erases = epoch();
                self.lost += 1;
                self.findings.note("block whose entry is damaged", || {
                    format!(
                        "block {block}: both copies of its entry are damaged; taken for good, with {erases} erases: as its pages say, or as \
                         the most worn block has"
                    )
                });
                Block { erases, ..Block::default() }
            }
        };
        for (copy, offset) in copies.into_iter().zip(self.store.places.block(block)) {
            if copy != Some(entry) {
                self.store.repairs.push((offset, entry.encode(block).to_vec()));
            }
        }
        entry
    }

    /// Two copies that can be believed differ where the world stopped after the last sync, and
    /// nowhere else.
    fn compare_entries(&mut self, block: usize, later: Block, copies: [Block; 2]) {
        let is_synced = later.since > 0 && later.since < self.store.life_slots.generation();
        let Some(earlier) = copies.into_iter().find(|&copy| copy != later).filter(|_| is_synced) else { return };
        self.findings.note("block of whose entry one copy is older than the other", || {
            format!(
                "block {block}: one of the two copies of its entry is of an earlier time, {} erases where the other has {}; the other is used",
                earlier.erases, later.erases
            )
        });
    }

    /// A slot that speaks of what this device has not is none.
    fn plausible(&self, page: usize, copy: Written) -> Written {
        let block = (page / self.store.pages_per_block) as u32;
        match copy {
            Written::Slot(_, Slot::Programmed(tag, body))
                if !is_of(&tag, body, block, self.geometry, self.logical_pages) =>
            {
                Written::Damaged
            }
            _ => copy,
        }
    }

    fn read_page(&mut self, page: usize, epoch: u32, bytes: [&[u8; SLOT_BYTES]; 2], copies: [Written; 2]) {
        let Judged { slot, state, behind } = judge(epoch, self.store.life.synced_seq, copies);
        match state {
            Copies::Sound => {}
            Copies::OneDamaged => self.findings.note("page of whose OOB slot one copy is damaged", || {
                format!("page {page}: one of the two copies of its OOB slot is damaged; the other is used")
            }),
            Copies::Lost => {
                self.lost += 1;
                self.findings.note("page whose OOB slot is damaged", || {
                    format!("page {page}: both copies of its OOB slot are damaged, so nobody knows which logical page it held")
                });
            }
        }
        for (copy, offset) in self.store.places.slot(page).into_iter().enumerate().filter(|(copy, _)| behind[*copy]) {
            let right = if slot == Slot::Erased { *bytes[1 - copy] } else { encode(page, epoch, slot) };
            self.store.repairs.push((offset, right.to_vec()));
        }
        self.store.pages.set(page, slot);
        let Slot::Programmed(tag, body) = slot else { return };
        self.store.written_seq = self.store.written_seq.max(tag.seq);
        let length = match body {
            Body::None => 0,
            Body::Data { .. } => self.store.page_bytes,
            Body::Own { length, .. } => length as usize,
        };
        let is_promised = tag.seq <= self.store.life.synced_seq;
        if !is_promised {
            self.unpromised.push((page, tag.role == Role::Summary));
        }
        if length > 0 && tag.role != Role::Lost && (self.purpose == Purpose::Check || !is_promised) {
            self.to_check.push((page, length, is_promised || !self.knows_synced));
        }
    }

    /// The life says how many pages and erases there were at the last sync. Fewer are found where
    /// both copies of slots or entries were lost without a trace, and where a part of the file is
    /// of an earlier time than the life. What was erased since the last sync may have had pages.
    fn count_pages(&mut self) {
        let Life { touched_pages, erases, is_clean, .. } = self.store.life;
        let Some(expected) = touched_pages else { return };
        let is_recent = |block: &&Block| block.since >= self.store.life_slots.generation();
        let erased_since = self.store.blocks.iter().filter(is_recent).count() * self.store.pages_per_block;
        let is_possible = |found: u64, expected: u64, more: u64| {
            if is_clean { found == expected } else { found + more >= expected }
        };
        let found = self.store.pages.touched;
        let when = if is_clean { "when the image was closed" } else { "at the last flush" };
        let older = "a part of the file is older than the rest, or both copies of OOB slots or entries are lost; restore the image from a copy";
        if !is_possible(found, expected, erased_since as u64) {
            self.lost += 1;
            let (newest, promised) = (self.store.written_seq, self.store.life.synced_seq);
            self.findings.note("pages", || {
                format!(
                    "{found} pages hold something, but {expected} did {when}, and the newest that was found is program {newest} of {promised}: {older}"
                )
            });
        }
        let found = self.store.erases;
        if let Some(expected) = erases.filter(|&expected| !is_possible(found, expected, 0)) {
            self.lost += 1;
            self.findings
                .note("erases", || format!("the blocks have {found} erases, but had {expected} {when}: {older}"));
        }
    }

    fn check_data(mut self) -> Loaded {
        for (page, length, is_promised) in std::mem::take(&mut self.to_check) {
            if self.store.bytes_of(page, length).is_some() {
                continue;
            }
            let logical = self.store.pages.logicals[page];
            if is_promised {
                self.findings.note("page whose data do not pass their checksum", || {
                    format!("page {page} (logical number {logical}): its data do not pass their checksum; it reads as an error")
                });
                continue;
            }
            self.findings.note_host_loss("page whose data had not reached the disk when its host stopped", || {
                format!("page {page} (logical number {logical}): its data had not reached the disk when its host stopped; it was never flushed")
            });
            // For good: later starts will take the page's sequence number for one that is on the
            // disk.
            self.store.write_slot(page, Slot::Torn);
        }
        self.fill_gaps();
        let blocks = used_blocks(&self.store);
        Loaded { store: self.store, blocks, findings: self.findings, lost: self.lost }
    }
}

impl Loading<'_> {
    /// Flash is programmed in order, a disk is not: of what was not synced a later page may be
    /// there without an earlier one. Such a gap is torn, as nobody may take it for the end of what
    /// its block holds. And a summary that speaks of pages that are not there is torn, too, as it
    /// came to the disk before them.
    fn fill_gaps(&mut self) {
        let pages_per_block = self.store.pages_per_block;
        let unpromised = std::mem::take(&mut self.unpromised);
        for of_block in unpromised.chunk_by(|one, other| one.0 / pages_per_block == other.0 / pages_per_block) {
            let states = |store: &FileStore, page: usize| store.pages.states[page];
            let still_there = of_block.iter().filter(|(page, _)| states(&self.store, *page) != PageState::Torn);
            let Some(last) = still_there.map(|(page, _)| *page).max() else { continue };
            let first = last / pages_per_block * pages_per_block;
            for page in (first..last).filter(|&page| states(&self.store, page) == PageState::Erased).collect::<Vec<_>>()
            {
                self.store.write_slot(page, Slot::Torn);
            }
            for &(summary, _) in of_block.iter().filter(|(_, is_summary)| *is_summary) {
                if (first..summary).any(|page| states(&self.store, page) == PageState::Torn) {
                    self.store.write_slot(summary, Slot::Torn);
                }
            }
        }
    }
}

/// What a chip needs to know of each block.
fn used_blocks(store: &FileStore) -> Vec<UsedBlock> {
    let blocks = store.blocks.iter().zip(store.pages.states.chunks(store.pages_per_block));
    let used = blocks.map(|(block, states)| {
        let touched = states.iter().rposition(|&state| state != PageState::Erased).map_or(0, |last| last + 1);
        UsedBlock { next_page: touched as u32, erases: block.erases, is_bad: block.condition == Condition::Bad }
    });
    used.collect()
}

/// Findings of one kind that are told one by one.
const TOLD: usize = 5;

/// What is odd about an image, in sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    damage: Noted,
    host_loss: Noted,
}

/// Findings that were noted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Noted {
    told: Vec<String>,
    /// How many of each kind there are; those that were not told are counted at the end.
    kinds: Vec<(&'static str, usize)>,
}

impl Findings {
    /// Notes damage; after a few findings of one kind they are only counted.
    pub(crate) fn note(&mut self, kind: &'static str, sentence: impl FnOnce() -> String) {
        self.damage.add(kind, sentence);
    }

    /// Notes what a host leaves that loses power while it serves the image.
    pub(crate) fn note_host_loss(&mut self, kind: &'static str, sentence: impl FnOnce() -> String) {
        self.host_loss.add(kind, sentence);
    }

    /// What is damaged, in sentences.
    pub fn damage(&self) -> Vec<String> {
        self.damage.sentences()
    }

    /// What a host that lost power has left, in sentences.
    pub fn host_loss(&self) -> Vec<String> {
        self.host_loss.sentences()
    }

    /// Everything, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        [self.damage(), self.host_loss()].concat()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.damage.count() + self.host_loss.count()
    }
}

impl Noted {
    fn add(&mut self, kind: &'static str, sentence: impl FnOnce() -> String) {
        let position = self.kinds.iter().position(|(known, _)| *known == kind);
        let position = position.unwrap_or_else(|| {
            self.kinds.push((kind, 0));
            self.kinds.len() - 1
        });
        self.kinds[position].1 += 1;
        if self.kinds[position].1 <= TOLD {
            self.told.push(sentence());
        }
    }

    fn sentences(&self) -> Vec<String> {
        let more = self.kinds.iter().filter(|(_, count)| *count > TOLD);
        let more = more.map(|(kind, count)| format!("{} more of the kind: {kind}", count - TOLD));
        self.told.iter().cloned().chain(more).collect()
    }

    fn count(&self) -> usize {
        self.kinds.iter().map(|(_, count)| count).sum()
    }
}
