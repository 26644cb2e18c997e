//! The allocation table: which clusters are free, and which one follows which.

use std::io;

use crate::disk::{self, Disk, PAGE_BYTES, Page};
use crate::error::FatError;
use crate::shape::{Kind, Shape};

/// Of an entry of FAT32, the bits that are used.
const USED: u32 = 0x0FFF_FFFF;
/// Entries from here on end a chain; the highest one is written.
const LEAST_END: u32 = 0x0FFF_FFF8;
const LEAST_END_16: u32 = 0xFFF8;

/// The clusters of a file or folder, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    pub(crate) clusters: Vec<u32>,
}

impl Chain {
    /// How many clusters it has.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// The first one's number, 0 if there is none.
    pub(crate) fn first(&self) -> u32 {
        self.clusters.first().copied().unwrap_or(0)
    }
}

/// State of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) free: u32,
    /// Where the search for a free cluster begins.
    pub(crate) next: u32,
}

impl Table {
    /// Counts what is free.
    pub(crate) fn count(disk: &mut impl Disk, shape: &Shape) -> io::Result<Self> {
        let mut free = 0;
        each(disk, shape, 2..shape.clusters + 2, |_, entry| {
            free += u32::from(entry == 0);
            false
        })?;
        Ok(Self { free, next: 2 })
    }

    /// The clusters from one on.
    pub(crate) fn chain(disk: &mut impl Disk, shape: &Shape, first: u32) -> Result<Chain, FatError> {
        let mut clusters = Vec::new();
        let mut at = first;
        while at != 0 {
            if !shape.has(at) || clusters.len() > shape.clusters as usize {
                return Err(FatError::Damaged(format!(
                    "the clusters that begin with {first} lead to {at} or in a circle"
                )));
            }
            clusters.push(at);
            at = match get(disk, shape, at)? {
                end if is_end(shape.kind, end) => 0,
                0 => return Err(FatError::Damaged(format!("cluster {at} is free, and part of a file"))),
                next => next,
            };
        }
        Ok(Chain { clusters })
    }

    /// Adds clusters to the end of a chain: all of them, or none if too few are free.
    pub(crate) fn grow(
        &mut self,
        disk: &mut impl Disk,
        shape: &Shape,
        chain: &mut Chain,
        more: usize,
    ) -> Result<(), FatError> {
        if more > self.free as usize {
            return Err(FatError::Full);
        }
        if more == 0 {
            return Ok(());
        }
        let found = self.find(disk, shape, more)?;
        let last = *found.last().unwrap_or_else(|| unreachable!("more than none were wanted"));
        let links = found.iter().copied().zip(found[1..].iter().copied().chain([USED]));
        set_all(disk, shape, &links.collect::<Vec<_>>())?;
        if let Some(&end) = chain.clusters.last() {
            set(disk, shape, end, found[0])?;
        }
        self.next = last + 1;
        self.free -= more as u32;
        chain.clusters.extend(found);
        Ok(())
    }

    /// Frees all clusters of a chain but the first ones.
    pub(crate) fn cut(
        &mut self,
        disk: &mut impl Disk,
        shape: &Shape,
        chain: &mut Chain,
        keep: usize,
    ) -> Result<(), FatError> {
        let gone = chain.clusters.split_off(keep.min(chain.len()));
        if gone.is_empty() {
            return Ok(());
        }
        if let Some(&last) = chain.clusters.last() {
            set(disk, shape, last, USED)?;
        }
        for &cluster in &gone {
            set(disk, shape, cluster, 0)?;
            disk.freed(shape.cluster(cluster), shape.cluster_bytes.into());
        }
        self.free += gone.len() as u32;
        Ok(())
    }

    /// This many free clusters, from where it looks first.
    fn find(self, disk: &mut impl Disk, shape: &Shape, count: usize) -> Result<Vec<u32>, FatError> {
        let end = shape.clusters + 2;
        let from = if shape.has(self.next) { self.next } else { 2 };
        let mut found = Vec::with_capacity(count);
        for range in [from..end, 2..from] {
            each(disk, shape, range, |cluster, entry| {
                if entry == 0 {
                    found.push(cluster);
                }
                found.len() == count
            })?;
            if found.len() == count {
                return Ok(found);
            }
        }
        Err(FatError::Damaged("fewer clusters are free than were counted".into()))
    }
}

