//! `LocalMachine`: the trained divide-and-conquer machine. It never changes; training makes a new
//! one.

use budgetsvm::data::Problem;
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{LocalConfig, LocalMachine as Machine, local_precision};
use budgetsvm::float::Real;
use budgetsvm::model::persist::Archive;
use numpy::ndarray::Array2;
use numpy::{Element, IntoPyArray as _, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::arrays::{Samples, Storage, contiguous};
use crate::convert;
use crate::enter::{enter, enter_briefly, exception, type_error};

/// The trained machine, of either precision.
#[pyclass(frozen, module = "budgetsvm._core")]
pub(crate) struct LocalMachine(Any);

enum Any {
    F32(Machine<f32>),
    F64(Machine<f64>),
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

/// Machines of one precision, seen as machines of any.
trait Precision: Real + Element {
    fn pick(machine: &LocalMachine) -> Result<&Machine<Self>>;
    fn wrap(machine: Machine<Self>) -> LocalMachine;
}

fn mixed<T>() -> Result<T> {
    Err(Error::Unsupported("X must have the precision of the machine".into()))
}

impl Precision for f32 {
    fn pick(machine: &LocalMachine) -> Result<&Machine<Self>> {
        if let Any::F32(machine) = &machine.0 { Ok(machine) } else { mixed() }
    }

    fn wrap(machine: Machine<Self>) -> LocalMachine {
        LocalMachine(Any::F32(machine))
    }
}

impl Precision for f64 {
    fn pick(machine: &LocalMachine) -> Result<&Machine<Self>> {
        if let Any::F64(machine) = &machine.0 { Ok(machine) } else { mixed() }
    }

    fn wrap(machine: Machine<Self>) -> LocalMachine {
        LocalMachine(Any::F64(machine))
    }
}

type Trained<'py> = PyResult<(LocalMachine, Bound<'py, PyDict>)>;

#[pymethods]
impl LocalMachine {
    /// Trains from the start, around `centers` when they are given, or goes on from `start` with
    /// the rows as they stand when `stream` is True: (machine, report).
    #[staticmethod]
    #[pyo3(signature = (config, x, y, n_classes, cost, *, centers, start, stream, notify, threads))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
    fn train<'py>(
        py: Python<'py>,
        config: &str,
        x: &Bound<'py, PyAny>,
        y: PyReadonlyArray1<'py, u32>,
        n_classes: usize,
        cost: PyReadonlyArray1<'py, f64>,
        centers: Option<&Bound<'py, PyAny>>,
        start: Option<&Self>,
        stream: bool,
        notify: Option<Bound<'py, PyAny>>,
        threads: usize,
    ) -> Trained<'py> {
        let config = crate::config::read(config)?;
        let labels = convert::Target::Classes(y, n_classes);
        let call = Call { config, labels, cost, stream, notify, threads };
        match &Samples::new("X", x)? {
            Samples::F32(storage) => call.train(py, storage, centers, start),
            Samples::F64(storage) => call.train(py, storage, centers, start),
        }
    }

    /// Decision values, shape (n_samples, n_outputs).
    fn decision_function<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        fn decide<F: Real + Element>(
            py: Python<'_>,
            machine: &Machine<F>,
            storage: &Storage<'_, F>,
            threads: usize,
        ) -> PyResult<Array2<f64>> {
            let rows = enter_briefly(|| storage.rows())?;
            enter(py, threads, None, |watch| machine.decision(&rows, watch))
        }
        let values = match (&self.0, &Samples::new("X", x)?) {
            (Any::F32(machine), Samples::F32(storage)) => decide(py, machine, storage, threads)?,
            (Any::F64(machine), Samples::F64(storage)) => decide(py, machine, storage, threads)?,
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
            if local_precision(&archive)? == f32::NAME {
                Machine::from_archive(archive).map(f32::wrap)
            } else {
                Machine::from_archive(archive).map(f64::wrap)
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

    /// Number of features.
    #[getter]
    fn n_features(&self) -> usize {
        each!(&self.0, machine => machine.model().n_features())
    }

    /// Number of outputs.
    #[getter]
    fn n_outputs(&self) -> usize {
        each!(&self.0, machine => machine.model().n_outputs())
    }

    /// The kernel's gamma (1 for the linear kernel, which has none).
    #[getter]
    fn gamma(&self) -> f64 {
        each!(&self.0, machine => machine.model().local().kernel.gamma())
    }

    /// Samples learnt from.
    #[getter]
    fn seen(&self) -> u64 {
        each!(&self.0, machine => machine.model().seen())
    }

    /// Support vectors of each cell.
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        let sizes = each!(&self.0, machine => machine.sizes());
        sizes.into_iter().map(|n| n as u64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Cell centres, shape (n_cells, n_features).
    #[getter]
    fn centers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        each!(&self.0, machine => {
            let (values, d) = (machine.model().centers(), machine.model().n_features());
            let shaped = Array2::from_shape_vec((values.len() / d.max(1), d), values);
            let shaped = shaped
                .map_err(|_| Error::LengthMismatch { what: "centers", expected: d, got: 0 })
                .map_err(exception)?;
            Ok(shaped.into_pyarray(py).into_any())
        })
    }
}

/// Everything that a training call takes, borrowed from Python.
struct Call<'py> {
    config: LocalConfig,
    labels: convert::Target<'py>,
    cost: PyReadonlyArray1<'py, f64>,
    stream: bool,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
}

impl<'py> Call<'py> {
    fn train<F: Precision>(
        &self,
        py: Python<'py>,
        storage: &Storage<'py, F>,
        centers: Option<&Bound<'py, PyAny>>,
        start: Option<&LocalMachine>,
    ) -> Trained<'py> {
        let start = start.map(F::pick).transpose().map_err(exception)?;
        let expected = "a C-ordered matrix of the precision of X";
        let centers: Option<PyReadonlyArray2<'py, F>> = centers
            .map(|given| given.extract().map_err(|_| type_error("centers", expected, given)))
            .transpose()?;
        let centers = match &centers {
            Some(array) => Some(array.as_slice().map_err(|_| {
                exception(Error::InvalidData { what: "centers", reason: "copy it".into() })
            })?),
            None => None,
        };
        let (rows, labels, cost) =
            enter_briefly(|| Ok((storage.rows()?, self.labels.view()?, contiguous(&self.cost)?)))?;
        let (config, stream) = (&self.config, self.stream);
        let (machine, report) = enter(py, self.threads, self.notify.as_ref(), |watch| {
            let problem = Problem::new(rows, labels, cost)?;
            if stream {
                Machine::partial_fit(config, &problem, start, watch)
            } else {
                Machine::fit(config, &problem, centers, watch)
            }
        })?;
        Ok((F::wrap(machine), convert::report(py, report)?))
    }
}
