//! Files of estimators: a machine, named arrays, and what their class says of them.

use std::path::PathBuf;

use budgetsvm::error::Error;
use budgetsvm::estimator::AnyMachine;
use budgetsvm::model::persist::{Archive, Data, Tensor, Tensors};
use budgetsvm::watch::Watch;
use numpy::{IntoPyArray as _, PyArrayDyn, PyArrayMethods as _, PyUntypedArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::enter::{enter, enter_briefly, enter_here, type_error};
use crate::machine::Machine;

/// Writes a file, whole or not at all; Ctrl-C leaves what was there.
#[pyfunction]
pub(crate) fn archive_save(
    py: Python<'_>,
    path: PathBuf,
    description: &str,
    arrays: &Bound<'_, PyDict>,
    machine: Option<&Machine>,
) -> PyResult<()> {
    let mut tensors = Tensors::new();
    for (name, array) in arrays {
        let name: String = name.extract()?;
        let tensor = tensor(&name, &array)?;
        tensors.insert(name, tensor);
    }
    let json = |text| serde_json::from_str(text).map_err(|e| Error::Format(format!("{e}")));
    let estimator = enter_briefly(|| json(description))?;
    let machine = machine.map(|machine| &machine.0);
    enter(py, 1, None, |watch| {
        let look = &mut || watch.unbroken(Watch::glance);
        let machine = machine.map(|machine| machine.to_section(look)).transpose()?;
        Archive { estimator, arrays: tensors, machine }.save(&path, look)
    })
}

/// The description, the arrays and the machine of a file.
#[pyfunction]
pub(crate) fn archive_load<'py>(
    py: Python<'py>,
    path: PathBuf,
) -> PyResult<(String, Bound<'py, PyDict>, Option<Machine>)> {
    let (estimator, tensors, machine) = enter_here(py, |watch| {
        let look = &mut || watch.unbroken(Watch::glance);
        let Archive { estimator, arrays, machine } = Archive::load_watched(&path, look)?;
        Ok((estimator, arrays, machine.map(AnyMachine::from_section).transpose()?))
    })?;
    let arrays = arrays_of(py, tensors)?;
    Ok((estimator.to_string(), arrays, machine.map(Machine)))
}

/// Arrays by their names.
pub(crate) fn arrays_of(py: Python<'_>, tensors: Tensors) -> PyResult<Bound<'_, PyDict>> {
    let arrays = PyDict::new(py);
    for (name, Tensor { shape, data }) in tensors {
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
    Ok(arrays)
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
