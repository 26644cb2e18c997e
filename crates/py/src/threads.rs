//! Threads that call Python again and again.

use pyo3::prelude::*;

/// Does a thread's work with a state of Python that lasts as long as the work.
///
/// Without one, Python makes a state for each call and throws it away behind it, with the memory of
/// its stack. That took more than half of the time of an FTL in Python.
pub(crate) fn with_python_state<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    Python::attach(|py| py.detach(work))
}
