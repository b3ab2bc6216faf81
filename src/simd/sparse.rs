//! One sparse point against columns that are held by feature: what each of its entries adds to the
//! columns that share the feature.
//!
//! A list is `(first, end, x)`: the entries `first..end` of the columns belong to the feature of
//! which the point holds `x`. The lists come in the order of the features, so a sum has the bits
//! that the block kernel gives the same rows written out: zeros add nothing.

use super::dispatch::{Level, compiled, level, primitives, same};
use super::emit::mapped;
use super::job::Map;
use super::lanes::{ExpConstants, Lanes, width};
use crate::float::Real;

primitives! {
    /// `sums_c += x v`, a chain of multiply-adds a column.
    pub(crate) fn scatter(lists: &[(usize, usize, F)], columns: &[u32], values: &[F], sums: &mut [F])
        = self::products::<F, L>;

    /// The same in `f64`, the same bits at every level.
    pub(crate) fn scatter_wide(
        lists: &[(usize, usize, F)],
        columns: &[u32],
        values: &[F],
        sums: &mut [f64]
    ) = self::wide_products::<F>;

    /// `sums_c += |x - v| - |x| - |v|` in `f64`.
    pub(crate) fn scatter_shared(
        lists: &[(usize, usize, F)],
        columns: &[u32],
        values: &[F],
        sums: &mut [f64]
    ) = self::shared::<F>;

    /// `max(0, x + n_c - 2 p_c)` in the place of the products p, for squared norms `x` and `n`.
    pub(crate) fn squares(products: &mut [F], x: F, norms: &[F]) = self::squares_of::<F, L>;

    /// What the map makes of distances (γ not yet included), whole lines of them.
    pub(crate) fn map_distances(distances: &mut [F], gamma: F, map: Map) = self::map_lines::<F, L>;
}

#[inline(always)]
unsafe fn products<F: Real, L: Lanes<F>>(
    lists: &[(usize, usize, F)],
    columns: &[u32],
    values: &[F],
    sums: &mut [F],
) {
    for &(first, end, x) in lists {
        for (&column, &value) in columns[first..end].iter().zip(&values[first..end]) {
            let sum = &mut sums[column as usize];
            // SAFETY: the features of `L` are enabled by the caller.
            *sum = unsafe { L::fma_one(x, value, *sum) };
        }
    }
}

#[inline(always)]
fn wide_products<F: Real>(
    lists: &[(usize, usize, F)],
    columns: &[u32],
    values: &[F],
    sums: &mut [f64],
) {
    for &(first, end, x) in lists {
        let x = Real::to_f64(x);
        for (&column, value) in columns[first..end].iter().zip(&values[first..end]) {
            sums[column as usize] += x * Real::to_f64(*value);
        }
    }
}

#[inline(always)]
fn shared<F: Real>(lists: &[(usize, usize, F)], columns: &[u32], values: &[F], sums: &mut [f64]) {
    for &(first, end, x) in lists {
        let x = Real::to_f64(x);
        for (&column, value) in columns[first..end].iter().zip(&values[first..end]) {
            let value = Real::to_f64(*value);
            let same_side = (x > 0.0) == (value > 0.0);
            sums[column as usize] -= if same_side { 2.0 * x.abs().min(value.abs()) } else { 0.0 };
        }
    }
}

#[inline(always)]
unsafe fn squares_of<F: Real, L: Lanes<F>>(products: &mut [F], x: F, norms: &[F]) {
    for (product, &norm) in products.iter_mut().zip(norms) {
        // SAFETY: the features of `L` are enabled by the caller.
        let square = unsafe { L::fma_one(*product, F::from_f64(-2.0), x + norm) };
        *product = if square > F::zero() { square } else { F::zero() };
    }
}

#[inline(always)]
unsafe fn map_lines<F: ExpConstants, L: Lanes<F>>(distances: &mut [F], gamma: F, map: Map) {
    for line in distances.chunks_exact_mut(width::<F>()) {
        let at = line.as_mut_ptr();
        // SAFETY: the chunk is a whole line; the features of `L` are enabled by the caller.
        unsafe { L::store(at, mapped::<F, L>(L::load(at), gamma, map)) };
    }
}
