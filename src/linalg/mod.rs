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

pub use crate::simd::{add_scaled_rows, dots};
pub use cholesky::Cholesky;
pub use eigen::{SymmetricEigen, symmetric_eigen};
pub use gram::GramAccumulator;
pub use lbfgs::{Descent, Lbfgs};
pub use pivoted::{PivotedCholesky, pivoted_cholesky};
pub use rows::{axpy, dot, dot64, symmetric_times};
