//! Coded rows, which the search has in single precision, and the kernels that it knows.

use crate::error::Result;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::simd::zeroed;

/// Rows of numbers, one after another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid<F = f32> {
    pub(crate) values: Vec<F>,
    pub(crate) columns: usize,
}

impl<F: Real> Grid<F> {
    /// So many rows of zeros.
    pub(crate) fn zeros(what: &'static str, rows: usize, columns: usize) -> Result<Self> {
        Ok(Self { values: zeroed(what, rows.saturating_mul(columns))?, columns })
    }

    /// Rounded to the precision of the grid.
    pub(crate) fn of_doubles(values: &[f64], columns: usize) -> Self {
        Self { values: values.iter().map(|&v| F::from_f64(v)).collect(), columns }
    }

    pub(crate) fn rows(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or(0)
    }

    pub(crate) fn row(&self, i: usize) -> &[F] {
        &self.values[i * self.columns..][..self.columns]
    }

    /// The rows `first..last`.
    pub(crate) fn range(&self, first: usize, last: usize) -> Result<Self> {
        let mut part = Self::zeros("rows", last - first, self.columns)?;
        part.values.copy_from_slice(&self.values[first * self.columns..last * self.columns]);
        Ok(part)
    }

    /// Every column times its scale.
    pub(crate) fn scaled(&self, scales: &[f64]) -> Result<Self> {
        let scales: Vec<F> = scales.iter().map(|&w| F::from_f64(w)).collect();
        let mut out = Self::zeros("scaled rows", self.rows(), self.columns)?;
        let pairs = out.values.chunks_exact_mut(self.columns);
        for (to, from) in pairs.zip(self.values.chunks_exact(self.columns)) {
            for ((to, &from), &scale) in to.iter_mut().zip(from).zip(&scales) {
                *to = from * scale;
            }
        }
        Ok(out)
    }

    /// Columns as rows.
    pub(crate) fn transposed(&self) -> Result<Self> {
        let (n, d) = (self.rows(), self.columns);
        let mut out = Self::zeros("columns", d, n)?;
        // Some rows at a time stay near the processor.
        for first in (0..n).step_by(16) {
            let last = (first + 16).min(n);
            for k in 0..d {
                for (to, i) in out.values[k * n + first..k * n + last].iter_mut().zip(first..) {
                    *to = self.values[i * d + k];
                }
            }
        }
        Ok(out)
    }
}

/// The kernels `exp(-D)` of a distance of scaled rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Of the squared distance.
    Gaussian,
    /// Of the sum of absolute differences.
    Laplacian,
}

impl Shape {
    /// The kernel with γ = 1, for rows that are scaled.
    pub(crate) fn kernel(self) -> AnyKernel {
        match self {
            Self::Gaussian => AnyKernel::Gaussian { gamma: 1.0 },
            Self::Laplacian => AnyKernel::Laplacian { gamma: 1.0 },
        }
    }

    /// What scales are multiplied by in place of the distance by `gamma`.
    pub(crate) fn scale_of(self, gamma: f64) -> f64 {
        match self {
            Self::Gaussian => gamma.sqrt(),
            Self::Laplacian => gamma,
        }
    }
}
