//! Values of a study that are names, or that have several spellings: a capacity or `auto`, times by
//! type of page, a parameter as text, number or switch.

use std::collections::BTreeMap;
use std::fmt;

use flash::BitErrorModel;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use trace::units::{Bytes, BytesPerSecond, Nanoseconds, parse_bytes, parse_duration, parse_share};

use crate::timing::scheduling::{CLASSES, Class};

/// Logical bytes, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub enum Capacity {
    /// This many bytes.
    Bytes(u64),
    /// As many as the workload spans.
    Auto,
}

impl TryFrom<Value> for Capacity {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        match (given.as_u64(), given.as_str()) {
            (Some(bytes), _) => Ok(Self::Bytes(bytes)),
            (_, Some("auto")) => Ok(Self::Auto),
            (_, Some(text)) => {
                parse_bytes("", text).map(|bytes| Self::Bytes(bytes.0)).map_err(|error| format!("{error}; or \"auto\""))
            }
            _ => Err(wanted("a size such as \"8GiB\", or \"auto\"", &given)),
        }
    }
}

impl Serialize for Capacity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(bytes) => serializer.serialize_u64(*bytes),
            Self::Auto => serializer.serialize_str("auto"),
        }
    }
}

/// How much of a device holds data.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub enum InUse {
    /// A share of what the host sees.
    Share(f64),
    /// This many bytes.
    Bytes(u64),
}

impl TryFrom<Value> for InUse {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        let or_share = "or a share such as 0.28 or \"28%\"";
        match (given.as_f64(), given.as_str()) {
            (Some(share), _) => Ok(Self::Share(share)),
            (_, Some(text)) => match parse_share(text) {
                Ok(share) => Ok(Self::Share(share)),
                Err(_) => parse_bytes("", text)
                    .map(|bytes| Self::Bytes(bytes.0))
                    .map_err(|error| format!("{error}; {or_share}")),
            },
            _ => Err(wanted(&format!("a size such as \"700GB\", {or_share}"), &given)),
        }
    }
}

impl Serialize for InUse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Share(share) => serializer.serialize_f64(*share),
            Self::Bytes(bytes) => serializer.collect_str(&Bytes(*bytes)),
        }
    }
}

/// How much of a device is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub enum SliceText {
    /// This many bytes, or a few more.
    Bytes(u64),
    /// As many as the workload spans, and enough to stand for the whole.
    Auto,
    /// The whole.
    All,
}

impl TryFrom<Value> for SliceText {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        match given.as_str() {
            Some("all") => Ok(Self::All),
            text => match Capacity::try_from(given.clone()) {
                Ok(Capacity::Bytes(bytes)) => Ok(Self::Bytes(bytes)),
                Ok(Capacity::Auto) => Ok(Self::Auto),
                Err(error) if text.is_some() => Err(format!("{error} or \"all\"")),
                Err(_) => Err(wanted("a size such as \"4GiB\", \"auto\" or \"all\"", &given)),
            },
        }
    }
}

impl Serialize for SliceText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(bytes) => serializer.serialize_u64(*bytes),
            Self::Auto => serializer.serialize_str("auto"),
            Self::All => serializer.serialize_str("all"),
        }
    }
}

/// One duration, or one for each of several things, such as the types of page of a cell from the
/// lower page to the upper: a list, or as text with `/` between them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Durations(pub Vec<Nanoseconds>);

impl TryFrom<Value> for Durations {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        let duration = |text: &str| parse_duration("", text.trim()).map_err(|error| error.to_string());
        let of_list = |value: &Value| match value.as_str() {
            Some(text) => duration(text),
            None => Err(wanted("a duration with its unit, as text such as \"25us\", in each place", value)),
        };
        match &given {
            Value::String(text) => text.split('/').map(duration).collect::<Result<_, _>>().map(Self),
            Value::Array(list) => list.iter().map(of_list).collect::<Result<_, _>>().map(Self),
            _ => Err(wanted("a duration with its unit, as text such as \"25us\", or a list of such", &given)),
        }
    }
}

impl fmt::Display for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.0.iter().map(Nanoseconds::to_string).collect();
        f.write_str(&texts.join("/"))
    }
}

impl Serialize for Durations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(serializer),
            list => serializer.collect_seq(list),
        }
    }
}

/// Classes of operations, those that go first in front, as text with `/` between them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct DieOrder(pub Vec<Class>);

impl TryFrom<String> for DieOrder {
    type Error = String;

    fn try_from(given: String) -> Result<Self, String> {
        let mut classes = Vec::new();
        for name in given.split('/').map(str::trim) {
            let Some((class, _)) = CLASSES.into_iter().find(|&(_, known)| known == name) else {
                let names = CLASSES.map(|(_, name)| name).join(", ");
                return Err(format!(
                    "{given:?}: there is no class {name:?}; name some of {names}, with / between them"
                ));
            };
            if classes.contains(&class) {
                return Err(format!("{given:?}: {name} stands there twice; name it once"));
            }
            classes.push(class);
        }
        Ok(Self(classes))
    }
}

impl fmt::Display for DieOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |class: &Class| CLASSES.into_iter().find(|(known, _)| known == class).map_or("", |(_, name)| name);
        f.write_str(&self.0.iter().map(name).collect::<Vec<_>>().join("/"))
    }
}

impl Serialize for DieOrder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The text of one scheme parameter; numbers and switches may be written bare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct Setting(pub String);

