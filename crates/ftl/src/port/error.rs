//! What a translation layer can fail with, kept apart by who has to act.

use std::fmt;

use flash::{FlashError, MediaEvent};

use crate::port::cause::Cause;

/// A request could not be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FtlError {
    /// The chip refused or failed an operation.
    Flash {
        /// What the chip said.
        error: FlashError,
        /// The cause in force.
        cause: Cause,
        /// Operations done before this one.
        operation: u64,
    },
    /// So many blocks have failed that the data would not fit if another did; reads go on.
    ReadOnly {
        /// Blocks that could fail before it came to this; all have.
        spares: u32,
    },
    /// No block can be reclaimed although the logical space fits: a bug in the scheme's own
    /// accounting.
    OutOfSpace {
        /// Which blocks were asked for.
        wanted: &'static str,
    },
    /// The scheme's own code failed; only schemes from outside say so.
    Failed {
        /// What went wrong and where, in words.
        message: String,
    },
}

impl fmt::Display for FtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flash { error, cause, operation } => {
                write!(f, "flash operation {operation} (cause {}): {error}", cause.name())
            }
            Self::ReadOnly { spares } => write!(
                f,
                "device is read-only: {spares} of {spares} spare blocks used; copy the data to another device, reads still work"
            ),
            Self::OutOfSpace { wanted } => {
                write!(f, "no free block left for {wanted}: the scheme's space accounting is wrong")
            }
            Self::Failed { message } => write!(f, "the scheme's own code failed: {message}"),
        }
    }
}

impl std::error::Error for FtlError {}

impl FtlError {
    /// The media event behind it, if there is one.
    pub fn media_event(&self) -> Option<MediaEvent> {
        match self {
            Self::Flash { error, .. } => error.media_event(),
            Self::ReadOnly { .. } | Self::OutOfSpace { .. } | Self::Failed { .. } => None,
        }
    }

    /// Whether the power was cut.
    pub fn is_power_cut(&self) -> bool {
        self.media_event() == Some(MediaEvent::PowerCut)
    }

    /// Whether a page could not be programmed.
    pub fn is_program_failure(&self) -> bool {
        matches!(self.media_event(), Some(MediaEvent::ProgramFailed(_)))
    }

    /// Whether a block could not be erased.
    pub fn is_erase_failure(&self) -> bool {
        matches!(self.media_event(), Some(MediaEvent::EraseFailed(_)))
    }

    /// Fails unless the reason is that the device is read-only: for what recovery would write if it
    /// could, and can do without.
    pub fn unless_read_only(result: Result<(), Self>) -> Result<(), Self> {
        if matches!(result, Err(Self::ReadOnly { .. })) { Ok(()) } else { result }
    }

    /// Whether a page could not be read.
    pub fn is_uncorrectable(&self) -> bool {
        matches!(self.media_event(), Some(MediaEvent::Uncorrectable(_)))
    }
}

/// Why a scheme could not be brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecoverError {
    /// It could not be built for this device or with these parameters.
    Config(ConfigError),
    /// An operation failed.
    Ftl(FtlError),
}

impl fmt::Display for RecoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Ftl(error) => write!(f, "recovery stopped: {error}"),
        }
    }
}

impl std::error::Error for RecoverError {}

impl From<ConfigError> for RecoverError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<FtlError> for RecoverError {
    fn from(error: FtlError) -> Self {
        Self::Ftl(error)
    }
}

/// A numbered invariant of a scheme does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenInvariant {
    /// Its number in the scheme's header, for example `I2`.
    pub name: &'static str,
    /// What was found.
    pub found: String,
}

impl BrokenInvariant {
    /// Fails with a message unless a condition holds.
    pub fn unless(holds: bool, name: &'static str, found: impl FnOnce() -> String) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self { name, found: found() }) }
    }
}

impl fmt::Display for BrokenInvariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invariant {} does not hold: {}", self.name, self.found)
    }
}

impl std::error::Error for BrokenInvariant {}

/// A scheme cannot be built as asked: always the user's to mend, so each says how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}
