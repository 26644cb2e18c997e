//! Why a program did not get what it asked of the mounted files.

use fat::FatError;
use thiserror::Error;

use crate::device::{DeviceError, of_io};

/// Why a program did not get what it asked for. Nothing of what it asked has been done.
#[derive(Debug, Error)]
pub enum FileError {
    /// There is no such file.
    #[error("no such file or folder")]
    NotFound,
    /// It is a folder, and a file is needed.
    #[error("it is a folder")]
    IsFolder,
    /// It is a file, and a folder is needed.
    #[error("it is no folder")]
    NotFolder,
    /// A folder would lie in itself.
    #[error("a folder cannot be moved into itself")]
    InItself,
    /// FAT has no such thing.
    #[error("FAT has no links, devices, pipes or sockets")]
    NoSuchKind,
    /// FAT does not keep such a mode.
    #[error("of a mode FAT keeps whether a file may be written, and nothing else")]
    NoSuchMode,
    /// Nothing can be written.
    #[error("the device is read-only")]
    ReadOnly,
    /// What the volume says.
    #[error(transparent)]
    Fat(FatError),
    /// What the device says.
    #[error(transparent)]
    Device(DeviceError),
}

impl From<FatError> for FileError {
    fn from(error: FatError) -> Self {
        match error {
            FatError::Disk(error) => of_io(&error).into(),
            error => Self::Fat(error),
        }
    }
}

impl From<DeviceError> for FileError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::ReadOnly => Self::ReadOnly,
            error => Self::Device(error),
        }
    }
}

impl FileError {
    /// The number that the operating system has for it.
    pub(crate) fn errno(&self) -> fuser::Errno {
        use fuser::Errno;
        match self {
            Self::NotFound => Errno::ENOENT,
            Self::IsFolder => Errno::EISDIR,
            Self::NotFolder => Errno::ENOTDIR,
            Self::InItself | Self::Fat(FatError::BadName) => Errno::EINVAL,
            Self::NoSuchKind | Self::NoSuchMode => Errno::EPERM,
            Self::ReadOnly => Errno::EROFS,
            Self::Fat(FatError::Full | FatError::RootFull | FatError::FolderFull) => Errno::ENOSPC,
            Self::Fat(FatError::Exists) => Errno::EEXIST,
            Self::Fat(FatError::NotEmpty) => Errno::ENOTEMPTY,
            Self::Fat(FatError::LongName) => Errno::ENAMETOOLONG,
            Self::Fat(FatError::LongFile) => Errno::EFBIG,
            Self::Fat(FatError::NotFat(_) | FatError::Unserved(_) | FatError::Damaged(_) | FatError::Disk(_))
            | Self::Device(_) => Errno::EIO,
        }
    }
}
