//! `BudgetMachine`: a trained machine. It never changes, so threads may share it; training makes
//! a new one.

use std::path::PathBuf;

use budgetsvm::data::Problem;
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{BudgetConfig, Machine, Report, Start};
use budgetsvm::float::Real;
use budgetsvm::model::persist::{AnySaved, Saved, Stored};
use budgetsvm::watch::Watch;
use ndarray::Array2;
use numpy::{Element, IntoPyArray as _, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::arrays::{Samples, Storage, contiguous};
use crate::config;
use crate::convert::{self, Target};
use crate::enter::{self, enter, enter_briefly, exception};

/// A trained machine of either precision.
#[pyclass(frozen, module = "budgetsvm._core")]
pub(crate) struct BudgetMachine(Any);

enum Any {
    F32(Machine<f32>),
    F64(Machine<f64>),
}

/// Machines of one precision, seen as machines of any.
trait Precision: Real + Element + Stored {
    fn pick(machine: &BudgetMachine) -> Result<&Machine<Self>>;
    fn from_machine(machine: Machine<Self>) -> BudgetMachine;
    fn held_out<'a, 'py>(samples: &'a Samples<'py>) -> Result<&'a Storage<'py, Self>>;
}

fn mixed<T>() -> Result<T> {
    Err(Error::Unsupported("X must have the precision of the machine".into()))
}

impl Precision for f32 {
    fn pick(machine: &BudgetMachine) -> Result<&Machine<Self>> {
        if let Any::F32(machine) = &machine.0 { Ok(machine) } else { mixed() }
    }

    fn from_machine(machine: Machine<Self>) -> BudgetMachine {
        BudgetMachine(Any::F32(machine))
    }

    fn held_out<'a, 'py>(samples: &'a Samples<'py>) -> Result<&'a Storage<'py, Self>> {
        if let Samples::F32(storage) = samples { Ok(storage) } else { mixed() }
    }
}

impl Precision for f64 {
    fn pick(machine: &BudgetMachine) -> Result<&Machine<Self>> {
        if let Any::F64(machine) = &machine.0 { Ok(machine) } else { mixed() }
    }

    fn from_machine(machine: Machine<Self>) -> BudgetMachine {
        BudgetMachine(Any::F64(machine))
    }

    fn held_out<'a, 'py>(samples: &'a Samples<'py>) -> Result<&'a Storage<'py, Self>> {
        if let Samples::F64(storage) = samples { Ok(storage) } else { mixed() }
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

/// Everything that a training call takes, borrowed from Python.
struct Call<'py> {
    config: BudgetConfig,
    x: Samples<'py>,
    target: Target<'py>,
    cost: PyReadonlyArray1<'py, f64>,
    n_classes: Option<usize>,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
}

type Trained<'py> = PyResult<(BudgetMachine, Bound<'py, PyDict>)>;
type HeldOut<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, PyReadonlyArray1<'py, f64>);

impl<'py> Call<'py> {
    /// Makes the problem, enters Rust with it, wraps what comes back.
    fn train<F: Precision>(
        &self,
        py: Python<'py>,
        storage: &Storage<'py, F>,
        task: impl FnOnce(&Problem<'_, F>, &mut Watch<'_>) -> Result<(Machine<F>, Report)> + Send,
    ) -> Trained<'py> {
        let (rows, target, cost) =
            enter_briefly(|| Ok((storage.rows()?, self.target.view()?, contiguous(&self.cost)?)))?;
        let (machine, report) = enter(py, self.threads, self.notify.as_ref(), |watch| {
            task(&Problem::new(rows, target, cost)?, watch)
        })?;
        Ok((F::from_machine(machine), convert::report(py, report)?))
    }

    fn fit<F: Precision>(
        &self,
        py: Python<'py>,
        storage: &Storage<'py, F>,
        start: Option<&BudgetMachine>,
        held_out: Option<HeldOut<'py>>,
    ) -> Trained<'py> {
        let config = &self.config;
        let start = start.map(F::pick).transpose().map_err(exception)?;
        let Some((x, target, weights)) = held_out else {
            return self.train(py, storage, |problem, watch| {
                Machine::fit(config, problem, Start { from: start, held_out: None }, watch)
            });
        };
        let samples = Samples::new("X", &x)?;
        let target = Target::new(&target, self.n_classes)?;
        let (rows, target, weights) = enter_briefly(|| {
            Ok((F::held_out(&samples)?.rows()?, target.view()?, contiguous(&weights)?))
        })?;
        self.train(py, storage, |problem, watch| {
            let held_out = Problem::new(rows, target, weights)?;
            let start = Start { from: start, held_out: Some(&held_out) };
            Machine::fit(config, problem, start, watch)
        })
    }

    fn partial_fit<F: Precision>(
        &self,
        py: Python<'py>,
        storage: &Storage<'py, F>,
        start: Option<&BudgetMachine>,
    ) -> Trained<'py> {
        let config = &self.config;
        let start = start.map(F::pick).transpose().map_err(exception)?;
        self.train(py, storage, |problem, watch| {
            Machine::partial_fit(config, problem, start, watch)
        })
    }

    fn polish<F: Precision>(
        &self,
        py: Python<'py>,
        storage: &Storage<'py, F>,
        start: &BudgetMachine,
    ) -> Trained<'py> {
        let config = &self.config;
        let start = F::pick(start).map_err(exception)?;
        self.train(py, storage, |problem, watch| start.polish(config, problem, watch))
    }
}

