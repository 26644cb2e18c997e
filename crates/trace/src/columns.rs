//! A delimited text as its user describes it: `time:ms, device, offset:B, size:B, op:1=read`.
//!
//! The user of a trace in another layout describes its columns once, and nothing is
//! guessed. The text form is the same on the command line, in studies and in Python.

use std::fmt;
use std::str::FromStr;

use host::HostOp;

use crate::format::TimeUnit;
use crate::units::{SECTOR, parse_bytes, parse_duration};

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// When the request arrives, in a unit.
    Time(TimeUnit),
    /// Which device it goes to.
    Device,
    /// Where it begins, in units of this many bytes.
    Offset(u64),
    /// How long it is, in units of this many bytes.
    Size(u64),
    /// How long the request took, in a unit: its time is then that of its end.
    Latency(TimeUnit),
    /// What it does; the words that say so beside the usual ones.
    Op(Vec<(String, HostOp)>),
    /// What it does, in the kernel's words such as `FWS`.
    Rwbs,
    /// Nothing that matters to a request; perhaps a name for conditions.
    Other(Option<String>),
    // What formats alone have.
    /// When the request arrives, in whole numbers of the trace's unit.
    WholeTime,
    /// Which device it goes to: a whole number.
    DeviceNumber,
    /// Which device it goes to, with the field that follows and has this name in errors.
    DeviceWith(&'static str),
    /// What it does: one digit or another.
    Digit { read: u8, write: u8 },
    /// What it does: a hexadecimal number whose lowest bit is set for a read.
    Flags,
    /// What it does: the code of a SCSI command.
    ScsiCode,
    /// What it does, or blank for a line that is no request.
    OpOrBlank,
    /// A whole number that must be there and does not matter.
    Whole,
    /// Seconds that do not matter, or nothing.
    DurationOrBlank,
    /// 1 or 2.
    Version,
}

impl Column {
    /// What errors call it.
    pub(crate) fn title(&self) -> &'static str {
        match self {
            Self::Time(_) => "the time",
            Self::Device => "the device",
            Self::Offset(_) => "the offset",
            Self::Size(_) => "the size",
            Self::Latency(_) => "the latency",
            Self::Op(_) | Self::Rwbs => "the operation",
            _ => "",
        }
    }
}

/// The columns of a delimited text, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// As the user wrote it.
    text: String,
    /// The columns in order.
    pub(crate) list: Vec<Column>,
    /// Whether lines may go on behind the last column.
    pub(crate) is_open: bool,
    pub(crate) notation: Notation,
    /// Of what no column tells.
    pub(crate) constants: Constants,
}

crate::units::written_as_text!(Columns, str::parse, "a string");

/// How fields and numbers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notation {
    /// What stands between fields, a blank for any of them; none: as the first line has it.
    pub(crate) separator: Option<u8>,
    /// Numbers have a decimal comma, and points between thousands.
    pub(crate) decimal_comma: bool,
}

/// What each request has for which there is no column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Constants {
    /// Between one arrival and the next.
    pub(crate) gap_ns: Option<u64>,
    pub(crate) size_bytes: Option<u64>,
    pub(crate) op: Option<HostOp>,
}

impl Columns {
    /// What conditions call the columns, in order; nothing for a column without a name.
    pub(crate) fn names(&self) -> Vec<String> {
        self.list.iter().map(column_name).map(str::to_owned).collect()
    }

    pub(crate) fn time_unit(&self) -> TimeUnit {
        let time = |column: &Column| if let Column::Time(unit) = column { Some(*unit) } else { None };
        self.list.iter().find_map(time).unwrap_or(TimeUnit::Ns)
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts: Vec<&str> = text.split(',').map(str::trim).collect();
        // Constants are no columns, so they may stand behind.
        let is_open = parts.iter().rfind(|part| !is_constant(part)) == Some(&"...");
        if is_open {
            let place = parts.iter().rposition(|part| *part == "...").unwrap_or_default();
            parts.remove(place);
        }
        let (mut notation, mut constants) = (Notation::default(), Constants::default());
        let mut list = Vec::new();
        for part in parts {
            match part.split_once('=') {
                Some((key, value)) if is_constant(part) => {
                    set(part, key.trim(), value.trim(), &mut notation, &mut constants)?;
                }
                _ => list.push(column(part)?),
            }
        }
        let Constants { gap_ns, size_bytes, op } = constants;
        let given = [("time", gap_ns.is_some()), ("size", size_bytes.is_some()), ("op", op.is_some())];
        for (name, least) in [("time", 1), ("offset", 1), ("size", 1), ("op", 1), ("device", 0), ("latency", 0)] {
            let is_name = |column: &&Column| column_name(column) == name;
            let constant = usize::from(given.contains(&(name, true)));
            let count = list.iter().filter(is_name).count() + constant;
            if count > 1 || count < least {
                let says = if count > 1 {
                    format!("{count} columns or constants are called {name}")
                } else {
                    format!("no column is called {name}")
                };
                return Err(refusal(text, &says));
            }
        }
        Ok(Self { text: text.to_owned(), list, is_open, notation, constants })
    }
}

