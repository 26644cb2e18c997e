//! Fields of the boot sector: where they are and how wide.

/// A field: its first byte, and how many it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field(pub(crate) usize, pub(crate) usize);

pub(crate) const SECTOR_BYTES: Field = Field(11, 2);
pub(crate) const SECTORS_PER_CLUSTER: Field = Field(13, 1);
pub(crate) const RESERVED_SECTORS: Field = Field(14, 2);
pub(crate) const TABLES: Field = Field(16, 1);
pub(crate) const ROOT_SLOTS: Field = Field(17, 2);
pub(crate) const SECTORS_16: Field = Field(19, 2);
pub(crate) const MEDIA: Field = Field(21, 1);
pub(crate) const TABLE_SECTORS_16: Field = Field(22, 2);
pub(crate) const SECTORS_PER_TRACK: Field = Field(24, 2);
pub(crate) const HEADS: Field = Field(26, 2);
pub(crate) const SECTORS_32: Field = Field(32, 4);
pub(crate) const TABLE_SECTORS_32: Field = Field(36, 4);
pub(crate) const TABLE_FLAGS: Field = Field(40, 2);
pub(crate) const ROOT_CLUSTER: Field = Field(44, 4);
pub(crate) const INFO_SECTOR: Field = Field(48, 2);
pub(crate) const BACKUP_SECTOR: Field = Field(50, 2);

/// Where the fields that FAT16 and FAT32 share lie behind those that only one has.
pub(crate) const EXTENDED_16: usize = 36;
/// The same on FAT32.
pub(crate) const EXTENDED_32: usize = 64;
/// From there on: the byte whose lowest bit says that the volume was not unmounted.
pub(crate) const STATE: usize = 1;

/// The two bytes at the end of a boot sector.
pub(crate) const SIGNATURE: [u8; 2] = [0x55, 0xAA];
/// Where they are.
pub(crate) const SIGNATURE_AT: usize = 510;

/// Signatures of the sector that says how many clusters are free: each with its place.
pub(crate) const INFO_SIGNATURES: [(usize, [u8; 4]); 3] =
    [(0, *b"RRaA"), (484, *b"rrAa"), (508, [0, 0, SIGNATURE[0], SIGNATURE[1]])];
/// Where it says how many clusters are free; behind it, from which on to look for one.
pub(crate) const INFO_FREE: usize = 488;

impl Field {
    /// Reads the field from the boot sector.
    pub(crate) fn read(self, sector: &[u8]) -> u32 {
        sector[self.0..self.0 + self.1].iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte))
    }

    /// Writes the field into the boot sector.
    pub(crate) fn write(self, sector: &mut [u8], value: u32) {
        sector[self.0..self.0 + self.1].copy_from_slice(&value.to_le_bytes()[..self.1]);
    }
}
