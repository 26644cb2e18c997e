//! Why something could not be done with an image, kept apart by who has to act.

use std::fmt;
use std::io;
use std::path::Path;

use ftl::{ConfigError, FtlError, RecoverError};

/// An error of the live device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveError {
    /// The user's to mend; the sentence says how.
    User(String),
    /// A bug of a translation layer or of this crate.
    Bug(String),
}

impl LiveError {
    /// An error that the user can mend, which the message says how.
    pub fn user(message: impl Into<String>) -> Self {
        Self::User(message.into())
    }

    /// What the operating system said about a file.
    pub(crate) fn file(what: &str, path: &Path, error: &io::Error) -> Self {
        Self::User(format!("cannot {what} {}: {error}", path.display()))
    }
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(message) | Self::Bug(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for LiveError {}

impl From<ConfigError> for LiveError {
    fn from(error: ConfigError) -> Self {
        Self::User(error.to_string())
    }
}

impl From<sim::SimError> for LiveError {
    fn from(error: sim::SimError) -> Self {
        Self::User(error.to_string())
    }
}

impl From<RecoverError> for LiveError {
    fn from(error: RecoverError) -> Self {
        match error {
            RecoverError::Config(error) => error.into(),
            RecoverError::Ftl(error) => error.into(),
        }
    }
}

impl From<FtlError> for LiveError {
    fn from(error: FtlError) -> Self {
        match error {
            // What failed is the user's own code.
            FtlError::ReadOnly { .. } | FtlError::Failed { .. } => Self::User(error.to_string()),
            FtlError::Flash { .. } | FtlError::OutOfSpace { .. } => Self::Bug(error.to_string()),
        }
    }
}
