//! Stacks to try, and settings to try them with, made from what the registry lists and the
//! parameters that its entries declare.
//!
//! Each choice and switch is tried with every value. Of numbers the bounds are tried, where
//! off-by-one errors live, and a few small values, because what is a small cache to a real device
//! is a large one here. Of spans of time only the bounds are tried: time is no part of a promise.

use ftl::api::layout::WearScheme;
use ftl::wear::none::NoLevelling;
use ftl::{ConfigError, Entry, Kind, Parameter, Part, PartKind, Stack, registry};

use crate::canary;

/// A stack that is to be tried, and the parameters that are varied on it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// With the settings that it keeps.
    pub stack: Stack,
    /// What is varied: the number of the part, 0 for the mapping, and one of its parameters.
    pub parameters: Vec<(usize, &'static Parameter)>,
}

impl Subject {
    /// A mapping alone, at its defaults, all its parameters varied.
    pub fn of(entry: &Entry) -> Self {
        Self { stack: Stack::of(entry.name), parameters: entry.parameters.iter().map(|each| (0, each)).collect() }
    }

    /// A stack whose settings are kept: all other parameters of all its parts are varied. The
    /// canary and its buffer have none.
    pub fn keeping(stack: Stack) -> Result<Self, ConfigError> {
        if canary::taken_off(&stack)?.is_some() || canary::settings_in(&stack)?.is_some() {
            return Ok(Self { stack, parameters: Vec::new() });
        }
        let resolved = registry::resolve(&stack)?;
        let parts = resolved.parts().iter().zip(stack.parts()).enumerate();
        let parameters = parts.flat_map(|(number, (chosen, part))| {
            let free = chosen.entry.parameters.iter().filter(|each| !part.settings.contains_key(each.name));
            free.map(move |each| (number, each))
        });
        let parameters = parameters.collect();
        Ok(Self { stack, parameters })
    }

    /// What the suite tries: each mapping alone, with all its parameters varied, and each further
    /// part over a mapping of each family, with the part's own parameters varied. A part that is
    /// registered is among them by that alone.
    pub fn all() -> Vec<Self> {
        let bare = registry::mappings().into_iter().map(Self::of);
        let over = |mapping: &&str| {
            let mapping = Stack::of(mapping);
            further_parts(&mapping).into_iter().map(move |(_, entry)| mapping.clone().and(Part::of(entry.name)))
        };
        let stacks = REPRESENTATIVES.iter().flat_map(over).filter_map(|stack| {
            let subject = Self::keeping(stack).ok()?;
            let parameters = subject.parameters.into_iter().filter(|&(part, _)| part > 0).collect();
            Some(Self { parameters, ..subject })
        });
        bare.chain(stacks).collect()
    }

    /// Each parameter at each of its values, the others at their defaults; the first is the stack
    /// as it is.
    pub fn one_at_a_time(&self) -> Vec<Stack> {
        let mut variants = vec![self.stack.clone()];
        for &(part, parameter) in &self.parameters {
            variants
                .extend(values(parameter).into_iter().skip(1).map(|value| set(&self.stack, part, parameter, value)));
        }
        variants
    }

    /// Every two parameters at every two values that are not their defaults.
    pub fn pairs(&self) -> Vec<Stack> {
        let mut variants = Vec::new();
        for (i, &(part, first)) in self.parameters.iter().enumerate() {
            for &(other_part, second) in &self.parameters[i + 1..] {
                for one in values(first).into_iter().skip(1) {
                    let with_one = set(&self.stack, part, first, one);
                    let others = values(second).into_iter().skip(1);
                    variants.extend(others.map(|other| set(&with_one, other_part, second, other)));
                }
            }
        }
        variants
    }

    /// The stack with each kind of checkpoints that it keeps when asked to; none for one that has
    /// none.
    pub fn checkpoints(&self) -> Vec<Stack> {
        let declared = self.parameters.iter().filter(|(_, parameter)| parameter.name == "checkpoint");
        let kinds = declared.flat_map(|&(part, parameter)| {
            values(parameter).into_iter().skip(1).map(move |kind| set(&self.stack, part, parameter, kind))
        });
        kinds.collect()
    }
}

/// Mappings over which every other part is tried: one of each family, and of the log-buffer schemes
/// one that groups blocks.
const REPRESENTATIVES: [&str; 5] = ["page", "block", "fast", "a-sast", "dftl"];

/// The parts that can be added to a mapping and change anything.
pub(crate) fn further_parts(mapping: &Stack) -> Vec<(PartKind, &'static Entry)> {
    let kinds = PartKind::ALL.into_iter().filter(|&kind| kind != PartKind::Mapping);
    let all = kinds.flat_map(|kind| registry::entries(kind).into_iter().map(move |entry| (kind, entry)));
    let changes = |entry: &Entry| entry.name != NoLevelling::ENTRY.name;
    let works = |entry: &Entry| registry::resolve(&mapping.clone().and(Part::of(entry.name))).is_ok();
    all.filter(|(_, entry)| changes(entry) && works(entry)).collect()
}

