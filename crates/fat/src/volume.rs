//! A volume: files and folders are made, found, renamed and removed.

use crate::boot;
use crate::code_page::CodePage;
use crate::disk::{self, Disk};
use crate::error::FatError;
use crate::folder::{self, Look, MOST_SLOTS, Pieces};
use crate::names::{self, Wanted};
use crate::shape::{Root, Shape};
use crate::slots::{self, Entry, Folder, Slot, SlotRange};
use crate::stamp::Stamp;
use crate::table::{Chain, Table};

/// The longest file, in bytes.
pub const MOST_FILE_BYTES: u64 = u32::MAX as u64;

/// The slot of a folder that says which folder it lies in, behind the one that says itself.
const ABOVE_SLOT: u64 = 32;

/// A volume on a disk.
#[derive(Debug)]
pub struct Volume<D> {
    disk: D,
    shape: Shape,
    table: Table,
    code_page: CodePage,
}

impl<D: Disk> Volume<D> {
    /// The volume that a disk holds; counts its free clusters.
    pub fn open(mut disk: D) -> Result<Self, FatError> {
        let shape = Shape::read(&mut disk)?;
        let table = Table::count(&mut disk, &shape)?;
        Ok(Self { disk, shape, table, code_page: CodePage::default() })
    }

    /// The same with short names in this code page.
    #[must_use]
    pub fn with_code_page(self, code_page: CodePage) -> Self {
        Self { code_page, ..self }
    }

    /// Where things lie.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What it lies on.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// The same, to be changed.
    pub fn disk_mut(&mut self) -> &mut D {
        &mut self.disk
    }

    /// Clusters that are free.
    pub fn free_clusters(&self) -> u32 {
        self.table.free
    }

    /// What is remembered of the table: a caller that undoes changes of pages must restore it.
    pub fn remembered(&self) -> (u32, u32) {
        (self.table.free, self.table.next)
    }

    /// Remembers what was remembered before.
    pub fn remember(&mut self, (free, next): (u32, u32)) {
        self.table = Table { free, next };
    }

    /// Says on the volume whether it is in use: a volume that says so was not unmounted.
    pub fn set_in_use(&mut self, is_in_use: bool) -> Result<(), FatError> {
        let [old] = disk::read(&mut self.disk, self.shape.state)?;
        let new = old & !1 | u8::from(is_in_use);
        if new != old {
            disk::write(&mut self.disk, self.shape.state, &[new])?;
        }
        Ok(())
    }

    /// Whether it says that it is in use.
    pub fn is_in_use(&mut self) -> Result<bool, FatError> {
        let [state] = disk::read(&mut self.disk, self.shape.state)?;
        Ok(state & 1 == 1)
    }

    /// Writes down how many clusters are free, where FAT32 has a place for it.
    pub fn write_free(&mut self) -> Result<(), FatError> {
        let Some(info) = self.shape.info else { return Ok(()) };
        let new = (u64::from(self.table.next) << 32 | u64::from(self.table.free)).to_le_bytes();
        let at = info + boot::INFO_FREE as u64;
        let signature: [u8; 4] = disk::read(&mut self.disk, info)?;
        if signature == boot::INFO_SIGNATURES[0].1 && disk::read::<8>(&mut self.disk, at)? != new {
            disk::write(&mut self.disk, at, &new)?;
        }
        Ok(())
    }

    /// All that lies in a folder.
    pub fn list(&mut self, folder: Folder) -> Result<Vec<Entry>, FatError> {
        let pieces = self.pieces(folder)?;
        let look = self.look(folder, &pieces);
        Ok(folder::list(&mut self.disk, &look)?)
    }

    /// What has a name in a folder, if there is something.
    pub fn find(&mut self, folder: Folder, name: &str) -> Result<Option<Entry>, FatError> {
        let pieces = self.pieces(folder)?;
        let look = self.look(folder, &pieces);
        Ok(folder::find(&mut self.disk, &look, &Wanted::new(name))?)
    }

    /// Makes an empty file.
    pub fn create_file(&mut self, folder: Folder, name: &str, now: Stamp) -> Result<Entry, FatError> {
        self.add(folder, name, None, |short| slots::new(short, false, now))
    }

