//! The training calls of machines that take rows, targets and costs.

use budgetsvm::data::Problem;
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{
    self, AssetConfig, AssetReport, BudgetConfig, LocalConfig, OnlineConfig, Report, Start,
};
use budgetsvm::watch::Watch;
use numpy::{IntoPyArray as _, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Float, Samples, Storage, contiguous};
use crate::convert::{self, Target};
use crate::enter::{enter, enter_briefly, type_error};
use crate::machine::{Machine, of_rows};

/// What every call takes beside its hyperparameters, borrowed from Python.
struct Call<'py> {
    target: Target<'py>,
    cost: PyReadonlyArray1<'py, f64>,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
}

impl<'py> Call<'py> {
    /// Makes the problem, enters Rust with it, wraps what comes back.
    fn train<F: Float, R: Send>(
        &self,
        py: Python<'py>,
        storage: &Storage<'py, F>,
        task: impl FnOnce(&Problem<'_, F>, &mut Watch<'_>) -> Result<(estimator::Machine<F>, R)> + Send,
    ) -> PyResult<(Machine, R)> {
        let (rows, targets, cost) =
            enter_briefly(|| Ok((storage.rows()?, self.target.view()?, contiguous(&self.cost)?)))?;
        let (machine, report) = enter(py, self.threads, self.notify.as_ref(), |watch| {
            task(&Problem::new(rows, targets, cost)?, watch)
        })?;
        Ok((Machine(F::any(machine)), report))
    }
}

/// Runs `$body` with `$storage` the rows in their own precision.
macro_rules! each {
    ($x:expr, $storage:ident => $body:expr) => {
        match &Samples::new("X", $x)? {
            Samples::F32($storage) => $body,
            Samples::F64($storage) => $body,
        }
    };
}

type Trained<'py> = PyResult<(Machine, Bound<'py, PyDict>)>;
type HeldOut<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, PyReadonlyArray1<'py, f64>);

fn told(py: Python<'_>, (machine, report): (Machine, Report)) -> Trained<'_> {
    Ok((machine, convert::report(py, report)?))
}

/// The rows of a validation part, which have the precision of `X`.
fn held_out<'a, 'py, F: Float>(
    _: &Storage<'py, F>,
    samples: &'a Samples<'py>,
) -> Result<&'a Storage<'py, F>> {
    F::of(samples).ok_or_else(|| {
        Error::Unsupported("the validation part must have the precision of X".into())
    })
}

/// Trains a budgeted machine, `task` being "fit", "partial_fit" or "polish": (machine, report).
#[pyfunction]
#[pyo3(signature = (
    task, config, x, y, n_classes, cost, *, start=None, validation=None, notify, threads
))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn budget_train<'py>(
    py: Python<'py>,
    task: &str,
    config: &str,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    n_classes: Option<usize>,
    cost: PyReadonlyArray1<'py, f64>,
    start: Option<&Machine>,
    validation: Option<HeldOut<'py>>,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> Trained<'py> {
    let config: BudgetConfig = crate::config::read(config)?;
    let call = Call { target: Target::new(y, n_classes)?, cost, notify, threads };
    let validation = match &validation {
        Some((x, y, weights)) => Some((Samples::new("X", x)?, Target::new(y, n_classes)?, weights)),
        None => None,
    };
    each!(x, storage => {
        let from = enter_briefly(|| of_rows(&storage.rows()?, start))?;
        let parts = match &validation {
            Some((samples, target, weights)) => Some(enter_briefly(|| {
                Ok((held_out(storage, samples)?.rows()?, target.view()?, contiguous(weights)?))
            })?),
            None => None,
        };
        let trained = call.train(py, storage, |problem, watch| match (task, from) {
            ("polish", Some(start)) => config.polish(problem, start, watch),
            ("partial_fit", start) => config.partial_fit(problem, start, watch),
            _ => {
                let held_out = match parts {
                    Some((rows, targets, weights)) => Some(Problem::new(rows, targets, weights)?),
                    None => None,
                };
                config.fit(problem, Start { from, held_out: held_out.as_ref() }, watch)
            }
        })?;
        told(py, trained)
    })
}

