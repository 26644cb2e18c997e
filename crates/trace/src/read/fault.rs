//! Why a record cannot be used, in the words of an error sentence, before it is known which record
//! it was.

use crate::error::excerpt;

/// What is wrong with a record. Made only when something is wrong, so that a good record costs no
/// allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// "the offset is `abc`, but …": a clause without a full stop.
    pub(crate) problem: String,
}

impl Fault {
    /// `field` reads `found`, which is not what was `expected`.
    #[cold]
    pub(crate) fn field(field: &str, found: &[u8], expected: &str) -> Self {
        if found.is_empty() {
            Self { problem: format!("{field} is empty; expected {expected}") }
        } else {
            Self { problem: format!("{field} is {}; expected {expected}", excerpt(found)) }
        }
    }

    /// The record ends before `field`.
    #[cold]
    pub(crate) fn missing(field: &str) -> Self {
        Self { problem: format!("the record ends before {field}") }
    }

    /// Any other clause.
    #[cold]
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into() }
    }
}
