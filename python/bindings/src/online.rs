//! `OnlineMachine`: the trained machine of an online learner. It never changes; training makes a
//! new one.

use budgetsvm::data::Problem;
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::online::precision_of;
use budgetsvm::estimator::{OnlineConfig, OnlineMachine as Machine, Report};
use budgetsvm::float::Real;
use budgetsvm::model::persist::Archive;
use numpy::{Element, IntoPyArray as _, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::arrays::{Samples, Storage, contiguous};
use crate::convert;
use crate::enter::{enter, enter_briefly, exception};

/// The trained machine of an online learner, of either precision.
#[pyclass(frozen, module = "budgetsvm._core")]
pub(crate) struct OnlineMachine(Any);

enum Any {
    F32(Machine<f32>),
    F64(Machine<f64>),
}

/// Machines of one precision, seen as machines of any.
trait Precision: Real + Element {
    fn pick(machine: &OnlineMachine) -> Result<&Machine<Self>>;
    fn wrap(machine: Machine<Self>) -> OnlineMachine;
}

fn mixed<T>() -> Result<T> {
    Err(Error::Unsupported("X must have the precision of the machine".into()))
}

impl Precision for f32 {
    fn pick(machine: &OnlineMachine) -> Result<&Machine<Self>> {
        if let Any::F32(machine) = &machine.0 { Ok(machine) } else { mixed() }
    }

    fn wrap(machine: Machine<Self>) -> OnlineMachine {
        OnlineMachine(Any::F32(machine))
    }
}

impl Precision for f64 {
    fn pick(machine: &OnlineMachine) -> Result<&Machine<Self>> {
        if let Any::F64(machine) = &machine.0 { Ok(machine) } else { mixed() }
    }

    fn wrap(machine: Machine<Self>) -> OnlineMachine {
        OnlineMachine(Any::F64(machine))
    }
}

/// The same expression for a machine of either precision.
macro_rules! each {
    ($any:expr, $machine:ident => $body:expr) => {
        match $any {
            Any::F32($machine) => $body,
            Any::F64($machine) => $body,
        }
    };
}

type Trained<'py> = PyResult<(OnlineMachine, Bound<'py, PyDict>)>;

#[pymethods]
impl OnlineMachine {
    /// Trains from the start, or goes on from `start` with the rows as they stand when `stream` is
    /// True: (machine, report). With `record` the history has decision values from before each row
    /// was learnt from.
    #[staticmethod]
    #[pyo3(signature = (config, x, y, n_classes, cost, *, start, stream, record, notify, threads))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
    fn train<'py>(
        py: Python<'py>,
        config: &str,
        x: &Bound<'py, PyAny>,
        y: PyReadonlyArray1<'py, u32>,
        n_classes: usize,
        cost: PyReadonlyArray1<'py, f64>,
        start: Option<&Self>,
        stream: bool,
        record: bool,
        notify: Option<Bound<'py, PyAny>>,
        threads: usize,
    ) -> Trained<'py> {
        let config = crate::config::read(config)?;
        let labels = convert::Target::Classes(y, n_classes);
        let call = Call { config, labels, cost, stream, record, notify, threads };
        match &Samples::new("X", x)? {
            Samples::F32(storage) => call.train(py, storage, start),
            Samples::F64(storage) => call.train(py, storage, start),
        }
    }

    /// Decision values, shape (n_samples, n_outputs).
    fn decision_function<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = match (&self.0, &Samples::new("X", x)?) {
            (Any::F32(machine), Samples::F32(storage)) => {
                let rows = enter_briefly(|| storage.rows())?;
                enter(py, threads, None, |watch| machine.decision(&rows, watch))?
            }
            (Any::F64(machine), Samples::F64(storage)) => {
                let rows = enter_briefly(|| storage.rows())?;
                enter(py, threads, None, |watch| machine.decision(&rows, watch))?
            }
            _ => return enter_briefly(mixed),
        };
        Ok(values.into_pyarray(py))
    }

    /// The bytes that a pickle and a file hold.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = enter_briefly(|| each!(&self.0, machine => machine.to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A machine from the bytes of `to_bytes`.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        enter_briefly(|| {
            let archive = Archive::from_bytes(bytes)?;
            match precision_of(&archive)? {
                f32::NAME => Machine::from_archive(archive).map(f32::wrap),
                f64::NAME => Machine::from_archive(archive).map(f64::wrap),
                other => Err(Error::Format(format!("precision {other}"))),
            }
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let make = slf.get_type().getattr("from_bytes")?;
        (make, (slf.get().to_bytes(py)?,)).into_pyobject(py)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// "float32" or "float64".
    #[getter]
    fn dtype(&self) -> &'static str {
        match self.0 {
            Any::F32(_) => f32::NAME,
            Any::F64(_) => f64::NAME,
        }
    }

    /// Number of terms.
    #[getter]
    fn n_terms(&self) -> usize {
        each!(&self.0, machine => machine.n_terms())
    }

    /// Number of features.
    #[getter]
    fn n_features(&self) -> usize {
        each!(&self.0, machine => machine.n_features())
    }

    /// Number of outputs.
    #[getter]
    fn n_outputs(&self) -> usize {
        each!(&self.0, machine => machine.n_outputs())
    }

    /// The kernel's gamma (1 for the linear kernel, which has none).
    #[getter]
    fn gamma(&self) -> f64 {
        each!(&self.0, machine => machine.gamma())
    }

    /// Coefficients of the features, shape (n_outputs, 2 n_frequencies or 0).
    #[getter]
    fn feature_coef<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        each!(&self.0, machine => machine.feature_coef()).into_pyarray(py)
    }

    /// Frequencies of the features, shape (n_frequencies or 0, n_features).
    #[getter]
    fn frequencies<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        each!(&self.0, machine => machine.frequencies()).into_pyarray(py)
    }

    /// Samples learnt from.
    #[getter]
    fn steps(&self) -> u64 {
        each!(&self.0, machine => machine.steps())
    }

    /// Points of the terms, shape (n_terms, n_features).
    #[getter]
    fn support_vectors<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match &self.0 {
            Any::F32(machine) => machine.support_vectors().into_pyarray(py).into_any(),
            Any::F64(machine) => machine.support_vectors().into_pyarray(py).into_any(),
        }
    }

    /// Coefficients, shape (n_outputs, n_terms).
    #[getter]
    fn dual_coef<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        each!(&self.0, machine => machine.dual_coef()).into_pyarray(py)
    }
}

/// Everything that a training call takes, borrowed from Python.
struct Call<'py> {
    config: OnlineConfig,
    labels: convert::Target<'py>,
    cost: PyReadonlyArray1<'py, f64>,
    stream: bool,
    record: bool,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
}

impl<'py> Call<'py> {
    fn train<F: Precision>(
        &self,
        py: Python<'py>,
        storage: &Storage<'py, F>,
        start: Option<&OnlineMachine>,
    ) -> Trained<'py> {
        let start = start.map(F::pick).transpose().map_err(exception)?;
        let (rows, labels, cost) =
            enter_briefly(|| Ok((storage.rows()?, self.labels.view()?, contiguous(&self.cost)?)))?;
        let (config, stream, record) = (&self.config, self.stream, self.record);
        let (machine, report): (Machine<F>, Report) =
            enter(py, self.threads, self.notify.as_ref(), |watch| {
                let problem = Problem::new(rows, labels, cost)?;
                if stream {
                    Machine::partial_fit(config, &problem, (start, record), watch)
                } else {
                    Machine::fit(config, &problem, watch)
                }
            })?;
        Ok((F::wrap(machine), convert::report(py, report)?))
    }
}
