//! What is done with a file: open, read, write, change its length and attributes.

use analyzer::Event;
use fat::{Chain, Entry, FatError, MOST_FILE_BYTES, PAGE_BYTES, Stamp};
use ftl::Hint;

use super::Tree;
use super::attributes::now;
use super::attributes::{Attributes, Changes, ROOT};
use crate::device::Device;
use crate::error::FileError;

/// What is written where a file grows without being written to.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Bytes by which a file grows before what waits may be made safe: less than a journal has room for
/// beside all tables.
const GROWN_AT_ONCE: u64 = 1 << 20;

impl<V: Device> Tree<V> {
    /// Opens a file: counts the handle, and tells the analyzer.
    pub fn open(&mut self, number: u64) -> Result<(), FileError> {
        let node = self.node_mut(number)?;
        if node.entry.is_folder() {
            return Err(FileError::IsFolder);
        }
        node.opens += 1;
        if !node.is_removed {
            self.tell(Event::Open, number);
        }
        Ok(())
    }

    /// A program closes one of its handles of a file, and is told what becomes of what it wrote.
    ///
    /// As on any file system that makes nothing safe. But where the flash is nearly worn out, it
    /// does, since later nobody could be told that the flash refused it.
    pub fn flush(&mut self, number: u64) -> Result<(), FileError> {
        if self.is_owed(number) && !self.is_read_only() && self.volume.disk().device().is_nearly_worn_out() {
            return self.sync_one(number);
        }
        if self.is_kept(number) { Ok(()) } else { Err(FileError::ReadOnly) }
    }

    /// Reads from a file, to its end at most.
    pub fn read(&mut self, number: u64, offset: u64, length: u32) -> Result<Vec<u8>, FileError> {
        let entry = self.file(number)?.clone();
        let left = u64::from(entry.bytes).saturating_sub(offset);
        let length = left.min(length.into());
        let chain = self.chain(number)?;
        let ranges = self.volume.ranges(&chain, offset, length);
        self.keep_chain(number, chain);
        let mut bytes = vec![0; length as usize];
        let mut rest = &mut bytes[..];
        for (from, length) in ranges {
            let (part, behind) = rest.split_at_mut(length as usize);
            self.volume.disk_mut().read_data(from, part)?;
            rest = behind;
        }
        Ok(bytes)
    }

    /// Writes to a file, which grows if need be; what lies between its end and the first byte
    /// becomes zeros.
    pub fn write(&mut self, number: u64, offset: u64, data: &[u8]) -> Result<(), FileError> {
        let node = self.node(number)?;
        let (entry, is_removed) = (self.file(number)?.clone(), node.is_removed);
        if data.is_empty() {
            return Ok(());
        }
        if !is_removed {
            let event = if offset < entry.bytes.into() { Event::Rewrite } else { Event::Append };
            self.tell(event, number);
        }
        let hint = self.rating.hint(&entry.name, entry.is_read_only);
        let before = u64::from(entry.bytes);
        self.grow(number, offset)?;
        let result = self.alter(number, |tree, entry, chain| {
            let (old, end) = (u64::from(entry.bytes), offset + data.len() as u64);
            if end > old {
                tree.volume.resize(entry, chain, end)?;
            }
            entry.modified = now();
            tree.put(chain, (offset, data), old, hint)
        });
        if result.is_ok() {
            self.owed.changed(number, data.len() as u64);
        }
        if result.is_err() && before < offset {
            self.shrink_back(number, before);
        }
        result
    }

    /// Changes attributes of a file or folder; of a folder only when it was changed.
    pub fn set(&mut self, number: u64, changes: Changes) -> Result<Attributes, FileError> {
        if self.is_read_only() && changes != Changes::default() {
            return Err(FileError::ReadOnly);
        }
        if number == ROOT {
            if let Some(seconds) = changes.modified {
                self.times.set(ROOT, seconds);
            }
            return self.attributes(number);
        }
        if let Some(bytes) = changes.bytes {
            self.resize(number, bytes)?;
        }
        let node = self.node(number)?;
        let (before, is_folder) = (node.entry.clone(), node.entry.is_folder());
        let is_read_only = changes.is_read_only.filter(|&is| !is_folder && is != node.entry.is_read_only);
        if is_read_only.is_some() || changes.modified.is_some() {
            self.alter(number, |_, entry, _| {
                entry.is_read_only = is_read_only.unwrap_or(entry.is_read_only);
                entry.modified = changes.modified.map_or(entry.modified, Stamp::of_unix);
                Ok(())
            })?;
        }
        if let Some(seconds) = changes.modified {
            self.times.set(number, seconds);
        }
        if is_read_only.is_some() && !self.node(number)?.is_removed {
            self.tell(Event::SetReadOnly, number);
            self.retype(number, (&before.name, before.is_read_only));
        }
        self.attributes(number)
    }

    fn resize(&mut self, number: u64, bytes: u64) -> Result<(), FileError> {
        self.grow(number, bytes)?;
        self.alter(number, |tree, entry, chain| {
            if bytes < entry.bytes.into() {
                tree.volume.resize(entry, chain, bytes)?;
            }
            entry.modified = now();
            Ok(())
        })
    }

