//! What can be asked at the socket beside the image, as text and as values.

use std::fmt;

use flash::{Fault, Tear};
use serde::{Deserialize, Serialize};

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlRequest {
    /// How the device is.
    Stat,
    /// The same, for Prometheus.
    Metrics,
    /// Something is to go wrong.
    Fault(FaultRequest),
}

/// What is to go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FaultRequest {
    /// The power is cut: between two operations, or at one, which then ends as the tear says.
    Cut {
        /// How far the operation gets.
        #[serde(default)]
        tear: Option<TearName>,
        /// Flash operations before it.
        #[serde(default)]
        after: u64,
        /// Whether the power stays off until it is restored.
        #[serde(default)]
        stay_off: bool,
    },
    /// A flash operation fails.
    At {
        /// How it fails.
        kind: FailureName,
        /// Flash operations before it.
        #[serde(default)]
        after: u64,
    },
    /// The power comes back.
    Restore,
}

/// How far an operation gets that a power cut meets; see `flash::Tear`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TearName {
    /// The operation has not begun.
    Before,
    /// The operation has hardly begun, and flash does not show it.
    Unseen,
    /// The operation is half done.
    Torn,
    /// The operation is done.
    After,
}

impl From<TearName> for Tear {
    fn from(name: TearName) -> Self {
        match name {
            TearName::Before => Self::Before,
            TearName::Unseen => Self::Unseen,
            TearName::Torn => Self::Torn,
            TearName::After => Self::After,
        }
    }
}

/// How an operation fails; see `flash::Fault`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureName {
    /// A page program fails.
    ProgramFails,
    /// A block erase fails.
    EraseFails,
    /// A page has decayed.
    ReadFails,
    /// A page needed correction.
    ReadCorrected,
}

impl FaultRequest {
    /// The fault and when it is due. Restoring the power is none, and is not asked for here.
    pub(crate) fn planned(&self) -> (u64, Fault) {
        match *self {
            Self::Cut { tear, after, .. } => (after, Fault::Cut(tear.map_or(Tear::Torn, Tear::from))),
            Self::At { kind, after } => (after, kind.into()),
            Self::Restore => (0, Fault::Cut(Tear::Before)),
        }
    }
}

/// What goes wrong, for people.
impl fmt::Display for FaultRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cut { tear: None | Some(TearName::Torn), .. } => "a power cut that tears its operation",
            Self::Cut { tear: Some(TearName::Before), .. } => "a power cut before its operation begins",
            Self::Cut { tear: Some(TearName::Unseen), .. } => {
                "a power cut whose operation leaves no trace that can be read"
            }
            Self::Cut { tear: Some(TearName::After), .. } => "a power cut after its operation is done",
            Self::At { kind: FailureName::ProgramFails, .. } => "a program that fails",
            Self::At { kind: FailureName::EraseFails, .. } => "an erase that fails",
            Self::At { kind: FailureName::ReadFails, .. } => "a page that has decayed",
            Self::At { kind: FailureName::ReadCorrected, .. } => "a read that needs correction",
            Self::Restore => "the return of the power",
        })
    }
}

impl From<FailureName> for Fault {
    fn from(name: FailureName) -> Self {
        match name {
            FailureName::ProgramFails => Self::ProgramFails,
            FailureName::EraseFails => Self::EraseFails,
            FailureName::ReadFails => Self::ReadFails,
            FailureName::ReadCorrected => Self::ReadCorrected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_in_words_and_not_as_code() {
        use FailureName::{EraseFails, ProgramFails, ReadCorrected, ReadFails};
        let tears = [None, Some(TearName::Before), Some(TearName::Unseen), Some(TearName::Torn), Some(TearName::After)];
        let cuts = tears.map(|tear| FaultRequest::Cut { tear, after: 3, stay_off: false });
        let failures =
            [ProgramFails, EraseFails, ReadFails, ReadCorrected].map(|kind| FaultRequest::At { kind, after: 0 });
        for fault in cuts.into_iter().chain(failures) {
            let told = fault.to_string();
            assert!(told.starts_with("a ") || told.starts_with("an "), "{told}");
            assert!(!told.contains(['(', ')', '{', '_']), "{told}");
        }
    }

    #[test]
    fn requests_read_back_from_their_text() {
        for (text, expected) in [
            ("\"stat\"", ControlRequest::Stat),
            (
                r#"{"fault":{"cut":{"tear":"torn","after":3}}}"#,
                ControlRequest::Fault(FaultRequest::Cut { tear: Some(TearName::Torn), after: 3, stay_off: false }),
            ),
            (
                r#"{"fault":{"at":{"kind":"erase_fails"}}}"#,
                ControlRequest::Fault(FaultRequest::At { kind: FailureName::EraseFails, after: 0 }),
            ),
            (r#"{"fault":"restore"}"#, ControlRequest::Fault(FaultRequest::Restore)),
        ] {
            assert_eq!(serde_json::from_str::<ControlRequest>(text).expect(text), expected);
        }
        assert!(serde_json::from_str::<ControlRequest>(r#"{"fault":{"cut":{"when":1}}}"#).is_err());
    }
}