/// A stack with one more setting, of a part by its number.
pub(crate) fn set(stack: &Stack, part: usize, parameter: &Parameter, value: String) -> Stack {
    let mut stack = stack.clone();
    if let Some(part) = stack.parts_mut().nth(part) {
        part.settings.insert(parameter.name.to_owned(), value);
    }
    stack
}

/// What a stack is called where seeds are derived by name. A mapping alone keeps the name that it
/// had before there were stacks, so that the suite's cases stay the same.
pub(crate) fn seed_name(stack: &Stack) -> String {
    if stack.is_bare() { format!("{} {:?}", stack.mapping.name, stack.mapping.settings) } else { stack.to_string() }
}

/// The values of one parameter that are worth trying, its default among them.
pub fn values(parameter: &Parameter) -> Vec<String> {
    let mut values = vec![parameter.default.to_owned()];
    match parameter.kind {
        Kind::Integer { min, max } | Kind::Blocks { min, max } => {
            values.extend(small_and_extreme(min, max, &[1, 2, 3, 5]));
        }
        Kind::Bytes { min, max, .. } => values.extend(small_and_extreme(min, max, &[min + 8, 200, 1 << 10, 4 << 10])),
        Kind::Duration { min, max } => values.extend([min, max].map(|span| format!("{span}ns"))),
        Kind::Ratio { min, max } => {
            let inner = [min, max, f64::midpoint(min, max), 0.1, 0.5];
            values.extend(inner.map(|ratio| ratio.clamp(min, max).to_string()));
        }
        Kind::Choice { of } | Kind::Policy { of, .. } => values.extend(of.iter().map(ToString::to_string)),
        Kind::Switch => values.extend(["true", "false"].map(String::from)),
    }
    let mut seen = Vec::new();
    values.retain(|value| {
        !seen.contains(value) && {
            seen.push(value.clone());
            true
        }
    });
    values
}

fn small_and_extreme(min: u64, max: u64, small: &[u64]) -> Vec<String> {
    let within = small.iter().copied().filter(|value| (min..=max).contains(value));
    [min, max].into_iter().chain(within).map(|value| value.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &'static str, kind: Kind, default: &'static str) -> Parameter {
        Parameter { name, kind, default, meaning: "", source: "" }
    }

    #[test]
    fn every_choice_and_both_ends_of_every_number_are_tried_once() {
        let number = parameter("n", Kind::Integer { min: 2, max: 100 }, "5");
        assert_eq!(values(&number), ["5", "2", "100", "3"]);
        let word = parameter("w", Kind::Choice { of: &["a", "b", "c"] }, "b");
        assert_eq!(values(&word), ["b", "a", "c"]);
        assert_eq!(values(&parameter("s", Kind::Switch, "true")), ["true", "false"]);
        assert_eq!(values(&parameter("d", Kind::Duration { min: 0, max: 9 }, "0ns")), ["0ns", "9ns"]);
        assert_eq!(values(&parameter("r", Kind::Ratio { min: 0.0, max: 1.0 }, "0.5")), ["0.5", "0", "1", "0.1"]);
        assert_eq!(
            values(&parameter("b", Kind::Bytes { min: 64, max: 512, scales: false }, "64")),
            ["64", "512", "72", "200"]
        );
    }

    #[test]
    fn a_subject_is_varied_in_what_it_does_not_keep() {
        let page = Subject::of(registry::entry("page").expect("known"));
        assert_eq!(page.one_at_a_time()[0], Stack::of("page"));
        let kept = Subject::keeping("page:victim=fifo:streams=shared".parse().expect("valid")).expect("known");
        assert_eq!(kept.parameters.len() + 2, page.parameters.len());
        let values: usize = kept.parameters.iter().map(|(_, parameter)| values(parameter).len() - 1).sum();
        assert_eq!(kept.one_at_a_time().len(), 1 + values);
        assert!(kept.pairs().iter().all(|stack| stack.mapping.settings["victim"] == "fifo"));
        let checkpoints = kept.checkpoints();
        assert!(checkpoints.iter().all(|stack| stack.mapping.settings.len() == 3) && !checkpoints.is_empty());
        let all = Subject::all();
        assert_eq!(all.iter().filter(|subject| subject.stack.is_bare()).count(), registry::mappings().len());
        let mut stacks = all.iter().filter(|subject| !subject.stack.is_bare());
        assert!(stacks.any(|subject| subject.stack.names() == "fast+dynamic"));
        assert!(Subject::keeping("pgae".parse().expect("a spelling")).is_err());
        let canary = Subject::keeping("canary:bug=lost-write".parse().expect("valid")).expect("the canary");
        assert_eq!(canary.one_at_a_time().len(), 1);
    }
}