    /// Gives a file zeros up to a length, if it is shorter, or leaves it as it is. What has grown
    /// may be made safe on the way: all at once would be more than a journal has room for.
    fn grow(&mut self, number: u64, bytes: u64) -> Result<(), FileError> {
        let old = u64::from(self.file(number)?.bytes);
        if bytes > MOST_FILE_BYTES {
            return Err(FatError::LongFile.into());
        }
        let cluster_bytes = u64::from(self.volume.shape().cluster_bytes);
        let wanted = bytes.div_ceil(cluster_bytes).saturating_sub(old.div_ceil(cluster_bytes));
        if wanted > self.volume.free_clusters().into() {
            return Err(FatError::Full.into());
        }
        // Its clusters are known from step to step, as of any open file.
        self.node_mut(number)?.opens += 1;
        let mut at = old;
        let mut result = Ok(());
        while at < bytes && result.is_ok() {
            let whole = bytes - bytes % GROWN_AT_ONCE;
            if at.is_multiple_of(GROWN_AT_ONCE) && at < whole {
                at = whole;
                result = self.grow_by_zeroing(number, whole);
            } else {
                at = (at + GROWN_AT_ONCE - at % GROWN_AT_ONCE).min(bytes);
                result = self.grow_at_once(number, at);
            }
        }
        if result.is_err() {
            self.shrink_back(number, old);
        }
        let node = self.node_mut(number)?;
        node.opens -= 1;
        if node.opens == 0 {
            node.chain = None;
        }
        result
    }

    fn grow_at_once(&mut self, number: u64, bytes: u64) -> Result<(), FileError> {
        let entry = self.file(number)?;
        let hint = self.rating.hint(&entry.name, entry.is_read_only);
        self.alter(number, |tree, entry, chain| {
            let old = u64::from(entry.bytes);
            tree.volume.resize(entry, chain, bytes)?;
            let mut at = old;
            while at < bytes {
                let part = (bytes - at).min(ZEROS.len() as u64);
                tree.put(chain, (at, &ZEROS[..part as usize]), old, hint)?;
                at += part;
            }
            Ok(())
        })
    }

    /// Gives a file whole clusters that the device makes zeros, by trims as far as it can.
    /// Everything is made safe before, so that none of them is part of a file that is there again
    /// after a power cut; then nobody misses what they held.
    fn grow_by_zeroing(&mut self, number: u64, bytes: u64) -> Result<(), FileError> {
        self.sync()?;
        let entry = self.file(number)?;
        let hint = self.rating.hint(&entry.name, entry.is_read_only);
        self.alter(number, |tree, entry, chain| {
            let old = u64::from(entry.bytes);
            tree.volume.resize(entry, chain, bytes)?;
            let ranges = tree.volume.ranges(chain, old, bytes - old);
            Ok(tree.volume.disk_mut().zero(&ranges, hint)?)
        })
    }

    /// An operation has failed after the file had grown for it. Where nothing can be changed any
    /// more, it stays longer.
    fn shrink_back(&mut self, number: u64, old: u64) {
        let _ = self.alter(number, |tree, entry, chain| {
            if old < entry.bytes.into() {
                tree.volume.resize(entry, chain, old)?;
            }
            Ok(())
        });
    }

    /// Writes bytes that lie within a file, which had this many before.
    fn put(&mut self, chain: &Chain, (offset, data): (u64, &[u8]), old: u64, hint: Hint) -> Result<(), FileError> {
        let page = PAGE_BYTES as u64;
        let is_paged = self.volume.shape().is_paged();
        let mut at = 0;
        for (mut from, length) in self.volume.ranges(chain, offset, data.len() as u64) {
            let end = from + length;
            while from < end {
                let part = ((page - from % page).min(end - from)) as usize;
                let begin = offset + at as u64;
                let is_new = is_paged && begin / page * page >= old && begin.is_multiple_of(page);
                self.volume.disk_mut().write_data(from, &data[at..at + part], hint, is_new)?;
                from += part as u64;
                at += part;
            }
        }
        Ok(())
    }

    /// Changes a file's entry and clusters, as a whole or not at all; the entry is written when
    /// everything is made safe.
    fn alter(
        &mut self,
        number: u64,
        act: impl FnOnce(&mut Self, &mut Entry, &mut Chain) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let mut entry = self.node(number)?.entry.clone();
        let mut chain = if entry.is_folder() { Chain::default() } else { self.chain(number)? };
        let result = self.change(|tree| {
            act(tree, &mut entry, &mut chain)?;
            Ok(())
        });
        // What a failed operation left of the clusters is not those of the file.
        result?;
        let node = self.node_mut(number)?;
        node.entry = entry;
        self.keep_chain(number, chain);
        self.changed.insert(number);
        self.owed.changed(number, 0);
        Ok(())
    }

    fn file(&self, number: u64) -> Result<&Entry, FileError> {
        if number == ROOT {
            return Err(FileError::IsFolder);
        }
        let entry = &self.node(number)?.entry;
        if entry.is_folder() { Err(FileError::IsFolder) } else { Ok(entry) }
    }

    /// The clusters of a file, taken out of its node.
    fn chain(&mut self, number: u64) -> Result<Chain, FileError> {
        let node = self.nodes.get_mut(&number).ok_or(FileError::NotFound)?;
        match node.chain.take() {
            Some(chain) => Ok(chain),
            None => Ok(self.volume.chain(&node.entry)?),
        }
    }

    /// Puts them back; those of files that are not open are found again.
    fn keep_chain(&mut self, number: u64, chain: Chain) {
        if let Some(node) = self.nodes.get_mut(&number).filter(|node| node.opens > 0) {
            node.chain = Some(chain);
        }
    }
}
