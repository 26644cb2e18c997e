//! A stack as a value: a mapping with its settings, and what stands beside or in front of it.
//!
//! ```text
//!   fast:log_space=5%+owl:bat=256
//!   ──┬─ ─────┬────── ─┬─ ──┬────
//!  mapping  setting  part  setting
//! ```
//!
//! Parts follow each other behind `+`, the settings of a part behind `:`. This is the spelling of
//! the command line, studies, results, labels, replay lines and image headers alike. Here it is
//! only taken apart and put together: which parts there are, what their settings may be and which
//! of them go together is known to the [registry](crate::registry).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::api::parameter::{Settings, is_plain};
use crate::port::error::ConfigError;

/// A part of a stack, by name, with what was set.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part {
    /// Its name in the registry.
    pub name: String,
    /// What differs from its defaults.
    pub settings: Settings,
}

/// A translation layer: a mapping, then perhaps a wear policy and a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stack {
    /// The mapping, which each stack has.
    pub mapping: Part,
    /// The other parts, in the order in which they were named.
    pub others: Vec<Part>,
}

impl Part {
    /// A part with all at its defaults.
    pub fn of(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// A part with settings; an empty list leaves all at their defaults.
    pub fn new<K: Into<String>, V: Into<String>>(name: &str, settings: impl IntoIterator<Item = (K, V)>) -> Self {
        let settings = settings.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self { name: name.to_owned(), settings }
    }
}

impl Stack {
    /// A mapping alone, all at its defaults.
    pub fn of(mapping: &str) -> Self {
        Self { mapping: Part::of(mapping), ..Self::default() }
    }

    /// A mapping alone, with settings.
    pub fn with<K: Into<String>, V: Into<String>>(mapping: &str, settings: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { mapping: Part::new(mapping, settings), ..Self::default() }
    }

    /// The same stack with one more part.
    #[must_use]
    pub fn and(mut self, part: Part) -> Self {
        self.others.push(part);
        self
    }

    /// Its parts, the mapping first.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.mapping).chain(&self.others)
    }

    /// Its parts, to be changed.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        std::iter::once(&mut self.mapping).chain(&mut self.others)
    }

    /// The names of its parts, without settings: `fast+owl`.
    pub fn names(&self) -> String {
        self.parts().map(|part| part.name.as_str()).collect::<Vec<_>>().join("+")
    }

    /// Whether it is a mapping alone.
    pub fn is_bare(&self) -> bool {
        self.others.is_empty()
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.settings.iter().try_for_each(|(key, value)| write!(f, ":{key}={value}"))
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mapping.fmt(f)?;
        self.others.iter().try_for_each(|part| write!(f, "+{part}"))
    }
}

impl FromStr for Stack {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let refused = |why: String| {
            ConfigError(format!("{text:?}: {why}; write for example dftl:cmt=32KiB, with further parts behind a +"))
        };
        let mut parts = Vec::new();
        for part in text.trim().split('+') {
            let mut words = part.split(':');
            let name = words.next().unwrap_or_default().to_owned();
            if !is_plain(&name) || name.contains('=') {
                let place = if parts.is_empty() { "a stack begins with" } else { "behind + there must be" };
                return Err(refused(format!("{place} the name of a part, but here stands {name:?}")));
            }
            let mut settings = Settings::new();
            for word in words {
                let pair = word.split_once('=').filter(|(key, value)| is_plain(key) && is_plain(value));
                let Some((key, value)) = pair else {
                    return Err(refused(format!("{word:?} is not KEY=VALUE without spaces")));
                };
                if settings.insert(key.to_owned(), value.to_owned()).is_some() {
                    return Err(refused(format!("{name}.{key} is given twice, so which value is meant? Give it once")));
                }
            }
            parts.push(Part { name, settings });
        }
        let others = parts.split_off(1);
        Ok(Self { mapping: parts.remove(0), others })
    }
}

/// As its text.
impl Serialize for Stack {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From its text.
impl<'de> Deserialize<'de> for Stack {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part() -> impl Strategy<Value = Part> {
        let settings = proptest::collection::btree_map("[a-z_]{1,6}", "[-a-zA-Z0-9.%=_]{1,8}", 0..4);
        ("[a-z][-a-z0-9]{0,8}", settings).prop_map(|(name, settings)| Part { name, settings })
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(mapping in part(), others in proptest::collection::vec(part(), 0..3)) {
            let stack = Stack { mapping, others };
            prop_assert_eq!(stack.to_string().parse::<Stack>(), Ok(stack));
        }

        #[test]
        fn what_is_read_prints_as_it_was_but_for_the_order_of_settings(text in "[a-c+:=,%1 ]{0,16}") {
            if let Ok(stack) = text.parse::<Stack>() {
                let mut letters: [Vec<char>; 2] = [text.trim(), &stack.to_string()].map(|text| text.chars().collect());
                for letters in &mut letters {
                    letters.sort_unstable();
                }
                prop_assert_eq!(&letters[0], &letters[1]);
                prop_assert_eq!(stack.to_string().parse::<Stack>(), Ok(stack));
            }
        }
    }

    #[test]
    fn a_stack_is_taken_apart() {
        let stack: Stack = "fast:log_space=5%+owl:bat=256".parse().expect("valid");
        let owl = Part::new("owl", [("bat", "256")]);
        assert_eq!(stack, Stack::with("fast", [("log_space", "5%")]).and(owl));
        assert_eq!((stack.names(), stack.is_bare()), ("fast+owl".to_owned(), false));
        assert_eq!("page".parse(), Ok(Stack::of("page")));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, words) in [
            ("", "begins with the name"),
            ("fast+", "behind + there must be"),
            ("+owl", "begins with the name"),
            ("fast:log_space", "\"log_space\" is not KEY=VALUE"),
            ("fast:log_space=", "is not KEY=VALUE"),
            ("fast::x=1", "is not KEY=VALUE"),
            ("fast:x=1 2", "is not KEY=VALUE"),
            ("page+static:", "\"page+static:\": \"\" is not KEY=VALUE"),
            ("x=1", "\"x=1\""),
            ("fast:x=1:x=2", "fast.x is given twice"),
        ] {
            let error = text.parse::<Stack>().expect_err(text).to_string();
            assert!(error.contains(words) && error.contains("dftl:cmt=32KiB"), "{error}");
        }
    }
}
