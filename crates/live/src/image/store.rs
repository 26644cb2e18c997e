//! A chip's pages in a file: a [`Store`] behind the same referee that judges every simulated chip.
//!
//! It knows where bytes lie and when they are on the disk, and nothing of rules or of translation
//! layers. What a chip asks for again and again (state, logical number and version of each page) is
//! kept in RAM, 17 bytes per page, and one more from the first hint on; data are not.
//!
//! **Killed at any moment.** What was handed to the operating system outlives the process. A
//! program writes the data, and then the two copies of the slot: without a slot the page was never
//! programmed. Both wait (`waiting.rs`), so that neighbours are written at once, until somebody
//! must be able to rely on them ([`FileStore::settle`]): before anyone is told, and before a sync.
//! An erase is a new entry in the block table, with the next epoch.
//!
//! **A host that loses power** keeps what was synced, and of the rest any sectors. Three things
//! follow (`docs/format.md` has the argument). What destroys pages (an erase, a bad block, a failed
//! erase) waits until the programs before it are on the disk, for they may be copies of what it
//! destroys. A block is programmed only when its epoch is on the disk, so no slot of an earlier
//! epoch ever counts over data that are no longer its own. And a page that was programmed after the
//! last sync is believed at the next start only if its data pass their CRC.
//!
//! **What a sync promises** is a number: pages programmed up to it are on the disk. Recovery hands
//! out again whatever numbers it does not find, those of torn pages and of erased blocks. So before
//! a page is programmed whose number is promised already, the promise goes down
//! (`lower_promise`).
//!
//! **A disk that fails** ends the store: the first error is kept, and the chip behaves as one
//! without power. Recovery from there is what translation layers are for. A read that fails loses a
//! page, as on flash.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use flash::{FaultableStore, FaultyChip, PageData, Role, Spoilt, Store, Tag};

use super::blocks::{Block, Condition};
use super::file::{DiskOp, ImageFile};
use super::image_layout::ImageLayout;
use super::life::{Counters, Life, LifeSlots};
use super::page_tags::{Body, SLOT_BYTES, Slot, Written, decode, encode};
use super::read_ahead::ReadAhead;
use super::waiting::{Run, Waiting};

/// The chip of an image.
pub type LiveChip = FaultyChip<FileStore>;

/// Pages in a file.
pub struct FileStore {
    pub(super) file: ImageFile,
    pub(super) places: ImageLayout,
    pub(super) page_bytes: usize,
    pub(super) pages: Pages,
    pub(super) blocks: Vec<Block>,
    pub(super) pages_per_block: usize,
    pub(super) life: Life,
    pub(super) life_slots: LifeSlots,
    /// The sequence number of the last program; of an image that was just read, the highest one
    /// found.
    pub(super) written_seq: u64,
    /// The lowest sequence number programmed since the last sync.
    pub(super) lowest_unsynced: Option<u64>,
    /// Erases of all blocks.
    pub(super) erases: u64,
    /// Whether anything was handed over since the last sync.
    pub(super) is_dirty: bool,
    /// The last page that was programmed since the last sync.
    pub(super) unsynced_page: Option<usize>,
    /// Blocks whose epoch may not be on the disk.
    pub(super) unsynced_erases: BTreeSet<usize>,
    /// Blocks that were erased and whose data still take room, the longest erased first.
    pub(super) full_erased: VecDeque<usize>,
    pub(super) failure: Option<String>,
    /// Bytes of the translation layer's own for the page that it programs next.
    pub(super) loading: Option<(usize, Vec<u8>)>,
    /// What waits to be handed over.
    pub(super) waiting: Waiting,
    /// What will be read soon.
    pub(super) ahead: RefCell<ReadAhead>,
    /// What was read last, and its CRC: a copy of it has the same.
    pub(super) last_read: Cell<Option<(Bytes, u32)>>,
    /// Copies that were found damaged or behind, and what belongs there: written when the device is
    /// switched on.
    pub(super) repairs: Vec<(u64, Vec<u8>)>,
}

impl FileStore {
    /// Why nothing more can be kept, if that is so.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// What was handed to the disk, if that is recorded.
    pub fn disk_ops(&self) -> &[DiskOp] {
        self.file.disk_ops()
    }

