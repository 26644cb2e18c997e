//! Why there is no result, by the person who has to act: the user, or the scheme's author.
//!
//! Everything a user can mend is a paragraph with the key, the value, the limit and the next step.
//! A bug of a translation layer comes with everything to replay it: label, seed, geometry and the
//! number of the request.

use flash::Lpn;
use ftl::{BrokenInvariant, FtlError};
use thiserror::Error;
use trace::TraceError;

use crate::control::Stopped;

/// Why a study gave no results.
#[derive(Debug, Error)]
pub enum SimError {
    /// The study cannot be run as written.
    #[error("{0}")]
    Study(String),
    /// The workload cannot be read or made.
    #[error("{0}")]
    Workload(String),
    /// The simulated device reached the end of its life.
    #[error("{0}")]
    WornOut(String),
    /// A translation layer of ftlkit's did what it must not.
    #[error(
        "a bug in {0}. The results of this scheme cannot be trusted; please report it with the study, which replays it"
    )]
    Bug(Box<FtlBug>),
    /// The same of one that the user wrote.
    #[error(
        "{} failed in {}: {}. That is code of your own, not ftlkit's; the same study repeats it (seed {}, geometry {})",
        .0.label, .0.stage, .0.fault, .0.seed, .0.geometry
    )]
    Own(Box<FtlBug>),
}

impl SimError {
    pub(crate) fn study(message: impl Into<String>) -> Self {
        Self::Study(message.into())
    }

    /// Whether this is a bug of a translation layer and not the user's to mend.
    pub fn is_bug(&self) -> bool {
        matches!(self, Self::Bug(_))
    }
}

impl From<trace::TraceError> for SimError {
    fn from(error: trace::TraceError) -> Self {
        Self::Workload(error.to_string())
    }
}

impl From<trace::generate::SpecError> for SimError {
    fn from(error: trace::generate::SpecError) -> Self {
        Self::Workload(error.to_string())
    }
}

/// A bug of a translation layer, with what replays it.
#[derive(Clone, Debug, Error)]
#[error("{ftl} (run \"{label}\", seed {seed}, geometry {geometry}), found in {stage}: {fault}")]
pub struct FtlBug {
    /// Label of the run.
    pub label: String,
    /// Name of the scheme.
    pub ftl: String,
    /// Seed of the study.
    pub seed: u64,
    /// Geometry, as [`flash::Geometry`] prints it.
    pub geometry: String,
    /// Where in the run.
    pub stage: Stage,
    /// The broken rule or the wrong content.
    pub fault: Fault,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Stage {
    /// Preparing the device; this many pages had been written.
    #[error("preconditioning, after {0} pages")]
    Precondition(u64),
    /// Serving the workload; the request's number, counted from 1.
    #[error("request {0}")]
    Request(u64),
    /// Reading everything back and checking at the end.
    #[error("the verification at the end")]
    Verification,
    /// Mounting the device again after a power cut at the end.
    #[error("mounting after a power cut at the end")]
    Mount,
}

/// What a translation layer did wrong.
#[derive(Clone, Debug, Error)]
pub enum Fault {
    /// It failed or broke a rule of the flash.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// It returned something other than the last write.
    #[error("{lpn} does not hold its last write: {found}")]
    Mismatch {
        /// The logical page that was read.
        lpn: Lpn,
        /// The oracle's words.
        found: String,
    },
    /// One of its numbered invariants does not hold.
    #[error(transparent)]
    Invariant(#[from] BrokenInvariant),
    /// What the causes add up to is not what the flash counted.
    #[error("its causes add up to {caused:?} reads, programs and erases, but the flash counted {counted:?}")]
    Totals {
        /// Reads, programs and erases by cause.
        caused: [u64; 3],
        /// Reads, programs and erases as the chip counted them.
        counted: [u64; 3],
    },
}

impl Fault {
    /// Whether code that the user wrote raised an error: no built-in scheme says so.
    pub(crate) fn is_of_own_code(&self) -> bool {
        matches!(self, Self::Ftl(FtlError::Failed { .. }))
    }

    /// Whether the fault is the device's end of life and no bug: more blocks have worn out than
    /// there were spares.
    pub(crate) fn is_end_of_life(&self) -> bool {
        matches!(self, Self::Ftl(FtlError::ReadOnly { .. }))
    }
}

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
    /// There is no clock, and the translation layer asked of time: what.
    AskedOfTime(&'static str),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_says_what_replays_it() {
        let bug = FtlBug {
            label: "dftl small".into(),
            ftl: "dftl".into(),
            seed: 7,
            geometry: "1x1x1x64x64x4096".into(),
            stage: Stage::Request(123),
            fault: Fault::Totals { caused: [1, 2, 3], counted: [1, 2, 4] },
        };
        let error = SimError::Bug(Box::new(bug));
        assert!(error.is_bug());
        let message = error.to_string();
        for part in ["bug in dftl", "\"dftl small\"", "seed 7", "1x1x1x64x64x4096", "request 123", "[1, 2, 4]"] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }

    #[test]
    fn what_the_user_wrote_is_no_bug_to_report() {
        let fault = Fault::Ftl(FtlError::Failed { message: "mine.py, line 7: KeyError: 3".into() });
        assert!(fault.is_of_own_code());
        let bug = FtlBug {
            label: "page:victim=full".into(),
            ftl: "page".into(),
            seed: 7,
            geometry: "1x1x1x64x64x4096".into(),
            stage: Stage::Request(123),
            fault,
        };
        let error = SimError::Own(Box::new(bug));
        let message = error.to_string();
        assert!(!error.is_bug() && !message.contains("report") && !message.contains("bug"), "{message}");
        assert!(
            message.starts_with("page:victim=full failed in request 123: ") && message.contains("mine.py, line 7"),
            "{message}"
        );
    }
}
