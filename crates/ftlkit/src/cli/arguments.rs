//! The words behind a command: operands, and options with a value each.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// The words behind a command, sorted.
#[derive(Debug, PartialEq)]
pub(super) struct Arguments {
    command: &'static str,
    operands: Vec<String>,
    options: BTreeMap<String, String>,
}

impl Arguments {
    /// Sorts words; an option that the command does not know, is given twice or has no value is an
    /// error.
    pub(super) fn parse(command: &'static str, words: &[String], known: &[&str]) -> Result<Self, String> {
        let (mut operands, mut options) = (Vec::new(), BTreeMap::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix("--") else {
                operands.push(word.clone());
                continue;
            };
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (option, None),
            };
            if !known.contains(&name) {
                let known: Vec<_> = known.iter().map(|name| format!("--{name}")).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(format!("{command} has no option --{name}; its options: {known}."));
            }
            let value = value.or_else(|| words.next().cloned());
            let value = value.ok_or_else(|| format!("{command} --{name}: give its value behind it."))?;
            if options.insert(name.to_owned(), value).is_some() {
                return Err(format!("{command} --{name} is given twice: give it once."));
            }
        }
        Ok(Self { command, operands, options })
    }

    /// The text of an option.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// The number that an option gives.
    pub(super) fn number<N: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<N>, String> {
        let number = |text: &str| text.parse().map_err(|error| format!("--{name} {text}: {error}."));
        self.text(name).map(number).transpose()
    }

    /// The one operand; `what` says what it must be.
    pub(super) fn one(&self, what: &str) -> Result<&str, String> {
        match &self.operands[..] {
            [operand] => Ok(operand),
            operands => Err(format!("{} takes {what}: one, and here are {}.", self.command, operands.len())),
        }
    }

    /// Refuses operands.
    pub(super) fn none(&self) -> Result<(), String> {
        match self.operands.first() {
            Some(operand) => Err(format!("{} takes options only, but here stands {operand}.", self.command)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Arguments, String> {
        let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
        Arguments::parse("torture", &words, &["ftl", "minutes"])
    }

    #[test]
    fn operands_and_options_are_told_apart() {
        let arguments = parse("fin1 --ftl page,mine --minutes=2.5").expect("good words");
        assert_eq!(arguments.one("a trace"), Ok("fin1"));
        assert_eq!(arguments.text("ftl"), Some("page,mine"));
        assert_eq!(arguments.number("minutes"), Ok(Some(2.5)));
        assert_eq!(parse("").expect("no words").number::<u64>("minutes"), Ok(None));
    }

    #[test]
    fn every_wrong_word_is_named_with_what_to_do() {
        for (words, part) in [
            ("--mintues 1", "no option --mintues; its options: --ftl, --minutes"),
            ("--minutes", "--minutes: give its value"),
            ("--ftl a --ftl=b", "--ftl is given twice"),
        ] {
            let error = parse(words).expect_err(words);
            assert!(error.contains(part), "{error}");
        }
        let arguments = parse("a b --minutes soon").expect("words");
        assert!(arguments.one("a trace").expect_err("two").contains("here are 2"));
        assert!(arguments.none().expect_err("two").contains("here stands a"));
        assert!(arguments.number::<f64>("minutes").expect_err("no number").contains("--minutes soon"));
    }
}
