//! Probabilities: decision values without each sample's fold, and what is fitted to such.

use std::borrow::Cow;

use budgetsvm::data::{Problem, Rows};
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{AnyMachine, BudgetConfig, PrimalConfig, SelectedRows, Trains};
use budgetsvm::model::{Answer, Calibration, CalibrationMethod, Model, Outputs};
use budgetsvm::watch::Watch;
use numpy::{IntoPyArray as _, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::arrays::{Float, Samples, Storage, contiguous, with_storage};
use crate::enter::{enter, enter_briefly, enter_here, predict};
use crate::features::{flat, matrix};
use crate::machine::{self, Machine};
use crate::train::Call;

/// Decision values up to which curves are fitted where the call stands.
const FEW: usize = 1 << 14;

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
        let look = &mut || watch.unbroken(Watch::glance);
        let selected = SelectedRows::of(&rows, machine, look)?;
        let problem = Problem::new(selected.rows(&rows)?, targets, cost)?;
        let behind = machine.scaling().is_some().then(|| machine.behind());
        config.left_out(&problem, behind.as_ref().unwrap_or(machine), folds, watch)
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

/// The machine with curves that are made for its outputs.
fn with(
    machine: &Machine,
    k: usize,
    made: impl FnOnce(Outputs) -> Result<Calibration>,
) -> Result<Machine> {
    Ok(Machine(match &machine.0 {
        AnyMachine::F32(own) => AnyMachine::F32(own.with_calibration(made(own.outputs(k))?)?),
        AnyMachine::F64(own) => AnyMachine::F64(own.with_calibration(made(own.outputs(k))?)?),
    }))
}

/// Curves fitted to decision values of samples of these classes and weights.
pub(crate) fn calibrated(
    py: Python<'_>,
    machine: &Machine,
    (method, threads): (&str, usize),
    (values, weights): (&PyReadonlyArray2<'_, f64>, &PyReadonlyArray1<'_, f64>),
    (classes, n_classes): (&PyReadonlyArray1<'_, u32>, usize),
) -> PyResult<Machine> {
    let (values, classes, weights) =
        enter_briefly(|| Ok((flat(values)?, contiguous(classes)?, contiguous(weights)?)))?;
    let fit = |watch: &mut Watch<'_>| {
        let look = &mut || watch.unbroken(Watch::glance);
        with(machine, n_classes, |outputs| {
            let method = self::method(method)?;
            Calibration::fit_watched(method, (values, outputs), classes, weights, look)
        })
    };
    if values.len() <= FEW { enter_here(py, fit) } else { enter(py, threads, None, fit) }
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
    enter_briefly(|| with(machine, n_classes, made))
}

/// A softmax of this sharpness.
pub(crate) fn temperature(
    machine: &Machine,
    sharpness: f64,
    n_classes: usize,
) -> PyResult<Machine> {
    let made = |outputs| Calibration::of_temperature(outputs, sharpness);
    enter_briefly(|| with(machine, n_classes, made))
}

fn curves(machine: &Machine) -> Option<&Calibration> {
    match &machine.0 {
        AnyMachine::F32(machine) => machine.calibration(),
        AnyMachine::F64(machine) => machine.calibration(),
    }
}

/// Its curves, else those of the logistic loss.
fn curves_or_logistic(machine: &Machine, n_classes: usize) -> Result<Cow<'_, Calibration>> {
    match curves(machine) {
        Some(curves) => Ok(Cow::Borrowed(curves)),
        None => Calibration::logistic(n_classes).map(Cow::Owned),
    }
}

/// Probabilities of decision values.
pub(crate) fn probabilities<'py>(
    py: Python<'py>,
    machine: &Machine,
    values: &PyReadonlyArray2<'_, f64>,
    (n_classes, threads): (usize, usize),
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (curves, values) =
        enter_briefly(|| Ok((curves_or_logistic(machine, n_classes)?, flat(values)?)))?;
    let rows = values.len() / curves.outputs().count();
    let found = predict(py, threads, rows.saturating_mul(curves.row_work()), |watch| {
        curves.probabilities_watched(values, &mut || watch.unbroken(Watch::glance))
    })?;
    matrix(py, found, curves.n_classes())
}

/// What is made of the decision values of rows: "class", "votes" or "probabilities".
pub(crate) fn answers<'py, F: Float>(
    py: Python<'py>,
    machine: &Machine,
    (model, rows): (&Model<F>, &Rows<'_, F>),
    (answer, threads): (&str, usize),
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let answer = enter_briefly(|| match (answer, curves(machine)) {
        ("class", _) => Ok(Answer::Class),
        ("votes", _) => Ok(Answer::Votes),
        ("probabilities", Some(curves)) => Ok(Answer::Probabilities(curves)),
        _ => Err(Error::Unsupported(format!("no '{answer}' of this machine"))),
    })?;
    let work = model.answer_work(rows.n_rows(), answer);
    let found = predict(py, threads, work, |watch| model.answers(rows, answer, watch))?;
    Ok(found.into_pyarray(py))
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
