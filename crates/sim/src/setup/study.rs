//! A study as text: what a TOML file or a Python caller says, before anything of it is believed.
//!
//! Unknown keys, impossible units and values of the wrong kind are refused here, with the path of
//! the key. Ranges and relations are refused in `crate::host::experiment`. The same types, with
//! every key filled in, are the resolved study that goes into the results, so that a result can be
//! run again as it stands. `docs/study.md` describes every key.

mod values;
mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use flash::{CellType, ProgramOrder};
use ftl::{ConfigError, Part, Stack};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Deserialize as DeserializeDerive, Serialize};
use trace::generate::GeneratorSpec;
use trace::units::{Bytes, BytesPerSecond, Nanoseconds, optional_share};
use trace::{Columns, Conditions, DeviceChoice, Format, OpenOptions, TimeBackwards, TimeUnit};

use crate::{Programming, SimError, Suspend, Window};

use values::SettingOrTable;
pub use values::{Capacity, Count, PageDurations, Setting};
pub(crate) use words::choose_from;
pub use words::in_words;

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

/// The `[device]` table: a preset and what differs from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceText {
    /// Name of a device preset. Default `slc-small`.
    pub preset: Option<String>,
    /// Logical bytes that the host sees, or `auto`: the workload's span, but at least what 128
    /// blocks a plane export.
    pub capacity: Option<Capacity>,
    /// Share of the physical pages that the host does not see, above 0 and below 1.
    #[serde(deserialize_with = "optional_share")]
    pub spare: Option<f64>,
    /// The same as a share of what the host sees, above 0, in place of `spare`.
    #[serde(deserialize_with = "optional_share")]
    pub op: Option<f64>,
    /// Independent buses, 1 or more.
    pub channels: Option<Count>,
    /// Dies on each, 1 or more.
    pub dies_per_channel: Option<Count>,
    /// Planes of each die, 1 or more.
    pub planes_per_die: Option<Count>,
    /// Erase blocks of each plane, 1 or more.
    pub blocks_per_plane: Option<Count>,
    /// Pages of an erase block, 1 or more.
    pub pages_per_block: Option<Count>,
    /// Data bytes of a page, a multiple of 512 B up to 1 MiB.
    pub page_size: Option<Bytes>,
    /// Data bytes of what is mapped, and what a tag describes: a part of a page, or several pages.
    /// Pages, when not given.
    pub mapping_unit: Option<Bytes>,
    /// What is programmed at once: a page, or all pages of a word line.
    pub programming: Option<Programming>,
    /// Whether a capacitor keeps units that wait to be programmed with others.
    pub power_loss_protection: Option<bool>,
    /// Program units of a die that are buffered, 1 to 64.
    pub program_buffers: Option<Count>,
    /// How many bits a cell holds, and so which types of page a block has.
    pub cell: Option<CellType>,
    /// Sensing a page: one time, or one for each type of page.
    pub read_latency: Option<PageDurations>,
    /// Programming a page: one time, or one for each type of page.
    pub program_latency: Option<PageDurations>,
    /// Erasing a block.
    pub erase_latency: Option<Nanoseconds>,
    /// Moving one page over the channel.
    pub transfer_latency: Option<Nanoseconds>,
    /// Whether operations overlap.
    pub pricing: Option<PricingText>,
    /// Whether copies inside a plane need no channel.
    pub copy_back: Option<bool>,
    /// Whether planes of a die work side by side at operations of one kind.
    pub multi_plane: Option<bool>,
    /// Whether planes read and program side by side only at pages with equal numbers.
    pub aligned_planes: Option<bool>,
    /// Whether dies sense the next pages while those before move over the channel.
    pub cache_read: Option<bool>,
    /// Whether pages of the next programs move over the channel while dies program those before.
    pub cache_program: Option<bool>,
    /// Which operations a read suspends.
    pub suspend: Option<Suspend>,
    /// From the command to suspend until the die can read.
    pub suspend_latency: Option<Nanoseconds>,
    /// What taking up suspended work costs.
    pub resume_latency: Option<Nanoseconds>,
    /// Whether dies take up reads that the host waits for before anything else.
    pub reads_first: Option<bool>,
    /// Channels that may collect at the same time, 1 or more.
    pub gc_channels: Option<Count>,
    /// Whether collections let reads pass between their operations.
    pub gc_yields: Option<bool>,
    /// What the host link moves each way, 1 kB/s or more; when not given, data move at once.
    pub link_bandwidth: Option<BytesPerSecond>,
    /// What a command takes on the host link besides its data; it holds nothing.
    pub link_latency: Option<Nanoseconds>,
    /// Commands that the controller can be at in the same time, 1 to 1024; when not given, all.
    pub controller_cores: Option<Count>,
    /// What a command takes of the controller.
    pub controller_latency: Option<Nanoseconds>,
    /// In which order the pages of a block may be programmed.
    pub program_order: Option<ProgramOrder>,
    /// Erases that a block survives, 1 or more.
    pub endurance: Option<Count>,
    /// Share of blocks that are bad from the factory, 0 or more and below `spare`.
    #[serde(deserialize_with = "optional_share")]
    pub bad_blocks: Option<f64>,
    /// Sensing a page of a block in pSLC mode; that of a lower page when not given.
    pub pslc_read_latency: Option<Nanoseconds>,
    /// Programming a page of a block in pSLC mode; that of a lower page when not given.
    pub pslc_program_latency: Option<Nanoseconds>,
    /// Erases in pSLC mode that a block survives, 1 or more; ten times `endurance` when not given.
    pub pslc_endurance: Option<Count>,
    /// How bits decay. Default `none`: not at all.
    pub bit_errors: Option<BitErrorsText>,
    /// The highest share of wrong bits that one read corrects, above 0 and at most 0.5.
    #[serde(deserialize_with = "optional_share")]
    pub ecc_limit: Option<f64>,
    /// Most retries of a read, 0 to 15.
    pub read_retries: Option<Count>,
    /// From the end of a try to the begin of the next.
    pub read_retry_latency: Option<Nanoseconds>,
    /// The share of `ecc_limit` beyond which a block is refreshed, 0 to 100; 0 for never.
    #[serde(deserialize_with = "optional_share")]
    pub refresh_at: Option<f64>,
    /// Erases that each block had before, below `endurance`.
    pub initial_erases: Option<Count>,
    /// Days that data have lain when measuring begins, 0 to 36 500.
    pub retention_days: Option<f64>,
    /// How many times faster data age than time passes, 0 to 10⁹.
    pub retention_speedup: Option<f64>,
}

