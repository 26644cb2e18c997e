//! What the suite's tests share.

use check::variants::Subject;
use ftl::Stack;

/// Every mapping alone and every other part in representative stacks, or those that `FTLKIT_SCHEME` names: by the names of all parts
/// (`page`, `fast+dynamic`), or by one further part (`dynamic`). A name that matches none is an error, lest nothing be tried and all
/// seem well.
pub(crate) fn subjects() -> Vec<Subject> {
    let all = Subject::all();
    let known: Vec<_> = all.iter().map(|subject| subject.stack.names()).collect();
    let Ok(only) = std::env::var("FTLKIT_SCHEME") else { return all };
    let is_meant =
        |subject: &Subject| subject.stack.names() == only || subject.stack.others.iter().any(|part| part.name == only);
    let chosen: Vec<_> = all.into_iter().filter(is_meant).collect();
    assert!(!chosen.is_empty(), "FTLKIT_SCHEME={only}: must be one of {}, or one part", known.join(", "));
    chosen
}

/// Of how many cases one is tried: of stacks of several parts fewer, since their mappings are tried alone as well.
#[allow(dead_code, reason = "not every test thins its cases out")]
pub(crate) fn one_in(stack: &Stack) -> usize {
    if stack.is_bare() { 1 } else { 3 }
}
