//! The faults of a test case, which select its driver. Each driver checks a scheme in another way,
//! so a case without a fault must say as well which of them runs it.
//!
//! ```text
//! (nothing)                 flash that never fails, every promise watched, twice       suite.rs
//! cut=12:torn,0:after       power cuts, each counted from the recovery before it       explorer.rs
//! faults=12:program-fails   faults at operations counted since the format, also cuts   faults
//! idle=random               idle time after each request, on flash that takes its time idle.rs
//! ```
//!
//! `cut=none` and `faults=none` are runs of the last two in which nothing had happened yet when a
//! promise broke.

use std::fmt;

use crate::case::cut::Cut;
use crate::case::fault::InjectedFault;
use crate::case::named::{list, parse_list};

/// Which faults come, and how they are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FaultSchedule {
    /// No fault.
    #[default]
    None,
    /// Power cuts, each counted from the recovery of the one before.
    PowerCuts(Vec<Cut>),
    /// Faults of the flash, among which may be power cuts, counted from the format.
    Faults(Vec<InjectedFault>),
    /// Idle time of random length after each request.
    IdleTime,
}

/// An empty list in a replay line.
const EMPTY: &str = "none";

/// The lengths of idle time in a replay line.
const RANDOM: &str = "random";

impl FaultSchedule {
    /// Reads the values of `cut=`, `faults=` and `idle=`, of which only one may be given.
    pub(crate) fn parse(cuts: Option<&str>, faults: Option<&str>, idle: Option<&str>) -> Result<Self, String> {
        match (cuts, faults) {
            (None, None) if idle == Some(RANDOM) => Ok(Self::IdleTime),
            _ if idle.is_some_and(|idle| idle != RANDOM) => {
                Err(format!("idle={}: must be {RANDOM}", idle.unwrap_or_default()))
            }
            _ if idle.is_some() => Err("idle= is for flash that never fails; leave it out, or cut= and faults=".into()),
            (None, None) => Ok(Self::None),
            (Some(EMPTY), None) => Ok(Self::PowerCuts(Vec::new())),
            (Some(text), None) => parse_list(text).map(Self::PowerCuts),
            (None, Some(EMPTY)) => Ok(Self::Faults(Vec::new())),
            (None, Some(text)) => parse_list(text).map(Self::Faults),
            (Some(_), Some(_)) => {
                Err("cut= and faults= count differently; give cuts as faults, for example faults=12:cut-torn".into())
            }
        }
    }

    /// The power cuts; empty for other schedules.
    pub fn cuts(&self) -> &[Cut] {
        if let Self::PowerCuts(cuts) = self { cuts } else { &[] }
    }

    /// The faults; empty for other schedules.
    pub fn faults(&self) -> &[InjectedFault] {
        if let Self::Faults(faults) = self { faults } else { &[] }
    }
}

impl fmt::Display for FaultSchedule {
    /// The end of a replay line, with a space before it if there is anything to say.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_empty = |list: String| if list.is_empty() { EMPTY.to_owned() } else { list };
        match self {
            Self::None => Ok(()),
            Self::PowerCuts(cuts) => write!(f, " cut={}", or_empty(list(cuts))),
            Self::Faults(faults) => write!(f, " faults={}", or_empty(list(faults))),
            Self::IdleTime => write!(f, " idle={RANDOM}"),
        }
    }
}
