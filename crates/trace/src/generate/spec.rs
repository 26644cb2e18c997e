//! What a generated workload is, as a study file or a Python caller writes it.
//!
//! This is the first of two stages: text becomes these types (unknown keys and impossible units are
//! refused here), and [`super::plan`] turns them into a checked plan (ranges and relations are
//! refused there). Nothing here draws a number.
//!
//! ```toml
//! requests = 2_000_000
//! span = "4GiB"
//! pattern = { zipf = { theta = 0.99 } }
//! write_share = 0.7
//! sizes = { choice = [ { size = "4KiB", weight = 3 }, { size = "64KiB", weight = 1 } ] }
//! arrivals = { poisson = { mean_gap = "80us" } }
//! ```
//!
//! A *share* is a fraction from 0 to 1, or text such as `"70%"`. What a part or a phase leaves out,
//! it takes from the workload around it.

use std::fmt;

use host::HostOp;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Deserialize as DeserializeDerive, Serialize};

use crate::units::{Bytes, Nanoseconds, count, optional_share, parse_bytes, share};

/// A whole generated workload, of one device.
#[derive(Clone, Debug, PartialEq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields, default)]
pub struct GeneratorSpec {
    /// How many requests are made; 1 or more. Default 1 000 000.
    #[serde(deserialize_with = "count")]
    pub requests: u64,
    /// First byte of the address range. A multiple of `unit`. Default 0.
    pub start: Bytes,
    /// Bytes in the address range. A multiple of `unit`, from one unit to 2⁵² units (2³² − 2 when
    /// anything trims). Default 1 GiB.
    pub span: Bytes,
    /// Requests that do not continue an earlier one start at a multiple of this; also what one trim
    /// discards. 1 B to 1 GiB; smaller than the device's page gives partial pages, larger leaves
    /// gaps. Default 4 KiB.
    pub unit: Bytes,
    /// Whether every unit counts as written before the first request, so that trims have targets
    /// from the start. Set it when the simulated device is filled beforehand. Default false.
    pub filled: bool,
    /// When requests arrive. Default [`Arrivals::AtOnce`], for closed-loop runs.
    pub arrivals: Arrivals,
    /// Where requests go. Default [`Pattern::Uniform`].
    pub pattern: Pattern,
    /// Share of all requests that write, 0 to 1; with `trim_share` at most 1, and the rest reads.
    /// Default: all that does not trim.
    #[serde(deserialize_with = "optional_share", skip_serializing_if = "Option::is_none")]
    pub write_share: Option<f64>,
    /// Share of all requests that trim one unit, chosen uniformly among those written and not
    /// trimmed since; when there is none, the request writes instead. 0 to 1, default 0. Costs 8
    /// bytes of memory per unit of the span.
    #[serde(deserialize_with = "share")]
    pub trim_share: f64,
    /// Writes between two flushes, which count as requests. Default 0: no flush.
    #[serde(deserialize_with = "count", skip_serializing_if = "is_default")]
    pub flush_every: u64,
    /// Share of reads and writes that start exactly where the one before them ended (in a mixture:
    /// the one before them of the same part), 0 to 1. One that would leave the range goes where the
    /// pattern says instead. Default 0.
    #[serde(deserialize_with = "share")]
    pub sequential_share: f64,
    /// Runs at a time, 1 to 65 536, each request belonging to one of them, all alike: it goes on
    /// where the one before it of the same run ended. Default 1.
    #[serde(skip_serializing_if = "is_one")]
    pub runs: u32,
    /// Whether reads and writes that do not continue an earlier one start at a multiple of their
    /// own length, counted from the start of their range, as a program that reads and writes
    /// records does; else at a multiple of `unit`. Default false.
    #[serde(skip_serializing_if = "is_default")]
    pub aligned: bool,
    /// At which sectors (512 bytes) of a unit requests start that do not continue an earlier one: a
    /// weight for each. Default: at the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<Vec<f64>>,
    /// Share of these requests that start at the unit's own sector, drawn once with these weights;
    /// the others draw anew. 0 to 1, default 0.
    #[serde(deserialize_with = "share", skip_serializing_if = "is_default")]
    pub starts_kept: f64,
    /// How long requests are (trims are one unit). Default: one unit, whatever `unit` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// Stream hint that every request carries, 0 to 255. Default 0, no hint.
    pub stream: u8,
    /// Requests that repeat an earlier one. Default: none do, but by chance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reuse: Vec<Reuse>,
}

