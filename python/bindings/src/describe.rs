//! What Python must know before a machine can be configured.

use budgetsvm::estimator::summary::summarize;
use budgetsvm::parallel;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::arrays::{Samples, contiguous, with_rows};
use crate::enter::{enter, enter_briefly};

/// Weighted variance of all entries, and the ratio of the largest to the smallest range of a
/// feature that varies.
#[pyfunction]
pub(crate) fn describe(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    weight: PyReadonlyArray1<'_, f64>,
) -> PyResult<(f64, f64)> {
    let samples = Samples::new("X", x)?;
    let weight = enter_briefly(|| contiguous(&weight))?;
    let summary = with_rows!(&samples, |rows| enter(py, 1, None, |_| summarize(&rows, weight))?);
    Ok((summary.variance, summary.range_ratio))
}

/// The number of threads that `n_jobs` stands for.
#[pyfunction]
#[pyo3(signature = (n_jobs))]
pub(crate) fn thread_count(n_jobs: Option<i64>) -> PyResult<usize> {
    enter_briefly(|| parallel::thread_count(n_jobs))
}
