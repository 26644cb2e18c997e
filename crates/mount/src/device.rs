//! What a mounted volume lies on: a live device, or one of a test.

use std::io;

use bytes::Bytes;
use ftl::{Hint, Spares};
use live::{DriveError, LocalClient, LocalClientError};
use thiserror::Error;

/// Why a device did not do as it was asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeviceError {
    /// A page cannot be read.
    #[error("a page of the flash cannot be read")]
    Unreadable,
    /// Nothing can be written any more.
    #[error("the device is read-only")]
    ReadOnly,
    /// The power is off.
    #[error("the device has no power")]
    NoPower,
    /// The power was cut and is back: what was written and not flushed may be gone.
    #[error("the power was cut")]
    PowerWasCut,
    /// More waits to be made safe at once than the journal has room for.
    #[error("more waits to be made safe at once than the journal has room for")]
    TooMuch,
    /// Nobody serves it any more.
    #[error("the device is gone")]
    Gone,
}

/// A device is nearly worn out when at most one in this many of its spares is left.
const SPARES_LEFT: u32 = 4;

/// A device of bytes, with what can be lost kept apart from what cannot.
pub trait Device: Send {
    /// Size of the device in bytes.
    fn bytes(&self) -> u64;
    /// Whether it can be written at all.
    fn is_read_only(&self) -> bool;
    /// Whether so few of its blocks may still fail that any write may be the last one it takes.
    fn is_nearly_worn_out(&self) -> bool;
    /// Reads bytes that lie on it.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError>;
    /// Writes bytes that lie on it, with what the host says of them.
    fn write(&mut self, offset: u64, data: Bytes, hint: Hint) -> Result<(), DeviceError>;
    /// A file whose data lie in these ranges, offsets with lengths, has another name: what the host
    /// says of them from now on.
    fn rename(&mut self, ranges: Vec<(u64, u64)>, hint: Hint);
    /// Forgets bytes: the device need not keep their content.
    fn trim(&mut self, offset: u64, bytes: u32) -> Result<(), DeviceError>;
    /// Makes bytes that lie on it read as zeros, which may be cheaper than to write zeros.
    fn write_zeroes(&mut self, offset: u64, bytes: u32) -> Result<(), DeviceError>;
    /// Everything written so far outlives a power cut.
    fn flush(&mut self) -> Result<(), DeviceError>;
}

impl Device for LocalClient {
    fn bytes(&self) -> u64 {
        self.bytes()
    }

    fn is_read_only(&self) -> bool {
        self.is_read_only()
    }

    fn is_nearly_worn_out(&self) -> bool {
        self.spares().is_some_and(is_nearly_worn_out)
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        Ok(self.read(offset, into)?)
    }

    fn write(&mut self, offset: u64, data: Bytes, hint: Hint) -> Result<(), DeviceError> {
        Ok(self.write(offset, data, hint)?)
    }

    fn rename(&mut self, ranges: Vec<(u64, u64)>, hint: Hint) {
        self.rename(ranges, hint);
    }

    fn trim(&mut self, offset: u64, bytes: u32) -> Result<(), DeviceError> {
        Ok(self.trim(offset, bytes)?)
    }

    fn write_zeroes(&mut self, offset: u64, bytes: u32) -> Result<(), DeviceError> {
        Ok(self.write_zeroes(offset, bytes)?)
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        Ok(self.flush()?)
    }
}

/// Whether so few spares are left that any write may be the last one. A device that has none from
/// the beginning is as good as new.
pub(crate) fn is_nearly_worn_out(Spares { total, used }: Spares) -> bool {
    used > 0 && total.saturating_sub(used) <= total / SPARES_LEFT
}

impl From<DriveError> for DeviceError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Unreadable => Self::Unreadable,
            DriveError::ReadOnly => Self::ReadOnly,
            DriveError::NoPower => Self::NoPower,
            DriveError::Bug(_) => Self::Gone,
        }
    }
}

impl From<LocalClientError> for DeviceError {
    fn from(error: LocalClientError) -> Self {
        match error {
            LocalClientError::Drive(error) => error.into(),
            LocalClientError::PowerWasCut => Self::PowerWasCut,
            LocalClientError::Ended => Self::Gone,
        }
    }
}

/// Through the pages of a volume, and out of it again: see `of_io`.
impl From<DeviceError> for io::Error {
    fn from(error: DeviceError) -> Self {
        Self::other(error)
    }
}

/// The error of the device in one of the volume.
pub(crate) fn of_io(error: &io::Error) -> DeviceError {
    error.get_ref().and_then(|inner| inner.downcast_ref()).cloned().unwrap_or(DeviceError::Gone)
}
