//! The page cache: what programs changed waits here until it is made safe, all of it at once.
//!
//! **Making safe** (`commit`). Data of files go to their places, with their hints, and are flushed. Then the tables and folders go to the journal, are
//! flushed, go to their places, are flushed, and the journal is cleared. So whenever the process is killed or the power is cut, the volume is as it
//! was at one of these moments, or the journal makes it so when it is mounted again.
//!
//! **Clusters that were freed** since the last such moment belong to their old file until the next: new data for them go through the
//! journal too, and they are trimmed afterwards. Nothing that a volume still has is overwritten in place by anything but the same file.
//!
//! **A power cut** while the host stays up loses nothing: whatever waits here goes away only when it is safe, and is written again.
//!
//! **Without a journal**, on a volume that something else formatted: data, then allocation tables, then folders, with a flush after each. Then a
//! cut may leave clusters that no file has, or a folder half written.

use std::collections::hash_map::{Entry, HashMap};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use bytes::Bytes;
use fat::{Disk, PAGE_BYTES, Page};
use ftl::Hint;

use crate::device::{Device, DeviceError};
use crate::journal::Journal;

/// Dirty pages from which on everything is made safe without being asked: 16 MiB.
const MOST_DIRTY: usize = 4096;
/// Pages for the journal from which on it is: half of what it has room for beside all tables.
const MOST_JOURNALED: usize = 512;
/// Room of a journal beside the pages of all tables, which one operation may change.
pub(crate) const JOURNAL_ROOM: usize = 1024;
/// Clean pages of tables that are kept: 64 MiB.
const MOST_CLEAN: usize = 16_384;
/// Pages of a write to the device.
const MOST_PAGES: usize = 128;
/// Power cuts during one commit after which it fails.
const MOST_CUTS: usize = 16;
const PAGE: u64 = PAGE_BYTES as u64;

/// A page that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dirty {
    hint: Hint,
    /// Whether it is of a table or a folder.
    is_table: bool,
}

/// What a page was before the operation that is under way.
type Before = (Option<Box<Page>>, Option<Dirty>);

/// The cache of a device.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    device: V,
    journal: Option<Journal>,
    /// Dirty pages, and clean ones of tables and folders.
    pages: HashMap<u64, Box<Page>>,
    dirty: BTreeMap<u64, Dirty>,
    /// Pages that were freed since everything was safe.
    freed: BTreeSet<u64>,
    /// Where the first data of files lie, for writing in order where there is no journal.
    data: u64,
    /// Pages as they were before the operation that is under way, and pages that it freed.
    before: Option<(HashMap<u64, Before>, Vec<u64>)>,
}

impl<V: Device> Cache<V> {
    pub(crate) fn new(device: V) -> Self {
        Self {
            device,
            journal: None,
            pages: HashMap::new(),
            dirty: BTreeMap::new(),
            freed: BTreeSet::new(),
            data: 0,
            before: None,
        }
    }

    /// The device; what waits is lost.
    pub(crate) fn into_device(self) -> V {
        self.device
    }

    pub(crate) fn device_mut(&mut self) -> &mut V {
        &mut self.device
    }

    pub(crate) fn device(&self) -> &V {
        &self.device
    }

    /// Commits go through this journal from now on. What it holds comes first: in place, or in memory where nothing can be written.
    pub(crate) fn use_journal(&mut self, journal: Journal) -> Result<(), DeviceError> {
        let pages = journal.read(&mut self.device)?;
        if self.device.is_read_only() {
            self.pages.extend(pages);
            return Ok(());
        }
        if !pages.is_empty() {
            self.pages.clear();
            for (number, page) in &pages {
                self.device.write(number * PAGE, Bytes::copy_from_slice(&page[..]), Hint::NONE)?;
            }
            self.device.flush()?;
            journal.clear(&mut self.device)?;
            self.device.flush()?;
        }
        self.journal = Some(journal);
        Ok(())
    }

    /// Whether commits are whole or not there at all.
    pub(crate) fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// Data of files begin here.
    pub(crate) fn set_data(&mut self, offset: u64) {
        self.data = offset;
    }