/// Whether a part such as `size=4KiB` is a constant, and no column.
fn is_constant(part: &str) -> bool {
    part.split_once('=').is_some_and(|(key, _)| !key.contains(':'))
}

/// What conditions call a column; nothing for one without a name.
fn column_name(column: &Column) -> &str {
    match column {
        Column::Time(_) => "time",
        Column::Device => "device",
        Column::Offset(_) => "offset",
        Column::Size(_) => "size",
        Column::Latency(_) => "latency",
        Column::Op(_) | Column::Rwbs => "op",
        Column::Other(Some(name)) => name,
        _ => "",
    }
}

/// Sets what a part such as `size=4KiB` or `separator=;` says.
fn set(part: &str, key: &str, value: &str, notation: &mut Notation, constants: &mut Constants) -> Result<(), String> {
    let refuse = |expected: &str| Err(refusal(part, &format!("{value:?} is not {expected}")));
    match key {
        "time" => match parse_duration("", value) {
            Ok(gap) => constants.gap_ns = Some(gap.0),
            Err(_) => return refuse("a duration between two arrivals, such as 100us"),
        },
        "size" => match parse_bytes("", value) {
            Ok(bytes) if bytes.0 > 0 => constants.size_bytes = Some(bytes.0),
            _ => return refuse("a size, such as 4KiB"),
        },
        "op" => match HostOp::from_name(value.as_bytes()) {
            Some(op @ (HostOp::Read | HostOp::Write | HostOp::Trim)) => constants.op = Some(op),
            _ => return refuse("read, write or trim"),
        },
        "separator" => match value {
            "comma" => notation.separator = Some(b','),
            ";" | "semicolon" => notation.separator = Some(b';'),
            "blank" => notation.separator = Some(b' '),
            "tab" => notation.separator = Some(b'\t'),
            "|" => notation.separator = Some(b'|'),
            _ => return refuse("comma, ; (semicolon), |, tab or blank"),
        },
        "decimal" if value == "comma" => notation.decimal_comma = true,
        "decimal" => return refuse("comma"),
        _ => return Err(refusal(part, &format!("{key:?} is no constant"))),
    }
    Ok(())
}

/// The sentence that refuses a description.
fn refusal(text: &str, problem: &str) -> String {
    format!(
        "columns = {text:?}: {problem}. Name each column of a line in order, by commas: time:UNIT (ns, 100ns, us, ms, s), offset:UNIT and size:UNIT \
         (B, sector, or a size such as 4KiB), op (op:1=read says which digit is a read, op:rwbs that it has the kernel's words), perhaps device and latency:UNIT \
         (then the time is that of the end); - is a column that does not matter, -:NAME one that --where may name, and ... at the end stands for all that follow. \
         For a missing column give time=GAP, size=SIZE or op=WORD; separator=blank (comma, semicolon, tab, |) and decimal=comma say how lines are written. For example \"time:ms, device, offset:B, size:B, op:1=read\""
    )
}

fn column(part: &str) -> Result<Column, String> {
    let (name, unit) = part.split_once(':').map_or((part, None), |(name, unit)| (name.trim_end(), Some(unit.trim())));
    match (name, unit) {
        ("time", Some(unit)) => unit.parse().map(Column::Time).map_err(|error| refusal(part, &error)),
        ("time", None) => Err(refusal(part, "a time needs its unit")),
        ("offset", Some(unit)) => bytes(part, unit).map(Column::Offset),
        ("size", Some(unit)) => bytes(part, unit).map(Column::Size),
        ("offset" | "size", None) => Err(refusal(part, &format!("the {name} needs its unit: bytes or sectors?"))),
        ("latency", Some(unit)) => unit.parse().map(Column::Latency).map_err(|error| refusal(part, &error)),
        ("latency", None) => Err(refusal(part, "a latency needs its unit")),
        ("op", Some("rwbs")) => Ok(Column::Rwbs),
        ("op", words) => words.map_or(Ok(Vec::new()), |words| meanings(part, words)).map(Column::Op),
        ("device", None) => Ok(Column::Device),
        ("...", None) => Err(refusal(part, "it stands for all columns that follow, so it is the last column")),
        ("-", name) if name != Some("") => Ok(Column::Other(name.map(str::to_owned))),
        _ => Err(refusal(part, &format!("{part:?} is not a column"))),
    }
}