/// Trains an online learner from the start, or goes on from `start` with the rows as they stand
/// when `stream` is True: (machine, report). With `record` the history has decision values from
/// before each row was learnt from.
#[pyfunction]
#[pyo3(signature = (config, x, y, n_classes, cost, *, start, stream, record, notify, threads))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn online_train<'py>(
    py: Python<'py>,
    config: &str,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    n_classes: usize,
    cost: PyReadonlyArray1<'py, f64>,
    start: Option<&Machine>,
    stream: bool,
    record: bool,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> Trained<'py> {
    let config: OnlineConfig = crate::config::read(config)?;
    let call = Call { target: Target::new(y, Some(n_classes))?, cost, notify, threads };
    each!(x, storage => {
        let start = enter_briefly(|| of_rows(&storage.rows()?, start))?;
        let trained = call.train(py, storage, |problem, watch| {
            if stream {
                config.partial_fit(problem, (start, record), watch)
            } else {
                config.fit(problem, watch)
            }
        })?;
        told(py, trained)
    })
}

/// Trains a divide-and-conquer machine from the start, around `centers` when they are given, or
/// goes on from `start` with the rows as they stand when `stream` is True: (machine, report).
#[pyfunction]
#[pyo3(signature = (config, x, y, n_classes, cost, *, centers, start, stream, notify, threads))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn local_train<'py>(
    py: Python<'py>,
    config: &str,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    n_classes: usize,
    cost: PyReadonlyArray1<'py, f64>,
    centers: Option<&Bound<'py, PyAny>>,
    start: Option<&Machine>,
    stream: bool,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> Trained<'py> {
    fn given<'py, F: Float>(
        _: &Storage<'py, F>,
        centers: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<PyReadonlyArray2<'py, F>>> {
        let expected = "a C-ordered matrix of the precision of X";
        let read = |given: &Bound<'py, PyAny>| {
            given.extract().map_err(|_| type_error("centers", expected, given))
        };
        centers.map(read).transpose()
    }
    let config: LocalConfig = crate::config::read(config)?;
    let call = Call { target: Target::new(y, Some(n_classes))?, cost, notify, threads };
    each!(x, storage => {
        let start = enter_briefly(|| of_rows(&storage.rows()?, start))?;
        let centers = given(storage, centers)?;
        let centers = match &centers {
            Some(array) => Some(enter_briefly(|| crate::features::flat(array))?),
            None => None,
        };
        let trained = call.train(py, storage, |problem, watch| {
            if stream {
                config.partial_fit(problem, start, watch)
            } else {
                config.fit(problem, centers, watch)
            }
        })?;
        told(py, trained)
    })
}

/// Trains a machine on explicit features; a `stream` goes on from `start`, or begins: (machine,
/// report).
#[pyfunction]
#[pyo3(signature = (config, x, y, n_classes, cost, *, start, stream, notify, threads))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn asset_train<'py>(
    py: Python<'py>,
    config: &str,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    n_classes: Option<usize>,
    cost: PyReadonlyArray1<'py, f64>,
    start: Option<&Machine>,
    stream: bool,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> Trained<'py> {
    let config: AssetConfig = crate::config::read(config)?;
    let call = Call { target: Target::new(y, n_classes)?, cost, notify, threads };
    each!(x, storage => {
        let start = enter_briefly(|| of_rows(&storage.rows()?, start))?;
        let (machine, report) = call.train(py, storage, |problem, watch| {
            let (rows, targets, cost) = (problem.rows(), problem.targets(), problem.cost());
            if stream {
                config.partial_fit(start, &rows, targets, cost, watch)
            } else {
                config.fit(&rows, targets, cost, watch)
            }
        })?;
        Ok((machine, asset_report(py, report)?))
    })
}

fn asset_report(py: Python<'_>, report: AssetReport) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("n_iter", report.n_iter)?;
    told.set_item("stop_reason", report.stop.name())?;
    let time: Vec<f64> = report.history.iter().map(std::time::Duration::as_secs_f64).collect();
    let history = PyDict::new(py);
    history.set_item("time", time.into_pyarray(py))?;
    told.set_item("history", history)?;
    let objective = PyDict::new(py);
    objective.set_item("primal", report.objective.map(|both| both.0))?;
    objective.set_item("dual", report.objective.map(|both| both.1))?;
    told.set_item("objective", objective)?;
    Ok(told)
}