impl Default for GeneratorSpec {
    fn default() -> Self {
        Self {
            requests: 1_000_000,
            start: Bytes(0),
            span: Bytes(1 << 30),
            unit: Bytes(4096),
            filled: false,
            arrivals: Arrivals::AtOnce,
            pattern: Pattern::Uniform,
            write_share: None,
            trim_share: 0.0,
            flush_every: 0,
            sequential_share: 0.0,
            runs: 1,
            aligned: false,
            starts: None,
            starts_kept: 0.0,
            sizes: None,
            stream: 0,
            reuse: Vec::new(),
        }
    }
}

/// Where requests go. Patterns without settings are written as text (`pattern = "uniform"`), the
/// others as a table with one key (`pattern = { zipf = { theta = 0.9 } }`).
///
/// A request that would run past the end of the range starts earlier, at the last unit from which
/// it fits.
#[derive(Clone, Debug, PartialEq, Serialize, DeserializeDerive)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pattern {
    /// Every unit equally likely at every request, whatever came before: *with replacement*.
    Uniform,
    /// Every unit once per pass, in a fresh pseudorandom order each pass.
    Permutation,
    /// Every unit once per pass, in the same pseudorandom order every pass.
    SamePermutation,
    /// The popularity of extents falls as a power of their rank; inside an extent units are equally
    /// likely, or their popularity falls as well.
    Zipf(Zipf),
    /// Two temperatures; inside each, extents and units are equally likely.
    HotCold(HotCold),
    /// Each request starts where this pattern's last one ended; at the end of the range, from the
    /// start again.
    Sequential,
    /// Each request belongs to one of several parts, drawn by weight.
    Mixed(Vec<Part>),
    /// One behaviour after another, in order, and from the first again until all requests are made.
    Phases(Vec<Phase>),
}

/// Settings of [`Pattern::Zipf`].
#[derive(Clone, Debug, PartialEq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields)]
pub struct Zipf {
    /// Exponent: the k-th most popular extent gets requests in proportion to k^−θ. 0 (all alike) to
    /// 16 (all to the first); 1 and its neighbourhood need no care.
    pub theta: f64,
    /// Bytes that share one popularity; a multiple of `unit`. Larger means more spatial locality.
    /// Default one unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<Bytes>,
    /// Exponent inside an extent: from a unit of each extent's own on, round its end, units get
    /// requests in proportion to k^−θ. 0 to 16; 0, the default, is all alike. It makes few pages
    /// popular without making many logical blocks so.
    #[serde(default, skip_serializing_if = "is_default")]
    pub theta_inside: f64,
    /// Whether popular extents lie scattered over the range (true, the default) or in order of rank
    /// from its start.
    #[serde(default = "yes")]
    pub scatter: bool,
    /// Which scattering: parts and phases that agree on this number (and on range and extent) share
    /// their popular places, so a phase with another number moves them. Default 0.
    #[serde(default)]
    pub hot_set: u64,
    /// Requests after which popularity moves on by one extent: each takes the rank before its own,
    /// and the first becomes the last. Requests count that this part draws a place for. Default 0:
    /// places stay.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drift: u64,
}

impl Zipf {
    /// This popularity of scattered extents of this many bytes; the rest is the default.
    pub(crate) fn of(theta: f64, extent: Bytes) -> Self {
        Self { theta, extent: Some(extent), theta_inside: 0.0, scatter: true, hot_set: 0, drift: 0 }
    }
}

