//! The promises of `docs/correctness.md`, held by every part that the registry lists; and the tests
//! of these tests.

extern crate ftlkit_check as check;

mod buffers;
mod canary;
mod classes;
mod common;
mod conformance;
mod duplicate_copies;
mod explained;
mod exposed;
mod faults;
mod idle;
mod maps;
mod paced;
mod policies;
mod power_cuts;
mod pslc;
mod random;
mod refresh;
mod shared_ram;
mod shrink;
mod torture;
mod wear;
