//! What Python must know before a machine can be configured.

use budgetsvm::data::Rows;
use budgetsvm::error::Result;
use budgetsvm::estimator;
use budgetsvm::estimator::scales::drowned_watched;
use budgetsvm::estimator::summary::summarize_watched;
use budgetsvm::parallel;
use budgetsvm::watch::{Look, Watch};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::arrays::{Float, Samples, contiguous, with_rows};
use crate::enter::{enter, enter_briefly};

/// Entries that are read where the call stands: another thread takes longer to begin.
const BRIEF: usize = 1 << 17;

/// Looks at rows, on the calling thread where there are few.
fn watched<F: Float, T: Send>(
    py: Python<'_>,
    rows: &Rows<'_, F>,
    task: impl FnOnce(Look<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    match rows.n_rows().saturating_mul(rows.n_cols()) <= BRIEF {
        true => enter_briefly(|| task(&mut || Ok(()))),
        false => enter(py, 1, None, |watch| task(&mut || watch.unbroken(Watch::glance))),
    }
}

/// Weighted variance of all entries.
#[pyfunction]
pub(crate) fn variance(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    weight: PyReadonlyArray1<'_, f64>,
) -> PyResult<f64> {
    let samples = Samples::new("X", x)?;
    let weight = enter_briefly(|| contiguous(&weight))?;
    let summary = with_rows!(&samples, |rows| watched(py, &rows, |look| summarize_watched(
        &rows, weight, look
    ))?);
    Ok(summary.variance)
}

/// Where few features drown the others: how many these are, how many vary, and the share of the
/// squared distance between rows that the few own.
#[pyfunction]
pub(crate) fn scales(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    weight: PyReadonlyArray1<'_, f64>,
) -> PyResult<Option<(usize, usize, f64)>> {
    let samples = Samples::new("X", x)?;
    let weight = enter_briefly(|| contiguous(&weight))?;
    let found = with_rows!(&samples, |rows| watched(py, &rows, |look| drowned_watched(
        &rows, weight, look
    ))?);
    Ok(found.map(|scales| (scales.few, scales.varying, scales.share)))
}

/// Slope and offset of the sigmoid of decision values, of the share of the positive ones.
#[pyfunction]
pub(crate) fn sigmoid(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    positive: PyReadonlyArray1<'_, bool>,
    weight: PyReadonlyArray1<'_, f64>,
) -> PyResult<[f64; 2]> {
    let (values, positive, weight) =
        enter_briefly(|| Ok((contiguous(&values)?, contiguous(&positive)?, contiguous(&weight)?)))?;
    match values.len() <= BRIEF / 64 {
        true => enter_briefly(|| estimator::sigmoid(values, positive, weight, || Ok(()))),
        false => enter(py, 1, None, |watch| {
            estimator::sigmoid(values, positive, weight, || match watch.glance() {
                Ok(()) => Ok(()),
                Err(halt) => halt.into_reason().map(drop),
            })
        }),
    }
}

/// The number of threads that `n_jobs` stands for.
#[pyfunction]
#[pyo3(signature = (n_jobs))]
pub(crate) fn thread_count(n_jobs: Option<i64>) -> PyResult<usize> {
    enter_briefly(|| parallel::thread_count(n_jobs))
}
