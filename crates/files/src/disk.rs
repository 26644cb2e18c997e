//! What the file system lies on: pages in memory. They hold the file system's own tables and
//! folders; of the data of files nothing is kept but which pages they are.

use std::io;

use fat::{PAGE_BYTES, Page};
use trace::Hint;

use crate::cache::Cache;

/// What lies in a page that was never written.
static ZEROS: Page = [0; PAGE_BYTES];

/// The disk, with the page cache in front of it.
#[derive(Debug)]
pub(crate) struct Disk {
    /// Tables and folders, by page; nothing where data of files are, or where nothing was written.
    tables: Vec<Option<Box<Page>>>,
    /// Pages that belong to no file any more, since [`settle_freed`](Self::settle_freed) last.
    freed: Vec<u64>,
    pub(crate) cache: Cache,
    /// What goes to the drive with tables and folders.
    hint: Hint,
}

impl Disk {
    /// An empty disk of as many whole pages as fit into this many bytes, of whose tables and
    /// folders `hint` is said.
    pub(crate) fn new(bytes: u64, cache: Cache, hint: Hint) -> Self {
        let pages = (bytes / PAGE_BYTES as u64) as usize;
        Self { tables: vec![None; pages], freed: Vec::new(), cache, hint }
    }

    /// Tells the cache of the pages that have been freed since, and trims them if that is wanted.
    pub(crate) fn settle_freed(&mut self, trims: bool) {
        self.freed.sort_unstable();
        self.cache.freed(&self.freed, trims);
        self.freed.clear();
    }

    /// All pages in order.
    #[cfg(test)]
    pub(crate) fn pages(&self) -> impl Iterator<Item = &Page> {
        self.tables.iter().map(|page| page.as_deref().unwrap_or(&ZEROS))
    }
}

impl fat::Disk for Disk {
    fn bytes(&self) -> u64 {
        (self.tables.len() * PAGE_BYTES) as u64
    }

    fn page(&mut self, page: u64) -> io::Result<&Page> {
        Ok(self.tables[page as usize].as_deref().unwrap_or(&ZEROS))
    }

    fn page_mut(&mut self, page: u64) -> io::Result<&mut Page> {
        self.cache.wrote(page, None, self.hint);
        Ok(self.tables[page as usize].get_or_insert_with(|| Box::new(ZEROS)))
    }

    fn new_page(&mut self, page: u64) -> io::Result<&mut Page> {
        self.cache.wrote(page, None, self.hint);
        Ok(self.tables[page as usize].insert(Box::new(ZEROS)))
    }

    fn freed(&mut self, offset: u64, bytes: u64) {
        let page = PAGE_BYTES as u64;
        for freed in offset / page..(offset + bytes) / page {
            self.tables[freed as usize] = None;
            self.freed.push(freed);
        }
    }
}
