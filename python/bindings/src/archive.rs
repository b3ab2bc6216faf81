//! Files of named arrays, for the estimators whose learnt state is arrays.

use std::path::PathBuf;

use budgetsvm::model::persist::{Archive, Data, Tensor, Tensors};
use numpy::{IntoPyArray as _, PyArrayDyn, PyArrayMethods as _, PyUntypedArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert;
use crate::enter::{enter_briefly, exception, type_error};

/// Writes an archive, whole or not at all.
#[pyfunction]
pub(crate) fn archive_save(
    py: Python<'_>,
    path: PathBuf,
    description: &str,
    arrays: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let mut tensors = Tensors::new();
    for (name, array) in arrays {
        let name: String = name.extract()?;
        let tensor = tensor(&name, &array)?;
        tensors.insert(name, tensor);
    }
    let estimator = enter_briefly(|| convert::description(description))?;
    py.detach(|| Archive { estimator, arrays: tensors }.save(&path)).map_err(exception)
}

/// The description and the arrays of an archive; None when the file is a budgeted machine's.
#[pyfunction]
pub(crate) fn archive_load<'py>(
    py: Python<'py>,
    path: PathBuf,
) -> PyResult<Option<(String, Bound<'py, PyDict>)>> {
    let Some(archive) = py.detach(|| Archive::load(&path)).map_err(exception)? else {
        return Ok(None);
    };
    let arrays = PyDict::new(py);
    for (name, Tensor { shape, data }) in archive.arrays {
        macro_rules! put {
            ($values:expr) => {
                arrays.set_item(name, $values.into_pyarray(py).reshape(shape)?)?
            };
        }
        match data {
            Data::F32(values) => put!(values),
            Data::F64(values) => put!(values),
            Data::I64(values) => put!(values),
            Data::U64(values) => put!(values),
            Data::U8(values) => put!(values),
        }
    }
    Ok(Some((archive.estimator.to_string(), arrays)))
}

fn tensor(name: &str, array: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    macro_rules! try_type {
        ($type:ty, $variant:ident) => {
            if let Ok(array) = array.cast::<PyArrayDyn<$type>>() {
                let data = Data::$variant(array.readonly().as_slice()?.to_vec());
                return Ok(Tensor { shape: array.shape().to_vec(), data });
            }
        };
    }
    try_type!(f32, F32);
    try_type!(f64, F64);
    try_type!(i64, I64);
    try_type!(u64, U64);
    try_type!(u8, U8);
    Err(type_error(name, "a C-ordered array of float32, float64, int64, uint64 or uint8", array))
}
