//! Products of rows and weights, dense and sparse.

use crate::data::{Point, Rows};
use crate::float::Real;
use crate::linalg::{axpy, dot};
use crate::parallel;

/// The squared norm of every row.
pub(super) fn norms<F: Real>(rows: &Rows<'_, F>) -> Vec<f64> {
    parallel::map(rows.n_rows(), &|i| match rows.point(i) {
        Point::Dense(x) => x.iter().map(|v| Real::to_f64(*v).powi(2)).sum(),
        Point::Sparse(csr, row) => {
            let mut sum = 0.0;
            csr.for_each(row, |_, v| sum += v.to_f64().powi(2));
            sum
        }
    })
}

/// Adds so many times a row to `sum`.
pub(super) fn add_to<F: Real>(point: Point<'_, F>, r: f64, sum: &mut [f64]) {
    match point {
        Point::Dense(x) => match x.as_slice() {
            Some(x) => axpy(r, x, sum),
            None => sum.iter_mut().zip(x).for_each(|(s, v)| *s += r * Real::to_f64(*v)),
        },
        Point::Sparse(csr, row) => csr.for_each(row, |j, v| sum[j] += r * v.to_f64()),
    }
}

/// The product of row i and v.
pub(super) fn row_times<F: Real>(rows: &Rows<'_, F>, i: usize, v: &[f64]) -> f64 {
    match rows.point(i) {
        Point::Dense(x) => match x.as_slice() {
            Some(x) => dot(x, v),
            None => x.iter().zip(v).map(|(x, v)| Real::to_f64(*x) * v).sum(),
        },
        Point::Sparse(csr, row) => {
            let mut sum = 0.0;
            csr.for_each(row, |column, x| sum += x.to_f64() * v[column]);
            sum
        }
    }
}
