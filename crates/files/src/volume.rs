//! A FAT volume on which files are created, written, read and deleted, with the analyzer that
//! watches.

use std::collections::HashMap;

use analyzer::{Analyzer, Event, File, Interval, Label};
use fat::{Chain, Entry, FatError, Folder, FormatOptions, PAGE_BYTES, Stamp};
use thiserror::Error;
use trace::Hint;

use crate::cache::Cache;
use crate::disk::Disk;
use crate::population::FileEntry;
use crate::spec::FileSpec;

const PAGE: u32 = PAGE_BYTES as u32;

/// Copies of the allocation table, and the number that tells the volume from others.
const TABLES: u32 = 2;
const SERIAL: u32 = 0x4654_4C4B;

/// The file system could not serve the request, mostly because it is full.
#[derive(Debug, Error)]
#[error(
    "file workload: {doing} {path} failed: {source}; if the volume of {volume_bytes} bytes is full, give a larger volume_bytes or fewer files"
)]
pub struct VolumeError {
    doing: &'static str,
    path: String,
    volume_bytes: u64,
    source: FatError,
}

/// The volume. Files and folders are looked up once: as an operating system does, it remembers
/// where they are.
pub(crate) struct Volume {
    fat: fat::Volume<Disk>,
    /// Folders by path.
    folders: HashMap<String, Folder>,
    /// Files by number.
    nodes: Vec<Option<Node>>,
    analyzer: Analyzer,
    intervals: Vec<Interval>,
    streams: u8,
    trims: bool,
    request_bytes: u32,
    bytes: u64,
}

/// Where a file is.
struct Node {
    entry: Entry,
    chain: Chain,
}

/// Where a write goes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WritePosition {
    End,
    At(u32),
}

impl Volume {
    /// A volume that has been formatted, and is in use from now on.
    pub(crate) fn new(spec: &FileSpec, analyzer: Analyzer) -> Result<Self, VolumeError> {
        let FileSpec { streams, trims, request_bytes, volume_bytes: bytes, .. } = *spec;
        let hint = Hint::new(0, spec.table_degree.map_or(0, |degree| degree + 1), 0);
        let mut disk = Disk::new(bytes, Cache::new(spec.dirty_bytes), hint);
        let make = || {
            fat::format(&mut disk, FormatOptions { bytes, tables: TABLES, serial: SERIAL })?;
            let mut fat = fat::Volume::open(disk)?;
            fat.set_in_use(true)?;
            Ok(fat)
        };
        let fat = make().map_err(|source| VolumeError {
            doing: "formatting",
            path: "a volume".into(),
            volume_bytes: bytes,
            source,
        })?;
        let (folders, nodes) = (HashMap::new(), Vec::new());
        Ok(Self { fat, folders, nodes, analyzer, intervals: Vec::new(), streams, trims, request_bytes, bytes })
    }

    /// The page cache.
    pub(crate) fn cache(&mut self) -> &mut Cache {
        &mut self.fat.disk_mut().cache
    }

    /// Intervals of the analyzer that have ended.
    pub(crate) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Creates a file, and its folders if need be.
    pub(crate) fn create(&mut self, entry: &FileEntry) -> Result<(), VolumeError> {
        self.add(entry).map_err(|source| self.failed("creating", entry, source))?;
        self.tell(Event::Create, entry);
        Ok(())
    }

    /// Opens a file again.
    pub(crate) fn open(&mut self, entry: &FileEntry) {
        self.tell(Event::Open, entry);
    }

    /// Writes this many bytes to a file, in requests of the description's size.
    pub(crate) fn write(&mut self, entry: &FileEntry, place: WritePosition, bytes: u32) -> Result<(), VolumeError> {
        let mut done = 0;
        while done < bytes {
            let part = (bytes - done).min(self.request_bytes);
            let event = if place == WritePosition::End { Event::Append } else { Event::Rewrite };
            self.tell(event, entry);
            self.write_part(entry, place, done, part).map_err(|source| self.failed("writing", entry, source))?;
            done += part;
        }
        Ok(())
    }

    /// Reads a file to its end.
    pub(crate) fn read(&mut self, entry: &FileEntry) {
        let hint = self.hint(entry);
        let Node { entry, chain } = node(&mut self.nodes, entry);
        for index in 0..entry.bytes.div_ceil(PAGE) {
            let page = self.fat.cluster(chain, index as usize) / u64::from(PAGE);
            self.fat.disk_mut().cache.read(page, hint);
        }
    }

    pub(crate) fn delete(&mut self, entry: &FileEntry) -> Result<(), VolumeError> {
        self.tell(Event::Delete, entry);
        let removed = self.fat.remove(&node(&mut self.nodes, entry).entry);
        removed.map_err(|source| self.failed("deleting", entry, source))?;
        self.nodes[entry.number as usize] = None;
        self.fat.disk_mut().settle_freed(self.trims);
        Ok(())
    }