    /// Makes an empty folder.
    pub fn create_folder(&mut self, folder: Folder, name: &str, now: Stamp) -> Result<Entry, FatError> {
        names::check(name)?;
        let mut own = Chain::default();
        // One more for the folder that it lies in, which may have to grow.
        if self.table.free < 2 {
            return Err(FatError::Full);
        }
        self.table.grow(&mut self.disk, &self.shape, &mut own, 1)?;
        let (kind, cluster) = (self.shape.kind, own.first());
        let added = self.add(folder, name, None, |short| {
            let mut slot = slots::new(short, true, now);
            slots::set_cluster(&mut slot, kind, cluster);
            slot
        });
        let entry = match added {
            Ok(entry) => entry,
            Err(error) => {
                self.table.cut(&mut self.disk, &self.shape, &mut own, 0)?;
                return Err(error);
            }
        };
        let start = self.shape.cluster(cluster);
        disk::clear(&mut self.disk, start, self.shape.cluster_bytes.into())?;
        for (place, name, of) in [(0, &names::DOT, cluster), (ABOVE_SLOT, &names::DOTS, folder.0)] {
            let mut slot = slots::new(name, true, now);
            slots::set_cluster(&mut slot, kind, of);
            disk::write(&mut self.disk, start + place, &slot)?;
        }
        Ok(entry)
    }

    /// Removes a file, or a folder that is empty; frees what it holds.
    pub fn remove(&mut self, entry: &Entry) -> Result<(), FatError> {
        if let Some(folder) = entry.folder()
            && !self.list(folder)?.is_empty()
        {
            return Err(FatError::NotEmpty);
        }
        let mut chain = self.chain(entry)?;
        self.erase(&entry.place)?;
        self.table.cut(&mut self.disk, &self.shape, &mut chain, 0)
    }

    /// Gives an entry another name, perhaps in another folder; the name must be free there, but for
    /// the entry's own.
    pub fn rename(&mut self, entry: &Entry, folder: Folder, name: &str) -> Result<Entry, FatError> {
        let slot = entry.encode(self.shape.kind);
        let new = self.add(folder, name, Some(entry), |short| {
            let mut slot = slot;
            slot[..11].copy_from_slice(short);
            slot[12] = 0;
            slot
        })?;
        self.erase(&entry.place)?;
        if new.is_folder() && folder != entry.place.folder {
            let above = self.shape.cluster(new.cluster) + ABOVE_SLOT;
            let mut slot: Slot = disk::read(&mut self.disk, above)?;
            slots::set_cluster(&mut slot, self.shape.kind, folder.0);
            disk::write(&mut self.disk, above, &slot)?;
        }
        Ok(new)
    }

    /// Puts a file in the place of another one, which is gone; no folder changes its length.
    pub fn replace(&mut self, entry: &Entry, by: &Entry) -> Result<Entry, FatError> {
        let mut chain = self.chain(entry)?;
        let mut slot = by.encode(self.shape.kind);
        slot[..13].copy_from_slice(&entry.slot[..13]);
        slot[11] = by.encode(self.shape.kind)[11];
        disk::write(&mut self.disk, entry.place.offset, &slot)?;
        self.erase(&by.place)?;
        self.table.cut(&mut self.disk, &self.shape, &mut chain, 0)?;
        Ok(Entry::decode(&slot, self.shape.kind, entry.name.clone(), entry.place))
    }

    /// Writes what an entry says but its name: times, length, attributes.
    pub fn update(&mut self, entry: &Entry) -> Result<(), FatError> {
        Ok(disk::write(&mut self.disk, entry.place.offset, &entry.encode(self.shape.kind))?)
    }

    /// The clusters of an entry.
    pub fn chain(&mut self, entry: &Entry) -> Result<Chain, FatError> {
        Table::chain(&mut self.disk, &self.shape, entry.cluster)
    }

    /// Gives a file clusters for this many bytes, or takes those away that it no longer needs; the
    /// entry is to be updated.
    pub fn resize(&mut self, entry: &mut Entry, chain: &mut Chain, bytes: u64) -> Result<(), FatError> {
        if bytes > MOST_FILE_BYTES {
            return Err(FatError::LongFile);
        }
        let needed = self.shape.clusters_of(bytes);
        if needed > chain.len() {
            self.table.grow(&mut self.disk, &self.shape, chain, needed - chain.len())?;
        } else {
            self.table.cut(&mut self.disk, &self.shape, chain, needed)?;
        }
        entry.cluster = chain.first();
        entry.bytes = bytes as u32;
        Ok(())
    }

    /// Where bytes of a file lie on the disk: ranges (offset, length) in order, for as far as it
    /// has clusters.
    pub fn ranges(&self, chain: &Chain, offset: u64, length: u64) -> Vec<(u64, u64)> {
        let size = u64::from(self.shape.cluster_bytes);
        let end = (offset + length).min(chain.len() as u64 * size);
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        let mut at = offset;
        while at < end {
            let part = (size - at % size).min(end - at);
            let from = self.shape.cluster(chain.clusters[(at / size) as usize]) + at % size;
            match ranges.last_mut() {
                Some((start, length)) if *start + *length == from => *length += part,
                _ => ranges.push((from, part)),
            }
            at += part;
        }
        ranges
    }

