//! What a case found: a failure with its replay line, an outcome, the states it met.

pub(crate) mod address;
pub(crate) mod black_box;
pub(crate) mod coverage;
pub(crate) mod explanation;
pub(crate) mod failure;
pub(crate) mod history;
pub(crate) mod leak;
pub(crate) mod recorder;
pub(crate) mod stats;
pub(crate) mod wording;
