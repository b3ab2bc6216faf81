//! Dense linear algebra: thin wrappers over faer, which always runs sequentially here (the
//! crate's own pool schedules the panels), and row-wise products that sum in `f64`.
//!
//! Matrices are row-major slices.

mod cholesky;
mod eigen;
mod gram;
mod lbfgs;
mod pivoted;
mod rows;
#[cfg(test)]
mod tests;

pub(crate) use crate::simd::{add_scaled_rows, dots};
pub(crate) use cholesky::Cholesky;
pub(crate) use eigen::symmetric_eigen;
pub(crate) use gram::GramAccumulator;
pub(crate) use lbfgs::{Descent, Lbfgs};
pub(crate) use pivoted::pivoted_cholesky;
pub(crate) use rows::{axpy, dot, dot64, symmetric_times};
