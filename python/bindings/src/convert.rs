//! Between Python objects and what the crate takes and gives.

use budgetsvm::data::Targets;
use budgetsvm::error::Result;
use budgetsvm::estimator::Report;
use numpy::{IntoPyArray as _, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::contiguous;
use crate::enter::type_error;
use crate::features::flat;

/// Class indices (uint32, with the number of classes), values (float64), or several a sample.
pub(crate) enum Target<'py> {
    Classes(PyReadonlyArray1<'py, u32>, usize),
    Values(PyReadonlyArray1<'py, f64>),
    Columns(PyReadonlyArray2<'py, f64>),
}

impl<'py> Target<'py> {
    pub(crate) fn new(target: &Bound<'py, PyAny>, n_classes: Option<usize>) -> PyResult<Self> {
        let bad = || type_error("y", "uint32 class indices or float64 values", target);
        match n_classes {
            Some(n) => target.extract().map(|index| Self::Classes(index, n)).map_err(|_| bad()),
            None => match target.extract() {
                Ok(values) => Ok(Self::Values(values)),
                Err(_) => target.extract().map(Self::Columns).map_err(|_| bad()),
            },
        }
    }

    pub(crate) fn view(&self) -> Result<Targets<'_>> {
        match self {
            Self::Classes(index, n_classes) => {
                Ok(Targets::Classes { index: contiguous(index)?, n_classes: *n_classes })
            }
            Self::Values(values) => Ok(Targets::Values(contiguous(values)?)),
            Self::Columns(values) => {
                let n_outputs = values.shape()[1];
                Ok(Targets::columns(flat(values)?, n_outputs))
            }
        }
    }
}

/// What a training call tells.
pub(crate) fn report<'py>(py: Python<'py>, report: Report) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("n_iter", report.n_iter)?;
    told.set_item("stop_reason", report.stop.name())?;
    told.set_item("history", history(py, report.history)?)?;
    let objective = PyDict::new(py);
    objective.set_item("smoothed", report.smoothed)?;
    objective.set_item("primal", report.primal)?;
    told.set_item("objective", objective)?;
    told.set_item("advice", report.advice)?;
    Ok(told)
}

pub(crate) fn history(
    py: Python<'_>,
    curves: Vec<(String, Vec<f64>)>,
) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    for (name, curve) in curves {
        told.set_item(name, curve.into_pyarray(py))?;
    }
    Ok(told)
}
