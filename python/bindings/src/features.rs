//! Feature maps: fitted here, held as machines without outputs.

use std::sync::Arc;

use budgetsvm::data::Rows;
use budgetsvm::error::{Error, Result, check_room};
use budgetsvm::estimator::{self, Precision, SelectedRows, State};
use budgetsvm::features::{FeatureMap, Fourier, IncompleteCholesky, Nystroem};
use budgetsvm::float::Real;
use budgetsvm::model::{FeatureModel, Model};
use budgetsvm::watch::Watch;
use numpy::{Element, IntoPyArray as _, PyArray1, PyArray2, PyArrayMethods as _, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Samples, with_rows};
use crate::enter::{enter, enter_briefly, exception};
use crate::machine::Machine;
use crate::train::Trained;

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

/// Numbers of rows, as NumPy has them.
fn places(py: Python<'_>, rows: Vec<usize>) -> PyResult<Bound<'_, PyArray1<i64>>> {
    let out = PyArray1::zeros(py, rows.len(), false);
    out.readwrite().as_slice_mut()?.iter_mut().zip(rows).for_each(|(to, i)| *to = i as i64);
    Ok(out)
}

/// Fits a feature map, "nystroem", "cholesky" or "fourier": a machine without outputs, and what is
/// told of landmarks (`index`) and of pivots (`residual`, `trace`).
#[pyfunction]
pub(crate) fn map_fit<'py>(
    py: Python<'py>,
    family: &str,
    config: &str,
    x: &Bound<'py, PyAny>,
    threads: usize,
) -> Trained<'py> {
    let samples = Samples::new("X", x)?;
    let told = PyDict::new(py);
    with_rows!(&samples, |rows| {
        let (map, kernel, selected) = match family {
            "nystroem" => {
                let config: Nystroem = crate::config::read(config)?;
                let (map, chosen, rows) = enter(py, threads, None, |watch| {
                    let look = &mut || watch.unbroken(Watch::glance);
                    let selected = SelectedRows::new(&rows, config.kernel, look)?;
                    let (map, chosen) = config.fit(&selected.rows(&rows)?, watch)?;
                    Ok((map, chosen, selected))
                })?;
                told.set_item("index", places(py, chosen)?)?;
                (FeatureMap::Landmarks(map), config.kernel, rows)
            }
            "cholesky" => {
                let config: IncompleteCholesky = crate::config::read(config)?;
                let (map, pivots, rows) = enter(py, threads, None, |watch| {
                    let look = &mut || watch.unbroken(Watch::glance);
                    let selected = SelectedRows::new(&rows, config.kernel, look)?;
                    let (map, pivots) = config.fit(&selected.rows(&rows)?, watch)?;
                    Ok((map, pivots, selected))
                })?;
                told.set_item("index", places(py, pivots.index)?)?;
                told.set_item("residual", pivots.residual)?;
                told.set_item("trace", pivots.trace)?;
                (FeatureMap::Landmarks(map), config.kernel, rows)
            }
            "fourier" => {
                let config: Fourier = crate::config::read(config)?;
                let d = rows.n_cols();
                let map = enter(py, threads, None, |watch| config.fit(d, watch))?;
                (FeatureMap::Fourier(map), config.kernel, SelectedRows::none())
            }
            _ => return Err(exception(Error::Unsupported(format!("no features '{family}'")))),
        };
        let machine = enter_briefly(|| {
            let model = FeatureModel::new((map, kernel), Vec::new(), Vec::new(), false)?;
            let machine = estimator::Machine::new(Model::Features(Arc::new(model)), State::None);
            selected.machine(machine)
        })?;
        Ok((Machine(Precision::any(machine)), told))
    })
}

/// Values of fresh memory between two looks.
const FRESH: usize = 1 << 24;

/// Features of rows, n x `width`.
pub(crate) fn transform<'py, F: Real + Element>(
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
        check_room("features", 0)?;
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
