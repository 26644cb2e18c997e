//! Mounts of images through FUSE, which run until they are stopped.

use std::sync::{Mutex, PoisonError};

use mount::MountText;
use pyo3::prelude::*;

use crate::error::{Failure, json};
use crate::live_device::{parse_options, wait_for};

/// An image that is mounted. It runs in threads of its own from its making until it is stopped.
#[pyclass(frozen, module = "ftlkit._native")]
struct Mounted {
    ready: String,
    running: Mutex<Option<mount::Mounted>>,
}

impl Mounted {
    fn running(&self) -> std::sync::MutexGuard<'_, Option<mount::Mounted>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Mounted {
    #[new]
    fn new(py: Python<'_>, options_json: &str) -> PyResult<Self> {
        let start = || -> Result<Self, Failure> {
            let options = parse_options::<MountText>("the options of the mount", options_json)?.check()?;
            let mounted = mount::Mounted::start(&options)?;
            Ok(Self { ready: json(mounted.ready())?, running: Mutex::new(Some(mounted)) })
        };
        Ok(py.detach(start)?)
    }

    /// Where it is mounted and what there is (JSON).
    fn ready(&self) -> &str {
        &self.ready
    }

    /// Wait at most this many seconds; whether it has ended by itself, as when somebody unmounts
    /// it.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        py.detach(|| wait_for(seconds, || self.running().as_ref().is_none_or(mount::Mounted::has_ended)))
    }

    /// What has happened since the last call that the user is to be told, if something has.
    fn notice(&self) -> Option<String> {
        self.running().as_ref().and_then(mount::Mounted::notice)
    }

    /// Unmount, make everything safe and stop; what was saved (JSON). Raises why it ended by
    /// itself, if it did.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let stop = || -> Result<String, Failure> {
            let mounted = self.running().take();
            let mounted = mounted.ok_or_else(|| Failure::User("the image was unmounted already".into()))?;
            json(&mounted.stop()?)
        };
        Ok(py.detach(stop)?)
    }
}

/// Adds the class to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Mounted>()
}
