//! The choices a user makes when a trace is opened. Every default refuses rather than reinterprets.

use serde::{Deserialize, Serialize};

use crate::choices::{MAX_WINDOW, TimeBackwards};
use crate::columns::{Column, Columns};
use crate::conditions::Conditions;
use crate::error::TraceError;
use crate::format::{Format, TimeUnit};
use crate::units::Nanoseconds;

/// The longest tick of times: an hour.
const LONGEST_TICK: Nanoseconds = Nanoseconds(3_600_000_000_000);

/// How a trace is read. The default guesses the format and refuses everything that is not plainly
/// right.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenOptions {
    /// The format; none: guess it from content, and refuse where several fit that differ in
    /// meaning.
    pub format: Option<Format>,
    /// The columns of a delimited text; none: those of the format.
    pub columns: Option<Columns>,
    /// Which rows of a text are taken, by the values of their columns; others are left out and
    /// counted.
    #[serde(rename = "where")]
    pub conditions: Conditions,
    /// Leave records out that cannot be used, and count them, instead of stopping at the first.
    pub skip_bad: bool,
    /// The unit of the trace's times; none: the format's own.
    pub time_unit: Option<TimeUnit>,
    /// Which blkparse action is a request: `Q` queued, `I` inserted, `D` dispatched, `C` completed
    /// … . One request passes through several, so taking more than one would count it more than
    /// once. None: see [`OpenOptions::action`].
    pub blkparse_action: Option<char>,
    /// What to do when time goes backwards.
    pub time_backwards: TimeBackwards,
    /// Requests of one time are spread evenly over so long from it on; none: they arrive together.
    pub tick: Option<Nanoseconds>,
    /// Bytes added to every address. An old partition offset (63 sectors) puts a whole trace off
    /// the 4 KiB grid; 512 puts it back.
    pub shift_bytes: u64,
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

    /// Whether times are those of completions, from which latencies are subtracted.
    pub fn stamps_completions(&self, format: Format) -> bool {
        match &self.columns {
            Some(columns) => columns.list.iter().any(|column| matches!(column, Column::Latency(_))),
            None => matches!(format, Format::Biosnoop | Format::Etw),
        }
    }

    /// The action that is a request: queued, and dispatched among events of the kernel, which few
    /// record from the queue on.
    pub fn action(&self, format: Format) -> char {
        self.blkparse_action.unwrap_or(if format == Format::Ftrace { 'D' } else { 'Q' })
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
        if let Some(action) = self.blkparse_action.filter(|action| !action.is_ascii_alphabetic()) {
            return Err(TraceError::Option(format!(
                "the blkparse action is {action:?}, but it is one letter such as Q, I, D or C (--blkparse-action D)"
            )));
        }
        if let Some(tick) = self.tick.filter(|tick| !(1..=LONGEST_TICK.0).contains(&tick.0)) {
            return Err(TraceError::Option(format!(
                "the tick is {tick}, but requests are spread over {} to {LONGEST_TICK} (--tick 1s)",
                Nanoseconds(1)
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
        assert_eq!((options.action(Format::Blkparse), options.action(Format::Ftrace)), ('Q', 'D'));
        assert!(serde_json::from_str::<OpenOptions>(r#"{"skipbad": true}"#).is_err());
        assert!(serde_json::from_str::<OpenOptions>(r#"{"time_backwards": "sort:0"}"#).is_err());
    }

    #[test]
    fn impossible_values_are_refused_with_what_is_possible() {
        let sort = |window| OpenOptions { time_backwards: TimeBackwards::Sort { window }, ..OpenOptions::default() };
        assert!(sort(1).check().is_ok() && sort(MAX_WINDOW).check().is_ok());
        assert!(sort(0).check().unwrap_err().to_string().contains("1 to 1048576"));
        assert!(sort(MAX_WINDOW + 1).check().is_err());
        assert!(OpenOptions { blkparse_action: Some('+'), ..OpenOptions::default() }.check().is_err());
        assert!(OpenOptions::with_format(Format::Generated).check().is_err());
    }
}
