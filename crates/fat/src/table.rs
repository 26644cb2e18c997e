//! The allocation table: which clusters are free, and which one follows which.

use std::io;

use crate::disk::{self, Disk, PAGE_BYTES};
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

/// What is known of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) free: u32,
    /// Where to look for a free cluster first.
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
        for _ in 0..more {
            let found = self.find(disk, shape)?;
            set(disk, shape, found, USED)?;
            if let Some(&last) = chain.clusters.last() {
                set(disk, shape, last, found)?;
            }
            chain.clusters.push(found);
            self.next = found + 1;
            self.free -= 1;
        }
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

    fn find(self, disk: &mut impl Disk, shape: &Shape) -> Result<u32, FatError> {
        let end = shape.clusters + 2;
        let from = if shape.has(self.next) { self.next } else { 2 };
        for range in [from..end, 2..from] {
            let mut found = None;
            each(disk, shape, range, |cluster, entry| {
                found = (entry == 0).then_some(cluster);
                entry == 0
            })?;
            if let Some(cluster) = found {
                return Ok(cluster);
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
    for copy in 0..u64::from(shape.tables) {
        let offset = shape.table + copy * shape.table_bytes + u64::from(cluster) * shape.kind.entry_bytes();
        match shape.kind {
            Kind::Fat16 => disk::write(disk, offset, &(entry as u16).to_le_bytes())?,
            Kind::Fat32 => {
                let old = u32::from_le_bytes(disk::read(disk, offset)?);
                disk::write(disk, offset, &(old & !USED | entry).to_le_bytes())?;
            }
        }
    }
    Ok(())
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
