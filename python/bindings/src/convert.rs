//! Between Python objects and what the crate takes and gives.

use budgetsvm::data::Targets;
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::Report;
use budgetsvm::model::persist::Labels;
use numpy::{IntoPyArray as _, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};
use serde_json::Value;

use crate::arrays::contiguous;
use crate::enter::type_error;

/// Class indices (uint32, with the number of classes) or values (float64).
pub(crate) enum Target<'py> {
    Classes(PyReadonlyArray1<'py, u32>, usize),
    Values(PyReadonlyArray1<'py, f64>),
}

impl<'py> Target<'py> {
    pub(crate) fn new(target: &Bound<'py, PyAny>, n_classes: Option<usize>) -> PyResult<Self> {
        let bad = || type_error("y", "uint32 class indices or float64 values", target);
        match n_classes {
            Some(n) => target.extract().map(|index| Self::Classes(index, n)).map_err(|_| bad()),
            None => target.extract().map(Self::Values).map_err(|_| bad()),
        }
    }

    pub(crate) fn view(&self) -> Result<Targets<'_>> {
        match self {
            Self::Classes(index, n_classes) => {
                Ok(Targets::Classes { index: contiguous(index)?, n_classes: *n_classes })
            }
            Self::Values(values) => Ok(Targets::Values(contiguous(values)?)),
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

pub(crate) fn labels(from: Option<&Bound<'_, PyList>>) -> PyResult<Labels> {
    let Some(list) = from else { return Ok(Labels::None) };
    if let Ok(first) = list.get_item(0) {
        if first.is_instance_of::<PyBool>() {
            return Ok(Labels::Bool(list.extract()?));
        } else if first.is_instance_of::<PyString>() {
            return Ok(Labels::Text(list.extract()?));
        } else if first.is_instance_of::<PyFloat>() {
            return Ok(Labels::Float(list.extract()?));
        } else if let Ok(small) = list.extract() {
            return Ok(Labels::Int(small));
        } else if let Ok(large) = list.extract() {
            return Ok(Labels::Uint(large));
        }
    }
    Err(PyTypeError::new_err("class labels must be numbers, booleans or strings"))
}

pub(crate) fn labels_to_python<'py>(
    py: Python<'py>,
    labels: &Labels,
) -> PyResult<Option<Bound<'py, PyList>>> {
    Ok(match labels {
        Labels::None => None,
        Labels::Int(v) => Some(PyList::new(py, v)?),
        Labels::Uint(v) => Some(PyList::new(py, v)?),
        Labels::Float(v) => Some(PyList::new(py, v)?),
        Labels::Bool(v) => Some(PyList::new(py, v)?),
        Labels::Text(v) => Some(PyList::new(py, v)?),
    })
}

/// The description of an estimator that goes into a file.
pub(crate) fn description(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|e| Error::Format(e.to_string()))
}
