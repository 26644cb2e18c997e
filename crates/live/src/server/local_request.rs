//! A request that comes through the inner door, and what is answered.

use std::sync::mpsc::SyncSender;

use bytes::Bytes;
use ftl::{Hint, Nanos};

use crate::drive::{DriveError, Piece};
use crate::nbd::Command;

/// Why a request of the host was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoorError {
    /// What the device says.
    LiveDrive(DriveError),
    /// The power was cut and is back since the last request: what was written and not flushed may
    /// be gone. This request was not begun.
    PowerWasCut,
    /// The server has ended.
    Ended,
}

/// A request of the host.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(super) command: Command,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) data: Bytes,
    pub(super) hint: Hint,
    /// How often the power had come back, as far as the host knows.
    pub(super) power_ons: u64,
    pub(super) answer: SyncSender<Answer>,
}

/// The answer to a local request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(super) result: Result<Vec<Piece>, DoorError>,
    pub(super) power_ons: u64,
    /// When the modelled device would be done.
    pub(super) due: Option<Nanos>,
}
