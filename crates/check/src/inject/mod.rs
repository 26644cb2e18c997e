//! Faults: when they come, what they are, and the chips that suffer them.

pub(crate) mod cut;
pub(crate) mod cut_sampler;
pub mod failing_flash;
pub(crate) mod fault;
pub(crate) mod schedule;
pub(crate) mod tracing_chip;
