//! Bindings: they convert arrays, enter Rust by one function, and compute nothing.

mod archive;
mod arrays;
mod calibrate;
mod config;
mod convert;
mod describe;
mod distributed;
mod enter;
mod exact;
mod features;
mod looks;
mod machine;
mod observer;
mod parts;
mod primal;
mod svmlight;
mod train;

use pyo3::prelude::*;

/// Panics inside a worker thread, to test that a panic becomes a RuntimeError.
#[pyfunction]
fn _test_panic(py: Python<'_>) -> PyResult<()> {
    enter::enter(py, 1, None, |_| -> budgetsvm::error::Result<()> {
        #[expect(clippy::panic, reason = "its purpose")]
        {
            panic!("a test of panics")
        }
    })
}

/// The compiled core of budgetsvm: private, see the Python classes.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<machine::Machine>()?;
    module.add_function(wrap_pyfunction!(config::hyperparameters, module)?)?;
    module.add_function(wrap_pyfunction!(config::local_clusters, module)?)?;
    module.add_function(wrap_pyfunction!(archive::archive_save, module)?)?;
    module.add_function(wrap_pyfunction!(archive::archive_load, module)?)?;
    module.add_function(wrap_pyfunction!(describe::variance, module)?)?;
    module.add_function(wrap_pyfunction!(describe::scales, module)?)?;
    module.add_function(wrap_pyfunction!(describe::sigmoid, module)?)?;
    module.add_function(wrap_pyfunction!(describe::thread_count, module)?)?;
    module.add_function(wrap_pyfunction!(train::train, module)?)?;
    module.add_function(wrap_pyfunction!(train::learn_scales, module)?)?;
    module.add_function(wrap_pyfunction!(calibrate::left_out, module)?)?;
    module.add_function(wrap_pyfunction!(train::cross_validate, module)?)?;
    module.add_function(wrap_pyfunction!(train::tune, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::join, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::polish_sums, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::finish, module)?)?;
    module.add_function(wrap_pyfunction!(features::map_fit, module)?)?;
    module.add_function(wrap_pyfunction!(svmlight::svmlight_read, module)?)?;
    module.add_function(wrap_pyfunction!(svmlight::svmlight_write, module)?)?;
    module.add_function(wrap_pyfunction!(svmlight::libsvm_read, module)?)?;
    module.add_function(wrap_pyfunction!(svmlight::libsvm_write, module)?)?;
    module.add_function(wrap_pyfunction!(looks::_test_looks, module)?)?;
    module.add_function(wrap_pyfunction!(_test_panic, module)?)
}
