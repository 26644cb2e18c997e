//! What stands for images, servers and mounts in a build for simulations alone: it says how to get
//! them.

use pyo3::prelude::*;

use crate::error::Failure;

/// What there is to do.
const HOW_TO_GET_IT: &str = if cfg!(target_os = "linux") {
    "this build of ftlkit, made by `make demo`, is the simulator alone; run `make live` for images, servers and mounts"
} else {
    "images, servers and mounts need Linux; ftlkit is the simulator alone on this system"
};

fn refused<T>() -> PyResult<T> {
    Err(Failure::User(HOW_TO_GET_IT.to_owned()).into())
}

#[pyfunction]
fn image_create(_image_json: &str) -> PyResult<String> {
    refused()
}

#[pyfunction]
fn image_info(_path: &str) -> PyResult<String> {
    refused()
}

#[pyfunction]
fn image_check(_path: &str) -> PyResult<String> {
    refused()
}

#[pyfunction]
fn server_call(_image: &str, _request_json: &str) -> PyResult<String> {
    refused()
}

/// No image can be served.
#[pyclass(frozen, module = "ftlkit._native")]
struct Server;

#[pymethods]
impl Server {
    #[new]
    fn new(_options_json: &str) -> PyResult<Self> {
        refused()
    }
}

/// No image can be mounted.
#[pyclass(frozen, module = "ftlkit._native")]
struct Mounted;

#[pymethods]
impl Mounted {
    #[new]
    fn new(_options_json: &str) -> PyResult<Self> {
        refused()
    }
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Server>()?;
    module.add_class::<Mounted>()?;
    module.add_function(wrap_pyfunction!(image_create, module)?)?;
    module.add_function(wrap_pyfunction!(image_info, module)?)?;
    module.add_function(wrap_pyfunction!(image_check, module)?)?;
    module.add_function(wrap_pyfunction!(server_call, module)?)
}
