//! `Machine`: what every estimator holds. It never changes, so threads may share it; training
//! makes a new one.

use std::sync::Arc;

use budgetsvm::data::Rows;
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{self, AnyMachine, Precision};
use budgetsvm::features::FeatureMap;
use budgetsvm::kernel::AnyKernel;
use budgetsvm::model::Model;
use budgetsvm::model::persist::{Archive, Tensors};
use budgetsvm::online::Stream;
use budgetsvm::watch::Watch;
use ndarray::{Array2, Array3};
use numpy::{IntoPyArray as _, PyArray1, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::archive::arrays_of;
use crate::arrays::{Samples, with_rows};
use crate::calibrate;
use crate::enter::{self, enter_briefly, enter_here, exception};
use crate::features::{matrix, transform};
use crate::parts::{in_units, part_to_python, rows_to_python, scaling};

/// A trained machine of either precision.
#[pyclass(frozen, module = "budgetsvm._core")]
pub(crate) struct Machine(pub(crate) AnyMachine);

/// The same expression for a machine of either precision.
macro_rules! each {
    ($any:expr, $machine:ident => $body:expr) => {
        match &$any.0 {
            AnyMachine::F32($machine) => $body,
            AnyMachine::F64($machine) => $body,
        }
    };
}

/// The machine that training goes on with, which must be of the precision of the rows.
pub(crate) fn of_rows<F: Precision>(
    machine: Option<&Machine>,
) -> Result<Option<&estimator::Machine<F>>> {
    let Some(machine) = machine else { return Ok(None) };
    F::of_any(&machine.0).map(Some).ok_or_else(mixed)
}

pub(crate) fn mixed() -> Error {
    Error::Unsupported("X must have the precision of the machine".into())
}

/// The model that decides about these rows.
fn model_of<F: Precision>(_: &Rows<'_, F>, machine: &Machine) -> Result<Model<F>> {
    F::model_of(&machine.0)?.ok_or_else(mixed)
}

impl Machine {
    /// The model that decides about these rows, made of a stream first where training has left one.
    fn prepared<F: Precision>(&self, py: Python<'_>, rows: &Rows<'_, F>) -> PyResult<Model<F>> {
        self.made(py)?;
        enter_briefly(|| model_of(rows, self))
    }

    /// Makes the model of what a stream has learnt, which nobody has asked for yet.
    pub(crate) fn made(&self, py: Python<'_>) -> PyResult<()> {
        match each!(self, machine => machine.is_made()) {
            true => Ok(()),
            false => {
                enter_here(py, |watch| each!(self, machine => machine.prepare(watch).map(drop)))
            }
        }
    }
}

#[pymethods]
impl Machine {
    /// Decision values, shape (n_samples, n_outputs).
    fn decision_function<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let samples = Samples::new("X", x)?;
        let values: Array2<f64> = with_rows!(&samples, |rows| {
            let model = self.prepared(py, &rows)?;
            let work = model.work(rows.n_rows());
            enter::predict(py, threads, work, |watch| model.decide(&rows, watch))?
        });
        Ok(values.into_pyarray(py))
    }

    /// What is made of decision values, some rows at a time: "class" of most votes, shape
    /// (n_samples, 1); "votes" or "probabilities", shape (n_samples, n_classes).
    fn answers<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        answer: &str,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let samples = Samples::new("X", x)?;
        with_rows!(&samples, |rows| {
            let model = self.prepared(py, &rows)?;
            calibrate::answers(py, self, (&model, &rows), (answer, threads))
        })
    }

    /// Gradients of the decision values, shape (n_samples, n_outputs, n_features).
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let samples = Samples::new("X", x)?;
        let values: Array3<f64> = with_rows!(&samples, |rows| {
            let model = self.prepared(py, &rows)?;
            let work = model.gradient_work(rows.n_rows());
            enter::predict(py, threads, work, |watch| model.gradients(&rows, watch))?
        });
        Ok(values.into_pyarray(py))
    }

    /// The same machine with curves ("sigmoid", "isotonic" or "temperature") fitted to decision
    /// values, shape (n_samples, n_outputs), of samples of these classes (uint32) and weights.
    #[expect(clippy::too_many_arguments, reason = "those of a private Python method")]
    fn calibrated<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        values: PyReadonlyArray2<'py, f64>,
        classes: PyReadonlyArray1<'py, u32>,
        n_classes: usize,
        weights: PyReadonlyArray1<'py, f64>,
        threads: usize,
    ) -> PyResult<Self> {
        let (how, samples) = ((method, threads), (&values, &weights));
        calibrate::calibrated(py, self, how, samples, (&classes, n_classes))
    }

    /// The same machine with sigmoids 1/(1 + exp(a f + b)), rows (a, b), shape (n_outputs, 2).
    fn with_sigmoids(&self, curves: PyReadonlyArray2<'_, f64>, n_classes: usize) -> PyResult<Self> {
        calibrate::sigmoids(self, &curves, n_classes)
    }

    /// The same machine with a softmax of this sharpness.
    fn with_temperature(&self, sharpness: f64, n_classes: usize) -> PyResult<Self> {
        calibrate::temperature(self, sharpness, n_classes)
    }

    /// Probabilities of the classes, shape (n_samples, n_classes), of decision values: by its
    /// curves, else those of the logistic loss.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray2<'_, f64>,
        n_classes: usize,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        calibrate::probabilities(py, self, &values, (n_classes, threads))
    }

    /// The method of its curves and their number of classes, if it has curves.
    #[getter]
    fn calibration(&self) -> Option<(&'static str, usize)> {
        calibrate::described(self)
    }

    /// Features of rows, shape (n_samples, width): those of its map, and zeros.
    fn transform<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        width: usize,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let samples = Samples::new("X", x)?;
        with_rows!(&samples, |rows| {
            let model = self.prepared(py, &rows)?;
            let map = model.map().ok_or_else(|| Error::Unsupported("no feature map".into()));
            let map = map.map_err(exception)?;
            let Some(scaling) = model.scaling() else {
                return transform(py, map, &rows, width, threads);
            };
            let scaled = enter::predict(py, threads, rows.n_rows(), |watch| {
                scaling.scales().times_watched(&rows, &mut || watch.unbroken(Watch::glance))
            })?;
            transform(py, map, &scaled.rows().map_err(exception)?, width, threads)
        })
    }

    /// This machine, which was trained on scaled rows, for rows as they come; `given` are the
    /// points of its terms where they are rows of the user's.
    #[pyo3(signature = (scales, given=None))]
    fn scaled<'py>(
        &self,
        scales: PyReadonlyArray1<'py, f64>,
        given: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let given = given.map(|given| Samples::new("X", given)).transpose()?;
        enter_briefly(|| {
            Ok(Self(match &self.0 {
                AnyMachine::F32(machine) => {
                    AnyMachine::F32(machine.clone().scaled(scaling(&scales, given.as_ref())?)?)
                }
                AnyMachine::F64(machine) => {
                    AnyMachine::F64(machine.clone().scaled(scaling(&scales, given.as_ref())?)?)
                }
            }))
        })
    }

    /// The machine behind the scales: of scaled rows.
    fn behind(&self) -> Self {
        Self(match &self.0 {
            AnyMachine::F32(machine) => AnyMachine::F32(machine.behind()),
            AnyMachine::F64(machine) => AnyMachine::F64(machine.behind()),
        })
    }

    /// What the features are multiplied by, shape (n_features,); None where they are as they come.
    #[getter]
    fn scales<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        each!(self, machine => {
            let scales = machine.scaling().and_then(|scaling| scaling.scales().of_columns());
            scales.map(|scales| scales.to_vec().into_pyarray(py))
        })
    }

    /// The same machine without what its stream has learnt.
    fn without_summary(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py)?;
        enter_here(py, |_| {
            Ok(Self(match &self.0 {
                AnyMachine::F32(machine) => AnyMachine::F32(machine.without_summary()?),
                AnyMachine::F64(machine) => AnyMachine::F64(machine.without_summary()?),
            }))
        })
    }

    /// The model as a file holds it: JSON, and arrays by their paths.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyDict>)> {
        let section = enter_here(
            py,
            |_| each!(self, machine => machine.model().and_then(Model::to_section)),
        )?;
        let (fields, tensors) = section.into_parts();
        Ok((serde_json::Value::Object(fields).to_string(), arrays_of(py, tensors)?))
    }

    /// The bytes that a pickle holds: those of a file without an estimator.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = enter_here(py, |watch| {
            let look = &mut || watch.unbroken(Watch::glance);
            let estimator = serde_json::Value::Object(serde_json::Map::new());
            let machine = Some(self.0.to_section(look)?);
            Archive { estimator, arrays: Tensors::new(), machine }.into_bytes_watched(look)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A machine from the bytes of `to_bytes`.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        enter_here(py, |watch| {
            let look = &mut || watch.unbroken(Watch::glance);
            match Archive::from_bytes_watched(bytes, look)?.machine {
                Some(machine) => AnyMachine::from_section(machine).map(Self),
                None => Err(Error::Format("no machine".into())),
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
        self.0.precision()
    }

    /// Number of terms.
    #[getter]
    fn n_terms(&self, py: Python<'_>) -> PyResult<usize> {
        if self.state() == "recursive" {
            self.made(py)?;
        }
        Ok(each!(self, machine => machine.n_terms()))
    }

    /// Number of outputs.
    #[getter]
    fn n_outputs(&self) -> usize {
        each!(self, machine => machine.n_outputs())
    }

    /// Number of features.
    #[getter]
    fn n_features(&self) -> usize {
        each!(self, machine => machine.n_features())
    }

    /// The kernel's gamma (1 for the linear kernel, which has none).
    #[getter]
    fn gamma(&self) -> f64 {
        each!(self, machine => machine.kernel()).map_or(1.0, |kernel| kernel.gamma())
    }

    /// The kernel as JSON, "null" where kernel values are what rows consist of.
    #[getter]
    fn kernel(&self) -> PyResult<String> {
        let kernel: Option<AnyKernel> = each!(self, machine => machine.kernel());
        enter_briefly(|| {
            serde_json::to_string(&kernel).map_err(|e| Error::Format(format!("kernel: {e}")))
        })
    }

    /// Samples that training has seen.
    #[getter]
    fn seen(&self) -> u64 {
        each!(self, machine => machine.seen())
    }

    /// An exact machine with other coefficients of its support vectors.
    fn with_dual_coef(&self, py: Python<'_>, coef: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let coef = coef.as_array();
        enter_here(py, |_| {
            if let AnyMachine::F64(machine) = &self.0
                && let Model::Pairwise(model) = machine.model()?.behind()
            {
                let model = Model::Pairwise(Arc::new(model.with_coef(coef.to_owned())?));
                let model = match machine.scaling() {
                    Some(scaling) => model.scaled(Arc::clone(scaling))?,
                    None => model,
                };
                let machine = estimator::Machine::new(model, machine.state().clone());
                return Ok(Self(AnyMachine::F64(machine)));
            }
            Err(Error::Unsupported("dual_coef_ of this machine cannot be changed".into()))
        })
    }

    /// Whether its support vectors are sparse.
    #[getter]
    fn is_sparse(&self, py: Python<'_>) -> PyResult<bool> {
        self.made(py)?;
        enter_briefly(|| each!(self, machine => machine.model().map(Model::is_sparse)))
    }

    /// Whether it decides about float32 rows as well as these can be decided about.
    #[getter]
    fn takes_single(&self, py: Python<'_>) -> PyResult<bool> {
        self.made(py)?;
        enter_briefly(|| Ok(<f32 as Precision>::model_of(&self.0)?.is_some()))
    }

    /// Whether training can go on from it.
    #[getter]
    fn has_state(&self) -> bool {
        each!(self, machine => !matches!(machine.state(), estimator::State::None))
    }

    /// What training goes on from: "none", "passes", "recursive", "streams", "local" or
    /// "asset".
    #[getter]
    fn state(&self) -> &'static str {
        each!(self, machine => machine.state().name())
    }

    /// The online learner with its hyperparameters as JSON, "null" of another machine.
    #[getter]
    fn learner(&self) -> PyResult<String> {
        let json = each!(self, machine => match machine.state() {
            estimator::State::Online(streams) => {
                serde_json::to_string(&streams.first().map(Stream::learner))
            }
            _ => Ok("null".to_owned()),
        });
        enter_briefly(|| json.map_err(|e| Error::Format(format!("learner: {e}"))))
    }

    /// Support vectors of each class, of an exact machine; else nothing.
    #[getter]
    fn n_support(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        self.made(py)?;
        enter_briefly(|| {
            each!(self, machine => Ok(match machine.model()?.behind() {
                Model::Pairwise(model) => model.n_support().to_vec(),
                _ => Vec::new(),
            }))
        })
    }

    /// What the model is: "expansion", "each", "pairwise", "features", "linear" or "cells".
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.made(py)?;
        enter_briefly(|| each!(self, machine => machine.model().map(Model::kind)))
    }

    /// Points of the terms: a matrix, (data, indices, indptr, n_features) of sparse ones, or None.
    #[getter]
    fn support_vectors<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.made(py)?;
        each!(self, machine => {
            let rows = enter_here(py, |_| machine.model()?.support_vectors())?;
            rows.map(|rows| rows_to_python(py, rows)).transpose()
        })
    }

    /// Coefficients, shape (n_outputs, n_terms), or (n_classes - 1, n_terms) of pairs.
    #[getter]
    fn dual_coef<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.made(py)?;
        let coef =
            enter_here(py, |_| each!(self, machine => machine.model().map(Model::dual_coef)))?;
        Ok(coef.into_pyarray(py))
    }

    /// Weights of features, shape (n_outputs, features); no columns for a machine of terms.
    #[getter]
    fn coef<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.made(py)?;
        let coef = enter_here(py, |_| each!(self, machine => machine.model().map(Model::coef)))?;
        Ok(coef.into_pyarray(py))
    }

    /// Offsets, shape (n_outputs,).
    #[getter]
    fn intercept<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.made(py)?;
        let of = || each!(self, machine => machine.model().map(Model::intercept));
        Ok(enter_briefly(of)?.into_pyarray(py))
    }

    /// Features that its map makes of a row, 0 without a map.
    #[getter]
    fn map_width(&self, py: Python<'_>) -> PyResult<usize> {
        self.made(py)?;
        enter_briefly(
            || each!(self, machine => Ok(machine.model()?.map().map_or(0, FeatureMap::n_outputs))),
        )
    }

    /// An array of the feature map: "components" and "normalization", or "frequencies" and
    /// "phases"; None for another name.
    fn map_part<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.made(py)?;
        each!(self, machine => part_to_python(py, machine.model().map_err(exception)?, name))
    }

    /// Terms of each cell.
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let sizes = enter_briefly(|| each!(self, machine => machine.sizes()))?;
        Ok(sizes.into_iter().map(|n| n as u64).collect::<Vec<_>>().into_pyarray(py))
    }

    /// Features that its cells see of a row, 0 without cells.
    #[getter]
    fn cell_width(&self, py: Python<'_>) -> PyResult<usize> {
        self.made(py)?;
        enter_briefly(|| {
            each!(self, machine => Ok(match machine.model()?.behind() {
                Model::Cells(model) => model.n_inner_features(),
                _ => 0,
            }))
        })
    }

    /// Cell centres, shape (n_cells, n_features); None without cells.
    #[getter]
    fn centers<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.made(py)?;
        each!(self, machine => {
            let whole = machine.model().map_err(exception)?;
            match whole.behind() {
                Model::Cells(model) => {
                    let centers = in_units(whole, model.centers()).map_err(exception)?;
                    Ok(Some(matrix(py, centers, model.n_features())?.into_any()))
                }
                _ => Ok(None),
            }
        })
    }
}
