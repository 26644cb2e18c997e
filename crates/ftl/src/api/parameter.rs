//! Parameters of schemes: declared once with default, range and source, parsed and checked here for
//! all of them.
//!
//! A scheme lists its [`Parameter`]s in its registry entry; a user's settings become [`Values`], in
//! which every parameter has a checked value. Unknown names, wrong units and values out of range
//! are errors that name the limit. Parameters that several schemes read in pairs make one value
//! ([`AccessDelays`]).

use std::collections::BTreeMap;
use std::fmt;

use quantity::{choose_from, size_text};
use serde::Serialize;

use crate::api::named::{self, PolicyKind};
use crate::port::error::ConfigError;
use crate::port::timing::Nanos;

/// The settings of a part: parameter name to text, as a user writes it. What is not set has its
/// default.
pub type Settings = BTreeMap<String, String>;

/// Whether text can stand between the separators of a stack and be read back.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| "+:,".contains(c) || c.is_whitespace() || c.is_control())
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Kind {
    /// A whole number within bounds.
    Integer {
        /// Smallest allowed.
        min: u64,
        /// Largest allowed.
        max: u64,
    },
    /// A real number within bounds, written as `0.05` or as `5%`.
    Ratio {
        /// Smallest allowed.
        min: f64,
        /// Largest allowed.
        max: f64,
    },
    /// A number of blocks within bounds; a slice of a device has as small a part of them. Lists
    /// show it as the whole number that it is.
    #[serde(rename = "integer")]
    Blocks {
        /// Smallest allowed.
        min: u64,
        /// Largest allowed.
        max: u64,
    },
    /// A number of bytes within bounds, written as `64KiB`, `64k` or as a plain number.
    Bytes {
        /// Smallest allowed.
        min: u64,
        /// Largest allowed.
        max: u64,
        /// Whether it is a share of the device or of its map, of which a slice has as small a part.
        #[serde(skip)]
        scales: bool,
    },
    /// A span of time within bounds, written as `10us`.
    Duration {
        /// Shortest allowed, in nanoseconds.
        min: u64,
        /// Longest allowed, in nanoseconds.
        max: u64,
    },
    /// One of a few words.
    Choice {
        /// The words to choose from.
        of: &'static [&'static str],
    },
    /// One of a few words, or the name of a policy that was registered. Lists show it as the choice
    /// that it is without any.
    #[serde(rename = "choice")]
    Policy {
        /// The words to choose from.
        of: &'static [&'static str],
        /// Of which kind the policies are.
        #[serde(skip)]
        from: PolicyKind,
    },
    /// `true` or `false`.
    Switch,
}

/// The parameters of a scheme, from those that its parts declare and its own.
///
/// # Panics
/// Unless there are `N` of them; in a constant, as everywhere here, the compiler says so.
pub const fn joined<const N: usize>(lists: &[&[Parameter]]) -> [Parameter; N] {
    let mut all = [lists[0][0]; N];
    let (mut count, mut i) = (0, 0);
    while i < lists.len() {
        let mut j = 0;
        while j < lists[i].len() {
            all[count] = lists[i][j];
            (count, j) = (count + 1, j + 1);
        }
        i += 1;
    }
    assert!(count == N, "a scheme says that it has more parameters than it lists");
    all
}

/// One declared parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Its key, in TOML and after the scheme's name in `--set`.
    pub name: &'static str,
    /// What it may be.
    #[serde(flatten)]
    pub kind: Kind,
    /// Its value when not set, as a user would write it.
    pub default: &'static str,
    /// What it means, in one sentence, with what its extremes do.
    pub meaning: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Integer(u64),
    Ratio(f64),
    Word(&'static str),
    Switch(bool),
}

impl fmt::Display for Value {
    /// As it would be read again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Ratio(value) => value.fmt(f),
            Self::Word(value) => f.write_str(value),
            Self::Switch(value) => value.fmt(f),
        }
    }
}

/// A checked value for every parameter of one part.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    values: BTreeMap<&'static str, Value>,
}