/// Bytes in a unit of addresses.
fn bytes(part: &str, unit: &str) -> Result<u64, String> {
    match unit {
        "B" => Ok(1),
        "sector" | "sectors" => Ok(SECTOR),
        _ => {
            let sized = if unit.starts_with(|first: char| first.is_ascii_digit()) {
                unit.to_owned()
            } else {
                format!("1{unit}")
            };
            match parse_bytes("", &sized) {
                Ok(bytes) if bytes.0 > 0 => Ok(bytes.0),
                _ => Err(refusal(part, &format!("{unit:?} is no unit of addresses"))),
            }
        }
    }
}

/// `1=read|2=write`: which words mean what.
fn meanings(part: &str, words: &str) -> Result<Vec<(String, HostOp)>, String> {
    let meaning = |word: &str| {
        let (said, means) = word.split_once('=')?;
        let op = HostOp::from_name(means.trim().as_bytes())?;
        (!said.trim().is_empty()).then(|| (said.trim().to_owned(), op))
    };
    let mut found = words
        .split('|')
        .map(|word| meaning(word).ok_or_else(|| refusal(part, "write WORD=read, write, trim or flush, several by |")))
        .collect::<Result<Vec<_>, _>>()?;
    // Of the two digits that say read and write, one is enough.
    if let [(digit, op @ (HostOp::Read | HostOp::Write))] = found.as_slice() {
        let opposite = if *op == HostOp::Read { HostOp::Write } else { HostOp::Read };
        match digit.as_str() {
            "0" => found.push(("1".to_owned(), opposite)),
            "1" => found.push(("0".to_owned(), opposite)),
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_goes_both_ways() {
        let text = "time:ms, device, offset:B, size:4KiB, -, op:1=read, -:kind, ...";
        let columns: Columns = text.parse().unwrap();
        assert_eq!(columns.to_string(), text);
        assert_eq!(columns.time_unit(), TimeUnit::Ms);
        assert!(columns.is_open);
        let words = vec![("1".to_owned(), HostOp::Read), ("0".to_owned(), HostOp::Write)];
        let expected = [
            Column::Time(TimeUnit::Ms),
            Column::Device,
            Column::Offset(1),
            Column::Size(4096),
            Column::Other(None),
            Column::Op(words),
            Column::Other(Some("kind".to_owned())),
        ];
        assert_eq!(columns.list, expected);
        for constant_behind in
            ["offset:B, ..., time=1us, op=read, size=512B", "offset:B, time=1us, op=read, ..., size=512B"]
        {
            assert!(constant_behind.parse::<Columns>().unwrap().is_open);
        }
        let json = serde_json::to_string(&columns).unwrap();
        assert_eq!(serde_json::from_str::<Columns>(&json).unwrap(), columns);
        assert_eq!("time:s,offset:sector,size:KiB,op".parse::<Columns>().unwrap().list[2], Column::Size(1024));
    }

    #[test]
    fn what_is_missing_doubled_or_unknown_is_named_with_an_example() {
        for (text, part) in [
            ("", "\"\" is not a column"),
            ("time:ms, offset:B, size:B", "no column is called op"),
            ("time:ms, time:s, offset:B, size:B, op", "2 columns or constants are called time"),
            ("time, offset:B, size:B, op", "needs its unit"),
            ("time:ms, offset, size:B, op", "bytes or sectors?"),
            ("time:ms, offset:blocks, size:B, op", "no unit of addresses"),
            ("time:fortnight, offset:B, size:B, op", "unknown time unit"),
            ("time:ms, lba:B, size:B, op", "\"lba:B\" is not a column"),
            ("time:ms, offset:B, size:B, op:1=red", "WORD=read"),
            ("time:ms, offset:0B, size:B, op", "no unit of addresses"),
            ("time:ms, offset:B, size:B, op, -:", "\"-:\" is not a column"),
            ("time:ms, time=1ms, offset:B, size:B, op", "2 columns or constants are called time"),
            ("time=5, offset:B, size:B, op", "a duration between two arrivals"),
            ("time:ms, offset:B, size=0B, op", "a size, such as 4KiB"),
            ("time:ms, offset:B, size:B, op=flush", "read, write or trim"),
            ("time:ms, offset:B, size:B, op, separator=x", "comma, ; (semicolon)"),
            ("time:ms, ..., offset:B, size:B, op", "it is the last column"),
            ("time:ms, offset:B, size:B, op, lba=5", "\"lba\" is no constant"),
        ] {
            let error = text.parse::<Columns>().unwrap_err();
            assert!(error.contains(part) && error.contains("time:ms, device"), "{text}: {error}");
        }
    }
}
