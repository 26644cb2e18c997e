//! Why a live device does not do as it is asked.

use flash::FlashError;
use ftl::FtlError;

/// Why the device did not do as it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriveError {
    /// A page cannot be read.
    Unreadable,
    /// Too many blocks have failed to write.
    ReadOnly,
    /// The flash has no power, or the disk under the image failed.
    NoPower,
    /// The translation layer is at fault; nothing more should be believed.
    Bug(String),
}

impl From<FtlError> for DriveError {
    fn from(error: FtlError) -> Self {
        match &error {
            FtlError::ReadOnly { .. } => Self::ReadOnly,
            FtlError::Flash { error: FlashError::Violation(_), .. } | FtlError::OutOfSpace { .. } => {
                Self::Bug(error.to_string())
            }
            _ if error.is_power_cut() => Self::NoPower,
            FtlError::Flash { .. } => Self::Unreadable,
        }
    }
}