    /// Everything programmed so far is handed to the operating system, so that it outlives the
    /// process; false if that failed.
    pub fn settle(&mut self) -> bool {
        for Run { first, content } in self.waiting.take_data(self.page_bytes) {
            self.unless_failed(|store| store.file.write_all(&content, store.places.data(first)));
        }
        for Run { first, content } in self.waiting.take_slots() {
            for offset in self.places.slot(first) {
                self.write(&content, offset);
            }
        }
        self.failure.is_none()
    }

    /// Whether the image is only read: nothing that happens reaches it.
    pub fn is_read_only(&self) -> bool {
        self.file.is_read_only()
    }

    /// Counts over the device's life, up to the last sync.
    pub fn counters(&self) -> &Counters {
        &self.life.counters
    }

    /// How often the device was switched on.
    pub fn starts(&self) -> u64 {
        self.life.starts
    }

    /// The logical numbers of pages that hold host data, or held them before something newer was
    /// written: a page that is not among them was never written.
    pub(crate) fn logical_numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let holds = |state: &PageState| matches!(state, PageState::Data | PageState::Lost | PageState::Decayed);
        self.pages
            .states
            .iter()
            .zip(&self.pages.logicals)
            .filter(move |(state, _)| holds(state))
            .map(|(_, &logical)| logical)
    }

    /// Whether any page was ever programmed or torn.
    pub(crate) fn is_untouched(&self) -> bool {
        self.life.starts == 0 && self.pages.states.iter().all(|&state| state == PageState::Erased)
    }

    pub(super) fn keep_failure(&mut self, result: io::Result<()>) {
        if let Err(error) = result
            && self.failure.is_none()
        {
            self.failure = Some(error.to_string());
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: u64) {
        self.unless_failed(|store| store.file.write(bytes, offset));
    }

    fn unless_failed(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.failure.is_none() {
            self.is_dirty = true;
            let result = write(self);
            self.keep_failure(result);
        }
    }

    /// A slot speaks of its block's epoch, which must be on the disk before it: a slot that is
    /// ahead of the block's entry is damage.
    pub(super) fn write_slot(&mut self, page: usize, slot: Slot) {
        self.epoch_reaches_disk(page);
        self.queue_slot(page, slot);
        self.pages.set(page, slot);
    }

    fn epoch_reaches_disk(&mut self, page: usize) {
        if self.unsynced_erases.contains(&(page / self.pages_per_block)) {
            self.reach_disk();
        }
    }

    fn queue_slot(&mut self, page: usize, slot: Slot) {
        self.waiting.add_slot(page, encode(page, self.epoch(page), slot));
        if self.waiting.is_full() {
            self.settle();
        }
    }

    fn write_block(&mut self, block: usize, entry: Block) {
        let entry = Block { since: self.life_slots.generation(), ..entry };
        self.erases += u64::from(entry.erases - self.blocks[block].erases);
        self.blocks[block] = entry;
        for offset in self.places.block(block) {
            self.write(&entry.encode(block), offset);
        }
    }

    fn epoch(&self, page: usize) -> u32 {
        self.blocks[page / self.pages_per_block].erases
    }

    fn slot(&self, page: usize) -> Option<Slot> {
        let current = |bytes: &[u8; SLOT_BYTES]| match decode(page, bytes) {
            Written::Slot(epoch, slot) if epoch == self.epoch(page) => Some(slot),
            _ => None,
        };
        if let Some(bytes) = self.waiting.slot(page) {
            return current(bytes);
        }
        self.places.slot(page).into_iter().find_map(|offset| {
            let mut bytes = [0; SLOT_BYTES];
            self.file.read_exact_at(&mut bytes, offset).ok()?;
            current(&bytes)
        })
    }

    /// The first bytes of a page's data area, if they pass their CRC.
    pub(super) fn bytes_of(&self, page: usize, length: usize) -> Option<Bytes> {
        if length > self.page_bytes {
            return None;
        }
        if let Some(waiting) = self.waiting.data(page) {
            return Some(waiting.slice(..length));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, self.places.data(page)).ok()?;
        self.passes_crc(page, &bytes).then(|| bytes.into())
    }

    fn passes_crc(&self, page: usize, bytes: &[u8]) -> bool {
        crc32c::crc32c(bytes) == self.pages.data_crcs[page]
    }

    /// A page's host data; those of pages that will be read next are read with them.
    fn host_data(&self, page: usize) -> Option<Bytes> {
        let mut ahead = self.ahead.borrow_mut();
        if let Some(data) = ahead.take(page).filter(|data| self.passes_crc(page, data)) {
            return Some(data);
        }
        let pages = ahead.take_run(page);
        if pages > 1 && self.waiting.data(page).is_none() {
            let mut run = vec![0; pages * self.page_bytes];
            if self.file.read_exact_at(&mut run, self.places.data(page)).is_ok() {
                let run = Bytes::from(run);
                ahead.keep(page, &run, self.page_bytes);
                let first = run.slice(..self.page_bytes);
                if self.passes_crc(page, &first) {
                    return Some(first);
                }
            }
        }
        self.bytes_of(page, self.page_bytes)
    }

    /// The CRC of a page's data, which may be what was read last.
    fn crc_of(&self, data: &Bytes) -> u32 {
        match self.last_read.take() {
            Some((read, crc)) if read.as_ptr() == data.as_ptr() && read.len() == data.len() => crc,
            _ => crc32c::crc32c(data),
        }
    }
}

