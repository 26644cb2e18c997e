//! The conformance suite: what every translation layer promises, and the machinery that tries to catch it lying.
//!
//! Invariant: no clock, thread, file or unseeded randomness; a case's outcome depends on its replay line alone.

mod oracle;

pub use oracle::{Mismatch, Nature, Oracle, Stamp};