    /// Where a cluster of a file lies on the disk, in bytes; the file's first one is number 0, and
    /// it must have that many.
    pub fn cluster(&self, chain: &Chain, number: usize) -> u64 {
        self.shape.cluster(chain.clusters[number])
    }

    /// Adds an entry, whose name nobody but `except` may have.
    fn add(
        &mut self,
        folder: Folder,
        name: &str,
        except: Option<&Entry>,
        slot: impl FnOnce(&slots::Short) -> Slot,
    ) -> Result<Entry, FatError> {
        names::check(name)?;
        let mut pieces = self.pieces(folder)?;
        let parts = name.encode_utf16().count().div_ceil(slots::UNITS) as u32;
        let kind = self.shape.kind;
        let own = except.map(|own| own.place.offset);
        let look = self.look(folder, &pieces);
        let found = folder::survey(&mut self.disk, &look, &Wanted::new(name), parts + 1, own)?;
        if found.is_there {
            return Err(FatError::Exists);
        }
        let (first, end) = (found.room, found.room + parts + 1);
        while pieces.slots() < end {
            self.lengthen(folder, &mut pieces, end)?;
        }
        let short = names::short(name, self.code_page, |short| found.shorts.contains(short));
        let slot = slot(&short);
        let all = slots::long_slots(name, &short).into_iter().chain([slot]);
        for (at, slot) in (first..).zip(all) {
            disk::write(&mut self.disk, pieces.offset(at), &slot)?;
        }
        let place = SlotRange { folder, first, count: end - first, offset: pieces.offset(end - 1) };
        Ok(Entry::decode(&slot, kind, name.into(), place))
    }

    /// Gives a folder another cluster, if it may have one.
    fn lengthen(&mut self, folder: Folder, pieces: &mut Pieces, slots: u32) -> Result<(), FatError> {
        let Some(first) = self.first_cluster(folder) else { return Err(FatError::RootFull) };
        if slots > MOST_SLOTS {
            return Err(FatError::FolderFull);
        }
        let missing = (u64::from(slots - pieces.slots()) * 32).div_ceil(pieces.bytes) as u32;
        if self.table.free < missing {
            return Err(FatError::Full);
        }
        let mut chain = Table::chain(&mut self.disk, &self.shape, first)?;
        self.table.grow(&mut self.disk, &self.shape, &mut chain, 1)?;
        let start = self.shape.cluster(*chain.clusters.last().unwrap_or_else(|| unreachable!("it has grown")));
        disk::clear(&mut self.disk, start, pieces.bytes)?;
        pieces.starts.push(start);
        Ok(())
    }

    fn erase(&mut self, place: &SlotRange) -> Result<(), FatError> {
        let pieces = self.pieces(place.folder)?;
        for at in place.first..place.first + place.count {
            disk::write(&mut self.disk, pieces.offset(at), &[slots::GONE])?;
        }
        Ok(())
    }

    /// A folder, to be looked at.
    fn look<'a>(&self, folder: Folder, pieces: &'a Pieces) -> Look<'a> {
        Look { folder, pieces, kind: self.shape.kind, code_page: self.code_page }
    }

    /// The first cluster of a folder; none of a root folder that has none.
    fn first_cluster(&self, folder: Folder) -> Option<u32> {
        match (folder, self.shape.root) {
            (Folder::ROOT, Root::Fixed { .. }) => None,
            (Folder::ROOT, Root::Cluster(cluster)) | (Folder(cluster), _) => Some(cluster),
        }
    }

    fn pieces(&mut self, folder: Folder) -> Result<Pieces, FatError> {
        if let (Folder::ROOT, Root::Fixed { offset, bytes }) = (folder, self.shape.root) {
            return Ok(Pieces { starts: vec![offset], bytes });
        }
        let first = self.first_cluster(folder).unwrap_or(0);
        let chain = Table::chain(&mut self.disk, &self.shape, first)?;
        if chain.is_empty() {
            return Err(FatError::Damaged("a folder has no clusters".into()));
        }
        let starts = chain.clusters.iter().map(|&cluster| self.shape.cluster(cluster)).collect();
        Ok(Pieces { starts, bytes: self.shape.cluster_bytes.into() })
    }
}
