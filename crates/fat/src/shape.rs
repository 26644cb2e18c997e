//! Where things lie on a volume, as its boot sector says.

use crate::boot::{self, Field};
use crate::disk::{Disk, PAGE_BYTES};
use crate::error::FatError;

/// Clusters below which a volume is FAT12, and from which on one that is made here is FAT32.
pub(crate) const LEAST_FAT16: u32 = 4_085;
pub(crate) const LEAST_FAT32: u32 = 65_525;
/// The most clusters of FAT32.
const MOST_CLUSTERS: u32 = 0x0FFF_FFF4;
/// Copies of the allocation table: all that systems of today write. FAT allows 255.
const MOST_TABLES: u64 = 2;
/// Bytes of a slot of a folder.
pub(crate) const SLOT_BYTES: u64 = 32;

/// How wide the entries of the tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// FAT16, with entries of 16 bits.
    Fat16,
    /// 32 bits, of which 28 are used.
    Fat32,
}

impl Kind {
    pub(crate) fn entry_bytes(self) -> u64 {
        match self {
            Self::Fat16 => 2,
            Self::Fat32 => 4,
        }
    }
}

/// Where the root folder lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// Behind the tables, this many bytes from an offset on.
    Fixed {
        /// Its first byte.
        offset: u64,
        /// Size of the root folder in bytes.
        bytes: u64,
    },
    /// In clusters, as other folders, from this one on.
    Cluster(u32),
}

/// Where things lie on a volume. Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The width of entries.
    pub kind: Kind,
    /// Of the whole volume.
    pub bytes: u64,
    /// Size of a cluster, the unit of allocation.
    pub cluster_bytes: u32,
    /// Copies of the table.
    pub tables: u32,
    /// The first table.
    pub table: u64,
    /// Size of one copy of the allocation table.
    pub table_bytes: u64,
    /// The root folder.
    pub root: Root,
    /// The first cluster, which has number 2.
    pub data: u64,
    /// How many there are.
    pub clusters: u32,
    /// The sector that says how many clusters are free.
    pub(crate) info: Option<u64>,
    /// The byte that says whether the volume was unmounted.
    pub(crate) state: u64,
}

impl Shape {
    /// Reads the boot sector of a disk.
    pub fn read(disk: &mut impl Disk) -> Result<Self, FatError> {
        let bytes = disk.bytes();
        if bytes < PAGE_BYTES as u64 {
            return Err(not_fat("the disk has not even a page"));
        }
        Self::of(disk.page(0)?, bytes)
    }

    /// What a boot sector says, on a disk of this many bytes.
    pub(crate) fn of(boot: &[u8; PAGE_BYTES], disk_bytes: u64) -> Result<Self, FatError> {
        if boot.iter().all(|&byte| byte == 0) {
            return Err(not_fat("its first page holds nothing"));
        }
        if boot[boot::SIGNATURE_AT..][..2] != boot::SIGNATURE {
            return Err(not_fat("its first sector does not end with 55 AA"));
        }
        let field = |field: Field| u64::from(field.read(boot));
        let or = |first: Field, other: Field| if field(first) > 0 { field(first) } else { field(other) };
        let sector = field(boot::SECTOR_BYTES);
        if ![512, 1024, 2048, 4096].contains(&sector) {
            return Err(not_fat(&format!("its sectors would have {sector} bytes")));
        }
        let per_cluster = field(boot::SECTORS_PER_CLUSTER);
        if !per_cluster.is_power_of_two() {
            return Err(not_fat(&format!("its clusters would have {per_cluster} sectors")));
        }
        let (reserved, tables) = (field(boot::RESERVED_SECTORS), field(boot::TABLES));
        check_tables(reserved, tables)?;
        let table_sectors = or(boot::TABLE_SECTORS_16, boot::TABLE_SECTORS_32);
        let table_bytes = table_sectors * sector;
        let sectors = or(boot::SECTORS_16, boot::SECTORS_32);
        let table = reserved * sector;
        let root = table + tables * table_bytes;
        let root_bytes = (field(boot::ROOT_SLOTS) * SLOT_BYTES).next_multiple_of(sector);
        let data = root + root_bytes;
        let bytes = sectors * sector;
        if bytes > disk_bytes {
            return Err(not_fat(&format!("it would have {bytes} bytes on a disk of {disk_bytes}")));
        }
        let clusters = bytes.saturating_sub(data) / (per_cluster * sector);
        let kind = kind(clusters, field(boot::TABLE_SECTORS_16) == 0)?;
        if table_bytes / kind.entry_bytes() < clusters + 2 {
            return Err(not_fat(&format!("its table of {table_bytes} bytes has no room for {clusters} clusters")));
        }
        let (root, info, extended) = match kind {
            Kind::Fat16 if root_bytes == 0 => return Err(not_fat("it has no root folder")),
            Kind::Fat16 => (Root::Fixed { offset: root, bytes: root_bytes }, None, boot::EXTENDED_16),
            Kind::Fat32 => {
                let cluster = root_cluster(boot, clusters)?;
                let info = field(boot::INFO_SECTOR);
                let info = (1..reserved).contains(&info).then_some(info * sector);
                (Root::Cluster(cluster), info, boot::EXTENDED_32)
            }
        };
        Ok(Self {
            kind,
            bytes,
            cluster_bytes: (per_cluster * sector) as u32,
            tables: tables as u32,
            table,
            table_bytes,
            root,
            data,
            clusters: clusters as u32,
            info,
            state: (extended + boot::STATE) as u64,
        })
    }