impl Store for FileStore {
    type Data = PageData;

    fn logical(&self, page: usize) -> Option<u32> {
        match self.pages.states[page] {
            PageState::Data | PageState::Empty | PageState::Own | PageState::Lost | PageState::Decayed => {
                Some(self.pages.logicals[page])
            }
            PageState::Erased | PageState::Torn | PageState::Unstable => None,
        }
    }

    fn tag(&self, page: usize) -> Option<Tag> {
        use PageState::{Data, Empty, Lost, Own};
        if !matches!(self.pages.states[page], Data | Empty | Own | Lost) {
            return None;
        }
        match self.slot(page) {
            Some(Slot::Programmed(tag, _)) => Some(tag),
            _ => None,
        }
    }

    fn is_torn(&self, page: usize) -> bool {
        matches!(self.pages.states[page], PageState::Torn | PageState::Lost | PageState::Decayed)
    }

    fn is_clean(&self, page: usize) -> bool {
        self.pages.states[page] == PageState::Erased
    }

    fn content(&self, page: usize) -> Option<(u64, PageData)> {
        let data = match self.pages.states[page] {
            PageState::Data => {
                let data = self.host_data(page)?;
                self.last_read.set(Some((data.clone(), self.pages.data_crcs[page])));
                data
            }
            PageState::Empty | PageState::Own => Bytes::new(),
            _ => return None,
        };
        Some((self.pages.versions[page], data.into()))
    }

    fn hint(&self, page: usize) -> u8 {
        self.pages.hints.get(page).copied().unwrap_or(0)
    }

    fn program(&mut self, page: usize, tag: &Tag, data: PageData) {
        let data = data.into_bytes();
        self.epoch_reaches_disk(page);
        if tag.seq <= self.life.synced_seq {
            self.lower_promise(tag.seq.saturating_sub(1));
        }
        let own = self.loading.take_if(|(loaded, _)| *loaded == page).map(|(_, bytes)| bytes);
        let body = match own {
            None if data.is_empty() => Body::None,
            None => {
                assert_eq!(data.len(), self.page_bytes, "a page is programmed whole");
                let crc = self.crc_of(&data);
                self.waiting.add_data(page, data);
                Body::Data { crc }
            }
            Some(own) => {
                assert!(
                    data.is_empty(),
                    "a page holds data of the host or bytes of the translation layer's own, not both"
                );
                let body = Body::Own { crc: crc32c::crc32c(&own), length: own.len() as u32 };
                self.waiting.add_data(page, own.into());
                body
            }
        };
        self.write_slot(page, Slot::Programmed(*tag, body));
        self.written_seq = tag.seq;
        self.lowest_unsynced = Some(self.lowest_unsynced.map_or(tag.seq, |lowest| lowest.min(tag.seq)));
        self.unsynced_page = Some(page);
    }

    fn erase(&mut self, pages: Range<usize>) {
        self.settle();
        self.before_destroying();
        let block = pages.start / self.pages_per_block;
        let erases = self.blocks[block].erases.saturating_add(1);
        self.write_block(block, Block { erases, condition: Condition::Good, ..self.blocks[block] });
        self.unsynced_erases.insert(block);
        self.pages.erase(pages);
        self.ahead.get_mut().forget();
    }

    fn expect_reads(&mut self, pages: impl Iterator<Item = usize>) {
        self.ahead.get_mut().expect(pages);
    }

