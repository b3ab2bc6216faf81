//! What a machine is made of, to and from Python's arrays.

use std::sync::Arc;

use budgetsvm::data::{Gathered, Scales};
use budgetsvm::error::{Error, Result};
use budgetsvm::features::FeatureMap;
use budgetsvm::model::{Model, Scaling};
use numpy::{IntoPyArray as _, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::arrays::{Float, Samples};
use crate::enter::exception;
use crate::features::matrix;
use crate::machine::mixed;

/// Rows as NumPy holds them: a matrix, or (data, indices, indptr, n_features).
pub(crate) fn rows_to_python<F: Float>(
    py: Python<'_>,
    rows: Gathered<F>,
) -> PyResult<Bound<'_, PyAny>> {
    Ok(match rows {
        Gathered::Dense(rows) => rows.into_pyarray(py).into_any(),
        Gathered::Csr { values, columns, starts, n_cols } => {
            let (columns, starts) = (columns.into_pyarray(py), starts.into_pyarray(py));
            (values.into_pyarray(py), columns, starts, n_cols).into_pyobject(py)?.into_any()
        }
    })
}

/// An array of a model's feature map in the user's units, if it has one of this name.
pub(crate) fn part_to_python<'py, F: Float>(
    py: Python<'py>,
    model: &Model<F>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(map) = model.map() else { return Ok(None) };
    Ok(Some(match (map, name) {
        (FeatureMap::Landmarks(map), "components") => {
            let points = Gathered::from_values(map.landmarks().to_vec(), map.n_features());
            let points = points.map_err(exception)?;
            match model.scaling() {
                Some(scaling) => rows_to_python(py, scaling.scales().undone(points))?,
                None => rows_to_python(py, points)?,
            }
        }
        (FeatureMap::Landmarks(map), "normalization") => {
            matrix(py, map.weights().map_err(exception)?, map.n_outputs())?.into_any()
        }
        (FeatureMap::Fourier(map), "frequencies") => {
            let mut frequencies = map.frequencies().map_err(exception)?;
            if let Some(scaling) = model.scaling() {
                let scales = scaling.scales().values();
                for row in frequencies.chunks_exact_mut(scales.len()) {
                    row.iter_mut().zip(scales).for_each(|(f, w)| *f *= w);
                }
            }
            matrix(py, frequencies, map.n_features())?.into_any()
        }
        (FeatureMap::Fourier(map), "phases") => map.phases().to_vec().into_pyarray(py).into_any(),
        _ => return Ok(None),
    }))
}

/// Factors of the features, and the rows that terms are, as a machine of this precision has them.
pub(crate) fn scaling<F: Float>(
    scales: &PyReadonlyArray1<'_, f64>,
    given: Option<&Samples<'_>>,
) -> Result<Arc<Scaling<F>>> {
    let given = match given {
        Some(samples) => {
            let rows = F::of(samples).ok_or_else(mixed)?.rows()?;
            let all: Vec<usize> = (0..rows.n_rows()).collect();
            Some(Gathered::new(&rows, &all)?)
        }
        None => None,
    };
    Ok(Arc::new(Scaling::new(Scales::new(scales.as_array().to_vec())?, given)?))
}

/// Points, row by row, in the user's units.
pub(crate) fn in_units<F: Float>(model: &Model<F>, points: Vec<F>) -> Result<Vec<F>> {
    let Some(scaling) = model.scaling() else { return Ok(points) };
    let width = scaling.scales().values().len();
    match scaling.scales().undone(Gathered::from_values(points, width)?).into_dense()? {
        Gathered::Dense(rows) => Ok(rows.into_raw_vec_and_offset().0),
        Gathered::Csr { .. } => Err(Error::Unsupported("sparse centres".into())),
    }
}
