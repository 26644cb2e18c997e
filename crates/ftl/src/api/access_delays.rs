//! What accesses to RAM or registers take.

use crate::api::parameter::Values;
use crate::port::timing::Nanos;

/// What accesses to RAM or registers take.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccessDelays {
    /// Time of reading a page in RAM.
    pub read: Nanos,
    /// Time of writing a page in RAM.
    pub write: Nanos,
}

impl AccessDelays {
    /// The delays that two parameters, of reading and of writing, ask for.
    pub fn from_values(values: &Values, [read, write]: [&str; 2]) -> Self {
        Self { read: Nanos(values.integer(read)), write: Nanos(values.integer(write)) }
    }
}
