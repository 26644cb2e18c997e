//! What the tests of studies share.

use sim::{Control, Results, SimError, Study, parse_toml, run_study};

/// A study from its text.
pub(crate) fn study(text: &str) -> Study {
    parse_toml(text, "").unwrap_or_else(|error| panic!("{error}"))
}

/// The results of a study that runs.
pub(crate) fn results(text: &str) -> Results {
    run_study(&study(text), &Control::new()).unwrap_or_else(|error| panic!("{error}"))
}

/// The error of a study that does not.
pub(crate) fn error(text: &str) -> SimError {
    match parse_toml(text, "").and_then(|study| run_study(&study, &Control::new())) {
        Ok(_) => panic!("expected an error, but the study ran:\n{text}"),
        Err(error) => error,
    }
}
