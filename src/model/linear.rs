//! A linear machine: weights of the features.

use super::chunks::in_chunks;
use crate::data::{Point, Rows, check_finite};
use crate::error::{Error, Result, check_len};
use crate::float::Real;
use crate::simd::dots;

/// `f_c(x) = w_c·x + b_c`, in double precision whatever the rows are of.
///
/// *Cost* of a prediction: O(d) a row and output, or O(stored entries).
#[derive(Clone, Debug, PartialEq)]
pub struct LinearModel {
    n_features: usize,
    /// outputs x d.
    coef: Vec<f64>,
    intercept: Vec<f64>,
}

impl LinearModel {
    /// A model of weights, outputs x d row by row, and an offset an output.
    ///
    /// # Errors
    /// `LengthMismatch`, `NonFinite`, `InvalidData` without an output or a feature.
    pub fn new(coef: Vec<f64>, intercept: Vec<f64>) -> Result<Self> {
        let outputs = intercept.len();
        let n_features = coef.len().checked_div(outputs).unwrap_or(0);
        if n_features == 0 {
            let reason = "a model has at least one feature and one output".into();
            return Err(Error::InvalidData { what: "model", reason });
        }
        check_len("coef", n_features * outputs, coef.len())?;
        check_finite("coef", &coef, 1)?;
        check_finite("intercept", &intercept, 1)?;
        Ok(Self { n_features, coef, intercept })
    }

    /// Number of features d.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.intercept.len()
    }

    /// Weights, outputs x d row by row.
    #[must_use]
    pub fn coef(&self) -> &[f64] {
        &self.coef
    }

    /// Offsets, one an output.
    #[must_use]
    pub fn intercept(&self) -> &[f64] {
        &self.intercept
    }

    /// Decision values, n x outputs, in parallel inside the current pool.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch` of `out`.
    pub fn decision<F: Real>(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        let (d, outputs) = (self.n_features, self.n_outputs());
        in_chunks((rows, d), (out, outputs), self.coef.len(), |scratch, first, out| {
            let row = &mut scratch.values;
            for (i, out) in out.chunks_exact_mut(outputs).enumerate() {
                match rows.point(first + i) {
                    Point::Dense(values) => {
                        let values = values.to_slice().unwrap_or_else(|| {
                            row.resize(d, F::zero());
                            rows.copy_row(first + i, row);
                            row
                        });
                        for (f, w) in out.iter_mut().zip(self.coef.chunks_exact(d)) {
                            dots(values, w, std::slice::from_mut(f));
                        }
                    }
                    Point::Sparse(csr, row) => {
                        out.fill(0.0);
                        csr.for_each(row, |column, value| {
                            let value = Real::to_f64(value);
                            for (c, f) in out.iter_mut().enumerate() {
                                *f += self.coef[c * d + column] * value;
                            }
                        });
                    }
                }
                out.iter_mut().zip(&self.intercept).for_each(|(f, b)| *f += b);
            }
        })
    }
}
