//! A TOML file as a JSON value, and the place of a key in its text.
//!
//! Studies and presets are read from JSON values alone. The compiler generates the readers of all
//! types for each kind of document: TOML as a second kind took a third of this crate's code.

use serde_json::{Number, Value};
use serde_path_to_error::{Path, Segment};
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

/// A text in TOML, parsed.
pub(super) struct Document<'t> {
    text: &'t str,
    root: Spanned<DeValue<'t>>,
}

impl<'t> Document<'t> {
    /// Parses a text.
    pub(super) fn parse(text: &'t str) -> Result<Self, Error> {
        let table = DeTable::parse(text)?;
        let span = table.span();
        Ok(Self { text, root: Spanned::new(span, DeValue::Table(table.into_inner())) })
    }

    /// The same as JSON. Dates and numbers without a finite value become text.
    pub(super) fn value(&self) -> Value {
        value(self.root.get_ref())
    }

    /// The place of the value at a path, or of its key, in the form of the parser's errors.
    pub(super) fn place(&self, path: &Path, of_key: bool) -> String {
        let (mut here, mut key) = (&self.root, self.root.span());
        for segment in path {
            let next = match (segment, here.get_ref()) {
                (Segment::Map { key }, DeValue::Table(table)) => {
                    table.get_key_value(key.as_str()).map(|(key, value)| (key.span(), value))
                }
                (Segment::Seq { index }, DeValue::Array(array)) => array.get(*index).map(|value| (value.span(), value)),
                _ => None,
            };
            let Some((next_key, value)) = next else { break };
            (key, here) = (next_key, value);
        }
        let span = if of_key { key } else { here.span() };
        let before = &self.text[..span.start];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let (number, column) = (before.matches('\n').count() + 1, before[start..].chars().count());
        let shown = self.text[start..].lines().next().unwrap_or_default();
        let marked = self.text[span].lines().next().map_or(1, |line| line.chars().count().max(1));
        let (gutter, marks) = (" ".repeat(number.to_string().len()), "^".repeat(marked));
        format!(
            "TOML parse error at line {number}, column {}\n{gutter} |\n{number} | {shown}\n{gutter} | {}{marks}\n",
            column + 1,
            " ".repeat(column)
        )
    }
}

fn value(of: &DeValue<'_>) -> Value {
    match of {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(digits) => {
            let (text, radix) = (digits.as_str(), digits.radix());
            let number = u64::from_str_radix(text, radix).map(Number::from);
            let number = number.or_else(|_| i64::from_str_radix(text, radix).map(Number::from));
            number.map_or_else(|_| Value::String(digits.to_string()), Value::Number)
        }
        DeValue::Float(digits) => {
            let number = digits.as_str().parse().ok().and_then(Number::from_f64);
            number.map_or_else(|| Value::String(digits.to_string()), Value::Number)
        }
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(array) => array.iter().map(|each| value(each.get_ref())).collect(),
        DeValue::Table(table) => {
            table.iter().map(|(key, each)| (key.get_ref().to_string(), value(each.get_ref()))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Row {
        name: String,
        size: Option<u8>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct File {
        title: Option<String>,
        row: Vec<Row>,
        share: Option<f64>,
    }

    fn read(document: &Document<'_>) -> Result<File, serde_path_to_error::Error<serde_json::Error>> {
        serde_path_to_error::deserialize(&document.value())
    }

    #[test]
    fn places_are_shown_as_the_parser_shows_its_own() {
        for text in [
            "title = 5\nrow = []",
            "\n\n  title   = [1,\n  2]\nrow = []",
            "row = [{ name = \"é\", size = -1 }]",
            "row = [{ name = \"é\", size = 0x1_00 }]",
            "[[row]]\nname = \"a\"\n[[row]]\nname = \"b\"\nsiz = 1",
            "titel = 1\nrow = []",
            "title = 'a'",
            "[[row]]\nname = 'a'\n\n[[row]]\n  size = 1\n",
            "row = []\nshare = \"1\"",
            "row = []\nshare.of = 1",
            "row = 1",
            "# é\r\nrow = [] # ü\r\nshare = true\r\n",
        ] {
            let parsers = toml::from_str::<File>(text).expect_err(text).to_string().replace('\r', "");
            let document = Document::parse(text).expect(text);
            let error = read(&document).expect_err(text);
            let said = error.inner().to_string();
            assert_eq!(document.place(error.path(), said.starts_with("unknown field")) + &said + "\n", parsers);
        }
    }

    #[test]
    fn numbers_keep_all_digits_and_dates_are_text() {
        let text = "a = 18_446_744_073_709_551_615\nb = -10\nc = 0.1\nd = 1e3\ne = nan\nf = 1979-05-27\ng = [true, {h = 0o17}]";
        let value = Document::parse(text).expect("TOML").value();
        let expected =
            r#"{"a":18446744073709551615,"b":-10,"c":0.1,"d":1000.0,"e":"nan","f":"1979-05-27","g":[true,{"h":15}]}"#;
        assert_eq!(value.to_string(), expected);
    }
}
