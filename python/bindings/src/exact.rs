//! The training of exact machines.

use budgetsvm::data::Rows;
use budgetsvm::error::Error;
use budgetsvm::estimator::{self, AnyMachine, ExactConfig, ExactMachine, ExactTargets, State};
use budgetsvm::kernel::Gram;
use numpy::{IntoPyArray as _, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Samples, contiguous};
use crate::convert::Target;
use crate::enter::{enter_briefly, exception};
use crate::machine::Machine;
use crate::train::{Call, Trained};

/// Multiply-adds of all kernel values up to which a fit runs where it is called: some milliseconds.
/// Several pairs of classes are trained side by side sooner.
const FEW: usize = 1 << 25;
const FEW_OF_PAIRS: usize = 1 << 22;

pub(crate) fn train<'py>(
    py: Python<'py>,
    call: &Call<'py>,
    samples: &Samples<'py>,
) -> Trained<'py> {
    let config: ExactConfig = call.config()?;
    let precomputed = call.flag("precomputed")?;
    let fit = if call.flag("to_tol")? { ExactMachine::fit_to_tol } else { ExactMachine::fit_with };
    let functions: Option<PyReadonlyArray2<'py, f64>> =
        call.own("functions")?.map(|values| values.extract()).transpose()?;
    let cost = enter_briefly(|| call.cost())?;
    let gram = enter_briefly(|| match (precomputed, samples) {
        (false, Samples::F32(storage)) => Ok(Gram::Kernel(config.kernel, storage.rows()?.into())),
        (false, Samples::F64(storage)) => Ok(Gram::Kernel(config.kernel, storage.rows()?.into())),
        (true, Samples::F64(storage)) => match storage.rows()? {
            Rows::Dense(matrix) => Ok(Gram::Given(matrix)),
            Rows::Csr(_) => {
                Err(Error::Unsupported("Sparse precomputed kernels are not supported.".into()))
            }
        },
        (true, Samples::F32(_)) => Err(Error::Unsupported("X must be float64".into())),
    })?;
    let targets = enter_briefly(|| {
        Ok(match call.target() {
            None => ExactTargets::None,
            Some(Target::Values(values)) => ExactTargets::Values(contiguous(values)?),
            Some(Target::Classes(index, k)) => ExactTargets::Classes(contiguous(index)?, *k),
            Some(Target::Columns(_)) => {
                return Err(Error::Unsupported(
                    "y: an exact machine learns one value a row".into(),
                ));
            }
        })
    })?;
    let functions = functions.as_ref().map(|values| values.as_array());
    // Kernel values that are made in about a millisecond.
    let (rows, columns) = match gram {
        Gram::Kernel(_, rows) => (rows.n_rows(), rows.n_cols()),
        Gram::Given(matrix) => (matrix.nrows(), 1),
    };
    let most = match targets {
        ExactTargets::Classes(_, classes) if classes > 2 => FEW_OF_PAIRS,
        ExactTargets::Classes(..) | ExactTargets::Values(_) | ExactTargets::None => FEW,
    };
    let few = rows.saturating_mul(rows).saturating_mul(columns) <= most;
    let (machine, found) = call.enter_if(!few, |watch| {
        let found = fit(&config, (gram, functions), targets, cost, watch)?;
        let model = match gram {
            Gram::Kernel(kernel, rows) => found.model(kernel, &rows)?,
            Gram::Given(matrix) => found.model_of_values(matrix.nrows())?,
        };
        let machine = AnyMachine::F64(estimator::Machine::new(model, State::None));
        Ok((machine, found))
    })?;
    Ok((Machine(machine), told(py, found)?))
}

fn told(py: Python<'_>, machine: ExactMachine) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("converged", machine.converged())?;
    let stop = machine.parts.iter().map(|part| part.stop.name()).find(|s| *s != "converged");
    told.set_item("stop_reason", stop.unwrap_or("converged"))?;
    let ints = |values: Vec<usize>| -> Vec<i64> { values.into_iter().map(|v| v as i64).collect() };
    told.set_item("support", ints(machine.support).into_pyarray(py))?;
    told.set_item("n_support", ints(machine.n_support).into_pyarray(py))?;
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
