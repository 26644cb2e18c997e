//! A study as text: what a TOML file or a Python caller says, before anything of it is believed.
//!
//! Unknown keys, impossible units and values of the wrong kind are refused here, with the path of
//! the key. Ranges and relations are refused in `crate::host::experiment`. The same types, with
//! every key filled in, are the resolved study that goes into the results, so that a result can be
//! run again as it stands. `docs/study.md` describes every key.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use ftl::registry::with_known_names;
use ftl::{ConfigError, Part, Stack};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Deserialize as DeserializeDerive, Serialize};
use trace::OpenOptions;

use super::document::Document;
pub use super::keys::{DeviceText, Group, HostText, Key, RunText, WorkloadText, keys, names_of};
use super::keys::{Table, WorkloadKeys};
use super::values::SettingOrTable;
pub use super::values::{
    Addresses, BitErrorsText, Capacity, Clock, DieOrder, Durations, LoopText, Precondition, Setting, SliceText,
};
pub use super::words::in_words;
use crate::error::SimError;

/// A whole study: one device, one workload, one host, any number of translation layers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields, default)]
pub struct Study {
    /// What to call it.
    pub name: Option<String>,
    /// Master seed, from which every consumer of randomness gets its own by name. Default 1.
    pub seed: Option<u64>,
    /// The `[device]` table.
    pub device: DeviceText,
    /// What the host asks.
    pub workload: WorkloadText,
    /// How the host asks.
    pub host: HostText,
    /// How a run goes.
    pub run: RunText,
    /// The translation layers to compare; at least one.
    pub ftl: Vec<FtlText>,
}

impl WorkloadText {
    /// How often its requests are served: a trace as often as asked for, what is generated once.
    pub fn rounds(&self) -> Result<u64, SimError> {
        self.check()?;
        match self.repeat {
            Some(_) if self.trace.is_none() => Err(SimError::study(
                "workload.repeat: serves a trace again, but this workload is generated; leave it out, and give more requests (workload.requests)",
            )),
            rounds => Ok(rounds.unwrap_or(1)),
        }
    }

    /// How its trace is read.
    pub fn open_options(&self) -> OpenOptions {
        let keys = WorkloadKeys::from(self);
        OpenOptions {
            format: keys.format,
            columns: keys.columns,
            conditions: keys.r#where.unwrap_or_default(),
            skip_bad: keys.skip_bad,
            time_unit: keys.time_unit,
            blkparse_action: keys.blkparse_action,
            time_backwards: keys.time_backwards,
            tick: keys.tick,
            shift_bytes: keys.align_offset.0,
        }
    }
}

/// One `[[ftl]]` table: a stack, what to call it, and its parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FtlText {
    /// The stack as on the command line, with settings or without: `page`, `fast:log_space=5%+owl`.
    pub name: String,
    /// Name in results; the names of the parts when not given.
    pub label: Option<String>,
    /// Parameters of the mapping.
    #[serde(flatten)]
    pub settings: BTreeMap<String, Setting>,
    /// Parameters of other parts, each in a table named like its part.
    #[serde(flatten)]
    pub parts: BTreeMap<String, BTreeMap<String, Setting>>,
}

impl FtlText {
    /// The `[[ftl]]` table that says the same as a stack's text.
    pub fn of(stack: &Stack, label: Option<String>) -> Self {
        let texts =
            |part: &Part| part.settings.iter().map(|(key, value)| (key.clone(), Setting(value.clone()))).collect();
        let others = stack.others.iter().filter(|part| !part.settings.is_empty());
        Self {
            name: stack.names(),
            label,
            settings: texts(&stack.mapping),
            parts: others.map(|part| (part.name.clone(), texts(part))).collect(),
        }
    }

