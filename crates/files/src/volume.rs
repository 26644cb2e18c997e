//! A FAT volume on which files are created, written, read and deleted, with the analyzer that watches.

use std::io::{self, Read, Seek, SeekFrom, Write};

use analyzer::{Analyzer, Event, File, Interval, Label};
use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};
use thiserror::Error;
use trace::Hint;

use crate::cache::Cache;
use crate::disk::{Disk, Doing};
use crate::page::PAGE_BYTES;
use crate::population::FileEntry;
use crate::spec::FileSpec;

/// From so many clusters on a volume has tables of four bytes an entry.
const LEAST_FAT32_CLUSTERS: u64 = 65_525;

/// What is written: nobody looks at it.
static NOTHING: [u8; 1 << 16] = [0; 1 << 16];

/// The file system could not do what was asked: mostly because it is full.
#[derive(Debug, Error)]
#[error(
    "file workload: {doing} {path} failed: {source}; if the volume of {volume_bytes} bytes is full, give a larger volume_bytes or fewer files"
)]
pub struct VolumeError {
    doing: &'static str,
    path: String,
    volume_bytes: u64,
    source: io::Error,
}

/// The volume.
pub(crate) struct Volume {
    files: FileSystem<Disk>,
    disk: Disk,
    analyzer: Analyzer,
    intervals: Vec<Interval>,
    streams: u8,
    trims: bool,
    request_bytes: u32,
    bytes: u64,
}

/// Where a write goes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    End,
    At(u32),
}

impl Volume {
    /// A volume that has been formatted.
    pub(crate) fn new(spec: &FileSpec, analyzer: Analyzer) -> Result<Self, VolumeError> {
        let failed = |source| VolumeError {
            doing: "formatting",
            path: "a volume".into(),
            volume_bytes: spec.volume_bytes,
            source,
        };
        let disk = Disk::new(spec.volume_bytes, Cache::new(spec.dirty_bytes));
        let fat_type =
            if spec.volume_bytes / PAGE_BYTES > LEAST_FAT32_CLUSTERS { FatType::Fat32 } else { FatType::Fat16 };
        let options = FormatVolumeOptions::new()
            .bytes_per_sector(PAGE_BYTES as u16)
            .bytes_per_cluster(PAGE_BYTES as u32)
            .fat_type(fat_type);
        fatfs::format_volume(disk.clone(), options).map_err(failed)?;
        disk.learn_layout();
        let files = FileSystem::new(disk.clone(), FsOptions::new()).map_err(failed)?;
        let FileSpec { streams, trims, request_bytes, volume_bytes, .. } = *spec;
        Ok(Self { files, disk, analyzer, intervals: Vec::new(), streams, trims, request_bytes, bytes: volume_bytes })
    }

    /// The disk under it.
    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Intervals of the analyzer that have ended.
    pub(crate) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Creates a file, and its folders if need be.
    pub(crate) fn create(&mut self, entry: &FileEntry) -> Result<(), VolumeError> {
        let create = || {
            let (folders, _) = entry.path.rsplit_once('/').unwrap_or_default();
            let mut folder = self.files.root_dir();
            for name in folders.split('/') {
                folder = folder.create_dir(name)?;
            }
            self.files.root_dir().create_file(&entry.path)?;
            Ok(())
        };
        create().map_err(|source| self.failed("creating", entry, source))?;
        self.tell(Event::Create, entry);
        Ok(())
    }

    /// Opens a file again.
    pub(crate) fn open(&mut self, entry: &FileEntry) {
        self.tell(Event::Open, entry);
    }

    /// Writes so many bytes to a file, in requests of the description's size.
    pub(crate) fn write(&mut self, entry: &FileEntry, place: Place, bytes: u32) -> Result<(), VolumeError> {
        let mut done = 0;
        while done < bytes {
            let part = (bytes - done).min(self.request_bytes);
            let (event, from) = match place {
                Place::End => (Event::Append, SeekFrom::End(0)),
                Place::At(at) => (Event::Rewrite, SeekFrom::Start(u64::from(at + done))),
            };
            self.tell(event, entry);
            let doing = Doing { file: entry.number, hint: self.hint(entry) };
            let write = || {
                let mut file = self.files.root_dir().open_file(&entry.path)?;
                file.seek(from)?;
                self.disk.set_doing(Some(doing));
                let mut left = part as usize;
                while left > 0 {
                    let now = left.min(NOTHING.len());
                    file.write_all(&NOTHING[..now])?;
                    left -= now;
                }
                // What is left to write, in the folder, is no data.
                self.disk.set_doing(None);
                file.flush()
            };
            let wrote = write();
            self.disk.set_doing(None);
            wrote.map_err(|source| self.failed("writing", entry, source))?;
            done += part;
        }
        Ok(())
    }

    /// Reads a file to its end.
    pub(crate) fn read(&mut self, entry: &FileEntry) -> Result<(), VolumeError> {
        let doing = Doing { file: entry.number, hint: self.hint(entry) };
        let read = || {
            let mut file = self.files.root_dir().open_file(&entry.path)?;
            self.disk.set_doing(Some(doing));
            let mut into = [0; PAGE_BYTES as usize];
            while file.read(&mut into)? > 0 {}
            self.disk.set_doing(None);
            Ok(())
        };
        let done = read();
        self.disk.set_doing(None);
        done.map_err(|source| self.failed("reading", entry, source))
    }

    /// Deletes a file.
    pub(crate) fn delete(&mut self, entry: &FileEntry) -> Result<(), VolumeError> {
        self.tell(Event::Delete, entry);
        self.files.root_dir().remove(&entry.path).map_err(|source| self.failed("deleting", entry, source))?;
        self.disk.settle_freed(self.trims);
        Ok(())
    }

    /// Makes a file safe.
    pub(crate) fn sync(&mut self, entry: &FileEntry) {
        self.disk.with_cache(|cache| cache.sync(entry.number));
    }

    /// The file system.
    #[cfg(test)]
    pub(crate) fn file_system(&self) -> &FileSystem<Disk> {
        &self.files
    }

    fn tell(&mut self, event: Event, entry: &FileEntry) {
        self.intervals.extend(self.analyzer.tell(event, &file(entry)).cloned());
    }

    /// What goes to the drive with data of a file: the degree plus one, since 0 says nothing, the type, and a stream for each range of degrees.
    fn hint(&self, entry: &FileEntry) -> Hint {
        let Some(Label { file_type, degree }) = self.analyzer.label(&file(entry)) else { return Hint::NONE };
        let degrees = u32::from(self.analyzer.parameters().degrees) + 1;
        let stream = match self.streams {
            0 => 0,
            streams => 1 + (u32::from(degree) * u32::from(streams) / degrees) as u8,
        };
        Hint { stream, temperature: degree + 1, file_type }
    }

    fn failed(&self, doing: &'static str, entry: &FileEntry, source: io::Error) -> VolumeError {
        VolumeError { doing, path: entry.path.clone(), volume_bytes: self.bytes, source }
    }
}

fn file(entry: &FileEntry) -> File<'_> {
    File { id: entry.number.into(), name: &entry.path, read_only: false }
}
