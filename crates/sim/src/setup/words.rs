//! What serde says of a wrong value, in the words of the other errors; and which name was meant.

use trace::units::choose_from;

/// The same in our words: `invalid type: string "eight", expected u64 at line 1 column 9` becomes
/// `must be a whole number, 0 or more, not the text "eight"`. Only the last line is serde's; before
/// it a parser may show the place.
pub fn in_words(said: &str) -> String {
    let said = said.trim_end();
    match said.rsplit_once('\n') {
        Some((place, last)) => format!("{place}\n{}", line(last)),
        None => line(said),
    }
}

fn line(said: &str) -> String {
    let said = without_place(said);
    let wrong = said.strip_prefix("invalid type: ").or_else(|| said.strip_prefix("invalid value: "));
    if let Some((found, expected)) = wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
        return format!("must be {}, not {}", expectation(expected), value(found));
    }
    if let Some((name, known)) = said.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected ")) {
        return format!("there is no {name}; {}", choose_from(name, &names(known)));
    }
    if let Some((name, known)) = said.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", expected ")) {
        return format!("there is no key {name}; {}", choose_from(name, &names(known)));
    }
    said.strip_prefix("missing field ").map_or_else(|| said.to_owned(), |name| format!("the key {name} is missing"))
}

/// Without the place in a text that no user has written: settings come as JSON, in one line.
fn without_place(said: &str) -> &str {
    match said.rsplit_once(" at line ") {
        Some((before, place)) if place.bytes().all(|byte| byte.is_ascii_digit() || b" column".contains(&byte)) => {
            before
        }
        _ => said,
    }
}

fn expectation(expected: &str) -> &str {
    match expected {
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "string or map" => "text",
        "a character" => "one letter",
        "a map" => "a table",
        "a sequence" => "a list",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

fn value(found: &str) -> String {
    match found {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" | "unit value" => "nothing".to_owned(),
        _ => match found.strip_prefix("string ") {
            Some(text) => format!("the text {text}"),
            None => found.split_once('`').map_or(found, |(_, number)| number.trim_end_matches('`')).to_owned(),
        },
    }
}

fn names(known: &str) -> String {
    known.strip_prefix("one of ").unwrap_or(known).replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_values_have_their_usual_names() {
        for (said, ours) in [
            (
                "invalid type: floating point `8.5`, expected a whole number from 0 to 9 at line 1 column 141",
                "must be a whole number from 0 to 9, not 8.5",
            ),
            (
                "invalid value: integer `-1`, expected u64 at line 1 column 2",
                "must be a whole number, 0 or more, not -1",
            ),
            ("invalid type: integer `1`, expected a boolean", "must be true or false, not 1"),
            (
                "invalid type: string \"a, expected b\", expected f64",
                "must be a number, not the text \"a, expected b\"",
            ),
            ("invalid type: sequence, expected struct DeviceText", "must be a table, not a list"),
            ("invalid type: boolean `true`, expected a string", "must be text, not true"),
            ("unknown variant `cold`, expected one of `auto`, `fill`", "there is no `cold`; choose from auto, fill"),
            ("unknown field `x`, expected `y` or `z` at line 3 column 4", "there is no key `x`; choose from y or z"),
            (
                "unknown variant `Stead`, expected one of `auto`, `steady`",
                "there is no `Stead`; did you mean steady? Choose from auto, steady",
            ),
            (
                "unknown field `opn`, expected `open` or `x`",
                "there is no key `opn`; did you mean open? Choose from open or x",
            ),
            ("missing field `name` at line 1 column 2", "the key `name` is missing"),
            ("\"5 at line\": no unit", "\"5 at line\": no unit"),
            ("expected value at line 1 column 44", "expected value"),
        ] {
            assert_eq!(in_words(said), ours);
        }
        assert_eq!(
            in_words("  |\n3 | a = 5\ninvalid type: integer `5`, expected a string\n"),
            "  |\n3 | a = 5\nmust be text, not 5"
        );
    }
}
