//! What the benches measure against, and how: shared by `cargo bench` and by the tests that run the
//! benches tiny.

pub mod bare;
pub mod files;
pub mod steady;
