//! The built-in classifiers, each a file: which pages share blocks.

mod dac;
mod fadac;
mod oracle;
mod sepbit;

use crate::api::classifier::{self, Classifier};
use crate::api::layout::Layout;
use crate::api::named::PolicyKind;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::page_map::classes::{Classes, pages_of};
use crate::port::error::ConfigError;

/// Which pages share blocks under a scheme with a part of its map in RAM.
pub(crate) const STREAMS: Parameter = Parameter {
    name: "streams",
    kind: Kind::Policy { of: &["separate", "dac", "fadac", "sepbit"], from: PolicyKind::Classifier },
    default: "separate",
    meaning: "Which data pages get open blocks of their own: separate the collected ones; a classifier those of each of its classes, at an open \
              block per class and two more free ones on every die.",
    source: "ftlkit; Wang 2022",
};

/// The classifier of this name, built in or registered.
fn build(name: &str, layout: &Layout) -> Result<Box<dyn Classifier>, ConfigError> {
    let pages = pages_of(layout);
    Ok(match name {
        "dac" => Box::new(dac::Dac::new(pages)),
        "fadac" => Box::new(fadac::Fadac::new(pages)),
        "oracle" => Box::new(oracle::Oracle::new(layout)),
        "sepbit" => Box::new(sepbit::SepBit::default()),
        _ => return classifier::build(name, layout),
    })
}

/// The classifier that a scheme's `streams` names, beside the words that are the scheme's own; it
/// has this many streams beside those of its classes.
pub(crate) fn from_values(
    values: &Values,
    layout: &Layout,
    own_words: &[&str],
    streams: usize,
) -> Result<Option<Classes>, ConfigError> {
    let name = values.word("streams");
    if own_words.contains(&name) {
        return Ok(None);
    }
    Classes::new(name, build(name, layout)?, layout, streams).map(Some)
}