/// Settings of [`Pattern::HotCold`].
#[derive(Clone, Debug, PartialEq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields)]
pub struct HotCold {
    /// Share of the range that is hot, above 0 and below 1; rounded to whole extents, leaving at
    /// least one of each temperature.
    #[serde(deserialize_with = "share")]
    pub hot_data_share: f64,
    /// Share of the requests that go there, 0 to 1.
    #[serde(deserialize_with = "share")]
    pub hot_request_share: f64,
    /// As in [`Zipf::extent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<Bytes>,
    /// As in [`Zipf::scatter`].
    #[serde(default = "yes")]
    pub scatter: bool,
    /// As in [`Zipf::hot_set`].
    #[serde(default)]
    pub hot_set: u64,
    /// As in [`Zipf::drift`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub drift: u64,
}

fn yes() -> bool {
    true
}

fn one() -> f64 {
    1.0
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_one<T: From<u8> + PartialEq>(value: &T) -> bool {
    *value == T::from(1)
}

/// What parts and phases take from the workload around them where they leave it out.
#[derive(Clone, Copy)]
pub(super) struct Settings<'a> {
    pub(super) write_share: Option<f64>,
    pub(super) trim_share: f64,
    pub(super) sequential_share: f64,
    pub(super) runs: u32,
    pub(super) aligned: bool,
    pub(super) starts: Option<&'a [f64]>,
    pub(super) starts_kept: f64,
    pub(super) sizes: Option<&'a Sizes>,
    pub(super) stream: u8,
}

impl GeneratorSpec {
    /// What the workload has for its parts and phases.
    pub(super) fn settings(&self) -> Settings<'_> {
        Settings {
            write_share: self.write_share,
            trim_share: self.trim_share,
            sequential_share: self.sequential_share,
            runs: self.runs,
            aligned: self.aligned,
            starts: self.starts.as_deref(),
            starts_kept: self.starts_kept,
            sizes: self.sizes.as_ref(),
            stream: self.stream,
        }
    }
}

