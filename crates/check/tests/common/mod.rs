//! What the suite's tests share.

use check::variants::Subject;
use ftl::{Entry, registry};

/// Every registered mapping alone, or the one that `FTLKIT_SCHEME` names.
#[allow(dead_code, reason = "not every test looks at stacks")]
pub(crate) fn subjects() -> Vec<Subject> {
    schemes().into_iter().map(Subject::of).collect()
}

/// Every registered scheme, or the one that `FTLKIT_SCHEME` names; a name that matches none is an error, lest nothing be
/// tried and all seem well.
pub(crate) fn schemes() -> Vec<&'static Entry> {
    let only = std::env::var("FTLKIT_SCHEME").ok();
    let chosen: Vec<_> =
        registry::ENTRIES.iter().filter(|entry| only.as_ref().is_none_or(|name| name == entry.name)).collect();
    let known: Vec<_> = registry::ENTRIES.iter().map(|entry| entry.name).collect();
    assert!(!chosen.is_empty(), "FTLKIT_SCHEME={}: must be one of {}", only.unwrap_or_default(), known.join(", "));
    chosen
}
