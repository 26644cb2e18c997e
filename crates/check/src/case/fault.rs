//! An injected fault: one fault of the flash, at one of its operations, in the text form of replay
//! lines.
//!
//! Operations are counted as the fault injector counts them, from 0 on since the device was
//! formatted: reads, scans, programs and erases alike. `faults=12:program-fails,30:erase-fails` in
//! a replay line is a whole plan.

use std::fmt;
use std::str::FromStr;

use flash::{Fault, FaultPlan, Tear};

use crate::case::named::{at_operation, name_of, names};

/// A fault of one flash operation, and which operation it hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InjectedFault {
    /// The operation, counted from 0.
    pub operation: u64,
    /// What happens to it.
    pub fault: Fault,
}

const NAMES: [(Fault, &str); 8] = [
    (Fault::ProgramFails, "program-fails"),
    (Fault::EraseFails, "erase-fails"),
    (Fault::ReadFails, "read-fails"),
    (Fault::ReadCorrected, "read-corrected"),
    (Fault::Cut(Tear::Before), "cut-before"),
    (Fault::Cut(Tear::Unseen), "cut-unseen"),
    (Fault::Cut(Tear::Torn), "cut-torn"),
    (Fault::Cut(Tear::After), "cut-after"),
];

impl fmt::Display for InjectedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.operation, name_of(&NAMES, &self.fault))
    }
}

impl FromStr for InjectedFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        at_operation(text, &NAMES).map(|(operation, fault)| Self { operation, fault }).ok_or_else(|| {
            format!(
                "fault {text}: write the operation's number and one of {}, for example faults=12:program-fails",
                names(&NAMES)
            )
        })
    }
}

/// The plan of these faults.
pub(crate) fn plan(faults: &[InjectedFault]) -> FaultPlan {
    FaultPlan { at: faults.iter().map(|fault| (fault.operation, fault.fault)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::named::{list, parse_list};

    #[test]
    fn every_strike_reads_back_from_its_text() {
        let all: Vec<_> = (0..).zip(NAMES).map(|(operation, (fault, _))| InjectedFault { operation, fault }).collect();
        assert_eq!(parse_list(&list(&all)), Ok(all));
        for wrong in ["", "12", "12:", "12:torn", ":erase-fails", "12:read-fails,", "-1:read-fails"] {
            assert!(parse_list::<InjectedFault>(wrong).expect_err(wrong).contains("for example"), "{wrong}");
        }
    }
}