/// A part or a phase: fields of its own, and between them those of [`Settings`] that it has.
macro_rules! with_settings {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$before_meta:meta])* pub $before:ident: $before_type:ty,)+
        ..Settings
        $($(#[$after_meta:meta])* pub $after:ident: $after_type:ty,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, DeserializeDerive)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$before_meta])* pub $before: $before_type,)+
            /// As in [`GeneratorSpec::write_share`].
            #[serde(default, deserialize_with = "optional_share", skip_serializing_if = "Option::is_none")]
            pub write_share: Option<f64>,
            /// As in [`GeneratorSpec::trim_share`].
            #[serde(default, deserialize_with = "optional_share", skip_serializing_if = "Option::is_none")]
            pub trim_share: Option<f64>,
            /// As in [`GeneratorSpec::sequential_share`], of its own requests alone.
            #[serde(default, deserialize_with = "optional_share", skip_serializing_if = "Option::is_none")]
            pub sequential_share: Option<f64>,
            /// As in [`GeneratorSpec::runs`].
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub runs: Option<u32>,
            /// As in [`GeneratorSpec::aligned`].
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub aligned: Option<bool>,
            /// As in [`GeneratorSpec::starts`].
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub starts: Option<Vec<f64>>,
            /// As in [`GeneratorSpec::starts_kept`].
            #[serde(default, deserialize_with = "optional_share", skip_serializing_if = "Option::is_none")]
            pub starts_kept: Option<f64>,
            /// As in [`GeneratorSpec::sizes`].
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub sizes: Option<Sizes>,
            /// As in [`GeneratorSpec::stream`].
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub stream: Option<u8>,
            $($(#[$after_meta])* pub $after: $after_type,)*
        }

        impl $name {
            /// With the settings of the workload around it.
            pub(super) fn inheriting($($before: $before_type,)+ $($after: $after_type,)*) -> Self {
                Self {
                    $($before,)+
                    write_share: None,
                    trim_share: None,
                    sequential_share: None,
                    runs: None,
                    aligned: None,
                    starts: None,
                    starts_kept: None,
                    sizes: None,
                    stream: None,
                    $($after,)*
                }
            }

            /// Its settings inside these.
            pub(super) fn settings<'a>(&'a self, around: &Settings<'a>) -> Settings<'a> {
                Settings {
                    write_share: self.write_share.or(around.write_share),
                    trim_share: self.trim_share.unwrap_or(around.trim_share),
                    sequential_share: self.sequential_share.unwrap_or(around.sequential_share),
                    runs: self.runs.unwrap_or(around.runs),
                    aligned: self.aligned.unwrap_or(around.aligned),
                    starts: self.starts.as_deref().or(around.starts),
                    starts_kept: self.starts_kept.unwrap_or(around.starts_kept),
                    sizes: self.sizes.as_ref().or(around.sizes),
                    stream: self.stream.unwrap_or(around.stream),
                }
            }
        }
    };
}

with_settings! {
    /// One ingredient of [`Pattern::Mixed`]. It remembers where its own last request ended.
    pub struct Part {
        /// How often it is drawn, relative to the other parts; 0 or more, not all 0. Default 1.
        #[serde(default = "one")]
        pub weight: f64,
        /// Where its requests go; neither mixed nor phases.
        pub pattern: Pattern,
        /// The slice of the range it uses, `[from, to]` as shares of the span, rounded to its
        /// units. Default all, `[0, 1]`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub region: Option<[f64; 2]>,
        ..Settings
        /// As [`GeneratorSpec::unit`], of its own requests alone. Default that one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub unit: Option<Bytes>,
        /// Whether later requests may repeat its requests, where [`GeneratorSpec::reuse`] has some
        /// that do. Default true.
        #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
        pub reusable: bool,
    }
}

with_settings! {
    /// One stretch of [`Pattern::Phases`].
    pub struct Phase {
        /// How many requests it lasts each time it comes; 1 or more.
        #[serde(deserialize_with = "count")]
        pub requests: u64,
        /// Where its requests go; anything but phases.
        pub pattern: Pattern,
        /// As in [`GeneratorSpec::arrivals`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub arrivals: Option<Arrivals>,
        ..Settings
    }
}

impl Part {
    /// Requests of these sizes, whose weights are its own; the rest is the default.
    pub(super) fn of(sizes: Vec<WeightedSize>, pattern: Pattern) -> Self {
        let weight = sizes.iter().map(|size| size.weight).sum();
        Self { sizes: Some(Sizes::Choice(sizes)), ..Self::inheriting(weight, pattern, None, None, true) }
    }
}

/// Requests that repeat the place and the length of an earlier one: temporal locality.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields)]
pub struct Reuse {
    /// What they do.
    pub op: Access,
    /// What the request did that they repeat.
    pub after: Access,
    /// Their share of all requests, 0 to 1; all shares add to 1 at most.
    pub share: f64,
    /// How far back the repeated request lies, least and most, counted in requests that do `after`;
    /// 1 to 65 536. All distances between are alike.
    pub distance: [u32; 2],
    /// Share of them that may be repeated in their turn, 0 to 1. Default 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub again: f64,
    /// Share of them whose repeated request was of this kind itself, 0 to 1: some data are always
    /// repeated at such distances. The others repeat one of another kind, or a new one. Where the
    /// distances hold none of the wanted, any is repeated. Default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub regular: f64,
}

/// What a request does to data that stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, DeserializeDerive)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

impl Access {
    pub(crate) fn host_op(self) -> HostOp {
        match self {
            Self::Read => HostOp::Read,
            Self::Write => HostOp::Write,
        }
    }
}

/// When requests arrive. The first is at 0; mean gaps are of the whole stream.
#[derive(Clone, Debug, PartialEq, Serialize, DeserializeDerive)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// All at time 0: the queue depth of a closed-loop host sets the pace.
    AtOnce,
    /// The same gap between all requests.
    Constant {
        /// Time between two arrivals, 1 ns or more.
        gap: Nanoseconds,
    },
    /// Independent exponential gaps.
    Poisson {
        /// Mean time between two arrivals, 1 ns or more.
        mean_gap: Nanoseconds,
    },
    /// Bursts and pauses, both without memory (an interrupted Poisson process): every gap is
    /// exponential with mean `burst_gap`, and with probability 1/`burst` an exponential pause is
    /// added, of the mean that makes the overall mean gap `mean_gap`:
    /// `burst` × (`mean_gap` − `burst_gap`).
    Bursty {
        /// Mean time between two arrivals over the whole stream, 1 ns or more.
        mean_gap: Nanoseconds,
        /// Mean time between two arrivals inside a burst, at most `mean_gap` (where the process is
        /// Poisson).
        burst_gap: Nanoseconds,
        /// Mean number of requests in a burst, 1 to 10⁹ (geometrically distributed).
        burst: f64,
    },
}

