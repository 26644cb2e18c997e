//! Small structures in RAM that several parts use.

pub mod bits;
pub mod chains;
pub mod prefetch;
