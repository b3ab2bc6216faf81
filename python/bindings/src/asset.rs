//! Machines on explicit features: one call that trains, two that decide. What is learnt lives in
//! arrays of the Python estimator.

use budgetsvm::data::Rows;
use budgetsvm::error::Result;
use budgetsvm::estimator::{AssetConfig, AssetMachine, decide_expansion, decide_features};
use budgetsvm::features::FeatureMap;
use budgetsvm::float::Real;
use budgetsvm::kernel::AnyKernel;
use budgetsvm::solver::asset::State;
use numpy::{Element, IntoPyArray as _, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Samples, contiguous};
use crate::convert::Target;
use crate::enter::{enter, enter_briefly, exception, type_error};
use crate::features::{KernelParams, flat, fourier_map, kernel, landmark_map, matrix, with_rows};

fn get<'py>(from: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    from.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
}

/// Trains: `start` is None for a fit, a dictionary for a part of a stream (empty for the first).
#[pyfunction]
#[pyo3(signature = (config, x, y, n_classes, cost, *, start, notify, threads))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn asset_fit<'py>(
    py: Python<'py>,
    config: &str,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    n_classes: Option<usize>,
    cost: PyReadonlyArray1<'py, f64>,
    start: Option<Bound<'py, PyDict>>,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let config: AssetConfig = crate::config::read(config)?;
    let samples = Samples::new("X", x)?;
    let target = Target::new(y, n_classes)?;
    let (targets, cost) = enter_briefly(|| Ok((target.view()?, contiguous(&cost)?)))?;
    with_rows!(&samples, |rows| {
        let machine = match start {
            None => enter(py, threads, notify.as_ref(), |watch| {
                AssetMachine::fit(&config, &rows, targets, cost, watch)
            })?,
            Some(start) => {
                let start = match start.is_empty() {
                    true => None,
                    false => Some((map(&rows, config.kernel, &start)?, state(&start)?)),
                };
                enter(py, threads, notify.as_ref(), |watch| {
                    AssetMachine::partial_fit(&config, start, &rows, targets, cost, watch)
                })?
            }
        };
        told(py, machine)
    })
}

fn map<F: Real + Element>(
    rows: &Rows<'_, F>,
    kernel: AnyKernel,
    arrays: &Bound<'_, PyDict>,
) -> PyResult<FeatureMap<F>> {
    if arrays.contains("components")? {
        let (components, weights) = (get(arrays, "components")?, get(arrays, "normalization")?);
        return Ok(FeatureMap::Landmarks(landmark_map(rows, kernel, &components, &weights)?));
    }
    let frequencies: PyReadonlyArray2<'_, f64> = get(arrays, "frequencies")?.extract()?;
    let phases: PyReadonlyArray1<'_, f64> = get(arrays, "phases")?.extract()?;
    Ok(FeatureMap::Fourier(fourier_map(rows, &frequencies, &phases)?))
}

fn state(arrays: &Bound<'_, PyDict>) -> PyResult<State> {
    let matrix = |name: &str| -> PyResult<Vec<f64>> {
        let values: PyReadonlyArray2<'_, f64> = get(arrays, name)?.extract()?;
        enter_briefly(|| Ok(flat(&values)?.to_vec()))
    };
    let vector = |name: &str| -> PyResult<Vec<f64>> {
        let values: PyReadonlyArray1<'_, f64> = get(arrays, name)?.extract()?;
        enter_briefly(|| Ok(contiguous(&values)?.to_vec()))
    };
    Ok(State {
        weights: matrix("iterate")?,
        intercept: vector("iterate_intercept")?,
        steps: get(arrays, "steps")?.extract()?,
        samples: get(arrays, "samples")?.extract()?,
        gradient: get(arrays, "gradient")?.extract()?,
        mean: matrix("coef")?,
        mean_intercept: vector("intercept")?,
    })
}

fn told<F: Real + Element>(
    py: Python<'_>,
    machine: AssetMachine<F>,
) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    let width = machine.map.n_outputs();
    match &machine.map {
        FeatureMap::Landmarks(map) => {
            let outputs = machine.intercept.len();
            told.set_item("components", matrix(py, map.landmarks().to_vec(), map.n_features())?)?;
            told.set_item("normalization", matrix(py, map.weights(), width)?)?;
            told.set_item("dual_coef", matrix(py, map.expansion(&machine.coef), outputs)?)?;
        }
        FeatureMap::Fourier(map) => {
            told.set_item("frequencies", matrix(py, map.frequencies(), map.n_features())?)?;
            told.set_item("phases", map.phases().to_vec().into_pyarray(py))?;
        }
    }
    told.set_item("coef", matrix(py, machine.coef, width)?)?;
    told.set_item("intercept", machine.intercept.into_pyarray(py))?;
    if let Some(state) = machine.state {
        told.set_item("iterate", matrix(py, state.weights, width)?)?;
        told.set_item("iterate_intercept", state.intercept.into_pyarray(py))?;
        told.set_item("steps", state.steps)?;
        told.set_item("samples", state.samples)?;
        told.set_item("gradient", state.gradient)?;
    }
    told.set_item("n_iter", machine.n_iter)?;
    told.set_item("stop_reason", machine.stop.name())?;
    let time: Vec<f64> = machine.history.iter().map(std::time::Duration::as_secs_f64).collect();
    told.set_item("time", time.into_pyarray(py))?;
    told.set_item("objective", machine.objective)?;
    Ok(told)
}

/// Decision values, n x outputs, of an expansion on landmarks; `coef` is landmarks x outputs.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "positions of a private Python function")]
pub(crate) fn expansion_decide<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    kernel: KernelParams,
    components: &Bound<'py, PyAny>,
    coef: PyReadonlyArray2<'py, f64>,
    intercept: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let kernel = enter_briefly(|| self::kernel(&kernel))?;
    let samples = Samples::new("X", x)?;
    let (coef, intercept) = enter_briefly(|| Ok((flat(&coef)?, contiguous(&intercept)?)))?;
    let values = with_rows!(&samples, |rows| {
        let landmarks = same_type(&rows, components)?;
        let d = landmarks.as_array().ncols();
        let values = enter_briefly(|| flat(&landmarks))?;
        enter(py, threads, None, |watch| {
            let model = (coef, intercept);
            decide_expansion(kernel, (values, d), model, &rows, watch)
        })?
    });
    matrix(py, values, intercept.len())
}

fn same_type<'py, F: Real + Element>(
    _: &Rows<'_, F>,
    components: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArray2<'py, F>> {
    let bad = |_| type_error("components_", "a matrix of X's own type", components);
    components.extract().map_err(bad)
}

/// Decision values, n x outputs, of a linear machine on Fourier features; `coef` is outputs x D.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "positions of a private Python function")]
pub(crate) fn fourier_decide<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    frequencies: PyReadonlyArray2<'py, f64>,
    phases: PyReadonlyArray1<'py, f64>,
    coef: PyReadonlyArray2<'py, f64>,
    intercept: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let samples = Samples::new("X", x)?;
    let (coef, intercept) = enter_briefly(|| Ok((flat(&coef)?, contiguous(&intercept)?)))?;
    let values: Result<Vec<f64>> = with_rows!(&samples, |rows| {
        let map = FeatureMap::Fourier(fourier_map(&rows, &frequencies, &phases)?);
        Ok(enter(py, threads, None, |watch| {
            decide_features(&map, (coef, intercept), &rows, watch)
        })?)
    });
    matrix(py, values.map_err(exception)?, intercept.len())
}
