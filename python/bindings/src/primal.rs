//! The primal machines: one call that trains, one that decides. What is learnt lives in arrays of
//! the Python estimator.

use budgetsvm::data::Problem;
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{
    PrimalBasis, PrimalConfig, PrimalMachine, PrimalStart, primal_decision,
};
use budgetsvm::kernel::AnyKernel;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray as _, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Samples, contiguous};
use crate::convert::{Target, history};
use crate::enter::{enter, enter_briefly, exception};

type KernelParams = (String, f64, f64, u32);

fn kernel((name, gamma, coef0, degree): &KernelParams) -> Result<AnyKernel> {
    AnyKernel::from_name(name, *gamma, *coef0, *degree)
}

/// Samples that terms are, coefficients (terms x outputs), offsets.
type Before<'py> =
    (PyReadonlyArray1<'py, i64>, PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>);

fn start((terms, coef, intercept): &Before<'_>) -> PyResult<PrimalStart> {
    let sample = |&i: &i64| usize::try_from(i);
    let terms: std::result::Result<_, _> = terms.as_array().iter().map(sample).collect();
    Ok(PrimalStart {
        terms: terms?,
        coef: coef.as_array().iter().copied().collect(),
        intercept: intercept.as_array().to_vec(),
    })
}

/// Trains a primal machine: a dictionary of what was learnt. `basis` is rows of
/// the type of `x`, with the number of terms, or None: that of the hyperparameters. `before` is a solution
/// to begin with.
#[pyfunction]
#[pyo3(signature = (config, x, y, n_classes, cost, basis, *, before, notify, threads))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn primal_fit<'py>(
    py: Python<'py>,
    config: &str,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    n_classes: Option<usize>,
    cost: PyReadonlyArray1<'py, f64>,
    basis: Option<(Bound<'py, PyAny>, usize)>,
    before: Option<Before<'py>>,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let config: PrimalConfig = crate::config::read(config)?;
    let samples = Samples::new("X", x)?;
    let target = Target::new(y, n_classes)?;
    let points = match &basis {
        Some((points, count)) => Some((Samples::new("basis", points)?, *count)),
        None => None,
    };
    let start = before.as_ref().map(start).transpose()?;
    let (targets, cost) = enter_briefly(|| Ok((target.view()?, contiguous(&cost)?)))?;
    macro_rules! fit {
        ($variant:path, $rows:expr) => {{
            let rows = enter_briefly(|| $rows.rows())?;
            let basis = match (&points, config.basis) {
                (Some(($variant(points), count)), _) => {
                    PrimalBasis::Given(enter_briefly(|| points.rows())?, *count)
                }
                (Some(_), _) => {
                    let text = "basis must have the type of X".into();
                    return Err(exception(Error::Unsupported(text)));
                }
                (None, Some(choice)) => PrimalBasis::Chosen(choice, config.n_components),
                (None, None) => PrimalBasis::Samples,
            };
            let problem = enter_briefly(|| Problem::new(rows, targets, cost))?;
            enter(py, threads, notify.as_ref(), |watch| {
                PrimalMachine::fit(&config, &problem, &basis, start.as_ref(), watch)
            })?
        }};
    }
    let machine = match &samples {
        Samples::F32(storage) => fit!(Samples::F32, storage),
        Samples::F64(storage) => fit!(Samples::F64, storage),
    };
    told(py, machine)
}

fn told(py: Python<'_>, machine: PrimalMachine) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    let outputs = machine.intercept.len();
    let support = machine.support.map(|support| {
        support.into_iter().map(|i| i as i64).collect::<Vec<i64>>().into_pyarray(py)
    });
    told.set_item("support", support)?;
    let terms = machine.coef.len() / outputs.max(1);
    let points = match machine.points {
        Some(points) => {
            let shape = (terms, points.len() / terms.max(1));
            let points = Array2::from_shape_vec(shape, points)
                .map_err(|e| exception(Error::Unsupported(e.to_string())))?;
            Some(points.into_pyarray(py))
        }
        None => None,
    };
    told.set_item("points", points)?;
    let coef = Array2::from_shape_fn((outputs, terms), |(c, j)| machine.coef[j * outputs + c]);
    told.set_item("coef", coef.into_pyarray(py))?;
    told.set_item("intercept", machine.intercept.into_pyarray(py))?;
    let objective = PyDict::new(py);
    objective.set_item("smoothed", machine.objective[0])?;
    objective.set_item("primal", machine.objective[1])?;
    told.set_item("objective", objective)?;
    let left_out = match machine.left_out {
        Some(values) => {
            let shape = (values.len() / outputs.max(1), outputs);
            let values = Array2::from_shape_vec(shape, values)
                .map_err(|e| exception(Error::Unsupported(e.to_string())))?;
            Some(values.into_pyarray(py))
        }
        None => None,
    };
    told.set_item("left_out", left_out)?;
    told.set_item("tuned", machine.tuned.map(|tuned| (tuned.c, tuned.gamma)))?;
    told.set_item("n_iter", machine.n_iter)?;
    told.set_item("stop_reason", machine.stop.name())?;
    let curve = |at: usize| machine.history.iter().map(|entry| entry[at]).collect();
    let curves = vec![("time".to_owned(), curve(0)), ("objective".to_owned(), curve(1))];
    told.set_item("history", history(py, curves)?)?;
    Ok(told)
}

/// Decision values of an expansion, shape (n_samples, n_outputs). `coef` has a row a term.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "positions of a private Python function")]
pub(crate) fn primal_decide<'py>(
    py: Python<'py>,
    kernel: KernelParams,
    points: &Bound<'py, PyAny>,
    coef: PyReadonlyArray2<'py, f64>,
    intercept: PyReadonlyArray1<'py, f64>,
    x: &Bound<'py, PyAny>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (points, samples) = (Samples::new("support_vectors_", points)?, Samples::new("X", x)?);
    let kernel = enter_briefly(|| self::kernel(&kernel))?;
    let coef: Vec<f64> = coef.as_array().iter().copied().collect();
    let intercept = enter_briefly(|| contiguous(&intercept))?;
    macro_rules! decide {
        ($points:expr, $rows:expr) => {{
            let (points, rows) = enter_briefly(|| Ok(($points.rows()?, $rows.rows()?)))?;
            enter(py, threads, None, |_| {
                primal_decision(kernel, &points, (&coef, intercept), &rows)
            })?
        }};
    }
    let values = match (&points, &samples) {
        (Samples::F32(points), Samples::F32(rows)) => decide!(points, rows),
        (Samples::F64(points), Samples::F64(rows)) => decide!(points, rows),
        _ => {
            let text = "X must have the type that the machine was trained on".into();
            return Err(exception(Error::Unsupported(text)));
        }
    };
    let outputs = intercept.len().max(1);
    let shape = (values.len() / outputs, outputs);
    let values = Array2::from_shape_vec(shape, values)
        .map_err(|e| exception(Error::Unsupported(e.to_string())))?;
    Ok(values.into_pyarray(py))
}
