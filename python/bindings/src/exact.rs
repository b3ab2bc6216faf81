//! The exact machines: one call that trains, one that decides. What is learnt lives in arrays of
//! the Python estimator.

use budgetsvm::data::Rows;
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{ExactConfig, ExactMachine, ExactTargets, exact_decision};
use budgetsvm::kernel::{AnyKernel, Gram};
use budgetsvm::model::PairwiseModel;
use numpy::{IntoPyArray as _, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Samples, contiguous};
use crate::convert::Target;
use crate::enter::{enter, enter_briefly, exception};

fn doubles<'a>(name: &str, samples: &'a Samples<'_>) -> Result<Rows<'a, f64>> {
    match samples {
        Samples::F64(storage) => storage.rows(),
        Samples::F32(_) => Err(Error::Unsupported(format!("{name} must be float64"))),
    }
}

/// `(name, gamma, coef0, degree)`. γ = 0 stands for the least
/// positive number: distances and products vanish beside it.
type KernelParams = (String, f64, f64, u32);

fn kernel((name, gamma, coef0, degree): &KernelParams) -> Result<AnyKernel> {
    let gamma = if *gamma == 0.0 { f64::MIN_POSITIVE } else { *gamma };
    AnyKernel::from_name(name, gamma, *coef0, *degree)
}

/// Trains an exact machine: a dictionary of what was learnt.
#[pyfunction]
#[pyo3(signature = (config, precomputed, x, y, n_classes, cost, *, functions, notify, threads))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn exact_fit<'py>(
    py: Python<'py>,
    config: &str,
    precomputed: bool,
    x: &Bound<'py, PyAny>,
    y: Option<Bound<'py, PyAny>>,
    n_classes: Option<usize>,
    cost: PyReadonlyArray1<'py, f64>,
    functions: Option<PyReadonlyArray2<'py, f64>>,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let config: ExactConfig = crate::config::read(config)?;
    let samples = Samples::new("X", x)?;
    let target = y.map(|y| Target::new(&y, n_classes)).transpose()?;
    let (rows, cost) = enter_briefly(|| Ok((doubles("X", &samples)?, contiguous(&cost)?)))?;
    let gram = enter_briefly(|| match (precomputed, rows) {
        (false, rows) => Ok(Gram::Kernel(config.kernel, rows)),
        (true, Rows::Dense(matrix)) => Ok(Gram::Given(matrix)),
        (true, Rows::Csr(_)) => {
            Err(Error::Unsupported("Sparse precomputed kernels are not supported.".into()))
        }
    })?;
    let targets = enter_briefly(|| {
        Ok(match &target {
            None => ExactTargets::None,
            Some(Target::Values(values)) => ExactTargets::Values(contiguous(values)?),
            Some(Target::Classes(index, k)) => ExactTargets::Classes(contiguous(index)?, *k),
        })
    })?;
    let functions = functions.as_ref().map(|values| values.as_array());
    let machine = enter(py, threads, notify.as_ref(), |watch| {
        ExactMachine::fit_with(&config, (gram, functions), targets, cost, watch)
    })?;
    told(py, machine)
}

fn told(py: Python<'_>, machine: ExactMachine) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("converged", machine.converged())?;
    let stop = machine.parts.iter().map(|part| part.stop.name()).find(|s| *s != "converged");
    told.set_item("stop_reason", stop.unwrap_or("converged"))?;
    let ints = |values: Vec<usize>| -> Vec<i64> { values.into_iter().map(|v| v as i64).collect() };
    told.set_item("support", ints(machine.support).into_pyarray(py))?;
    told.set_item("n_support", ints(machine.n_support).into_pyarray(py))?;
    told.set_item("dual_coef", machine.dual_coef.into_pyarray(py))?;
    told.set_item("intercept", machine.intercept.into_pyarray(py))?;
    let steps: Vec<u64> = machine.parts.iter().map(|part| part.n_iter).collect();
    told.set_item("n_iter", steps.into_pyarray(py))?;
    let objective: Vec<f64> = machine.parts.iter().map(|part| part.objective).collect();
    told.set_item("objective", objective.into_pyarray(py))?;
    let gap: Vec<f64> = machine.parts.iter().map(|part| part.gap).collect();
    told.set_item("gap", gap.into_pyarray(py))?;
    let rows: Vec<u64> = machine.parts.iter().map(|part| part.n_rows).collect();
    told.set_item("n_rows", rows.into_pyarray(py))?;
    let width: Vec<f64> = machine.parts.iter().map(|part| part.width).collect();
    told.set_item("width", width.into_pyarray(py))?;
    let outcomes: Option<Vec<_>> = machine.parts.into_iter().map(|part| part.mpd).collect();
    let Some(outcomes) = outcomes else { return Ok(told) };
    let constraint: Vec<f64> = outcomes.iter().map(|o| o.constraint).collect();
    told.set_item("constraint_violation", constraint.into_pyarray(py))?;
    let updates: Vec<u64> = outcomes.iter().map(|o| o.updates).collect();
    told.set_item("n_updates", updates.into_pyarray(py))?;
    let parametric: Vec<_> = outcomes.iter().map(|o| o.parametric.clone()).collect();
    let parametric = PyArray2::from_vec2(py, &parametric)
        .map_err(|_| exception(Error::Unsupported("parts of several forms".into())))?;
    told.set_item("parametric", parametric)?;
    if let Some(trace) = outcomes.into_iter().next().map(|o| o.trace) {
        told.set_item("violation", trace.violation.into_pyarray(py))?;
        told.set_item("constraint", trace.constraint.into_pyarray(py))?;
        told.set_item("multipliers", trace.multipliers.into_pyarray(py))?;
    }
    Ok(told)
}

/// Decision values of an exact machine, shape (n_samples, n_outputs), from kernel values in the
/// precision of `x`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "positions of a private Python function")]
pub(crate) fn exact_decide<'py>(
    py: Python<'py>,
    kernel: KernelParams,
    support: &Bound<'py, PyAny>,
    n_support: Vec<usize>,
    dual_coef: PyReadonlyArray2<'py, f64>,
    intercept: PyReadonlyArray1<'py, f64>,
    x: &Bound<'py, PyAny>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (support, samples) = (Samples::new("support_vectors_", support)?, Samples::new("X", x)?);
    let coef = dual_coef.as_array();
    let (kernel, support, intercept) = enter_briefly(|| {
        Ok((
            self::kernel(&kernel)?,
            doubles("support_vectors_", &support)?,
            contiguous(&intercept)?,
        ))
    })?;
    let model = PairwiseModel { kernel, support, n_support, coef, intercept };
    let values = match &samples {
        Samples::F32(storage) => {
            let rows = enter_briefly(|| storage.rows())?;
            enter(py, threads, None, |watch| exact_decision(&model, &rows, watch))?
        }
        Samples::F64(storage) => {
            let rows = enter_briefly(|| storage.rows())?;
            enter(py, threads, None, |watch| exact_decision(&model, &rows, watch))?
        }
    };
    Ok(values.into_pyarray(py))
}
