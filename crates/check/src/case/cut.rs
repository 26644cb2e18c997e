//! A power cut: at which flash operation, and how far that operation got.
//!
//! Only programs and erases are counted, from 0 on since the workload began or since the power came
//! back: a cut at a read leaves the flash as a cut before the next program or erase does. In replay
//! lines a cut is `12:torn`; several, each counted from the recovery of the one before, are
//! `12:torn,3:after`.

use std::fmt;
use std::str::FromStr;

use flash::Tear;

use crate::case::named::{at_operation, name_of};

/// One power cut: the operation that it hits, and how far that got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cut {
    /// The program or erase, counted from 0.
    pub operation: u32,
    /// How far it got.
    pub tear: Tear,
}

const NAMES: [(Tear, &str); 4] =
    [(Tear::Before, "before"), (Tear::Unseen, "unseen"), (Tear::Torn, "torn"), (Tear::After, "after")];

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.operation, name_of(&NAMES, &self.tear))
    }
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        at_operation(text, &NAMES).map(|(operation, tear)| Self { operation, tear }).ok_or_else(|| {
            format!(
                "cut {text}: write the operation's number and before, unseen, torn or after, for example cut=12:torn"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::named::{list, parse_list};

    #[test]
    fn every_cut_reads_back_from_its_text() {
        for text in ["0:before", "12:torn,3:unseen", "7:after,0:torn,4294967295:before"] {
            assert_eq!(list(&parse_list::<Cut>(text).expect(text)), text);
        }
        for wrong in ["", "12", "12:", "12:half", ":torn", "12:torn,", "-1:torn", "4294967296:torn"] {
            assert!(parse_list::<Cut>(wrong).expect_err(wrong).contains("for example"), "{wrong}");
        }
    }
}
