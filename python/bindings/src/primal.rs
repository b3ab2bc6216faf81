//! The primal machines: one call that trains.

use budgetsvm::data::Problem;
use budgetsvm::error::Error;
use budgetsvm::estimator::{Precision, PrimalBasis, PrimalConfig, PrimalReport, PrimalStart};
use numpy::{IntoPyArray as _, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Float, Samples, contiguous};
use crate::convert::{Target, history};
use crate::enter::{enter, enter_briefly};
use crate::features::matrix;
use crate::machine::Machine;

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

/// Trains a primal machine: (machine, report). `basis` is rows of the type of `x`, with the number
/// of terms, or None: that of the hyperparameters. `before` is a solution to begin with.
#[pyfunction]
#[pyo3(signature = (config, x, y, n_classes, cost, basis, *, before, notify, threads))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn primal_train<'py>(
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
) -> PyResult<(Machine, Bound<'py, PyDict>)> {
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
        ($storage:expr) => {{
            let basis = enter_briefly(|| match (&points, config.basis) {
                (Some((points, count)), _) => match Float::of(points) {
                    Some(points) => Ok(PrimalBasis::Given(points.rows()?, *count)),
                    None => Err(Error::Unsupported("basis must have the type of X".into())),
                },
                (None, Some(choice)) => Ok(PrimalBasis::Chosen(choice, config.n_components)),
                (None, None) => Ok(PrimalBasis::Samples),
            })?;
            let problem = enter_briefly(|| Problem::new($storage.rows()?, targets, cost))?;
            let (machine, report) = enter(py, threads, notify.as_ref(), |watch| {
                config.fit(&problem, &basis, start.as_ref(), watch)
            })?;
            Ok((Machine(Precision::any(machine)), told(py, report, targets.n_outputs())?))
        }};
    }
    match &samples {
        Samples::F32(storage) => fit!(storage),
        Samples::F64(storage) => fit!(storage),
    }
}

fn told(py: Python<'_>, report: PrimalReport, outputs: usize) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    let support = report.support.map(|support| {
        support.into_iter().map(|i| i as i64).collect::<Vec<i64>>().into_pyarray(py)
    });
    told.set_item("support", support)?;
    let objective = PyDict::new(py);
    objective.set_item("smoothed", report.smoothed)?;
    objective.set_item("primal", report.primal)?;
    told.set_item("objective", objective)?;
    let left_out = report.left_out.map(|values| matrix(py, values, outputs)).transpose()?;
    told.set_item("left_out", left_out)?;
    told.set_item("tuned", report.tuned.map(|tuned| (tuned.c, tuned.gamma)))?;
    told.set_item("n_iter", report.n_iter)?;
    told.set_item("stop_reason", report.stop.name())?;
    let curve = |at: usize| report.history.iter().map(|entry| entry[at]).collect();
    let curves = vec![("time".to_owned(), curve(0)), ("objective".to_owned(), curve(1))];
    told.set_item("history", history(py, curves)?)?;
    Ok(told)
}