    /// Whether anything waits.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty() || !self.freed.is_empty()
    }

    /// Whether so much waits that it should be made safe.
    pub(crate) fn is_full(&self) -> bool {
        let waiting = self.dirty.len();
        waiting > MOST_DIRTY || (waiting > MOST_JOURNALED && self.journaled().count() > MOST_JOURNALED)
    }

    /// An operation begins, which is taken back as a whole if it fails.
    pub(crate) fn begin(&mut self) {
        self.before = Some((HashMap::new(), Vec::new()));
    }

    /// It has succeeded.
    pub(crate) fn end(&mut self) {
        self.before = None;
    }

    /// It has failed: all pages are as they were.
    pub(crate) fn take_back(&mut self) {
        let Some((before, freed)) = self.before.take() else { return };
        for (page, (bytes, dirty)) in before {
            match bytes {
                Some(bytes) => self.pages.insert(page, bytes),
                None => self.pages.remove(&page),
            };
            match dirty {
                Some(dirty) => self.dirty.insert(page, dirty),
                None => self.dirty.remove(&page),
            };
        }
        for page in freed {
            self.freed.remove(&page);
        }
    }

    /// Remembers what a page was before the operation.
    fn remember(&mut self, page: u64) {
        if let Some((before, _)) = &mut self.before
            && let Entry::Vacant(place) = before.entry(page)
        {
            place.insert((self.pages.get(&page).cloned(), self.dirty.get(&page).copied()));
        }
    }

    fn load(&mut self, page: u64) -> Result<&mut Page, DeviceError> {
        match self.pages.entry(page) {
            Entry::Occupied(there) => Ok(there.into_mut()),
            Entry::Vacant(place) => {
                let mut bytes = Box::new([0; PAGE_BYTES]);
                read(&mut self.device, page * PAGE, &mut bytes[..])?;
                Ok(place.insert(bytes))
            }
        }
    }

    fn mark(&mut self, page: u64, hint: Hint, is_table: bool) {
        let dirty = self.dirty.entry(page).or_insert(Dirty { hint, is_table });
        dirty.is_table |= is_table;
        if !dirty.is_table {
            dirty.hint = hint;
        }
    }

    /// Reads data of a file.
    pub(crate) fn read_data(&mut self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        let mut at = 0;
        while at < into.len() {
            let part = |at: usize| {
                let from = offset + at as u64;
                (from / PAGE, (from % PAGE) as usize, ((PAGE - from % PAGE) as usize).min(into.len() - at))
            };
            let (page, within, length) = part(at);
            if let Some(bytes) = self.pages.get(&page) {
                into[at..at + length].copy_from_slice(&bytes[within..within + length]);
                at += length;
                continue;
            }
            let mut end = at + length;
            while end < into.len() && !self.pages.contains_key(&part(end).0) {
                end += part(end).2;
            }
            read(&mut self.device, offset + at as u64, &mut into[at..end])?;
            at = end;
        }
        Ok(())
    }

    /// Writes data of a file within a page; `is_new` where nothing of what the page held is wanted.
    pub(crate) fn write_data(
        &mut self,
        offset: u64,
        bytes: &[u8],
        hint: Hint,
        is_new: bool,
    ) -> Result<(), DeviceError> {
        let (page, within) = (offset / PAGE, (offset % PAGE) as usize);
        self.remember(page);
        let place = if is_new || bytes.len() == PAGE_BYTES {
            let place = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE_BYTES]));
            if is_new {
                place.fill(0);
            }
            place
        } else {
            self.load(page)?
        };
        place[within..within + bytes.len()].copy_from_slice(bytes);
        self.mark(page, hint, false);
        Ok(())
    }

    /// Pages that must go through the journal: tables, and whatever lies where something was freed.
    fn journaled(&self) -> impl Iterator<Item = u64> {
        let must = |(page, dirty): (&u64, &Dirty)| (dirty.is_table || self.freed.contains(page)).then_some(*page);
        self.dirty.iter().filter_map(must)
    }

    /// Makes safe whatever waits.
    pub(crate) fn commit(&mut self) -> Result<(), DeviceError> {
        if !self.is_dirty() {
            return Ok(());
        }
        let mut result = self.write_all();
        for _ in 0..MOST_CUTS {
            if result != Err(DeviceError::PowerWasCut) {
                break;
            }
            result = self.write_all();
        }
        result?;
        self.trim_freed();
        let dirty = std::mem::take(&mut self.dirty);
        for page in dirty.into_iter().filter(|(_, dirty)| !dirty.is_table).map(|(page, _)| page) {
            self.pages.remove(&page);
        }
        if self.pages.len() > MOST_CLEAN {
            self.pages.clear();
        }
        Ok(())
    }

    fn write_all(&mut self) -> Result<(), DeviceError> {
        let tables: Vec<u64> = if self.journal.is_some() {
            self.journaled().collect()
        } else {
            self.dirty.iter().filter(|(_, dirty)| dirty.is_table).map(|(&page, _)| page).collect()
        };
        let is_table = |page: &u64| tables.binary_search(page).is_ok();
        let data: Vec<u64> = self.dirty.keys().copied().filter(|page| !is_table(page)).collect();
        if !data.is_empty() {
            self.write_pages(&data)?;
            self.device.flush()?;
        }
        if tables.is_empty() {
            return Ok(());
        }
        let Some(journal) = self.journal else {
            let (first, others) = tables.split_at(tables.partition_point(|page| page * PAGE < self.data));
            self.write_pages(first)?;
            self.device.flush()?;
            self.write_pages(others)?;
            return self.device.flush();
        };
        if tables.len() > journal.room {
            return Err(DeviceError::TooMuch);
        }
        let pages: Vec<_> = tables.iter().map(|page| (*page, &*self.pages[page])).collect();
        journal.write(&mut self.device, &pages)?;
        self.device.flush()?;
        self.write_pages(&tables)?;
        self.device.flush()?;
        journal.clear(&mut self.device)
    }

    /// Writes pages in place, neighbours of one hint together.
    fn write_pages(&mut self, pages: &[u64]) -> Result<(), DeviceError> {
        let hint = |page: &u64| self.dirty[page].hint;
        let runs: Vec<_> = pages
            .chunk_by(|one, next| one + 1 == *next && hint(one) == hint(next))
            .map(|run| (run, hint(&run[0])))
            .collect();
        for (run, hint) in runs {
            for part in run.chunks(MOST_PAGES) {
                let bytes: Vec<u8> = part.iter().flat_map(|page| self.pages[page].iter().copied()).collect();
                self.device.write(part[0] * PAGE, bytes.into(), hint)?;
            }
        }
        Ok(())
    }

    /// Has the device forget what no file has any more. What it does not forget costs it something, and nobody else.
    fn trim_freed(&mut self) {
        let freed: Vec<u64> =
            std::mem::take(&mut self.freed).into_iter().filter(|page| !self.dirty.contains_key(page)).collect();
        for run in freed.chunk_by(|one, next| one + 1 == *next) {
            for part in run.chunks(1 << 16) {
                let _ = self.device.trim(part[0] * PAGE, (part.len() * PAGE_BYTES) as u32);
            }
        }
    }
}