    /// The first byte of a cluster.
    pub fn cluster(&self, cluster: u32) -> u64 {
        self.data + u64::from(cluster - 2) * u64::from(self.cluster_bytes)
    }

    /// Clusters that this many bytes take.
    pub fn clusters_of(&self, bytes: u64) -> usize {
        bytes.div_ceil(self.cluster_bytes.into()) as usize
    }

    /// Whether every cluster is whole pages, so that no page holds two files.
    pub fn is_paged(&self) -> bool {
        let page = PAGE_BYTES as u64;
        self.data.is_multiple_of(page) && u64::from(self.cluster_bytes).is_multiple_of(page)
    }

    /// Whether this is the number of a cluster.
    pub(crate) fn has(&self, cluster: u32) -> bool {
        (2..self.clusters + 2).contains(&cluster)
    }
}

/// Refuses a number of tables that is not served, or is that of no volume.
fn check_tables(reserved: u64, tables: u64) -> Result<(), FatError> {
    if reserved == 0 || tables == 0 {
        return Err(not_fat(&format!("it would have {reserved} reserved sectors and {tables} tables")));
    }
    if tables > MOST_TABLES {
        return Err(unserved(&format!("it has {tables} allocation tables, and {MOST_TABLES} are the most")));
    }
    Ok(())
}

/// The kind of a volume with this many clusters. The layout of its boot sector decides, as it does
/// for Linux: `mkfs.vfat -F 32` makes FAT32 volumes with fewer clusters than Microsoft allows, too.
fn kind(clusters: u64, is_laid_out_as_32: bool) -> Result<Kind, FatError> {
    let most = u64::from(if is_laid_out_as_32 { MOST_CLUSTERS } else { LEAST_FAT32 - 1 });
    match clusters {
        0 => Err(not_fat("it has no clusters")),
        many if many > most => {
            let width = if is_laid_out_as_32 { 32 } else { 16 };
            Err(not_fat(&format!("it would have {many} clusters, and a table of {width} bits has {most} at most")))
        }
        _ if is_laid_out_as_32 => Ok(Kind::Fat32),
        few if few < u64::from(LEAST_FAT16) => {
            Err(unserved(&format!("it is FAT12, with {few} clusters, and only FAT16 and FAT32 are")))
        }
        _ => Ok(Kind::Fat16),
    }
}

/// The first cluster of the root folder of a FAT32 volume.
fn root_cluster(boot: &[u8; PAGE_BYTES], clusters: u64) -> Result<u32, FatError> {
    let cluster = boot::ROOT_CLUSTER.read(boot);
    if !(2..clusters + 2).contains(&cluster.into()) {
        return Err(not_fat(&format!("its root folder would begin in cluster {cluster} of {clusters}")));
    }
    if boot::TABLE_FLAGS.read(boot) & 0x80 != 0 {
        return Err(unserved("its allocation tables are no copies of each other"));
    }
    Ok(cluster)
}

fn unserved(why: &str) -> FatError {
    FatError::Unserved(why.into())
}

fn not_fat(why: &str) -> FatError {
    FatError::NotFat(why.into())
}