fn is_end(kind: Kind, entry: u32) -> bool {
    entry >= if kind == Kind::Fat16 { LEAST_END_16 } else { LEAST_END }
}

fn get(disk: &mut impl Disk, shape: &Shape, cluster: u32) -> io::Result<u32> {
    let offset = shape.table + u64::from(cluster) * shape.kind.entry_bytes();
    Ok(match shape.kind {
        Kind::Fat16 => u16::from_le_bytes(disk::read(disk, offset)?).into(),
        Kind::Fat32 => u32::from_le_bytes(disk::read(disk, offset)?) & USED,
    })
}

/// Sets an entry in all copies.
fn set(disk: &mut impl Disk, shape: &Shape, cluster: u32, entry: u32) -> io::Result<()> {
    set_all(disk, shape, &[(cluster, entry)])
}

/// Sets entries in all copies, those of a page at once.
fn set_all(disk: &mut impl Disk, shape: &Shape, entries: &[(u32, u32)]) -> io::Result<()> {
    let width = shape.kind.entry_bytes();
    let offset = |cluster: u32| shape.table + u64::from(cluster) * width;
    let in_one_page =
        |(one, _): &(u32, u32), (next, _): &(u32, u32)| disk::place(offset(*one)).0 == disk::place(offset(*next)).0;
    for neighbours in entries.chunk_by(in_one_page) {
        for copy in 0..u64::from(shape.tables) {
            let first = offset(neighbours[0].0) + copy * shape.table_bytes;
            set_in_page(disk, shape.kind, first, neighbours)?;
        }
    }
    Ok(())
}

/// Sets entries of one copy: the first one, which lies at `first`, and others that lie in the same
/// page of the first copy.
fn set_in_page(disk: &mut impl Disk, kind: Kind, first: u64, entries: &[(u32, u32)]) -> io::Result<()> {
    let mut left = entries;
    while let Some(&(start, _)) = left.first() {
        let distance = |cluster: u32| (i64::from(cluster) - i64::from(entries[0].0)) * kind.entry_bytes().cast_signed();
        let offset = |cluster: u32| first.wrapping_add_signed(distance(cluster));
        let (number, _) = disk::place(offset(start));
        // Another copy need not be divided into pages at the same entries.
        let here = left.iter().take_while(|(cluster, _)| disk::place(offset(*cluster)).0 == number).count();
        let page = disk.page_mut(number)?;
        for &(cluster, entry) in &left[..here] {
            put(page, disk::place(offset(cluster)).1, kind, entry);
        }
        left = &left[here..];
    }
    Ok(())
}

/// Writes an entry; the highest bits of one of FAT32 stay as they are.
fn put(page: &mut Page, at: usize, kind: Kind, entry: u32) {
    match kind {
        Kind::Fat16 => page[at..at + 2].copy_from_slice(&(entry as u16).to_le_bytes()),
        Kind::Fat32 => {
            let old = u32::from_le_bytes(std::array::from_fn(|i| page[at + i]));
            page[at..at + 4].copy_from_slice(&(old & !USED | entry).to_le_bytes());
        }
    }
}

/// Looks at entries, a page of them at a time, until told to stop.
fn each(
    disk: &mut impl Disk,
    shape: &Shape,
    range: std::ops::Range<u32>,
    mut stop: impl FnMut(u32, u32) -> bool,
) -> io::Result<()> {
    let width = shape.kind.entry_bytes();
    let mut at = range.start;
    while at < range.end {
        let (page, from) = disk::place(shape.table + u64::from(at) * width);
        let count = ((PAGE_BYTES - from) / width as usize).min((range.end - at) as usize);
        let bytes = &disk.page(page)?[from..from + count * width as usize];
        for (cluster, entry) in (at..).zip(bytes.chunks_exact(width as usize)) {
            let entry = match *entry {
                [low, high] => u16::from_le_bytes([low, high]).into(),
                [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) & USED,
                _ => unreachable!("entries have two bytes or four"),
            };
            if stop(cluster, entry) {
                return Ok(());
            }
        }
        at += count as u32;
    }
    Ok(())
}