impl TryFrom<Value> for Setting {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        match given {
            Value::String(text) => Ok(Self(text)),
            Value::Number(number) if number.is_f64() => Ok(Self(number.as_f64().unwrap_or_default().to_string())),
            Value::Bool(_) | Value::Number(_) => Ok(Self(given.to_string())),
            _ => Err(wanted("a parameter's value: text, a number, true or false", &given)),
        }
    }
}

/// What stands behind a key of an `[[ftl]]` table: a parameter's value, or the table of a part.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) enum SettingOrTable {
    /// Of the mapping.
    Setting(Setting),
    /// Of the part that the key names.
    Table(BTreeMap<String, Setting>),
}

impl TryFrom<Value> for SettingOrTable {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        let of_part = |(key, value): (String, Value)| match Setting::try_from(value) {
            Ok(setting) => Ok((key, setting)),
            Err(error) => Err(format!("{key}: {error}")),
        };
        match given {
            Value::Object(table) => table.into_iter().map(of_part).collect::<Result<_, _>>().map(Self::Table),
            Value::Array(_) | Value::Null => Err(wanted(
                "a parameter's value (text, a number, true or false), or a table with the parameters of a part of that name",
                &given,
            )),
            value => Setting::try_from(value).map(Self::Setting),
        }
    }
}

/// That a value is of the wrong kind.
fn wanted(what: &str, found: &Value) -> String {
    match found {
        Value::Array(_) => format!("must be {what}, not a list"),
        Value::Object(_) => format!("must be {what}, not a table"),
        other => format!("must be {what}, not {other}"),
    }
}

/// A value that has limits.
pub(super) trait Amount {
    /// What is within the limits or not: of several values, the largest.
    fn amount(&self) -> f64;

    /// The value as errors show it.
    fn shown(&self) -> String;
}

macro_rules! amounts {
    ($($type:ty: $value:ident => $amount:expr, $shown:expr;)*) => { $(
        impl Amount for $type {
            fn amount(&self) -> f64 {
                let $value = self;
                $amount
            }

            fn shown(&self) -> String {
                let $value = self;
                $shown.to_string()
            }
        }
    )* };
}

amounts! {
    u32: number => f64::from(*number), number;
    u64: number => *number as f64, number;
    f64: number => *number, number;
    Bytes: bytes => bytes.0 as f64, bytes.0;
    BytesPerSecond: rate => rate.0 as f64, format!("{} B/s", rate.0);
    Nanoseconds: time => time.0 as f64, time;
    Durations: times => times.0.iter().map(|time| time.0).max().unwrap_or(0) as f64, times;
}

/// How bits decay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BitErrorsText {
    /// They do not.
    #[default]
    #[serde(rename = "none")]
    None,
    /// As in TLC of 72 layers.
    #[serde(rename = "tlc-72l")]
    Tlc72l,
    /// As in MLC of the generation between 20 and 24 nm.
    #[serde(rename = "mlc-2y")]
    Mlc2y,
}

impl BitErrorsText {
    /// The model of that name.
    pub(crate) fn model(self) -> Option<BitErrorModel> {
        match self {
            Self::None => None,
            Self::Tlc72l => Some(BitErrorModel::TLC_72L),
            Self::Mlc2y => Some(BitErrorModel::MLC_2Y),
        }
    }
}

/// What to do with addresses beyond the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addresses {
    /// Stop with an error.
    #[default]
    Refuse,
    /// Number the touched pages in order of first touch.
    Dense,
    /// Take them modulo the logical capacity.
    Wrap,
}

/// Who sets the pace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopText {
    /// Requests begin when the workload says.
    #[default]
    Open,
    /// Requests begin when an earlier one completes.
    Closed,
    /// Requests begin when the workload says, unless their thread has too many outstanding.
    Threads,
}

/// Whether runs keep time: a switch, or `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub enum Clock {
    /// All do.
    #[default]
    On,
    /// None does, and what decides by time is refused.
    Off,
    /// Those do that decide by time.
    Auto,
}

impl TryFrom<Value> for Clock {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        match (given.as_bool(), given.as_str()) {
            (Some(true), _) | (_, Some("true")) => Ok(Self::On),
            (Some(false), _) | (_, Some("false")) => Ok(Self::Off),
            (_, Some("auto")) => Ok(Self::Auto),
            _ => Err(wanted("true, false or \"auto\"", &given)),
        }
    }
}

impl Serialize for Clock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::On => serializer.serialize_bool(true),
            Self::Off => serializer.serialize_bool(false),
            Self::Auto => serializer.serialize_str("auto"),
        }
    }
}

/// How a device is prepared before measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precondition {
    /// Filled where the workload reads pages that it has not written, else not at all.
    #[default]
    Auto,
    /// Not at all: erased.
    None,
    /// Every logical page written once, in order.
    Fill,
    /// Filled, then overwritten at random until write amplification settles.
    Steady,
    /// The workload's own reads and writes served once as writes.
    Workload,
}

impl Precondition {
    /// The name in studies and results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Fill => "fill",
            Self::Steady => "steady",
            Self::Workload => "workload",
        }
    }
}

/// What a slice stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Whole {
    /// Bytes that the host sees of the whole.
    pub(crate) logical_bytes: u64,
    /// Bytes of all its pages.
    pub(crate) physical_bytes: u64,
    /// The whole ÷ the slice.
    pub(crate) scale: f64,
    /// The same of their blocks.
    pub(crate) block_scale: f64,
}
