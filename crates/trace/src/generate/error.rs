//! Why a workload cannot be generated: always the user's input, so always a sentence with the key,
//! the value, the limit and the next step.

use std::fmt;

/// A workload description that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecError {
    /// A value out of range, or two that contradict each other.
    Field {
        /// Where: the path of keys, such as `pattern.mixed[1].write_share`.
        key: String,
        /// The value given.
        value: String,
        /// The limit, and what to do.
        rule: String,
    },
    /// No preset has this name.
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

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field { key, value, rule } => write!(f, "workload: {key} = {value}: {rule}"),
            Self::UnknownPreset { name, closest, known } => write!(
                f,
                "no workload preset is called `{name}`; did you mean `{closest}`? There are: {}.",
                known.join(", ")
            ),
        }
    }
}

impl std::error::Error for SpecError {}
