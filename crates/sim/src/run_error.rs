//! Why something ended early: it was stopped, or somebody is at fault.

use trace::TraceError;

use crate::SimError;
use crate::error::{Fault, Stage};
use crate::host::control::Stopped;

/// Why there is no experiment.
#[derive(Debug)]
pub(crate) enum SetupError {
    /// It was asked to stop.
    Stopped,
    /// The workload or the study is at fault.
    Input(SimError),
}

impl From<Stopped> for SetupError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<TraceError> for SetupError {
    fn from(error: TraceError) -> Self {
        Self::Input(error.into())
    }
}

impl From<SimError> for SetupError {
    fn from(error: SimError) -> Self {
        Self::Input(error)
    }
}

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum Halt {
    /// It was asked to stop.
    Stopped,
    /// The workload or the study is at fault.
    Input(SimError),
    /// The translation layer failed, and where.
    Fault(Stage, Fault),
}

impl From<Stopped> for Halt {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<SimError> for Halt {
    fn from(error: SimError) -> Self {
        Self::Input(error)
    }
}
