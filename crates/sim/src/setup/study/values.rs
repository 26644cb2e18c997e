//! Values of a study that several spellings have: counts, a capacity or `auto`, a parameter as
//! text, number or switch.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use trace::units::{Nanoseconds, parse_bytes, parse_duration};

/// A number of things, 0 to 4 294 967 295; which of these make sense depends on the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Count(pub u32);

/// Logical bytes, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// So many bytes.
    Bytes(u64),
    /// As many as the workload spans.
    Auto,
}

/// One duration, or one for each type of page of a cell, from the lower page to the upper: a list,
/// or as text with `/` between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageDurations(pub Vec<Nanoseconds>);

/// The text of one scheme parameter; numbers and switches may be written bare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Setting(pub String);

impl Serialize for Capacity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(bytes) => serializer.serialize_u64(*bytes),
            Self::Auto => serializer.serialize_str("auto"),
        }
    }
}

struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 to {}", u32::MAX)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Count, E> {
        u32::try_from(number).map(Count).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Count, E> {
        u32::try_from(number).map(Count).map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CapacityVisitor;

impl Visitor<'_> for CapacityVisitor {
    type Value = Capacity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as \"8GiB\", or \"auto\"")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Capacity, E> {
        Ok(Capacity::Bytes(bytes))
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Capacity, E> {
        u64::try_from(bytes).map(Capacity::Bytes).map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Capacity, E> {
        if text == "auto" {
            return Ok(Capacity::Auto);
        }
        parse_bytes("", text)
            .map(|bytes| Capacity::Bytes(bytes.0))
            .map_err(|error| E::custom(format!("{error}; or \"auto\"")))
    }
}

impl<'de> Deserialize<'de> for Capacity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CapacityVisitor)
    }
}

impl fmt::Display for PageDurations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.0.iter().map(Nanoseconds::to_string).collect();
        f.write_str(&texts.join("/"))
    }
}

impl Serialize for PageDurations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(serializer),
            list => serializer.collect_seq(list),
        }
    }
}

struct PageDurationsVisitor;

impl<'de> Visitor<'de> for PageDurationsVisitor {
    type Value = PageDurations;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a duration with its unit, as text such as \"25us\", or a list of one for each type of page of the cell",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<PageDurations, E> {
        let durations = text.split('/').map(|text| parse_duration("", text.trim()));
        durations.collect::<Result<_, _>>().map(PageDurations).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PageDurations, A::Error> {
        let mut durations = Vec::new();
        while let Some(duration) = list.next_element()? {
            durations.push(duration);
        }
        Ok(PageDurations(durations))
    }
}

impl<'de> Deserialize<'de> for PageDurations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PageDurationsVisitor)
    }
}

/// What stands behind a key of an `[[ftl]]` table: a parameter's value, or the table of a part.
#[derive(Debug)]
pub(super) enum SettingOrTable {
    /// Of the mapping.
    Setting(Setting),
    /// Of the part that the key names.
    Table(BTreeMap<String, Setting>),
}

struct SettingOrTableVisitor;

impl<'de> Visitor<'de> for SettingOrTableVisitor {
    type Value = SettingOrTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a parameter's value (text, a number, true or false), or a table with the parameters of a part of that name")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SettingOrTable, E> {
        SettingVisitor.visit_str(text).map(SettingOrTable::Setting)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<SettingOrTable, E> {
        SettingVisitor.visit_u64(number).map(SettingOrTable::Setting)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<SettingOrTable, E> {
        SettingVisitor.visit_i64(number).map(SettingOrTable::Setting)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<SettingOrTable, E> {
        SettingVisitor.visit_f64(number).map(SettingOrTable::Setting)
    }

    fn visit_bool<E: de::Error>(self, switch: bool) -> Result<SettingOrTable, E> {
        SettingVisitor.visit_bool(switch).map(SettingOrTable::Setting)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SettingOrTable, A::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(SettingOrTable::Table)
    }
}

impl<'de> Deserialize<'de> for SettingOrTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SettingOrTableVisitor)
    }
}

struct SettingVisitor;

impl Visitor<'_> for SettingVisitor {
    type Value = Setting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a parameter's value: text, a number, true or false")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Setting, E> {
        Ok(Setting(text.to_owned()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Setting, E> {
        Ok(Setting(number.to_string()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Setting, E> {
        Ok(Setting(number.to_string()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Setting, E> {
        Ok(Setting(number.to_string()))
    }

    fn visit_bool<E: de::Error>(self, switch: bool) -> Result<Setting, E> {
        Ok(Setting(switch.to_string()))
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SettingVisitor)
    }
}