    /// Makes a file safe.
    pub(crate) fn sync(&mut self, entry: &FileEntry) {
        self.cache().sync(entry.number);
    }

    /// Says on the volume that it is not in use any more, and writes back all that waits.
    pub(crate) fn unmount(&mut self) -> Result<(), VolumeError> {
        let marked = self.fat.write_free().and_then(|()| self.fat.set_in_use(false));
        marked.map_err(|source| self.error("unmounting", "the volume", source))?;
        self.cache().write_back();
        self.cache().flush();
        Ok(())
    }

    /// All pages in order.
    #[cfg(test)]
    pub(crate) fn pages(&self) -> impl Iterator<Item = &fat::Page> {
        self.fat.disk().pages()
    }

    /// Enters a file into its folder.
    fn add(&mut self, entry: &FileEntry) -> Result<(), FatError> {
        let (path, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        let folder = match self.folders.get(path) {
            Some(&known) => known,
            None => self.make_folders(path)?,
        };
        let node = Node { entry: self.fat.create_file(folder, name, always())?, chain: Chain::default() };
        let number = entry.number as usize;
        if self.nodes.len() <= number {
            self.nodes.resize_with(number + 1, || None);
        }
        self.nodes[number] = Some(node);
        Ok(())
    }

    /// Makes the folders of a path that there are not yet, and returns the last of them.
    fn make_folders(&mut self, path: &str) -> Result<Folder, FatError> {
        let mut folder = Folder::ROOT;
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]).filter(|&end| end > 0);
        let mut begin = 0;
        for end in ends {
            if let Some(&known) = self.folders.get(&path[..end]) {
                folder = known;
            } else {
                let made = self.fat.create_folder(folder, &path[begin..end], always())?;
                folder = made.folder().unwrap_or_else(|| unreachable!("a folder was made"));
                self.folders.insert(path[..end].into(), folder);
            }
            begin = end + 1;
        }
        Ok(folder)
    }

    /// Serves a write request, of which `done` bytes were written by the requests before it.
    fn write_part(&mut self, file: &FileEntry, place: WritePosition, done: u32, bytes: u32) -> Result<(), FatError> {
        let hint = self.hint(file);
        let Node { entry, chain } = node(&mut self.nodes, file);
        let from = match place {
            WritePosition::End => u64::from(entry.bytes),
            WritePosition::At(at) => u64::from(at + done),
        };
        let (end, page) = (from + u64::from(bytes), u64::from(PAGE));
        let old_bytes = entry.bytes;
        for index in from / page..end.div_ceil(page) {
            let reached = end.min((index + 1) * page);
            if reached > entry.bytes.into() {
                self.fat.resize(entry, chain, reached)?;
            }
            let written = self.fat.cluster(chain, index as usize) / page;
            self.fat.disk_mut().cache.wrote(written, Some(file.number), hint);
        }
        if entry.bytes > old_bytes {
            self.fat.update(entry)?;
        }
        Ok(())
    }

    fn tell(&mut self, event: Event, entry: &FileEntry) {
        self.intervals.extend(self.analyzer.tell(event, &file(entry)).cloned());
    }

    /// What goes to the drive with data of a file: the degree plus one, since 0 says nothing, the
    /// type, and a stream for each range of degrees.
    fn hint(&self, entry: &FileEntry) -> Hint {
        let Some(Label { file_type, degree }) = self.analyzer.label(&file(entry)) else { return Hint::NONE };
        let degrees = u32::from(self.analyzer.parameters().degrees) + 1;
        let stream = match self.streams {
            0 => 0,
            streams => 1 + (u32::from(degree) * u32::from(streams) / degrees) as u8,
        };
        Hint::new(stream, degree + 1, file_type)
    }

    fn failed(&self, doing: &'static str, entry: &FileEntry, source: FatError) -> VolumeError {
        self.error(doing, &entry.path, source)
    }

    fn error(&self, doing: &'static str, path: &str, source: FatError) -> VolumeError {
        VolumeError { doing, path: path.into(), volume_bytes: self.bytes, source }
    }
}

fn file(entry: &FileEntry) -> File<'_> {
    File { id: entry.number.into(), name: &entry.path, read_only: false }
}

/// What is remembered of a file that there is.
fn node<'a>(nodes: &'a mut [Option<Node>], entry: &FileEntry) -> &'a mut Node {
    nodes[entry.number as usize].as_mut().unwrap_or_else(|| unreachable!("{} was created", entry.path))
}

/// When everything was changed, so that equal descriptions give equal volumes.
fn always() -> Stamp {
    Stamp::of_unix(0)
}
