//! The training of primal machines.

use budgetsvm::data::Problem;
use budgetsvm::error::Error;
use budgetsvm::estimator::{PrimalBasis, PrimalConfig, PrimalReport, PrimalStart, SelectedRows};
use budgetsvm::watch::Watch;
use numpy::{IntoPyArray as _, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Float, Samples, Storage};
use crate::convert::history;
use crate::enter::enter_briefly;
use crate::features::matrix;
use crate::machine::Machine;
use crate::train::{Call, Trained};

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

pub(crate) fn train<'py, F: Float>(
    py: Python<'py>,
    call: &Call<'py>,
    storage: &Storage<'py, F>,
) -> Trained<'py> {
    let config: PrimalConfig = call.config()?;
    let basis: Option<(Bound<'py, PyAny>, usize)> =
        call.own("basis")?.map(|basis| basis.extract()).transpose()?;
    let points = match &basis {
        Some((points, count)) => Some((Samples::new("basis", points)?, *count)),
        None => None,
    };
    let before: Option<Before<'py>> =
        call.own("before")?.map(|before| before.extract()).transpose()?;
    let start = before.as_ref().map(start).transpose()?;
    let basis = enter_briefly(|| match (&points, config.basis) {
        (Some((points, count)), _) => match F::of(points) {
            Some(points) => Ok(PrimalBasis::Given(points.rows()?, *count)),
            None => Err(Error::Unsupported("basis must have the type of X".into())),
        },
        (None, Some(choice)) => Ok(PrimalBasis::Chosen(choice, config.n_components)),
        (None, None) => Ok(PrimalBasis::Samples),
    })?;
    let (rows, targets, cost) = call.parts(storage)?;
    // Points that are given have all columns.
    let select = points.is_none() && start.is_none();
    let (machine, report) = call.enter(|watch| {
        let look = &mut || watch.unbroken(Watch::glance);
        let selected = match select {
            true => SelectedRows::new(&rows, config.kernel, look)?,
            false => SelectedRows::none(),
        };
        let problem = Problem::new(selected.rows(&rows)?, targets, cost)?;
        let (machine, report) = config.fit(&problem, &basis, start.as_ref(), watch)?;
        Ok((selected.machine(machine)?, report))
    })?;
    Ok((Machine(F::any(machine)), told(py, report, targets.n_outputs())?))
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
