//! The host of a run: it asks, waits, fills the device before, and goes to idle.

pub(crate) mod clock;
pub(crate) mod experiment;
pub(crate) mod live_pages;
pub(crate) mod mount;
pub(crate) mod outstanding;
pub(crate) mod precondition;
pub(crate) mod run;
mod run_device;
pub(crate) mod server;
pub(crate) mod threads;
