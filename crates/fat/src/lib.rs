//! The FAT file system: folders, names and allocation tables of a volume, FAT16 and FAT32, with
//! long names.
//!
//! ```text
//!   names, times, sizes ──▶ volume: folders (slots.rs, names.rs), tables (table.rs)
//!                                │
//!                                ├──▶ disk: pages of 4 KiB
//!                                └──▶ ranges of bytes of a file, which the caller reads and writes
//! ```
//!
//! A volume changes nothing but its own tables. The bytes of files are the caller's: a simulation
//! has none, and a mounted volume moves them in long requests. Whatever is changed is changed in
//! pages of the caller's ([`Disk`]), so the caller decides what reaches the drive, and when, and
//! can take a change back.
//!
//! Source: Microsoft, *FAT: General Overview of On-Disk Format*, 1.03 (2000), whose names of fields
//! stand beside the numbers here. FAT12 is refused: its entries are no whole number of bytes, and
//! no volume of this size needs it.

mod boot;
mod code_page;
mod disk;
mod error;
mod folder;
mod format;
mod names;
mod shape;
mod slots;
mod stamp;
mod table;
mod volume;

pub use code_page::CodePage;
pub use disk::{Disk, PAGE_BYTES, Page};
pub use error::FatError;
pub use format::{FormatOptions, LEAST_VOLUME_BYTES, format};
pub use names::MOST_NAME_UNITS;
pub use shape::{Kind, Root, Shape};
pub use slots::{Entry, Folder};
pub use stamp::Stamp;
pub use table::Chain;
pub use volume::{MOST_FILE_BYTES, Volume};

#[cfg(test)]
mod tests;