/// The `[workload]` table: exactly one of `trace`, `preset` and `generator`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadText {
    /// Path of a trace file. In a study file relative to the file, otherwise to the working folder.
    pub trace: Option<String>,
    /// Name of a workload preset.
    pub preset: Option<String>,
    /// Description of a generated workload.
    pub generator: Option<GeneratorSpec>,
    /// Bytes that a preset spans, instead of its own.
    pub span: Option<Bytes>,
    /// The trace's format; guessed when not given.
    pub format: Option<Format>,
    /// The columns of a delimited text, instead of a format.
    pub columns: Option<Columns>,
    /// Which rows of a text are taken, by the values of their columns; all when not given.
    #[serde(rename = "where")]
    pub conditions: Option<Conditions>,
    /// Unit of the trace's times; the format's own when not given.
    pub time_unit: Option<TimeUnit>,
    /// Whether unusable records are left out and counted.
    pub skip_bad: Option<bool>,
    /// Which of the trace's devices: a name, or `stacked`.
    pub trace_device: Option<DeviceChoice>,
    /// What to do when time goes backwards: `refuse`, `clamp` or `sort:N`.
    pub time_backwards: Option<TimeBackwards>,
    /// Which action of a blkparse trace is a request: one letter.
    pub blkparse_action: Option<char>,
    /// Over how long requests of one time are spread evenly, up to an hour; not when not given.
    pub tick: Option<Nanoseconds>,
    /// Requests to take from a trace, or to generate; 1 or more.
    pub requests: Option<u64>,
    /// How often a trace is served, one time after another; 1 or more.
    pub repeat: Option<u64>,
    /// What to do with addresses beyond the device.
    pub addresses: Option<Addresses>,
    /// Factor by which arrivals come faster, above 0.
    pub speedup: Option<f64>,
    /// Bytes added to every address.
    pub align_offset: Option<Bytes>,
}

impl WorkloadText {
    /// How often its requests are served: a trace as often as asked for, what is generated once.
    pub fn rounds(&self) -> Result<u64, SimError> {
        match self.repeat {
            Some(0) => {
                Err(SimError::study("workload.repeat = 0: must be at least 1; leave it out to serve a trace once"))
            }
            Some(_) if self.trace.is_none() => Err(SimError::study(
                "workload.repeat: serves a trace again, but this workload is generated; leave it out, and give more requests (workload.requests)",
            )),
            rounds => Ok(rounds.unwrap_or(1)),
        }
    }

