//! What the file system believes to be a disk: it keeps the file system's own tables, and of the data of files nothing but which pages they are.

use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

use trace::Hint;

use crate::cache::{Cache, Owner};
use crate::page::PAGE_BYTES;

/// Where things lie on a FAT volume, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    /// The first allocation table.
    table: (u64, u64),
    /// Bytes of one of its entries.
    entry: u64,
    /// The first cluster, which has number 2.
    data: u64,
}

/// What is being done, as whoever uses the file system knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Doing {
    pub(crate) file: u32,
    pub(crate) hint: Hint,
}

#[derive(Debug)]
struct State {
    /// The tables, by page; a page that was never written holds zeros.
    tables: Vec<Option<Box<[u8; PAGE_BYTES as usize]>>>,
    layout: Option<Layout>,
    /// The file whose data are read or written now.
    doing: Option<Doing>,
    freed: Vec<u64>,
    cache: Cache,
}

/// The disk, of which there may be several handles.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    state: Rc<RefCell<State>>,
    at: u64,
    bytes: u64,
}

impl Disk {
    /// An empty disk.
    pub(crate) fn new(bytes: u64, cache: Cache) -> Self {
        let pages = (bytes / PAGE_BYTES) as usize;
        let state = State { tables: vec![None; pages], layout: None, doing: None, freed: Vec::new(), cache };
        Self { state: Rc::new(RefCell::new(state)), at: 0, bytes: pages as u64 * PAGE_BYTES }
    }

    /// The volume has been formatted: from now on clusters that are freed are noticed, and data told from tables.
    pub(crate) fn learn_layout(&self) {
        let mut state = self.state.borrow_mut();
        let boot = state.tables[0].as_ref().map_or([0; 64], |page| std::array::from_fn(|at| page[at]));
        let number = |at: usize, bytes: usize| {
            boot[at..at + bytes].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
        };
        let (reserved, tables, root_entries) = (number(14, 2), number(16, 1), number(17, 2));
        let (short, long) = (number(22, 2), number(36, 4));
        let pages = if short > 0 { short } else { long };
        let (start, root_pages) = (reserved * PAGE_BYTES, (root_entries * 32).div_ceil(PAGE_BYTES));
        state.layout = Some(Layout {
            table: (start, start + pages * PAGE_BYTES),
            entry: if short > 0 { 2 } else { 4 },
            data: start + (tables * pages + root_pages) * PAGE_BYTES,
        });
    }

    /// Data of a file are read or written from now on, or tables alone.
    pub(crate) fn set_doing(&self, doing: Option<Doing>) {
        self.state.borrow_mut().doing = doing;
    }

    /// Tells the cache of the clusters that have been freed since.
    pub(crate) fn settle_freed(&self, trims: bool) {
        let mut state = self.state.borrow_mut();
        let freed = std::mem::take(&mut state.freed);
        for &page in &freed {
            state.tables[page as usize] = None;
        }
        state.cache.freed(freed, trims);
    }

    /// Does something with the page cache.
    pub(crate) fn with_cache<T>(&self, what: impl FnOnce(&mut Cache) -> T) -> T {
        what(&mut self.state.borrow_mut().cache)
    }
}

impl State {
    /// The file whose data lie in a page, if it is being read or written.
    fn doing_at(&self, offset: u64) -> Option<Doing> {
        self.doing.filter(|_| self.layout.is_some_and(|layout| offset >= layout.data))
    }

    /// Notices entries of the first table that become 0.
    fn see_freed(&mut self, offset: u64, bytes: &[u8]) {
        let Some(Layout { table: (from, to), entry, data }) = self.layout else { return };
        if !(from..to).contains(&offset) || bytes.len() as u64 != entry {
            return;
        }
        let (page, within) = ((offset / PAGE_BYTES) as usize, (offset % PAGE_BYTES) as usize);
        let old = self.tables[page]
            .as_ref()
            .is_some_and(|page| page[within..within + bytes.len()].iter().any(|&byte| byte != 0));
        let cluster = (offset - from) / entry;
        if old && cluster >= 2 && bytes.iter().all(|&byte| byte == 0) {
            self.freed.push(data / PAGE_BYTES + cluster - 2);
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let page = offset / PAGE_BYTES;
        let (owner, hint): (Owner, Hint) = if let Some(Doing { file, hint }) = self.doing_at(offset) {
            self.tables[page as usize] = None;
            (Some(file), hint)
        } else {
            self.see_freed(offset, bytes);
            let within = (offset % PAGE_BYTES) as usize;
            let table = self.tables[page as usize].get_or_insert_with(|| Box::new([0; PAGE_BYTES as usize]));
            table[within..within + bytes.len()].copy_from_slice(bytes);
            (None, Hint::NONE)
        };
        self.cache.wrote(page, owner, hint);
    }
}

impl Disk {
    /// Bytes of a transfer that begins here: to the end of the page at most.
    fn room(&self, bytes: usize) -> usize {
        let to_end = PAGE_BYTES - self.at % PAGE_BYTES;
        (bytes as u64).min(to_end).min(self.bytes.saturating_sub(self.at)) as usize
    }
}

impl Read for Disk {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.room(into.len());
        let into = &mut into[..length];
        let state = &mut *self.state.borrow_mut();
        let (page, within) = (self.at / PAGE_BYTES, (self.at % PAGE_BYTES) as usize);
        into.fill(0);
        if length == 0 {
            return Ok(0);
        }
        if let Some(Doing { hint, .. }) = state.doing_at(self.at) {
            state.cache.read(page, hint);
        } else if let Some(table) = &state.tables[page as usize] {
            into.copy_from_slice(&table[within..within + length]);
        }
        self.at += length as u64;
        Ok(length)
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.room(bytes.len());
        if length > 0 {
            self.state.borrow_mut().write(self.at, &bytes[..length]);
            self.at += length as u64;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.bytes.checked_add_signed(by),
        };
        self.at = to.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a place before the first byte"))?;
        Ok(self.at)
    }
}