/// How long requests are. A single size is written bare: `sizes = "4KiB"`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    /// `min`, `min + step`, … up to `max`, all equally likely.
    Uniform {
        /// Shortest, 1 B or more.
        min: Bytes,
        /// Longest, at least `min`, at most 4 GiB − 1 and the range.
        max: Bytes,
        /// Distance between neighbouring sizes, 1 B or more.
        step: Bytes,
    },
    /// One of several, by weight; 1 to 65 536 of them.
    Choice(Vec<WeightedSize>),
    /// Always the same, 1 B to 4 GiB − 1.
    #[serde(untagged)]
    Fixed(Bytes),
}

/// One size of [`Sizes::Choice`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields)]
pub struct WeightedSize {
    /// Bytes, 1 to 4 GiB − 1, at most the range.
    pub size: Bytes,
    /// How often, relative to the other sizes; 0 or more, not all 0.
    pub weight: f64,
}

impl WeightedSize {
    /// Sizes in KiB, each with its weight.
    pub(super) fn of_kib(sizes: &[(u64, f64)]) -> Vec<Self> {
        sizes.iter().map(|&(kib, weight)| Self { size: Bytes(kib << 10), weight }).collect()
    }
}

/// The forms of [`Sizes`] that are a table with one key.
#[derive(DeserializeDerive)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum SizesTable {
    Uniform { min: Bytes, max: Bytes, step: Bytes },
    Choice(Vec<WeightedSize>),
}

struct SizesVisitor;

impl<'de> Visitor<'de> for SizesVisitor {
    type Value = Sizes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as \"4KiB\", or a table with `uniform` or `choice`")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Sizes, E> {
        Ok(Sizes::Fixed(Bytes(bytes)))
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Sizes, E> {
        let bytes = u64::try_from(bytes).map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))?;
        self.visit_u64(bytes)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Sizes, E> {
        parse_bytes("", text).map(Sizes::Fixed).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sizes, A::Error> {
        Ok(match SizesTable::deserialize(MapAccessDeserializer::new(map))? {
            SizesTable::Uniform { min, max, step } => Sizes::Uniform { min, max, step },
            SizesTable::Choice(sizes) => Sizes::Choice(sizes),
        })
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizesVisitor)
    }
}

/// A workload description that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A value out of range, or two that contradict each other.
    #[error("workload: {key} = {value}: {rule}")]
    Field {
        /// Where: the path of keys, such as `pattern.mixed[1].write_share`.
        key: String,
        /// The value given.
        value: String,
        /// The limit, and what to do.
        rule: String,
    },
    /// No preset has this name.
    #[error("no workload preset is called `{name}`; did you mean `{closest}`? There are: {}.", known.join(", "))]
    UnknownPreset {
        /// The name given.
        name: String,
        /// The preset whose name is nearest.
        closest: &'static str,
        /// The names of all presets.
        known: Vec<&'static str>,
    },
}

impl SpecError {
    pub(crate) fn field(key: impl Into<String>, value: impl fmt::Display, rule: impl Into<String>) -> Self {
        Self::Field { key: key.into(), value: value.to_string(), rule: rule.into() }
    }
}
