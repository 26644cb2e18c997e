//! Which rows of a text are taken: `type=D`, `op!=R|S`.
//!
//! Some tools write a row for each event of a request, so that each request has several. A
//! condition on a column takes the rows of one event. The text form is the same on the command
//! line, in studies and in Python.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A condition on one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The column, as the user calls it.
    pub(crate) column: String,
    /// Whether its value must be among `values`, or must not.
    pub(crate) is_among: bool,
    /// What is compared with the column, byte by byte.
    pub(crate) values: Vec<String>,
}

impl Condition {
    /// Whether a field meets it.
    pub(crate) fn is_met_by(&self, field: &[u8]) -> bool {
        self.values.iter().any(|value| value.as_bytes() == field) == self.is_among
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_among { "=" } else { "!=" };
        write!(f, "{}{sign}{}", self.column, self.values.join("|"))
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (before, values) = text.split_once('=').ok_or_else(|| refusal(text))?;
        let column = before.strip_suffix('!').unwrap_or(before).trim();
        let is_among = !before.ends_with('!');
        let values: Vec<String> = values.split('|').map(|value| value.trim().to_owned()).collect();
        if column.is_empty() || values.iter().any(String::is_empty) || values[0].starts_with('=') {
            return Err(refusal(text));
        }
        Ok(Self { column: column.to_owned(), is_among, values })
    }
}

/// The sentence that refuses a condition.
fn refusal(text: &str) -> String {
    format!(
        "where = {text:?}: write COLUMN=VALUE or COLUMN!=VALUE, several values by |. For example \"type=D\" takes the rows whose \
         column type is D, and \"op!=R|S\" those whose column op is neither R nor S"
    )
}

/// Conditions that a row must all meet; without any, every row is taken.
///
/// In JSON and TOML a text, or a list of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Texts", into = "Texts")]
pub struct Conditions(Vec<Condition>);

/// One condition as text, or several.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "a text such as \"type=D\", or a list of such texts")]
enum Texts {
    One(String),
    Several(Vec<String>),
}

impl Conditions {
    pub(crate) fn as_slice(&self) -> &[Condition] {
        &self.0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join(" and "))
    }
}

impl FromStr for Conditions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(vec![text.parse()?]))
    }
}

impl TryFrom<Texts> for Conditions {
    type Error = String;

    fn try_from(texts: Texts) -> Result<Self, String> {
        let texts = match texts {
            Texts::One(text) => vec![text],
            Texts::Several(texts) => texts,
        };
        Ok(Self(texts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?))
    }
}

impl From<Conditions> for Texts {
    fn from(conditions: Conditions) -> Self {
        Self::Several(conditions.0.iter().map(ToString::to_string).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_go_both_ways() {
        for (json, texts) in [
            (r#""type=D""#, r#"["type=D"]"#),
            (r#"["type = D | C", "op!=R"]"#, r#"["type=D|C","op!=R"]"#),
            (r#"["maj,min=8,16"]"#, r#"["maj,min=8,16"]"#),
            ("[]", "[]"),
        ] {
            let conditions: Conditions = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&conditions).unwrap(), texts);
        }
        assert_eq!("a=b".parse::<Conditions>().unwrap().to_string(), "a=b");
    }

    #[test]
    fn a_condition_without_column_or_value_is_refused() {
        for text in ["", "type", "=D", "!=D", "type=", "type=D|", "type==D"] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains(&format!("{text:?}")) && error.contains("COLUMN!=VALUE"), "{error}");
        }
        let error = serde_json::from_str::<Conditions>("3").unwrap_err().to_string();
        assert!(error.contains("type=D"), "{error}");
    }

    #[test]
    fn values_are_compared_whole_and_as_they_are_written() {
        let met = |text: &str, field: &str| text.parse::<Condition>().unwrap().is_met_by(field.as_bytes());
        assert!(met("type=D", "D") && !met("type=D", "d") && !met("type=D", "DD") && !met("type=D", ""));
        assert!(met("type=D|C", "C") && !met("type!=D|C", "C") && met("type!=D|C", "Q"));
    }
}
