//! The choices a user makes when a trace is opened. Every default refuses rather than reinterprets.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::columns::Columns;
use crate::error::TraceError;
use crate::format::{Format, TimeUnit};

/// The largest sorting window, requests. A window is held in memory at 48 bytes a request, so this one costs 48 MiB; a
/// trace that needs more is not merged from queues but shuffled, and wants an external sort.
pub const MAX_WINDOW: usize = 1 << 20;

/// How a trace is read. The default guesses the format and refuses everything that is not plainly right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenOptions {
    /// The format; none: guess it from content, and refuse where several fit that differ in meaning.
    pub format: Option<Format>,
    /// The columns of a delimited text; none: those of the format.
    pub columns: Option<Columns>,
    /// Leave records out that cannot be used, and count them, instead of stopping at the first.
    pub skip_bad: bool,
    /// The unit of the trace's times; none: the format's own.
    pub time_unit: Option<TimeUnit>,
    /// Which blkparse action is a request: `Q` queued, `I` inserted, `D` dispatched, `C` completed … . One request passes
    /// through several, so taking more than one would count it more than once.
    pub blkparse_action: char,
    /// What to do when time goes backwards.
    pub time_backwards: TimeBackwards,
    /// Bytes added to every address. An old partition offset (63 sectors) puts a whole trace off the 4 KiB grid; 512 puts
    /// it back.
    pub shift_bytes: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            format: None,
            columns: None,
            skip_bad: false,
            time_unit: None,
            blkparse_action: 'Q',
            time_backwards: TimeBackwards::Refuse,
            shift_bytes: 0,
        }
    }
}

impl OpenOptions {
    /// Options that force `format` and are otherwise the default.
    pub fn with_format(format: Format) -> Self {
        Self { format: Some(format), ..Self::default() }
    }

    /// The format that the user settled; none leaves it to the content.
    pub(crate) fn settled(&self) -> Option<Format> {
        if self.columns.is_some() { Some(Format::Columns) } else { self.format }
    }

    /// What a line of `format` holds under these options.
    pub(crate) fn layout(&self, format: Format) -> String {
        self.columns.as_ref().map_or_else(|| format.columns().to_owned(), ToString::to_string)
    }

    /// The unit in which `format` counts time under these options.
    pub(crate) fn unit(&self, format: Format) -> TimeUnit {
        match &self.columns {
            Some(columns) => columns.time_unit(),
            None => self.time_unit.unwrap_or(format.time_unit()),
        }
    }

    /// Refuses values that no trace can be read with.
    pub(crate) fn check(&self) -> Result<(), TraceError> {
        if let TimeBackwards::Sort { window } = self.time_backwards
            && !(1..=MAX_WINDOW).contains(&window)
        {
            return Err(TraceError::Option(format!(
                "the sorting window is {window} requests, but 1 to {MAX_WINDOW} are possible (--time-backwards sort:4096)"
            )));
        }
        if !self.blkparse_action.is_ascii_alphabetic() {
            return Err(TraceError::Option(format!(
                "the blkparse action is {:?}, but it is one letter such as Q, I, D or C (--blkparse-action D)",
                self.blkparse_action
            )));
        }
        self.check_columns()?;
        if self.format == Some(Format::Generated) {
            return Err(TraceError::Option(format!(
                "\"generated\" is not a format of files; known are {} (--format)",
                crate::format::list()
            )));
        }
        Ok(())
    }

    /// Columns say all that a format and a unit of times say.
    fn check_columns(&self) -> Result<(), TraceError> {
        let refuse = |sentence: String| Err(TraceError::Option(sentence));
        let Some(columns) = &self.columns else {
            return match self.format {
                Some(Format::Columns) => refuse(
                    "the format is \"columns\", but no column is named; write for example --columns \"time:ms, device, offset:B, size:B, op:1=read\""
                        .into(),
                ),
                _ => Ok(()),
            };
        };
        if let Some(format) = self.format.filter(|&format| format != Format::Columns) {
            return refuse(format!(
                "the trace is said to be {format} and to have the columns \"{columns}\": give --format or --columns"
            ));
        }
        match self.time_unit {
            Some(unit) if unit != columns.time_unit() => refuse(format!(
                "the unit of times is said to be {unit} (--time-unit) and {} (--columns \"{columns}\"): give it once, in the columns",
                columns.time_unit()
            )),
            _ => Ok(()),
        }
    }
}

/// What to do with a request that is earlier than one before it. Text form: `refuse`, `clamp`, `sort:WINDOW`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

impl TryFrom<String> for TimeBackwards {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TimeBackwards> for String {
    fn from(choice: TimeBackwards) -> Self {
        choice.to_string()
    }
}

/// Which of a trace's devices are used, and where they lie. Text form: `only`, `stacked`, or a device's name; a device that
/// is itself called `only` or `stacked` is chosen with `name:only`.
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
    fn options_come_from_json_and_unknown_keys_do_not_pass() {
        let options: OpenOptions =
            serde_json::from_str(r#"{"format": "ssdsim", "time_unit": "us", "time_backwards": "sort:64"}"#).unwrap();
        assert_eq!(options.format, Some(Format::Ssdsim));
        assert_eq!(options.time_unit, Some(TimeUnit::Us));
        assert_eq!(options.time_backwards, TimeBackwards::Sort { window: 64 });
        assert_eq!(options.blkparse_action, 'Q');
        assert!(serde_json::from_str::<OpenOptions>(r#"{"skipbad": true}"#).is_err());
        assert!(serde_json::from_str::<OpenOptions>(r#"{"time_backwards": "sort:0"}"#).is_err());
    }

    #[test]
    fn impossible_values_are_refused_with_what_is_possible() {
        let sort = |window| OpenOptions { time_backwards: TimeBackwards::Sort { window }, ..OpenOptions::default() };
        assert!(sort(1).check().is_ok() && sort(MAX_WINDOW).check().is_ok());
        assert!(sort(0).check().unwrap_err().to_string().contains("1 to 1048576"));
        assert!(sort(MAX_WINDOW + 1).check().is_err());
        assert!(OpenOptions { blkparse_action: '+', ..OpenOptions::default() }.check().is_err());
        assert!(OpenOptions::with_format(Format::Generated).check().is_err());
    }

    #[test]
    fn device_choices_go_both_ways() {
        for choice in [DeviceChoice::Only, DeviceChoice::Stacked, DeviceChoice::Named("only".into())] {
            assert_eq!(DeviceChoice::from(String::from(choice.clone())), choice);
        }
        assert_eq!(DeviceChoice::from("8,16"), DeviceChoice::Named("8,16".into()));
    }
}
