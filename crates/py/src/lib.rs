//! `ftlkit._native`: what the Python package calls.
//!
//! Thin: everything crosses as JSON text, and no decision is made here. Functions that work for
//! long release the GIL, take a `Control` that another thread may read or cancel, and raise one of
//! two errors: `UserError`, whose message says what to change, and `FtlBug`, which is never the
//! user's fault. `_native.pyi` describes the same for Python, and a Python test holds the two
//! together.

mod catalogue;
mod control;
mod error;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live_device;
#[cfg(not(all(feature = "live", target_os = "linux")))]
#[path = "without_live.rs"]
mod live_device;
#[cfg(all(feature = "live", target_os = "linux"))]
mod mounted;
mod own;
mod study;
mod threads;
mod tools;
mod torture;

use pyo3::prelude::*;

/// The compiled part of ftlkit.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<control::Control>()?;
    error::register(module)?;
    catalogue::register(module)?;
    live_device::register(module)?;
    #[cfg(all(feature = "live", target_os = "linux"))]
    mounted::register(module)?;
    own::register(module)?;
    study::register(module)?;
    tools::register(module)?;
    torture::register(module)
}