    /// The stack that it says. Nothing of it is believed yet but that each setting is of a part
    /// that is named, and given once.
    pub fn stack(&self) -> Result<Stack, ConfigError> {
        let mut stack = with_known_names(self.name.parse()?);
        let mapping = stack.mapping.name.clone();
        let tables = std::iter::once((&mapping, &self.settings)).chain(&self.parts);
        for (name, settings) in tables {
            let Some(part) = stack.parts_mut().find(|part| part.name == *name) else {
                return Err(ConfigError(format!(
                    "{}: the table {name} has settings of a part that is not there; write name = \"{}+{name}\", or leave the table out",
                    self.name, self.name
                )));
            };
            for (key, value) in settings {
                if part.settings.insert(key.clone(), value.0.clone()).is_some() {
                    return Err(ConfigError(format!(
                        "{}: {name}.{key} is given in the name and as a key; give it once",
                        self.name
                    )));
                }
            }
        }
        Ok(stack)
    }
}

struct FtlVisitor;

impl<'de> Visitor<'de> for FtlVisitor {
    type Value = FtlText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table with the name of a translation layer, perhaps a label, and its parameters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FtlText, A::Error> {
        let (mut name, mut text) = (None, FtlText::default());
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "name" => name = Some(map.next_value()?),
                "label" => text.label = map.next_value()?,
                _ => match map.next_value()? {
                    SettingOrTable::Setting(value) => drop(text.settings.insert(key, value)),
                    SettingOrTable::Table(settings) => drop(text.parts.insert(key, settings)),
                },
            }
        }
        Ok(FtlText { name: name.ok_or_else(|| de::Error::missing_field("name"))?, ..text })
    }
}

/// By hand, since serde's own way to take any further key forgets where in the file a wrong value
/// stands.
impl<'de> Deserialize<'de> for FtlText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FtlVisitor)
    }
}

/// Reads a study from the text of a TOML file. `path` is what errors call it, and what a relative
/// trace path is relative to; empty for text that is not from a file.
pub fn parse_toml(text: &str, path: &str) -> Result<Study, SimError> {
    let shown = if path.is_empty() { "the study" } else { path };
    let document = Document::parse(text).map_err(|error| SimError::study(format!("{shown}: {error}")))?;
    let mut study = read(&document.value()).map_err(|(key, said)| {
        let place = document.place(&key, said.starts_with(NO_KEY));
        refused(shown, &key.to_string(), &(place + &said))
    })?;
    if let (Some(trace), Some(folder)) = (&mut study.workload.trace, Path::new(path).parent()) {
        *trace = folder.join(&*trace).to_string_lossy().into_owned();
    }
    Ok(study)
}

/// Reads a study from JSON.
pub fn parse_json(text: &str) -> Result<Study, SimError> {
    let document: serde_json::Value =
        serde_json::from_str(text).map_err(|error| refused("study", ".", &error.to_string()))?;
    read(&document).map_err(|(key, said)| refused("study", &key.to_string(), &said))
}

fn refused(what: &str, key: &str, said: &str) -> SimError {
    SimError::study(format!("{what}, {key}: {}. docs/study.md lists all keys and what they may be", in_words(said)))
}

/// How serde begins where there is no such key.
const NO_KEY: &str = "unknown field";
/// How serde ends where a number or another value stands in place of a name.
const NO_NAME: &str = "expected string or map";

/// The study that a document is. An error has the path of the key, and what serde says of it.
fn read(document: &serde_json::Value) -> Result<Study, (serde_path_to_error::Path, String)> {
    serde_path_to_error::deserialize(document).map_err(|error| {
        let mut said = error.inner().to_string();
        if said.ends_with(NO_NAME) {
            // As text it is an unknown name, whose error has those that are known.
            let segments: Vec<String> = error.path().iter().map(ToString::to_string).collect();
            let pointer = format!("/{}", segments.join("/"));
            let mut named = document.clone();
            let value = named.pointer_mut(&pointer).map(|value| *value = value.to_string().into());
            let again = value.map(|()| serde_path_to_error::deserialize::<_, Study>(&named));
            if let Some(Err(error)) = again {
                said = error.inner().to_string();
            }
        }
        (error.path().clone(), said)
    })
}

impl Study {
    /// The study as JSON, without the keys that are not set.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        drop_nulls(&mut value);
        value
    }
}

fn drop_nulls(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
