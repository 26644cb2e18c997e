//! Chips that suffer faults, and which power cuts are tried.

pub(crate) mod cut_sampler;
pub(crate) mod tracing_chip;