#[pymethods]
impl BudgetMachine {
    /// Trains a machine: (machine, report).
    #[staticmethod]
    #[pyo3(signature = (config, x, y, n_classes, cost, *, start, validation, notify, threads))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
    fn fit<'py>(
        py: Python<'py>,
        config: &str,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
        n_classes: Option<usize>,
        cost: PyReadonlyArray1<'py, f64>,
        start: Option<&Self>,
        validation: Option<HeldOut<'py>>,
        notify: Option<Bound<'py, PyAny>>,
        threads: usize,
    ) -> Trained<'py> {
        let config = config::read(config)?;
        let (x, target) = (Samples::new("X", x)?, Target::new(y, n_classes)?);
        let call = Call { config, x, target, cost, n_classes, notify, threads };
        match &call.x {
            Samples::F32(storage) => call.fit(py, storage, start, validation),
            Samples::F64(storage) => call.fit(py, storage, start, validation),
        }
    }

    /// Goes on with one pass over new rows: (machine, report).
    #[staticmethod]
    #[pyo3(signature = (config, x, y, n_classes, cost, *, start, notify, threads))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
    fn partial_fit<'py>(
        py: Python<'py>,
        config: &str,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
        n_classes: Option<usize>,
        cost: PyReadonlyArray1<'py, f64>,
        start: Option<&Self>,
        notify: Option<Bound<'py, PyAny>>,
        threads: usize,
    ) -> Trained<'py> {
        let config = config::read(config)?;
        let (x, target) = (Samples::new("X", x)?, Target::new(y, n_classes)?);
        let call = Call { config, x, target, cost, n_classes, notify, threads };
        match &call.x {
            Samples::F32(storage) => call.partial_fit(py, storage, start),
            Samples::F64(storage) => call.partial_fit(py, storage, start),
        }
    }

    /// Solves for the coefficients of the terms of `start`: (machine, report).
    #[staticmethod]
    #[pyo3(signature = (config, x, y, n_classes, cost, *, start, notify, threads))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
    fn polish<'py>(
        py: Python<'py>,
        config: &str,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
        n_classes: Option<usize>,
        cost: PyReadonlyArray1<'py, f64>,
        start: &Self,
        notify: Option<Bound<'py, PyAny>>,
        threads: usize,
    ) -> Trained<'py> {
        let config = config::read(config)?;
        let (x, target) = (Samples::new("X", x)?, Target::new(y, n_classes)?);
        let call = Call { config, x, target, cost, n_classes, notify, threads };
        match &call.x {
            Samples::F32(storage) => call.polish(py, storage, start),
            Samples::F64(storage) => call.polish(py, storage, start),
        }
    }

    /// Decision values, shape (n_samples, n_outputs).
    fn decision_function<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        fn decide<F: Precision>(
            py: Python<'_>,
            machine: &Machine<F>,
            samples: &Samples<'_>,
            threads: usize,
        ) -> PyResult<Array2<f64>> {
            let rows = enter_briefly(|| F::held_out(samples)?.rows())?;
            let work = machine.work(rows.n_rows());
            enter::predict(py, threads, work, |watch| machine.decision(&rows, watch))
        }
        let samples = Samples::new("X", x)?;
        let values = each!(&self.0, machine => decide(py, machine, &samples, threads))?;
        Ok(values.into_pyarray(py))
    }

    /// The bytes that a pickle holds: those of a model file without labels.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = enter_briefly(|| {
            each!(&self.0, machine => Stored::wrap(machine.to_saved())).to_bytes()
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A machine from the bytes of `to_bytes`.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        enter_briefly(|| Self::from_saved(&mut AnySaved::from_bytes(bytes)?))
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

    /// Writes a model file.
    fn save(
        &self,
        path: PathBuf,
        description: &str,
        labels: Option<&Bound<'_, PyList>>,
        feature_names: Option<Vec<String>>,
        history: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let labels = convert::labels(labels)?;
        let mut curves = Vec::new();
        for (name, curve) in history {
            let curve: PyReadonlyArray1<'_, f64> = curve.extract()?;
            curves.push((name.extract()?, enter_briefly(|| contiguous(&curve))?.to_vec()));
        }
        enter_briefly(|| {
            let estimator = convert::description(description)?;
            each!(&self.0, machine => {
                let mut saved = machine.to_saved();
                (saved.labels, saved.estimator) = (labels, estimator);
                (saved.feature_names, saved.history) = (feature_names, curves);
                Stored::wrap(saved)
            })
            .save(&path)
        })
    }

    /// Reads a model file: (machine, description, labels, feature names, history).
    #[staticmethod]
    fn load<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Loaded<'py>> {
        let mut saved = py.detach(|| AnySaved::load(&path)).map_err(exception)?;
        let machine = enter_briefly(|| Self::from_saved(&mut saved))?;
        match saved {
            AnySaved::F32(saved) => loaded(py, machine, saved),
            AnySaved::F64(saved) => loaded(py, machine, saved),
        }
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

    /// Number of outputs.
    #[getter]
    fn n_outputs(&self) -> usize {
        each!(&self.0, machine => machine.n_outputs())
    }

    /// Number of features.
    #[getter]
    fn n_features(&self) -> usize {
        each!(&self.0, machine => machine.n_features())
    }

    /// The kernel's gamma (1 for the linear kernel, which has none).
    #[getter]
    fn gamma(&self) -> f64 {
        each!(&self.0, machine => machine.gamma())
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

    /// Offsets, shape (n_outputs,).
    #[getter]
    fn intercept<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        each!(&self.0, machine => machine.intercept()).into_pyarray(py)
    }
}

impl BudgetMachine {
    fn from_saved(saved: &mut AnySaved) -> Result<Self> {
        match saved {
            AnySaved::F32(saved) => Machine::from_saved(saved).map(f32::from_machine),
            AnySaved::F64(saved) => Machine::from_saved(saved).map(f64::from_machine),
        }
    }
}

type Loaded<'py> =
    (BudgetMachine, String, Option<Bound<'py, PyList>>, Option<Vec<String>>, Bound<'py, PyDict>);

fn loaded<F>(py: Python<'_>, machine: BudgetMachine, saved: Saved<F>) -> PyResult<Loaded<'_>> {
    let labels = convert::labels_to_python(py, &saved.labels)?;
    let history = convert::history(py, saved.history)?;
    Ok((machine, saved.estimator.to_string(), labels, saved.feature_names, history))
}
