//! Feature maps: fitted here, held as arrays by the Python estimators, rebuilt to transform.

use budgetsvm::data::Rows;
use budgetsvm::error::{Error, Result};
use budgetsvm::features::{
    FeatureMap, Fourier, FourierMap, IncompleteCholesky, LandmarkMap, Nystroem,
};
use budgetsvm::float::Real;
use budgetsvm::kernel::AnyKernel;
use budgetsvm::watch::Watch;
use numpy::{
    Element, IntoPyArray as _, PyArray2, PyArrayMethods as _, PyReadonlyArray1, PyReadonlyArray2,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Samples, contiguous, with_rows};
use crate::enter::{enter, enter_briefly, type_error};

/// `(name, gamma, coef0, degree)`.
pub(crate) type KernelParams = (String, f64, f64, u32);

/// The kernel of these parameters.
pub(crate) fn kernel((name, gamma, coef0, degree): &KernelParams) -> Result<AnyKernel> {
    AnyKernel::from_name(name, *gamma, *coef0, *degree)
}

/// Values, row-major, as a NumPy matrix of `columns` columns.
pub(crate) fn matrix<F: Element>(
    py: Python<'_>,
    values: Vec<F>,
    columns: usize,
) -> PyResult<Bound<'_, PyArray2<F>>> {
    let rows = values.len() / columns.max(1);
    values.into_pyarray(py).reshape([rows, columns])
}

/// The values of a C-ordered matrix.
pub(crate) fn flat<'a, F: Element>(array: &'a PyReadonlyArray2<'_, F>) -> Result<&'a [F]> {
    array.as_slice().map_err(|_| Error::InvalidData {
        what: "matrix",
        reason: "not in C order and aligned: copy it".into(),
    })
}

fn told<'py, F: Real + Element>(
    py: Python<'py>,
    map: &LandmarkMap<F>,
) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("components", matrix(py, map.landmarks().to_vec(), map.n_features())?)?;
    told.set_item("normalization", matrix(py, map.weights(), map.n_outputs())?)?;
    Ok(told)
}

/// Fits a Nyström map: `components` (landmarks) and `normalization`.
#[pyfunction]
pub(crate) fn nystroem_fit<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    config: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let config: Nystroem = crate::config::read(config)?;
    let samples = Samples::new("X", x)?;
    with_rows!(&samples, |rows| {
        let map = enter(py, threads, None, |watch| config.fit(&rows, watch))?;
        told(py, &map)
    })
}

/// Chooses pivots: `components`, `normalization`, `index`, `residual`, `trace`.
#[pyfunction]
pub(crate) fn cholesky_fit<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    config: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let config: IncompleteCholesky = crate::config::read(config)?;
    let samples = Samples::new("X", x)?;
    with_rows!(&samples, |rows| {
        let (map, pivots) = enter(py, threads, None, |watch| config.fit(&rows, watch))?;
        let told = told(py, &map)?;
        let index: Vec<i64> = pivots.index.iter().map(|&i| i as i64).collect();
        told.set_item("index", index.into_pyarray(py))?;
        told.set_item("residual", pivots.residual)?;
        told.set_item("trace", pivots.trace)?;
        Ok(told)
    })
}

/// Draws frequencies (m x d, float64) and phases for rows of `d` features.
#[pyfunction]
pub(crate) fn fourier_fit<'py>(
    py: Python<'py>,
    d: usize,
    config: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let config: Fourier = crate::config::read(config)?;
    let map = enter_briefly(|| config.fit::<f64>(d))?;
    let told = PyDict::new(py);
    told.set_item("frequencies", matrix(py, map.frequencies(), d)?)?;
    told.set_item("phases", map.phases().to_vec().into_pyarray(py))?;
    Ok(told)
}

/// Features of rows on landmarks, n x `width`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "positions of a private Python function")]
pub(crate) fn landmark_transform<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    kernel: KernelParams,
    components: &Bound<'py, PyAny>,
    normalization: &Bound<'py, PyAny>,
    width: usize,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let kernel = enter_briefly(|| self::kernel(&kernel))?;
    let samples = Samples::new("X", x)?;
    with_rows!(&samples, |rows| {
        let map = landmark_map(&rows, kernel, components, normalization)?;
        transform(py, &FeatureMap::Landmarks(map), &rows, width, threads)
    })
}

/// The map of these arrays, in the precision of the rows.
pub(crate) fn landmark_map<F: Real + Element>(
    _: &Rows<'_, F>,
    kernel: AnyKernel,
    components: &Bound<'_, PyAny>,
    normalization: &Bound<'_, PyAny>,
) -> PyResult<LandmarkMap<F>> {
    let landmarks: PyReadonlyArray2<'_, F> = components
        .extract()
        .map_err(|_| type_error("components_", "a matrix of X's own type", components))?;
    let weights: PyReadonlyArray2<'_, F> = normalization
        .extract()
        .map_err(|_| type_error("normalization_", "a matrix of X's own type", normalization))?;
    let (d, outputs) = (landmarks.as_array().ncols(), weights.as_array().ncols());
    enter_briefly(|| {
        let weights: Vec<f64> = flat(&weights)?.iter().map(|&w| w.to_f64()).collect();
        LandmarkMap::new(kernel, (flat(&landmarks)?, d), &weights, outputs)
    })
}

/// Fourier features of rows, n x `width`.
#[pyfunction]
pub(crate) fn fourier_transform<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    frequencies: PyReadonlyArray2<'py, f64>,
    phases: PyReadonlyArray1<'py, f64>,
    width: usize,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let samples = Samples::new("X", x)?;
    with_rows!(&samples, |rows| {
        let map = fourier_map(&rows, &frequencies, &phases)?;
        transform(py, &FeatureMap::Fourier(map), &rows, width, threads)
    })
}

/// The map of these arrays, in the precision of the rows.
pub(crate) fn fourier_map<F: Real + Element>(
    _: &Rows<'_, F>,
    frequencies: &PyReadonlyArray2<'_, f64>,
    phases: &PyReadonlyArray1<'_, f64>,
) -> PyResult<FourierMap<F>> {
    let d = frequencies.as_array().ncols();
    enter_briefly(|| FourierMap::new((flat(frequencies)?, d), contiguous(phases)?))
}

/// Values of fresh memory between two looks.
const FRESH: usize = 1 << 24;

fn transform<'py, F: Real + Element>(
    py: Python<'py>,
    map: &FeatureMap<F>,
    rows: &Rows<'_, F>,
    width: usize,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let out = enter(py, threads, None, |watch| {
        let len = rows.n_rows().saturating_mul(width);
        let mut out: Vec<F> = Vec::new();
        let bytes = len.saturating_mul(size_of::<F>());
        out.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { what: "features", bytes })?;
        // Fresh memory takes its time: in parts, so that a stop is seen.
        while out.len() < len {
            watch.unbroken(Watch::poll)?;
            out.resize(len.min(out.len() + FRESH), F::zero());
        }
        map.transform(rows, (&mut out, width), watch)?;
        Ok(out)
    })?;
    Ok(matrix(py, out, width)?.into_any())
}
