//! Probabilities: decision values without each sample's fold, and what is fitted to such.

use budgetsvm::data::Problem;
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{AnyMachine, BudgetConfig, PrimalConfig, Trains};
use budgetsvm::model::{Calibration, CalibrationMethod, Outputs};
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::arrays::{Float, Samples, Storage, contiguous, with_storage};
use crate::enter::enter_briefly;
use crate::features::{flat, matrix};
use crate::machine::{self, Machine};
use crate::train::Call;

/// Decision values, shape (n_samples, n_outputs), by the machine `start` on the terms that it has,
/// its coefficients solved for without the fold of each sample, of `folds` (uint32); None where
/// there is no way but training anew.
#[pyfunction]
#[pyo3(signature = (family, config, x, y, n_classes, cost, *, start, folds, n_folds, threads))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn left_out<'py>(
    py: Python<'py>,
    family: &str,
    config: String,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    n_classes: usize,
    cost: PyReadonlyArray1<'py, f64>,
    start: &Bound<'py, Machine>,
    folds: PyReadonlyArray1<'py, u32>,
    n_folds: usize,
    threads: usize,
) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
    let call = Call::plain(py, config, (y, Some(n_classes)), cost, None, threads)?;
    let samples = Samples::new("X", x)?;
    let folds = (enter_briefly(|| contiguous(&folds))?, n_folds);
    with_storage!(&samples, storage => match family {
        "budget" => values::<BudgetConfig, _>(&call, storage, start.get(), folds),
        "primal" => values::<PrimalConfig, _>(&call, storage, start.get(), folds),
        _ => Ok(None),
    })
}

fn values<'py, C: Trains, F: Float>(
    call: &Call<'py>,
    storage: &Storage<'py, F>,
    start: &Machine,
    folds: (&[u32], usize),
) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
    let config: C = call.config()?;
    let machine = enter_briefly(|| machine::of_rows::<F>(Some(start)))?;
    let Some(machine) = machine else { return Ok(None) };
    let (rows, targets, cost) = call.parts(storage)?;
    let found = call.enter(|watch| {
        config.left_out(&Problem::new(rows, targets, cost)?, machine, folds, watch)
    })?;
    found.map(|values| matrix(call.py(), values, machine.n_outputs())).transpose()
}

fn method(name: &str) -> Result<CalibrationMethod> {
    match name {
        "auto" => Ok(CalibrationMethod::Auto),
        "sigmoid" => Ok(CalibrationMethod::Sigmoid),
        "isotonic" => Ok(CalibrationMethod::Isotonic),
        "temperature" => Ok(CalibrationMethod::Temperature),
        _ => Err(Error::Unsupported(format!("no method '{name}'"))),
    }
}

fn with(
    machine: &Machine,
    made: impl FnOnce(Outputs) -> Result<Calibration>,
    k: usize,
) -> PyResult<Machine> {
    enter_briefly(|| {
        Ok(Machine(match &machine.0 {
            AnyMachine::F32(own) => AnyMachine::F32(own.with_calibration(made(own.outputs(k))?)?),
            AnyMachine::F64(own) => AnyMachine::F64(own.with_calibration(made(own.outputs(k))?)?),
        }))
    })
}

/// Curves fitted to decision values of samples of these classes and weights.
pub(crate) fn calibrated(
    machine: &Machine,
    method: &str,
    (values, weights): (&PyReadonlyArray2<'_, f64>, &PyReadonlyArray1<'_, f64>),
    (classes, n_classes): (&PyReadonlyArray1<'_, u32>, usize),
) -> PyResult<Machine> {
    let fit = |outputs| {
        let (values, classes, weights) =
            (flat(values)?, contiguous(classes)?, contiguous(weights)?);
        Calibration::fit(self::method(method)?, (values, outputs), classes, weights)
    };
    with(machine, fit, n_classes)
}

/// Sigmoids given by rows (a, b).
pub(crate) fn sigmoids(
    machine: &Machine,
    curves: &PyReadonlyArray2<'_, f64>,
    n_classes: usize,
) -> PyResult<Machine> {
    let made = |outputs| {
        let (curves, rest) = flat(curves)?.as_chunks::<2>();
        match rest {
            [] => Calibration::of_sigmoids(outputs, curves.to_vec()),
            _ => Err(Error::BadLabels("sigmoids of two numbers each".into())),
        }
    };
    with(machine, made, n_classes)
}

/// A softmax of this sharpness.
pub(crate) fn temperature(
    machine: &Machine,
    sharpness: f64,
    n_classes: usize,
) -> PyResult<Machine> {
    with(machine, |outputs| Calibration::of_temperature(outputs, sharpness), n_classes)
}

fn curves(machine: &Machine) -> Option<&Calibration> {
    match &machine.0 {
        AnyMachine::F32(machine) => machine.calibration(),
        AnyMachine::F64(machine) => machine.calibration(),
    }
}

/// By its curves, else those of the logistic loss.
pub(crate) fn probabilities<'py>(
    py: Python<'py>,
    machine: &Machine,
    values: &PyReadonlyArray2<'_, f64>,
    n_classes: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (found, k) = enter_briefly(|| match curves(machine) {
        Some(curves) => Ok((curves.probabilities(flat(values)?)?, curves.outputs().n_classes)),
        None => Ok((Calibration::logistic(n_classes)?.probabilities(flat(values)?)?, n_classes)),
    })?;
    matrix(py, found, k)
}

/// The method of its curves and their number of classes.
pub(crate) fn described(machine: &Machine) -> Option<(&'static str, usize)> {
    curves(machine).map(|curves| {
        let name = match curves.method() {
            CalibrationMethod::Isotonic => "isotonic",
            CalibrationMethod::Temperature => "temperature",
            _ => "sigmoid",
        };
        (name, curves.outputs().n_classes)
    })
}