impl Values {
    /// Checks a user's settings (parameter name → text) against a scheme's parameters.
    pub fn check(scheme: &str, parameters: &[Parameter], settings: &Settings) -> Result<Self, ConfigError> {
        for key in settings.keys() {
            if !parameters.iter().any(|p| p.name == key) {
                let known: Vec<_> = parameters.iter().map(|p| p.name).collect();
                let instead = if known.is_empty() { "it has none".into() } else { choose_from(key, &known.join(", ")) };
                return Err(ConfigError(format!("{scheme}.{key}: {scheme} has no parameter {key}; {instead}")));
            }
        }
        let mut values = BTreeMap::new();
        for parameter in parameters {
            let text = settings.get(parameter.name).map_or(parameter.default, String::as_str);
            let value = parse(parameter.kind, text.trim())
                .map_err(|why| ConfigError(format!("{scheme}.{} = {text}: {why}", parameter.name)))?;
            values.insert(parameter.name, value);
        }
        Ok(Self { values })
    }

    /// No parameters: for schemes that have none.
    pub fn none() -> Self {
        Self { values: BTreeMap::new() }
    }

    /// A whole number, a number of bytes, or a span of time in nanoseconds.
    ///
    /// # Panics
    /// When the scheme did not declare the parameter so: an error in the scheme's own source.
    pub fn integer(&self, name: &str) -> u64 {
        match self.values.get(name) {
            Some(Value::Integer(value)) => *value,
            other => panic!("{name} is declared as {other:?}, not as an integer"),
        }
    }

    /// A real number; panics like [`integer`](Self::integer).
    pub fn ratio(&self, name: &str) -> f64 {
        match self.values.get(name) {
            Some(Value::Ratio(value)) => *value,
            other => panic!("{name} is declared as {other:?}, not as a ratio"),
        }
    }

    /// A word; panics like [`integer`](Self::integer).
    pub fn word(&self, name: &str) -> &'static str {
        match self.values.get(name) {
            Some(Value::Word(value)) => value,
            other => panic!("{name} is declared as {other:?}, not as a choice"),
        }
    }

    /// A switch; panics like [`integer`](Self::integer).
    pub fn switch(&self, name: &str) -> bool {
        match self.values.get(name) {
            Some(Value::Switch(value)) => *value,
            other => panic!("{name} is declared as {other:?}, not as a switch"),
        }
    }
}

impl Parameter {
    /// A valid value as it stands in a stack: the user's own words, unless these have spaces or
    /// separators in them.
    pub(crate) fn spelled(&self, text: &str) -> String {
        let text = text.trim();
        match (is_plain(text), self.kind, parse(self.kind, text)) {
            (false, Kind::Duration { .. }, Ok(value)) => format!("{value}ns"),
            (false, _, Ok(value)) => value.to_string(),
            _ => text.to_owned(),
        }
    }
}

fn parse(kind: Kind, text: &str) -> Result<Value, String> {
    match kind {
        Kind::Integer { min, max } | Kind::Blocks { min, max } => {
            let value = quantity::count(text).map_err(|why| format!("{why}, from {min} to {max}"))?;
            within(value, min, max).map(Value::Integer)
        }
        Kind::Bytes { min, max, .. } => {
            let is_bare = text.ends_with(|c: char| c.is_ascii_digit());
            let unit = if is_bare { "; a number without a unit is bytes, write for example 16KiB" } else { "" };
            let limits = format!("from {} to {}", size_text(min), size_text(max));
            let given = quantity::size(text).map_err(|why| format!("{why}; it must be {limits}"))?;
            within(given, min, max).map(Value::Integer).map_err(|_| format!("out of range; must be {limits}{unit}"))
        }
        Kind::Duration { min, max } => {
            let limits = |_| format!("out of range; must be from {min} ns to {max} ns");
            within(quantity::duration(text)?, min, max).map(Value::Integer).map_err(limits)
        }
        Kind::Ratio { min, max } => {
            let value = quantity::share(text).map_err(|why| format!("{why}, from {min} to {max}"))?;
            within(value, min, max).map(Value::Ratio)
        }
        Kind::Choice { of } => one_of(of, text),
        Kind::Policy { of, from } => one_of(&[of, &named::names(from)[..]].concat(), text),
        Kind::Switch => text.parse::<bool>().map(Value::Switch).map_err(|_| "must be true or false".into()),
    }
}

fn one_of(words: &[&'static str], text: &str) -> Result<Value, String> {
    let word = words.iter().find(|word| word.eq_ignore_ascii_case(text));
    word.copied()
        .map(Value::Word)
        .ok_or_else(|| format!("there is no {text}; {}", choose_from(text, &words.join(", "))))
}

fn within<T: PartialOrd + Copy + std::fmt::Display>(value: T, min: T, max: T) -> Result<T, String> {
    if value < min || value > max { Err(format!("out of range; must be from {min} to {max}")) } else { Ok(value) }
}

/// What accesses to RAM or registers take.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccessDelays {
    /// Time of reading a page in RAM.
    pub read: Nanos,
    /// Time of writing a page in RAM.
    pub write: Nanos,
}

