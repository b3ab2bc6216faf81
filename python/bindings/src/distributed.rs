//! Training in parts: machines joined, sums of a part, and the rounds that ask for them.

use budgetsvm::config::Config as _;
use budgetsvm::data::Problem;
use budgetsvm::error::Error;
use budgetsvm::estimator::{self, AnyMachine, BudgetConfig, Precision, Report};
use budgetsvm::watch::Watch;
use numpy::{IntoPyArray as _, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::arrays::{Float, Samples, Storage, contiguous, with_storage};
use crate::convert;
use crate::enter::{enter, enter_briefly, enter_here};
use crate::machine::{self, Machine};
use crate::train::{Call, Trained};

/// One machine of those of shards, in their order.
#[pyfunction]
pub(crate) fn join(
    py: Python<'_>,
    config: &str,
    machines: Vec<Bound<'_, Machine>>,
    threads: usize,
) -> PyResult<Machine> {
    match machines.first().map(|machine| &machine.get().0) {
        Some(AnyMachine::F32(_)) => join_of::<f32>(py, config, &machines, threads),
        _ => join_of::<f64>(py, config, &machines, threads),
    }
}

fn join_of<F: Float>(
    py: Python<'_>,
    config: &str,
    machines: &[Bound<'_, Machine>],
    threads: usize,
) -> PyResult<Machine> {
    let config: BudgetConfig = enter_briefly(|| BudgetConfig::from_json(config))?;
    let own = |machine: &Bound<'_, Machine>| F::of_any(&machine.get().0).cloned();
    let own: Option<Vec<estimator::Machine<F>>> = machines.iter().map(own).collect();
    let own = enter_briefly(|| own.ok_or_else(machine::mixed))?;
    let joined =
        enter(py, threads, None, |watch| config.join(&own.iter().collect::<Vec<_>>(), watch))?;
    Ok(Machine(F::any(joined)))
}

/// Coefficients for the terms of a joined machine: `sums_of(machine, point)` gives the sums
/// of all rows.
#[pyfunction]
pub(crate) fn finish<'py>(
    py: Python<'py>,
    config: &str,
    joined: &Bound<'py, Machine>,
    sums_of: Bound<'py, PyAny>,
) -> Trained<'py> {
    let config: BudgetConfig = enter_briefly(|| BudgetConfig::from_json(config))?;
    let sums_of = sums_of.unbind();
    let (machine, report) = match &joined.get().0 {
        AnyMachine::F32(joined) => finish_of(py, &config, joined, &sums_of)?,
        AnyMachine::F64(joined) => finish_of(py, &config, joined, &sums_of)?,
    };
    Ok((machine, convert::report(py, report)?))
}

fn finish_of<F: Precision>(
    py: Python<'_>,
    config: &BudgetConfig,
    joined: &estimator::Machine<F>,
    sums_of: &Py<PyAny>,
) -> PyResult<(Machine, Report)> {
    let mut raised = None;
    let done = enter_here(py, |watch| {
        let mut ask = |now: &estimator::Machine<F>, point: &[f64], _: &mut Watch<'_>| {
            let answer = Python::attach(|py| -> PyResult<Vec<f64>> {
                let now = Machine(F::any(now.clone()));
                let told = sums_of.bind(py).call1((now, point.to_vec().into_pyarray(py)))?;
                let sums: PyReadonlyArray1<'_, f64> = told.extract()?;
                Ok(sums.as_array().to_vec())
            });
            answer.map_err(|error| {
                raised = Some(error);
                Error::Interrupted
            })
        };
        config.finish_joined(joined, &mut ask, watch)
    });
    match raised {
        Some(error) => Err(error),
        None => done.map(|(machine, report)| (Machine(F::any(machine)), report)),
    }
}

/// The sums of rows, a part of all, at a point that [`finish`] asks about.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a private Python function")]
pub(crate) fn polish_sums<'py>(
    py: Python<'py>,
    config: String,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    n_classes: Option<usize>,
    cost: PyReadonlyArray1<'py, f64>,
    joined: &Bound<'py, Machine>,
    point: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let call = Call::plain(py, config, (y, n_classes), cost, None, threads)?;
    let samples = Samples::new("X", x)?;
    with_storage!(&samples, storage => sums_of(&call, storage, joined.get(), &point))
}

fn sums_of<'py, F: Float>(
    call: &Call<'py>,
    storage: &Storage<'py, F>,
    joined: &Machine,
    point: &PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let config: BudgetConfig = call.config()?;
    let joined = F::of_any(&joined.0);
    let (machine, point) =
        enter_briefly(|| Ok((joined.ok_or_else(machine::mixed)?, contiguous(point)?)))?;
    let (rows, targets, cost) = call.parts(storage)?;
    let sums = call.enter(|watch| {
        config.polish_sums(&Problem::new(rows, targets, cost)?, machine, point, watch)
    })?;
    Ok(sums.into_pyarray(call.py()))
}
