//! Makes an empty volume.

use crate::boot::{self, Field};
use crate::disk::{self, Disk, PAGE_BYTES, Page};
use crate::error::FatError;
use crate::shape::{LEAST_FAT16, LEAST_FAT32, Root, SLOT_BYTES, Shape};

/// Bytes of the smallest volume: below, clusters of a page are too few for FAT16.
pub const LEAST_VOLUME_BYTES: u64 = 17 << 20;

/// Slots of a root folder that cannot grow.
const ROOT_SLOTS: u64 = 512;
/// Sectors in front of the tables: as few as FAT32 has room in for its two copies of the boot
/// sector.
const RESERVED_32: u64 = 8;
/// Where the second copy lies.
const BACKUP: u64 = 6;
/// A hard disk's kind of media.
const MEDIA: u8 = 0xF8;

/// What a volume is to be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatOptions {
    /// Bytes of the volume, from the disk's first on; the rest of the disk stays as it is.
    pub bytes: u64,
    /// Copies of the table, 1 or 2.
    pub tables: u32,
    /// What tells it from other volumes.
    pub serial: u32,
}

/// Makes an empty volume: sectors of a page, and clusters of a page if they fit the kinds that FAT
/// has, else of two or more.
pub fn format(disk: &mut impl Disk, options: FormatOptions) -> Result<Shape, FatError> {
    let page = PAGE_BYTES as u64;
    let sectors = options.bytes.min(disk.bytes()) / page;
    if sectors * page < LEAST_VOLUME_BYTES || sectors > u64::from(u32::MAX) {
        return Err(FatError::NotFat(format!(
            "a volume has from {LEAST_VOLUME_BYTES} bytes to {} GiB, not {}",
            (u64::from(u32::MAX) * page) >> 30,
            options.bytes
        )));
    }
    let boot = boot_sector(sectors, options)?;
    let shape = Shape::of(&boot, disk.bytes())?;
    *disk.new_page(0)? = boot;
    if let Some(info) = shape.info {
        let mut sector = [0; PAGE_BYTES];
        for (at, signature) in boot::INFO_SIGNATURES {
            sector[at..at + 4].copy_from_slice(&signature);
        }
        sector[boot::INFO_FREE..boot::INFO_FREE + 8].fill(0xFF);
        *disk.new_page(info / page)? = sector;
        *disk.new_page(BACKUP)? = boot;
        *disk.new_page(BACKUP + 1)? = sector;
    }
    disk::clear(disk, shape.table, shape.table_bytes * u64::from(shape.tables))?;
    match shape.root {
        Root::Fixed { offset, bytes } => disk::clear(disk, offset, bytes)?,
        Root::Cluster(cluster) => disk::clear(disk, shape.cluster(cluster), shape.cluster_bytes.into())?,
    }
    let first: &[u8] = match shape.root {
        Root::Fixed { .. } => &[MEDIA, 0xFF, 0xFF, 0xFF],
        // The third entry is the root folder's only cluster.
        Root::Cluster(_) => &[MEDIA, 0xFF, 0xFF, 0x0F, 0xFF, 0xFF, 0xFF, 0x0F, 0xFF, 0xFF, 0xFF, 0x0F],
    };
    for copy in 0..u64::from(shape.tables) {
        disk::write(disk, shape.table + copy * shape.table_bytes, first)?;
    }
    Ok(shape)
}

/// How a volume is divided, in sectors.
struct Plan {
    per_cluster: u64,
    reserved: u64,
    table: u64,
    is_32: bool,
}

