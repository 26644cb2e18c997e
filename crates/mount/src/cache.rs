//! The page cache: what programs changed waits here until it is made safe, all of it at once.
//!
//! **Making safe** (`commit`). Data of files go to their places, with their hints, and are flushed.
//! Then the tables and folders go to the journal, are flushed, go to their places, are flushed, and
//! the journal is cleared. So whenever the process is killed or the power is cut, the volume is as
//! it was at one of these moments, or the journal makes it so when it is mounted again.
//!
//! **Clusters that were freed** since the last such moment belong to their old file until the next:
//! new data for them go through the journal too, and they are trimmed afterwards. Nothing that a
//! volume still has is overwritten in place by anything but the same file.
//!
//! **A power cut** while the host stays up loses nothing: whatever waits here goes away only when
//! it is safe, and is written again.
//!
//! **When the flash is worn out**, the first write that the device refuses makes the cache
//! read-only for good. What waits stays here and is read from here, so that programs can still copy
//! it, and never becomes safe. A device that refuses writes only once the journal is whole has lost
//! nothing: the next mount reads those pages from the journal.
//!
//! **Without a journal**, on a volume that something else formatted: data, then allocation tables,
//! then folders, with a flush after each. Then a cut may leave clusters that no file has, or a
//! folder half written.

use std::collections::hash_map::{Entry, HashMap};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use fat::{Disk, PAGE_BYTES, Page};
use ftl::Hint;

use crate::device::{Device, DeviceError};
use crate::journal::{BETWEEN_TYPES, Journal};

mod safe;

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
    /// Types of files in the order of their numbers, and as many of them as the volume keeps.
    types: String,
    kept_types: String,
    /// Dirty pages, and clean ones of tables and folders.
    pages: HashMap<u64, Box<Page>>,
    dirty: BTreeMap<u64, Dirty>,
    /// Pages freed since the last successful sync.
    freed: BTreeSet<u64>,
    /// Where the first data of files lie, for writing in order where there is no journal.
    data: u64,
    /// Pages as they were before the operation that is under way, and pages that it freed.
    before: Option<(HashMap<u64, Before>, Vec<u64>)>,
    /// Whether the device has refused a write, and would refuse all others.
    is_worn_out: bool,
    /// Whether the journal holds what does not lie in its place for good.
    is_ahead: bool,
}

impl<V: Device> Cache<V> {
    pub(crate) fn new(device: V) -> Self {
        Self {
            device,
            journal: None,
            types: String::new(),
            kept_types: String::new(),
            pages: HashMap::new(),
            dirty: BTreeMap::new(),
            freed: BTreeSet::new(),
            data: 0,
            before: None,
            is_worn_out: false,
            is_ahead: false,
        }
    }

    /// The pages that the journal alone holds, as they were when it came into use.
    pub(crate) fn into_ahead(self) -> HashMap<u64, Box<Page>> {
        if self.is_ahead { self.pages } else { HashMap::new() }
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

    /// Whether the device has refused a write, and would refuse all others.
    pub(crate) fn is_worn_out(&self) -> bool {
        self.is_worn_out
    }

    /// Whether the latest durable data lie only in the journal.
    pub(crate) fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// Whether nothing can be written.
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_worn_out || self.device.is_read_only()
    }

    /// Whether commits are whole or not there at all.
    pub(crate) fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// Types of files that have a number on the volume, in the order of these.
    pub(crate) fn types(&self) -> impl Iterator<Item = &str> {
        self.types.split(BETWEEN_TYPES).filter(|name| !name.is_empty())
    }

    /// Keeps the types from the next commit on.
    pub(crate) fn set_types<'a>(&mut self, types: impl Iterator<Item = &'a str>) {
        self.types.clear();
        for name in types {
            if !self.types.is_empty() {
                self.types.push(BETWEEN_TYPES);
            }
            self.types.push_str(name);
        }
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
}

/// Does something again as long as the power is cut meanwhile and comes back.
fn again(mut act: impl FnMut() -> Result<(), DeviceError>) -> Result<(), DeviceError> {
    let mut result = act();
    for _ in 0..MOST_CUTS {
        if result != Err(DeviceError::PowerWasCut) {
            break;
        }
        result = act();
    }
    result
}

/// Reads, whether the power was cut before or not: what is read was safe.
fn read(device: &mut impl Device, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
    again(|| device.read(offset, into))
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
