//! The promises of `docs/conformance.md`, held by every part that the registry lists; and the tests of these tests.

mod buffers;
mod canary;
mod common;
mod conformance;
mod faults;
mod idle;
mod joint;
mod policies;
mod power_cuts;
mod random;
mod torture;
mod twins;
mod wear;
