//! Choices with a text form: what becomes of time that goes backwards, and which of a trace's
//! devices are used.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The largest sorting window, requests. A window is held in memory at 48 bytes per request, so
/// this one costs 48 MiB; a trace that needs more is not merged from queues but shuffled, and wants
/// an external sort.
pub const MAX_WINDOW: usize = 1 << 20;

/// What to do with a request that is earlier than one before it. Text form: `refuse`, `clamp`,
/// `sort:WINDOW`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TimeBackwards {
    /// Stop with an error.
    #[default]
    Refuse,
    /// Hold it at the latest time seen, and count it. The order of the file stays.
    Clamp,
    /// Put requests in order within a window, and count those that were out of order.
    Sort {
        /// How many requests are held back, 1 to [`MAX_WINDOW`].
        window: usize,
    },
}

crate::units::written_as_text!(TimeBackwards, str::parse, "a string");

impl fmt::Display for TimeBackwards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refuse => f.write_str("refuse"),
            Self::Clamp => f.write_str("clamp"),
            Self::Sort { window } => write!(f, "sort:{window}"),
        }
    }
}

impl FromStr for TimeBackwards {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("sort:").map(str::parse)) {
            ("refuse", _) => Ok(Self::Refuse),
            ("clamp", _) => Ok(Self::Clamp),
            (_, Some(Ok(window))) if (1..=MAX_WINDOW).contains(&window) => Ok(Self::Sort { window }),
            _ => Err(format!(
                "time_backwards is {text:?}, but it is refuse, clamp or sort:N with N from 1 to {MAX_WINDOW} requests"
            )),
        }
    }
}

/// Which of a trace's devices are used, and where they lie. Text form: `only`, `stacked`, or a
/// device's name; a device that is itself called `only` or `stacked` is chosen with `name:only`.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum DeviceChoice {
    /// The one device there is; several are refused and listed.
    #[default]
    Only,
    /// The device of this name; requests to others are left out and counted.
    Named(String),
    /// All of them, each in its own address range, one after another in order of first appearance.
    Stacked,
}

impl From<&str> for DeviceChoice {
    fn from(text: &str) -> Self {
        match text {
            "only" => Self::Only,
            "stacked" => Self::Stacked,
            name => Self::Named(name.strip_prefix("name:").unwrap_or(name).to_owned()),
        }
    }
}

impl From<String> for DeviceChoice {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<DeviceChoice> for String {
    fn from(choice: DeviceChoice) -> Self {
        match choice {
            DeviceChoice::Only => "only".into(),
            DeviceChoice::Stacked => "stacked".into(),
            DeviceChoice::Named(name) => format!("name:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_choices_go_both_ways() {
        for choice in [DeviceChoice::Only, DeviceChoice::Stacked, DeviceChoice::Named("only".into())] {
            assert_eq!(DeviceChoice::from(String::from(choice.clone())), choice);
        }
        assert_eq!(DeviceChoice::from("8,16"), DeviceChoice::Named("8,16".into()));
    }
}