    /// How its trace is read.
    pub fn open_options(&self) -> OpenOptions {
        let default = OpenOptions::default();
        OpenOptions {
            format: self.format,
            columns: self.columns.clone(),
            conditions: self.conditions.clone().unwrap_or_default(),
            skip_bad: self.skip_bad.unwrap_or(default.skip_bad),
            time_unit: self.time_unit,
            blkparse_action: self.blkparse_action,
            time_backwards: self.time_backwards.unwrap_or(default.time_backwards),
            tick: self.tick,
            shift_bytes: self.align_offset.map_or(default.shift_bytes, |bytes| bytes.0),
        }
    }
}

/// The `[host]` table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields, default)]
pub struct HostText {
    /// Whether arrivals or completions set the pace.
    #[serde(rename = "loop")]
    pub pace: Option<LoopText>,
    /// Outstanding requests of a closed loop, 1 to 65 536.
    pub queue_depth: Option<Count>,
}

/// The `[run]` table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields, default)]
pub struct RunText {
    /// How the device is prepared. Default `auto`.
    pub precondition: Option<Precondition>,
    /// Share of the capacity that holds data when measuring begins, above 0 and at most 1.
    #[serde(deserialize_with = "optional_share")]
    pub in_use: Option<f64>,
    /// What runs may take of memory; most of what is available when not given.
    pub memory_limit: Option<Bytes>,
    /// Requests at the beginning that are served but not measured.
    pub skip: Option<u64>,
    /// Whether to split requests' time by what they waited for.
    pub waiting: Option<bool>,
    /// Points of the time series, 1 to 100 000.
    pub samples: Option<Count>,
    /// Years over which drive writes a day are reported, above 0 and at most 100.
    pub warranty_years: Option<f64>,
    /// Whether to run under the oracle.
    pub verify: Option<bool>,
    /// Whether to tell waiting and service times of flash operations by class.
    pub classes: Option<bool>,
    /// The stretch of virtual time whose flash operations are told one by one.
    pub timeline: Option<Window>,
    /// The stretch of virtual time whose requests are traced down to the pages of flash.
    pub flash_trace: Option<Window>,
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
        let mut stack: Stack = self.name.parse()?;
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

/// Whether operations overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, DeserializeDerive)]
#[serde(rename_all = "snake_case")]
pub enum PricingText {
    /// Dies and channels work side by side.
    Parallel,
    /// One resource, no overlap.
    Serial,
}

/// How bits decay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, DeserializeDerive)]
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

/// What to do with addresses beyond the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, DeserializeDerive)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, DeserializeDerive)]
#[serde(rename_all = "snake_case")]
pub enum LoopText {
    /// Requests begin when the workload says.
    #[default]
    Open,
    /// Requests begin when an earlier one completes.
    Closed,
}

/// How a device is prepared before measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, DeserializeDerive)]
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
    let document = toml::Deserializer::parse(text).map_err(|error| SimError::study(format!("{shown}: {error}")))?;
    let mut study: Study = serde_path_to_error::deserialize(document).map_err(|error| {
        let (key, error) = (error.path().to_string(), error.into_inner());
        // The parser's own text starts with the line and column and shows the line.
        SimError::study(format!(
            "{shown}, {key}: {}. docs/study.md lists all keys and what they may be",
            in_words(&error.to_string())
        ))
    })?;
    if let (Some(trace), Some(folder)) = (&mut study.workload.trace, Path::new(path).parent()) {
        *trace = folder.join(&*trace).to_string_lossy().into_owned();
    }
    Ok(study)
}

/// Reads a study from JSON.
pub fn parse_json(text: &str) -> Result<Study, SimError> {
    let refused = |path: &str, said: &str| {
        SimError::study(format!("study, {path}: {}. docs/study.md lists all keys and what they may be", in_words(said)))
    };
    let document: serde_json::Value = serde_json::from_str(text).map_err(|error| refused(".", &error.to_string()))?;
    serde_path_to_error::deserialize(&document).map_err(|error| {
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
        refused(&error.path().to_string(), &said)
    })
}

/// How serde ends where a number or another value stands in place of a name.
const NO_NAME: &str = "expected string or map";

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
