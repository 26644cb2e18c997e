//! A request of the local client, and its answer.

use std::sync::mpsc::SyncSender;

use bytes::Bytes;
use ftl::{Hint, Nanos, Spares};

use crate::drive::{DriveError, Piece};
use crate::nbd::Command;

/// Why a request of the local client was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalClientError {
    /// What the device says.
    Drive(DriveError),
    /// The power was cut and is back since the last request: what was written and not flushed may
    /// be gone. This request was not begun.
    PowerWasCut,
    /// The server has ended.
    Ended,
}

/// A request of the local client.
#[derive(Debug)]
pub(crate) struct LocalRequest {
    pub(super) command: Command,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) data: Bytes,
    pub(super) hint: Hint,
    /// How often the power had come back, as far as the client knows.
    pub(super) power_ons: u64,
    pub(super) answer: SyncSender<Answer>,
}

/// The answer to a local request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(super) result: Result<Vec<Piece>, LocalClientError>,
    pub(super) power_ons: u64,
    /// When the modelled device would be done.
    pub(super) due: Option<Nanos>,
    pub(super) spares: Spares,
}
