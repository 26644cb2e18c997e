//! Why a volume refused an operation.

use std::io;

use thiserror::Error;

/// Why a volume refused an operation. Nothing of what was asked has been done, if it is not
/// [`Disk`](Self::Disk) or [`Damaged`](Self::Damaged).
#[derive(Debug, Error)]
pub enum FatError {
    /// The disk holds nothing, or something else.
    #[error("no FAT file system: {0}")]
    NotFat(String),
    /// A FAT file system, with something that is not served here.
    #[error("a FAT file system that is not served: {0}")]
    Unserved(String),
    /// Too few clusters are free.
    #[error("the volume is full")]
    Full,
    /// The root folder of a FAT16 volume has room for this many names only.
    #[error("the root folder is full: on FAT16 it cannot grow; use a folder in it")]
    RootFull,
    /// A folder may have 65 536 slots.
    #[error("the folder is full")]
    FolderFull,
    /// There is such a name.
    #[error("there is such a name already")]
    Exists,
    /// The folder to be removed has files.
    #[error("the folder is not empty")]
    NotEmpty,
    /// A name that FAT has no room for.
    #[error("the name is longer than 255 characters")]
    LongName,
    /// A name that FAT cannot have.
    #[error(
        "FAT allows no name that is empty, ends with a dot or a space, or has control characters or one of \" * / : < > ? \\ |"
    )]
    BadName,
    /// A file would have 4 GiB or more.
    #[error("a file on FAT has less than 4 GiB")]
    LongFile,
    /// What lies on the volume contradicts itself.
    #[error("the volume is damaged: {0}")]
    Damaged(String),
    /// The disk below the volume reported an error.
    #[error(transparent)]
    Disk(#[from] io::Error),
}
