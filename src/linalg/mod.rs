//! Dense linear algebra: thin wrappers over faer, which always runs sequentially here (the
//! crate's own pool schedules the panels), and row-wise products that sum in `f64`.
//!
//! Matrices are row-major slices.

#[cfg(feature = "train")]
mod cholesky;
#[cfg(feature = "train")]
mod dense;
#[cfg(feature = "train")]
mod eigen;
#[cfg(feature = "train")]
mod gram;
mod lbfgs;
mod long;
mod pairs;
#[cfg(feature = "train")]
mod panels;
mod pivoted;
mod rows;
#[cfg(feature = "train")]
mod sides;
#[cfg(feature = "train")]
mod single;
#[cfg(test)]
mod tests;
#[cfg(feature = "train")]
mod tiles;
#[cfg(feature = "train")]
mod triangle;

pub(crate) use crate::simd::{add_scaled_rows, dots};
#[cfg(feature = "train")]
pub(crate) use cholesky::{ATTEMPTS, Cholesky, GROWTH};
#[cfg(feature = "train")]
pub(crate) use dense::{matrix, multiply, multiply_lower};
#[cfg(feature = "train")]
pub(crate) use eigen::symmetric_eigen;
#[cfg(feature = "train")]
pub(crate) use gram::GramAccumulator;
pub(crate) use lbfgs::{Descent, Lbfgs};
pub(crate) use long::{long_axpy, long_dot};
pub(crate) use pairs::Pairs;
pub(crate) use pivoted::{PivotedCholesky, pivoted_cholesky};
pub(crate) use rows::{axpy, dot, symmetric_times};
#[cfg(feature = "train")]
pub(crate) use sides::Sides;
#[cfg(feature = "train")]
pub(crate) use single::Single;
#[cfg(feature = "train")]
pub(crate) use tiles::Tiles;
#[cfg(feature = "train")]
pub(crate) use triangle::{lower, mirrored};
