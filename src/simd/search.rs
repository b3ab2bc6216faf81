//! Searches in slices of coefficients and distances: what budget maintenance asks of a level.

use super::dispatch::{Anchored as _, cast_slice, cast_slice_mut, concrete, level};
use super::packed::Packed;
use super::slices;
use crate::float::Real;

/// Index of the value of least magnitude, the first of equals; 0 for an empty slice.
#[must_use]
pub(crate) fn least_magnitude(values: &[f64]) -> usize {
    // SAFETY: the level is the processor's.
    unsafe { slices::LeastMagnitude(values).at(level()) }
}

/// Index of the first value that is at most `limit`; the last index when none is, 0 for an empty
/// slice.
#[must_use]
pub(crate) fn first_at_most<F: Real>(values: &[F], limit: F) -> usize {
    concrete!(F, |T| {
        let limit = T::from_f64(Real::to_f64(limit));
        // SAFETY: `T` is `F`; the level is the processor's.
        unsafe { slices::FirstAtMost::<T> { values: cast_slice(values), limit }.at(level()) }
    })
}

/// Appends the indices of the values that are at most `limit` to `found`.
pub(crate) fn indices_at_most<F: Real>(values: &[F], limit: F, found: &mut Vec<usize>) {
    concrete!(F, |T| {
        let limit = T::from_f64(Real::to_f64(limit));
        // SAFETY: `T` is `F`; the level is the processor's.
        unsafe {
            let work = slices::AtMost::<T> { values: cast_slice(values), limit, found };
            work.at(level());
        }
    });
}

/// The least value; infinity for an empty slice.
#[must_use]
pub(crate) fn least<F: Real>(values: &[F]) -> F {
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the level is the processor's.
        let least = unsafe { slices::Least::<T>(cast_slice(values)).at(level()) };
        F::from_f64(Real::to_f64(least))
    })
}

/// Asks the processor to bring `value` near, for a read soon to come; changes nothing else.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which never faults; SSE is part of every x86-64 processor.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Writes the distances `row` of those terms whose coefficient has the sign of `own` to `out`,
/// infinity for the others, and returns the least. A zero counts by its sign bit: no term of
/// coefficient 0 is there when `own` is the smallest coefficient and not 0.
pub(crate) fn same_sign_distances<F: Real>(coef: &[f64], own: f64, row: &[F], out: &mut [F]) -> F {
    assert!(coef.len() == out.len() && row.len() >= out.len(), "equal lengths");
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the level is the processor's.
        let least = unsafe {
            let work =
                slices::SameSign::<T> { coef, own, row: cast_slice(row), out: cast_slice_mut(out) };
            work.at(level())
        };
        F::from_f64(Real::to_f64(least))
    })
}

/// Least squared weight degradation, in units of the smaller coefficient's square, of merging
/// terms with coefficient ratios `ratio >= 1` at distances `g` (Gaussian; see
/// [`crate::budget`]), written over `ratio`. Lengths are whole lines.
pub(crate) fn merge_degradations<F: Real>(g: &[F], ratio: &mut [F]) {
    assert!(g.len() == ratio.len() && g.len().is_multiple_of(Packed::<F>::line()), "padded rows");
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the lengths were just checked; the level is the processor's.
        unsafe {
            let work = slices::Degradations::<T> { g: cast_slice(g), ratio: cast_slice_mut(ratio) };
            work.at(level());
        }
    });
}

/// For every partner `j` at distance `g_j` the largest `A u² + D_j v² + 2 P_j u v` over a grid of
/// `h` in [0, 1], with `u = exp(-g h²)`, `v = exp(-g (1-h)²)`: the squared norm of the merged
/// coefficients of several outputs. `squares` holds `D` and gets the maximum, `products` holds
/// `P` and gets the `h`. Lengths are whole lines.
pub(crate) fn merged_squares<F: Real>(g: &[F], a: F, squares: &mut [F], products: &mut [F]) {
    assert!(g.len() == squares.len() && g.len() == products.len(), "equal lengths");
    assert!(g.len().is_multiple_of(Packed::<F>::line()), "padded rows");
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the lengths were just checked; the level is the processor's.
        unsafe {
            let work = slices::MergedSquares::<T> {
                g: cast_slice(g),
                a: T::from_f64(a.to_f64()),
                squares: cast_slice_mut(squares),
                products: cast_slice_mut(products),
            };
            work.at(level());
        }
    });
}
