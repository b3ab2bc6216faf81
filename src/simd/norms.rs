//! Squared norms, summed as the block kernel sums a product.

use super::dispatch::{Level, compiled, level, primitives, same};
use super::slices;
use crate::float::Real;

#[cfg(doc)]
use super::lanes::PART;

primitives! {
    /// `Σ v²` of rows of `d` values, each as a chain of multiply-adds in order: what the block
    /// kernel computes for a point and itself.
    pub(crate) fn sq_norms(rows: &[F], d: usize, out: &mut [F]) = slices::sq_norms::<F, L>;

    /// The same in parts of [`PART`] features, which are added.
    pub(super) fn part_norms(rows: &[F], d: usize, out: &mut [F]) = slices::part_norms::<F, L>;

    /// Both of one row.
    pub(super) fn both_norms(row: &[F]) -> [F; 2] = slices::both_norms::<F, L>;

    /// Makes a line's number of rows the lanes of the lines of a block, and writes their
    /// [`sq_norms`] and [`part_norms`].
    pub(super) fn interleave(rows: &[F], lines: &mut [F], norms: [&mut [F]; 2]) = slices::interleave::<F, L>;
}

/// The squared norm of one row, as [`sq_norms`] sums it.
pub(crate) fn sq_norm<F: Real>(values: &[F]) -> F {
    let mut out = [F::zero()];
    sq_norms(values, values.len(), &mut out);
    out[0]
}