impl AccessDelays {
    /// The delays that two parameters, of reading and of writing, ask for.
    pub fn from_values(values: &Values, [read, write]: [&str; 2]) -> Self {
        Self { read: Nanos(values.integer(read)), write: Nanos(values.integer(write)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: [Parameter; 4] = [
        Parameter {
            name: "cmt",
            kind: Kind::Bytes { min: 64, max: 1 << 30, scales: true },
            default: "64KiB",
            meaning: "",
            source: "",
        },
        Parameter {
            name: "victim",
            kind: Kind::Choice { of: &["greedy", "fifo"] },
            default: "greedy",
            meaning: "",
            source: "",
        },
        Parameter {
            name: "delay",
            kind: Kind::Duration { min: 0, max: 1_000_000 },
            default: "10us",
            meaning: "",
            source: "",
        },
        Parameter { name: "share", kind: Kind::Ratio { min: 0.0, max: 1.0 }, default: "0.03", meaning: "", source: "" },
    ];

    fn check(key: &str, text: &str) -> Result<Values, ConfigError> {
        Values::check("dftl", &PARAMETERS, &BTreeMap::from([(key.into(), text.into())]))
    }

    #[test]
    fn defaults_fill_what_is_not_set() {
        let values = check("cmt", "2 MiB").expect("valid");
        assert_eq!((values.integer("cmt"), values.word("victim")), (2 << 20, "greedy"));
        assert!((values.ratio("share") - 0.03).abs() < f64::EPSILON);
        assert_eq!(values.integer("delay"), 10_000);
        assert_eq!(check("cmt", "2m").expect("valid"), values);
        assert_eq!(check("delay", "1 ms").expect("valid").integer("delay"), 1_000_000);
        assert!((check("share", "5%").expect("valid").ratio("share") - 0.05).abs() < f64::EPSILON);
    }

    #[test]
    fn a_value_with_spaces_is_spelled_without_and_means_the_same() {
        let [cmt, victim, delay, share] = PARAMETERS;
        for (parameter, text, spelled) in [
            (cmt, " 2 MiB ", "2097152"),
            (cmt, "2MiB", "2MiB"),
            (victim, "fifo", "fifo"),
            (delay, "1 ms", "1000000ns"),
            (share, "5 %", "0.05"),
            (share, "+0.5", "0.5"),
        ] {
            assert_eq!(parameter.spelled(text), spelled);
            assert_eq!(check(parameter.name, text), check(parameter.name, spelled));
        }
    }

    #[test]
    fn every_wrong_setting_names_the_key_the_value_and_the_limit() {
        for (key, text, part) in [
            ("cmt", "64KB", "did you mean 64KiB"),
            ("cmt", "-1", "must not be negative"),
            ("cmt", "1EiB", "it must be from 64B to 1GiB"),
            ("cmt", "32", "from 64B to 1GiB; a number without a unit is bytes, write for example 16KiB"),
            ("cmt", "2GiB", "from 64B to 1GiB"),
            ("cmt", "99999999999TiB", "64 bits"),
            ("delay", "10", "needs its unit"),
            ("delay", "1.5ns", "not a whole number"),
            ("delay", "2ms", "from 0 ns to 1000000 ns"),
            ("delay", "18446744073709551615ms", "64 bits"),
            ("victim", "lru", "there is no lru; choose from greedy, fifo"),
            ("victim", "Gredy", "there is no Gredy; did you mean greedy? Choose from greedy, fifo"),
            ("share", "NaN", "not a number"),
            ("share", "1.5", "from 0 to 1"),
            ("share", "150%", "from 0 to 1"),
            ("share", "%", "not a number"),
            ("cmtt", "1", "dftl has no parameter cmtt; did you mean cmt? Choose from cmt, victim, delay, share"),
            ("x", "1", "dftl has no parameter x; choose from cmt, victim, delay, share"),
        ] {
            let error = check(key, text).expect_err(text).to_string();
            assert!(error.contains(key) && error.contains(part), "{error}");
        }
    }
}