    fn load(&mut self, page: usize, bytes: &[u8]) {
        self.loading = Some((page, bytes.to_vec()));
    }

    fn loaded(&self, page: usize) -> Option<Arc<[u8]>> {
        if self.pages.states[page] != PageState::Own {
            return None;
        }
        let Some(Slot::Programmed(_, Body::Own { length, .. })) = self.slot(page) else { return None };
        self.bytes_of(page, length as usize).map(|bytes| Arc::from(&*bytes))
    }

    fn spoil(&mut self, pages: Range<usize>) {
        self.before_destroying();
        for page in pages {
            self.write_slot(page, Slot::Torn);
        }
    }

    fn retire(&mut self, pages: Range<usize>) {
        self.settle();
        self.before_destroying();
        let block = pages.start / self.pages_per_block;
        let entry = Block { condition: Condition::Bad, ..self.blocks[block] };
        self.write_block(block, entry);
    }

    fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

impl FaultableStore for FileStore {
    fn spoil_page(&mut self, page: usize, how: Spoilt) {
        // A page that was just programmed is not a copy of anything that it destroys.
        if self.logical(page).is_some() && self.unsynced_page != Some(page) {
            self.before_destroying();
        }
        match how {
            Spoilt::Torn => self.write_slot(page, Slot::Torn),
            Spoilt::Unstable => self.write_slot(page, Slot::Unstable),
            Spoilt::Decayed if self.logical(page).is_some() => {
                // In RAM the logical number is still known; a later start finds a slot that says
                // nothing.
                self.queue_slot(page, Slot::Torn);
                self.pages.states[page] = PageState::Decayed;
            }
            Spoilt::Decayed => {}
        }
    }
}

/// State of a page, one byte in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageState {
    Erased,
    /// Programmed with data.
    Data,
    /// Programmed without data: reads as zeros.
    Empty,
    /// Programmed with bytes of the translation layer's own: reads as zeros, too.
    Own,
    /// Programmed as lost: reads as an error.
    Lost,
    Torn,
    Unstable,
    Decayed,
}

/// What the store knows of every page without asking the file.
#[derive(Default)]
pub(super) struct Pages {
    pub(super) states: Vec<PageState>,
    pub(super) logicals: Vec<u32>,
    pub(super) versions: Vec<u64>,
    pub(super) data_crcs: Vec<u32>,
    /// Empty as long as no page has had a hint.
    pub(super) hints: Vec<u8>,
    /// How many are not erased.
    pub(super) touched: u64,
}

impl Pages {
    pub(super) fn erased(pages: usize) -> Self {
        Self {
            states: vec![PageState::Erased; pages],
            logicals: vec![0; pages],
            versions: vec![0; pages],
            data_crcs: vec![0; pages],
            hints: Vec::new(),
            touched: 0,
        }
    }

    pub(super) fn erase(&mut self, pages: Range<usize>) {
        let states = &mut self.states[pages];
        self.touched -= states.iter().filter(|&&state| state != PageState::Erased).count() as u64;
        states.fill(PageState::Erased);
    }

    pub(super) fn set(&mut self, page: usize, slot: Slot) {
        let was_erased = self.states[page] == PageState::Erased;
        let state = match slot {
            Slot::Erased => PageState::Erased,
            Slot::Unstable => PageState::Unstable,
            Slot::Torn => PageState::Torn,
            Slot::Programmed(Tag { role: Role::Lost, .. }, _) => PageState::Lost,
            Slot::Programmed(_, Body::None) => PageState::Empty,
            Slot::Programmed(_, Body::Data { .. }) => PageState::Data,
            Slot::Programmed(_, Body::Own { .. }) => PageState::Own,
        };
        self.states[page] = state;
        match (was_erased, state == PageState::Erased) {
            (true, false) => self.touched += 1,
            (false, true) => self.touched -= 1,
            _ => {}
        }
        if let Slot::Programmed(tag, body) = slot {
            if tag.hint != 0 && self.hints.is_empty() {
                self.hints = vec![0; self.states.len()];
            }
            if let Some(hint) = self.hints.get_mut(page) {
                *hint = tag.hint;
            }
            self.logicals[page] = tag.logical;
            self.versions[page] = tag.version;
            self.data_crcs[page] = match body {
                Body::None => 0,
                Body::Data { crc } | Body::Own { crc, .. } => crc,
            };
        }
    }
}
