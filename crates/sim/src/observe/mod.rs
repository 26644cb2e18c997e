//! What is watched in a run: response times, waits, wear, memory.

pub(crate) mod classes;
pub(crate) mod flash_trace;
pub(crate) mod held;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod probe;
pub(crate) mod timeline;
pub(crate) mod wait_breakdown;
pub(crate) mod wear;
