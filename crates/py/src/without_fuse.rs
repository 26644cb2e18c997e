//! What stands for mounts in a build without FUSE: it says so.

use pyo3::prelude::*;

use crate::error::Failure;

/// An image cannot be mounted.
#[pyclass(frozen, module = "ftlkit._native")]
struct Mounted;

#[pymethods]
impl Mounted {
    #[new]
    fn new(_options_json: &str) -> PyResult<Self> {
        #[cfg(feature = "live")]
        let words = "this build of ftlkit has no FUSE, so it mounts nothing: serve the image as a block device \
                     (ftlkit serve), or use a build for Linux";
        #[cfg(not(feature = "live"))]
        let words = crate::live_device::HOW_TO_GET_IT;
        Err(Failure::User(words.to_owned()).into())
    }
}

/// Adds the class to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Mounted>()
}