/// Reads, whether the power was cut before or not: what is read was safe.
fn read(device: &mut impl Device, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
    let mut result = device.read(offset, into);
    for _ in 0..MOST_CUTS {
        if result != Err(DeviceError::PowerWasCut) {
            break;
        }
        result = device.read(offset, into);
    }
    result
}

impl<V: Device> Disk for Cache<V> {
    fn bytes(&self) -> u64 {
        self.device.bytes()
    }

    fn page(&mut self, page: u64) -> io::Result<&Page> {
        Ok(self.load(page)?)
    }

    fn page_mut(&mut self, page: u64) -> io::Result<&mut Page> {
        self.load(page)?;
        self.remember(page);
        self.mark(page, Hint::NONE, true);
        Ok(self.load(page)?)
    }

    fn new_page(&mut self, page: u64) -> io::Result<&mut Page> {
        self.remember(page);
        self.mark(page, Hint::NONE, true);
        let bytes = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE_BYTES]));
        bytes.fill(0);
        Ok(bytes)
    }

    fn freed(&mut self, offset: u64, bytes: u64) {
        for page in offset.div_ceil(PAGE)..(offset + bytes) / PAGE {
            self.remember(page);
            self.pages.remove(&page);
            self.dirty.remove(&page);
            if self.freed.insert(page)
                && let Some((_, freed)) = &mut self.before
            {
                freed.push(page);
            }
        }
    }
}
