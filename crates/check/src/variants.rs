//! Settings to try a scheme with, made from the parameters that its registry entry declares.
//!
//! Each choice and switch is tried with every value. Of numbers the bounds are tried, where off-by-one errors live, and a few
//! small values, because what is a small cache to a real device is a large one here. Of spans of time only the bounds are tried:
//! time is no part of a promise.

use std::collections::BTreeMap;

use ftl::{Entry, Kind, Parameter};

/// A scheme's settings: parameter name to text.
pub type Settings = BTreeMap<String, String>;

/// The values of one parameter that are worth trying, its default among them.
pub fn values(parameter: &Parameter) -> Vec<String> {
    let mut values = vec![parameter.default.to_owned()];
    match parameter.kind {
        Kind::Integer { min, max } => values.extend(small_and_extreme(min, max, &[1, 2, 3, 5])),
        Kind::Bytes { min, max } => values.extend(small_and_extreme(min, max, &[min + 8, 200, 1 << 10, 4 << 10])),
        Kind::Duration { min, max } => values.extend([min, max].map(|span| format!("{span}ns"))),
        Kind::Ratio { min, max } => {
            let inner = [min, max, f64::midpoint(min, max), 0.1, 0.5];
            values.extend(inner.map(|ratio| ratio.clamp(min, max).to_string()));
        }
        Kind::Choice { of } => values.extend(of.iter().map(ToString::to_string)),
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

/// Each parameter at each of its values, the others at their defaults; the first is the default of all.
pub fn one_at_a_time(parameters: &[Parameter]) -> Vec<Settings> {
    let mut variants = vec![Settings::new()];
    for parameter in parameters {
        for value in values(parameter).into_iter().skip(1) {
            variants.push(Settings::from([(parameter.name.to_owned(), value)]));
        }
    }
    variants
}

/// The kinds of checkpoints that a scheme keeps when asked to; none for one that has none.
pub fn checkpoints(entry: &Entry) -> Vec<Settings> {
    let declared = entry.parameters.iter().filter(|parameter| parameter.name == "checkpoint");
    let kinds = declared.flat_map(|parameter| values(parameter).into_iter().skip(1));
    kinds.map(|kind| Settings::from([("checkpoint".to_owned(), kind)])).collect()
}

/// Every two parameters at every two values that are not their defaults.
pub fn pairs(parameters: &[Parameter]) -> Vec<Settings> {
    let mut variants = Vec::new();
    for (i, first) in parameters.iter().enumerate() {
        for second in &parameters[i + 1..] {
            for one in values(first).into_iter().skip(1) {
                for other in values(second).into_iter().skip(1) {
                    variants
                        .push(Settings::from([(first.name.to_owned(), one.clone()), (second.name.to_owned(), other)]));
                }
            }
        }
    }
    variants
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
        assert_eq!(values(&parameter("b", Kind::Bytes { min: 64, max: 512 }, "64")), ["64", "512", "72", "200"]);
        assert_eq!(one_at_a_time(&[number, word]).len(), 1 + 3 + 2);
        assert_eq!(pairs(&[number, word]).len(), 3 * 2);
    }
}