impl Plan {
    /// The division with the smallest clusters that FAT has a kind of table for.
    fn of(sectors: u64, tables: u32) -> Result<Self, FatError> {
        let (least_16, least_32) = (u64::from(LEAST_FAT16), u64::from(LEAST_FAT32));
        let plan = |per_cluster: u64, is_32: bool| {
            let (reserved, root, entry) =
                if is_32 { (RESERVED_32, 0, 4) } else { (1, (ROOT_SLOTS * SLOT_BYTES).div_ceil(PAGE_BYTES as u64), 2) };
            let (left, tables) = (sectors.checked_sub(reserved + root)?, u64::from(tables));
            // A sector more of each table takes its own sectors from the data, and has entries for
            // so many of them.
            let entries = per_cluster * PAGE_BYTES as u64 / entry;
            let table = (left + 2 * per_cluster).div_ceil(entries + tables);
            let data = left.checked_sub(tables * table)?;
            let clusters = data / per_cluster;
            let fits = if is_32 { clusters >= least_32 } else { (least_16..least_32).contains(&clusters) };
            fits.then_some(Self { per_cluster, reserved, table, is_32 })
        };
        let mut plans =
            [1, 2, 4, 8, 16].into_iter().flat_map(|per_cluster| [(per_cluster, true), (per_cluster, false)]);
        plans.find_map(|(size, is_32)| plan(size, is_32)).ok_or_else(|| {
            FatError::NotFat(format!("FAT has no kind of table for {sectors} sectors of {PAGE_BYTES} bytes"))
        })
    }
}

/// The boot sector of a volume of this many sectors.
fn boot_sector(sectors: u64, options: FormatOptions) -> Result<Page, FatError> {
    let Plan { per_cluster, reserved, table, is_32 } = Plan::of(sectors, options.tables)?;
    let mut boot = [0; PAGE_BYTES];
    let set = |boot: &mut Page, fields: &[(Field, u64)]| {
        for (field, value) in fields {
            field.write(boot, *value as u32);
        }
    };
    boot[..11].copy_from_slice(b"\xEB\x58\x90ftlkit  ");
    set(
        &mut boot,
        &[
            (boot::SECTOR_BYTES, PAGE_BYTES as u64),
            (boot::SECTORS_PER_CLUSTER, per_cluster),
            (boot::RESERVED_SECTORS, reserved),
            (boot::TABLES, options.tables.into()),
            (boot::MEDIA, MEDIA.into()),
            (boot::SECTORS_PER_TRACK, 32),
            (boot::HEADS, 64),
        ],
    );
    let small = u64::from(u16::MAX);
    let extended = if is_32 {
        set(
            &mut boot,
            &[
                (boot::SECTORS_32, sectors),
                (boot::TABLE_SECTORS_32, table),
                (boot::ROOT_CLUSTER, 2),
                (boot::INFO_SECTOR, 1),
                (boot::BACKUP_SECTOR, BACKUP),
            ],
        );
        boot::EXTENDED_32
    } else {
        let field = if sectors <= small { boot::SECTORS_16 } else { boot::SECTORS_32 };
        set(&mut boot, &[(boot::ROOT_SLOTS, ROOT_SLOTS), (field, sectors), (boot::TABLE_SECTORS_16, table)]);
        boot::EXTENDED_16
    };
    boot[extended] = 0x80;
    boot[extended + 2] = 0x29;
    boot[extended + 3..extended + 7].copy_from_slice(&options.serial.to_le_bytes());
    boot[extended + 7..extended + 18].copy_from_slice(b"NO NAME    ");
    boot[extended + 18..extended + 26].copy_from_slice(if is_32 { b"FAT32   " } else { b"FAT16   " });
    boot[boot::SIGNATURE_AT..boot::SIGNATURE_AT + 2].copy_from_slice(&boot::SIGNATURE);
    Ok(boot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_an_entry_for_each_cluster_and_no_sector_more_than_that_takes() {
        let mut kinds = [0, 0];
        for sectors in (LEAST_VOLUME_BYTES / PAGE_BYTES as u64..2_000_000).step_by(97) {
            for tables in [1, 2] {
                let Plan { per_cluster, reserved, table, is_32 } = Plan::of(sectors, tables).expect("a kind of table");
                kinds[usize::from(is_32)] += 1;
                let (root, width) = if is_32 { (0, 4) } else { (ROOT_SLOTS * SLOT_BYTES / PAGE_BYTES as u64, 2) };
                let has_entries = |table: u64| {
                    let data = sectors - reserved - root - u64::from(tables) * table;
                    table * PAGE_BYTES as u64 / width >= data / per_cluster + 2
                };
                assert!(has_entries(table), "{sectors} sectors, {tables} tables of {table}");
                assert!(!has_entries(table - 1), "{sectors} sectors, {tables} tables of {table}");
            }
        }
        assert!(kinds.iter().all(|&count| count > 500), "{kinds:?}");
    }
}
